//! The parser of programs, functions, statements and variables.

use super::element::{Element, element};
use super::part::{Block, Part, Rows, Typed};
use crate::{
    CodePlacement, Data, DeviceOp, Expr, FunId, Function, MAX_LANES, Program, Slots, Stmt, Var, VarInfo,
    VarType,
};
use ir::text::ParseError;
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

/// A parser of programs.
pub(crate) type Parser<'a> = ir::text::Parser<'a, Known>;

/// The names and types that the text so far gives.
#[derive(Default)]
pub(crate) struct Known {
    functions: FxHashMap<Arc<str>, FunId>,
    /// The types of the current function's variables, by number.
    pub(super) types: FxHashMap<u32, VarType>,
}

/// Parses a program; [`verify`](crate::verify) checks that it is valid.
///
/// # Errors
///
/// The first error: a wrong level, a syntax error, an unknown function, a variable with two types,
/// or nesting deeper than [`max_depth`](ir::text::max_depth).
pub fn parse(text: &str) -> Result<Program> {
    let mut parser = Parser::new(text)?;
    let p = &mut parser;
    for (name, id) in p.names_after("fun").into_iter().zip(0..) {
        p.context.functions.entry(name).or_insert(FunId(id));
    }
    ir::text_row!(parse p "imp" "file" source_name);
    let checks = section(p, "check", "=", Part::parse_part)?;
    let data = section(p, "data", ":", |p| {
        ir::text_row!(parse p elem "=");
        Ok(Data { elem, bytes: bytes(p)?.into() })
    })?;
    let globals = section(p, "global", ":", Part::parse_part)?;
    let tunables = section(p, "tunable", ":", Part::parse_part)?;
    let init = if p.take_keyword("init") { Some(function_id(p)?) } else { None };
    let opaques = p.opaque_types()?;
    let entries = p.entry_points(function_id)?;
    let mut functions = Vec::new();
    while !p.at_end() {
        functions.push(function(p)?);
    }
    Ok(Program { source_name, functions, opaques, entries, checks, data, globals, tunables, init })
}

/// Parses the items of a program that begin with a word and are numbered.
fn section<T>(
    p: &mut Parser<'_>,
    word: &str,
    after: &str,
    item: impl Fn(&mut Parser<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut items = Vec::new();
    while p.take_keyword(word) {
        p.punct("#")?;
        if p.take_integer() != Some(items.len()) {
            return p.expected(&format!("the number {}", items.len()));
        }
        p.punct(after)?;
        items.push(item(p)?);
    }
    Ok(items)
}

/// Parses strings of hexadecimal digits, two for each byte.
fn bytes(p: &mut Parser<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(text) = p.take_string() {
        let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
        match digits {
            Some(digits) if digits.len().is_multiple_of(2) => {
                bytes.extend(digits.chunks_exact(2).map(|d| (d[0] << 4 | d[1]) as u8));
            }
            _ => return p.error("the preceding string does not consist of pairs of hexadecimal digits"),
        }
    }
    Ok(bytes)
}

pub(super) fn function_id(p: &mut Parser<'_>) -> Result<FunId> {
    if p.peek_ident() == Some("fun") {
        return p.error("the name `fun` of a function must be quoted");
    }
    let unknown = p.expected("the name of a function of the program");
    let name = p.fun_name()?.0;
    p.context.functions.get(&name).copied().map_or(unknown, Ok)
}

pub(super) fn var_type(p: &mut Parser<'_>) -> Result<VarType> {
    if p.take_keyword("buffer") {
        return Ok(p.take_memory().map_or(VarType::HOST, VarType::Buffer));
    }
    match p.take_integer::<u32>() {
        None => Ok(VarType::Scalar(p.prim()?)),
        Some(lanes) if lanes > MAX_LANES => p.error(format!("a vector has at most {MAX_LANES} lanes")),
        Some(lanes) => {
            p.keyword("x")?;
            Ok(VarType::Vector(p.prim()?, lanes))
        }
    }
}

fn function(p: &mut Parser<'_>) -> Result<Function> {
    p.take_hints();
    p.context.types.clear();
    let code = [
        ("inline", CodePlacement::Inline),
        ("noinline", CodePlacement::NoInline),
        ("each", CodePlacement::EachModule),
    ];
    let code = code.into_iter().find(|(word, _)| p.take_keyword(word));
    let recursive = p.take_keyword("recursive");
    p.keyword("fun")?;
    let name = p.fun_name()?.0;
    ir::text_row!(parse p (Typed params) "->" (Typed results) "{");
    let owned = header(p, "owned", Part::parse_part)?;
    let distinct = header(p, "distinct", Part::parse_part)?;
    header::<Var>(p, "vars", Typed::parse)?;
    let body = Block::parse_rest(p)?;
    let hints = p.take_hints();
    let count = hints.keys().max().map_or(0, |n| n + 1);
    let unnamed: Arc<str> = Arc::from("unused");
    let info = |number| VarInfo {
        ty: p.context.types.get(&number).copied().unwrap_or(VarType::HOST),
        hint: hints.get(&number).unwrap_or(&unnamed).clone(),
    };
    let vars = (0..count).map(info).collect();
    let code = code.map_or(CodePlacement::OneModule, |(_, code)| code);
    Ok(Function { name, params, results, owned, distinct, vars, body, code, recursive })
}

/// Parses a list that begins with a keyword; empty if it does not follow.
fn header<T>(
    p: &mut Parser<'_>,
    keyword: &str,
    item: impl Fn(&mut Parser<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut items = Vec::new();
    if p.take_keyword(keyword) {
        items.push(item(p)?);
        while p.take(",") {
            items.push(item(p)?);
        }
    }
    Ok(items)
}

/// Parses a variable, if one follows.
pub(crate) fn take_var(p: &mut Parser<'_>) -> Result<Option<Var>> {
    Ok(p.take_name()?.map(|name| Var(name.0)))
}

/// Parses `: type` behind a variable.
pub(super) fn declare(p: &mut Parser<'_>, var: Var) -> Result<()> {
    p.punct(":")?;
    let ty = var_type(p)?;
    match p.context.types.insert(var.0, ty) {
        Some(before) if before != ty => p.error(format!("variable {} already has the type {before}", var.0)),
        _ => Ok(()),
    }
}

/// Parses a statement.
pub(super) fn statement(p: &mut Parser<'_>) -> Result<Stmt> {
    if let Some(var) = take_var(p)? {
        if p.peek(":") {
            declare(p, var)?;
            p.punct("=")?;
            return value(p, var);
        }
        if p.peek("[") {
            let to = element(p, var)?;
            ir::text_row!(parse p "=" value);
            return Ok(match to {
                Element::One(to) => Stmt::Store(to, value),
                Element::Lanes(to, mask) => Stmt::StoreLanes { to, value, mask },
            });
        }
        p.punct("=")?;
        return match row(p, Some(var))? {
            Some(stmt) => Ok(stmt),
            None => p.expected("`alloc`, `frame`, `share`, `borrow` or `data`"),
        };
    }
    if p.peek("(") {
        ir::text_row!(parse p (Typed results) "=" fun args location);
        return Ok(Stmt::Call { fun, args, results, location });
    }
    if p.peek_ident().is_none() {
        return p.expected("a statement or `}`");
    }
    match row(p, None)? {
        Some(stmt) => Ok(stmt),
        None => p.expected("a statement"),
    }
}

/// Parses a statement that begins with a word, behind the variable that it sets if there is one.
fn row(p: &mut Parser<'_>, target: Option<Var>) -> Result<Option<Stmt>> {
    if let Some(stmt) = Stmt::parse_row(p, target)? {
        return Ok(Some(stmt));
    }
    if let Some(op) = Slots::parse_row(p, target)? {
        return Ok(Some(Stmt::Slots(op)));
    }
    if target.is_none() && p.take_keyword("barrier") {
        ir::text_row!(parse p (if "of" size));
        return Ok(Some(Stmt::Device(size.map_or(DeviceOp::Barrier, DeviceOp::SubgroupBarrier))));
    }
    Ok(DeviceOp::parse_row(p, target)?.map(Stmt::Device))
}

/// Parses the value of a variable with a type.
fn value(p: &mut Parser<'_>, var: Var) -> Result<Stmt> {
    if p.take_keyword("global") {
        return Ok(Stmt::ReadGlobal(var, Part::parse_part(p)?));
    }
    let value = Expr::parse_part(p)?;
    if let Expr::Var(buffer) = value
        && p.peek("[")
    {
        return Ok(match element(p, buffer)? {
            Element::One(from) => Stmt::Load(var, from),
            Element::Lanes(from, mask) => Stmt::LoadLanes { var, from, mask },
        });
    }
    Ok(Stmt::Set(var, value))
}

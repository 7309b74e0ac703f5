//! The parser of programs, functions and variables.

use crate::{
    Check, CodePlacement, Data, FunId, Function, MAX_LANES, Program, Tunable, Var, VarInfo, VarType,
};
use ir::text::{ParseError, Parser, max_depth};
use ir::tunable::Class;
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// Parses a program; [`verify`](crate::verify) checks that it is valid.
///
/// # Errors
///
/// The first error: a wrong level, a syntax error, an unknown function, a variable with two types,
/// or nesting deeper than [`max_depth`].
pub fn parse(text: &str) -> Result<Program> {
    let mut p = Parser::new(text)?;
    let mut functions: FxHashMap<Arc<str>, FunId> = FxHashMap::default();
    for (name, id) in p.names_after("fun").into_iter().zip(0..) {
        functions.entry(name).or_insert(FunId(id));
    }
    p.keyword("imp")?;
    p.keyword("file")?;
    let mut program = Program { source_name: p.string()?, ..Program::default() };
    while p.take_keyword("check") {
        numbered(&mut p, program.checks.len())?;
        p.punct("=")?;
        let format = p.string()?;
        p.keyword("at")?;
        let location = p.string()?;
        program.checks.push(Check { format, location });
    }
    while p.take_keyword("data") {
        numbered(&mut p, program.data.len())?;
        p.punct(":")?;
        let elem = p.prim()?;
        p.punct("=")?;
        let bytes = bytes(&mut p)?.into();
        program.data.push(Data { elem, bytes });
    }
    while p.take_keyword("global") {
        numbered(&mut p, program.globals.len())?;
        p.punct(":")?;
        program.globals.push(var_type(&mut p)?);
    }
    while p.take_keyword("tunable") {
        numbered(&mut p, program.tunables.len())?;
        p.punct(":")?;
        let word = p.ident()?;
        let Some(class) = Class::ALL.into_iter().find(|class| class.name() == word) else {
            return p.error(format!("unknown parameter class `{word}`"));
        };
        p.punct("=")?;
        program.tunables.push(Tunable { name: p.string()?, class, default: p.integer()? });
    }
    if p.take_keyword("init") {
        program.init = Some(function_id(&mut p, &functions)?);
    }
    program.opaques = p.opaque_types()?;
    program.entries = p.entry_points(|p| function_id(p, &functions))?;
    while !p.at_end() {
        let parser = FunctionParser {
            p: &mut p,
            functions: &functions,
            types: FxHashMap::default(),
            depth: 0,
            max_depth: max_depth(),
        };
        program.functions.push(parser.function()?);
    }
    Ok(program)
}

/// Parses `#n`, where `n` has to be the next number.
fn numbered(p: &mut Parser<'_>, next: usize) -> Result<()> {
    p.punct("#")?;
    match p.take_integer::<usize>() {
        Some(number) if number == next => Ok(()),
        _ => p.expected(&format!("the number {next}")),
    }
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

pub(super) fn function_id(p: &mut Parser<'_>, functions: &FxHashMap<Arc<str>, FunId>) -> Result<FunId> {
    let unknown = if p.peek_ident() == Some("fun") {
        return p.error("the name `fun` of a function must be quoted");
    } else {
        p.expected("the name of a function of the program")
    };
    functions.get(&p.fun_name()?.0).copied().map_or(unknown, Ok)
}

fn var_type(p: &mut Parser<'_>) -> Result<VarType> {
    if p.take_keyword("buffer") {
        return Ok(p.take_memory().map_or(VarType::HOST, VarType::Buffer));
    }
    match p.take_integer::<u32>() {
        None => Ok(VarType::Scalar(p.prim()?)),
        Some(lanes) => {
            if lanes > MAX_LANES {
                return p.error(format!("a vector has at most {MAX_LANES} lanes"));
            }
            p.keyword("x")?;
            Ok(VarType::Vector(p.prim()?, lanes))
        }
    }
}

/// The parser of one function.
pub(super) struct FunctionParser<'f, 't> {
    pub(super) p: &'f mut Parser<'t>,
    pub(super) functions: &'f FxHashMap<Arc<str>, FunId>,
    types: FxHashMap<u32, VarType>,
    depth: usize,
    max_depth: usize,
}

impl FunctionParser<'_, '_> {
    fn function(mut self) -> Result<Function> {
        self.p.take_hints();
        let code = [
            ("inline", CodePlacement::Inline),
            ("noinline", CodePlacement::NoInline),
            ("each", CodePlacement::EachModule),
        ];
        let code = code.into_iter().find(|(word, _)| self.p.take_keyword(word));
        let recursive = self.p.take_keyword("recursive");
        self.p.keyword("fun")?;
        let name = self.p.fun_name()?.0;
        let params = self.typed_vars()?;
        self.p.punct("->")?;
        let results = self.typed_vars()?;
        self.p.punct("{")?;
        let owned = self.header_vars("owned")?;
        let distinct = self.header_vars("distinct")?;
        if self.p.take_keyword("vars") {
            self.typed_var()?;
            while self.p.take(",") {
                self.typed_var()?;
            }
        }
        let body = self.block()?;
        let hints = self.p.take_hints();
        let count = hints.keys().max().map_or(0, |n| n + 1);
        let unnamed: Arc<str> = Arc::from("unused");
        let info = |number| VarInfo {
            ty: self.types.get(&number).copied().unwrap_or(VarType::HOST),
            hint: hints.get(&number).unwrap_or(&unnamed).clone(),
        };
        Ok(Function {
            name,
            params,
            results,
            owned,
            distinct,
            vars: (0..count).map(info).collect(),
            body,
            code: code.map_or(CodePlacement::OneModule, |(_, code)| code),
            recursive,
        })
    }

    /// Parses a list of variables that begins with a keyword; empty if it does not follow.
    fn header_vars(&mut self, keyword: &str) -> Result<Vec<Var>> {
        let mut vars = Vec::new();
        if self.p.take_keyword(keyword) {
            vars.push(self.var()?);
            while self.p.take(",") {
                vars.push(self.var()?);
            }
        }
        Ok(vars)
    }

    // --- Variables -------------------------------------------------------

    /// Parses a variable, if one follows.
    pub(super) fn take_var(&mut self) -> Result<Option<Var>> {
        Ok(self.p.take_name()?.map(|name| Var(name.0)))
    }

    pub(super) fn var(&mut self) -> Result<Var> {
        Ok(Var(self.p.name()?.0))
    }

    pub(super) fn vars(&mut self) -> Result<Vec<Var>> {
        self.list(Self::var)
    }

    pub(super) fn typed_var(&mut self) -> Result<Var> {
        let var = self.var()?;
        self.type_of(var)?;
        Ok(var)
    }

    pub(super) fn typed_vars(&mut self) -> Result<Vec<Var>> {
        self.list(Self::typed_var)
    }

    /// Parses `: type` behind a variable.
    pub(super) fn type_of(&mut self, var: Var) -> Result<()> {
        self.p.punct(":")?;
        let ty = var_type(self.p)?;
        match self.types.insert(var.0, ty) {
            Some(before) if before != ty => {
                self.p.error(format!("variable {} already has the type {before}", var.0))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if a variable is a buffer, by the text so far.
    pub(super) fn is_buffer(&self, var: Var) -> bool {
        matches!(self.types.get(&var.0), None | Some(VarType::Buffer(_)))
    }

    // --- Lists and nesting -----------------------------------------------

    pub(super) fn list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.p.punct("(")?;
        self.separated(")", item)
    }

    /// Parses items with commas between them, and the closing punctuation.
    pub(super) fn separated<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.p.take(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.p.take(close) {
                return Ok(items);
            }
            if !self.p.take(",") {
                return self.p.expected(&format!("`,` or `{close}`"));
            }
        }
    }

    /// Runs `f` one nesting level deeper.
    pub(super) fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= self.max_depth {
            return self.p.error(format!("nested more than {} levels deep", self.max_depth));
        }
        self.depth += 1;
        let result = stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || f(self));
        self.depth -= 1;
        result
    }
}

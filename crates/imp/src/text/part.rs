//! The text of fields, by their types. The text of nodes, which are rows of fields, is in
//! [`nodes`](crate::nodes).

use super::parse::{Parser, Result, declare, function_id, statement, take_var, var_type};
use super::print::Printer;
use crate::nodes::Vars;
use crate::{
    Arg, Check, CheckId, DataId, Expr, FunId, GlobalId, LoopMode, Stmt, Tunable, TunableClass, TunableId,
    Var, VarType,
};
use ir::text::quote;
use prim::{BinOp, PrimType};
use std::sync::Arc;

/// A part of a node.
pub(crate) trait Part: Sized {
    /// Prints it.
    fn print_part(&self, p: &mut Printer<'_>);

    /// Parses it.
    fn parse_part(p: &mut Parser<'_>) -> Result<Self>;
}

/// A node whose variants are rows of a table.
pub(crate) trait Rows: Sized {
    /// Prints it.
    fn print_row(&self, p: &mut Printer<'_>);

    /// Parses the row that begins with the current word, if there is one; `target` is the variable
    /// before the word.
    fn parse_row(p: &mut Parser<'_>, target: Option<Var>) -> Result<Option<Self>>;
}

macro_rules! ids {
    ($($Id:ident),*) => {
        ir::text_parts! {
            $($Id: |x, p| p.put(format_args!("#{}", x.0)), |p| {
                p.punct("#")?;
                Ok(Self(p.integer()?))
            };)*
        }
    };
}

ids!(CheckId, DataId, GlobalId);

ir::text_parts! {
    // The source span of a failure, with a space before.
    Option<CheckId>: |x, p| if let Some(check) = x {
        p.put(" at check");
        check.print_part(p);
    }, |p| {
        if !p.take_keyword("at") {
            return Ok(None);
        }
        p.keyword("check")?;
        CheckId::parse_part(p).map(Some)
    };
    Var: |x, p| p.var(*x), |p| Ok(Self(p.name()?.0));
    FunId: |x, p| p.put(super::print::function_name(p.program, *x)), |p| function_id(p);
    TunableId: |x, p| p.put(format_args!("tunable#{}", x.0)), |p| {
        p.keyword("tunable")?;
        p.punct("#")?;
        Ok(Self(p.integer()?))
    };
    u32: |x, p| p.put(x), |p| p.integer();
    u64: |x, p| p.put(x), |p| p.integer();
    i64: |x, p| p.put(x), |p| p.integer();
    PrimType: |x, p| p.put(x), |p| p.prim();
    VarType: |x, p| p.put(x), |p| var_type(p);
    Arc<str>: |x, p| p.put(quote(x)), |p| p.string();
    BinOp: |x, p| p.put(x.name()), |p| {
        let name = p.ident()?;
        Self::from_name(name).map_or_else(|| p.error(format!("`{name}` is not a binary operator")), Ok)
    };
    TunableClass: |x, p| p.put(x.name()), |p| p.named("parameter class", &Self::ALL, Self::name);
    Check: |x, p| {
        let Self { format, location } = x;
        ir::text_row!(print p ~ format "at" location);
    }, |p| {
        ir::text_row!(parse p format "at" location);
        Ok(Self { format, location })
    };
    Tunable: |x, p| {
        let Self { name, class, default } = x;
        ir::text_row!(print p ~ class "=" name default);
    }, |p| {
        ir::text_row!(parse p class "=" name default);
        Ok(Self { name, class, default })
    };
    // The types of all variables are known only at the end of the function; a variable that is
    // passed has got its value, and its type, before.
    Arg: |x, p| match x {
        Self::Scalar(value) => {
            p.early(value);
            value.print_part(p);
        }
        Self::Buffer(var) => p.var(*var),
    }, |p| {
        let value = Expr::parse_part(p)?;
        if let Expr::Var(var) = value
            && matches!(p.context.types.get(&var.0), None | Some(VarType::Buffer(_)))
        {
            return Ok(Self::Buffer(var));
        }
        Ok(Self::Scalar(value))
    };
}

impl<T: Part> Part for Vec<T> {
    fn print_part(&self, p: &mut Printer<'_>) {
        p.put("(");
        p.separated(self);
        p.put(")");
    }

    fn parse_part(p: &mut Parser<'_>) -> Result<Self> {
        p.list(T::parse_part)
    }
}

impl<T: Part> Part for Box<T> {
    fn print_part(&self, p: &mut Printer<'_>) {
        (**self).print_part(p);
    }

    fn parse_part(p: &mut Parser<'_>) -> Result<Self> {
        T::parse_part(p).map(Self::new)
    }
}

/// Items and the closing bracket.
pub(crate) struct Until;

impl Until {
    pub(crate) fn print<T: Part>(items: &[T], p: &mut Printer<'_>) {
        p.separated(items);
        p.put("]");
    }

    pub(crate) fn parse<T: Part>(p: &mut Parser<'_>) -> Result<Vec<T>> {
        p.separated("]", T::parse_part)
    }
}

/// A row of another table.
pub(crate) struct Row;

impl Row {
    pub(crate) fn print<T: Rows>(node: &T, p: &mut Printer<'_>) {
        node.print_row(p);
    }

    pub(crate) fn parse<T: Rows>(p: &mut Parser<'_>) -> Result<T> {
        T::parse_row(p, None)?.map_or_else(|| p.expected("`as`, `in`, `one` or `by`"), Ok)
    }
}

/// Statements in braces.
pub(crate) struct Block;

impl Block {
    pub(crate) fn print(stmts: &[Stmt], p: &mut Printer<'_>) {
        p.block("", stmts);
    }

    pub(crate) fn parse(p: &mut Parser<'_>) -> Result<Vec<Stmt>> {
        p.punct("{")?;
        Self::parse_rest(p)
    }

    /// Parses statements and the closing brace.
    pub(crate) fn parse_rest(p: &mut Parser<'_>) -> Result<Vec<Stmt>> {
        p.nested(|p| {
            let mut stmts = Vec::new();
            while !p.take("}") {
                stmts.push(statement(p)?);
            }
            Ok(stmts)
        })
    }
}

/// The second branch of a conditional, if it has statements.
pub(crate) struct Else;

impl Else {
    pub(crate) fn print(stmts: &[Stmt], p: &mut Printer<'_>) {
        if !stmts.is_empty() {
            p.block(" else ", stmts);
        }
    }

    pub(crate) fn parse(p: &mut Parser<'_>) -> Result<Vec<Stmt>> {
        if p.take_keyword("else") { Block::parse(p) } else { Ok(Vec::new()) }
    }
}

/// The mode of a loop; nothing for sequential loops that are not independent.
pub(crate) struct Mode;

impl Mode {
    pub(crate) fn print(mode: &LoopMode, p: &mut Printer<'_>) {
        if !matches!(mode, LoopMode::Seq { independent: false }) {
            p.put(" ");
            mode.print_row(p);
        }
    }

    pub(crate) fn parse(p: &mut Parser<'_>) -> Result<LoopMode> {
        let independent = p.take_keyword("independent");
        let other = if independent { None } else { LoopMode::parse_row(p, None)? };
        Ok(other.unwrap_or(LoopMode::Seq { independent }))
    }
}

/// Variables with their types; behind the one that may be absent is `=`.
pub(crate) struct Typed;

impl Typed {
    pub(crate) fn print(vars: &impl TypedVars, p: &mut Printer<'_>) {
        vars.print_typed(p);
    }

    pub(crate) fn parse<V: TypedVars>(p: &mut Parser<'_>) -> Result<V> {
        V::parse_typed(p)
    }
}

pub(crate) trait TypedVars: Vars + Sized {
    fn print_typed(&self, p: &mut Printer<'_>);
    fn parse_typed(p: &mut Parser<'_>) -> Result<Self>;
}

impl TypedVars for Var {
    fn print_typed(&self, p: &mut Printer<'_>) {
        p.typed_var(*self);
    }

    fn parse_typed(p: &mut Parser<'_>) -> Result<Self> {
        let var = Self::parse_part(p)?;
        declare(p, var)?;
        Ok(var)
    }
}

impl TypedVars for Vec<Var> {
    fn print_typed(&self, p: &mut Printer<'_>) {
        p.typed_vars(self);
    }

    fn parse_typed(p: &mut Parser<'_>) -> Result<Self> {
        p.list(Typed::parse)
    }
}

impl TypedVars for Option<Var> {
    fn print_typed(&self, p: &mut Printer<'_>) {
        if let Some(var) = self {
            p.typed_var(*var);
            p.put(" = ");
        }
    }

    fn parse_typed(p: &mut Parser<'_>) -> Result<Self> {
        let var = take_var(p)?;
        if let Some(var) = var {
            declare(p, var)?;
            p.punct("=")?;
        }
        Ok(var)
    }
}

//! The rows of expressions.

use crate::syntax::{Expr, TunableId};
use crate::text::{
    Parser, Part, Printer, Result, Suffix, constant, operands, parse_infix, print_infix, print_operands,
    take_var,
};
use ir::walk::with_stack;
use prim::{Operands, ScalarOp};

/// Defines the functions on operands, the printer and the parser of expressions. A row: the fields,
/// the word, those of the fields that follow the word after a point, and the operands.
macro_rules! expressions {
    ($($Row:ident($($x:ident),*) = $word:literal $(. $suffix:ident)* ($($operand:ident),*);)*) => {
        expressions! {
            @operands
            /// Calls `f` on the operands of an expression, in order.
            each_operand<'s>, each_operand, ;
            $($Row($($x),*) ($($suffix),*) ($($operand),*);)*
        }

        expressions! {
            @operands
            /// As [`each_operand`], mutable.
            each_part_mut<>, each_operand_mut, mut;
            $($Row($($x),*) ($($suffix),*) ($($operand),*);)*
        }

        fn print_row(expr: &Expr, p: &mut Printer<'_>) {
            match expr {
                Expr::Const(value) => p.put(constant(*value)),
                Expr::Var(var) => var.print_part(p),
                Expr::Tunable(id) => id.print_part(p),
                Expr::LogsComparisons => p.put("logging"),
                Expr::Scalar(op) => {
                    if !print_infix(p, op) {
                        p.put(op.spelling());
                        let operands = op.operands().into_iter().map(|x| &**x);
                        print_operands(p, &operands.collect::<Operands<_>>());
                    }
                }
                $(Expr::$Row($($x),*) => {
                    p.put($word);
                    $(p.put(format_args!(".{}", $suffix));)*
                    print_operands(p, &[$($operand),*]);
                })*
            }
        }

        /// Parses the expression with a name and what follows the name after points.
        fn parse_row(p: &mut Parser<'_>, name: &str, suffixes: &[&str]) -> Result<Expr> {
            match (name, suffixes) {
                $(($word, [$($suffix),*]) => {
                    $(let $suffix = Suffix::parse_suffix(p, $suffix)?;)*
                    p.ident()?;
                    let [$($operand),*] = operands(p)?;
                    Ok(Expr::$Row($($x),*))
                })*
                _ => p.expected("an expression"),
            }
        }
    };
    (
        @operands
        $(#[$meta:meta])* $each:ident<$($life:lifetime)?>, $operands:ident, $($m:ident)?;
        $($Row:ident($($x:ident),*) ($($suffix:ident),*) ($($operand:ident),*);)*
    ) => {
        $(#[$meta])*
        pub fn $each$(<$life>)?(expr: &$($life)? $($m)? Expr, f: &mut dyn FnMut(&$($life)? $($m)? Expr)) {
            match expr {
                $crate::leaf_expr!() => {}
                Expr::Scalar(op) => op.$operands(|x| f(x)),
                $(Expr::$Row($($x),*) => {
                    $(let _ = $suffix;)*
                    $(f($operand);)*
                })*
            }
        }
    };
}

expressions! {
    SplitSqrt(x) = "shared_sqrt" (x);
    NewtonQuotient(x, y) = "shared_div" (x, y);
    Splat(lanes, x) = "splat".lanes (x);
    LaneIds(ty, lanes) = "lanes".ty.lanes ();
    Any(mask) = "any" (mask);
    All(mask) = "all" (mask);
    FirstLane(mask) = "first" (mask);
    Count(mask) = "count" (mask);
    Pack(x, mask) = "pack" (x, mask);
    Extract(x, lane) = "extract" (x, lane);
    Insert(x, lane, value) = "insert" (x, lane, value);
    Shift(x, by, value) = "shift".by (x, value);
}

impl Part for Expr {
    fn print_part(&self, p: &mut Printer<'_>) {
        with_stack(|| print_row(self, p));
    }

    fn parse_part(p: &mut Parser<'_>) -> Result<Self> {
        if let Some(var) = take_var(p)? {
            return Ok(Self::Var(var));
        }
        if let Some(value) = p.take_integer() {
            return Ok(Self::i64(value));
        }
        if let Some(value) = p.take_scalar()? {
            return Ok(Self::Const(value));
        }
        p.nested(|p| if p.peek("(") { parse_infix(p) } else { parse_operator(p) })
    }
}

/// Parses an operator with its operands.
fn parse_operator(p: &mut Parser<'_>) -> Result<Expr> {
    let Some(word) = p.peek_ident() else {
        return p.expected("an expression");
    };
    if let Some(op) = ScalarOp::from_spelling(word) {
        p.ident()?;
        let mut before = "(";
        let op = op.try_map(|()| {
            p.punct(std::mem::replace(&mut before, ","))?;
            Part::parse_part(p).map(Box::new)
        })?;
        p.punct(")")?;
        return Ok(Expr::Scalar(op));
    }
    match word {
        "tunable" => Ok(Expr::Tunable(TunableId::parse_part(p)?)),
        "logging" => {
            p.ident()?;
            Ok(Expr::LogsComparisons)
        }
        _ => {
            let mut parts = word.split('.');
            let name = parts.next().unwrap_or_default();
            parse_row(p, name, &parts.collect::<Vec<_>>())
        }
    }
}

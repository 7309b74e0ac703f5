//! The parser of expressions.

use super::parse::{FunctionParser, Result};
use crate::{Expr, MAX_LANES, TunableId};
use prim::{BinOp, PrimType, ScalarOp};

impl FunctionParser<'_, '_> {
    pub(super) fn expr(&mut self) -> Result<Expr> {
        if let Some(var) = self.take_var()? {
            return Ok(Expr::Var(var));
        }
        if let Some(value) = self.p.take_integer() {
            return Ok(Expr::i64(value));
        }
        if let Some(value) = self.p.take_scalar()? {
            return Ok(Expr::Const(value));
        }
        self.deeper(|f| if f.p.peek("(") { f.infix() } else { f.operator() })
    }

    /// `(x + y)`.
    fn infix(&mut self) -> Result<Expr> {
        self.p.punct("(")?;
        let x = Box::new(self.expr()?);
        let op = if self.p.take("+") {
            BinOp::Add
        } else if self.p.take("-") {
            BinOp::Sub
        } else if self.p.take("*") {
            BinOp::Mul
        } else {
            return self.p.expected("`+`, `-` or `*`");
        };
        let y = Box::new(self.expr()?);
        self.p.punct(")")?;
        Ok(Expr::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)))
    }

    /// Parses an operator with its operands.
    fn operator(&mut self) -> Result<Expr> {
        let Some(word) = self.p.peek_ident() else {
            return self.p.expected("an expression");
        };
        if let Some(op) = ScalarOp::from_spelling(word) {
            self.p.ident()?;
            let mut first = true;
            self.p.punct("(")?;
            let op = op.try_map(|()| {
                if !std::mem::take(&mut first) {
                    self.p.punct(",")?;
                }
                self.expr().map(Box::new)
            })?;
            self.p.punct(")")?;
            return Ok(Expr::Scalar(op));
        }
        let mut parts = word.split('.');
        let (name, first, second) = (parts.next().unwrap_or(""), parts.next(), parts.next());
        if parts.next().is_some() {
            return self.p.expected("an operator");
        }
        match (name, first, second) {
            ("any" | "all" | "first" | "count" | "shared_sqrt", None, None) => {
                self.p.ident()?;
                let [x] = self.operands()?;
                Ok(match name {
                    "any" => Expr::Any(x),
                    "all" => Expr::All(x),
                    "first" => Expr::FirstLane(x),
                    "shared_sqrt" => Expr::SplitSqrt(x),
                    _ => Expr::Count(x),
                })
            }
            ("logging", None, None) => {
                self.p.ident()?;
                Ok(Expr::LogsComparisons)
            }
            ("tunable", None, None) => Ok(Expr::Tunable(self.tunable()?)),
            ("shared_div", None, None) => {
                self.p.ident()?;
                let [x, y] = self.operands()?;
                Ok(Expr::NewtonQuotient(x, y))
            }
            ("pack", None, None) => {
                self.p.ident()?;
                let [x, mask] = self.operands()?;
                Ok(Expr::Pack(x, mask))
            }
            ("extract", None, None) => {
                self.p.ident()?;
                let [x, lane] = self.operands()?;
                Ok(Expr::Extract(x, lane))
            }
            ("insert", None, None) => {
                self.p.ident()?;
                let [x, lane, value] = self.operands()?;
                Ok(Expr::Insert(x, lane, value))
            }
            ("splat", Some(lanes), None) => {
                let lanes = self.lanes(lanes)?;
                self.p.ident()?;
                let [x] = self.operands()?;
                Ok(Expr::Splat(lanes, x))
            }
            ("shift", Some(by), None) => {
                let by = self.lanes(by)?;
                self.p.ident()?;
                let [x, value] = self.operands()?;
                Ok(Expr::Shift(x, by, value))
            }
            ("lanes", Some(ty), Some(lanes)) => {
                let (ty, lanes) = (self.prim(ty)?, self.lanes(lanes)?);
                self.p.ident()?;
                Ok(Expr::LaneIds(ty, lanes))
            }
            _ => self.p.expected("an expression"),
        }
    }

    /// `tunable#3`.
    pub(super) fn tunable(&mut self) -> Result<TunableId> {
        self.p.keyword("tunable")?;
        self.p.punct("#")?;
        Ok(TunableId(self.p.integer()?))
    }

    fn prim(&self, text: &str) -> Result<PrimType> {
        match text.parse() {
            Ok(ty) => Ok(ty),
            Err(()) => self.p.expected("an operator with its types"),
        }
    }

    /// Parses a number of lanes within an operator's name.
    fn lanes(&self, text: &str) -> Result<u32> {
        match text.parse() {
            Ok(lanes) if lanes <= MAX_LANES => Ok(lanes),
            _ => self.p.error(format!("a vector has at most {MAX_LANES} lanes")),
        }
    }

    /// Parses expressions in parentheses.
    pub(super) fn exprs(&mut self) -> Result<Vec<Expr>> {
        self.p.punct("(")?;
        self.exprs_until(")")
    }

    /// Parses expressions and the closing punctuation.
    pub(super) fn exprs_until(&mut self, close: &str) -> Result<Vec<Expr>> {
        self.separated(close, Self::expr)
    }

    /// Parses `N` operands in parentheses.
    fn operands<const N: usize>(&mut self) -> Result<[Box<Expr>; N]> {
        let mut operands = Vec::with_capacity(N);
        self.p.punct("(")?;
        for i in 0..N {
            if i > 0 {
                self.p.punct(",")?;
            }
            operands.push(Box::new(self.expr()?));
        }
        self.p.punct(")")?;
        match operands.try_into() {
            Ok(operands) => Ok(operands),
            Err(_) => self.p.expected(&format!("{N} operands")),
        }
    }
}

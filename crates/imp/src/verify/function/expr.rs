//! Checks the expressions of a function, and returns the type of each.

use super::FunctionCheck;
use crate::{Expr, MAX_LANES, ROOT_LANES, VarType};
use prim::PrimType;

impl FunctionCheck<'_, '_> {
    /// Checks that back ends support the number of lanes.
    pub(super) fn lanes(&mut self, lanes: u32) {
        if lanes == 0 || lanes > MAX_LANES {
            self.error(format!("a vector cannot have {lanes} lanes"));
        }
    }

    /// Checks that an expression is a scalar of a type.
    pub(super) fn typed(&mut self, expr: &Expr, wanted: PrimType) {
        self.expect_type(expr, VarType::Scalar(wanted));
    }

    /// Checks that an expression has a type.
    pub(super) fn expect_type(&mut self, expr: &Expr, wanted: VarType) {
        if let Some(ty) = self.expr(expr)
            && ty != wanted
        {
            self.error(format!("a value has type {ty}, but {wanted} is required"));
        }
    }

    /// The type of an expression, if it can be found.
    pub(super) fn expr(&mut self, expr: &Expr) -> Option<VarType> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.expr_here(expr))
    }

    fn expr_here(&mut self, expr: &Expr) -> Option<VarType> {
        match expr {
            Expr::Const(value) => Some(VarType::Scalar(value.ty())),
            Expr::Var(v) => match self.read(*v)? {
                VarType::Buffer(_) => {
                    self.error(format!("{} is a buffer", self.name(*v)));
                    None
                }
                ty @ (VarType::Scalar(_) | VarType::Vector(..)) => Some(ty),
            },
            Expr::Scalar(op) => {
                if let Err(message) = op.is_defined() {
                    self.error(message);
                }
                let operands: Vec<(&Expr, PrimType)> =
                    op.operands().into_iter().map(|x| &**x).zip(op.operand_types()).collect();
                self.elementwise(&operands, op.result_type())
            }
            Expr::SplitSqrt(x) => {
                let ty = VarType::Vector(PrimType::F64, ROOT_LANES);
                self.expect_type(x, ty);
                Some(ty)
            }
            Expr::NewtonQuotient(x, y) => {
                let ty = self.elementwise(&[(x, PrimType::F32), (y, PrimType::F32)], PrimType::F32);
                let full = |lanes: u32| lanes.is_multiple_of(ROOT_LANES);
                if !matches!(ty, Some(VarType::Vector(_, lanes)) if full(lanes)) {
                    self.error(format!("shared_div requires a multiple of {ROOT_LANES} lanes"));
                }
                ty
            }
            Expr::Tunable(id) => {
                self.tunable(*id);
                Some(VarType::Scalar(PrimType::I64))
            }
            Expr::LogsComparisons => Some(VarType::Scalar(PrimType::Bool)),
            Expr::Splat(lanes, x) => {
                self.lanes(*lanes);
                match self.expr(x)? {
                    VarType::Scalar(ty) => Some(VarType::Vector(ty, *lanes)),
                    other @ (VarType::Buffer(_) | VarType::Vector(..)) => {
                        self.error(format!("splat of a {other}"));
                        None
                    }
                }
            }
            Expr::LaneIds(ty, lanes) => {
                self.lanes(*lanes);
                self.domain(ty.is_int(), "lanes", *ty);
                Some(VarType::Vector(*ty, *lanes))
            }
            Expr::Any(mask) | Expr::All(mask) => {
                self.mask(mask);
                Some(VarType::Scalar(PrimType::Bool))
            }
            Expr::FirstLane(mask) | Expr::Count(mask) => {
                self.mask(mask);
                Some(VarType::Scalar(PrimType::I64))
            }
            Expr::Pack(x, mask) => {
                self.mask(mask);
                let (ty, lanes) = self.vector(x)?;
                let others = self.vector(mask).map(|(_, lanes)| lanes);
                if others.is_some_and(|others| others != lanes) {
                    self.error(format!("the mask does not have {lanes} lanes"));
                }
                Some(VarType::Vector(ty, lanes))
            }
            Expr::Extract(x, lane) => {
                self.typed(lane, PrimType::I64);
                let (ty, _) = self.vector(x)?;
                Some(VarType::Scalar(ty))
            }
            Expr::Insert(x, lane, value) => {
                self.typed(lane, PrimType::I64);
                let (ty, lanes) = self.vector(x)?;
                self.typed(value, ty);
                Some(VarType::Vector(ty, lanes))
            }
            Expr::Shift(x, by, value) => {
                let (ty, lanes) = self.vector(x)?;
                self.typed(value, ty);
                if *by > lanes {
                    self.error(format!("{lanes} lanes are shifted by {by}"));
                }
                Some(VarType::Vector(ty, lanes))
            }
        }
    }

    /// Checks that operands have these scalar types and all the same number of lanes, or none.
    /// Returns the type of the result, which has as many lanes.
    fn elementwise(&mut self, operands: &[(&Expr, PrimType)], to: PrimType) -> Option<VarType> {
        let mut shared: Option<VarType> = None;
        for (operand, wanted) in operands {
            let Some(ty) = self.expr(operand) else {
                continue;
            };
            if ty != ty.with_elem(*wanted) {
                self.error(format!("a value has type {ty}, but {wanted} is required"));
            }
            match shared {
                None => shared = Some(ty),
                Some(first) if first.lanes() != ty.lanes() => {
                    self.error(format!("operands of types {first} and {ty} have different numbers of lanes"));
                }
                Some(_) => {}
            }
        }
        shared.map(|ty| ty.with_elem(to))
    }

    fn vector(&mut self, expr: &Expr) -> Option<(PrimType, u32)> {
        match self.expr(expr)? {
            VarType::Vector(ty, lanes) => Some((ty, lanes)),
            other @ (VarType::Scalar(_) | VarType::Buffer(_)) => {
                self.error(format!("{other} is not a vector"));
                None
            }
        }
    }

    fn mask(&mut self, expr: &Expr) {
        if let Some((ty, _)) = self.vector(expr)
            && ty != PrimType::Bool
        {
            self.error(format!("a vector of {ty} is not a mask"));
        }
    }

    fn domain(&mut self, fits: bool, op: &str, ty: PrimType) {
        if !fits {
            self.error(format!("{op} is not defined for {ty}"));
        }
    }
}

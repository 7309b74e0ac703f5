//! Compiles expressions, scalars and vectors. The result is in a given register, in one of a
//! variable or a constant, or in a temporary.

use super::{Compiled, Compiler};
use crate::eval::code::{LaneOp, Op, Reg};
use crate::eval::typed;
use crate::{Expr, TunableId, VarType};
use prim::{BinOp, CmpOp, ConvOp, PrimType, ScalarOp, UnOp};

/// Scalar operators with instructions of their own.
fn fast(op: BinOp, ty: PrimType) -> Option<fn(Reg, Reg, Reg) -> Op> {
    Some(match (op, ty) {
        (BinOp::Add, PrimType::I64) => |d, a, b| Op::Add { d, a, b },
        (BinOp::Sub, PrimType::I64) => |d, a, b| Op::Sub { d, a, b },
        (BinOp::Mul, PrimType::I64) => |d, a, b| Op::Mul { d, a, b },
        (BinOp::FAdd, PrimType::F32) => |d, a, b| Op::AddF32 { d, a, b },
        (BinOp::FMul, PrimType::F32) => |d, a, b| Op::MulF32 { d, a, b },
        (BinOp::FAdd, PrimType::F64) => |d, a, b| Op::AddF64 { d, a, b },
        (BinOp::FMul, PrimType::F64) => |d, a, b| Op::MulF64 { d, a, b },
        (BinOp::And, _) => |d, a, b| Op::And { d, a, b },
        (BinOp::Or, _) => |d, a, b| Op::Or { d, a, b },
        _ => return None,
    })
}

impl Compiler<'_, '_> {
    /// Compiles an `i64`.
    pub(super) fn i64(&mut self, expr: &Expr) -> Compiled<Reg> {
        match self.scalar(expr)? {
            (reg, PrimType::I64) => Ok(reg),
            _ => self.fail("an i64 is needed"),
        }
    }

    /// Compiles a `bool`.
    pub(super) fn bool(&mut self, expr: &Expr) -> Compiled<Reg> {
        match self.scalar(expr)? {
            (reg, PrimType::Bool) => Ok(reg),
            _ => self.fail("a bool is needed"),
        }
    }

    /// A tuning parameter's value.
    pub(super) fn tunable(&mut self, id: TunableId) -> Compiled<i64> {
        match self.constants.tunables.get(id.index()) {
            Some(value) => Ok(*value),
            None => self.fail(format!("tunable#{} does not exist", id.0)),
        }
    }

    /// Compiles a scalar.
    pub(super) fn scalar(&mut self, expr: &Expr) -> Compiled<(Reg, PrimType)> {
        self.scalar_into(expr, None)
    }

    /// Compiles a scalar; an operator's result is in the register, if it is given.
    pub(super) fn scalar_into(&mut self, expr: &Expr, into: Option<Reg>) -> Compiled<(Reg, PrimType)> {
        match expr {
            Expr::Const(value) => Ok((self.constant(value.bits()), value.ty())),
            Expr::Var(var) => match self.ty(*var)? {
                VarType::Scalar(ty) => {
                    let part = self.part(*var)?;
                    self.require(part);
                    Ok((part.reg, ty))
                }
                VarType::Vector(..) | VarType::Buffer(_) => self.fail("a scalar is needed"),
            },
            Expr::Tunable(id) => {
                let value = self.tunable(*id)?;
                Ok((self.constant(value as u64), PrimType::I64))
            }
            Expr::LogsComparisons => {
                let value = u64::from(self.constants.logs_comparisons);
                Ok((self.constant(value), PrimType::Bool))
            }
            Expr::Scalar(_) | crate::vector_expr!() => {
                stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.operator(expr, into))
            }
        }
    }

    fn result(&mut self, into: Option<Reg>, count: u32) -> Reg {
        into.unwrap_or_else(|| self.temp(count))
    }

    fn operator(&mut self, expr: &Expr, into: Option<Reg>) -> Compiled<(Reg, PrimType)> {
        match expr {
            Expr::Scalar(ScalarOp::Unary(op, _, x)) => {
                let (a, ty) = self.scalar(x)?;
                let Some(f) = typed::unary(*op, ty) else {
                    return self.fail(format!("{} has no value", op.name()));
                };
                let d = self.result(into, 1);
                self.emit(Op::Unary { f, d, a });
                Ok((d, ty))
            }
            Expr::Scalar(ScalarOp::Binary(op, _, x, y)) => {
                let ((a, ty), (b, other)) = (self.scalar(x)?, self.scalar(y)?);
                let Some(f) = typed::binary(*op, ty).filter(|_| ty == other) else {
                    return self.fail(format!("{} has no value", op.name()));
                };
                let d = self.result(into, 1);
                self.emit(match fast(*op, ty) {
                    Some(fast) => fast(d, a, b),
                    None => Op::Binary { op: *op, f, d, a, b },
                });
                Ok((d, ty))
            }
            Expr::Scalar(ScalarOp::Compare(op, _, x, y)) => {
                let ((a, ty), (b, other)) = (self.scalar(x)?, self.scalar(y)?);
                let Some(f) = typed::compare(*op, ty).filter(|_| ty == other) else {
                    return self.fail(format!("{} has no value", op.name()));
                };
                let d = self.result(into, 1);
                self.emit(match (op, ty) {
                    (CmpOp::SLt, PrimType::I64) => Op::Less { d, a, b },
                    (CmpOp::SLe, PrimType::I64) => Op::LessEqual { d, a, b },
                    (CmpOp::Eq, _) if !ty.is_float() => Op::Equal { d, a, b },
                    _ => Op::Compare { f, d, a, b },
                });
                Ok((d, PrimType::Bool))
            }
            Expr::Scalar(ScalarOp::Convert { op, from: _, to, arg: x }) => {
                let (a, from) = self.scalar(x)?;
                if !op.accepts(from, *to) {
                    return self.fail(format!("{} has no value", op.name()));
                }
                let d = self.result(into, 1);
                self.emit(match (op, from, to) {
                    (ConvOp::SExt, PrimType::I32, PrimType::I64) => Op::SignExtend32 { d, a },
                    _ => Op::Convert { op: *op, from, to: *to, d, a },
                });
                Ok((d, *to))
            }
            Expr::Scalar(ScalarOp::Select { ty: _, cond: c, if_true: x, if_false: y }) => {
                let (c, (a, ty), (b, other)) = (self.bool(c)?, self.scalar(x)?, self.scalar(y)?);
                if ty != other {
                    return self.fail("select has no value");
                }
                let d = self.result(into, 1);
                self.emit(Op::Select { d, c, a, b });
                Ok((d, ty))
            }
            Expr::Scalar(ScalarOp::Fma(_, x, y, z)) => {
                let ((a, ty), (b, second), (c, third)) = (self.scalar(x)?, self.scalar(y)?, self.scalar(z)?);
                if !ty.is_float() || second != ty || third != ty {
                    return self.fail("fma has no value");
                }
                let d = self.result(into, 1);
                self.emit(Op::Fma { ty, d, a, b, c });
                Ok((d, ty))
            }
            Expr::Scalar(ScalarOp::Math(fun, _, args)) => {
                let args: Compiled<Vec<(Reg, PrimType)>> = args.iter().map(|x| self.scalar(x)).collect();
                let args = args?;
                let (a, b, ty) = match *args.as_slice() {
                    [(a, ty)] if fun.arity() == 1 && ty.is_float() => (a, a, ty),
                    [(a, ty), (b, other)] if fun.arity() == 2 && ty.is_float() && ty == other => (a, b, ty),
                    _ => return self.fail(format!("{} has no value", fun.name())),
                };
                let d = self.result(into, 1);
                self.emit(Op::Math { fun: *fun, ty, d, a, b });
                Ok((d, ty))
            }
            Expr::Any(mask) => {
                let (a, lanes) = self.mask(mask)?;
                let d = self.result(into, 1);
                self.emit_lanes(LaneOp::Any { d, a, lanes });
                Ok((d, PrimType::Bool))
            }
            Expr::All(mask) => {
                let (a, lanes) = self.mask(mask)?;
                let d = self.result(into, 1);
                self.emit_lanes(LaneOp::All { d, a, lanes });
                Ok((d, PrimType::Bool))
            }
            Expr::FirstLane(mask) => {
                let (a, lanes) = self.mask(mask)?;
                let d = self.result(into, 1);
                self.emit_lanes(LaneOp::FirstLane { d, a, lanes });
                Ok((d, PrimType::I64))
            }
            Expr::Count(mask) => {
                let (a, lanes) = self.mask(mask)?;
                let d = self.result(into, 1);
                self.emit_lanes(LaneOp::Count { d, a, lanes });
                Ok((d, PrimType::I64))
            }
            Expr::Extract(x, lane) => {
                let (a, ty, lanes) = self.vector(x)?;
                let lane = self.i64(lane)?;
                let d = self.result(into, 1);
                self.emit_lanes(LaneOp::Extract { d, a, lane, lanes });
                Ok((d, ty))
            }
            crate::leaf_expr!()
            | Expr::SplitSqrt(_)
            | Expr::NewtonQuotient(..)
            | Expr::Splat(..)
            | Expr::LaneIds(..)
            | Expr::Pack(..)
            | Expr::Insert(..)
            | Expr::Shift(..) => self.fail("a scalar is needed"),
        }
    }

    fn mask(&mut self, expr: &Expr) -> Compiled<(Reg, u32)> {
        match self.vector(expr)? {
            (reg, PrimType::Bool, lanes) => Ok((reg, lanes)),
            _ => self.fail("a bool is needed"),
        }
    }

    /// Compiles a vector: its first register, element type and number of lanes.
    pub(super) fn vector(&mut self, expr: &Expr) -> Compiled<(Reg, PrimType, u32)> {
        self.vector_into(expr, None)
    }

    /// As [`Self::scalar_into`], for vectors.
    pub(super) fn vector_into(&mut self, expr: &Expr, into: Option<Reg>) -> Compiled<(Reg, PrimType, u32)> {
        if let Expr::Var(var) = expr {
            return match self.ty(*var)? {
                VarType::Vector(ty, lanes) => Ok((self.part(*var)?.reg, ty, lanes)),
                VarType::Scalar(_) | VarType::Buffer(_) => self.fail("a vector is needed"),
            };
        }
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.vector_operator(expr, into))
    }

    fn vector_operator(&mut self, expr: &Expr, into: Option<Reg>) -> Compiled<(Reg, PrimType, u32)> {
        match expr {
            Expr::Splat(lanes, x) => {
                if let Expr::Const(value) = &**x {
                    let reg = self.constant_vector(value.bits(), 0, *lanes);
                    return Ok((reg, value.ty(), *lanes));
                }
                let (a, ty) = self.scalar(x)?;
                let d = self.result(into, *lanes);
                self.emit_lanes(LaneOp::Splat { d, a, lanes: *lanes });
                Ok((d, ty, *lanes))
            }
            Expr::LaneIds(ty, lanes) => {
                if !ty.is_int() {
                    return self.fail("lanes has no value");
                }
                Ok((self.constant_vector(0, 1, *lanes), *ty, *lanes))
            }
            Expr::Insert(x, lane, value) => {
                let (a, ty, lanes) = self.vector(x)?;
                let lane = self.i64(lane)?;
                let (b, other) = self.scalar(value)?;
                self.typed(other, ty)?;
                let d = self.result(into, lanes);
                self.emit_lanes(LaneOp::Insert { d, a, lane, b, lanes });
                Ok((d, ty, lanes))
            }
            Expr::Pack(x, mask) => {
                let ((a, ty, lanes), (mask, count)) = (self.vector(x)?, self.mask(mask)?);
                if lanes != count {
                    return self.fail("vectors with different numbers of lanes");
                }
                let d = self.result(into, lanes);
                self.emit_lanes(LaneOp::Pack { d, a, mask, lanes });
                Ok((d, ty, lanes))
            }
            Expr::Shift(x, by, value) => {
                let (a, ty, lanes) = self.vector(x)?;
                let (b, other) = self.scalar(value)?;
                self.typed(other, ty)?;
                let d = self.result(into, lanes);
                self.emit_lanes(LaneOp::Shift { d, a, by: (*by).min(lanes), b, lanes });
                Ok((d, ty, lanes))
            }
            Expr::Scalar(ScalarOp::Unary(op, _, x)) => self.unary_lanes(*op, x, into),
            Expr::SplitSqrt(x) => self.unary_lanes(UnOp::FSqrt, x, into),
            Expr::NewtonQuotient(x, y) => self.binary_lanes(BinOp::FDiv, x, y, into),
            Expr::Scalar(ScalarOp::Binary(op, _, x, y)) => self.binary_lanes(*op, x, y, into),
            Expr::Scalar(ScalarOp::Compare(op, _, x, y)) => {
                let ((a, ty, lanes), b) = self.equal_vectors(x, y)?;
                let Some(f) = typed::compare(*op, ty) else {
                    return self.fail(format!("{} has no value", op.name()));
                };
                let d = self.result(into, lanes);
                self.emit_lanes(LaneOp::Binary { f, d, a, b, lanes });
                Ok((d, PrimType::Bool, lanes))
            }
            Expr::Scalar(ScalarOp::Convert { op, from: _, to, arg: x }) => {
                let (a, from, lanes) = self.vector(x)?;
                if !op.accepts(from, *to) {
                    return self.fail(format!("{} has no value", op.name()));
                }
                let d = self.result(into, lanes);
                self.emit_lanes(LaneOp::Convert { op: *op, from, to: *to, d, a, lanes });
                Ok((d, *to, lanes))
            }
            Expr::Scalar(ScalarOp::Select { ty: _, cond: c, if_true: x, if_false: y }) => {
                let (c, count) = self.mask(c)?;
                let ((a, ty, lanes), b) = self.equal_vectors(x, y)?;
                if count != lanes {
                    return self.fail("vectors with different numbers of lanes");
                }
                let d = self.result(into, lanes);
                self.emit_lanes(LaneOp::Select { d, c, a, b, lanes });
                Ok((d, ty, lanes))
            }
            Expr::Scalar(ScalarOp::Fma(_, x, y, z)) => {
                let ((a, ty, lanes), b) = self.equal_vectors(x, y)?;
                let (c, third, count) = self.vector(z)?;
                if (third, count) != (ty, lanes) || !ty.is_float() {
                    return self.fail("vectors with different numbers of lanes");
                }
                let d = self.result(into, lanes);
                self.emit_lanes(LaneOp::Fma { ty, d, a, b, c, lanes });
                Ok((d, ty, lanes))
            }
            Expr::Scalar(ScalarOp::Math(fun, _, args)) => {
                let ((a, ty, lanes), b) = match args.as_slice() {
                    [x] if fun.arity() == 1 => {
                        let x = self.vector(x)?;
                        (x, x.0)
                    }
                    [x, y] if fun.arity() == 2 => self.equal_vectors(x, y)?,
                    _ => return self.fail("a mathematical function of other than one or two arguments"),
                };
                if !ty.is_float() {
                    return self.fail(format!("{} has no value", fun.name()));
                }
                let d = self.result(into, lanes);
                self.emit_lanes(LaneOp::Math { fun: *fun, ty, d, a, b, lanes });
                Ok((d, ty, lanes))
            }
            crate::leaf_expr!() | crate::vector_to_scalar!() => self.fail("a vector is needed"),
        }
    }

    /// Two vectors of one type.
    fn equal_vectors(&mut self, x: &Expr, y: &Expr) -> Compiled<((Reg, PrimType, u32), Reg)> {
        let (x, y) = (self.vector(x)?, self.vector(y)?);
        if (x.1, x.2) == (y.1, y.2) {
            Ok((x, y.0))
        } else {
            self.fail("vectors with different numbers of lanes")
        }
    }

    fn unary_lanes(&mut self, op: UnOp, x: &Expr, into: Option<Reg>) -> Compiled<(Reg, PrimType, u32)> {
        let (a, ty, lanes) = self.vector(x)?;
        let Some(f) = typed::unary(op, ty) else {
            return self.fail(format!("{} has no value", op.name()));
        };
        let d = self.result(into, lanes);
        self.emit_lanes(LaneOp::Unary { f, d, a, lanes });
        Ok((d, ty, lanes))
    }

    fn binary_lanes(
        &mut self,
        op: BinOp,
        x: &Expr,
        y: &Expr,
        into: Option<Reg>,
    ) -> Compiled<(Reg, PrimType, u32)> {
        let ((a, ty, lanes), b) = self.equal_vectors(x, y)?;
        let Some(f) = typed::binary(op, ty) else {
            return self.fail(format!("{} has no value", op.name()));
        };
        let d = self.result(into, lanes);
        self.emit_lanes(match (op, ty) {
            (BinOp::And | BinOp::Or, PrimType::Bool) => {
                LaneOp::Logic { deciding: op == BinOp::Or, d, a, b, lanes }
            }
            _ => LaneOp::Binary { f, d, a, b, lanes },
        });
        Ok((d, ty, lanes))
    }
}

//! Basic operations: scalar operations become expressions, views emit nothing, new arrays become
//! loops and copies.

use crate::copies::ArrayCopy;
use crate::emitter::HeldRead;
use crate::mems::Param;
use crate::operators::elem_of;
use crate::schedule::{Fill, Generator, Schedule};
use crate::{OrBug, Result};
use imp::build::{Operand, product};
use imp::{Check, Expr, Stmt, Var, bind, expr};
use ir::mem::{Block, Lmad, MemAnn};
use ir::name::Name;
use ir::syntax::{Atom, Aux, BasicOp, DimIndex, MsgPart};
use ir::types::{Dim, Type};
use ir::{PassError, Prov};
use prim::{BinOp, ConvOp, PrimType, Scalar, ScalarOp};
use std::fmt::Write;

impl<S: Schedule> Generator<'_, S> {
    pub(crate) fn basic(&mut self, pat: &Param, aux: &Aux, op: &BasicOp) -> Result {
        match &pat.ty {
            Type::Array { .. } => self.array_op(pat, aux.prov, op),
            Type::Prim(_) => self.scalar_op(pat, op),
            Type::Cert => self.check(aux.prov, op),
            Type::Acc { .. } if matches!(op, BasicOp::UpdateAcc { .. }) => {
                S::once(self, |g| g.acc_op(pat, op))
            }
            Type::Acc { .. } => self.acc_op(pat, op),
            Type::Mem(_) => Err(PassError::bug("a basic operation returns a block")),
        }
    }

    fn scalar_op(&mut self, pat: &Param, op: &BasicOp) -> Result {
        let held = self.held_reads.get(&pat.name).cloned();
        let access = match (held, op) {
            (Some(HeldRead::Register(var)), _) => {
                self.set_var(pat.name, var);
                return Ok(());
            }
            (Some(HeldRead::Tile(access)), _) => access,
            (None, BasicOp::Index { array, slice }) => {
                let (ty, block, lmad) = self.location(*array)?;
                self.fixed(elem_of(&ty)?, block, &lmad, slice)?
            }
            (None, _) => {
                let value =
                    if self.schedule.is_host() { self.host_scalar(op)? } else { self.scalar_in_kernel(op)? };
                let var = self.bind_borrowed(pat).ok_or_else(unexpected_type)?;
                self.set(var, value);
                return Ok(());
            }
        };
        let var = self.bind_borrowed(pat).ok_or_else(unexpected_type)?;
        self.load(var, access);
        Ok(())
    }

    /// The value of a scalar operation on the host, where the context logs comparisons.
    fn host_scalar(&mut self, op: &BasicOp) -> Result<Expr> {
        if let BasicOp::SizeAtLeast { size, tunable } = op {
            let compared = Stmt::RecordComparison(self.tunable(*tunable)?, self.atom(*size)?.into());
            self.emit(Stmt::If(Expr::LogsComparisons, vec![compared], Vec::new()));
        }
        self.scalar_value(op)
    }

    /// The value of a scalar operation in a kernel. Tuning parameters and parameters of the source program are
    /// read before the kernel, and comparisons are not logged.
    fn scalar_in_kernel(&mut self, op: &BasicOp) -> Result<Expr> {
        if let BasicOp::SizeAtLeast { size, tunable } = op {
            let tunable = Expr::Tunable(self.tunable(*tunable)?);
            let least = S::on_host(self, |g| g.bind(tunable, "least"));
            return Ok(expr!(least <= self.atom(*size)?));
        }
        if let BasicOp::Param { name, default } = op {
            let default = default.constant().or_bug("a kernel computes the default of a parameter")?;
            let value = self.param(name, Operand::Const(default))?;
            return Ok(S::on_host(self, |g| g.bind(value, "parameter")).into());
        }
        self.scalar_value(op)
    }

    /// The value of a scalar operation.
    fn scalar_value(&self, op: &BasicOp) -> Result<Expr> {
        Ok(match op {
            BasicOp::Atom(atom) | BasicOp::Opaque(atom) => self.atom(*atom)?.into(),
            BasicOp::Scalar(op) => {
                let mut op =
                    op.as_ref().try_map(|atom| self.atom(*atom).map(|operand| Box::new(operand.into())))?;
                if let ScalarOp::Binary(by, ty, _, y) = &mut op
                    && let Some((simpler, operand)) = power_of_two_division(*by, *ty, y)
                {
                    (*by, **y) = (simpler, Expr::Const(operand));
                }
                Expr::Scalar(op)
            }
            BasicOp::SizeAtLeast { size, tunable } => {
                let tunable = Expr::Tunable(self.tunable(*tunable)?);
                expr!(tunable <= self.atom(*size)?)
            }
            BasicOp::Param { name, default } => self.param(name, self.atom(*default)?)?,
            BasicOp::Assert { .. }
            | BasicOp::Index { .. }
            | ir::view_op!()
            | ir::update_op!()
            | ir::fresh_array_op!() => {
                return Err(PassError::bug("an array operation returns a scalar"));
            }
        })
    }

    fn check(&mut self, prov: Prov, op: &BasicOp) -> Result {
        let (cond, msg) = match op {
            BasicOp::Assert { cond, msg } => (self.atom(*cond)?.into(), msg),
            // Renaming a certificate emits nothing.
            BasicOp::Atom(_) => return Ok(()),
            BasicOp::Scalar(_)
            | ir::parameter_op!()
            | BasicOp::Index { .. }
            | ir::update_op!()
            | ir::view_op!()
            | ir::fresh_array_op!()
            | BasicOp::Opaque(_) => {
                return Err(PassError::bug("a certificate does not come from a check"));
            }
        };
        let mut format = String::new();
        let mut values = Vec::new();
        for part in msg {
            match part {
                MsgPart::Text(text) => {
                    format.push_str(&text.replace('{', "{{").replace('}', "}}"));
                }
                MsgPart::Value(ty, atom) => {
                    let written = write!(format, "{{{ty}}}");
                    debug_assert!(written.is_ok(), "writing to a string does not fail");
                    values.push(self.atom(*atom)?.into());
                }
            }
        }
        let location = self.source_location(prov);
        let check = self.tables.check(Check { format: format.into(), location });
        self.emit(Stmt::Check { cond, check, values });
        Ok(())
    }

    /// Writes a scalar or array into a slice of an array, unless it is already in that memory.
    pub(crate) fn store_slice(
        &mut self,
        ty: &Type,
        block: Name,
        lmad: &Lmad,
        slice: &[DimIndex],
        value: Atom,
    ) -> Result {
        if slice.iter().all(|index| matches!(index, DimIndex::Fix(_))) {
            let access = self.fixed(elem_of(ty)?, block, lmad, slice)?;
            let value = self.atom(value)?;
            return S::once(self, |g| {
                g.store(access, value);
                Ok(())
            });
        }
        let array = value.var().or_bug("a scalar is written to a slice")?;
        self.copy_into(block, &lmad.slice(slice), array)
    }

    /// Writes a scalar or row of an array, at these indices of the outer dimensions.
    pub(crate) fn store_row(
        &mut self,
        ty: &Type,
        block: Name,
        lmad: &Lmad,
        fixed: &[DimIndex],
        value: Atom,
    ) -> Result {
        let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
        let row = ty.shape().iter().skip(fixed.len()).map(full);
        let slice: Vec<DimIndex> = fixed.iter().copied().chain(row).collect();
        self.store_slice(ty, block, lmad, &slice, value)
    }

    /// Writes the results of an iteration into arrays over a space, at its indices.
    pub(crate) fn write_elements(&mut self, pat: &[Param], dims: &[(Name, Dim)], results: &[Atom]) -> Result {
        let indices: Vec<DimIndex> = dims.iter().map(|(index, _)| DimIndex::Fix(Atom::Var(*index))).collect();
        for (param, &value) in pat.iter().zip(results) {
            if let MemAnn::In { block: Block::Var(block), lmad } = &param.ann {
                self.store_row(&param.ty, *block, lmad, &indices, value)?;
            }
        }
        Ok(())
    }

    /// Stores variables into arrays over a space, at its indices.
    pub(crate) fn store_results(&mut self, pat: &[Param], dims: &[(Name, Dim)], vars: &[Var]) -> Result {
        for (param, &value) in pat.iter().zip(vars) {
            let MemAnn::In { block: Block::Var(block), lmad } = &param.ann else {
                return Err(PassError::bug("a result array has no memory"));
            };
            let indices: Vec<Var> = dims.iter().map(|(index, _)| self.var(*index)).collect::<Result<_>>()?;
            let access = self.element(elem_of(&param.ty)?, *block, lmad, indices)?;
            self.store(access, value);
        }
        Ok(())
    }

    fn array_op(&mut self, pat: &Param, prov: Prov, op: &BasicOp) -> Result {
        self.record_location(pat);
        let MemAnn::In { block: Block::Var(block), lmad } = &pat.ann else {
            return Err(PassError::bug("an array has no memory"));
        };
        let elem = elem_of(&pat.ty)?;
        match op {
            BasicOp::Atom(_)
            | BasicOp::Opaque(_)
            | BasicOp::Index { .. }
            | ir::view_op!()
            | BasicOp::Scratch { .. } => Ok(()),
            BasicOp::Update { array, slice, value } => {
                let (ty, block, lmad) = self.location(*array)?;
                self.store_slice(&ty, block, &lmad, slice, *value)
            }
            BasicOp::FlatUpdate { array, offset, strides, value } => {
                let (_, block, lmad) = self.location(*array)?;
                let (ty, _, _) = self.location(*value)?;
                let dims: Vec<(Dim, Atom)> =
                    ty.shape().iter().copied().zip(strides.iter().copied()).collect();
                S::once(self, |g| g.copy_overlapping(block, &lmad.flat_slice(*offset, &dims), *value))
            }
            BasicOp::Copy(array) | BasicOp::Manifest { perm: _, array } => {
                self.copy_into(*block, lmad, *array)
            }
            BasicOp::Concat { dim, arrays, width: _ } => {
                let mut at = ir::poly::Poly::constant(0);
                for &array in arrays {
                    let (ty, _, _) = self.location(array)?;
                    let size = ty.shape().get(*dim).copied().ok_or_else(unexpected_type)?;
                    let mut part = lmad.clone();
                    part.offset = part.offset.add(&at.mul(&lmad.dims[*dim].stride));
                    part.dims[*dim].extent = size;
                    self.copy_into(*block, &part, array)?;
                    at = at.add(&ir::poly::Poly::dim(size));
                }
                Ok(())
            }
            BasicOp::Iota { ty, count, start, stride } => {
                let count = self.dim(*count)?;
                let (start, stride) = (self.atom(*start)?, self.atom(*stride)?);
                let rows = Fill { operation: "iota", prov, count, row: 1.into(), unaliased: vec![*block] };
                self.fill_each(rows, |g, i| {
                    let index = resized(ConvOp::SExt, PrimType::I64, *ty, i);
                    let scaled = Expr::binary(BinOp::Mul, *ty, index, stride.into());
                    let value = Expr::binary(BinOp::Add, *ty, scaled, start.into());
                    let access = g.element(elem, *block, lmad, [i])?;
                    g.emit(Stmt::Store(access, value));
                    Ok(())
                })
            }
            BasicOp::Replicate { shape, value } => {
                let array =
                    Replicate { block: *block, lmad, elem, shape: pat.ty.shape(), outer: shape.len() };
                S::replicate(self, &array, *value, prov)
            }
            BasicOp::ArrayLit { row: _, elems } => S::once(self, |g| {
                for (at, &value) in elems.iter().enumerate() {
                    let index = DimIndex::Fix(Atom::i64(at as i64));
                    g.store_row(&pat.ty, *block, lmad, &[index], value)?;
                }
                Ok(())
            }),
            BasicOp::ConstArray { elem, shape, bytes } => {
                let to = self.region(*block, lmad)?;
                S::once(self, |g| g.constant(to, *elem, shape, bytes))
            }
            BasicOp::Scalar(_) | ir::parameter_op!() | BasicOp::Assert { .. } | BasicOp::UpdateAcc { .. } => {
                Err(PassError::bug("a scalar operation returns an array"))
            }
        }
    }

    /// Repeats a value, in a row for each index of the outermost dimension.
    pub(crate) fn replicate_rows(&mut self, array: &Replicate<'_>, value: Atom, prov: Prov) -> Result {
        let Replicate { block, lmad, elem, shape, outer } = *array;
        let extents = self.extents(shape)?;
        let (&count, rest) = extents.split_first().or_bug("a replicate has no dimensions")?;
        bind!(row = self(product(rest)));
        let scalar = !matches!(value, Atom::Var(name) if self.location(name).is_ok());
        let scalar = if scalar { Some(self.atom(value)?) } else { None };
        let rows = Fill { operation: "replicate", prov, count, row, unaliased: vec![block] };
        self.fill_each(rows, |g, i| {
            g.nest(&extents[1..outer], true, vec![i.into()], &mut |g, indices| {
                if let Some(value) = scalar {
                    let access = g.element(elem, block, lmad, indices)?;
                    g.emit(Stmt::Store(access, value.into()));
                    return Ok(());
                }
                let (ty, from_block, from) = g.location(value.var().ok_or_else(unexpected_type)?)?;
                let from = g.region(from_block, &from)?;
                let mut to = g.region(block, lmad)?;
                for (index, stride) in indices.into_iter().zip(to.strides.drain(..outer)) {
                    to.offset = to.offset + index * stride;
                }
                let extents = g.extents(ty.shape())?;
                S::copy(g, ArrayCopy { to, from, elem, extents })
            })
        })
    }
}

/// An array whose outer dimensions repeat a value.
pub(crate) struct Replicate<'r> {
    pub(crate) block: Name,
    pub(crate) lmad: &'r Lmad,
    pub(crate) elem: PrimType,
    pub(crate) shape: &'r [Dim],
    /// The number of outer dimensions.
    pub(crate) outer: usize,
}

/// An integer conversion, if the types differ.
pub(crate) fn resized(how: ConvOp, from: PrimType, to: PrimType, value: impl Into<Expr>) -> Expr {
    let value = value.into();
    if from == to { value } else { Expr::convert(how, from, to, value) }
}

pub(crate) fn unexpected_type() -> PassError {
    PassError::bug("a value of an unexpected type")
}

/// The bit operation and second operand equivalent to a division or remainder by this divisor, if
/// it is a power of two: vectors have no integer division. (Quotients are rounded down, so negative
/// numbers need no correction.)
fn power_of_two_division(op: BinOp, ty: PrimType, divisor: &Expr) -> Option<(BinOp, Scalar)> {
    let divisor = divisor.as_const()?.as_i64().filter(|n| *n > 0 && n.count_ones() == 1)?;
    let shift = Scalar::int(ty, i64::from(divisor.trailing_zeros()));
    if op == BinOp::SDiv {
        Some((BinOp::AShr, shift))
    } else if op == BinOp::UDiv {
        Some((BinOp::LShr, shift))
    } else {
        matches!(op, BinOp::SMod | BinOp::UMod).then(|| (BinOp::And, Scalar::int(ty, divisor - 1)))
    }
}

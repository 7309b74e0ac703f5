//! Basic operations: scalar operations become expressions, views emit nothing, new arrays become
//! loops and copies.

use super::cpu::Fill;
use super::function::Gen;
use imp::build::{add, mul};
use imp::{Check, Expr, Stmt};
use ir::mem::{Lmad, MemAnn};
use ir::name::Name;
use ir::syntax::{Atom, Aux, BasicOp, DimIndex, MsgPart, Param};
use ir::types::{Dim, Type};
use ir::{Mems, PassError, Prov};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarOp};
use std::fmt::Write;

impl Gen<'_, '_> {
    pub(crate) fn basic(&mut self, pat: &Param<Mems>, aux: &Aux, op: &BasicOp) -> Result<(), PassError> {
        match &pat.ty {
            Type::Array { .. } => self.array_op(pat, aux.prov, op),
            Type::Prim(_) => self.scalar_op(pat, op),
            Type::Cert => self.check(aux.prov, op),
            Type::Acc { .. } if matches!(op, BasicOp::UpdateAcc { .. }) => {
                self.single_thread(|g| g.acc_op(pat, op))
            }
            Type::Acc { .. } => self.acc_op(pat, op),
            Type::Mem(_) => Err(PassError::bug("a basic operation returns a block")),
        }
    }

    fn scalar_op(&mut self, pat: &Param<Mems>, op: &BasicOp) -> Result<(), PassError> {
        if let Some(var) = self.register_reads.get(&pat.name) {
            self.set_var(pat.name, *var);
            return Ok(());
        }
        if let BasicOp::Index { array, slice } = op {
            let (ty, block, lmad) = self.location(*array)?;
            let elem = ty.elem().ok_or_else(|| PassError::bug("the indexed value is not an array"))?;
            let access = match self.tiled_reads.get(&pat.name) {
                Some(access) => access.clone(),
                None => self.fixed(elem, block, &lmad, slice)?,
            };
            let var = self.bind_borrowed(pat).ok_or_else(unexpected_type)?;
            self.load(var, access);
            return Ok(());
        }
        if self.enclosing_kernel.is_some() {
            return self.scalar_in_kernel(pat, op);
        }
        if let BasicOp::SizeAtLeast { size, tunable } = op {
            let compared = Stmt::RecordComparison(self.tunable(*tunable)?, self.atom(*size)?);
            self.emit(Stmt::If(Expr::LogsComparisons, vec![compared], Vec::new()));
        }
        let value = self.scalar_value(op)?;
        let var = self.bind_borrowed(pat).ok_or_else(unexpected_type)?;
        self.emit(Stmt::Set(var, value));
        Ok(())
    }

    pub(crate) fn scalar_value(&self, op: &BasicOp) -> Result<Expr, PassError> {
        Ok(match op {
            BasicOp::Atom(atom) | BasicOp::Opaque(atom) => self.atom(*atom)?,
            BasicOp::Scalar(op) => {
                let mut op = op.as_ref().try_map(|atom| self.atom(*atom).map(Box::new))?;
                if let ScalarOp::Binary(by, ty, _, y) = &mut op
                    && let Some((simpler, operand)) = power_of_two_division(*by, *ty, y)
                {
                    (*by, **y) = (simpler, Expr::Const(operand));
                }
                Expr::Scalar(op)
            }
            BasicOp::SizeAtLeast { size, tunable } => {
                let tunable = Expr::Tunable(self.tunable(*tunable)?);
                Expr::compare(CmpOp::SLe, PrimType::I64, tunable, self.atom(*size)?)
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

    fn check(&mut self, prov: Prov, op: &BasicOp) -> Result<(), PassError> {
        let (cond, msg) = match op {
            BasicOp::Assert { cond, msg } => (self.atom(*cond)?, msg),
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
                    values.push(self.atom(*atom)?);
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
    ) -> Result<(), PassError> {
        let elem = ty.elem().ok_or_else(|| PassError::bug("the updated value is not an array"))?;
        if slice.iter().all(|index| matches!(index, DimIndex::Fix(_))) {
            let access = self.fixed(elem, block, lmad, slice)?;
            let value = self.atom(value)?;
            return self.single_thread(|g| {
                g.store(access, value);
                Ok(())
            });
        }
        let Atom::Var(array) = value else {
            return Err(PassError::bug("a scalar is written to a slice"));
        };
        self.copy_into(block, &lmad.slice(slice), array)
    }

    fn array_op(&mut self, pat: &Param<Mems>, prov: Prov, op: &BasicOp) -> Result<(), PassError> {
        self.record_location(pat);
        let MemAnn::In { block: ir::mem::Block::Var(block), lmad } = &pat.ann else {
            return Err(PassError::bug("an array has no memory"));
        };
        let elem = pat.ty.elem().ok_or_else(unexpected_type)?;
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
                self.single_thread(|g| g.copy_overlapping(block, &lmad.flat_slice(*offset, &dims), *value))
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
                let (block, lmad, ty) = (*block, lmad.clone(), *ty);
                let rows = Fill { operation: "iota", prov, count, row: Expr::i64(1), unaliased: vec![block] };
                self.fill_each(rows, |g, i| {
                    let index = if ty == PrimType::I64 {
                        Expr::Var(i)
                    } else {
                        Expr::convert(prim::ConvOp::SExt, PrimType::I64, ty, Expr::Var(i))
                    };
                    let scaled = Expr::binary(BinOp::Mul, ty, index, stride.clone());
                    let value = Expr::binary(BinOp::Add, ty, scaled, start.clone());
                    let access = g.element(elem, block, &lmad, vec![Expr::Var(i)])?;
                    g.emit(Stmt::Store(access, value));
                    Ok(())
                })
            }
            BasicOp::Replicate { shape, value } => {
                let outer = shape.len();
                self.replicate(pat, *block, lmad, outer, *value, prov)
            }
            BasicOp::ArrayLit { row, elems } => self.single_thread(|g| {
                for (at, &value) in elems.iter().enumerate() {
                    let slice: Vec<DimIndex> = std::iter::once(DimIndex::Fix(Atom::i64(at as i64)))
                        .chain(row.shape().iter().map(|&count| DimIndex::Slice {
                            start: Atom::i64(0),
                            count,
                            stride: Atom::i64(1),
                        }))
                        .collect();
                    g.store_slice(&pat.ty, *block, lmad, &slice, value)?;
                }
                Ok(())
            }),
            BasicOp::ConstArray { elem, shape, bytes } => {
                let to = self.region(*block, lmad)?;
                self.single_thread(|g| g.constant(to, *elem, shape, bytes))
            }
            BasicOp::Scalar(_) | ir::parameter_op!() | BasicOp::Assert { .. } | BasicOp::UpdateAcc { .. } => {
                Err(PassError::bug("a scalar operation returns an array"))
            }
        }
    }

    /// Repeats a value over the outer dimensions of the array.
    fn replicate(
        &mut self,
        pat: &Param<Mems>,
        block: Name,
        lmad: &Lmad,
        outer: usize,
        value: Atom,
        prov: Prov,
    ) -> Result<(), PassError> {
        let elem = pat.ty.elem().ok_or_else(unexpected_type)?;
        let shape = pat.ty.shape();
        if self.is_device_memory(self.var(block)?) {
            let to = self.region(block, lmad)?;
            return self.replicate_by_kernels(&to, (elem, shape), value, prov);
        }
        let extents: Vec<Expr> = shape[..outer].iter().map(|&dim| self.dim(dim)).collect::<Result<_, _>>()?;
        let Some((first, rest)) = extents.split_first() else {
            return Err(PassError::bug("a replicate has no dimensions"));
        };
        let mut row = Expr::i64(1);
        for extent in rest {
            row = mul(row, extent.clone());
        }
        for &dim in &shape[outer..] {
            row = mul(row, self.dim(dim)?);
        }
        let row = self.bind_value(row, PrimType::I64, "row");
        let scalar = !matches!(value, Atom::Var(name) if self.location(name).is_ok());
        let value_expr = if scalar { Some(self.atom(value)?) } else { None };
        let rows = Fill { operation: "replicate", prov, count: first.clone(), row, unaliased: vec![block] };
        self.fill_each(rows, |g, i| {
            g.nest(rest.to_vec(), vec![Expr::Var(i)], &mut |g, indices| {
                if let Some(value) = &value_expr {
                    let access = g.element(elem, block, lmad, indices)?;
                    g.emit(Stmt::Store(access, value.clone()));
                    return Ok(());
                }
                let Atom::Var(array) = value else {
                    return Err(unexpected_type());
                };
                let (ty, from_block, from) = g.location(array)?;
                let from = g.region(from_block, &from)?;
                let mut to = g.region(block, lmad)?;
                for (index, stride) in indices.into_iter().zip(to.strides.drain(..outer)) {
                    to.offset = add(to.offset, mul(index, stride));
                }
                let extents = ty.shape().iter().map(|&dim| g.dim(dim)).collect::<Result<_, _>>()?;
                g.copy(to, from, elem, extents)
            })
        })
    }

    /// Nested loops over the extents; `f` is called with the indices.
    fn nest(
        &mut self,
        mut extents: Vec<Expr>,
        indices: Vec<Expr>,
        f: &mut dyn FnMut(&mut Self, Vec<Expr>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        if extents.is_empty() {
            return f(self, indices);
        }
        let extent = extents.remove(0);
        self.for_seq("i", Expr::i64(0), extent, true, |g, i| {
            let mut indices = indices;
            indices.push(Expr::Var(i));
            g.nest(extents, indices, f)
        })
    }
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

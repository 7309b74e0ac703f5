//! Basic operations: views share memory, updates keep it, new arrays get it.

use crate::alloc::{Ctx, with_extents};
use ir::decision::Copied;
use ir::mem::{Block, Lmad, LmadDim, MemAnn};
use ir::name::Name;
use ir::syntax::{Atom, Aux, BasicOp, Exp, Param, ReshapeKind, Stm};
use ir::types::Type;
use ir::{Mems, PassError, Segs};

impl Ctx<'_> {
    /// Appends a basic operation.
    pub(crate) fn basic(
        &mut self,
        pat: Vec<Param<Segs>>,
        aux: Aux,
        op: BasicOp,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<(), PassError> {
        let [param]: [Param<Segs>; 1] = pat
            .try_into()
            .map_err(|_| PassError::bug("a basic operation binds one name"))?;
        if !param.ty.is_array() {
            let pat = vec![self.plain(param)?];
            out.push(Stm {
                pat,
                aux,
                exp: Exp::Basic(op),
            });
            return Ok(());
        }
        let ann = match &op {
            BasicOp::Atom(Atom::Var(array)) | BasicOp::Opaque(Atom::Var(array)) => {
                self.same(*array, &param.ty)?
            }
            BasicOp::Update {
                array,
                slice: _,
                value: _,
            } => self.same(*array, &param.ty)?,
            BasicOp::Index { array, slice } => {
                let (block, lmad) = self.place_of(*array)?;
                MemAnn::In {
                    block: Block::Var(block),
                    lmad: lmad.slice(slice),
                }
            }
            BasicOp::FlatUpdate {
                array,
                offset: _,
                strides: _,
                value: _,
            } => self.same(*array, &param.ty)?,
            BasicOp::FlatIndex {
                array,
                offset,
                dims,
            } => {
                let (block, lmad) = self.place_of(*array)?;
                MemAnn::In {
                    block: Block::Var(block),
                    lmad: lmad.flat_slice(*offset, dims),
                }
            }
            BasicOp::Rearrange { perm, array } => {
                let (block, lmad) = self.place_of(*array)?;
                let dims = perm.iter().map(|&at| lmad.dims[at].clone()).collect();
                let lmad = Lmad {
                    offset: lmad.offset,
                    dims,
                };
                MemAnn::In {
                    block: Block::Var(block),
                    lmad,
                }
            }
            BasicOp::Reshape {
                kind: ReshapeKind::Coerce,
                shape: _,
                array,
            } => self.same(*array, &param.ty)?,
            BasicOp::Reshape {
                kind: ReshapeKind::Arbitrary,
                shape,
                array,
            } => {
                let (block, lmad) = self.place_of(*array)?;
                if let Some(lmad) = reshape(&lmad, &param.ty) {
                    MemAnn::In {
                        block: Block::Var(block),
                        lmad,
                    }
                } else {
                    return self.reshape_copy(param, aux, shape, *array, out);
                }
            }
            BasicOp::Manifest { perm, array: _ } => {
                let hint = self.names.hint(param.name).clone();
                let block = self.alloc(&hint, &param.ty, aux.prov, out)?;
                MemAnn::In {
                    block: Block::Var(block),
                    lmad: self.whole_by(block, &param.ty, perm),
                }
            }
            BasicOp::Concat { .. }
            | BasicOp::Iota { .. }
            | BasicOp::Replicate { .. }
            | BasicOp::Scratch { .. }
            | BasicOp::Copy(_)
            | BasicOp::ArrayLit { .. }
            | BasicOp::ConstArray { .. } => self.place(&param, aux.prov, out)?,
            BasicOp::Atom(Atom::Const(_))
            | BasicOp::Opaque(Atom::Const(_))
            | BasicOp::Unary(..)
            | BasicOp::Binary(..)
            | BasicOp::Compare(..)
            | BasicOp::SizeAtLeast { .. }
            | BasicOp::Param { .. }
            | BasicOp::Convert { .. }
            | BasicOp::Select { .. }
            | BasicOp::Fma(..)
            | BasicOp::Math(..)
            | BasicOp::Assert { .. }
            | BasicOp::UpdateAcc { .. } => {
                return Err(PassError::bug("a scalar operation binds an array"));
            }
        };
        let pat = vec![self.bind(param.name, param.ty, ann)];
        out.push(Stm {
            pat,
            aux,
            exp: Exp::Basic(op),
        });
        Ok(())
    }

    /// The place of another array, with the extents of `ty`.
    pub(crate) fn same(&self, array: Name, ty: &Type) -> Result<MemAnn, PassError> {
        let (block, lmad) = self.place_of(array)?;
        Ok(MemAnn::In {
            block: Block::Var(block),
            lmad: with_extents(&lmad, ty),
        })
    }

    /// A reshape that one index function cannot express: of a row-major copy.
    fn reshape_copy(
        &mut self,
        param: Param<Segs>,
        aux: Aux,
        shape: &ir::Shape,
        array: Name,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<(), PassError> {
        let ty = self.type_of(array)?;
        let hint = self.names.hint(param.name).clone();
        let block = self.alloc(&hint, &ty, aux.prov, out)?;
        let ann = self.whole_in(block, &ty);
        let copy = self.copy_to(array, ann, aux.prov, Copied::Reshaped, out)?;
        let ann = self.whole_in(block, &param.ty);
        let pat = vec![self.bind(param.name, param.ty, ann)];
        let op = BasicOp::Reshape {
            kind: ReshapeKind::Arbitrary,
            shape: shape.clone(),
            array: copy,
        };
        out.push(Stm {
            pat,
            aux,
            exp: Exp::Basic(op),
        });
        Ok(())
    }
}

/// The index function of the elements in row-major order under the shape of
/// `ty`, where one index function can say it: from elements at any offset that are as far
/// apart as row-major ones, or all so many times as far.
fn reshape(lmad: &Lmad, ty: &Type) -> Option<Lmad> {
    let shape: Vec<_> = lmad.dims.iter().map(|dim| dim.extent).collect();
    let scale = lmad.dims.last()?.stride.clone();
    let row_major = Lmad::row_major(&shape);
    let same = lmad
        .dims
        .iter()
        .zip(&row_major.dims)
        .all(|(a, b)| a.stride == b.stride.mul(&scale));
    if !same {
        return None;
    }
    let mut reshaped = Lmad::row_major(ty.shape());
    for dim in &mut reshaped.dims {
        dim.stride = dim.stride.mul(&scale);
    }
    reshaped.offset = lmad.offset.clone();
    Some(reshaped)
}

/// Dimensions laid out in the order `perm`, slowest first.
pub(crate) fn permuted(perm: &[usize], ty: &Type) -> Lmad {
    let shape: Vec<_> = perm.iter().map(|&at| ty.shape()[at]).collect();
    let laid_out = Lmad::row_major(&shape);
    let mut dims: Vec<LmadDim> = laid_out.dims.to_vec();
    for (&at, dim) in perm.iter().zip(&laid_out.dims) {
        dims[at] = dim.clone();
    }
    Lmad {
        offset: laid_out.offset,
        dims: dims.into(),
    }
}

//! Memory of basic operations: views share their source's block, updates keep it, new arrays get
//! one.

use crate::alloc::Ctx;
use ir::mem::{Block, MemAnn, view};
use ir::name::Name;
use ir::remark::CopyReason;
use ir::syntax::{Aux, BasicOp, Exp, Param, ReshapeKind, Stm};
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
        let [param]: [Param<Segs>; 1] =
            pat.try_into().map_err(|_| PassError::bug("a basic operation must bind one name"))?;
        if !param.ty.is_array() {
            self.note_choice(param.name, &op);
            let pat = vec![self.plain(param)?];
            out.push(Stm { pat, aux, exp: Exp::Basic(op) });
            return Ok(());
        }
        let lies = |array: Name| Some(self.location_of(array).ok()?.1);
        let ann = if let Some((array, lmad)) = view(&op, param.ty.shape(), lies) {
            let (block, _) = self.location_of(array)?;
            MemAnn::In { block: Block::Var(block), lmad }
        } else {
            match &op {
                BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape, array } => {
                    return self.reshape_copy(param, aux, shape, *array, out);
                }
                BasicOp::Manifest { perm, array: _ } => {
                    let hint = self.names.hint(param.name).clone();
                    let block = self.alloc(&hint, &param.ty, aux.prov, out)?;
                    MemAnn::In { block: Block::Var(block), lmad: self.whole_by(block, &param.ty, perm) }
                }
                BasicOp::Concat { .. }
                | BasicOp::Iota { .. }
                | BasicOp::Replicate { .. }
                | BasicOp::Scratch { .. }
                | BasicOp::Copy(_)
                | BasicOp::ArrayLit { .. }
                | BasicOp::ConstArray { .. } => self.locate_new(&param, aux.prov, out)?,
                BasicOp::Atom(_)
                | BasicOp::Opaque(_)
                | BasicOp::Update { .. }
                | BasicOp::FlatUpdate { .. }
                | BasicOp::Index { .. }
                | BasicOp::FlatIndex { .. }
                | BasicOp::Rearrange { .. }
                | BasicOp::Reshape { kind: ReshapeKind::Coerce, .. } => {
                    return Err(PassError::bug("a view of an array without a memory block"));
                }
                BasicOp::Scalar(_)
                | ir::parameter_op!()
                | BasicOp::Assert { .. }
                | BasicOp::UpdateAcc { .. } => {
                    return Err(PassError::bug("a scalar operation binds an array"));
                }
            }
        };
        let pat = vec![self.bind(param.name, param.ty, ann)];
        out.push(Stm { pat, aux, exp: Exp::Basic(op) });
        Ok(())
    }

    /// The location of another array, with the extents of `ty`.
    pub(crate) fn same(&self, array: Name, ty: &Type) -> Result<MemAnn, PassError> {
        let (block, lmad) = self.location_of(array)?;
        Ok(MemAnn::In { block: Block::Var(block), lmad: lmad.with_extents(ty.shape()) })
    }

    /// Appends a reshape that one index function cannot express, of a row-major copy.
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
        let copy = self.copy_to(array, ann, aux.prov, CopyReason::Reshaped, out)?;
        let ann = self.whole_in(block, &param.ty);
        let pat = vec![self.bind(param.name, param.ty, ann)];
        let op = BasicOp::Reshape { kind: ReshapeKind::Arbitrary, shape: shape.clone(), array: copy };
        out.push(Stm { pat, aux, exp: Exp::Basic(op) });
        Ok(())
    }
}

//! Arrays whose rows are segments: stored as one segment and reshaped.
//!
//! ```text
//! Σ ⊢ let a: [2][n] = [xs, ys]     =>  Σ ⊢ let s: [2 * n] = xs ++ ys
//!                                          let a = reshape [2][n] s
//! Σ ⊢ let b: [k][n] = opaque a     =>  Σ ⊢ let t = opaque (reshape [k * n] a)
//!                                          let b = reshape [k][n] t
//!     where n varies across iterations, and k does not
//! ```
//!
//! Other rules apply to the operations on the right; rows are computed where they are read.

use super::distribute::Distribution;
use crate::Stms;
use crate::context::Ctx;
use crate::names::reshape;
use ir::name::Name;
use ir::syntax::{Atom, BasicOp, Exp, ReshapeKind, Stm};
use ir::types::Dim;
use ir::{Builder, Soacs};

impl Distribution<'_, '_> {
    /// Rewrites a literal or a copy of such rows into statements on one segment.
    pub(super) fn in_rows(&self, ctx: &mut Ctx<'_>, stm: &Stm<Soacs>) -> Option<Stms<Soacs>> {
        let ([param], Exp::Basic(op)) = (stm.pat.as_slice(), &stm.exp) else {
            return None;
        };
        let bound = self.bound();
        let dims = param.ty.shape();
        let varying = dims.iter().position(|dim| bound.varies(*dim));
        let at = varying.filter(|at| *at > 0)?;
        let (outer, rest) = dims.split_at(at + 1);
        if rest.iter().any(|dim| bound.varies(*dim)) || bound.has_own_size(stm, &param.ty) {
            return None;
        }
        let mut rows: Vec<Name> = Vec::new();
        let source = if let BasicOp::ArrayLit { elems, .. } = op {
            rows.extend(elems.iter().filter_map(|elem| elem.var()));
            None
        } else if let BasicOp::Opaque(Atom::Var(name)) | BasicOp::Copy(name) = op {
            Some(*name)
        } else {
            return None;
        };
        if source.is_none() && (at != 1 || rows.is_empty()) {
            return None;
        }
        let flat = source.and_then(|name| self.as_segment(ctx, name, rest.len()));
        let mut builder = ctx.names.builder::<Soacs>(stm.aux.prov);
        builder.certs.clone_from(&stm.aux.certs);
        let op = if let Some(name) = source {
            let flat = flat.unwrap_or_else(|| {
                let size = Builder::<Soacs>::dim(builder.product(outer));
                let shape: Vec<Dim> = std::iter::once(size).chain(rest.iter().copied()).collect();
                builder.let_basic("segment", reshape(&shape, name))
            });
            if matches!(op, BasicOp::Opaque(_)) { BasicOp::Opaque(flat.into()) } else { BasicOp::Copy(flat) }
        } else {
            BasicOp::Concat { dim: 0, width: Builder::<Soacs>::dim(builder.product(outer)), arrays: rows }
        };
        let segment = builder.let_basic("segment", op);
        let mut stms = builder.take_stms();
        let exp = Exp::Basic(reshape(dims, segment));
        stms.push(Stm { exp, ..stm.clone() });
        Some(stms)
    }

    /// The segment that an array of rows is a reshape of, if it is one.
    fn as_segment(&self, ctx: &Ctx<'_>, name: Name, rest: usize) -> Option<Name> {
        let stm = self.binder(name)?;
        let Exp::Basic(BasicOp::Reshape { kind: ReshapeKind::Arbitrary, array, .. }) = &stm.exp else {
            return None;
        };
        let ty = ctx.names.type_of(*array).ok()?;
        (stm.aux.certs.is_empty() && ty.rank() == rest + 1).then_some(*array)
    }
}

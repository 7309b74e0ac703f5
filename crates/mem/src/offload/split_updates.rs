//! Reductions that update accumulators, split into a segmap that updates them and a reduction of its
//! other results: threads of a device update in segmaps only.
//!
//! ```text
//! segred grid (i < n) { e, acc } (op, ne)
//!   =>  let (xs, acc') = segmap grid (i < n) { e, acc }
//!       segred grid (i < n) { xs[i] } (op, ne)
//! ```
//!
//! Reductions of arrays run on the host and stay as they are.

use super::sequentialise::takes_arrays;
use ir::name::{Name, NameTable};
use ir::seg::{Decomp, Seg, SegKind, SegOp, SegSpace};
use ir::syntax::{Atom, Aux, Body, Exp, Function, Param, Stm};
use ir::types::{Dim, Type};
use ir::typing::TypeEnv;
use ir::walk::{VisitMut, sub_bodies_mut, with_stack};
use ir::{Builder, Segs};

/// Splits the reductions outside of all other segops.
pub(super) fn split_updates(function: &mut Function<Segs>) {
    let types = TypeEnv::of_function(function);
    Splitter { types, names: &mut function.names }.body(&mut function.body);
}

struct Splitter<'a> {
    names: &'a mut NameTable,
    types: TypeEnv,
}

impl VisitMut<Segs> for Splitter<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            let mut stms = Vec::with_capacity(body.stms.len());
            for Stm { pat, aux, mut exp } in std::mem::take(&mut body.stms) {
                if let Exp::Op(SegOp::Seg(seg)) = exp {
                    match reduced_beside_updates(&seg) {
                        Some(n) => stms.extend(self.split((&pat, aux), seg, n)),
                        None => stms.push(Stm { pat, aux, exp: Exp::Op(SegOp::Seg(seg)) }),
                    }
                    continue;
                }
                sub_bodies_mut(&mut exp, |body| self.body(body));
                stms.push(Stm { pat, aux, exp });
            }
            body.stms = stms;
        });
    }
}

/// The number of reduced values of a segop that reduces scalars and updates accumulators.
fn reduced_beside_updates(seg: &Seg<Segs>) -> Option<usize> {
    let SegKind::ScanReduce(scan_reduce) = &seg.kind else {
        return None;
    };
    let reduces = scan_reduce.scans.is_empty() && scan_reduce.post.is_none() && !scan_reduce.is_map();
    let splits = reduces && seg.decomp.updates_per_iteration > 0 && !takes_arrays(scan_reduce);
    splits.then(|| scan_reduce.n_reduced())
}

impl Splitter<'_> {
    /// The segmap and the reduction of a segop whose first `n` values are reduced.
    fn split(&mut self, (pat, aux): (&[Param<Segs>], Aux), seg: Seg<Segs>, n: usize) -> Vec<Stm<Segs>> {
        let Seg { level, space, kind, body, ret, decomp, identity_predicate } = seg;
        let (totals, mapped) = pat.split_at(n);
        let types = ret[..n].to_vec();
        let mut b: Builder<'_, Segs> = Builder::new(self.names, &mut self.types);
        b.prov = aux.prov;
        let dims = space.dims.iter();
        let dims: Vec<(Name, Dim)> = dims.map(|&(index, dim)| (b.names.fresh_like(index), dim)).collect();
        let array = |ty: &Type| dims.iter().rev().fold(ty.clone(), |ty, (_, dim)| ty.array_of(*dim));
        let values: Vec<Param<Segs>> = types.iter().map(|ty| b.param("values", array(ty))).collect();
        let map = Seg {
            level,
            space,
            kind: SegKind::map(),
            body,
            ret,
            decomp: Decomp { tunable: None, ..decomp },
            identity_predicate: None,
        };
        let results = values.iter().chain(mapped).cloned().collect();
        b.let_with(results, aux.clone(), Exp::Op(SegOp::Seg(map)));
        let mut indices: Vec<Atom> = Vec::with_capacity(dims.len());
        for (index, _) in &dims {
            b.types.set(*index, Type::I64);
            indices.push((*index).into());
        }
        let body = b.body(|b| {
            let read = |param: &Param<Segs>| b.index("value", param.name, &indices).into();
            values.iter().map(read).collect()
        });
        let reduction = Seg {
            level,
            space: SegSpace { dims, lane: None },
            kind,
            body,
            ret: types,
            decomp: Decomp { updates_per_iteration: 0, ..decomp },
            identity_predicate,
        };
        b.let_with(totals.to_vec(), aux, Exp::Op(SegOp::Seg(reduction)));
        b.take_stms()
    }
}

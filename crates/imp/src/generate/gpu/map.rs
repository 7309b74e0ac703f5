//! Segmaps whose points share nothing: a thread for each, over all dimensions, or for several
//! where points compute little.
//!
//! ```text
//! a thread a point      <body>; write
//! of a step of threads  if the last of its points is one:  <body> of each, a step apart; write all
//!                       else:                              for each that is one { <body>; write }
//! ```
//!
//! What a point reads is memory's to bring, and a thread waits for it before it writes: with
//! several points a thread, several reads are on their way. The step is as many threads as
//! there are points where these are few, so that nobody has more than one.

use crate::generate::expr::{add, compare, mul, select};
use crate::generate::function::Gen;
use crate::generate::operators::div_up;
use crate::syntax::{Expr, Stmt};
use ir::mem::{Block, MemAnn};
use ir::name::Name;
use ir::seg::Seg;
use ir::syntax::{Atom, DimIndex, Param};
use ir::types::{Dim, Type};
use ir::{Mems, PassError, Prov};
use prim::{CmpOp, PrimType};

/// Most statements of a point that computes little.
const LITTLE: usize = 24;

impl Gen<'_, '_> {
    /// A thread for each point, or for several.
    pub(super) fn plain_map(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let n = self.product(&seg.space.dims, "n")?;
        if self.is_little(pat, seg, LITTLE) && self.fuel.take() {
            return self.map_several(pat, seg, (n, prov));
        }
        self.each_point(("segmap", prov), n, |g, point| {
            g.map_point(pat, seg, &point)
        })
    }

    /// A thread for several points, a step apart.
    fn map_several(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        (n, prov): (Expr, Prov),
    ) -> Result<(), PassError> {
        let device = self.layout();
        let own = device.side;
        let dims = seg.space.dims.as_slice();
        let many = device.blocks * device.block * own;
        let parts = mul(
            div_up(n.clone(), own * device.block),
            Expr::i64(device.block),
        );
        let is_many = compare(CmpOp::SLe, Expr::i64(many), n.clone());
        let step = self.name_value(select(&is_many, &parts, &n), PrimType::I64, "step");
        self.each_point(("segmap", prov), step.clone(), |g, first| {
            let point = |k: Expr| add(first.clone(), mul(k, step.clone()));
            let last = point(Expr::i64(own - 1));
            let all = g.collect(|g| {
                let mut made = Vec::new();
                for k in 0..own {
                    let point = g.name_value(point(Expr::i64(k)), PrimType::I64, "point");
                    g.bind_point(dims, &point)?;
                    let mut values = Vec::new();
                    g.point(&seg.body, |g, results| {
                        let types: Vec<PrimType> = seg.ret.iter().filter_map(Type::elem).collect();
                        values = g.values(&results, &types)?;
                        Ok(())
                    })?;
                    let mut indices = Vec::with_capacity(dims.len());
                    for (index, _) in dims {
                        indices.push(g.var(*index)?);
                    }
                    made.push((indices, values));
                }
                for (indices, values) in made {
                    for ((index, _), var) in dims.iter().zip(indices) {
                        g.set_var(*index, var);
                    }
                    g.write_vars(pat, dims, &values)?;
                }
                Ok(())
            })?;
            let each = g.collect(|g| {
                g.for_seq("k", Expr::i64(0), Expr::i64(own), false, |g, k| {
                    let point = g.name_value(point(Expr::Var(k)), PrimType::I64, "point");
                    let inside = compare(CmpOp::SLt, point.clone(), n.clone());
                    let body = g.collect(|g| g.map_point(pat, seg, &point))?;
                    g.emit(Stmt::If(inside, body, Vec::new()));
                    Ok(())
                })
            })?;
            g.emit(Stmt::If(compare(CmpOp::SLt, last, n.clone()), all, each));
            Ok(())
        })
    }

    /// What a point of a segmap computes, and its results.
    pub(super) fn map_point(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        point: &Expr,
    ) -> Result<(), PassError> {
        let dims = seg.space.dims.as_slice();
        self.bind_point(dims, point)?;
        self.point(&seg.body, |g, results| {
            g.write_elements(pat, dims, &results)
        })
    }

    /// Writes what a point gives into arrays over a space, at the point.
    pub(super) fn write_elements(
        &mut self,
        pat: &[Param<Mems>],
        dims: &[(Name, Dim)],
        results: &[Atom],
    ) -> Result<(), PassError> {
        for (param, &value) in pat.iter().zip(results) {
            let MemAnn::In {
                block: Block::Var(block),
                lmad,
            } = &param.ann
            else {
                continue;
            };
            let full = |&count: &Dim| DimIndex::Slice {
                start: Atom::i64(0),
                count,
                stride: Atom::i64(1),
            };
            let point = dims
                .iter()
                .map(|(index, _)| DimIndex::Fix(Atom::Var(*index)));
            let rest = param.ty.shape().iter().skip(dims.len()).map(full);
            let slice: Vec<DimIndex> = point.chain(rest).collect();
            self.write(&param.ty, *block, lmad, &slice, value)?;
        }
        Ok(())
    }
}

//! Kernels that read scalars kept on the device, and reductions that leave their results there.
//!
//! A kernel's body reads storage before anything else, and so does each operator. A reduction to
//! scalars becomes a segmented one with a single segment: its results are then arrays of one
//! element.

use super::groups::{read, reshaped};
use super::partition::is_whole_reduction;
use super::rewrite::Rewrite;
use ir::seg::{SegKind, SegOp};
use ir::syntax::{Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, free_names, free_names_lambda, substitute_body, substitute_lambda};
use ir::{Name, Prov, Segs};

impl Rewrite<'_> {
    pub(super) fn segop(&mut self, mut stm: Stm<Segs>) {
        let mut touched = Vec::new();
        let Exp::Op(SegOp::Seg(seg)) = &mut stm.exp else {
            return;
        };
        self.in_body(&mut seg.body, &mut touched);
        match &mut seg.kind {
            SegKind::ScanReduce(scan_reduce) => {
                for lambda in scan_reduce.lambdas_mut() {
                    self.in_lambda(lambda, &mut touched);
                }
            }
            SegKind::Hist(ops) => {
                for op in ops {
                    self.in_lambda(&mut op.op.op, &mut touched);
                }
            }
            SegKind::FlatMap => {}
        }
        if let Some(identity) = &mut seg.identity_predicate {
            self.in_lambda(identity, &mut touched);
        }
        for name in touched {
            self.require_on_host(name);
        }
        let stays = |param: &Param<Segs>| param.ty.is_prim() && self.plan.only_on_device(param.name);
        if !is_whole_reduction(seg) || !stm.pat.iter().any(stays) {
            return self.push(stm);
        }
        // One segment: the results stay on the device, as arrays.
        let one = self.names.fresh("one");
        self.types.set(one, Type::I64);
        seg.space.dims.insert(0, (one, Dim::Const(1)));
        seg.space.lane = seg.space.lane.map(|lane| lane + 1);
        let prov = stm.aux.prov;
        let device: Vec<bool> = stm.pat.iter().map(|param| param.ty.is_prim()).collect();
        let mut views = Vec::new();
        for param in stm.pat.iter_mut().filter(|param| param.ty.is_array()) {
            let whole = self.fresh(param.name, param.ty.array_of(Dim::Const(1)));
            let name = whole.name;
            views.push((name, std::mem::replace(param, whole)));
        }
        self.push_stored(stm, &device);
        for (whole, param) in views {
            self.push(reshaped(whole, param, prov));
        }
    }

    /// Prepends reads of the device scalars that a body uses.
    pub(super) fn in_body(&mut self, body: &mut Body<Segs>, touched: &mut Vec<Name>) {
        let (reads, instead) = self.reads(free_names(body), touched);
        substitute_body(body, &instead);
        body.stms.splice(0..0, reads);
    }

    pub(super) fn in_lambda(&mut self, lambda: &mut Lambda<Segs>, touched: &mut Vec<Name>) {
        let (reads, instead) = self.reads(free_names_lambda(lambda), touched);
        substitute_lambda(lambda, &instead);
        lambda.body.stms.splice(0..0, reads);
    }

    pub(super) fn reads(
        &mut self,
        names: Vec<Name>,
        touched: &mut Vec<Name>,
    ) -> (Vec<Stm<Segs>>, Substitution) {
        let (mut reads, mut instead) = (Vec::new(), Substitution::default());
        for name in names {
            if !self.has_storage(name) || !self.plan.only_on_device(name) {
                continue;
            }
            let storage = self.storage_of(name);
            touched.push(storage);
            let ty = self.scalar_of(name);
            let own = self.fresh(name, ty);
            instead.insert(name, own.name.into());
            reads.push(read(storage, own, Prov::NONE));
        }
        (reads, instead)
    }
}

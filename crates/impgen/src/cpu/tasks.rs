//! Loops whose iterations run as tasks over all workers.

use crate::Result;
use crate::cpu::CpuSchedule;
use crate::emitter::Frame;
use crate::schedule::Generator;
use imp::build::Operand;
use imp::{Expr, For, Launch, LoopMode, Slices, Stmt, Var, VarType};
use ir::Prov;
use prim::PrimType;

impl Generator<'_, CpuSchedule> {
    /// Emits a loop whose iterations run as tasks; `cost` is the cost of the whole loop in
    /// nanoseconds.
    pub(crate) fn for_tasks(
        &mut self,
        what: &str,
        prov: Prov,
        to: Operand,
        cost: Operand,
        distinct: Vec<Var>,
        f: impl FnOnce(&mut Self, Var) -> Result,
    ) -> Result {
        let var = self.new_var(VarType::Scalar(PrimType::I64), "chunk");
        self.task_loop((what, prov), (var, to, None), cost, distinct, |g| f(g, var))
    }

    /// Emits a loop whose tasks take the `count` slices of `0..n`: `f` is called with the bounds of
    /// one.
    pub(crate) fn for_slices(
        &mut self,
        what: &str,
        prov: Prov,
        (n, count): (Operand, Operand),
        cost: Operand,
        distinct: Vec<Var>,
        f: impl FnOnce(&mut Self, Operand, Expr) -> Result,
    ) -> Result {
        let cut = (n, count, false);
        self.slice_loop((what, prov), cut, cost, distinct, f)
    }

    /// As [`Self::for_slices`], for tasks with a high cost that does not depend on the length of
    /// the slice: a task takes several slices at once ([`Slices::merge_adjacent`]).
    pub(crate) fn for_coarse_slices(
        &mut self,
        what: &str,
        prov: Prov,
        (n, count): (Operand, Operand),
        cost: Operand,
        f: impl FnOnce(&mut Self, Operand, Expr) -> Result,
    ) -> Result {
        let cut = (n, count, true);
        self.slice_loop((what, prov), cut, cost, Vec::new(), f)
    }

    fn slice_loop(
        &mut self,
        of: (&str, Prov),
        (n, count, few): (Operand, Operand, bool),
        cost: Operand,
        distinct: Vec<Var>,
        f: impl FnOnce(&mut Self, Operand, Expr) -> Result,
    ) -> Result {
        let lo = self.new_var(VarType::Scalar(PrimType::I64), "lo");
        let end = self.new_var(VarType::Scalar(PrimType::I64), "hi");
        let range = (lo, n, Some(Slices { count: count.into(), end, merge_adjacent: few }));
        self.task_loop(of, range, cost, distinct, |g| f(g, lo.into(), end.into()))
    }

    fn task_loop(
        &mut self,
        (what, prov): (&str, Prov),
        (var, to, slices): (Var, Operand, Option<Slices>),
        cost: Operand,
        distinct: Vec<Var>,
        f: impl FnOnce(&mut Self) -> Result,
    ) -> Result {
        let id = self.tables.launch();
        let name = format!("{}.{what}", self.function.name);
        let provenance = self.provenance(prov);
        let (body, frame) = self.task(f)?;
        let Frame { owned, locals, racy_buffers: scattered } = frame;
        let mut distinct = distinct;
        distinct.retain(|buffer| !scattered.contains(buffer));
        let launch = Launch {
            id,
            name: name.into(),
            provenance,
            cost: cost.into(),
            slices: slices.map(Box::new),
            owned,
            locals,
            captures: Vec::new(),
            distinct,
            scattered,
            shared_buffers: Vec::new(),
        };
        let how = LoopMode::Tasks(launch);
        self.emit(Stmt::For(For { mode: how, var, from: Expr::i64(0), to: to.into(), body }));
        Ok(())
    }
}

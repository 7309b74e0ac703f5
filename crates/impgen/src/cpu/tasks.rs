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
        of: (&str, Prov),
        to: Operand,
        cost: Operand,
        distinct: Vec<Var>,
        f: impl FnOnce(&mut Self, Var) -> Result,
    ) -> Result {
        let var = self.new_var(VarType::Scalar(PrimType::I64), "chunk");
        self.task_loop(of, (var, to, None), cost, distinct, |g| f(g, var))
    }

    /// Emits a loop whose tasks take the `count` slices of `0..n`: `f` is called with the bounds of
    /// one. With `merge_adjacent`, for tasks with a high cost that does not depend on the length of
    /// the slice, a task takes several slices at once ([`Slices::merge_adjacent`]).
    pub(crate) fn for_slices(
        &mut self,
        of: (&str, Prov),
        (n, count, merge_adjacent): (Operand, Operand, bool),
        cost: Operand,
        distinct: Vec<Var>,
        f: impl FnOnce(&mut Self, Operand, Expr) -> Result,
    ) -> Result {
        let lo = self.new_var(VarType::Scalar(PrimType::I64), "lo");
        let end = self.new_var(VarType::Scalar(PrimType::I64), "hi");
        let range = (lo, n, Some(Slices { count: count.into(), end, merge_adjacent }));
        self.task_loop(of, range, cost, distinct, |g| f(g, lo.into(), end.into()))
    }

    fn task_loop(
        &mut self,
        (what, prov): (&str, Prov),
        (var, to, slices): (Var, Operand, Option<Slices>),
        cost: Operand,
        mut distinct: Vec<Var>,
        f: impl FnOnce(&mut Self) -> Result,
    ) -> Result {
        let id = self.tables.launch();
        let name = format!("{}.{what}", self.function.name);
        let provenance = self.provenance(prov);
        let (body, frame) = self.task(f)?;
        let Frame { owned, locals, racy_buffers: scattered } = frame;
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
        self.emit(Stmt::For(For {
            mode: LoopMode::Tasks(launch),
            var,
            from: Expr::i64(0),
            to: to.into(),
            body,
        }));
        Ok(())
    }
}

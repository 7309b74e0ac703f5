//! Scans and reductions over the threads of a block in shared memory, from left to right, on two
//! levels: within subgroups (warps), whose barriers are cheap, and then over the subgroups' totals.
//!
//! ```text
//! part[thread] = x
//! log2(subgroup size) times:            part[thread] = op part[thread - distance] part[thread]
//!                                       if both are in one subgroup; a subgroup barrier after each
//! barrier
//! before = op .. part[last of the first subgroup] .. part[last of the previous subgroup]
//! ```
//!
//! Every thread folds the totals of all previous subgroups, reading them in lockstep: as there are
//! few subgroups, this costs less than barriers of the block.

use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::mems::Operator;
use crate::schedule::Generator;
use imp::build::{Operand, and, binary, min};
use imp::{DeviceOp, Expr, Stmt, Var, bind, emit, expr};
use prim::{BinOp, PrimType};

/// Operators and their operand types.
pub(super) type OperatorTypes<'a, 's> = (&'a [&'s Operator], &'a [PrimType]);

impl Generator<'_, DeviceSchedule> {
    /// A barrier of the subgroup.
    pub(super) fn subgroup_barrier(&mut self) {
        let size = self.schedule.layout.subgroup as u32;
        self.emit(Stmt::Device(DeviceOp::SubgroupBarrier(size)));
    }

    /// The number of subgroups of a block.
    pub(super) fn n_subgroups(&self) -> i64 {
        self.schedule.layout.block / self.schedule.layout.subgroup
    }

    /// The index of a thread's subgroup.
    pub(super) fn subgroup_of(&mut self, thread: Operand) -> Operand {
        let halvings = i64::from(self.schedule.layout.subgroup.trailing_zeros());
        self.bind(thread >> halvings, "group")
    }

    /// The index of a thread in its subgroup.
    pub(super) fn lane_in_subgroup(&mut self, thread: Operand) -> Operand {
        let last = Expr::i64(self.schedule.layout.subgroup - 1);
        self.bind(binary(BinOp::And, thread, last), "lane")
    }

    /// Inclusive scan of the threads' values in shared memory within each subgroup (Hillis-Steele:
    /// each thread combines the value 1, 2, 4 .. to its left). `joined` is the number of threads to
    /// the left that the thread's scan extends over at most. The results are visible to the whole
    /// block afterwards.
    pub(super) fn scan_subgroups(
        &mut self,
        (operators, types): OperatorTypes<'_, '_>,
        part: &[Var],
        xs: &[Var],
        (thread, joined): (Operand, Operand),
    ) -> Result {
        self.store_all(part, types, thread, xs);
        let sums = self.copied(types, xs, "sum");
        let among = self.lane_in_subgroup(thread);
        let reach = if joined == thread { among } else { self.bind(min(joined, among), "reach") };
        self.subgroup_barrier();
        let steps = i64::from(self.schedule.layout.subgroup.trailing_zeros());
        emit!(for step in self(0..steps) {
            bind!(distance = self(1 << step));
            emit!(if self(distance <= reach) {
                let other = thread - distance;
                let left = self.load_all(part, types, other, "left");
                self.combine(operators, &left, &sums)?;
                self.set_all(&sums, &left);
            });
            self.subgroup_barrier();
            self.store_all(part, types, thread, &sums);
            self.subgroup_barrier();
        });
        self.barrier();
        Ok(())
    }

    /// Folds the totals of the subgroups `from..to`, for values scanned by [`Generator::scan_subgroups`].
    pub(super) fn fold_subgroups(
        &mut self,
        (operators, types): OperatorTypes<'_, '_>,
        part: &[Var],
        (from, to): (Operand, Operand),
    ) -> Result<Vec<Var>> {
        let accs = self.neutral(operators, types)?;
        let (size, groups) = (self.schedule.layout.subgroup, self.n_subgroups());
        emit!(for group in self(0..groups) {
            let body = self.collect(|g| {
                let sums = g.load_all(part, types, group * size + (size - 1), "sum");
                g.combine(operators, &accs, &sums)
            })?;
            let behind = (from.as_i64() != Some(0)).then(|| expr!(from <= group));
            let before = (to.as_i64() != Some(groups)).then(|| expr!(group < to));
            match behind.into_iter().chain(before).reduce(and) {
                Some(inside) => self.emit(Stmt::If(inside, body, Vec::new())),
                None => self.emit_all(body),
            }
        });
        Ok(accs)
    }

    /// Inclusive scan of the threads' values in shared memory over the block.
    pub(super) fn scan_block(
        &mut self,
        typed_operators: OperatorTypes<'_, '_>,
        part: &[Var],
        xs: &[Var],
        thread: Operand,
    ) -> Result {
        self.scan_subgroups(typed_operators, part, xs, (thread, thread))?;
        let group = self.subgroup_of(thread);
        let sums = self.fold_subgroups(typed_operators, part, (0.into(), group))?;
        let (operators, types) = typed_operators;
        let own = self.load_all(part, types, thread, "value");
        self.combine(operators, &sums, &own)?;
        self.barrier();
        self.store_all(part, types, thread, &sums);
        self.barrier();
        Ok(())
    }

    /// Tree reduction of values in shared memory by pairs of neighbours, left to right. In round
    /// `r` of `from..to`, the first of each `2 << r` threads calls `f` with the index `1 << r` to
    /// the right of its own. With `in_groups`, the barrier after a round is the subgroup's,
    /// otherwise the block's.
    pub(super) fn pairwise_tree(
        &mut self,
        (from, to): (impl Into<Expr>, impl Into<Expr>),
        in_groups: bool,
        thread: Operand,
        f: impl FnOnce(&mut Self, Expr) -> Result,
    ) -> Result {
        emit!(for round in self(from..to) {
            bind!(distance = self(1 << round));
            let pair = distance * 2 - 1;
            let first = binary(BinOp::And, thread, pair);
            emit!(if self(first == 0) {
                f(self, thread + distance)?;
            });
            if in_groups {
                self.subgroup_barrier();
            } else {
                self.barrier();
            }
        });
        Ok(())
    }

    /// Reduces the values of `1 << halvings` neighbouring threads in shared memory, to the element
    /// of the first of them.
    pub(super) fn reduce_group(
        &mut self,
        (operators, types): OperatorTypes<'_, '_>,
        part: &[Var],
        accs: &[Var],
        (thread, halvings): (Operand, Operand),
    ) -> Result {
        self.store_all(part, types, thread, accs);
        self.subgroup_barrier();
        self.tree_reduce((operators, types), part, (thread, halvings))
    }

    /// As [`Generator::reduce_group`], for values already in shared memory, which other threads may have
    /// stored.
    pub(super) fn reduce_stored(
        &mut self,
        typed_operators: OperatorTypes<'_, '_>,
        part: &[Var],
        (thread, halvings): (Operand, Operand),
    ) -> Result {
        self.barrier();
        self.tree_reduce(typed_operators, part, (thread, halvings))
    }

    /// Reduces values in shared memory that are visible to their subgroup.
    fn tree_reduce(
        &mut self,
        (operators, types): OperatorTypes<'_, '_>,
        part: &[Var],
        (thread, halvings): (Operand, Operand),
    ) -> Result {
        let put = |g: &mut Self, other: Expr| {
            let left = g.load_all(part, types, thread, "left");
            let right = g.load_all(part, types, other, "right");
            g.combine(operators, &left, &right)?;
            g.store_all(part, types, thread, &left);
            Ok(())
        };
        let steps = i64::from(self.schedule.layout.subgroup.trailing_zeros());
        bind!(inside = self(min(halvings, steps)));
        self.pairwise_tree((0, inside), true, thread, put)?;
        self.barrier();
        self.pairwise_tree((steps, halvings), false, thread, put)
    }
}

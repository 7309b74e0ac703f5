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

use crate::function::Gen;
use imp::build::{add, and, binary, compare, min, mul, sub};
use imp::{DeviceOp, Expr, Stmt, Var};
use ir::soac::Operator;
use ir::{Mems, PassError};
use prim::{BinOp, CmpOp, PrimType};

/// Operators and their operand types.
pub(super) type OperatorTypes<'a, 's> = (&'a [&'s Operator<Mems>], &'a [PrimType]);

impl Gen<'_, '_> {
    /// A barrier of the subgroup.
    pub(super) fn subgroup_barrier(&mut self) {
        let size = self.layout().subgroup as u32;
        self.emit(Stmt::Device(DeviceOp::SubgroupBarrier(size)));
    }

    /// The number of subgroups of a block.
    pub(super) fn n_subgroups(&self) -> i64 {
        self.layout().block / self.layout().subgroup
    }

    /// The index of a thread's subgroup.
    pub(super) fn subgroup_of(&mut self, thread: &Expr) -> Expr {
        let halvings = i64::from(self.layout().subgroup.trailing_zeros());
        let group = binary(BinOp::LShr, thread.clone(), Expr::i64(halvings));
        self.bind_value(group, PrimType::I64, "group")
    }

    /// The index of a thread in its subgroup.
    pub(super) fn lane_in_subgroup(&mut self, thread: &Expr) -> Expr {
        let last = Expr::i64(self.layout().subgroup - 1);
        let index = binary(BinOp::And, thread.clone(), last);
        self.bind_value(index, PrimType::I64, "lane")
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
        (thread, joined): (&Expr, &Expr),
    ) -> Result<(), PassError> {
        self.store_all(part, types, thread.clone(), xs);
        let sums = self.copied(types, xs, "sum");
        let among = self.lane_in_subgroup(thread);
        let reach = if joined == thread {
            among
        } else {
            self.bind_value(min(joined.clone(), among), PrimType::I64, "reach")
        };
        self.subgroup_barrier();
        let steps = i64::from(self.layout().subgroup.trailing_zeros());
        self.for_seq("step", Expr::i64(0), Expr::i64(steps), false, |g, step| {
            let distance = binary(BinOp::Shl, Expr::i64(1), Expr::Var(step));
            let distance = g.bind_value(distance, PrimType::I64, "distance");
            let has_left = compare(CmpOp::SLe, distance.clone(), reach);
            let body = g.collect(|g| {
                let other = sub(thread.clone(), distance);
                let left = g.load_all(part, types, other, "left");
                g.combine(operators, &left, &sums)?;
                g.set_all(&sums, &left);
                Ok(())
            })?;
            g.emit(Stmt::If(has_left, body, Vec::new()));
            g.subgroup_barrier();
            g.store_all(part, types, thread.clone(), &sums);
            g.subgroup_barrier();
            Ok(())
        })?;
        self.barrier();
        Ok(())
    }

    /// Folds the totals of the subgroups `from..to`, for values scanned by [`Gen::scan_subgroups`].
    pub(super) fn fold_subgroups(
        &mut self,
        (operators, types): OperatorTypes<'_, '_>,
        part: &[Var],
        (from, to): (&Expr, &Expr),
    ) -> Result<Vec<Var>, PassError> {
        let accs = self.neutral(operators, types)?;
        let (size, groups) = (self.layout().subgroup, Expr::i64(self.n_subgroups()));
        self.for_seq("group", Expr::i64(0), groups.clone(), false, |g, group| {
            let group = Expr::Var(group);
            let body = g.collect(|g| {
                let last = add(mul(group.clone(), Expr::i64(size)), Expr::i64(size - 1));
                let sums = g.load_all(part, types, last, "sum");
                g.combine(operators, &accs, &sums)
            })?;
            let behind = (*from != Expr::i64(0)).then(|| compare(CmpOp::SLe, from.clone(), group.clone()));
            let before = (*to != groups).then(|| compare(CmpOp::SLt, group, to.clone()));
            match behind.into_iter().chain(before).reduce(and) {
                Some(inside) => g.emit(Stmt::If(inside, body, Vec::new())),
                None => body.into_iter().for_each(|stmt| g.emit(stmt)),
            }
            Ok(())
        })?;
        Ok(accs)
    }

    /// Inclusive scan of the threads' values in shared memory over the block.
    pub(super) fn scan_block(
        &mut self,
        typed_operators: OperatorTypes<'_, '_>,
        part: &[Var],
        xs: &[Var],
        thread: &Expr,
    ) -> Result<(), PassError> {
        self.scan_subgroups(typed_operators, part, xs, (thread, thread))?;
        let group = self.subgroup_of(thread);
        let sums = self.fold_subgroups(typed_operators, part, (&Expr::i64(0), &group))?;
        let (operators, types) = typed_operators;
        let own = self.load_all(part, types, thread.clone(), "value");
        self.combine(operators, &sums, &own)?;
        self.barrier();
        self.store_all(part, types, thread.clone(), &sums);
        self.barrier();
        Ok(())
    }

    /// Tree reduction of values in shared memory by pairs of neighbours, left to right. In round
    /// `r` of `from..to`, the first of each `2 << r` threads calls `f` with the index `1 << r` to
    /// the right of its own. With `in_groups`, the barrier after a round is the subgroup's,
    /// otherwise the block's.
    pub(super) fn pairwise_tree(
        &mut self,
        (from, to): (Expr, Expr),
        in_groups: bool,
        thread: &Expr,
        f: impl FnOnce(&mut Self, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        self.for_seq("round", from, to, false, |g, round| {
            let distance = binary(BinOp::Shl, Expr::i64(1), Expr::Var(round));
            let distance = g.bind_value(distance, PrimType::I64, "distance");
            let pair = sub(mul(distance.clone(), Expr::i64(2)), Expr::i64(1));
            let first = binary(BinOp::And, thread.clone(), pair);
            let body = g.collect(|g| f(g, add(thread.clone(), distance)))?;
            let is_first = compare(CmpOp::Eq, first, Expr::i64(0));
            g.emit(Stmt::If(is_first, body, Vec::new()));
            if in_groups {
                g.subgroup_barrier();
            } else {
                g.barrier();
            }
            Ok(())
        })
    }

    /// Reduces the values of `1 << halvings` neighbouring threads in shared memory, to the element
    /// of the first of them.
    pub(super) fn reduce_group(
        &mut self,
        (operators, types): OperatorTypes<'_, '_>,
        part: &[Var],
        accs: &[Var],
        (thread, halvings): (&Expr, Expr),
    ) -> Result<(), PassError> {
        self.store_all(part, types, thread.clone(), accs);
        self.subgroup_barrier();
        self.tree_reduce((operators, types), part, (thread, halvings))
    }

    /// As [`Gen::reduce_group`], for values already in shared memory, which other threads may have
    /// stored.
    pub(super) fn reduce_stored(
        &mut self,
        typed_operators: OperatorTypes<'_, '_>,
        part: &[Var],
        (thread, halvings): (&Expr, Expr),
    ) -> Result<(), PassError> {
        self.barrier();
        self.tree_reduce(typed_operators, part, (thread, halvings))
    }

    /// Reduces values in shared memory that are visible to their subgroup.
    fn tree_reduce(
        &mut self,
        (operators, types): OperatorTypes<'_, '_>,
        part: &[Var],
        (thread, halvings): (&Expr, Expr),
    ) -> Result<(), PassError> {
        let put = |g: &mut Self, other: Expr| {
            let left = g.load_all(part, types, thread.clone(), "left");
            let right = g.load_all(part, types, other, "right");
            g.combine(operators, &left, &right)?;
            g.store_all(part, types, thread.clone(), &left);
            Ok(())
        };
        let steps = Expr::i64(i64::from(self.layout().subgroup.trailing_zeros()));
        let inside = min(halvings.clone(), steps.clone());
        let inside = self.bind_value(inside, PrimType::I64, "inside");
        self.pairwise_tree((Expr::i64(0), inside), true, thread, put)?;
        self.barrier();
        self.pairwise_tree((steps, halvings), false, thread, put)
    }
}

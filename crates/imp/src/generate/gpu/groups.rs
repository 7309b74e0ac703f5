//! What the threads of a block hold is combined in the scratchpad, from left to right, in
//! two levels: within groups of neighbours, which wait for each other at little cost, and
//! then what groups come to.
//!
//! ```text
//! part[thread] = x
//! so often as a group can be halved:    part[thread] = op part[thread - distance] part[thread]
//!                                       each where both are of a group, and a group's barrier
//! barrier
//! before = op .. part[last of the first group] .. part[last of the group before]
//! ```
//!
//! All threads fold what the groups before theirs come to, which they read in step: there are
//! few groups, so that costs less than barriers of the block.

use crate::generate::expr::{add, and, binary, compare, min, mul, sub};
use crate::generate::function::Gen;
use crate::syntax::{DeviceOp, Expr, Stmt, Var};
use ir::soac::Operator;
use ir::{Mems, PassError};
use prim::{BinOp, CmpOp, PrimType};

/// What is combined: operators, and the types of what they take.
pub(super) type Folded<'a, 's> = (&'a [&'s Operator<Mems>], &'a [PrimType]);

impl Gen<'_, '_> {
    /// Threads of a group wait for each other.
    pub(super) fn group_barrier(&mut self) {
        let size = self.layout().group as u32;
        self.emit(Stmt::Device(DeviceOp::GroupBarrier(size)));
    }

    /// How many groups a block has.
    pub(super) fn groups(&self) -> i64 {
        self.layout().block / self.layout().group
    }

    /// The number of a thread's group.
    pub(super) fn group_of(&mut self, thread: &Expr) -> Expr {
        let halvings = i64::from(self.layout().group.trailing_zeros());
        let group = binary(BinOp::LShr, thread.clone(), Expr::i64(halvings));
        self.name_value(group, PrimType::I64, "group")
    }

    /// The place of a thread in its group.
    pub(super) fn place_in_group(&mut self, thread: &Expr) -> Expr {
        let last = Expr::i64(self.layout().group - 1);
        let place = binary(BinOp::And, thread.clone(), last);
        self.name_value(place, PrimType::I64, "among")
    }

    /// The threads' values are scanned in the scratchpad, inclusively, as far as their groups
    /// go: each takes what is 1, 2, 4 and so on to its left, of so many threads that it goes
    /// on from. All of the block see them then.
    pub(super) fn scan_groups(
        &mut self,
        (operators, types): Folded<'_, '_>,
        part: &[Var],
        xs: &[Var],
        (thread, joined): (&Expr, &Expr),
    ) -> Result<(), PassError> {
        self.store_all(part, types, thread.clone(), xs);
        let sums = self.copied(types, xs, "sum");
        let among = self.place_in_group(thread);
        let reach = if joined == thread {
            among
        } else {
            self.name_value(min(joined.clone(), among), PrimType::I64, "reach")
        };
        self.group_barrier();
        let steps = i64::from(self.layout().group.trailing_zeros());
        self.for_seq("step", Expr::i64(0), Expr::i64(steps), false, |g, step| {
            let distance = binary(BinOp::Shl, Expr::i64(1), Expr::Var(step));
            let distance = g.name_value(distance, PrimType::I64, "distance");
            let has_left = compare(CmpOp::SLe, distance.clone(), reach);
            let body = g.collect(|g| {
                let other = sub(thread.clone(), distance);
                let left = g.load_all(part, types, other, "left");
                g.combine(operators, &left, &sums)?;
                g.set_all(&sums, &left);
                Ok(())
            })?;
            g.emit(Stmt::If(has_left, body, Vec::new()));
            g.group_barrier();
            g.store_all(part, types, thread.clone(), &sums);
            g.group_barrier();
            Ok(())
        })?;
        self.barrier();
        Ok(())
    }

    /// What groups come to, from one to before another, of values that [`Gen::scan_groups`]
    /// has scanned.
    pub(super) fn fold_groups(
        &mut self,
        (operators, types): Folded<'_, '_>,
        part: &[Var],
        (from, to): (&Expr, &Expr),
    ) -> Result<Vec<Var>, PassError> {
        let accs = self.neutral(operators, types)?;
        let (size, groups) = (self.layout().group, Expr::i64(self.groups()));
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

    /// The threads' values are scanned in the scratchpad, inclusively.
    pub(super) fn scan_block(
        &mut self,
        folded: Folded<'_, '_>,
        part: &[Var],
        xs: &[Var],
        thread: &Expr,
    ) -> Result<(), PassError> {
        self.scan_groups(folded, part, xs, (thread, thread))?;
        let group = self.group_of(thread);
        let sums = self.fold_groups(folded, part, (&Expr::i64(0), &group))?;
        let (operators, types) = folded;
        let own = self.load_all(part, types, thread.clone(), "own");
        self.combine(operators, &sums, &own)?;
        self.barrier();
        self.store_all(part, types, thread.clone(), &sums);
        self.barrier();
        Ok(())
    }

    /// Values in the scratchpad are put together in pairs of neighbours: at the first of
    /// 2, 4, 8 and so on threads, `f` puts the value at an index on the right of its own. So
    /// often from a halving on; as far as groups go, only they wait for each other.
    pub(super) fn in_pairs(
        &mut self,
        (from, to): (Expr, Expr),
        in_groups: bool,
        thread: &Expr,
        f: impl FnOnce(&mut Self, Expr) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        self.for_seq("round", from, to, false, |g, round| {
            let distance = binary(BinOp::Shl, Expr::i64(1), Expr::Var(round));
            let distance = g.name_value(distance, PrimType::I64, "distance");
            let pair = sub(mul(distance.clone(), Expr::i64(2)), Expr::i64(1));
            let first = binary(BinOp::And, thread.clone(), pair);
            let body = g.collect(|g| f(g, add(thread.clone(), distance)))?;
            let is_first = compare(CmpOp::Eq, first, Expr::i64(0));
            g.emit(Stmt::If(is_first, body, Vec::new()));
            if in_groups {
                g.group_barrier();
            } else {
                g.barrier();
            }
            Ok(())
        })
    }

    /// The values of threads that go together are reduced in the scratchpad, to the element
    /// of the first of them; so often can they be halved.
    pub(super) fn reduce_groups(
        &mut self,
        (operators, types): Folded<'_, '_>,
        part: &[Var],
        accs: &[Var],
        (thread, halvings): (&Expr, Expr),
    ) -> Result<(), PassError> {
        self.store_all(part, types, thread.clone(), accs);
        self.group_barrier();
        self.put_together((operators, types), part, (thread, halvings))
    }

    /// The same of values that threads have put there, not all in their own place.
    pub(super) fn reduce_places(
        &mut self,
        folded: Folded<'_, '_>,
        part: &[Var],
        (thread, halvings): (&Expr, Expr),
    ) -> Result<(), PassError> {
        self.barrier();
        self.put_together(folded, part, (thread, halvings))
    }

    /// Values that the threads of a group see are reduced.
    fn put_together(
        &mut self,
        (operators, types): Folded<'_, '_>,
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
        let steps = Expr::i64(i64::from(self.layout().group.trailing_zeros()));
        let inside = min(halvings.clone(), steps.clone());
        let inside = self.name_value(inside, PrimType::I64, "inside");
        self.in_pairs((Expr::i64(0), inside), true, thread, put)?;
        self.barrier();
        self.in_pairs((steps, halvings), false, thread, put)
    }
}

//! Chunks of reductions: accumulators after the points from one index to another.
//!
//! With a virtual width `w` above 1, a chunk keeps `w` accumulators: point `i`
//! of the chunk goes to accumulator `i mod w`. They lie in an array, so that the code
//! generator can keep them in vector registers without reordering any arithmetic. In the
//! end the upper half goes to the lower one, until one is left: short segments would wait
//! longer for a chain of all of them than for their points.
//!
//! Where the decomposition says so, a chunk is read as several streams in step
//! (see [`streams`](super::streams)).

use super::segops::Space;
use crate::generate::expr::{add, compare, div, mul, sub};
use crate::generate::function::Gen;
use crate::syntax::{Expr, Stmt, Var};
use ir::exact::is_exact;
use ir::soac::Operator;
use ir::syntax::{Atom, Param};
use ir::{Mems, PassError};
use prim::{CmpOp, PrimType};

/// What is reduced, and how.
pub(crate) struct Fold<'s> {
    /// What the body maps beside what is reduced.
    pub(crate) mapped: &'s [Param<Mems>],
    pub(crate) space: &'s Space<'s>,
    pub(crate) operators: &'s [&'s Operator<Mems>],
    /// Types of what is reduced.
    pub(crate) types: &'s [PrimType],
}

impl Fold<'_> {
    /// Whether chunks are read as several streams. Exact operators give the same
    /// without, where points cannot run side by side.
    pub(crate) fn streamed(&self) -> bool {
        let exact = self.operators.iter().all(|op| is_exact(&op.op));
        self.space.decomp.streams > 1 && (self.space.independent || !exact)
    }
}

impl Gen<'_, '_> {
    /// One chunk's accumulators after the points `lo..hi`.
    pub(crate) fn fold(&mut self, fold: &Fold<'_>, lo: Expr, hi: Expr) -> Result<Vec<Var>, PassError> {
        if fold.streamed() {
            return self.fold_streams(fold, lo, hi);
        }
        if fold.space.decomp.width > 1 {
            return self.fold_rounds(fold, lo, hi);
        }
        let accs = self.neutral(fold.operators, fold.types)?;
        self.fold_points(fold, &accs, lo, hi)?;
        Ok(accs)
    }

    /// The points `lo..hi` one after another into accumulators.
    pub(crate) fn fold_points(
        &mut self,
        fold: &Fold<'_>,
        accs: &[Var],
        lo: Expr,
        hi: Expr,
    ) -> Result<(), PassError> {
        self.points(fold.space, lo, hi, |g, results| g.fold_results(fold, accs, &results))
    }

    /// What a point gives, into these accumulators; the rest into its arrays.
    fn fold_results(&mut self, fold: &Fold<'_>, accs: &[Var], results: &[Atom]) -> Result<(), PassError> {
        let (reduced, mapped) = results.split_at(fold.types.len());
        let values = self.values(reduced, fold.types)?;
        self.combine(fold.operators, accs, &values)?;
        self.write_point(fold.mapped, fold.space, mapped)
    }

    /// The points `lo..hi` into as many accumulators as the virtual width says.
    fn fold_rounds(&mut self, fold: &Fold<'_>, lo: Expr, hi: Expr) -> Result<Vec<Var>, PassError> {
        let width = i64::from(fold.space.decomp.width);
        let buffers = self.accumulators(fold, width)?;
        let points = sub(hi, lo.clone());
        let rounds = div(points.clone(), Expr::i64(width));
        let rounds = self.name_value(rounds, PrimType::I64, "rounds");
        self.for_seq("round", Expr::i64(0), rounds.clone(), false, |g, round| {
            let first = add(lo.clone(), mul(Expr::Var(round), Expr::i64(width)));
            let first = g.name_value(first, PrimType::I64, "first");
            if !fold.mapped.is_empty() {
                return g.fold_round(fold, &buffers, first, None);
            }
            g.skipping_round(fold, &buffers, &first.clone(), |g| g.fold_round(fold, &buffers, first, None))
        })?;
        let done = mul(rounds, Expr::i64(width));
        let done = self.name_value(done, PrimType::I64, "done");
        let first = self.name_value(add(lo, done.clone()), PrimType::I64, "first");
        let rest = self.name_value(sub(points, done), PrimType::I64, "rest");
        let some = compare(CmpOp::SLt, Expr::i64(0), rest.clone());
        let last = self.collect(|g| g.fold_round(fold, &buffers, first, Some(rest)))?;
        self.emit(Stmt::If(some, last, Vec::new()));
        self.fold_halves(fold, &buffers, width)
    }

    /// Combines accumulators by halves; what they come to. There is a copy of the operators for
    /// each step, as vectors differ: code for one of 4000 statements doubles, and building it
    /// takes a fourth more processor time.
    fn fold_halves(&mut self, fold: &Fold<'_>, buffers: &[Var], width: i64) -> Result<Vec<Var>, PassError> {
        let mut left = width;
        while left > 1 {
            let half = (left + 1) / 2;
            self.for_seq("w", Expr::i64(0), Expr::i64(left - half), true, |g, w| {
                let accs = g.load_all(buffers, fold.types, Expr::Var(w), "acc");
                let upper = add(Expr::Var(w), Expr::i64(half));
                let values = g.load_all(buffers, fold.types, upper, "part");
                g.combine(fold.operators, &accs, &values)?;
                g.store_all(buffers, fold.types, Expr::Var(w), &accs);
                Ok(())
            })?;
            left = half;
        }
        Ok(self.load_all(buffers, fold.types, Expr::i64(0), "acc"))
    }

    /// The points from `first` on, one for each accumulator, or for the first `count` of them.
    /// All are written all the same, so that they stay in registers.
    fn fold_round(
        &mut self,
        fold: &Fold<'_>,
        buffers: &[Var],
        first: Expr,
        count: Option<Expr>,
    ) -> Result<(), PassError> {
        let width = Expr::i64(i64::from(fold.space.decomp.width));
        let apart = fold.space.independent;
        self.for_seq("w", Expr::i64(0), width, apart, |g, w| {
            let there = count.map(|count| compare(CmpOp::SLt, Expr::Var(w), count));
            g.fold_point(fold, buffers, add(first, Expr::Var(w)), w, there)
        })
    }

    /// The point at an index, if it is there, into the accumulators at position `w`.
    pub(crate) fn fold_point(
        &mut self,
        fold: &Fold<'_>,
        buffers: &[Var],
        index: Expr,
        w: Var,
        there: Option<Expr>,
    ) -> Result<(), PassError> {
        let accs = self.load_all(buffers, fold.types, Expr::Var(w), "acc");
        let point = |g: &mut Self| {
            g.at_point(fold.space, index);
            g.point(fold.space.body, |g, results| g.fold_results(fold, &accs, &results))
        };
        match there {
            Some(there) => {
                let point = self.collect(point)?;
                self.emit(Stmt::If(there, point, Vec::new()));
            }
            None => point(self)?,
        }
        self.store_all(buffers, fold.types, Expr::Var(w), &accs);
        Ok(())
    }

    /// New arrays in the frame, filled with the neutral elements.
    pub(crate) fn accumulators(&mut self, fold: &Fold<'_>, width: i64) -> Result<Vec<Var>, PassError> {
        let neutral = self.neutral(fold.operators, fold.types)?;
        self.filled_arrays("accs", fold.types, width, &neutral)
    }

    /// New arrays in the frame with the same value everywhere, one for each type.
    pub(crate) fn filled_arrays(
        &mut self,
        hint: &str,
        types: &[PrimType],
        width: i64,
        values: &[Var],
    ) -> Result<Vec<Var>, PassError> {
        let arrays = self.lane_arrays(hint, types, width);
        self.for_seq("w", Expr::i64(0), Expr::i64(width), true, |g, w| {
            g.store_all(&arrays, types, Expr::Var(w), values);
            Ok(())
        })?;
        Ok(arrays)
    }

    /// New arrays in the frame, one for each type.
    pub(crate) fn lane_arrays(&mut self, hint: &str, types: &[PrimType], width: i64) -> Vec<Var> {
        types.iter().map(|&ty| self.frame_array(hint, ty, width)).collect()
    }

    /// A new array in the frame.
    pub(crate) fn frame_array(&mut self, hint: &str, elem: PrimType, count: i64) -> Var {
        let buffer = self.borrowed(hint);
        let count = count as u64;
        self.emit(Stmt::Frame { buffer, elem, count });
        buffer
    }
}

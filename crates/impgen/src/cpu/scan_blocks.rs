//! Chunks of scans, a block of iterations at a time, as the decomposition says.
//!
//! ```text
//! iterations lo..hi from acc    for each block of L iterations
//!                                 for w < L: <body>; v[w] = x
//!                                 for k in 1, 2, 4 .. L/2: v[w] = op v[w-k] v[w]   (ne below 0)
//!                                 last = v[L-1]
//!                                 for w < L: v[w] = op acc[w] v[w];  acc[w] = op acc[w] last
//!                                 for w < L: <post>; out[i] = v[w]
//!                               the remaining iterations one by one
//! ```
//!
//! Only one operation per block depends on the previous block. If the post lambda is a scatter, it
//! stores indices and values into arrays in the frame, which are then scattered together (see
//! [`scatter`](super::scatter)).

use super::scan::{Blocks, Scan};
use super::segops::SegSpace;
use crate::function::Gen;
use imp::build::{add, div, mul, sub};
use imp::{Expr, LaneAccess, LanePositions, MaskedOff, Stmt, Var, VarType};
use ir::soac::Operator;
use ir::{Mems, PassError};
use prim::PrimType;

impl Gen<'_, '_> {
    /// The iterations `lo..hi`, scanned with the initial values `accs`.
    pub(crate) fn scan_blocks(
        &mut self,
        scan: &Scan<'_>,
        blocks: &Blocks<'_>,
        accs: &[Var],
        lo: Expr,
        hi: Expr,
    ) -> Result<(), PassError> {
        let Blocks { scalar_results: kept_at, types: kept_types, scatter, .. } = blocks;
        let types = scan.types;
        let width = i64::from(scan.space.decomp.scan_block);
        let count = Expr::i64(width);
        let scanned = self.lane_arrays("scanned", types, width);
        let kept = self.lane_arrays("kept", kept_types, width);
        let scattered = match scatter {
            Some(scatter) => self.lane_arrays("scattered", &scatter.types, width),
            None => Vec::new(),
        };
        // The running total, replicated over all lanes, so that it stays a vector.
        let carried = self.filled_arrays("carried", types, width, accs)?;
        let mut mapped = Vec::new();
        let mut kept_atoms = Vec::new();
        let blocks = div(sub(hi.clone(), lo.clone()), count.clone());
        let blocks = self.bind_value(blocks, PrimType::I64, "blocks");
        self.for_seq("block", Expr::i64(0), blocks.clone(), false, |g, block| {
            let first = add(lo.clone(), mul(Expr::Var(block), count.clone()));
            let first = g.bind_value(first, PrimType::I64, "first");
            g.for_seq("w", Expr::i64(0), count.clone(), true, |g, w| {
                g.set_index(scan.space, add(first.clone(), Expr::Var(w)));
                g.iteration(scan.space.body, |g, results| {
                    let groups = scan.operation.values(&results);
                    let (values, others) = (groups.scanned, groups.mapped);
                    let values = g.copy_operands(values, types)?;
                    g.store_all(&scanned, types, Expr::Var(w), &values);
                    mapped = others.to_vec();
                    kept_atoms = kept_at.iter().map(|at| others[*at]).collect();
                    let others = g.copy_operands(&kept_atoms, kept_types)?;
                    g.store_all(&kept, kept_types, Expr::Var(w), &others);
                    Ok(())
                })
            })?;
            g.scan_lanes(scan.operators, types, &scanned, width)?;
            let last = g.load_all(&scanned, types, Expr::i64(width - 1), "last");
            g.for_seq("w", Expr::i64(0), count.clone(), true, |g, w| {
                let before = g.load_all(&carried, types, Expr::Var(w), "acc");
                let next = g.copy_vars(&before, types);
                let values = g.load_all(&scanned, types, Expr::Var(w), "x");
                g.combine(scan.operators, &before, &values)?;
                g.store_all(&scanned, types, Expr::Var(w), &before);
                g.combine(scan.operators, &next, &last)?;
                g.store_all(&carried, types, Expr::Var(w), &next);
                Ok(())
            })?;
            g.for_seq("w", Expr::i64(0), count.clone(), true, |g, w| {
                g.set_index(scan.space, add(first, Expr::Var(w)));
                let values = g.load_all(&scanned, types, Expr::Var(w), "acc");
                let others = g.load_all(&kept, kept_types, Expr::Var(w), "kept");
                g.with_vars(&kept_atoms, &others, |g| match scatter {
                    Some(scatter) => {
                        g.bind_post(scan, &values, &mapped)?;
                        g.store_scattered(scatter, &scattered, Expr::Var(w))
                    }
                    None => g.scan_point(scan, &values, &mapped),
                })
            })?;
            match scatter {
                Some(scatter) => g.scatter_arrays(scatter, &scattered, width),
                None => Ok(()),
            }
        })?;
        let carried = self.load_all(&carried, types, Expr::i64(0), "acc");
        for (&acc, carried) in accs.iter().zip(carried) {
            self.emit(Stmt::Set(acc, Expr::Var(carried)));
        }
        let rest = self.bind_value(add(lo, mul(blocks, count)), PrimType::I64, "rest");
        self.scan_points(scan, accs, rest, hi)
    }

    /// Inclusive scan of one-vector arrays in the frame, in a logarithmic number of steps
    /// (Hillis-Steele).
    pub(crate) fn scan_lanes(
        &mut self,
        operators: &[&Operator<Mems>],
        types: &[PrimType],
        arrays: &[Var],
        width: i64,
    ) -> Result<(), PassError> {
        let shifted = self.lane_arrays("shifted", types, width);
        let neutral = self.neutral(operators, types)?;
        let mut distance = 1;
        while distance < width {
            for (((&to, &from), &ty), &ne) in shifted.iter().zip(arrays).zip(types).zip(&neutral) {
                self.shift_lanes(to, from, ty, (width as u32, distance as u32), ne);
            }
            self.for_seq("w", Expr::i64(0), Expr::i64(width), true, |g, w| {
                let before = g.load_all(&shifted, types, Expr::Var(w), "before");
                let values = g.load_all(arrays, types, Expr::Var(w), "x");
                g.combine(operators, &before, &values)?;
                g.store_all(arrays, types, Expr::Var(w), &before);
                Ok(())
            })?;
            distance *= 2;
        }
        Ok(())
    }

    /// The iterations `lo..hi` one by one, scanned with the initial values `accs`.
    pub(crate) fn scan_points(
        &mut self,
        scan: &Scan<'_>,
        accs: &[Var],
        lo: Expr,
        hi: Expr,
    ) -> Result<(), PassError> {
        self.iterations(scan.space, lo, hi, |g, results| {
            let groups = scan.operation.values(&results);
            let values = g.copy_operands(groups.scanned, scan.types)?;
            g.combine(scan.operators, accs, &values)?;
            g.scan_point(scan, accs, groups.mapped)
        })
    }

    /// Sets the index of the next iteration.
    pub(crate) fn set_index(&mut self, space: &SegSpace<'_>, index: Expr) {
        let var = self.bind_index(space.index);
        self.emit(Stmt::Set(var, index));
    }

    /// Returns fresh variables with the same values.
    fn copy_vars(&mut self, vars: &[Var], types: &[PrimType]) -> Vec<Var> {
        let mut fresh = Vec::with_capacity(vars.len());
        for (&from, &ty) in vars.iter().zip(types) {
            let var = self.scalar(ty, "before");
            self.emit(Stmt::Set(var, Expr::Var(from)));
            fresh.push(var);
        }
        fresh
    }

    /// Shifts a vector in the frame up by a number of lanes, into another array.
    fn shift_lanes(&mut self, to: Var, from: Var, elem: PrimType, (lanes, by): (u32, u32), fill: Var) {
        let value = self.frame_vector(from, elem, (lanes, 0), "v");
        let fill = Box::new(Expr::Var(fill));
        self.emit(Stmt::StoreLanes {
            to: part(to, elem, (lanes, 0)),
            value: Expr::Shift(Box::new(value), by, fill),
            mask: None,
        });
    }

    /// Loads a vector of `lanes` elements of an array in the frame, from index `at` on.
    pub(crate) fn frame_vector(
        &mut self,
        array: Var,
        elem: PrimType,
        (lanes, at): (u32, i64),
        hint: &str,
    ) -> Expr {
        let var = self.value(VarType::Vector(elem, lanes), hint);
        self.emit(Stmt::LoadLanes { var, from: part(array, elem, (lanes, at)), mask: None });
        Expr::Var(var)
    }
}

fn part(buffer: Var, elem: PrimType, (lanes, at): (u32, i64)) -> LaneAccess {
    LaneAccess { buffer, elem, lanes, at: LanePositions::Unit(Expr::i64(at)), masked_off: MaskedOff::Skip }
}

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
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::mems::Operator;
use crate::schedule::Generator;
use imp::build::Operand;
use imp::{Expr, LaneAccess, LanePositions, MaskedOff, Stmt, Var, VarType, bind, emit};
use ir::syntax::Atom;
use prim::PrimType;

impl Generator<'_, CpuSchedule> {
    /// The iterations `lo..hi`, scanned with the initial values `accs`.
    pub(crate) fn scan_blocks(
        &mut self,
        scan: &Scan<'_>,
        blocks: &Blocks<'_>,
        accs: &[Var],
        lo: Operand,
        hi: Operand,
    ) -> Result {
        let Blocks { scalar_results: kept_at, types: kept_types, scatter, .. } = blocks;
        let types = scan.types;
        let width = i64::from(scan.space.decomp.scan_block);
        let scanned = self.lane_arrays("scanned", types, width);
        let kept = self.lane_arrays("kept", kept_types, width);
        let scattered = match scatter {
            Some(scatter) => self.lane_arrays("scattered", &scatter.types, width),
            None => Vec::new(),
        };
        // The running total, replicated over all lanes, so that it stays a vector.
        let carried = self.filled_arrays("carried", types, width, accs)?;
        let mut mapped: Vec<Atom> = Vec::new();
        let mut kept_atoms = Vec::new();
        bind!(blocks = self((hi - lo) / width));
        emit!(for block in self(0..blocks) {
            bind!(first = self(lo + block * width));
            self.independent_iterations(scan.space, first, width, |g, w, results| {
                let groups = scan.operation.values(&results);
                let (values, others) = (groups.scanned, groups.mapped);
                let values = g.copy_operands(values, types)?;
                g.store_all(&scanned, types, w, &values);
                mapped = others.to_vec();
                kept_atoms = kept_at.iter().map(|at| others[*at]).collect();
                let others = g.copy_operands(&kept_atoms, kept_types)?;
                g.store_all(&kept, kept_types, w, &others);
                Ok(())
            })?;
            self.scan_lanes(scan.operators, types, &scanned, width)?;
            let last = self.load_all(&scanned, types, width - 1, "last");
            emit!(for w in self.independent(0..width) {
                let before = self.load_all(&carried, types, w, "acc");
                let next = self.copied(types, &before, "before");
                let values = self.load_all(&scanned, types, w, "x");
                self.combine(scan.operators, &before, &values)?;
                self.store_all(&scanned, types, w, &before);
                self.combine(scan.operators, &next, &last)?;
                self.store_all(&carried, types, w, &next);
            });
            emit!(for w in self.independent(0..width) {
                self.set_index(scan.space.index, first + w);
                let values = self.load_all(&scanned, types, w, "acc");
                let others = self.load_all(&kept, kept_types, w, "kept");
                self.with_vars(&kept_atoms, &others, |g| match scatter {
                    Some(scatter) => {
                        if let Some(post) = scan.post {
                            g.set_post_params(post, &values, &mapped)?;
                        }
                        g.store_scattered(scatter, &scattered, w.into())
                    }
                    None => g.scan_point(scan, &values, &mapped),
                })?;
            });
            if let Some(scatter) = scatter {
                if types.len() > 1 {
                    self.scatter_apart(scatter, &scattered, width)?;
                } else {
                    self.scatter_arrays(scatter, &scattered, width)?;
                }
            }
        });
        let carried = self.load_all(&carried, types, 0, "acc");
        self.set_all(accs, &carried);
        bind!(rest = self(lo + blocks * width));
        self.scan_points(scan, accs, rest, hi)
    }

    /// Inclusive scan of one-vector arrays in the frame, in a logarithmic number of steps
    /// (Hillis-Steele).
    pub(crate) fn scan_lanes(
        &mut self,
        operators: &[&Operator],
        types: &[PrimType],
        arrays: &[Var],
        width: i64,
    ) -> Result {
        let shifted = self.lane_arrays("shifted", types, width);
        let neutral = self.neutral(operators, types)?;
        let mut distance = 1;
        while distance < width {
            for (((&to, &from), &ty), &ne) in shifted.iter().zip(arrays).zip(types).zip(&neutral) {
                self.shift_lanes(to, from, ty, (width as u32, distance as u32), ne);
            }
            emit!(for w in self.independent(0..width) {
                let before = self.load_all(&shifted, types, w, "before");
                let values = self.load_all(arrays, types, w, "x");
                self.combine(operators, &before, &values)?;
                self.store_all(arrays, types, w, &before);
            });
            distance *= 2;
        }
        Ok(())
    }

    /// The iterations `lo..hi` one by one, scanned with the initial values `accs`.
    pub(crate) fn scan_points(&mut self, scan: &Scan<'_>, accs: &[Var], lo: Operand, hi: Operand) -> Result {
        self.iterations(scan.space, lo, hi, |g, results| {
            let groups = scan.operation.values(&results);
            let values = g.copy_operands(groups.scanned, scan.types)?;
            g.combine(scan.operators, accs, &values)?;
            g.scan_point(scan, accs, groups.mapped)
        })
    }

    /// Shifts a vector in the frame up by a number of lanes, into another array.
    fn shift_lanes(&mut self, to: Var, from: Var, elem: PrimType, (lanes, by): (u32, u32), fill: Var) {
        let value = self.frame_vector(from, elem, (lanes, 0), "v");
        self.emit(Stmt::StoreLanes {
            to: part(to, elem, (lanes, 0)),
            value: Expr::Shift(Box::new(value.into()), by, Box::new(fill.into())),
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
    ) -> Operand {
        let var = self.value(VarType::Vector(elem, lanes), hint);
        self.emit(Stmt::LoadLanes { var, from: part(array, elem, (lanes, at)), mask: None });
        var.into()
    }
}

fn part(buffer: Var, elem: PrimType, (lanes, at): (u32, i64)) -> LaneAccess {
    LaneAccess { buffer, elem, lanes, at: LanePositions::Unit(Expr::i64(at)), masked_off: MaskedOff::Skip }
}

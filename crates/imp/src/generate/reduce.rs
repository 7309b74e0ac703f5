//! Reductions: partial results per chunk, combined left to right.
//!
//! ```text
//! segred (i < n) (op, ne)   for tasks c < chunks
//!                             acc = ne; for i in chunk { <body>; acc = op acc x }
//!                             partial[c] = acc
//!                           acc = partial[0]; for c in 1..chunks: acc = op acc partial[c]
//! ```
//!
//! With a virtual width `w` above 1, a chunk keeps `w` accumulators: point `i`
//! of the chunk goes to accumulator `i mod w`; they combine left to right. They
//! lie in an array, so that the code generator can keep them in vector
//! registers without reordering any arithmetic.
//!
//! A chunk of an exact operator that does not commute is read as several
//! streams in step (see [`streams`](super::streams)).

use super::expr::{add, binary, div, mul, sub};
use super::function::Gen;
use super::segops::Space;
use crate::syntax::{Access, Expr, Stmt, Var};
use ir::exact::{is_exact, plain_operator};
use ir::soac::Operator;
use ir::syntax::{Atom, Param};
use ir::{Mems, PassError};
use prim::{BinOp, PrimType};

/// Partial results of all chunks lie in the frame up to this many bytes.
const FRAME_BYTES: u64 = 1 << 15;

impl Gen<'_, '_> {
    pub(crate) fn seg_red(
        &mut self,
        pat: &[Param<Mems>],
        space: &Space<'_>,
        operators: &[Operator<Mems>],
    ) -> Result<(), PassError> {
        let types = operator_types(operators)?;
        let (reduced, mapped) = pat.split_at(types.len());
        let decomp = space.decomp;
        let n = self.name_value(space.width.clone(), PrimType::I64, "n");
        let chunks = self.n_chunks(n.clone(), Expr::i64(decomp.grain), decomp.max_chunks);
        let mut partials = Vec::with_capacity(types.len());
        let bytes: u64 = types
            .iter()
            .map(|ty| ty.size() * decomp.max_chunks as u64)
            .sum();
        for &ty in &types {
            partials.push(if bytes <= FRAME_BYTES {
                let buffer = self.borrowed("partial");
                let count = decomp.max_chunks as u64;
                self.emit(Stmt::Frame {
                    buffer,
                    elem: ty,
                    count,
                });
                buffer
            } else {
                let buffer = self.owned("partial");
                let bytes = mul(chunks.clone(), Expr::i64(ty.size() as i64));
                self.emit(Stmt::Alloc(buffer, bytes));
                buffer
            });
        }
        let cost = self.cost(space)?;
        let mut distinct = self.distinct(mapped, space.body)?;
        distinct.extend(&partials);
        self.for_tasks(
            "segred",
            space.prov,
            chunks.clone(),
            cost,
            distinct,
            |g, chunk| {
                let accs = if streamed(space, operators) {
                    let (lo, hi) = g.tile_bounds(n, chunks.clone(), chunk, &types);
                    g.fold_streams(mapped, space, operators, &types, lo, hi)?
                } else {
                    let (lo, hi) = g.bounds(n, chunks.clone(), Expr::Var(chunk));
                    g.fold_chunk(mapped, space, operators, &types, lo, hi)?
                };
                for ((&buffer, &elem), acc) in partials.iter().zip(&types).zip(accs) {
                    g.emit(Stmt::Store(
                        at(buffer, elem, Expr::Var(chunk)),
                        Expr::Var(acc),
                    ));
                }
                Ok(())
            },
        )?;
        let accs = self.load_all(&partials, &types, Expr::i64(0), "acc");
        self.for_seq("c", Expr::i64(1), chunks, false, |g, c| {
            let values = g.load_all(&partials, &types, Expr::Var(c), "part");
            g.combine(operators, &accs, &values)
        })?;
        for &buffer in &partials {
            if self.is_owned(buffer) {
                self.emit(Stmt::Release(buffer));
            }
        }
        for (param, acc) in reduced.iter().zip(accs) {
            self.set_var(param.name, acc);
        }
        Ok(())
    }

    /// One chunk's accumulators after its points.
    pub(crate) fn fold_chunk(
        &mut self,
        mapped: &[Param<Mems>],
        space: &Space<'_>,
        operators: &[Operator<Mems>],
        types: &[PrimType],
        lo: Expr,
        hi: Expr,
    ) -> Result<Vec<Var>, PassError> {
        if space.decomp.width <= 1 {
            let accs = self.neutral(operators, types)?;
            self.points(space, lo, hi, |g, results| {
                let values = g.values(&results[..types.len()], types)?;
                g.combine(operators, &accs, &values)?;
                g.write_point(mapped, space, &results[types.len()..])
            })?;
            return Ok(accs);
        }
        let width = i64::from(space.decomp.width);
        let buffers = self.lane_arrays("accs", types, width);
        let neutral = self.neutral(operators, types)?;
        self.for_seq("w", Expr::i64(0), Expr::i64(width), true, |g, w| {
            g.store_all(&buffers, types, Expr::Var(w), &neutral);
            Ok(())
        })?;
        let points = sub(hi, lo.clone());
        let rounds = div(points.clone(), Expr::i64(width));
        let rounds = self.name_value(rounds, PrimType::I64, "rounds");
        self.for_seq("round", Expr::i64(0), rounds.clone(), false, |g, round| {
            let first = add(lo.clone(), mul(Expr::Var(round), Expr::i64(width)));
            let first = g.name_value(first, PrimType::I64, "first");
            let all = Expr::i64(width);
            if !mapped.is_empty() {
                return g.fold_round(mapped, space, operators, types, &buffers, first, all);
            }
            g.skipping_round(space, operators, types, &buffers, &first.clone(), |g| {
                g.fold_round(mapped, space, operators, types, &buffers, first, all)
            })
        })?;
        let done = mul(rounds, Expr::i64(width));
        let done = self.name_value(done, PrimType::I64, "done");
        let first = self.name_value(add(lo, done.clone()), PrimType::I64, "first");
        let rest = self.name_value(sub(points, done), PrimType::I64, "rest");
        // Arrays of their own: those above can then stay in registers.
        let buffers = self.copied_arrays(&buffers, types, width)?;
        self.fold_round(mapped, space, operators, types, &buffers, first, rest)?;
        let accs = self.load_all(&buffers, types, Expr::i64(0), "acc");
        self.for_seq("w", Expr::i64(1), Expr::i64(width), false, |g, w| {
            let values = g.load_all(&buffers, types, Expr::Var(w), "part");
            g.combine(operators, &accs, &values)
        })?;
        Ok(accs)
    }

    /// Copies of arrays in the frame.
    fn copied_arrays(
        &mut self,
        buffers: &[Var],
        types: &[PrimType],
        width: i64,
    ) -> Result<Vec<Var>, PassError> {
        let copies = self.lane_arrays("accs", types, width);
        self.for_seq("w", Expr::i64(0), Expr::i64(width), true, |g, w| {
            let values = g.load_all(buffers, types, Expr::Var(w), "acc");
            g.store_all(&copies, types, Expr::Var(w), &values);
            Ok(())
        })?;
        Ok(copies)
    }

    /// The point at an index, into the accumulators at position `w`.
    #[allow(
        clippy::too_many_arguments,
        reason = "the parts of one segop and its accumulators"
    )]
    pub(crate) fn fold_point(
        &mut self,
        mapped: &[Param<Mems>],
        space: &Space<'_>,
        operators: &[Operator<Mems>],
        types: &[PrimType],
        buffers: &[Var],
        at_index: Expr,
        w: Var,
    ) -> Result<(), PassError> {
        let index = self.bind_index(space.index);
        self.emit(Stmt::Set(index, at_index));
        self.point(space, |g, results| {
            let accs = g.load_all(buffers, types, Expr::Var(w), "acc");
            let values = g.values(&results[..types.len()], types)?;
            g.combine(operators, &accs, &values)?;
            g.store_all(buffers, types, Expr::Var(w), &accs);
            g.write_point(mapped, space, &results[types.len()..])
        })
    }

    /// `count` points from `first` on, one for each accumulator.
    #[allow(
        clippy::too_many_arguments,
        reason = "the parts of one segop and its accumulators"
    )]
    fn fold_round(
        &mut self,
        mapped: &[Param<Mems>],
        space: &Space<'_>,
        operators: &[Operator<Mems>],
        types: &[PrimType],
        buffers: &[Var],
        first: Expr,
        count: Expr,
    ) -> Result<(), PassError> {
        self.for_seq("w", Expr::i64(0), count, space.independent, |g, w| {
            let index = add(first, Expr::Var(w));
            g.fold_point(mapped, space, operators, types, buffers, index, w)
        })
    }

    /// Fresh variables with the neutral elements.
    pub(crate) fn neutral(
        &mut self,
        operators: &[Operator<Mems>],
        types: &[PrimType],
    ) -> Result<Vec<Var>, PassError> {
        let atoms: Vec<Atom> = operators.iter().flat_map(|op| op.neutral.clone()).collect();
        self.values(&atoms, types)
    }

    /// Fresh variables with the operands' values.
    pub(crate) fn values(
        &mut self,
        atoms: &[Atom],
        types: &[PrimType],
    ) -> Result<Vec<Var>, PassError> {
        let mut vars = Vec::with_capacity(types.len());
        for (&atom, &ty) in atoms.iter().zip(types) {
            let value = self.atom(atom)?;
            let var = self.scalar(ty, "x");
            self.emit(Stmt::Set(var, value));
            vars.push(var);
        }
        Ok(vars)
    }

    /// `accs = op accs values` for each operator.
    pub(crate) fn combine(
        &mut self,
        operators: &[Operator<Mems>],
        mut accs: &[Var],
        mut values: &[Var],
    ) -> Result<(), PassError> {
        for operator in operators {
            let k = operator.neutral.len();
            for (param, &value) in operator
                .op
                .params
                .iter()
                .zip(accs[..k].iter().chain(&values[..k]))
            {
                let var = self
                    .bind_borrowed(param)
                    .ok_or_else(|| PassError::bug("an operator's parameter is no scalar"))?;
                self.emit(Stmt::Set(var, Expr::Var(value)));
            }
            let results = self.body(&operator.op.body)?;
            for (&acc, &result) in accs.iter().zip(&results) {
                let value = self.atom(result)?;
                self.emit(Stmt::Set(acc, value));
            }
            self.release_bound(&operator.op.body)?;
            (accs, values) = (&accs[k..], &values[k..]);
        }
        Ok(())
    }

    /// Fresh variables with the elements of buffers at an index.
    pub(crate) fn load_all(
        &mut self,
        buffers: &[Var],
        types: &[PrimType],
        index: Expr,
        hint: &str,
    ) -> Vec<Var> {
        let mut vars = Vec::with_capacity(buffers.len());
        for (&buffer, &elem) in buffers.iter().zip(types) {
            let var = self.scalar(elem, hint);
            self.emit(Stmt::Load(var, at(buffer, elem, index.clone())));
            vars.push(var);
        }
        vars
    }

    /// Stores variables into buffers at an index.
    pub(crate) fn store_all(
        &mut self,
        buffers: &[Var],
        types: &[PrimType],
        index: Expr,
        values: &[Var],
    ) {
        for ((&buffer, &elem), &value) in buffers.iter().zip(types).zip(values) {
            self.emit(Stmt::Store(
                at(buffer, elem, index.clone()),
                Expr::Var(value),
            ));
        }
    }
}

/// Whether chunks are read as several streams: the operator is exact, and
/// neither has a virtual width nor is known to the code generator.
pub(crate) fn streamed(space: &Space<'_>, operators: &[Operator<Mems>]) -> bool {
    let exact = operators.iter().all(|op| is_exact(&op.op));
    let plain = operators.len() == 1 && operators.iter().all(|op| plain_operator(&op.op).is_some());
    space.decomp.width <= 1 && exact && !plain && space.independent
}

/// The types that operators work on, in order.
pub(crate) fn operator_types(operators: &[Operator<Mems>]) -> Result<Vec<PrimType>, PassError> {
    operators
        .iter()
        .flat_map(|op| &op.op.ret)
        .map(|ty| match ty {
            ir::types::Type::Prim(prim) => Ok(*prim),
            _ => Err(PassError::bug("an operator works on arrays")),
        })
        .collect()
}

/// Element `index` of a buffer.
pub(crate) fn at(buffer: Var, elem: PrimType, index: Expr) -> Access {
    Access {
        buffer,
        elem,
        offset: Expr::i64(0),
        dims: vec![(index, Expr::i64(1))],
    }
}

/// `ceil(a / b)` for `b` above 0 and `a` not below.
pub(crate) fn div_up(a: Expr, b: i64) -> Expr {
    binary(BinOp::UDiv, add(a, Expr::i64(b - 1)), Expr::i64(b))
}

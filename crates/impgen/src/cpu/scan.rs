//! Scans, in groups of chunks, so that the second pass reads its input from the cache.
//!
//! ```text
//! segscan (i < n) (op, ne)   carry = ne
//!                            for each group of chunks
//!                              for tasks c in group: total[c] = fold op ne chunk
//!                              for c in group: (total[c], carry) = (carry, op carry total[c])
//!                                (the second chunk's carry is the first one's total)
//!                              for tasks c in group
//!                                acc = total[c]
//!                                for i in chunk { <body>; acc = op acc x; <post>; out[i] = .. }
//! ```
//!
//! Reductions in the same segop take part in `total` and `carry`, whose final value is their
//! result; with them, a single chunk has a total as well.
//!
//! A group is small enough to stay in the outer caches between its two passes. The grouping has no
//! effect on results, only the chunks have. If the decomposition has blocks, chunks run a block at
//! a time (see [`scan_blocks`](super::scan_blocks), and [`filter`](super::filter) for filters).

use super::reduce::Operators;
use super::reduce_chunk::ChunkReduction;
use super::scatter::{BLOCK, Scatter};
use super::segops::SegSpace;
use crate::function::Gen;
use crate::operators::div_up;
use analysis::exact::is_exact;
use imp::build::{add, compare, div, max, min, mul, sub};
use imp::{Expr, Stmt, Var};
use ir::facts::{FactFlag, Filter};
use ir::scan_reduce::ScanReduce;
use ir::seg::MIN_GROUPS;
use ir::soac::Operator;
use ir::syntax::{Atom, Lambda, Param};
use ir::types::Type;
use ir::{Mems, PassError};
use prim::{CmpOp, PrimType};
use target::chunks::SCAN_GROUP;

/// A scan while it is generated.
pub(crate) struct Scan<'s> {
    /// The pattern elements of the reduced values.
    reduced: &'s [Param<Mems>],
    /// The pattern elements of the arrays.
    pub(crate) pat: &'s [Param<Mems>],
    pub(crate) space: &'s SegSpace<'s>,
    pub(crate) operation: &'s ScanReduce<Mems>,
    /// Scans and reductions.
    all: &'s Operators<'s>,
    pub(crate) operators: &'s [&'s Operator<Mems>],
    /// The types of the scanned values.
    pub(crate) types: &'s [PrimType],
    pub(crate) post: Option<&'s Lambda<Mems>>,
    /// True if the post lambda may run in any order.
    post_independent: bool,
}

impl<'s> Scan<'s> {
    /// A segop that scans, and may also reduce.
    pub(crate) fn of(
        pat: &'s [Param<Mems>],
        space: &'s SegSpace<'s>,
        scan_reduce: &'s ScanReduce<Mems>,
        all: &'s Operators<'s>,
        after: bool,
    ) -> Self {
        let (reduced, pat) = scan_reduce.results(pat);
        Self {
            reduced,
            pat,
            space,
            operation: scan_reduce,
            all,
            operators: &all.all[..scan_reduce.scans.len()],
            types: scan_reduce.values(&all.types).scanned,
            post: scan_reduce.post.as_ref(),
            post_independent: after,
        }
    }

    /// The fold that computes a chunk's total.
    fn total(&self) -> ChunkReduction<'s> {
        ChunkReduction { mapped: &[], space: self.space, operators: &self.all.all, types: &self.all.types }
    }
}

/// The block form of chunks.
pub(crate) struct Blocks<'s> {
    /// The mapped results that are scalars, and their types.
    pub(crate) scalar_results: Vec<usize>,
    pub(crate) types: Vec<PrimType>,
    /// The post lambda as a scatter, if it is one.
    pub(crate) scatter: Option<Scatter>,
    /// The scan as a filter, if it is one.
    filter: Option<&'s Filter>,
}

impl Gen<'_, '_> {
    /// The block form of chunks, if they have one. Exact operators have the same result without
    /// blocks, so for these they are only used if iterations are independent.
    fn block_form<'s>(&mut self, scan: &Scan<'s>) -> Result<Option<Blocks<'s>>, PassError> {
        let depth = scan.space.decomp.scan_block;
        if depth <= 1 {
            return Ok(None);
        }
        // If the decomposition fixes the order of combination, all operands and results are
        // scalars.
        let exact = scan.operators.iter().all(|op| is_exact(&op.op));
        let blocks = if scan.space.independent || !exact { self.block_form_of(scan)? } else { None };
        let blocks = blocks.filter(|blocks| blocks.scatter.is_none() || depth.is_multiple_of(BLOCK));
        if blocks.is_none() && !exact {
            return Err(PassError::bug("a scan in blocks requires scalars"));
        }
        Ok(blocks)
    }

    fn block_form_of<'s>(&mut self, scan: &Scan<'s>) -> Result<Option<Blocks<'s>>, PassError> {
        let scanned = scan.types.len();
        let mut blocks =
            Blocks { scalar_results: Vec::new(), types: Vec::new(), scatter: None, filter: None };
        let Some(post) = scan.post else {
            for (at, param) in scan.pat[scanned..].iter().enumerate() {
                if let Type::Array { elem, .. } = &param.ty
                    && param.ty.rank() == 1
                {
                    blocks.scalar_results.push(at);
                    blocks.types.push(*elem);
                } else {
                    return Ok(None);
                }
            }
            return Ok(Some(blocks));
        };
        let mapped = post.params[scanned..].iter();
        for (at, param) in mapped.enumerate() {
            match param.ty {
                Type::Prim(elem) => {
                    blocks.scalar_results.push(at);
                    blocks.types.push(elem);
                }
                Type::Acc { .. } => {}
                Type::Array { .. } | Type::Cert | Type::Mem(_) => return Ok(None),
            }
        }
        let last = post.body.stms.last();
        let packed = last.is_some_and(|stm| stm.aux.facts.has(FactFlag::Packable));
        blocks.scatter = self.scatter_of(&post.body);
        blocks.filter = (blocks.scatter.as_ref()).and(last).and_then(|stm| stm.aux.facts.filter());
        let exact = scan.operators.iter().all(|op| is_exact(&op.op));
        let worthwhile = !packed && (scan.post_independent || !exact);
        Ok((blocks.scatter.is_some() || worthwhile).then_some(blocks))
    }

    /// A scan by tasks.
    pub(crate) fn seg_scan(&mut self, scan: &Scan<'_>) -> Result<(), PassError> {
        let Scan { pat, space, .. } = *scan;
        let total = scan.total();
        let (operators, types) = (total.operators, total.types);
        let blocks = self.block_form(scan)?;
        let decomp = space.decomp;
        let n = self.bind_value(space.width.clone(), PrimType::I64, "n");
        let step = self.chunk_step(n.clone(), MIN_GROUPS, decomp.full_group());
        let grain = max(self.grain_size(decomp, &n)?, step.clone());
        let chunks = self.n_chunks(n.clone(), grain, decomp.max_chunks);
        let totals = self.partials("total", types, &chunks, decomp.max_chunks, space.prov);
        let carry = self.neutral(operators, types)?;
        let groups = div_up(chunks.clone(), SCAN_GROUP);
        let groups = self.bind_value(groups, PrimType::I64, "groups");
        let cost = self.cost(space)?;
        let cost = div(cost, mul(max(groups.clone(), Expr::i64(1)), Expr::i64(2)));
        let cost = self.bind_value(cost, PrimType::I64, "cost");
        let mut distinct = self.unaliased_blocks(pat, space.body)?;
        distinct.extend(&totals);
        self.for_seq("group", Expr::i64(0), groups, false, |g, group| {
            let first = mul(Expr::Var(group), Expr::i64(SCAN_GROUP));
            let first = g.bind_value(first, PrimType::I64, "first");
            let last = min(add(first.clone(), Expr::i64(SCAN_GROUP)), chunks.clone());
            let last = g.bind_value(last, PrimType::I64, "last");
            let size = g.bind_value(sub(last.clone(), first.clone()), PrimType::I64, "size");

            // A single chunk needs no total: it starts with the neutral elements.
            let several = g.collect(|g| {
                g.for_tasks(
                    "segscan.total",
                    space.prov,
                    size.clone(),
                    cost.clone(),
                    distinct.clone(),
                    |g, c| {
                        let chunk = add(first.clone(), Expr::Var(c));
                        let chunk = g.bind_value(chunk, PrimType::I64, "c");
                        let (n, step) = (n.clone(), step.clone());
                        let (lo, hi) = g.stepped_bounds(n, step, chunks.clone(), chunk.clone());
                        let accs = g.reduce_chunk(&total, lo, hi)?;
                        g.store_all(&totals, types, chunk, &accs);
                        Ok(())
                    },
                )?;
                g.for_seq("c", first.clone(), last, false, |g, c| {
                    let values = g.load_all(&totals, types, Expr::Var(c), "total");
                    g.store_all(&totals, scan.types, Expr::Var(c), &carry);
                    // The second chunk starts with the first one's total unchanged.
                    let start = g.collect(|g| {
                        for (&carry, &value) in carry.iter().zip(&values) {
                            g.emit(Stmt::Set(carry, Expr::Var(value)));
                        }
                        Ok(())
                    })?;
                    let go_on = g.collect(|g| g.combine(operators, &carry, &values))?;
                    let is_first = compare(CmpOp::Eq, Expr::Var(c), Expr::i64(0));
                    g.emit(Stmt::If(is_first, start, go_on));
                    Ok(())
                })
            })?;
            if scan.reduced.is_empty() {
                let single = g.collect(|g| {
                    g.store_all(&totals, types, Expr::i64(0), &carry);
                    Ok(())
                })?;
                let is_several = compare(CmpOp::SLt, Expr::i64(1), chunks.clone());
                g.emit(Stmt::If(is_several, several, single));
            } else {
                several.into_iter().for_each(|stmt| g.emit(stmt));
            }

            g.for_tasks("segscan", space.prov, size, cost, distinct, |g, c| {
                let chunk = g.bind_value(add(first, Expr::Var(c)), PrimType::I64, "c");
                let (lo, hi) = g.stepped_bounds(n, step, chunks.clone(), chunk.clone());
                let accs = g.load_all(&totals, scan.types, chunk, "acc");
                g.scan_chunk(scan, blocks.as_ref(), &accs, lo, hi)
            })
        })?;
        self.release_partials(&totals);
        self.set_reduced(scan, &carry);
        Ok(())
    }

    /// A scan within one worker: a single chunk, in the current frame.
    pub(crate) fn seg_scan_lanes(&mut self, scan: &Scan<'_>) -> Result<(), PassError> {
        let blocks = self.block_form(scan)?;
        let n = self.bind_value(scan.space.width.clone(), PrimType::I64, "n");
        if !scan.reduced.is_empty() {
            let total = self.reduce_chunk(&scan.total(), Expr::i64(0), n.clone())?;
            self.set_reduced(scan, &total);
        }
        let accs = self.neutral(scan.operators, scan.types)?;
        self.scan_chunk(scan, blocks.as_ref(), &accs, Expr::i64(0), n)
    }

    /// Binds the reduced values; `totals` has the totals of all operators.
    fn set_reduced(&mut self, scan: &Scan<'_>, totals: &[Var]) {
        let totals = scan.operation.values(totals).reduced;
        for (param, &total) in scan.reduced.iter().zip(totals) {
            self.set_var(param.name, total);
        }
    }

    /// The iterations `lo..hi`, scanned with the initial values `accs`.
    fn scan_chunk(
        &mut self,
        scan: &Scan<'_>,
        blocks: Option<&Blocks<'_>>,
        accs: &[Var],
        lo: Expr,
        hi: Expr,
    ) -> Result<(), PassError> {
        match blocks {
            Some(Blocks { filter: Some(filter), scatter: Some(scatter), .. }) => {
                self.filter_chunk(scan, filter, scatter, accs, (lo, hi))
            }
            Some(blocks) => self.scan_blocks(scan, blocks, accs, lo, hi),
            None => self.scan_points(scan, accs, lo, hi),
        }
    }

    /// Writes the results of one iteration; the scanned values are in `accs`.
    pub(crate) fn scan_point(
        &mut self,
        scan: &Scan<'_>,
        accs: &[Var],
        mapped: &[Atom],
    ) -> Result<(), PassError> {
        let Scan { pat, space, types, post, .. } = *scan;
        let Some(post) = post else {
            let (scanned_pat, mapped_pat) = pat.split_at(types.len());
            for (param, &acc) in scanned_pat.iter().zip(accs) {
                let (ty, block, lmad) = self.location(param.name)?;
                let elem = Self::elem_of(&ty)?;
                let index = Expr::Var(self.var(space.index)?);
                let access = self.element(elem, block, &lmad, vec![index])?;
                self.emit(Stmt::Store(access, Expr::Var(acc)));
            }
            return self.write_iteration(mapped_pat, space, mapped);
        };
        self.bind_post(scan, accs, mapped)?;
        let results = self.body(&post.body)?;
        self.write_iteration(pat, space, &results)?;
        self.release_bound(&post.body)
    }

    /// Binds the parameters of the post lambda.
    pub(crate) fn bind_post(
        &mut self,
        scan: &Scan<'_>,
        accs: &[Var],
        mapped: &[Atom],
    ) -> Result<(), PassError> {
        let params = scan.post.map_or(&[][..], |post| &post.params);
        let (scanned, mapped_params) = params.split_at(accs.len().min(params.len()));
        for (param, &acc) in scanned.iter().zip(accs) {
            if let Some(var) = self.bind_borrowed(param) {
                self.emit(Stmt::Set(var, Expr::Var(acc)));
            }
        }
        for (param, &atom) in mapped_params.iter().zip(mapped) {
            if let Some(var) = self.bind_borrowed(param) {
                let value = self.atom(atom)?;
                self.emit(Stmt::Set(var, value));
            }
        }
        Ok(())
    }
}

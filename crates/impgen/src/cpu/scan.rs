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

use super::chunk_totals::{KnownTotals, MOST_KEPT};
use super::reduce::Operators;
use super::reduce_chunk::ChunkReduction;
use super::scatter::{BLOCK, Scatter};
use super::segops::SegSpace;
use crate::Result;
use crate::cpu::CpuSchedule;
use crate::mems::{Lambda, Operator, Param, ScanReduce};
use crate::operators::div_up;
use crate::schedule::Generator;
use analysis::exact::is_exact;
use imp::build::{Operand, max, min};
use imp::{Var, bind, emit};
use ir::PassError;
use ir::facts::{FactFlag, Filter, Partition};
use ir::seg::MIN_GROUPS;
use ir::syntax::Atom;
use ir::types::Type;
use prim::PrimType;
use target::chunks::SCAN_GROUP;

/// A scan while it is generated.
pub(crate) struct Scan<'s> {
    /// The pattern elements of the reduced values.
    reduced: &'s [Param],
    /// The pattern elements of the arrays.
    pub(crate) pat: &'s [Param],
    pub(crate) space: &'s SegSpace<'s>,
    pub(crate) operation: &'s ScanReduce,
    /// Scans and reductions.
    all: &'s Operators<'s>,
    pub(crate) operators: &'s [&'s Operator],
    /// The types of the scanned values.
    pub(crate) types: &'s [PrimType],
    pub(crate) post: Option<&'s Lambda>,
    /// True if the post lambda may run in any order.
    post_independent: bool,
}

impl<'s> Scan<'s> {
    /// A segop that scans, and may also reduce.
    pub(crate) fn of(
        pat: &'s [Param],
        space: &'s SegSpace<'s>,
        scan_reduce: &'s ScanReduce,
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
    /// The scan as a partition, if it is one.
    partition: Option<&'s Partition>,
}

impl Generator<'_, CpuSchedule> {
    /// The block form of chunks, if they have one. Exact operators have the same result without
    /// blocks, so for these they are only used if iterations are independent.
    fn block_form<'s>(&mut self, scan: &Scan<'s>) -> Result<Option<Blocks<'s>>> {
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

    fn block_form_of<'s>(&mut self, scan: &Scan<'s>) -> Result<Option<Blocks<'s>>> {
        let scanned = scan.types.len();
        let mut blocks = Blocks {
            scalar_results: Vec::new(),
            types: Vec::new(),
            scatter: None,
            filter: None,
            partition: None,
        };
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
        blocks.partition = (blocks.scatter.as_ref()).and(last).and_then(|stm| stm.aux.facts.partition());
        let exact = scan.operators.iter().all(|op| is_exact(&op.op));
        let worthwhile = !packed && (scan.post_independent || !exact);
        Ok((blocks.scatter.is_some() || worthwhile).then_some(blocks))
    }

    /// A scan by tasks.
    pub(crate) fn seg_scan(&mut self, scan: &Scan<'_>) -> Result {
        let Scan { pat, space, .. } = *scan;
        let total = scan.total();
        let (operators, types) = (total.operators, total.types);
        let blocks = self.block_form(scan)?;
        let decomp = space.decomp;
        bind!(n = self(space.width));
        let known = self.known_totals(scan, blocks.as_ref());
        let (step, chunks) = if let Some(known) = &known {
            (known.step, known.chunks)
        } else {
            let step = self.chunk_step(n, MIN_GROUPS, decomp.full_group());
            let grain = max(self.grain_size(decomp, n)?, step);
            (step, self.n_chunks(n, grain, decomp.max_chunks))
        };
        let totals = self.partials("total", types, chunks, decomp.max_chunks, space.prov);
        let carry = self.neutral(operators, types)?;
        bind!(groups = self(div_up(chunks, SCAN_GROUP)));
        let cost = self.cost(space)?;
        bind!(cost = self(cost / (max(groups, 1) * 2)));
        let mut distinct = self.unaliased_blocks(pat, space.body)?;
        distinct.extend(&totals);
        emit!(for group in self(0..groups) {
            bind!(first = self(group * SCAN_GROUP));
            bind!(last = self(min(first + SCAN_GROUP, chunks)));
            bind!(size = self(last - first));

            // A single chunk needs no total: it starts with the neutral elements.
            let several = self.collect(|g| {
                if known.is_none() {
                    g.for_tasks(("segscan.total", space.prov), size, cost, distinct.clone(), |g, c| {
                        let chunk = g.bind(first + c, "c");
                        let (lo, hi) = g.stepped_bounds(n, step, chunks, chunk);
                        let accs = g.reduce_chunk(&total, lo, hi)?;
                        g.store_all(&totals, types, chunk, &accs);
                        Ok(())
                    })?;
                }
                emit!(for c in g(first..last) {
                    let values = if let Some(known) = &known {
                        g.load_known(known, n, c.into())
                    } else {
                        g.load_all(&totals, types, c, "total")
                    };
                    g.store_all(&totals, scan.types, c, &carry);
                    // The second chunk starts with the first one's total unchanged.
                    emit!(if g(c == 0) {
                        g.set_all(&carry, &values);
                    } else {
                        g.combine(operators, &carry, &values)?;
                    });
                });
                Ok(())
            })?;
            if scan.reduced.is_empty() {
                emit!(if self(1 < chunks) {
                    self.emit_all(several);
                } else {
                    self.store_all(&totals, types, 0, &carry);
                });
            } else {
                self.emit_all(several);
            }

            self.for_tasks(("segscan", space.prov), size, cost, distinct, |g, c| {
                let chunk = g.bind(first + c, "c");
                let (lo, hi) = g.stepped_bounds(n, step, chunks, chunk);
                let accs = g.load_all(&totals, scan.types, chunk, "acc");
                g.scan_chunk(scan, blocks.as_ref(), &accs, lo, hi)
            })?;
        });
        self.release_all(&totals);
        self.set_reduced(scan, &carry);
        Ok(())
    }

    /// The totals of a scan that adds, if a reduction before has computed them.
    fn known_totals(&self, scan: &Scan<'_>, blocks: Option<&Blocks<'_>>) -> Option<KnownTotals> {
        if !scan.all.all.iter().all(|op| op.adds()) || !scan.reduced.is_empty() {
            return None;
        }
        let partition = blocks.and_then(|blocks| blocks.partition);
        let complete = partition.is_some_and(|partition| partition.complete);
        let counts = scan.types.len();
        let mut found = self.schedule.totals.iter().rev().take(MOST_KEPT);
        found
            .find_map(|totals| totals.for_scan(scan.space, counts))
            .filter(|known| complete || known.partials.iter().all(Option::is_some))
    }

    /// Loads the known totals of a chunk; a missing one is the number of the other iterations.
    fn load_known(&mut self, known: &KnownTotals, n: Operand, chunk: Operand) -> Vec<Var> {
        let loaded: Vec<Option<Var>> = (known.partials.iter())
            .map(|partial| Some(self.load_all(&[(*partial)?], &[PrimType::I64], chunk, "total")[0]))
            .collect();
        let (lo, hi) = self.stepped_bounds(n, known.step, known.chunks, chunk);
        let rest = loaded.iter().flatten().fold(hi - lo, |rest, total| rest - *total);
        let mut missing = || {
            let total = self.scalar(PrimType::I64, "total");
            self.set(total, rest.clone());
            total
        };
        loaded.into_iter().map(|total| total.unwrap_or_else(&mut missing)).collect()
    }

    /// A scan within one worker: a single chunk, in the current frame.
    pub(crate) fn seg_scan_lanes(&mut self, scan: &Scan<'_>) -> Result {
        let blocks = self.block_form(scan)?;
        bind!(n = self(scan.space.width));
        if !scan.reduced.is_empty() {
            let total = self.reduce_chunk(&scan.total(), 0.into(), n)?;
            self.set_reduced(scan, &total);
        }
        let accs = self.neutral(scan.operators, scan.types)?;
        self.scan_chunk(scan, blocks.as_ref(), &accs, 0.into(), n)
    }

    /// Binds the reduced values; `totals` has the totals of all operators.
    fn set_reduced(&mut self, scan: &Scan<'_>, totals: &[Var]) {
        let totals = scan.operation.values(totals).reduced;
        self.set_vars(scan.reduced, totals.iter().copied());
    }

    /// The iterations `lo..hi`, scanned with the initial values `accs`.
    fn scan_chunk(
        &mut self,
        scan: &Scan<'_>,
        blocks: Option<&Blocks<'_>>,
        accs: &[Var],
        lo: Operand,
        hi: Operand,
    ) -> Result {
        match blocks {
            Some(Blocks { filter: Some(filter), scatter: Some(scatter), .. }) => {
                self.filter_chunk(scan, filter, scatter, accs, (lo, hi))
            }
            Some(Blocks { partition: Some(partition), scatter: Some(scatter), .. }) => {
                self.partition_chunk(scan, partition, scatter, accs, (lo, hi))
            }
            Some(blocks) => self.scan_blocks(scan, blocks, accs, lo, hi),
            None => self.scan_points(scan, accs, lo, hi),
        }
    }

    /// Writes the results of one iteration; the scanned values are in `accs`.
    pub(crate) fn scan_point(&mut self, scan: &Scan<'_>, accs: &[Var], mapped: &[Atom]) -> Result {
        let Scan { pat, space, types, post, .. } = *scan;
        let Some(post) = post else {
            let (scanned_pat, mapped_pat) = pat.split_at(types.len());
            self.store_results(scanned_pat, space.dims, accs)?;
            return self.write_elements(mapped_pat, space.dims, mapped);
        };
        self.set_post_params(post, accs, mapped)?;
        let results = self.body(&post.body)?;
        self.write_elements(pat, space.dims, &results)?;
        self.release_bound(&post.body)
    }
}

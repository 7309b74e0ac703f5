//! Scans: a single-pass kernel over tiles ([`look_back`](super::look_back)); on devices without
//! forward progress between blocks, if a tile does not fit, or if a scan of several segments also
//! reduces, three kernels. The body runs once.
//!
//! ```text
//! block of a chunk    for its iterations, a block's worth at a time:
//!                       thread: <body>; part[thread] = x; part is scanned
//!                       local[i] = op carry part[thread]
//!                       carry = op carry part[last]
//!                     total[block] = carry
//! thread of a segment before[chunk] = exclusive scan of the chunks' totals
//! thread of an index  element = op before[its chunk] local[i]; <post>
//! ```
//!
//! Reductions in the same segop are computed as in [`reduce`](super::reduce). The first chunk of a
//! segment has no carry; its elements are used unchanged.

use super::reduce::Reduction;
use super::segments::{Chunk, Segments};
use crate::gpu::DeviceSchedule;
use crate::mems::{Lambda, Operator, Param, ScanReduce, Seg};
use crate::operators::{div_up, operator_types, prim_of};
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::build::Operand;
use imp::{Expr, Var, bind, emit, expr};
use ir::Prov;
use ir::name::Name;
use ir::syntax::Atom;
use ir::types::{Dim, Type};
use prim::PrimType;

/// The operators and intermediate arrays of a scan.
struct Scan<'s> {
    operators: Vec<&'s Operator>,
    types: Vec<PrimType>,
    /// The scanned values within each chunk, by iteration.
    locals: Vec<Var>,
    /// The total of each chunk, later replaced by the total of all chunks before it.
    totals: Vec<Var>,
}

/// The mapped values that a post lambda takes; `None` for accumulators.
struct Mapped {
    types: Vec<Option<PrimType>>,
    /// The values, by iteration.
    arrays: Vec<Var>,
}

impl Generator<'_, DeviceSchedule> {
    pub(super) fn kernel_scan(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        scan_reduce: &ScanReduce,
        prov: Prov,
    ) -> Result {
        let dims = seg.space.dims.as_slice();
        if let Some(own) = self.tile_iterations_per_thread(scan_reduce, dims.len() > 1) {
            return self.scan_by_tiles(pat, seg, scan_reduce, (own, prov));
        }
        let (reduced, elements) = scan_reduce.results(pat);
        let reduction = Reduction::of(scan_reduce, reduced)?;
        let segments = self.segments(seg)?;
        let all = self.all_chunks(&segments);
        let iterations = self.extent_product(dims, "iterations")?;
        let operators: Vec<_> = scan_reduce.scans.iter().collect();
        let types = operator_types(&operators)?;
        let scan = Scan {
            locals: self.device_arrays("local", &types, iterations, prov),
            totals: self.device_arrays("total", &types, all, prov),
            operators,
            types,
        };
        let partials = self.device_arrays("partial", &reduction.types, all, prov);
        let mapped = match &scan_reduce.post {
            Some(_) => self.mapped(scan_reduce.values(&seg.ret).mapped, iterations, prov),
            None => Mapped { types: Vec::new(), arrays: Vec::new() },
        };
        let size = self.schedule.layout.block;
        self.kernel(("segscan", prov), all, |g, block| {
            let Chunk { segment, from, to } = g.chunk_of(&segments, block.into())?;
            let part = g.shared_arrays("part", &scan.types);
            let sums = g.shared_arrays("sum", &reduction.types);
            let width = to - from;
            bind!(rounds = g(div_up(width, size)));
            g.threads(|g, thread| {
                let accs = g.neutral(&reduction.operators, &reduction.types)?;
                let carry = g.neutral(&scan.operators, &scan.types)?;
                emit!(for round in g(0..rounds) {
                    let first = from + round * size;
                    bind!(i = g(first + thread));
                    let inside = expr!(i < to);
                    let xs = g.neutral(&scan.operators, &scan.types)?;
                    let at = segment * segments.width + i;
                    emit!(if g(inside.clone()) {
                        g.set_index(segments.index, i);
                        g.iteration(&seg.body, |g, results| {
                            let values = scan_reduce.values(&results);
                            for (&x, &value) in xs.iter().zip(values.scanned) {
                                let value = g.atom(value)?;
                                g.set(x, value);
                            }
                            let ys = g.copy_operands(values.reduced, &reduction.types)?;
                            g.combine(&reduction.operators, &accs, &ys)?;
                            match &scan_reduce.post {
                                Some(_) => g.store_mapped(&mapped, values.mapped, &at),
                                None => {
                                    let (_, own) = elements.split_at(scan.types.len());
                                    g.write_elements(own, dims, values.mapped)
                                }
                            }
                        })?;
                    });
                    let typed_operators = (scan.operators.as_slice(), scan.types.as_slice());
                    g.scan_block(typed_operators, &part, &xs, thread)?;
                    // The carry is the left operand.
                    let own = g.copied(&scan.types, &carry, "scanned");
                    let mine = g.load_all(&part, &scan.types, thread, "mine");
                    g.combine(&scan.operators, &own, &mine)?;
                    emit!(if g(inside) {
                        g.store_all(&scan.locals, &scan.types, at.clone(), &own);
                    });
                    let last = g.load_all(&part, &scan.types, size - 1, "last");
                    g.combine(&scan.operators, &carry, &last)?;
                    g.barrier();
                });
                if !reduction.types.is_empty() {
                    g.reduce_block(&reduction, &sums, &accs, thread)?;
                }
                g.first_thread(thread, |g| {
                    g.store_all(&scan.totals, &scan.types, block, &carry);
                    let types = &reduction.types;
                    let sums = g.load_all(&sums, types, 0, "sum");
                    g.store_all(&partials, types, block, &sums);
                    Ok(())
                })
            })
        })?;
        self.exclusive_totals(&scan, &segments, prov)?;
        self.each_iteration(("segscan.add", prov), iterations, |g, iteration| {
            g.delinearise(dims, iteration)?;
            let values = g.add_carry(&scan, &segments, iteration)?;
            match &scan_reduce.post {
                Some(post) => g.post(post, elements, (&values, &mapped), iteration, dims),
                None => g.store_results(&elements[..values.len()], dims, &values),
            }
        })?;
        for buffers in [&scan.locals, &scan.totals, &mapped.arrays] {
            self.release_all(buffers);
        }
        if reduction.types.is_empty() {
            return Ok(());
        }
        self.reduce_chunks(segments, &reduction, partials, prov)
    }

    /// Allocates memory for the mapped values that are stored between the kernels.
    fn mapped(&mut self, values: &[Type], iterations: Operand, prov: Prov) -> Mapped {
        let types: Vec<Option<PrimType>> = values.iter().map(prim_of).collect();
        let stored: Vec<PrimType> = types.iter().copied().flatten().collect();
        let stored = self.device_arrays("mapped", &stored, iterations, prov);
        Mapped { types, arrays: stored }
    }

    fn store_mapped(&mut self, mapped: &Mapped, values: &[Atom], at: &Expr) -> Result {
        let pairs = mapped.types.iter().zip(values);
        let known = pairs.filter_map(|(ty, value)| Some(((*ty)?, *value)));
        let (types, atoms): (Vec<PrimType>, Vec<Atom>) = known.unzip();
        let vars = self.copy_operands(&atoms, &types)?;
        self.store_all(&mapped.arrays, &types, at.clone(), &vars);
        Ok(())
    }

    /// Replaces the chunks' totals by their exclusive scan within each segment.
    fn exclusive_totals(&mut self, scan: &Scan<'_>, segments: &Segments<'_>, prov: Prov) -> Result {
        let count = segments.count;
        let types = &scan.types;
        self.each_iteration(("segscan.total", prov), count, |g, segment| {
            bind!(first = g(segment * segments.chunks));
            let carry = g.neutral(&scan.operators, types)?;
            let chunks = segments.chunks;
            emit!(for chunk in g(0..chunks) {
                let at = first + chunk;
                let own = g.load_all(&scan.totals, types, at.clone(), "total");
                g.store_all(&scan.totals, types, at, &carry);
                g.combine(&scan.operators, &carry, &own)?;
            });
            Ok(())
        })
    }

    /// The scanned values at an index: the local ones, combined with the total of the chunks
    /// before.
    fn add_carry(
        &mut self,
        scan: &Scan<'_>,
        segments: &Segments<'_>,
        iteration: Operand,
    ) -> Result<Vec<Var>> {
        let types = &scan.types;
        let locals = self.load_all(&scan.locals, types, iteration, "local");
        let i = Expr::Var(self.var(segments.index)?);
        // Chunk k begins at k * width / chunks, rounded down.
        let next = (i + 1) * segments.chunks;
        bind!(chunk = self((next - 1) / segments.width));
        let segment = iteration / segments.width;
        let at = segment * segments.chunks + chunk;
        emit!(if self(0 < chunk) {
            let before = self.load_all(&scan.totals, types, at, "before");
            self.combine(&scan.operators, &before, &locals)?;
            for (&local, &before) in locals.iter().zip(&before) {
                self.set(local, before);
            }
        });
        Ok(locals)
    }

    /// The post lambda at an index.
    fn post(
        &mut self,
        post: &Lambda,
        elements: &[Param],
        (scanned, mapped): (&[Var], &Mapped),
        iteration: Operand,
        dims: &[(Name, Dim)],
    ) -> Result {
        let stored: Vec<PrimType> = mapped.types.iter().copied().flatten().collect();
        let values = self.load_all(&mapped.arrays, &stored, iteration, "mapped");
        let mut values = scanned.iter().copied().chain(values);
        for param in &post.params {
            if let Some(var) = self.bind_borrowed(param) {
                let value = values.next();
                let value = value.or_bug("a post lambda has too many parameters")?;
                self.set(var, value);
            }
        }
        self.iteration(&post.body, |g, results| g.write_elements(elements, dims, &results))
    }
}

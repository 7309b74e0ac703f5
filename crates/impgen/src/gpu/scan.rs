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
use crate::function::Gen;
use crate::operators::{div_up, operator_types};
use imp::build::{add, compare, div, mul, sub};
use imp::{Expr, Stmt, Var};
use ir::name::Name;
use ir::scan_reduce::ScanReduce;
use ir::seg::Seg;
use ir::soac::Operator;
use ir::syntax::{Atom, Lambda, Param};
use ir::types::{Dim, Type};
use ir::{Mems, PassError, Prov};
use prim::{CmpOp, PrimType};

/// The operators and intermediate arrays of a scan.
struct Scan<'s> {
    operators: Vec<&'s Operator<Mems>>,
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

/// The type of a scalar; accumulators have no value.
pub(super) const fn prim_of(ty: &Type) -> Option<PrimType> {
    match ty {
        Type::Prim(ty) => Some(*ty),
        Type::Array { .. } | Type::Acc { .. } | Type::Cert | Type::Mem(_) => None,
    }
}

impl Gen<'_, '_> {
    pub(super) fn kernel_scan(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        scan_reduce: &ScanReduce<Mems>,
        prov: Prov,
    ) -> Result<(), PassError> {
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
            locals: self.device_arrays("local", &types, &iterations, prov),
            totals: self.device_arrays("total", &types, &all, prov),
            operators,
            types,
        };
        let partials = self.device_arrays("partial", &reduction.types, &all, prov);
        let mapped = match &scan_reduce.post {
            Some(_) => self.mapped(scan_reduce.values(&seg.ret).mapped, &iterations, prov),
            None => Mapped { types: Vec::new(), arrays: Vec::new() },
        };
        let size = self.layout().block;
        self.kernel(("segscan", prov), all, |g, block| {
            let Chunk { segment, from, to } = g.chunk_of(&segments, Expr::Var(block))?;
            let part = g.shared_arrays("part", &scan.types);
            let sums = g.shared_arrays("sum", &reduction.types);
            let width = sub(to.clone(), from.clone());
            let rounds = g.bind_value(div_up(width, size), PrimType::I64, "rounds");
            g.threads(|g, thread| {
                let accs = g.neutral(&reduction.operators, &reduction.types)?;
                let carry = g.neutral(&scan.operators, &scan.types)?;
                g.for_seq("round", Expr::i64(0), rounds, false, |g, round| {
                    let first = add(from.clone(), mul(Expr::Var(round), Expr::i64(size)));
                    let i = add(first, thread.clone());
                    let i = g.bind_value(i, PrimType::I64, "i");
                    let inside = compare(CmpOp::SLt, i.clone(), to.clone());
                    let xs = g.neutral(&scan.operators, &scan.types)?;
                    let at = add(mul(segment.clone(), segments.width.clone()), i.clone());
                    let body = g.collect(|g| {
                        g.bind_index_to(segments.index, i.clone());
                        g.iteration(&seg.body, |g, results| {
                            let values = scan_reduce.values(&results);
                            for (&x, &value) in xs.iter().zip(values.scanned) {
                                let value = g.atom(value)?;
                                g.emit(Stmt::Set(x, value));
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
                        })
                    })?;
                    g.emit(Stmt::If(inside.clone(), body, Vec::new()));
                    let typed_operators = (scan.operators.as_slice(), scan.types.as_slice());
                    g.scan_block(typed_operators, &part, &xs, &thread)?;
                    // The carry is the left operand.
                    let own = g.copied(&scan.types, &carry, "scanned");
                    let mine = g.load_all(&part, &scan.types, thread.clone(), "mine");
                    g.combine(&scan.operators, &own, &mine)?;
                    let body = g.collect(|g| {
                        g.store_all(&scan.locals, &scan.types, at.clone(), &own);
                        Ok(())
                    })?;
                    g.emit(Stmt::If(inside, body, Vec::new()));
                    let last = g.load_all(&part, &scan.types, Expr::i64(size - 1), "last");
                    g.combine(&scan.operators, &carry, &last)?;
                    g.barrier();
                    Ok(())
                })?;
                if !reduction.types.is_empty() {
                    g.reduce_block(&reduction, &sums, &accs, &thread)?;
                }
                g.first_thread(&thread, |g| {
                    g.store_all(&scan.totals, &scan.types, Expr::Var(block), &carry);
                    let types = &reduction.types;
                    let sums = g.load_all(&sums, types, Expr::i64(0), "sum");
                    g.store_all(&partials, types, Expr::Var(block), &sums);
                    Ok(())
                })
            })
        })?;
        self.exclusive_totals(&scan, &segments, prov)?;
        self.each_iteration(("segscan.add", prov), iterations, |g, iteration| {
            g.delinearise(dims, &iteration)?;
            let values = g.add_carry(&scan, &segments, &iteration)?;
            match &scan_reduce.post {
                Some(post) => g.post(post, elements, (&values, &mapped), &iteration, dims),
                None => g.store_results(&elements[..values.len()], dims, &values),
            }
        })?;
        for buffers in [&scan.locals, &scan.totals, &mapped.arrays] {
            self.release_arrays(buffers);
        }
        if reduction.types.is_empty() {
            return Ok(());
        }
        self.reduce_chunks(segments, &reduction, partials, prov)
    }

    /// Allocates memory for the mapped values that are stored between the kernels.
    fn mapped(&mut self, values: &[Type], iterations: &Expr, prov: Prov) -> Mapped {
        let types: Vec<Option<PrimType>> = values.iter().map(prim_of).collect();
        let stored: Vec<PrimType> = types.iter().copied().flatten().collect();
        let stored = self.device_arrays("mapped", &stored, iterations, prov);
        Mapped { types, arrays: stored }
    }

    fn store_mapped(&mut self, mapped: &Mapped, values: &[Atom], at: &Expr) -> Result<(), PassError> {
        let pairs = mapped.types.iter().zip(values);
        let known = pairs.filter_map(|(ty, value)| Some(((*ty)?, *value)));
        let (types, atoms): (Vec<PrimType>, Vec<Atom>) = known.unzip();
        let vars = self.copy_operands(&atoms, &types)?;
        self.store_all(&mapped.arrays, &types, at.clone(), &vars);
        Ok(())
    }

    /// Returns fresh variables with the values of others.
    pub(super) fn copied(&mut self, types: &[PrimType], vars: &[Var], hint: &str) -> Vec<Var> {
        let mut copies = Vec::with_capacity(vars.len());
        for (&ty, &var) in types.iter().zip(vars) {
            let copy = self.scalar(ty, hint);
            self.emit(Stmt::Set(copy, Expr::Var(var)));
            copies.push(copy);
        }
        copies
    }

    /// Assigns values to variables.
    pub(super) fn set_all(&mut self, vars: &[Var], values: &[Var]) {
        for (&var, &value) in vars.iter().zip(values) {
            self.emit(Stmt::Set(var, Expr::Var(value)));
        }
    }

    /// Replaces the chunks' totals by their exclusive scan within each segment.
    fn exclusive_totals(
        &mut self,
        scan: &Scan<'_>,
        segments: &Segments<'_>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let count = segments.count.clone();
        let types = &scan.types;
        self.each_iteration(("segscan.total", prov), count, |g, segment| {
            let first = mul(segment, segments.chunks.clone());
            let first = g.bind_value(first, PrimType::I64, "first");
            let carry = g.neutral(&scan.operators, types)?;
            let chunks = segments.chunks.clone();
            g.for_seq("chunk", Expr::i64(0), chunks, false, |g, chunk| {
                let at = add(first, Expr::Var(chunk));
                let own = g.load_all(&scan.totals, types, at.clone(), "total");
                g.store_all(&scan.totals, types, at, &carry);
                g.combine(&scan.operators, &carry, &own)
            })
        })
    }

    /// The scanned values at an index: the local ones, combined with the total of the chunks
    /// before.
    fn add_carry(
        &mut self,
        scan: &Scan<'_>,
        segments: &Segments<'_>,
        iteration: &Expr,
    ) -> Result<Vec<Var>, PassError> {
        let types = &scan.types;
        let locals = self.load_all(&scan.locals, types, iteration.clone(), "local");
        let i = Expr::Var(self.var(segments.index)?);
        // Chunk k begins at k * width / chunks, rounded down.
        let next = mul(add(i, Expr::i64(1)), segments.chunks.clone());
        let chunk = div(sub(next, Expr::i64(1)), segments.width.clone());
        let chunk = self.bind_value(chunk, PrimType::I64, "chunk");
        let segment = div(iteration.clone(), segments.width.clone());
        let at = add(mul(segment, segments.chunks.clone()), chunk.clone());
        let body = self.collect(|g| {
            let before = g.load_all(&scan.totals, types, at, "before");
            g.combine(&scan.operators, &before, &locals)?;
            for (&local, &before) in locals.iter().zip(&before) {
                g.emit(Stmt::Set(local, Expr::Var(before)));
            }
            Ok(())
        })?;
        let later = compare(CmpOp::SLt, Expr::i64(0), chunk);
        self.emit(Stmt::If(later, body, Vec::new()));
        Ok(locals)
    }

    /// The post lambda at an index.
    fn post(
        &mut self,
        post: &Lambda<Mems>,
        elements: &[Param<Mems>],
        (scanned, mapped): (&[Var], &Mapped),
        iteration: &Expr,
        dims: &[(Name, Dim)],
    ) -> Result<(), PassError> {
        let stored: Vec<PrimType> = mapped.types.iter().copied().flatten().collect();
        let values = self.load_all(&mapped.arrays, &stored, iteration.clone(), "mapped");
        let mut values = scanned.iter().copied().chain(values);
        for param in &post.params {
            if let Some(var) = self.bind_borrowed(param) {
                let value = values.next();
                let value = value.ok_or_else(|| PassError::bug("a post lambda has too many parameters"))?;
                self.emit(Stmt::Set(var, Expr::Var(value)));
            }
        }
        self.iteration(&post.body, |g, results| g.write_elements(elements, dims, &results))
    }
}

//! Segops that the threads of a block share.
//!
//! | segop | threads |
//! |---|---|
//! | segmap | iterations are distributed cyclically over the threads |
//! | reductions | each thread reduces its own iterations, then the block reduces in shared memory |
//! | scans | a block's worth of iterations at a time is scanned in shared memory |
//! | .. of several segments | few and long: the same one by one; otherwise, some per thread |
//! | histograms | iterations are distributed, if the operator is an atomic operation |
//!
//! Segments count as few and long if that takes fewer rounds, by sizes only: each segment takes one
//! round for each block's worth of its iterations, and the rounds of the reduction over the
//! threads.
//!
//! A single thread runs everything else sequentially: histograms with other operators, reductions
//! with an operator that does not commute in the same segop as a scan, and updates without an
//! operator of arrays that belong to the block, which may collide.

use super::reduce::Reduction;
use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::mems::{Lambda, Operator, Param, ScanReduce, Seg};
use crate::operators::{div_up, operator_types, prim_of};
use crate::schedule::Generator;
use analysis::exact::atomic_operator;
use imp::build::Operand;
use imp::{Var, bind, emit};
use ir::PassError;
use ir::name::Name;
use ir::seg::SegKind;
use ir::types::{Dim, Type};
use prim::{PrimType, Scalar};

impl Generator<'_, DeviceSchedule> {
    /// A block-level segop.
    pub(super) fn block_seg(&mut self, pat: &[Param], seg: &Seg) -> Result {
        let dims = seg.space.dims.as_slice();
        let updates = pat.iter().any(|param| matches!(param.ty, Type::Acc { .. }));
        if updates && self.schedule.in_colliding_withacc {
            return self.single_thread_seg(pat, seg);
        }
        match &seg.kind {
            SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map() => {
                let n = self.extent_product(dims, "n")?;
                self.distributed(|g, thread| {
                    g.distribute((0, n), true, thread, |g, iteration| g.map_iteration(pat, seg, iteration))
                })
            }
            SegKind::ScanReduce(scan_reduce) => match dims.split_last() {
                Some((inner, [])) if scan_reduce.scans.is_empty() && scan_reduce.post.is_none() => {
                    self.block_reduce(pat, seg, scan_reduce, (inner, &[]))
                }
                Some((inner, [])) if scan_reduce.reduces.iter().all(|op| op.comm) => {
                    self.block_scan(pat, seg, scan_reduce, (inner, &[]))
                }
                Some((inner, outer)) if !outer.is_empty() => {
                    self.block_segments(pat, seg, scan_reduce, (inner, outer))
                }
                _ => self.single_thread_seg(pat, seg),
            },
            SegKind::Hist(ops) => {
                let operators = ops.iter().map(|hist| atomic_operator(&hist.op.op));
                let Some(operators) = operators.collect::<Option<Vec<_>>>() else {
                    return self.single_thread_seg(pat, seg);
                };
                let n = self.extent_product(dims, "n")?;
                let hists = self.bins_of(ops, &dims[..dims.len().saturating_sub(1)])?;
                self.distributed(|g, thread| {
                    g.distribute((0, n), true, thread, |g, iteration| {
                        g.delinearise(dims, iteration)?;
                        g.atomic_updates(seg, &hists, &operators)
                    })
                })
            }
            SegKind::FlatMap => Err(PassError::bug("a flat map is in a kernel")),
        }
    }

    /// Scans and reductions of several segments: all threads process one segment after another, or
    /// each thread processes some of them.
    fn block_segments(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        scan_reduce: &ScanReduce,
        (inner, outer): (&(Name, Dim), &[(Name, Dim)]),
    ) -> Result {
        let n = self.extent_product(outer, "segments")?;
        let reduces = scan_reduce.scans.is_empty() && scan_reduce.post.is_none();
        let may_share = reduces || scan_reduce.reduces.iter().all(|op| op.comm);
        let size = self.schedule.layout.block;
        let each = |g: &mut Self| {
            let (reduced, _) = scan_reduce.results(pat);
            g.distributed(|g, thread| {
                g.distribute((0, n), true, thread, |g, segment| {
                    g.delinearise(outer, segment)?;
                    let totals = g.reduce_segment(pat, seg, scan_reduce, inner)?;
                    g.store_results(reduced, outer, &totals)
                })
            })
        };
        if !may_share {
            return each(self);
        }
        let width = self.dim(inner.1)?;
        let alone = div_up(n, size) * width;
        let together = i64::from(2 * size.trailing_zeros());
        let rounds = n * (div_up(width, size) + together);
        bind!(few = self(rounds < alone));
        emit!(if self(few) {
            emit!(for segment in self(0..n) {
                self.delinearise(outer, segment.into())?;
                if reduces {
                    self.block_reduce(pat, seg, scan_reduce, (inner, outer))?;
                } else {
                    self.block_scan(pat, seg, scan_reduce, (inner, outer))?;
                }
            });
        } else {
            each(self)?;
        });
        Ok(())
    }

    /// A segop that one thread runs; all threads get its scalar results.
    fn single_thread_seg(&mut self, pat: &[Param], seg: &Seg) -> Result {
        let scalar = |param: &Param| Some((param.name, prim_of(&param.ty)?));
        let (names, types): (Vec<Name>, Vec<PrimType>) = pat.iter().filter_map(scalar).unzip();
        let parts = self.per_thread_arrays(&types)?;
        let values = self.distributed(|g, thread| {
            g.first_thread(thread, |g| {
                g.seg_sequential(pat, seg)?;
                let mut values = Vec::with_capacity(names.len());
                for &name in &names {
                    values.push(g.var(name)?);
                }
                g.store_all(&parts, &types, 0, &values);
                Ok(())
            })?;
            if names.is_empty() {
                return Ok(Vec::new());
            }
            g.barrier();
            Ok(g.load_all(&parts, &types, 0, "value"))
        })?;
        for (name, value) in names.into_iter().zip(values) {
            self.set_var(name, value);
        }
        Ok(())
    }

    /// Reductions of one segment: to scalars, which all threads get, or to one element of arrays
    /// over the outer dimensions.
    fn block_reduce(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        scan_reduce: &ScanReduce,
        ((index, width), outer): (&(Name, Dim), &[(Name, Dim)]),
    ) -> Result {
        let (reduced, mapped) = scan_reduce.results(pat);
        let reduction = Reduction::of(scan_reduce, reduced)?;
        let types = &reduction.types;
        let part = self.per_thread_arrays(types)?;
        let width = self.dim(*width)?;
        let any_order = scan_reduce.reduces.iter().all(|op| op.comm);
        let sums = self.distributed(|g, thread| {
            let accs = g.neutral(&reduction.operators, types)?;
            g.distribute((0, width), any_order, thread, |g, i| {
                g.set_index(*index, i);
                g.iteration(&seg.body, |g, results| {
                    let values = scan_reduce.values(&results);
                    let own = g.copy_operands(values.reduced, types)?;
                    g.combine(&reduction.operators, &accs, &own)?;
                    g.write_elements(mapped, &seg.space.dims, values.mapped)
                })
            })?;
            g.reduce_block(&reduction, &part, &accs, thread)?;
            g.totals_of(&reduction, &part, outer, thread)
        })?;
        self.set_vars(reduced, sums);
        Ok(())
    }

    /// The results of a segment: returned to all threads if it is the only one, otherwise written
    /// by the first thread.
    fn totals_of(
        &mut self,
        reduction: &Reduction<'_>,
        part: &[Var],
        outer: &[(Name, Dim)],
        thread: Operand,
    ) -> Result<Vec<Var>> {
        let types = &reduction.types;
        if outer.is_empty() {
            return Ok(self.load_all(part, types, 0, "sum"));
        }
        self.first_thread(thread, |g| {
            let sums = g.load_all(part, types, 0, "sum");
            g.store_results(reduction.pat, outer, &sums)
        })?;
        Ok(Vec::new())
    }

    /// Scans of one segment, with commutative reductions in the same segop.
    fn block_scan(
        &mut self,
        pat: &[Param],
        seg: &Seg,
        scan_reduce: &ScanReduce,
        ((index, width), outer): (&(Name, Dim), &[(Name, Dim)]),
    ) -> Result {
        let dims = seg.space.dims.as_slice();
        let (reduced, elements) = scan_reduce.results(pat);
        let reduction = Reduction::of(scan_reduce, reduced)?;
        let operators: Vec<&Operator> = scan_reduce.scans.iter().collect();
        let types = operator_types(&operators)?;
        let all = [types.as_slice(), reduction.types.as_slice()].concat();
        let parts = self.per_thread_arrays(&all)?;
        let (part, reduce_parts) = parts.split_at(types.len());
        let size = self.schedule.layout.block;
        let width = self.dim(*width)?;
        bind!(rounds = self(div_up(width, size)));
        let sums = self.distributed(|g, thread| {
            let accs = g.neutral(&reduction.operators, &reduction.types)?;
            let carry = g.neutral(&operators, &types)?;
            emit!(for round in g(0..rounds) {
                bind!(i = g(round * size + thread));
                let xs = g.neutral(&operators, &types)?;
                let mapped = g.passed_on(scan_reduce.values(&seg.ret).mapped, scan_reduce);
                emit!(if g(i < width) {
                    g.set_index(*index, i);
                    g.iteration(&seg.body, |g, results| {
                        let values = scan_reduce.values(&results);
                        g.set_atoms(&xs, values.scanned)?;
                        let own = g.copy_operands(values.reduced, &reduction.types)?;
                        g.combine(&reduction.operators, &accs, &own)?;
                        if scan_reduce.post.is_none() {
                            return g.write_elements(&elements[types.len()..], dims, values.mapped);
                        }
                        for (var, value) in mapped.iter().zip(values.mapped) {
                            if let Some(var) = var {
                                g.set_atoms(&[*var], &[*value])?;
                            }
                        }
                        Ok(())
                    })?;
                });
                g.scan_block((&operators, &types), part, &xs, thread)?;
                // The carry is the left operand.
                let own = g.copied(&types, &carry, "scanned");
                let mine = g.load_all(part, &types, thread, "mine");
                g.combine(&operators, &own, &mine)?;
                emit!(if g(i < width) {
                    g.set_index(*index, i);
                    match &scan_reduce.post {
                        None => g.store_results(&elements[..types.len()], dims, &own)?,
                        Some(post) => {
                            let values = own.iter().copied().map(Some).chain(mapped);
                            g.post_iteration(post, values, elements, dims)?;
                        }
                    }
                });
                let last = g.load_all(part, &types, size - 1, "last");
                g.combine(&operators, &carry, &last)?;
                g.barrier();
            });
            if reduction.types.is_empty() {
                return Ok(Vec::new());
            }
            g.reduce_block(&reduction, reduce_parts, &accs, thread)?;
            g.totals_of(&reduction, reduce_parts, outer, thread)
        })?;
        self.set_vars(reduced, sums);
        Ok(())
    }

    /// One iteration of a post lambda with these values; accumulators have none.
    pub(super) fn post_iteration(
        &mut self,
        post: &Lambda,
        values: impl Iterator<Item = Option<Var>>,
        elements: &[Param],
        dims: &[(Name, Dim)],
    ) -> Result {
        for (param, value) in post.params.iter().zip(values) {
            if let Some(value) = value {
                self.set_param(param, value)?;
            }
        }
        self.iteration(&post.body, |g, results| g.write_elements(elements, dims, &results))
    }

    /// Variables for the mapped scalars that a post lambda takes.
    fn passed_on(&mut self, types: &[Type], scan_reduce: &ScanReduce) -> Vec<Option<Var>> {
        if scan_reduce.post.is_none() {
            return Vec::new();
        }
        types
            .iter()
            .map(|ty| {
                prim_of(ty).map(|ty| {
                    let var = self.scalar(ty, "mapped");
                    self.set(var, Scalar::zero(ty));
                    var
                })
            })
            .collect()
    }
}

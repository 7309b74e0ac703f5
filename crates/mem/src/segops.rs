//! Memory of segops: result arrays are allocated before, and each iteration builds its results in
//! them.

use crate::alloc::{Ctx, row_major_in};
use crate::destinations::Destination;
use ir::mem::{Block, Lmad, MemAnn, MemOp};
use ir::name::{Name, Prov};
use ir::remark::CopyReason;
use ir::scan_reduce::ScanReduce;
use ir::seg::{Seg, SegKind, SegOp, SegSpace, is_concatenated};
use ir::soac::{AccInput, HistOp, Operator};
use ir::syntax::{Atom, Aux, Body, DimIndex, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::{Mems, PassError, Segs};

impl Ctx<'_> {
    /// Appends a segop.
    pub(crate) fn seg(
        &mut self,
        pat: Vec<Param<Segs>>,
        mut aux: Aux,
        seg: Seg<Segs>,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<(), PassError> {
        let starts = self.home_memory.is_remote() && !self.in_kernel();
        let kernel = starts.then(|| self.kernel_of(&seg));
        let Seg { level, space, kind, body, ret, decomp, identity_predicate: _ } = seg;
        let pat = match &kind {
            SegKind::Hist(ops) => self.hist_pattern(pat, ops)?,
            SegKind::FlatMap => self.flat_pattern(pat, &ret, aux.prov, out),
            SegKind::ScanReduce(_) => {
                let mut bound = Vec::with_capacity(pat.len());
                for (at, param) in pat.into_iter().enumerate() {
                    let order = aux.facts.layout(at).filter(|_| !self.in_kernel());
                    let ann = match order.filter(|_| self.dest(&param).is_none()) {
                        Some(order) => {
                            let lmad = Lmad::with_dim_order(order, param.ty.shape());
                            let hint = self.names.hint(param.name).clone();
                            let block = self.alloc(&hint, &param.ty, aux.prov, out);
                            MemAnn::In { block: Block::Var(block), lmad }
                        }
                        None => self.locate_new(&param, aux.prov, out),
                    };
                    bound.push(self.bind(param.name, param.ty, ann));
                }
                bound
            }
        };
        aux.facts.clear_layouts();
        let around = self.enter_thread_segop(&space);
        if starts {
            self.kernel = kernel;
        }
        for &(index, _) in &space.dims {
            self.bind(index, Type::I64, MemAnn::None);
        }
        let outside = std::mem::replace(&mut self.in_segop, true);
        let result = self.seg_inside(&pat, &space, kind, body, &ret);
        self.in_segop = outside;
        self.leave_thread_segop(around);
        let ended = starts.then(|| self.kernel.take()).flatten();
        let (kind, body) = result?;
        if let Some(kernel) = ended {
            self.note_need(&pat, &kernel, &body)?;
            out.extend(kernel.outer());
        }
        let op =
            MemOp::Seg(SegOp::Seg(Seg { level, space, kind, body, ret, decomp, identity_predicate: None }));
        out.push(Stm { pat, aux, exp: Exp::Op(op) });
        Ok(())
    }

    fn seg_inside(
        &mut self,
        pat: &[Param<Mems>],
        space: &SegSpace,
        kind: SegKind<Segs>,
        body: Body<Segs>,
        ret: &[Type],
    ) -> Result<(SegKind<Mems>, Body<Mems>), PassError> {
        let own = pat.iter().filter(|p| !matches!(p.ty, Type::Mem(_)));
        let slices: Vec<Option<Destination>> = own.map(|p| self.iteration_slice(p, space)).collect();
        let slices = slices.as_slice();
        Ok(match kind {
            SegKind::ScanReduce(scan_reduce) => {
                let (reduced, elements) = scan_reduce.results(slices);
                // Results of the body that a post lambda takes have no destination.
                let at = if scan_reduce.post.is_some() {
                    Vec::new()
                } else {
                    let (scanned, mapped) = elements.split_at(scan_reduce.n_scanned());
                    [scanned, reduced, mapped].concat()
                };
                let body = self.body(body, &at)?;
                let ScanReduce { scans, reduces, post } = scan_reduce;
                let scan_reduce = ScanReduce {
                    scans: self.operators(scans)?,
                    reduces: self.operators(reduces)?,
                    post: post.map(|post| self.post(post, elements)).transpose()?,
                };
                (SegKind::ScanReduce(scan_reduce), body)
            }
            SegKind::Hist(ops) => {
                let body = self.body(body, &[])?;
                let mut converted = Vec::with_capacity(ops.len());
                for HistOp { shape, destinations, op } in ops {
                    converted.push(HistOp { shape, destinations, op: self.operator(op)? });
                }
                (SegKind::Hist(converted), body)
            }
            SegKind::FlatMap => {
                let at: Vec<Option<Destination>> = ret
                    .iter()
                    .zip(slices)
                    .map(|(ty, slice)| slice.clone().filter(|_| !is_concatenated(ty)))
                    .collect();
                (SegKind::FlatMap, self.body(body, &at)?)
            }
        })
    }

    /// The location of one iteration's part of a result array, if the array has a row for each
    /// iteration.
    fn iteration_slice(&self, param: &Param<Mems>, space: &SegSpace) -> Option<Destination> {
        let MemAnn::In { block: Block::Var(block), lmad } = &param.ann else {
            return None;
        };
        let rank = param.ty.rank();
        if rank <= space.dims.len() {
            return None;
        }
        let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
        let slice: Vec<DimIndex> = space
            .dims
            .iter()
            .map(|(index, _)| DimIndex::Fix(Atom::Var(*index)))
            .chain(param.ty.shape().iter().skip(space.dims.len()).map(full))
            .collect();
        Some(Destination { block: *block, lmad: lmad.slice(&slice) })
    }

    /// The annotation of an array in a block of its own, which is bound before it.
    fn new_block(&mut self, param: &Param<Segs>, bound: &mut Vec<Param<Mems>>) -> MemAnn {
        let hint = format!("{}_mem", self.names.hint(param.name));
        let block = self.fresh(&hint, Type::Mem(self.home_memory), MemAnn::None);
        let ann = row_major_in(block.name, &param.ty);
        bound.push(block);
        ann
    }

    /// Binds the results of a flat map: concatenated arrays get blocks of their own.
    fn flat_pattern(
        &mut self,
        pat: Vec<Param<Segs>>,
        ret: &[Type],
        prov: Prov,
        out: &mut Vec<Stm<Mems>>,
    ) -> Vec<Param<Mems>> {
        let mut bound = Vec::with_capacity(2 * pat.len());
        for (param, ty) in pat.into_iter().zip(ret) {
            let ann = if is_concatenated(ty) {
                self.new_block(&param, &mut bound)
            } else {
                self.locate_new(&param, prov, out)
            };
            bound.push(self.bind(param.name, param.ty, ann));
        }
        bound
    }

    fn hist_pattern(
        &mut self,
        pat: Vec<Param<Segs>>,
        ops: &[HistOp<Segs>],
    ) -> Result<Vec<Param<Mems>>, PassError> {
        let destinations: Vec<Name> = ops.iter().flat_map(|op| op.destinations.iter().copied()).collect();
        let mut bound = Vec::with_capacity(pat.len());
        for (param, dest) in pat.into_iter().zip(destinations) {
            let ann = self.same(dest, &param.ty)?;
            bound.push(self.bind(param.name, param.ty, ann));
        }
        Ok(bound)
    }

    fn operators(&mut self, operators: Vec<Operator<Segs>>) -> Result<Vec<Operator<Mems>>, PassError> {
        operators.into_iter().map(|operator| self.operator(operator)).collect()
    }

    fn operator(&mut self, operator: Operator<Segs>) -> Result<Operator<Mems>, PassError> {
        let Operator { op, neutral, comm } = operator;
        let Lambda { params, body, ret } = op;
        let params = params.into_iter().map(|p| self.plain(p)).collect::<Result<Vec<_>, PassError>>()?;
        let body = self.body(body, &[])?;
        Ok(Operator { op: Lambda { params, body, ret }, neutral, comm })
    }

    /// Converts a post lambda. Its parameters must be scalars for now; arrays would have the
    /// location that the body gave them.
    fn post(&mut self, post: Lambda<Segs>, at: &[Option<Destination>]) -> Result<Lambda<Mems>, PassError> {
        let Lambda { params, body, ret } = post;
        let params = params.into_iter().map(|p| self.plain(p)).collect::<Result<Vec<_>, PassError>>()?;
        let body = self.body(body, at)?;
        Ok(Lambda { params, body, ret })
    }

    /// Appends a `withacc`. Its arrays keep their locations.
    pub(crate) fn with_acc(
        &mut self,
        pat: Vec<Param<Segs>>,
        aux: Aux,
        inputs: Vec<AccInput<Segs>>,
        lambda: Lambda<Segs>,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<(), PassError> {
        let arrays: Vec<Name> = inputs.iter().flat_map(|i| i.arrays.iter().copied()).collect();
        let n_accs = inputs.len();
        let mut converted = Vec::with_capacity(inputs.len());
        for AccInput { shape, arrays, op } in inputs {
            let outside = std::mem::replace(&mut self.in_segop, true);
            let op = op.map(|op| self.operator(op)).transpose();
            self.in_segop = outside;
            converted.push(AccInput { shape, arrays, op: op? });
        }
        let Lambda { params, body, ret } = lambda;
        let params = params.into_iter().map(|p| self.plain(p)).collect::<Result<Vec<_>, PassError>>()?;
        let mut body = self.body(body, &[])?;
        let mut ret_types = Vec::with_capacity(ret.len());
        let mut result = Vec::with_capacity(body.result.len());
        for (k, (atom, ty)) in std::mem::take(&mut body.result).into_iter().zip(ret).enumerate() {
            if let (true, true, Atom::Var(array)) = (k >= n_accs, ty.is_array(), atom) {
                let (array, block) =
                    self.row_major_home(array, aux.prov, CopyReason::ControlFlowMerge, &mut body.stms)?;
                result.extend([Atom::Var(block), Atom::Var(array)]);
                ret_types.push(Type::Mem(self.home_memory));
            } else {
                result.push(atom);
            }
            ret_types.push(ty);
        }
        body.result = result;
        let mut bound = Vec::with_capacity(pat.len());
        for (k, param) in pat.into_iter().enumerate() {
            let ann = if let Some(&array) = arrays.get(k) {
                self.same(array, &param.ty)?
            } else if param.ty.is_array() {
                self.new_block(&param, &mut bound)
            } else {
                MemAnn::None
            };
            bound.push(self.bind(param.name, param.ty, ann));
        }
        let lambda = Lambda { params, body, ret: ret_types };
        let op = MemOp::Seg(SegOp::WithAcc { inputs: converted, lambda });
        out.push(Stm { pat: bound, aux, exp: Exp::Op(op) });
        Ok(())
    }
}

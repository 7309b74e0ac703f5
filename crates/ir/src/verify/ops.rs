//! Invariants 8, 9, 15 and 16: the levels' operations and annotations.

use super::types::Checker;
use super::{AnnotationRules, Rules, VerifyLevel};
use crate::facts::{DimOrder, FactFlag, Facts, Filter, Partition};
use crate::mem::{Block, MemAnn, MemOp, Mems};
use crate::name::Name;
use crate::scan_reduce::ScanReduce;
use crate::seg::{Decomp, Seg, SegKind, SegOp, SegSpace};
use crate::soac::{AccInput, HistOp, Operator, Screma, Soac, Soacs};
use crate::syntax::{Atom, BasicOp, Body, Exp, Lambda, Param};
use crate::types::{Dim, Type};
use crate::walk::in_directions;
use rustc_hash::FxHashSet;
use target::memories::Allocation;

impl Rules<Soacs> for Soac {
    fn verify(&self, c: &mut Checker<'_, Soacs>) {
        match self {
            Self::Screma(Screma { width, inputs, map, scan_reduce }) => {
                let rows = c.inputs(*width, inputs);
                c.lambda(map, &rows, "the map lambda");
                c.scan_reduce(scan_reduce, &map.ret);
            }
            Self::Hist { width, inputs, map, ops } => {
                let rows = c.inputs(*width, inputs);
                c.lambda(map, &rows, "the bucket lambda");
                c.histograms(ops, &map.ret, &[]);
            }
            Self::WithAcc { inputs, lambda } => c.withacc(inputs, lambda),
            Self::Stream { width, inputs, init, lambda } => {
                let rows = c.inputs(*width, inputs);
                let accs: Vec<Type> = init.iter().map(|atom| c.atom_type(*atom)).collect();
                let mut args = vec![Type::I64];
                args.extend_from_slice(&accs);
                args.extend(rows.iter().map(|row| row.array_of(Dim::Ext(0))));
                c.lambda(lambda, &args, "the fold");
                let right = lambda.ret.len() >= accs.len() && lambda.ret[..accs.len()] == accs[..];
                c.require(right, || "the fold does not return its accumulators".to_owned());
                let chunk = lambda.params.first().map(|p| Dim::Var(p.name));
                for ty in lambda.ret.iter().skip(accs.len()) {
                    let right = ty.shape().first().copied() == chunk;
                    c.require(right, || {
                        "a mapped result of the fold does not have the chunk's size".to_owned()
                    });
                }
            }
            Self::FlatMap { width, inputs, lambda } => {
                let rows = c.inputs(*width, inputs);
                let Lambda { params, body, ret } = lambda;
                c.lambda_params(params, &rows, "the lambda");
                c.flat_map(body, ret);
            }
            Self::Jvp { args, seeds, directions, lambda } => {
                let types: Vec<Type> = args.iter().map(|atom| c.atom_type(*atom)).collect();
                c.seeds(seeds, *directions, &types);
                c.lambda(lambda, &types, "the function");
            }
            Self::Vjp { args, seeds, directions, lambda } => {
                let types: Vec<Type> = args.iter().map(|atom| c.atom_type(*atom)).collect();
                c.seeds(seeds, *directions, &lambda.ret);
                c.lambda(lambda, &types, "the function");
            }
            Self::WithVjp { args, lambda, adjoint } => {
                let types: Vec<Type> = args.iter().map(|atom| c.atom_type(*atom)).collect();
                c.lambda(lambda, &types, "the function");
                let values: Vec<Type> = lambda.ret.iter().chain(&lambda.ret).cloned().collect();
                c.lambda(adjoint, &values, "the derivative");
                let right = adjoint.ret == types;
                c.require(right, || "the derivative's results are not of the arguments' types".to_owned());
            }
        }
    }
}

impl<L: VerifyLevel> Checker<'_, L> {
    /// Checks the inputs of an operation of this width; returns the types of their rows.
    fn inputs(&mut self, width: Dim, inputs: &[Name]) -> Vec<Type> {
        self.dim(width);
        let mut rows = Vec::new();
        for input in inputs {
            let ty = self.type_of(*input);
            let fits = match &ty {
                Type::Array { shape, .. } => shape.first() == Some(&width),
                Type::Acc { .. } => true,
                Type::Prim(_) | Type::Cert | Type::Mem(_) => false,
            };
            if !fits {
                let (name, ty) = (self.show_name(*input), self.show(&ty));
                self.fail(format!("the input {name}: {ty} is not an array of the operation's width"));
            }
            rows.push(ty.row().unwrap_or(ty));
        }
        rows
    }

    /// Checks the seeds of a derivative with respect to values of these types.
    fn seeds(&mut self, seeds: &[Atom], directions: Option<Dim>, types: &[Type]) {
        if let Some(directions) = directions {
            self.dim(directions);
        }
        let types: Vec<Type> = types.iter().map(|ty| in_directions(ty, directions)).collect();
        self.atoms(seeds, &types, "a seed");
    }

    /// Checks an operator on the first of `values`, and removes these.
    fn operator(&mut self, operator: &Operator<L>, values: &mut &[Type]) {
        let Operator { op, neutral, comm: _ } = operator;
        let k = neutral.len();
        let args: Vec<Type> = op.ret.iter().chain(&op.ret).cloned().collect();
        self.lambda(op, &args, "the operator");
        self.atoms(neutral, &op.ret, "a neutral element");
        if values.len() < k {
            self.fail("the operators take more values than exist");
            *values = &[];
            return;
        }
        let (own, rest) = values.split_at(k);
        if own != op.ret.as_slice() {
            let own: Vec<String> = own.iter().map(|ty| self.show(ty)).collect();
            self.fail(format!("the operator does not apply to values of type ({})", own.join(", ")));
        }
        *values = rest;
    }

    /// Checks scans and reductions of values of these types.
    fn scan_reduce(&mut self, scan_reduce: &ScanReduce<L>, ret: &[Type]) {
        let ScanReduce { scans, reduces, post } = scan_reduce;
        let mut rest = ret;
        for op in scans.iter().chain(reduces) {
            self.operator(op, &mut rest);
        }
        if let Some(post) = post {
            self.require(!scans.is_empty(), || "a post lambda without a scan".to_owned());
            let scanned = scans.iter().flat_map(|op| &op.op.ret);
            let args: Vec<Type> = scanned.chain(rest).cloned().collect();
            self.lambda(post, &args, "the post lambda");
            let filter = post.body.stms.last().and_then(|stm| stm.aux.facts.filter());
            if let Some(Filter { flag, values, .. }) = filter {
                let counts = scan_reduce.n_scanned() == 1 && args.first() == Some(&Type::I64);
                let right = counts
                    && rest.get(*flag) == Some(&Type::BOOL)
                    && values.iter().all(|at| *at < rest.len());
                self.require(right, || "a filter fact on an operation that is not a filter".to_owned());
            }
            let partition = post.body.stms.last().and_then(|stm| stm.aux.facts.partition());
            if let Some(Partition { values, offsets, complete: _ }) = partition {
                let counts = args.iter().take(offsets.len()).filter(|ty| **ty == Type::I64).count();
                let right = counts == offsets.len()
                    && counts == scan_reduce.n_scanned()
                    && values.iter().all(|at| *at < rest.len());
                self.require(right, || "a partition fact on an operation that is not a partition".to_owned());
            }
        }
    }

    /// Checks that facts are on operations that can have them. Their truth is the responsibility of
    /// the pass that finds them.
    pub(super) fn facts(&mut self, facts: &Facts, exp: &Exp<L>, pat: &[Param<L>]) {
        if facts.is_empty() {
            return;
        }
        let marked = FactFlag::ALL.into_iter().any(|mark| facts.has(mark));
        let marked =
            marked || facts.filter().is_some() || facts.partition().is_some() || facts.shared().is_some();
        self.require(L::FACTS || !marked, || "facts are not allowed at this level".to_owned());
        self.orders(facts, exp, pat);
        let scalar = matches!(pat, [param] if param.ty.is_prim());
        let may = |mark: FactFlag| match (mark, exp) {
            (FactFlag::Independent, Exp::Loop { .. }) => true,
            (
                FactFlag::Independent
                | FactFlag::PostScanIndependent
                | FactFlag::Scalars
                | FactFlag::SharedColumns,
                Exp::Op(op),
            ) => op.allows_fact(mark),
            (FactFlag::Packable, Exp::Basic(BasicOp::UpdateAcc { index, .. })) => index.len() == 1,
            (FactFlag::Streamed, Exp::Basic(BasicOp::Index { .. })) => scalar,
            _ => false,
        };
        let element = scalar && matches!(exp, Exp::Basic(BasicOp::Index { .. }));
        let right = FactFlag::ALL.into_iter().all(|mark| !facts.has(mark) || may(mark))
            && (facts.has(FactFlag::Packable) || facts.filter().is_none() && facts.partition().is_none())
            && (element || facts.shared().is_none());
        self.require(right, || "the operation cannot have this fact".to_owned());
    }

    /// Checks that orders are permutations for array results of maps or conditionals.
    fn orders(&mut self, facts: &Facts, exp: &Exp<L>, pat: &[Param<L>]) {
        if facts.layouts().is_empty() {
            return;
        }
        self.require(L::LAYOUTS, || "dimension orders are not allowed at this level".to_owned());
        let may = |order: &DimOrder| match exp {
            Exp::If { .. } => true,
            Exp::Op(op) => op.allows_layout(order),
            Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } => false,
        };
        let mut seen: FxHashSet<usize> = FxHashSet::default();
        let right = facts.layouts().iter().all(|(at, order)| {
            let rank = pat.get(*at).map_or(0, |param| param.ty.rank());
            let mut dims = order.clone();
            dims.sort_unstable();
            seen.insert(*at) && rank > 0 && dims.iter().copied().eq(0..rank) && may(order)
        });
        self.require(right, || "the operation cannot have this dimension order".to_owned());
    }

    /// Checks the identity predicate of an operation's accumulators.
    fn identity_predicate(&mut self, kind: &SegKind<L>, identity: Option<&Lambda<L>>) {
        let Some(identity) = identity else {
            return;
        };
        let SegKind::ScanReduce(scan_reduce) = kind else {
            self.fail("a histogram has an identity predicate");
            return;
        };
        let values: Vec<Type> = (scan_reduce.operators().flat_map(|op| &op.op.ret).cloned()).collect();
        self.lambda(identity, &[&*values, &*values].concat(), "the identity predicate");
        let right = identity.ret == [Type::BOOL];
        self.require(right, || "the identity predicate does not return a bool".to_owned());
    }

    /// Checks the results of a flat map's iteration: a size, arrays of that size, and others.
    fn flat_map(&mut self, body: &Body<L>, ret: &[Type]) {
        let before: Vec<&Type> = ret.iter().collect();
        for (i, ty) in ret.iter().enumerate() {
            self.ty(ty, Some(&before[..i]));
            let inner = ty.shape().iter().skip(1);
            let right = !inner.clone().any(|dim| matches!(dim, Dim::Ext(_)))
                && !matches!(ty.shape().first(), Some(Dim::Ext(1..)))
                && !matches!(ty, Type::Acc { .. } | Type::Cert);
            self.require(right, || {
                "a result of a flat map's iteration is neither concatenated nor mapped".to_owned()
            });
        }
        let right = ret.first() == Some(&Type::I64);
        self.require(right, || "a flat map's iteration does not return a size".to_owned());
        let size = body.result.first().and_then(|atom| Dim::from_atom(*atom));
        let want = ret.iter().map(|ty| {
            let sized = |i| size.filter(|_| i == 0);
            crate::typing::instantiate(ty, &sized)
        });
        let want: Vec<Type> = want.collect();
        self.body_with(body, &want, "the results of an iteration");
    }

    /// Checks histograms, given the result types of the bucket function.
    fn histograms(&mut self, ops: &[HistOp<L>], ret: &[Type], segments: &[Dim]) {
        let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
        let Some((indices, mut values)) = ret.split_at_checked(n_indices) else {
            self.fail("the bucket function returns too few results");
            return;
        };
        let right = indices.iter().all(|ty| *ty == Type::I64);
        self.require(right, || "the bucket indices are not i64".to_owned());
        for HistOp { shape, destinations, op } in ops {
            for dim in shape {
                self.dim(*dim);
            }
            self.operator(op, &mut values);
            let k = op.op.ret.len();
            let got = destinations.len();
            self.require(got == k, || format!("{got} destinations, but {k} values"));
            for (dest, ty) in destinations.iter().zip(&op.op.ret) {
                let dims = segments.iter().chain(shape).rev();
                let want = dims.fold(ty.clone(), |ty, dim| ty.array_of(*dim));
                self.atom(Atom::Var(*dest), &want, "a destination");
            }
        }
        self.require(values.is_empty(), || "the bucket function returns too many results".into());
    }

    fn withacc(&mut self, inputs: &[AccInput<L>], lambda: &Lambda<L>) {
        let mut elems: Vec<Vec<Type>> = Vec::new();
        for AccInput { shape, arrays, op } in inputs {
            let mut rows = Vec::new();
            for array in arrays {
                let Some((elem, dims)) = self.array(*array) else {
                    continue;
                };
                let right = dims.starts_with(shape);
                self.require(right, || "an array's outer dimensions are not the accumulator's".to_owned());
                rows.push(Type::array(elem, dims.into_iter().skip(shape.len())));
            }
            if let Some(op) = op {
                self.operator(op, &mut rows.as_slice());
            }
            elems.push(rows);
        }
        let tokens = lambda.params.iter().take(inputs.len()).map(|p| p.name);
        let accs: Vec<Type> = tokens
            .zip(inputs.iter().zip(&elems))
            .map(|(token, (input, elems))| Type::Acc {
                token,
                shape: input.shape.clone(),
                elems: elems.clone(),
            })
            .collect();
        let mut args = vec![Type::Cert; inputs.len()];
        args.extend(accs.iter().cloned());
        self.lambda(lambda, &args, "the lambda");
        let right = lambda.ret.get(..accs.len()) == Some(accs.as_slice());
        self.require(right, || "the lambda does not return its accumulators".to_owned());
    }

    fn decomp(&mut self, decomp: Decomp, ops: &[&Operator<L>]) {
        let Decomp {
            grain_size: grain,
            tunable,
            max_chunks,
            width,
            accumulators: streams,
            scan_block: depth,
            cost,
            updates_per_iteration: writes,
        } = decomp;
        let in_step = streams == 1 || (width <= 1 && streams.is_multiple_of(depth.max(1)));
        let right = grain >= 1 && max_chunks >= 1 && width >= 1 && cost >= 0;
        let right = right && streams >= 1 && depth.is_power_of_two() && in_step;
        self.require(right, || "a component of the decomposition is out of range".to_owned());
        if let Some(tunable) = tunable {
            self.has_tunable(tunable);
        }
        let in_order = writes == 0 || (width, streams, depth) == (1, 1, 1);
        self.require(in_order, || {
            "accumulator updates require a width, accumulators and scan_block of 1".to_owned()
        });
        let comm = width <= 1 || ops.iter().all(|op| op.comm);
        self.require(comm, || "partial accumulators require a commutative operator".into());
    }
}

impl<L: VerifyLevel> Rules<L> for SegOp<L> {
    fn allows_fact(&self, mark: FactFlag) -> bool {
        let Self::Seg(Seg { kind, .. }) = self else {
            return false;
        };
        let post = matches!(kind, SegKind::ScanReduce(ScanReduce { post: Some(_), .. }));
        matches!(mark, FactFlag::Independent | FactFlag::Scalars)
            || (mark == FactFlag::PostScanIndependent && post)
            || (mark == FactFlag::SharedColumns && kind.is_map())
    }

    fn allows_layout(&self, order: &DimOrder) -> bool {
        // Results of neighbouring iterations of the innermost dimension must be adjacent in memory.
        let dims = |seg: &Seg<L>| Some(seg.space.dims.len());
        let innermost = order.last().map(|dim| dim + 1);
        matches!(self, Self::Seg(seg) if seg.kind.is_map() && dims(seg) == innermost)
    }

    fn verify(&self, c: &mut Checker<'_, L>) {
        let (level, space, kind, body, ret, decomp) = match self {
            Self::Seg(Seg { level, space, kind, body, ret, decomp, identity_predicate: identity }) => {
                c.identity_predicate(kind, identity.as_ref());
                (*level, space, kind, body, ret, *decomp)
            }
            Self::WithAcc { inputs, lambda } => {
                c.withacc(inputs, lambda);
                return;
            }
        };
        let SegSpace { dims, lane } = space;
        let outer = c.seg_level;
        c.require(c.stack.may_contain(level, outer), || match outer {
            Some(outer) => {
                format!("a segop at level {} is nested in one at level {}", level.name, outer.name)
            }
            None => format!("level {} does not exist", level.name),
        });
        c.require(level.runs_maps || !kind.is_map() && !matches!(kind, SegKind::FlatMap), || {
            "a map is at a level for reductions and scans only".to_owned()
        });
        c.require(!dims.is_empty(), || "a segop has no dimensions".to_owned());
        let lane_ok = lane.is_none_or(|lane| (lane as usize) < dims.len());
        c.require(lane_ok, || "the lane dimension is not in the index space".to_owned());
        for (_, size) in dims {
            c.dim(*size);
        }
        let outer = c.seg_level.replace(level);
        if !matches!(kind, SegKind::FlatMap) {
            for ty in ret {
                c.ty(ty, None);
            }
            c.body_with(body, ret, "the results of the body");
        }
        match kind {
            SegKind::ScanReduce(scan_reduce) => {
                let scans = !scan_reduce.scans.is_empty() || scan_reduce.post.is_some();
                c.require(decomp.updates_per_iteration == 0 || !scans, || {
                    "a scan updates accumulators with an operator".to_owned()
                });
                c.scan_reduce(scan_reduce, ret);
                c.decomp(decomp, &scan_reduce.operators().collect::<Vec<_>>());
            }
            SegKind::Hist(ops) => {
                let sizes: Vec<Dim> = dims.iter().map(|(_, size)| *size).collect();
                c.histograms(ops, ret, &sizes[..sizes.len().saturating_sub(1)]);
                c.decomp(decomp, &ops.iter().map(|op| &op.op).collect::<Vec<_>>());
            }
            SegKind::FlatMap => {
                let one = dims.len() == 1;
                c.require(one, || "a flat map has several dimensions".to_owned());
                c.flat_map(body, ret);
                c.decomp(decomp, &[]);
            }
        }
        c.seg_level = outer;
    }
}

impl Rules<Mems> for MemOp {
    fn allows_fact(&self, mark: FactFlag) -> bool {
        match self {
            Self::Alloc { .. } | Self::Transfer { .. } => false,
            Self::Seg(op) => Rules::<Mems>::allows_fact(op, mark),
        }
    }

    fn verify(&self, c: &mut Checker<'_, Mems>) {
        match self {
            Self::Alloc { bytes, memory } => {
                c.atom(*bytes, &Type::I64, "the size of a block");
                let right = memory.allocation != Allocation::Frame || bytes.constant().is_some();
                c.require(right, || "a block in registers requires a constant size".to_owned());
            }
            Self::Transfer { array } => {
                let ty = c.type_of(*array);
                c.require(ty.is_array(), || "a transfer of a value that is not an array".to_owned());
            }
            Self::Seg(op) => op.verify(c),
        }
    }
}

impl AnnotationRules for MemAnn {
    fn verify(&self, ty: &Type, mem_type: &dyn Fn(Block) -> Option<Type>) -> Result<(), String> {
        match (self, ty) {
            (Self::None, Type::Array { .. }) => Err("an array has no block".to_owned()),
            (Self::None, _) => Ok(()),
            (Self::In { block, lmad }, Type::Array { shape, .. }) => {
                if !matches!(mem_type(*block), Some(Type::Mem(_))) {
                    return Err("the block does not have type mem".to_owned());
                }
                if !lmad.dims.iter().map(|dim| dim.extent).eq(shape.iter().copied()) {
                    return Err("the index function does not have the array's shape".to_owned());
                }
                Ok(())
            }
            (Self::In { .. }, _) => Err("a name that is not an array has a block".to_owned()),
        }
    }
}

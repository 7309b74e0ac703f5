//! Traversal of each level's operations and annotations, and the types of operations' results.

use super::{Annotation, LevelOp, Visit, VisitMut};
use crate::mem::{Block, Lmad, LmadDim, MemAnn, MemOp, Mems};
use crate::name::Name;
use crate::scan_reduce::ScanReduce;
use crate::seg::{Decomp, Seg, SegKind, SegOp, SegSpace, flat_map_types};
use crate::soac::{AccInput, HistOp, Operator, Screma, Soac, Soacs};
use crate::syntax::{Lambda, Level};
use crate::types::{Dim, Type};

macro_rules! walk_operator {
    ($v:ident, $operator:expr) => {{
        let Operator { op, neutral, comm: _ } = $operator;
        for atom in neutral {
            $v.atom(atom);
        }
        $v.lambda(op);
    }};
}

macro_rules! walk_hist {
    ($v:ident, $hist:expr) => {{
        let HistOp { shape, destinations, op } = $hist;
        for dim in shape {
            $v.dim(dim);
        }
        for dest in destinations {
            $v.name(dest);
        }
        walk_operator!($v, op);
    }};
}

macro_rules! walk_withacc {
    ($v:ident, $inputs:expr, $lambda:expr) => {{
        for AccInput { shape, arrays, op } in $inputs {
            for dim in shape {
                $v.dim(dim);
            }
            for array in arrays {
                $v.name(array);
            }
            if let Some(op) = op {
                walk_operator!($v, op);
            }
        }
        $v.lambda($lambda);
    }};
}

macro_rules! walk_soac {
    ($v:ident, $soac:expr) => {
        match $soac {
            Soac::Screma(Screma { width, inputs, map, scan_reduce }) => {
                $v.dim(width);
                for input in inputs {
                    $v.name(input);
                }
                $v.lambda(map);
                let ScanReduce { scans, reduces, post } = scan_reduce;
                for op in scans {
                    walk_operator!($v, op);
                }
                for op in reduces {
                    walk_operator!($v, op);
                }
                if let Some(post) = post {
                    $v.lambda(post);
                }
            }
            Soac::Hist { width, inputs, map, ops } => {
                $v.dim(width);
                for input in inputs {
                    $v.name(input);
                }
                $v.lambda(map);
                for op in ops {
                    walk_hist!($v, op);
                }
            }
            Soac::WithAcc { inputs, lambda } => walk_withacc!($v, inputs, lambda),
            Soac::Stream { width, inputs, init, lambda } => {
                $v.dim(width);
                for input in inputs {
                    $v.name(input);
                }
                for atom in init {
                    $v.atom(atom);
                }
                $v.lambda(lambda);
            }
            Soac::FlatMap { width, inputs, lambda } => {
                $v.dim(width);
                for input in inputs {
                    $v.name(input);
                }
                $v.lambda(lambda);
            }
            Soac::Jvp { lambda, args, tangents: others } | Soac::Vjp { lambda, args, adjoints: others } => {
                for arg in args {
                    $v.atom(arg);
                }
                for other in others {
                    $v.atom(other);
                }
                $v.lambda(lambda);
            }
        }
    };
}

macro_rules! walk_seg {
    ($v:ident, $op:expr) => {
        match $op {
            SegOp::Seg(Seg {
                level: _,
                space,
                kind,
                body,
                ret,
                decomp: Decomp { tunable, .. },
                identity_predicate,
            }) => {
                let SegSpace { dims, lane: _ } = space;
                if let Some(tunable) = tunable {
                    $v.tunable(tunable);
                }
                match kind {
                    SegKind::ScanReduce(ScanReduce { scans, reduces, post: _ }) => {
                        for op in scans {
                            walk_operator!($v, op);
                        }
                        for op in reduces {
                            walk_operator!($v, op);
                        }
                    }
                    SegKind::Hist(ops) => {
                        for op in ops {
                            walk_hist!($v, op);
                        }
                    }
                    SegKind::FlatMap => {}
                }
                if let Some(identity_predicate) = identity_predicate {
                    $v.lambda(identity_predicate);
                }
                $v.enter();
                for (index, size) in dims {
                    $v.dim(size);
                    $v.binder(index);
                }
                if let SegKind::ScanReduce(ScanReduce { post: Some(post), .. }) = kind {
                    $v.lambda(post);
                }
                for ty in ret {
                    $v.ty(ty);
                }
                $v.body(body);
                $v.leave();
            }
            SegOp::WithAcc { inputs, lambda } => walk_withacc!($v, inputs, lambda),
        }
    };
}

impl LevelOp<Soacs> for Soac {
    fn visit<V: Visit<Soacs> + ?Sized>(&self, v: &mut V) {
        walk_soac!(v, self);
    }

    fn visit_mut<V: VisitMut<Soacs> + ?Sized>(&mut self, v: &mut V) {
        walk_soac!(v, self);
    }

    fn as_map(&self) -> Option<(Dim, &[Name], &Lambda<Soacs>)> {
        let Self::Screma(Screma { width, inputs, map, scan_reduce }) = self else {
            return None;
        };
        scan_reduce.is_map().then_some((*width, inputs, map))
    }

    fn keyword(&self) -> &'static str {
        match self {
            Self::Screma(Screma { map, scan_reduce, .. }) => {
                let ScanReduce { scans, reduces, post } = scan_reduce;
                let plain = map.is_identity() && scan_reduce.n_accumulated() == map.ret.len();
                match (scans.is_empty(), reduces.is_empty(), post.is_none()) {
                    (true, true, true) => "map",
                    (true, false, true) => {
                        if plain {
                            "reduce"
                        } else {
                            "redomap"
                        }
                    }
                    (false, true, true) => {
                        if plain {
                            "scan"
                        } else {
                            "scanomap"
                        }
                    }
                    _ => "screma",
                }
            }
            Self::Hist { .. } => "hist",
            Self::WithAcc { .. } => "withacc",
            Self::Stream { .. } => "stream",
            Self::FlatMap { .. } => "flatmap",
            Self::Jvp { .. } => "jvp",
            Self::Vjp { .. } => "vjp",
        }
    }

    fn consumed(&self) -> Vec<Name> {
        match self {
            Self::Hist { ops, .. } => hist_consumed(ops),
            Self::WithAcc { inputs, .. } => withacc_consumed(inputs),
            Self::Screma(_)
            | Self::Stream { .. }
            | Self::FlatMap { .. }
            | Self::Jvp { .. }
            | Self::Vjp { .. } => Vec::new(),
        }
    }

    fn runs_once(&self) -> bool {
        matches!(self, Self::WithAcc { .. } | Self::Jvp { .. } | Self::Vjp { .. })
    }

    fn result_types(&self, type_of: &dyn Fn(Name) -> Type) -> Vec<Type> {
        match self {
            Self::Screma(Screma { width, inputs: _, map, scan_reduce }) => {
                let reduced = scan_reduce.reduced_types().cloned();
                let elements = scan_reduce.element_types(&map.ret);
                let arrays = elements.iter().map(|ty| ty.array_of(*width));
                reduced.chain(arrays).collect()
            }
            Self::Hist { ops, .. } => {
                ops.iter().flat_map(|op| op.destinations.iter().map(|d| type_of(*d))).collect()
            }
            Self::WithAcc { inputs, lambda } => withacc_types(inputs, lambda, type_of),
            Self::Stream { width, inputs: _, init, lambda } => {
                let split = init.len().min(lambda.ret.len());
                let (accs, mapped) = lambda.ret.split_at(split);
                let whole =
                    mapped.iter().map(|ty| ty.row().map_or_else(|| ty.clone(), |row| row.array_of(*width)));
                accs.iter().cloned().chain(whole).collect()
            }
            Self::FlatMap { width, lambda, .. } => flat_map_types::<Soacs>(*width, &lambda.ret),
            Self::Jvp { lambda, .. } => lambda.ret.iter().chain(&lambda.ret).cloned().collect(),
            Self::Vjp { lambda, .. } => {
                lambda.ret.iter().cloned().chain(lambda.params.iter().map(|param| param.ty.clone())).collect()
            }
        }
    }
}

impl<L: Level> LevelOp<L> for SegOp<L> {
    fn visit<V: Visit<L> + ?Sized>(&self, v: &mut V) {
        walk_seg!(v, self);
    }

    fn visit_mut<V: VisitMut<L> + ?Sized>(&mut self, v: &mut V) {
        walk_seg!(v, self);
    }

    fn keyword(&self) -> &'static str {
        match self {
            Self::Seg(Seg { kind, .. }) => match kind {
                SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map() => "segmap",
                SegKind::ScanReduce(scan_reduce) if scan_reduce.reduces.is_empty() => "segscan",
                SegKind::ScanReduce(ScanReduce { scans, post: None, .. }) if scans.is_empty() => "segred",
                SegKind::ScanReduce(_) => "segscanred",
                SegKind::Hist(_) => "seghist",
                SegKind::FlatMap => "segflatmap",
            },
            Self::WithAcc { .. } => "withacc",
        }
    }

    fn consumed(&self) -> Vec<Name> {
        match self {
            Self::Seg(Seg { kind, .. }) => match kind {
                SegKind::Hist(ops) => hist_consumed(ops),
                SegKind::ScanReduce(_) | SegKind::FlatMap => Vec::new(),
            },
            Self::WithAcc { inputs, .. } => withacc_consumed(inputs),
        }
    }

    fn runs_once(&self) -> bool {
        matches!(self, Self::WithAcc { .. })
    }

    fn result_types(&self, type_of: &dyn Fn(Name) -> Type) -> Vec<Type> {
        match self {
            Self::Seg(Seg { space, kind, ret, .. }) => match kind {
                SegKind::ScanReduce(scan_reduce) => space.scan_reduce_types(scan_reduce, ret),
                SegKind::Hist(ops) => {
                    ops.iter().flat_map(|op| op.destinations.iter().map(|d| type_of(*d))).collect()
                }
                SegKind::FlatMap => {
                    let width = space.dims.first().map_or(Dim::Const(0), |(_, dim)| *dim);
                    flat_map_types::<L>(width, ret)
                }
            },
            Self::WithAcc { inputs, lambda } => withacc_types(inputs, lambda, type_of),
        }
    }
}

impl LevelOp<Mems> for MemOp {
    fn visit<V: Visit<Mems> + ?Sized>(&self, v: &mut V) {
        match self {
            Self::Alloc { bytes, memory: _ } => v.atom(bytes),
            Self::Seg(op) => op.visit(v),
        }
    }

    fn visit_mut<V: VisitMut<Mems> + ?Sized>(&mut self, v: &mut V) {
        match self {
            Self::Alloc { bytes, memory: _ } => v.atom(bytes),
            Self::Seg(op) => op.visit_mut(v),
        }
    }

    fn keyword(&self) -> &'static str {
        match self {
            Self::Alloc { .. } => "alloc",
            Self::Seg(op) => op.keyword(),
        }
    }

    fn consumed(&self) -> Vec<Name> {
        match self {
            Self::Alloc { .. } => Vec::new(),
            Self::Seg(op) => op.consumed(),
        }
    }

    fn runs_once(&self) -> bool {
        match self {
            Self::Alloc { .. } => true,
            Self::Seg(op) => op.runs_once(),
        }
    }

    fn result_types(&self, type_of: &dyn Fn(Name) -> Type) -> Vec<Type> {
        match self {
            Self::Alloc { bytes: _, memory } => vec![Type::Mem(*memory)],
            Self::Seg(op) => op.result_types(type_of),
        }
    }
}

macro_rules! walk_mem_ann {
    ($v:ident, $ann:expr) => {
        match $ann {
            MemAnn::None => {}
            MemAnn::In { block, lmad } => {
                if let Block::Var(name) = block {
                    $v.name(name);
                }
                let Lmad { offset, dims } = lmad;
                $v.poly(offset);
                for LmadDim { stride, extent } in dims {
                    $v.poly(stride);
                    $v.dim(extent);
                }
            }
        }
    };
}

impl Annotation<Mems> for MemAnn {
    const HAS_BLOCKS: bool = true;

    fn visit<V: Visit<Mems> + ?Sized>(&self, v: &mut V) {
        walk_mem_ann!(v, self);
    }

    fn visit_mut<V: VisitMut<Mems> + ?Sized>(&mut self, v: &mut V) {
        walk_mem_ann!(v, self);
    }
}

fn hist_consumed<L: Level>(ops: &[HistOp<L>]) -> Vec<Name> {
    ops.iter().flat_map(|op| op.destinations.iter().copied()).collect()
}

fn withacc_consumed<L: Level>(inputs: &[AccInput<L>]) -> Vec<Name> {
    inputs.iter().flat_map(|input| input.arrays.iter().copied()).collect()
}

fn withacc_types<L: Level>(
    inputs: &[AccInput<L>],
    lambda: &Lambda<L>,
    type_of: &dyn Fn(Name) -> Type,
) -> Vec<Type> {
    let arrays = inputs.iter().flat_map(|input| input.arrays.iter().map(|a| type_of(*a)));
    let rest = lambda.ret.iter().skip(inputs.len()).cloned();
    arrays.chain(rest).collect()
}

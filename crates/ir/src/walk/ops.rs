//! Traversal of segops; names, consumption and result types of each level's operations.

use super::{Annotation, Fields, LevelOp, Visit, VisitMut};
use crate::mem::{MemAnn, MemOp, Mems};
use crate::name::Name;
use crate::scan_reduce::ScanReduce;
use crate::seg::{Seg, SegKind, SegOp, SegSpace, flat_map_types};
use crate::soac::{AccInput, HistOp, Screma, Soac, Soacs};
use crate::syntax::{Lambda, Level};
use crate::types::{Dim, Type};

macro_rules! walk_seg {
    ($self:ident, $v:ident, $visit:ident) => {
        match $self {
            Self::Seg(Seg { level: _, space, kind, body, ret, decomp, identity_predicate }) => {
                let SegSpace { dims, lane: _ } = space;
                decomp.tunable.$visit($v);
                match kind {
                    SegKind::ScanReduce(ScanReduce { scans, reduces, post: _ }) => {
                        scans.$visit($v);
                        reduces.$visit($v);
                    }
                    SegKind::Hist(ops) => ops.$visit($v),
                    SegKind::FlatMap => {}
                }
                identity_predicate.$visit($v);
                $v.enter();
                for (index, size) in dims {
                    $v.dim(size);
                    $v.binder(index);
                }
                if let SegKind::ScanReduce(ScanReduce { post, .. }) = kind {
                    post.$visit($v);
                }
                ret.$visit($v);
                $v.body(body);
                $v.leave();
            }
            Self::WithAcc { inputs, lambda } => {
                inputs.$visit($v);
                $v.lambda(lambda);
            }
        }
    };
}

impl<L: Level> Fields<L> for SegOp<L> {
    fn visit<V: Visit<L> + ?Sized>(&self, v: &mut V) {
        walk_seg!(self, v, visit);
    }

    fn visit_mut<V: VisitMut<L> + ?Sized>(&mut self, v: &mut V) {
        walk_seg!(self, v, visit_mut);
    }
}

impl LevelOp<Soacs> for Soac {
    fn as_map(&self) -> Option<(Dim, &[Name], &Lambda<Soacs>)> {
        let Self::Screma(Screma { width, inputs, map, scan_reduce }) = self else {
            return None;
        };
        scan_reduce.is_map().then_some((*width, inputs, map))
    }

    fn keyword(&self) -> &'static str {
        match self {
            Self::Screma(screma) => screma.keyword(),
            Self::Hist { .. } => "hist",
            Self::WithAcc { .. } => "withacc",
            Self::Stream { .. } => "stream",
            Self::FlatMap { .. } => "flatmap",
            Self::Jvp { .. } => "jvp",
            Self::Vjp { .. } => "vjp",
            Self::WithVjp { .. } => "with_vjp",
        }
    }

    fn consumed(&self) -> Vec<Name> {
        match self {
            Self::Hist { ops, .. } => hist_consumed(ops),
            Self::WithAcc { inputs, .. } => withacc_consumed(inputs),
            Self::Screma(_) | Self::Stream { .. } | Self::FlatMap { .. } | crate::derivative_op!() => {
                Vec::new()
            }
        }
    }

    fn runs_once(&self) -> bool {
        matches!(self, Self::WithAcc { .. })
    }

    fn aliased_operands(&self) -> Option<Vec<Name>> {
        match self {
            Self::Jvp { args, seeds, .. } | Self::Vjp { args, seeds, .. } => {
                Some(args.iter().chain(seeds).filter_map(|atom| atom.var()).collect())
            }
            Self::WithVjp { args, .. } => Some(args.iter().filter_map(|atom| atom.var()).collect()),
            Self::Screma(_)
            | Self::Hist { .. }
            | Self::WithAcc { .. }
            | Self::Stream { .. }
            | Self::FlatMap { .. } => None,
        }
    }

    fn result_types(&self, type_of: &dyn Fn(Name) -> Type) -> Vec<Type> {
        match self {
            Self::Screma(Screma { width, inputs: _, map, scan_reduce }) => {
                let reduced = scan_reduce.reduced_types().cloned();
                let elements = scan_reduce.element_types(&map.ret);
                let arrays = elements.iter().map(|ty| ty.array_of(*width));
                reduced.chain(arrays).collect()
            }
            Self::Hist { ops, .. } => hist_consumed(ops).into_iter().map(type_of).collect(),
            Self::WithAcc { inputs, lambda } => withacc_types(inputs, lambda, type_of),
            Self::Stream { width, inputs: _, init, lambda } => {
                let split = init.len().min(lambda.ret.len());
                let (accs, mapped) = lambda.ret.split_at(split);
                let whole =
                    mapped.iter().map(|ty| ty.row().map_or_else(|| ty.clone(), |row| row.array_of(*width)));
                accs.iter().cloned().chain(whole).collect()
            }
            Self::FlatMap { width, lambda, .. } => flat_map_types::<Soacs>(*width, &lambda.ret),
            Self::Jvp { lambda, directions, .. } => {
                let tangents = lambda.ret.iter().map(|ty| in_directions(ty, *directions));
                lambda.ret.iter().cloned().chain(tangents).collect()
            }
            Self::Vjp { lambda, directions, .. } => {
                let adjoints = lambda.params.iter().map(|param| in_directions(&param.ty, *directions));
                lambda.ret.iter().cloned().chain(adjoints).collect()
            }
            Self::WithVjp { lambda, .. } => lambda.ret.clone(),
        }
    }
}

impl<L: Level> LevelOp<L> for SegOp<L> {
    fn keyword(&self) -> &'static str {
        match self {
            Self::Seg(seg) => seg.keyword(),
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
                SegKind::Hist(ops) => hist_consumed(ops).into_iter().map(type_of).collect(),
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
    fn keyword(&self) -> &'static str {
        match self {
            Self::Alloc { .. } => "alloc",
            Self::Transfer { .. } => "transfer",
            Self::Seg(op) => op.keyword(),
        }
    }

    fn consumed(&self) -> Vec<Name> {
        match self {
            Self::Alloc { .. } | Self::Transfer { .. } => Vec::new(),
            Self::Seg(op) => op.consumed(),
        }
    }

    fn runs_once(&self) -> bool {
        match self {
            Self::Alloc { .. } | Self::Transfer { .. } => true,
            Self::Seg(op) => op.runs_once(),
        }
    }

    fn result_types(&self, type_of: &dyn Fn(Name) -> Type) -> Vec<Type> {
        match self {
            Self::Alloc { bytes: _, memory } => vec![Type::Mem(*memory)],
            Self::Transfer { array } => vec![type_of(*array)],
            Self::Seg(op) => op.result_types(type_of),
        }
    }
}

impl Annotation<Mems> for MemAnn {
    const HAS_BLOCKS: bool = true;
}

/// The type of a derivative of a value of type `ty`, in one or several directions.
pub fn in_directions(ty: &Type, directions: Option<Dim>) -> Type {
    directions.map_or_else(|| ty.clone(), |n| ty.array_of(n))
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

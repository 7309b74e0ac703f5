//! Maps that pass accumulators with an operator on: a loop, or chunks with
//! copies of their own.

use super::{Build, Kind, Pass, inline};
use ir::build::LoopInit;
use ir::cost;
use ir::syntax::{BasicOp, Body, Exp, Lambda, LoopForm, Param, ReshapeKind};
use ir::types::{Shape, Type};
use ir::walk::{refresh_lambda, sub_bodies, with_stack};
use ir::{Atom, Dim, Name, Soacs};
use prim::{BinOp, CmpOp, PrimType};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use target::tasks::{CHUNK_WORK, MAX_CHUNKS};
use target::{TRIPS, time};

/// The copies have no more elements in all than so many times the points.
const MOST_WRITES: i64 = 8;

/// A map: results are accumulators and, after them or between, mapped arrays.
pub(super) struct Map<'m> {
    pub(super) width: Dim,
    pub(super) inputs: &'m [Name],
    pub(super) lambda: Lambda<Soacs>,
}

/// Points `from..from + count` of a map's width.
#[derive(Clone, Copy)]
struct Points {
    from: Atom,
    count: Atom,
}

impl Pass {
    /// Appends a map that passes accumulators with an operator on.
    pub(super) fn map(
        &mut self,
        b: &mut Build<'_>,
        pat: Vec<Param<Soacs>>,
        map: Map<'_>,
        inside: bool,
    ) {
        let Map {
            width,
            inputs,
            lambda,
        } = map;
        let kinds: Vec<Option<Rc<Kind>>> = lambda.ret.iter().map(|ty| self.kind(ty)).collect();
        let starts: Vec<Vec<Name>> = lambda
            .ret
            .iter()
            .map(|ty| self.start(b, ty, width, inputs))
            .collect();
        let count = width.atom().unwrap_or(Atom::i64(0));
        let from = Atom::i64(0);
        let all = Points { from, count };
        let maps = |ty: &Type| !matches!(ty, Type::Acc { .. });
        let results = if inside || lambda.ret.iter().any(maps) {
            self.points(b, all, inputs, &starts, lambda, inside)
        } else {
            let copy = refresh_lambda(&lambda, b.names, &mut FxHashMap::default());
            b.types.add_params(&copy.params);
            b.types.add_body(&copy.body);
            let chunks = chunks(b, count, &lambda, kinds.iter().flatten());
            let few = b.compare(CmpOp::SLe, PrimType::I64, chunks, Atom::i64(1));
            let types: Vec<Type> = starts
                .iter()
                .flatten()
                .map(|name| b.types.type_of(*name).clone())
                .collect();
            let then_body = b.body(|b| {
                let results = self.points(b, all, inputs, &starts, lambda, false);
                results.into_iter().map(Atom::Var).collect()
            });
            let else_body = b.body(|b| {
                let own = self.copies(b, count, chunks, inputs, &starts, &kinds, copy);
                folded(b, chunks, own, &starts, &kinds)
            });
            let exp = Exp::If {
                cond: few.into(),
                then_body,
                else_body,
            };
            b.bind_all(types.into_iter().map(|ty| ("dest", ty)), exp)
        };
        let mut results = results.into_iter();
        for ((param, kind), start) in pat.into_iter().zip(kinds).zip(&starts) {
            let own: Vec<Name> = results.by_ref().take(start.len()).collect();
            if kind.is_some() {
                self.arrays.insert(param.name, own);
            } else {
                for name in own {
                    let value = Exp::Basic(BasicOp::Atom(name.into()));
                    b.let_pat(vec![param.clone()], value);
                }
            }
        }
    }

    /// What a result of a map is before its first point: the accumulator of the
    /// same token, or the arrays that it has become; for a mapped array, an
    /// array of unspecified contents.
    fn start(&self, b: &mut Build<'_>, ty: &Type, width: Dim, inputs: &[Name]) -> Vec<Name> {
        let Type::Acc { token, .. } = ty else {
            let elem = ty.elem().unwrap_or(PrimType::Bool);
            let shape = std::iter::once(width).chain(ty.shape().iter().copied());
            let shape = shape.collect();
            return vec![b.let_basic("out", BasicOp::Scratch { elem, shape })];
        };
        let same = |input: &&Name| matches!(b.types.get(**input), Some(Type::Acc { token: other, .. }) if other == token);
        let Some(input) = inputs.iter().find(same) else {
            return Vec::new();
        };
        match self.arrays.get(input) {
            Some(arrays) => arrays.clone(),
            None => vec![*input],
        }
    }

    /// A loop over points, from these starts.
    fn points(
        &mut self,
        b: &mut Build<'_>,
        points: Points,
        inputs: &[Name],
        starts: &[Vec<Name>],
        map: Lambda<Soacs>,
        inside: bool,
    ) -> Vec<Name> {
        let Lambda { params, body, ret } = map;
        let counts: Vec<usize> = starts.iter().map(Vec::len).collect();
        let mut inits = Vec::new();
        for &start in starts.iter().flatten() {
            let ty = b.types.type_of(start).clone();
            inits.push(LoopInit {
                hint: b.names.hint(start).to_string(),
                consumed: ty.is_array(),
                ty,
                init: start.into(),
            });
        }
        let var = b.names.fresh("i");
        b.types.set(var, Type::I64);
        let form = LoopForm::For {
            var,
            ty: PrimType::I64,
            bound: points.count,
        };
        b.loop_(form, inits, |b, state| {
            let at = b.add_i64(points.from, var.into());
            let mut rest = state;
            let state: Vec<&[Name]> = counts
                .iter()
                .map(|count| {
                    let (own, more) = rest.split_at(*count);
                    rest = more;
                    own
                })
                .collect();
            for (param, &input) in params.into_iter().zip(inputs) {
                let result = ret.iter().position(|ty| *ty == param.ty);
                match (&param.ty, result) {
                    (Type::Acc { .. }, Some(result)) => {
                        if self.kind(&param.ty).is_some() {
                            self.arrays.insert(param.name, state[result].to_vec());
                        } else {
                            let acc = state[result].first().copied().unwrap_or(input);
                            let exp = Exp::Basic(BasicOp::Atom(acc.into()));
                            b.let_pat(vec![param], exp);
                        }
                    }
                    _ => {
                        let slice = b.row_slice(input, &[at]);
                        let array = input;
                        let exp = Exp::Basic(BasicOp::Index { array, slice });
                        b.let_pat(vec![param], exp);
                    }
                }
            }
            self.stms(b, body.stms, inside);
            let mut next = Vec::new();
            for ((result, ty), own) in body.result.into_iter().zip(&ret).zip(state) {
                if let Type::Acc { .. } = ty {
                    next.extend(self.atoms(&[result]));
                } else if let [out] = own {
                    next.push(b.update("out", *out, &[at], result).into());
                }
            }
            next
        })
    }

    /// A map over the chunks: each fills copies that start from the neutral
    /// elements. Results as the map's.
    #[allow(
        clippy::too_many_arguments,
        reason = "the parts of one map and how it falls apart"
    )]
    fn copies(
        &mut self,
        b: &mut Build<'_>,
        count: Atom,
        chunks: Atom,
        inputs: &[Name],
        starts: &[Vec<Name>],
        kinds: &[Option<Rc<Kind>>],
        map: Lambda<Soacs>,
    ) -> Vec<Name> {
        let width = Build::dim(chunks);
        let mut outer = vec![b.iota(width)];
        for (start, kind) in starts.iter().zip(kinds) {
            if kind.is_none() {
                outer.extend_from_slice(start);
            }
        }
        b.map("own", width, &outer, |b, params| {
            let (chunk, mut accs) = (Atom::Var(params[0]), params[1..].iter());
            let bound = |b: &mut Build<'_>, chunk: Atom| -> Atom {
                let before = b.mul_i64(chunk, count);
                b.binary(BinOp::SQuot, PrimType::I64, before, chunks).into()
            };
            let from = bound(b, chunk);
            let next = b.add_i64(chunk, Atom::i64(1));
            let to = bound(b, next);
            let count = b.sub_i64(to, from);
            let own: Vec<Vec<Name>> = starts
                .iter()
                .zip(kinds)
                .map(|(start, kind)| match kind {
                    Some(kind) => {
                        let neutral = kind.op.neutral.iter();
                        neutral
                            .map(|ne| b.replicate("own", &kind.shape, *ne))
                            .collect()
                    }
                    None => accs.by_ref().take(start.len()).copied().collect(),
                })
                .collect();
            let results = self.points(b, Points { from, count }, inputs, &own, map, true);
            results.into_iter().map(Atom::Var).collect()
        })
    }
}

/// The destinations with the chunks' copies folded in, from the first to the
/// last; other results of the map over the chunks as they are.
fn folded(
    b: &mut Build<'_>,
    chunks: Atom,
    own: Vec<Name>,
    starts: &[Vec<Name>],
    kinds: &[Option<Rc<Kind>>],
) -> Vec<Atom> {
    let mut own = own.into_iter();
    let mut out = Vec::new();
    for (start, kind) in starts.iter().zip(kinds) {
        let own: Vec<Name> = own.by_ref().take(start.len()).collect();
        match kind {
            None => out.extend(own.into_iter().map(Atom::Var)),
            Some(kind) => out.extend(fold(b, chunks, &own, start, kind)),
        }
    }
    out
}

fn fold(b: &mut Build<'_>, chunks: Atom, own: &[Name], dests: &[Name], kind: &Kind) -> Vec<Atom> {
    let rank = kind.shape.len();
    let bins = Build::dim(b.product(&kind.shape));
    let flat = |b: &mut Build<'_>, array: Name, outer: &[Dim], skip: usize| {
        if rank == 1 {
            return array;
        }
        let ty = b.types.type_of(array).clone();
        let inner = ty.shape().iter().skip(skip).copied();
        reshaped(b, array, outer.iter().copied().chain(inner).collect())
    };
    let mut inputs = vec![b.iota(bins)];
    for &dest in dests {
        inputs.push(flat(b, dest, &[bins], rank));
    }
    let width = Build::dim(chunks);
    let own: Vec<Name> = own
        .iter()
        .map(|copies| flat(b, *copies, &[width, bins], rank + 1))
        .collect();
    let results = b.map("dest", bins, &inputs, |b, params| {
        let bin = Atom::Var(params[0]);
        let inits = params[1..].iter().map(|old| LoopInit {
            hint: "acc".to_owned(),
            ty: b.types.type_of(*old).clone(),
            init: Atom::Var(*old),
            consumed: false,
        });
        let inits = inits.collect();
        let values = b.for_loop(PrimType::I64, chunks, inits, |b, chunk, accs| {
            let mut args: Vec<Atom> = accs.iter().map(|acc| Atom::Var(*acc)).collect();
            for &copies in &own {
                args.push(b.index("part", copies, &[chunk.into(), bin]).into());
            }
            inline(b, &kind.op.op, &args)
        });
        values.into_iter().map(Atom::Var).collect()
    });
    let mut out = Vec::with_capacity(dests.len());
    for (result, ty) in results.into_iter().zip(kind.types()) {
        out.push(Atom::Var(if rank == 1 {
            result
        } else {
            reshaped(b, result, ty.shape().iter().copied().collect())
        }));
    }
    out
}

fn reshaped(b: &mut Build<'_>, array: Name, shape: Shape) -> Name {
    let kind = ReshapeKind::Arbitrary;
    b.let_basic("flat", BasicOp::Reshape { kind, shape, array })
}

/// `clamp(count / max(grain, bins / writes), 1, most)`: a chunk is worth its
/// while, and a copy is no larger than what is written to it.
fn chunks<'k>(
    b: &mut Build<'_>,
    count: Atom,
    map: &Lambda<Soacs>,
    kinds: impl Iterator<Item = &'k Rc<Kind>>,
) -> Atom {
    let (cost, writes) = estimate(&map.body);
    let writes = writes.clamp(1, MOST_WRITES);
    let mut grain = Atom::i64((CHUNK_WORK / cost.max(1)).max(1));
    let ty = PrimType::I64;
    for kind in kinds {
        let elements = kind.elems.iter().map(|elem| {
            let dims: Vec<Dim> = kind.shape.iter().chain(elem.shape()).copied().collect();
            dims
        });
        for dims in elements.collect::<Vec<_>>() {
            let bins = b.product(&dims);
            let points = b.binary(BinOp::SQuot, ty, bins, Atom::i64(writes));
            grain = b.binary(BinOp::SMax, ty, grain, points.into()).into();
        }
    }
    let chunks = b.binary(BinOp::SQuot, ty, count, grain);
    let chunks = b.binary(BinOp::SMax, ty, chunks.into(), Atom::i64(1));
    let most = Atom::i64(MAX_CHUNKS);
    b.binary(BinOp::SMin, ty, chunks.into(), most).into()
}

/// Estimated cost in sixteenths of a nanosecond, and how often accumulators are
/// written; loops of unknown length are taken to run a number of times.
fn estimate(body: &Body<Soacs>) -> (i64, i64) {
    with_stack(|| {
        let (mut cost, mut writes) = (0i64, 0i64);
        for stm in &body.stms {
            let times = match &stm.exp {
                Exp::Basic(op) => {
                    cost = cost.saturating_add(cost::basic(op));
                    writes += i64::from(matches!(op, BasicOp::UpdateAcc { .. }));
                    continue;
                }
                Exp::If { .. } => 1,
                Exp::Loop {
                    params: _,
                    form:
                        LoopForm::For {
                            bound: Atom::Const(bound),
                            ..
                        },
                    body: _,
                } => bound.as_i64().unwrap_or(1).max(0),
                Exp::Apply { .. } => {
                    cost = cost.saturating_add(time::CALL);
                    continue;
                }
                Exp::Loop { .. } | Exp::Op(_) => TRIPS,
            };
            sub_bodies(&stm.exp, |body| {
                let (more, inner) = estimate(body);
                cost = cost.saturating_add(more.saturating_mul(times));
                writes = writes.saturating_add(inner.saturating_mul(times));
            });
        }
        (cost, writes)
    })
}

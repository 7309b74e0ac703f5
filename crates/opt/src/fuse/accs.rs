//! Fusion with array updates: producers that are fused into a `withacc`, and two `withacc`s or
//! histograms that become one.
//!
//! ```text
//! let is = map n (x <- xs) -> f x         withacc (ys) \acc ->
//! withacc (ys) \acc ->              =>      let is = map n (x <- xs) -> f x
//!   map n (i <- is, acc) ..                 map n (i <- is, acc) ..
//! ```
//!
//! The next walk fuses the producer with the combinator in the `withacc`. Two `withacc`s are fused
//! horizontally if combinators directly in both read the same array over the same width; the next
//! walk fuses those too.
//!
//! Two combinators that update the same accumulator one after the other are a producer and a
//! consumer. Their fusion changes the order of the updates, which gives the same result if the
//! updates are writes or the operator is exact.

use super::graph::{Graph, inputs};
use super::nest::fresh;
use super::{Fuser, Phase, inputs_mut, merge};
use analysis::exact::is_exact;
use ir::remark::NotFusedReason;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Body, Exp, Function, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Visit, used_names};
use ir::{Name, Soacs};
use rustc_hash::FxHashSet;

impl Fuser<'_> {
    /// Checks that a producer's updates may be interleaved with the consumer's.
    pub(super) fn may_reorder(
        &self,
        producer: &Stm<Soacs>,
        consumer: &Stm<Soacs>,
    ) -> Result<(), NotFusedReason> {
        if !merge::passes_accumulators(producer) {
            return Ok(());
        }
        let read = inputs(&consumer.exp);
        let rounds = producer.pat.iter().any(|param| match &param.ty {
            Type::Acc { token, .. } => read.contains(&param.name) && self.rounding.contains(token),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => false,
        });
        // Sharing only the accumulator is not enough.
        let meet = read.iter().any(|input| {
            let array = matches!(self.types.type_of(*input), Type::Array { .. });
            let made = producer.pat.iter().any(|param| param.name == *input);
            array && (made || inputs(&producer.exp).contains(input))
        });
        if rounds || !meet {
            return Err(NotFusedReason::Accumulators);
        }
        Ok(())
    }

    /// Moves a map or scan into the `withacc` if only combinators inside read it (for a scan, only
    /// one), or a map that has other readers too, whose results are then returned from the
    /// `withacc`. Returns false if there is none.
    pub(super) fn sink_into_withacc(&mut self, graph: &mut Graph, id: usize) -> bool {
        let Some((producer, at)) = self.for_sinking(graph, id) else {
            return false;
        };
        let (Some(mut moved), Some(mut stm)) = (graph.take(producer).pop(), graph.take(id).pop()) else {
            return false;
        };
        let read = inputs(&moved.exp).to_vec();
        if let Exp::Op(Soac::WithAcc { lambda, .. }) = &mut stm.exp {
            let here = self.all_in(lambda, &moved.pat);
            let inner = inputs(&lambda.body.stms[at].exp).to_vec();
            for param in &mut moved.pat {
                if here || !self.is_kept(param.name, &inner) {
                    continue;
                }
                // The result has another name inside.
                let hint = self.names.hint(param.name).to_string();
                let own = fresh(&hint, param.ty.clone(), self.names, &mut self.types);
                if let Some(inputs) = inputs_mut(&mut lambda.body.stms[at].exp) {
                    let same = inputs.iter_mut().filter(|input| **input == param.name);
                    same.for_each(|input| *input = own.name);
                }
                self.uses.remove(param.name, Self::among(param.name, &inner));
                lambda.body.result.push(Atom::Var(own.name));
                lambda.ret.push(param.ty.clone());
                stm.pat.push(std::mem::replace(param, own));
            }
            lambda.body.stms.insert(at, moved);
        }
        graph.sink(producer, id, vec![stm], &read);
        true
    }

    /// Returns true if these names are used only as inputs of combinators directly in the lambda.
    fn all_in(&self, lambda: &Lambda<Soacs>, pat: &[Param<Soacs>]) -> bool {
        pat.iter().all(|param| {
            let stms = lambda.body.stms.iter();
            let read = stms.map(|stm| Self::among(param.name, inputs(&stm.exp)));
            self.uses.count(param.name) == read.sum::<u32>()
        })
    }

    /// Finds a node that can be moved into this `withacc`, and the statement to put it before.
    fn for_sinking(&mut self, graph: &Graph, id: usize) -> Option<(usize, usize)> {
        let whole = &graph.stm(id)?.exp;
        let Exp::Op(Soac::WithAcc { lambda, .. }) = whole else {
            return None;
        };
        for (at, inner) in lambda.body.stms.iter().enumerate() {
            if !matches!(inner.exp, Exp::Op(Soac::Screma(_))) {
                continue;
            }
            let read = inputs(&inner.exp);
            for input in read {
                let Some(from) = graph.binder(*input) else {
                    continue;
                };
                let Some(producer) = graph.stm(from) else {
                    continue;
                };
                let alone = || {
                    let mut kept = producer.pat.iter();
                    kept.all(|param| !self.is_kept(param.name, read))
                };
                let here = || merge::is_map(producer) && self.all_in(lambda, &producer.pat);
                let horizontally = || {
                    self.phase == Phase::Horizontal
                        && merge::is_map(producer)
                        && reads_only(whole, inner, &producer.pat)
                };
                if from != id
                    && merge::maps_or_scans(producer)
                    && !merge::passes_accumulators(producer)
                    && merge::possible(producer, inner, &|_| false).is_ok()
                    && (alone() || here() || horizontally())
                    && self.may_merge(graph, from, id).is_ok()
                {
                    return Some((from, at));
                }
            }
        }
        None
    }
}

/// The tokens of accumulators whose operator rounds.
pub(super) fn rounding_tokens(function: &Function<Soacs>) -> FxHashSet<Name> {
    struct Tokens(FxHashSet<Name>);
    impl Visit<Soacs> for Tokens {
        fn exp(&mut self, exp: &Exp<Soacs>) {
            if let Exp::Op(Soac::WithAcc { inputs, lambda }) = exp {
                let accs = lambda.params.iter().filter_map(|param| match &param.ty {
                    Type::Acc { token, .. } => Some(*token),
                    Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
                });
                for (input, token) in inputs.iter().zip(accs) {
                    if input.op.as_ref().is_some_and(|op| !is_exact(&op.op)) {
                        self.0.insert(token);
                    }
                }
            }
            self.walk_exp(exp);
        }
    }
    let mut tokens = Tokens(FxHashSet::default());
    tokens.body(&function.body);
    tokens.0
}

/// Returns true if a `withacc` uses these results only as inputs of the statement `inner` in it. An
/// array that the `withacc` updates must be created before it.
fn reads_only(whole: &Exp<Soacs>, inner: &Stm<Soacs>, pat: &[Param<Soacs>]) -> bool {
    let is_result = |name: &Name| pat.iter().any(|param| param.name == *name);
    let mut found = 0;
    used_names(whole, |name| found += usize::from(is_result(&name)));
    found == inputs(&inner.exp).iter().filter(|input| is_result(input)).count()
}

/// Checks that two `withacc`s, or two histograms, read the same array and can be fused
/// horizontally.
pub(super) fn may_fuse_horizontally(one: &Stm<Soacs>, other: &Stm<Soacs>) -> Result<(), NotFusedReason> {
    let widths = |stm: &Stm<Soacs>| -> Vec<(Dim, Vec<Name>)> {
        match &stm.exp {
            Exp::Op(Soac::Hist { width, inputs, .. }) => vec![(*width, inputs.clone())],
            Exp::Op(Soac::WithAcc { lambda, .. }) => {
                let inner = lambda.body.stms.iter();
                inner.filter_map(over_accumulators).collect()
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => Vec::new(),
        }
    };
    if let (Exp::Op(Soac::Hist { ops: a, .. }), Exp::Op(Soac::Hist { ops: b, .. })) = (&one.exp, &other.exp)
        && merge::updates_sequentially(a) != merge::updates_sequentially(b)
    {
        return Err(NotFusedReason::ArrayOperator);
    }
    let theirs = widths(other);
    let meet = widths(one).iter().any(|(width, read)| {
        let same = |(other, inputs): &(Dim, Vec<Name>)| {
            width == other && inputs.iter().any(|input| read.contains(input))
        };
        theirs.iter().any(same)
    });
    if meet { Ok(()) } else { Err(NotFusedReason::Widths) }
}

/// The width and inputs of a combinator that passes on accumulators.
fn over_accumulators(stm: &Stm<Soacs>) -> Option<(Dim, Vec<Name>)> {
    let Exp::Op(Soac::Screma(Screma { width, inputs, .. })) = &stm.exp else {
        return None;
    };
    merge::passes_accumulators(stm).then(|| (*width, inputs.clone()))
}

/// Merges two `withacc`s, or two histograms.
pub(super) fn merge(one: Stm<Soacs>, other: Stm<Soacs>) -> Stm<Soacs> {
    let aux = merge::merge_aux(&one.aux, other.aux);
    let (mut pat, mut behind) = (one.pat, other.pat);
    let exp = match (one.exp, other.exp) {
        (
            Exp::Op(Soac::WithAcc { mut inputs, lambda }),
            Exp::Op(Soac::WithAcc { inputs: more, lambda: next }),
        ) => {
            let arrays = |inputs: &[ir::soac::AccInput<Soacs>]| {
                inputs.iter().map(|input| input.arrays.len()).sum::<usize>()
            };
            let rest = pat.split_off(arrays(&inputs));
            let rest_behind = behind.split_off(arrays(&more));
            pat.extend(behind);
            pat.extend(rest);
            pat.extend(rest_behind);
            let lambda = one_after_the_other(lambda, next, inputs.len(), more.len());
            inputs.extend(more);
            Exp::Op(Soac::WithAcc { inputs, lambda })
        }
        (
            Exp::Op(Soac::Hist { width, mut inputs, map, mut ops }),
            Exp::Op(Soac::Hist { width: _, inputs: more, map: next, ops: others }),
        ) => {
            pat.extend(behind);
            let indices =
                |ops: &[ir::soac::HistOp<Soacs>]| ops.iter().map(|op| op.shape.len()).sum::<usize>();
            let (n, m) = (indices(&ops), indices(&others));
            let map = Lambda {
                params: [map.params, next.params].concat(),
                ret: interleave(map.ret, next.ret, n, m),
                body: Body {
                    stms: [map.body.stms, next.body.stms].concat(),
                    result: interleave(map.body.result, next.body.result, n, m),
                },
            };
            inputs.extend(more);
            ops.extend(others);
            Exp::Op(Soac::Hist { width, inputs, map, ops })
        }
        (_, exp) => exp,
    };
    Stm { pat, aux, exp }
}

/// The first `n` elements of `one` and `m` of `other`, then the rest of both.
fn interleave<T>(mut one: Vec<T>, mut other: Vec<T>, n: usize, m: usize) -> Vec<T> {
    let rest = one.split_off(n);
    let rest_other = other.split_off(m);
    one.extend(other);
    one.extend(rest);
    one.extend(rest_other);
    one
}

/// Merges the lambdas of `withacc`s with `n` and `m` inputs.
fn one_after_the_other(one: Lambda<Soacs>, other: Lambda<Soacs>, n: usize, m: usize) -> Lambda<Soacs> {
    Lambda {
        params: interleave(one.params, other.params, n, m),
        ret: interleave(one.ret, other.ret, n, m),
        body: Body {
            stms: [one.body.stms, other.body.stms].concat(),
            result: interleave(one.body.result, other.body.result, n, m),
        },
    }
}

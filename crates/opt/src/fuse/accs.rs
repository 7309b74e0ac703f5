//! Fusion with what updates arrays: producers that go into a `withacc`, and two
//! `withacc`s or histograms that become one.
//!
//! ```text
//! let is = map n (x <- xs) -> f x         withacc (ys) \acc ->
//! withacc (ys) \acc ->              =>      let is = map n (x <- xs) -> f x
//!   map n (i <- is, acc) ..                 map n (i <- is, acc) ..
//! ```
//!
//! The producer fuses with the combinator in there in the next walk. Two `withacc`s go
//! side by side where combinators directly in both read the same array over one width;
//! those fuse in the next walk, too.

use super::graph::{Graph, inputs};
use super::nest::fresh;
use super::{Fuser, Phase, inputs_mut, merge};
use ir::decision::Apart;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Attrs, Body, Exp, Lambda, Param, Stm};
use ir::types::Dim;
use ir::walk::Visit;
use ir::{Name, Soacs};

impl Fuser<'_> {
    /// Moves a map or scan that one combinator inside a `withacc` alone reads into it,
    /// or a map that others read, too, whose results come out of it; false if there is
    /// none.
    pub(super) fn sink(&mut self, graph: &mut Graph, id: usize) -> bool {
        let Some((producer, at)) = self.for_sinking(graph, id) else {
            return false;
        };
        let (Some(mut moved), Some(mut stm)) = (graph.take(producer).pop(), graph.take(id).pop())
        else {
            return false;
        };
        let read = inputs(&moved.exp).to_vec();
        if let Exp::Op(Soac::WithAcc { lambda, .. }) = &mut stm.exp {
            let inner = inputs(&lambda.body.stms[at].exp).to_vec();
            for param in &mut moved.pat {
                if !self.is_kept(param.name, &inner) {
                    continue;
                }
                // Inside it has another name.
                let hint = self.names.hint(param.name).to_string();
                let own = fresh(&hint, param.ty.clone(), self.names, &mut self.types);
                if let Some(inputs) = inputs_mut(&mut lambda.body.stms[at].exp) {
                    let same = inputs.iter_mut().filter(|input| **input == param.name);
                    same.for_each(|input| *input = own.name);
                }
                self.uses[param.name.index()] -= Self::among(param.name, &inner);
                self.uses.resize(self.names.len(), 1);
                lambda.body.result.push(Atom::Var(own.name));
                lambda.ret.push(param.ty.clone());
                stm.pat.push(std::mem::replace(param, own));
            }
            lambda.body.stms.insert(at, moved);
        }
        graph.sink(producer, id, vec![stm], &read);
        true
    }

    /// A node that can go into this `withacc`, and before which statement.
    fn for_sinking(&mut self, graph: &Graph, id: usize) -> Option<(usize, usize)> {
        let Exp::Op(Soac::WithAcc { lambda, .. }) = &graph.stm(id)?.exp else {
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
                let beside = || {
                    self.phase == Phase::Beside
                        && merge::is_map(producer)
                        && reads_only(lambda, at, &producer.pat)
                };
                if from != id
                    && merge::maps_or_scans(producer)
                    && merge::possible(producer, inner, &|_| false).is_ok()
                    && (alone() || beside())
                    && self.may_unite(graph, from, id).is_ok()
                {
                    return Some((from, at));
                }
            }
        }
        None
    }
}

/// Whether these are read in the lambda as inputs of this statement only.
fn reads_only(lambda: &Lambda<Soacs>, at: usize, pat: &[Param<Soacs>]) -> bool {
    let mut count = Count { pat, found: 0 };
    count.body(&lambda.body);
    let read = inputs(&lambda.body.stms[at].exp);
    let own = read
        .iter()
        .filter(|input| pat.iter().any(|param| param.name == **input));
    count.found == own.count()
}

struct Count<'a> {
    pat: &'a [Param<Soacs>],
    found: usize,
}

impl Visit<Soacs> for Count<'_> {
    fn name(&mut self, name: &Name) {
        self.found += usize::from(self.pat.iter().any(|param| param.name == *name));
    }
}

/// Whether two `withacc`s, or two histograms, that read the same array go side by side.
pub(super) fn beside(one: &Stm<Soacs>, other: &Stm<Soacs>) -> Result<(), Apart> {
    let widths = |stm: &Stm<Soacs>| -> Vec<(Dim, Vec<Name>)> {
        match &stm.exp {
            Exp::Op(Soac::Hist { width, inputs, .. }) => vec![(*width, inputs.clone())],
            Exp::Op(Soac::WithAcc { lambda, .. }) => {
                let inner = lambda.body.stms.iter();
                inner.filter_map(over_accumulators).collect()
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {
                Vec::new()
            }
        }
    };
    let theirs = widths(other);
    let meet = widths(one).iter().any(|(width, read)| {
        let same = |(other, inputs): &(Dim, Vec<Name>)| {
            width == other && inputs.iter().any(|input| read.contains(input))
        };
        theirs.iter().any(same)
    });
    if meet { Ok(()) } else { Err(Apart::Widths) }
}

/// Width and inputs of a combinator that passes accumulators on.
fn over_accumulators(stm: &Stm<Soacs>) -> Option<(Dim, Vec<Name>)> {
    let Exp::Op(Soac::Screma(Screma { width, inputs, .. })) = &stm.exp else {
        return None;
    };
    merge::passes_accumulators(stm).then(|| (*width, inputs.clone()))
}

/// Two `withacc`s, or two histograms, as one.
pub(super) fn unite(one: Stm<Soacs>, other: Stm<Soacs>) -> Stm<Soacs> {
    let mut aux = other.aux;
    for cert in one.aux.certs {
        if !aux.certs.contains(&cert) {
            aux.certs.push(cert);
        }
    }
    aux.attrs = Attrs::fused(&one.aux.attrs, &aux.attrs);
    let (mut pat, mut behind) = (one.pat, other.pat);
    let exp = match (one.exp, other.exp) {
        (
            Exp::Op(Soac::WithAcc { mut inputs, lambda }),
            Exp::Op(Soac::WithAcc {
                inputs: more,
                lambda: next,
            }),
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
            Exp::Op(Soac::Hist {
                width,
                mut inputs,
                map,
                mut ops,
            }),
            Exp::Op(Soac::Hist {
                width: _,
                inputs: more,
                map: next,
                ops: others,
            }),
        ) => {
            pat.extend(behind);
            let indices = |ops: &[ir::soac::HistOp<Soacs>]| {
                ops.iter().map(|op| op.shape.len()).sum::<usize>()
            };
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
            Exp::Op(Soac::Hist {
                width,
                inputs,
                map,
                ops,
            })
        }
        (_, exp) => exp,
    };
    Stm { pat, aux, exp }
}

/// The first `n` of the one and `m` of the other, then the rest of both.
fn interleave<T>(mut one: Vec<T>, mut other: Vec<T>, n: usize, m: usize) -> Vec<T> {
    let rest = one.split_off(n);
    let rest_other = other.split_off(m);
    one.extend(other);
    one.extend(rest);
    one.extend(rest_other);
    one
}

/// The lambdas of `withacc`s with `n` and `m` inputs as one.
fn one_after_the_other(
    one: Lambda<Soacs>,
    other: Lambda<Soacs>,
    n: usize,
    m: usize,
) -> Lambda<Soacs> {
    Lambda {
        params: interleave(one.params, other.params, n, m),
        ret: interleave(one.ret, other.ret, n, m),
        body: Body {
            stms: [one.body.stms, other.body.stms].concat(),
            result: interleave(one.body.result, other.body.result, n, m),
        },
    }
}

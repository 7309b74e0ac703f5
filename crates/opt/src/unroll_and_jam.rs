//! Unroll and jam: if each iteration of a loop contains a lane reduction that needs nothing of the
//! previous iteration, the reductions of a few iterations become one with as many operators.
//!
//! ```text
//! loop (*out = ..) for i < n do          loop (*out = ..) for g < n / 4 do
//!   let r = segred lanes (j < m)           let (r0, .., r3) = segred lanes (j < m)
//!             { x[j] * y[i, j] } (+)  =>             { let x = x[j]
//!   let out' = out with [i] = r                        x * y[4g, j],
//!   in (out')                                          .., x * y[4g + 3, j] } (+) .. (+)
//!                                          let out' = out with [4g] = r0
//!                                          ..
//!                                        loop (*out = ..) for i < n % 4 do ..
//! ```
//!
//! Values that are invariant across the iterations are read once, and the combining steps of
//! different iterations are independent of each other, so they overlap. Each operator combines in
//! the same order as before, so all values are bit-identical.
//!
//! Before: the reduction is a statement of the loop, alone or as one arm of a branch on a
//! loop-invariant condition (lanes or not, by the size). Needs nothing. Guarantees that all values
//! are unchanged, and that the rest of each iteration is sequential.

use crate::sink::is_arithmetic;
use analysis::signatures::Signatures;
use analysis::size::is_at_most;
use ir::scan_reduce::ScanReduce;
use ir::seg::{Seg, SegKind, SegOp, SegSpace};
use ir::soac::Operator;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{
    Substitution, VisitMut, free_names_lambda, refresh_body, substitute_body, used_names, with_stack,
};
use ir::{Context, Fuel, Name, NameTable, PassError, Prov, Segs};
use prim::{BinOp, PrimType, ScalarOp};
use rustc_hash::FxHashSet;
use target::levels::LevelId;

/// The largest number of statements of an iteration, which is replicated.
const MAX_STATEMENTS: usize = 48;
/// The largest number of values of a reduction: each has accumulators in registers.
const MAX_VALUES: usize = 2;

/// Merges the reductions of neighbouring iterations, on machines with lanes.
pub(crate) fn unroll_and_jam(
    mut function: Function<Segs>,
    _: &Signatures,
    context: &mut Context,
) -> Result<Function<Segs>, PassError> {
    if !context.options.stack.nests() {
        return Ok(function);
    }
    let Some(unroll_factor) = context.options.machine.jam_factor() else {
        return Ok(function);
    };
    let mut pass = UnrollAndJam { unroll_factor, names: &mut function.names, fuel: &mut context.fuel };
    VisitMut::<Segs>::body(&mut pass, &mut function.body);
    Ok(function)
}

struct UnrollAndJam<'a> {
    unroll_factor: i64,
    names: &'a mut NameTable,
    fuel: &'a mut Fuel,
}

impl VisitMut<Segs> for UnrollAndJam<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            self.walk_body(body);
            let mut stms: Vec<Stm<Segs>> = Vec::with_capacity(body.stms.len());
            for stm in std::mem::take(&mut body.stms) {
                match self.candidate(&stm) {
                    Some(shared) if self.fuel.take() => self.unroll(stm, &shared, &mut stms),
                    _ => stms.push(stm),
                }
            }
            body.stms = stms;
        });
    }
}

/// The reduction to merge, and its dependencies in the loop's body.
struct Candidate {
    /// The position of the reduction in the loop's body.
    at: usize,
    /// For each statement before the reduction, true if the reduction needs it.
    needed_by_reduction: Vec<bool>,
    /// The names that the reduction depends on and that vary between iterations.
    varying: FxHashSet<Name>,
}

/// A loop with a 64-bit counter.
struct CountedLoop {
    pat: Vec<Param<Segs>>,
    aux: Aux,
    params: Vec<LoopParam<Segs>>,
    var: Name,
    bound: Atom,
    body: Body<Segs>,
}

impl UnrollAndJam<'_> {
    /// Returns the reduction that the iterations of a loop can share, if there is one.
    fn candidate(&self, stm: &Stm<Segs>) -> Option<Candidate> {
        let Exp::Loop { params, form: LoopForm::For { var, ty: PrimType::I64, bound }, body } = &stm.exp
        else {
            return None;
        };
        let few = bound.constant().and_then(prim::Scalar::as_i64);
        if few.is_some_and(|n| n < self.unroll_factor) {
            return None;
        }
        let at = body.stms.iter().position(is_reduction)?;
        let carried: FxHashSet<Name> = params.iter().map(|p| p.param.name).collect();
        let sizes = params.iter().flat_map(|p| p.param.ty.shape().iter());
        let own = |dim: &Dim| matches!(dim, Dim::Var(name) if carried.contains(name));
        if sizes.into_iter().any(own) || !is_at_most(body, MAX_STATEMENTS) {
            return None;
        }
        let mut early = vec![false; at];
        let mut needed: FxHashSet<Name> = uses_of(&body.stms[at]).collect();
        for (early, stm) in early.iter_mut().zip(&body.stms).rev() {
            *early = stm.pat.iter().any(|param| needed.contains(&param.name));
            if *early {
                if !can_hoist(stm) {
                    return None;
                }
                needed.extend(uses_of(stm));
            }
        }
        let mut varying = FxHashSet::from_iter([*var]);
        for (stm, _) in body.stms.iter().zip(&early).filter(|(_, early)| **early) {
            if uses_of(stm).any(|name| varying.contains(&name)) {
                varying.extend(stm.pat.iter().map(|param| param.name));
            }
        }
        let alike = must_be_invariant(&body.stms[at]).into_iter().all(|name| !varying.contains(&name));
        (alike && needed.is_disjoint(&carried)).then_some(Candidate {
            at,
            needed_by_reduction: early,
            varying,
        })
    }

    /// Emits the loop over groups of iterations and the loop over the remaining iterations.
    fn unroll(&mut self, stm: Stm<Segs>, shared: &Candidate, out: &mut Vec<Stm<Segs>>) {
        let Stm { pat, aux, exp } = stm;
        let Exp::Loop { params, form: LoopForm::For { var, bound, .. }, body } = exp else {
            return;
        };
        let unroll_factor = Atom::i64(self.unroll_factor);
        let groups = self.bind(BinOp::SQuot, bound, unroll_factor, aux.prov, out);
        let done = self.bind(BinOp::Mul, groups, unroll_factor, aux.prov, out);
        let left = self.bind(BinOp::Sub, bound, done, aux.prov, out);
        let whole = CountedLoop { pat, aux, params, var, bound: groups, body };
        let first = self.main_loop(&whole, shared);
        let between: Vec<Atom> = first.pat.iter().map(|param| param.name.into()).collect();
        out.push(first);
        let CountedLoop { pat, aux, mut params, var, mut body, .. } = whole;
        for (param, init) in params.iter_mut().zip(between) {
            param.init = init;
        }
        let counter = self.names.fresh_like(var);
        let mut ahead = Vec::new();
        let iteration = self.bind(BinOp::Add, done, counter.into(), aux.prov, &mut ahead);
        let from = Substitution::from_iter([(var, iteration)]);
        substitute_body(&mut body, &from);
        ahead.append(&mut body.stms);
        body.stms = ahead;
        let form = LoopForm::For { var: counter, ty: PrimType::I64, bound: left };
        let exp = Exp::Loop { params, form, body };
        out.push(Stm { pat, aux, exp });
    }

    /// Builds the loop over groups of iterations.
    fn main_loop(&mut self, whole: &CountedLoop, shared: &Candidate) -> Stm<Segs> {
        let CountedLoop { pat, aux, params, var, bound, body } = whole;
        let group = self.names.fresh("group");
        let mut stms = Vec::new();
        let unroll_factor = Atom::i64(self.unroll_factor);
        let first = self.bind(BinOp::Mul, group.into(), unroll_factor, aux.prov, &mut stms);
        let mut copies: Vec<Substitution> = Vec::new();
        for k in 0..self.unroll_factor {
            let iteration = match k {
                0 => first,
                k => self.bind(BinOp::Add, first, Atom::i64(k), aux.prov, &mut stms),
            };
            copies.push(Substitution::from_iter([(*var, iteration)]));
        }
        let (before, rest) = body.stms.split_at(shared.at);
        let marked = before.iter().zip(&shared.needed_by_reduction);
        let early = Body {
            stms: marked.clone().filter(|(_, early)| **early).map(|(stm, _)| stm.clone()).collect(),
            result: Vec::new(),
        };
        for copy in &mut copies {
            stms.extend(refresh_body(&early, self.names, copy).stms);
        }
        if let Some(reduction) = rest.first() {
            stms.push(self.merged_stm(reduction, &shared.varying, &mut copies));
        }
        let others = marked.filter(|(_, early)| !**early).map(|(stm, _)| stm);
        let late =
            Body { stms: others.chain(rest.iter().skip(1)).cloned().collect(), result: body.result.clone() };
        let own: Vec<LoopParam<Segs>> = params
            .iter()
            .map(|param| LoopParam { param: self.fresh(&param.param), ..param.clone() })
            .collect();
        let mut values: Vec<Atom> = own.iter().map(|p| p.param.name.into()).collect();
        for copy in &mut copies {
            let carried = params.iter().map(|p| p.param.name);
            copy.extend(carried.zip(values));
            let late = refresh_body(&late, self.names, copy);
            stms.extend(late.stms);
            values = late.result;
        }
        let form = LoopForm::For { var: group, ty: PrimType::I64, bound: *bound };
        let body = Body { stms, result: values };
        Stm {
            pat: pat.iter().map(|param| self.fresh(param)).collect(),
            aux: aux.clone(),
            exp: Exp::Loop { params: own, form, body },
        }
    }

    /// Builds the reduction of all iterations of a group. `copies` hold each iteration's
    /// substitution, and are extended by the names of its results.
    fn merged_stm(
        &mut self,
        stm: &Stm<Segs>,
        varying: &FxHashSet<Name>,
        copies: &mut [Substitution],
    ) -> Stm<Segs> {
        let mut pat = Vec::new();
        let exp = match &stm.exp {
            Exp::Op(SegOp::Seg(seg)) => {
                let seg = self.merged_seg(seg, varying, copies);
                Exp::Op(SegOp::Seg(seg))
            }
            Exp::If { cond, then_body, else_body } => {
                let mut inner = copies.to_vec();
                let stms = then_body.stms.iter();
                let stms = stms.map(|stm| self.merged_stm(stm, varying, &mut inner));
                let mut then = Body { stms: stms.collect(), result: Vec::new() };
                let mut other = Body { stms: Vec::new(), result: Vec::new() };
                for (copy, inner) in copies.iter_mut().zip(&inner) {
                    let results = then_body.result.iter();
                    then.result.extend(results.map(|result| lookup(inner, *result)));
                    let own = refresh_body(else_body, self.names, copy);
                    other.stms.extend(own.stms);
                    other.result.extend(own.result);
                }
                Exp::If { cond: *cond, then_body: then, else_body: other }
            }
            exp @ (Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_)) => exp.clone(),
        };
        for copy in copies {
            for param in &stm.pat {
                let own = self.fresh(param);
                copy.insert(param.name, own.name.into());
                pat.push(own);
            }
        }
        let aux = stm.aux.clone();
        Stm { pat, aux, exp }
    }

    /// Merges the reductions of all iterations of a group into one.
    fn merged_seg(
        &mut self,
        seg: &Seg<Segs>,
        varying: &FxHashSet<Name>,
        copies: &[Substitution],
    ) -> Seg<Segs> {
        let (mut shared, mut own) = (Vec::new(), Vec::new());
        let mut varying = varying.clone();
        for stm in &seg.body.stms {
            if uses_of(stm).any(|name| varying.contains(&name)) {
                varying.extend(stm.pat.iter().map(|param| param.name));
                own.push(stm.clone());
            } else {
                shared.push(stm.clone());
            }
        }
        let mut index_names = Substitution::default();
        let dims = seg.space.dims.iter().map(|(index, dim)| {
            let fresh = self.names.fresh_like(*index);
            index_names.insert(*index, fresh.into());
            (fresh, *dim)
        });
        let space = SegSpace { dims: dims.collect(), lane: seg.space.lane };
        let shared = Body { stms: shared, result: Vec::new() };
        let own = Body { stms: own, result: seg.body.result.clone() };
        let mut body = refresh_body(&shared, self.names, &mut index_names);
        let mut reduces: Vec<Operator<Segs>> = Vec::new();
        let mut ret = Vec::new();
        for copy in copies {
            let mut names = index_names.clone();
            names.extend(copy.iter().map(|(name, atom)| (*name, *atom)));
            let iteration = refresh_body(&own, self.names, &mut names);
            body.stms.extend(iteration.stms);
            body.result.extend(iteration.result);
            ret.extend_from_slice(&seg.ret);
            if let SegKind::ScanReduce(scan_reduce) = &seg.kind {
                reduces.extend(scan_reduce.reduces.iter().map(|op| op.refreshed(self.names)));
            }
        }
        Seg {
            space,
            kind: SegKind::ScanReduce(ScanReduce { reduces, ..ScanReduce::default() }),
            body,
            ret,
            ..seg.clone()
        }
    }

    fn fresh(&mut self, param: &Param<Segs>) -> Param<Segs> {
        Param { name: self.names.fresh_like(param.name), ..param.clone() }
    }

    fn bind(&mut self, op: BinOp, x: Atom, y: Atom, prov: Prov, out: &mut Vec<Stm<Segs>>) -> Atom {
        let name = self.names.fresh("iteration");
        out.push(Stm {
            pat: vec![Param { name, ty: Type::I64, ann: () }],
            aux: Aux::at(prov),
            exp: Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y))),
        });
        name.into()
    }
}

/// The value of an atom under an iteration's substitution.
fn lookup(copy: &Substitution, atom: Atom) -> Atom {
    let known = atom.var().and_then(|name| copy.get(&name));
    known.copied().unwrap_or(atom)
}

/// The names that a statement uses.
fn uses_of(stm: &Stm<Segs>) -> impl Iterator<Item = Name> {
    let mut names: Vec<Name> = stm.aux.certs.to_vec();
    used_names(&stm.exp, |name| names.push(name));
    names.into_iter()
}

/// Returns true if a statement may move ahead of the effects of earlier iterations: it computes
/// scalars or views, or checks.
fn can_hoist(stm: &Stm<Segs>) -> bool {
    match &stm.exp {
        Exp::Basic(op) => is_arithmetic(op) || matches!(op, BasicOp::Index { .. } | BasicOp::Assert { .. }),
        Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
    }
}

/// Returns true if a statement is a mergeable reduction, or a branch whose first arm is one.
fn is_reduction(stm: &Stm<Segs>) -> bool {
    match &stm.exp {
        Exp::Op(SegOp::Seg(seg)) => is_small_reduction(seg),
        Exp::If { then_body, .. } => {
            let scalars = stm.pat.iter().all(|param| param.ty.is_prim());
            let one = matches!(
                then_body.stms.as_slice(),
                [Stm { exp: Exp::Op(SegOp::Seg(seg)), .. }] if is_small_reduction(seg)
            );
            scalars && one
        }
        Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
    }
}

/// Returns true if a segop is a lane reduction of few scalars and has no other results.
fn is_small_reduction(seg: &Seg<Segs>) -> bool {
    let SegKind::ScanReduce(scan_reduce) = &seg.kind else {
        return false;
    };
    seg.level == LevelId::Lanes
        && seg.space.dims.len() == 1
        && seg.decomp.width > 1
        && seg.identity_predicate.is_none()
        && scan_reduce.scans.is_empty()
        && scan_reduce.post.is_none()
        && scan_reduce.operators().all(Operator::is_scalar)
        && seg.ret.len() == scan_reduce.n_reduced()
        && seg.ret.len() <= MAX_VALUES
        && seg.body.stms.iter().all(|stm| matches!(stm.exp, Exp::Basic(_)))
}

/// The names that must be invariant across iterations: those in the condition, in sizes and in
/// operators.
fn must_be_invariant(stm: &Stm<Segs>) -> Vec<Name> {
    match &stm.exp {
        Exp::Op(SegOp::Seg(seg)) => {
            let dims = seg.space.dims.iter();
            let mut names: Vec<Name> = dims.filter_map(|(_, dim)| dim.atom()?.var()).collect();
            if let SegKind::ScanReduce(scan_reduce) = &seg.kind {
                for op in scan_reduce.operators() {
                    names.extend(op.neutral.iter().filter_map(|ne| ne.var()));
                    names.extend(free_names_lambda(&op.op));
                }
            }
            names
        }
        Exp::If { cond, then_body, .. } => {
            let inner = then_body.stms.iter().flat_map(must_be_invariant);
            inner.chain(cond.var()).collect()
        }
        Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => Vec::new(),
    }
}

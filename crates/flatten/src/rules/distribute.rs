//! Rule G6: a nest over statements becomes nests over groups of statements.
//!
//! ```text
//! Σ ⊢ let a = e1 in e2   =>   let as = (Σ ⊢ e1) in (Σ, a = as[indices of Σ] ⊢ e2)
//! ```
//!
//! A group is a single statement with the same parallelism in all iterations, or the sequential
//! statements between two such. Cheap statements of a sequential group (scalars, views, checks) are
//! not stored for later groups but recomputed there. A group that no later one needs is merged with
//! the next sequential group.

use super::parallelism::NestBindings;
use super::pending::{Needs, Pending, Regularity};
use super::results::named;
use super::{array_ops, branches, distribute_irregular, invariant, loops, versions};
use crate::context::Ctx;
use crate::manifest::SegopBody;
use crate::nest::{Nest, Segments};
use crate::position::Position;
use ir::soac::Soac;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::stm_names;
use ir::{FunName, Name, PassError, Segs, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Returns true if the rule pays: the nest can be distributed into some statement, also into an
/// irregular one if `irregular` is set.
pub(super) fn pays(ctx: &Ctx<'_>, nest: &Nest<'_>, body: &Body<Soacs>, irregular: bool) -> bool {
    let bound = NestBindings { nest, more: &|_| false, irregular, lifts: &ctx.lifted_functions };
    bound.exploits(body)
}

/// Returns true if the rule pays though no statement is parallel: each element of the results can
/// be computed by itself.
pub(super) fn computes_elements(ctx: &Ctx<'_>, nest: &Nest<'_>, body: &Body<Soacs>) -> bool {
    let bound = NestBindings { nest, more: &|_| false, irregular: true, lifts: &ctx.lifted_functions };
    array_ops::returns_elements(bound, body)
}

/// Appends a nest over a body; the pattern has its results for all iterations.
pub(crate) fn distribute(
    ctx: &mut Ctx<'_>,
    outer: &Nest<'_>,
    at: Position,
    body: Body<Soacs>,
    pat: Vec<Param<Soacs>>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    if outer.is_empty() {
        let (stms, left) = named(body, pat);
        ctx.stms(at, stms, out)?;
        for (param, result) in left {
            bind(ctx, param, BasicOp::Atom(result), aux, out);
        }
        return Ok(());
    }
    let d = Distribution::new(ctx, outer.child(Vec::new()), at, aux, &body);
    d.over(ctx, body, pat, out)
}

/// The arrays that a body's results are stored in.
#[derive(Default)]
pub(super) struct ResultArrays {
    stores: FxHashMap<Name, Vec<(usize, Param<Soacs>)>>,
    /// The indices of the results that are stored already.
    done: FxHashSet<usize>,
}

/// The state of distributing a nest over a body.
pub(super) struct Distribution<'a, 'n> {
    pub(super) nest: Nest<'n>,
    pub(super) pending: Pending,
    /// The last statement that uses a name. Each statement has two numbers, an even and an odd one;
    /// `end` stands for the results.
    pub(super) last_use: FxHashMap<Name, usize>,
    /// The number after those of all statements.
    pub(super) end: usize,
    pub(super) at: Position,
    pub(super) aux: &'a Aux,
    /// True if the nest is also distributed into irregular statements.
    pub(super) allow_irregular: bool,
    /// Arrays that the body may consume.
    pub(super) may_consume: FxHashSet<Name>,
    /// Functions that have lifted versions.
    lifts: Arc<FxHashSet<FunName>>,
    /// The segments of each length that varies across iterations.
    pub(super) segments: FxHashMap<Atom, Segments>,
    /// Names that are segments: the array with all segments and the vector of its elements'
    /// iterations.
    pub(super) segment_arrays: FxHashMap<Name, (Name, Name)>,
}

impl<'a, 'n> Distribution<'a, 'n> {
    /// Starts the distribution of a nest over a body.
    pub(super) fn new(ctx: &Ctx<'_>, nest: Nest<'n>, at: Position, aux: &'a Aux, body: &Body<Soacs>) -> Self {
        let mut last_use: FxHashMap<Name, usize> = FxHashMap::default();
        for (i, stm) in body.stms.iter().enumerate() {
            stm_names(stm, |name| {
                last_use.insert(name, 2 * i + 1);
            });
        }
        let end = 2 * body.stms.len();
        last_use.extend(body.result.iter().filter_map(|it| Some((it.var()?, end))));
        Self {
            nest,
            pending: Pending::default(),
            last_use,
            end,
            at,
            aux,
            allow_irregular: distribute_irregular::is_allowed_at(ctx, at),
            may_consume: invariant::taken(ctx, body),
            lifts: Arc::clone(&ctx.lifted_functions),
            segments: FxHashMap::default(),
            segment_arrays: FxHashMap::default(),
        }
    }
}

impl Distribution<'_, '_> {
    /// Distributes the nest over a body; the pattern has its results for all iterations.
    pub(super) fn over(
        mut self,
        ctx: &mut Ctx<'_>,
        body: Body<Soacs>,
        pat: Vec<Param<Soacs>>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let results = body.result;
        let mut sink = ResultArrays::default();
        for (k, (result, param)) in results.iter().zip(&pat).enumerate() {
            if let Atom::Var(name) = result {
                sink.stores.entry(*name).or_default().push((k, param.clone()));
            }
        }
        self.statements(ctx, body.stms, &mut sink, out)?;
        let results = results.into_iter().zip(pat).enumerate();
        let results = results.filter(|(k, _)| !sink.done.contains(k));
        let results = results.map(|(_, it)| it).collect();
        self.results(ctx, results, out)
    }

    /// Distributes the nest over statements, in order.
    pub(super) fn statements(
        &mut self,
        ctx: &mut Ctx<'_>,
        stms: Vec<Stm<Soacs>>,
        sink: &mut ResultArrays,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        for (i, stm) in stms.into_iter().enumerate() {
            let stms = self.rewrite(ctx, stm)?;
            let last = stms.len().saturating_sub(1);
            // Results of one part that later parts use count as used.
            for param in stms.iter().take(last).flat_map(|stm| &stm.pat) {
                self.last_use.entry(param.name).or_insert(2 * i + 1);
            }
            for (k, stm) in stms.into_iter().enumerate() {
                self.statement(ctx, (2 * i + usize::from(k == last), stm), sink, out)?;
            }
        }
        Ok(())
    }

    /// Distributes the nest into a statement, or leaves the statement pending.
    fn statement(
        &mut self,
        ctx: &mut Ctx<'_>,
        (i, stm): (usize, Stm<Soacs>),
        sink: &mut ResultArrays,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        if self.allow_irregular && matches!(&stm.exp, Exp::Apply { args, .. } if args.is_empty()) {
            self.bind_outside(ctx, stm, out);
            return Ok(());
        }
        let is_result = stm.pat.iter().any(|p| sink.stores.contains_key(&p.name));
        if !is_result && let Some(same) = self.invariant(&stm) {
            return self.in_one_iteration(ctx, stm, same, out);
        }
        let Some((way, needs)) = self.needs_of(&stm, i) else {
            self.wait(stm);
            return Ok(());
        };
        self.flush(ctx, needs, out)?;
        if self.allow_irregular && !is_result && array_ops::is_invariant(&self.nest, &stm) {
            self.bind_outside(ctx, stm, out);
            return Ok(());
        }
        // These may have iterations or branches in which nothing makes the statement's checks.
        // Segops ensure that by themselves (`empty`).
        let mut checks: Vec<Name> = stm.aux.certs.to_vec();
        let may_leave_out =
            matches!(stm.exp, Exp::Loop { .. } | Exp::If { .. } | Exp::Op(Soac::WithAcc { .. }));
        checks.retain(|cert| may_leave_out && self.nest.is_variant(*cert));
        let keeps_own_checks = !checks.is_empty() && way == Regularity::Regular;
        // A result that is used in only one place is stored there directly.
        let mut own = Vec::with_capacity(stm.pat.len());
        for param in &stm.pat {
            let is_bound_here =
                |dim: &Dim| matches!(dim, Dim::Var(name) if stm.pat.iter().any(|p| p.name == *name));
            let varies = |dim: &Dim| self.bound(&|_| false).varies(*dim) || is_bound_here(dim);
            if way == Regularity::Irregular && param.ty.shape().iter().any(varies) {
                own.push(None);
                continue;
            }
            let expanded = match sink.stores.get(&param.name).map(Vec::as_slice) {
                Some([(k, param)]) if !keeps_own_checks => {
                    sink.done.insert(*k);
                    param.clone()
                }
                _ => {
                    let ty = self.nest.expand(&param.ty);
                    let name = ctx.names().fresh_like(param.name);
                    ctx.types.set(name, ty.clone());
                    Param { name, ty, ann: () }
                }
            };
            own.push(Some(expanded));
        }
        if way == Regularity::Irregular {
            return self.irregular(ctx, stm, own, out);
        }
        let own: Vec<Param<Soacs>> = own.into_iter().flatten().collect();
        let inner = stm.pat.clone();
        self.parallel(ctx, stm, own.clone(), out)?;
        for (param, array) in inner.into_iter().zip(own) {
            self.nest.bind_certified(param, array.name, &checks);
        }
        Ok(())
    }

    /// Returns true if a name is bound by a pending statement.
    pub(super) fn is_pending(&self, name: Name) -> bool {
        self.pending.bound.contains_key(&name)
    }

    /// Binds these names in the nest. If any is pending, the pending results of the body are bound
    /// as well; afterwards no statement is pending.
    pub(super) fn bind_pending(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut names: Vec<Name>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let more = |name: Name| self.pending.bound.contains_key(&name);
        if names.iter().any(|name| more(*name)) {
            let is_result = |name: &&Name| self.last_use.get(name) == Some(&self.end);
            let results = self.pending.bound.keys().filter(is_result);
            names.extend(results.copied());
            names.sort_unstable();
            names.dedup();
        }
        let needs = self.needs(self.bound(&more), names);
        let needs = needs.ok_or_else(|| PassError::bug("a value has no regular shape"))?;
        self.flush(ctx, needs, out)
    }

    /// The names bound in the nest, and those of pending statements by `more`.
    pub(super) fn bound<'b>(&'b self, more: &'b dyn Fn(Name) -> bool) -> NestBindings<'b> {
        NestBindings { nest: &self.nest, more, irregular: self.allow_irregular, lifts: &self.lifts }
    }

    /// Computes the needed pending values, and binds them in the nest.
    fn flush(&mut self, ctx: &mut Ctx<'_>, needs: Needs, out: &mut Vec<Stm<Segs>>) -> Result<(), PassError> {
        let Needs { recomputed, stored, stored_as_segments: filled } = needs;
        if recomputed.is_empty() && stored.is_empty() && filled.is_empty() {
            return Ok(());
        }
        let Pending { stms, .. } = std::mem::take(&mut self.pending);
        let recomputed = recomputed.into_iter().filter_map(|at| stms.get(at).cloned());
        let recomputed: Vec<Stm<Soacs>> = recomputed.collect();
        let find = |name: &Name| {
            let mut all = stms.iter().flat_map(|stm| &stm.pat);
            all.find(|param| param.name == *name).cloned()
        };
        let filled: Vec<Param<Soacs>> = filled.iter().filter_map(find).collect();
        let every = if filled.is_empty() { Vec::new() } else { stms.clone() };
        if !stored.is_empty() {
            let mut ret = Vec::with_capacity(stored.len());
            let mut pat: Vec<Param<Soacs>> = Vec::with_capacity(stored.len());
            let mut inner: Vec<Param<Soacs>> = Vec::with_capacity(stored.len());
            for &name in &stored {
                let ty = ctx.type_of(name)?;
                let array = ctx.names().fresh_like(name);
                let expanded = self.nest.expand(&ty);
                ctx.types.set(array, expanded.clone());
                pat.push(Param { name: array, ty: expanded, ann: () });
                inner.push(Param { name, ty: ty.clone(), ann: () });
                ret.push(ty);
            }
            let result = stored.iter().map(|name| Atom::Var(*name)).collect();
            let body = Body { stms, result };
            self.in_nest(ctx, body, ret, pat.clone(), out)?;
            for (param, array) in inner.into_iter().zip(pat) {
                self.nest.bind_element(param, array.name);
            }
        }
        // Recomputed statements that read segments are bound after these.
        let mut late: FxHashSet<Name> = filled.iter().map(|param| param.name).collect();
        let (after, before): (Vec<_>, Vec<_>) = recomputed.into_iter().partition(|stm| {
            let mut found = false;
            stm_names(stm, |name| found |= late.contains(&name));
            if found {
                late.extend(stm.pat.iter().map(|param| param.name));
            }
            found
        });
        for stm in before {
            self.nest.bind(stm);
        }
        if !filled.is_empty() {
            self.fill(ctx, every, filled, out)?;
        }
        for stm in after {
            self.nest.bind(stm);
        }
        Ok(())
    }

    /// Appends a segop over the nest with a sequential body.
    pub(super) fn in_nest(
        &self,
        ctx: &mut Ctx<'_>,
        body: Body<Soacs>,
        ret: Vec<Type>,
        pat: Vec<Param<Soacs>>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let segop_body = SegopBody::map(body, ret);
        let aux = Aux::at(self.aux.prov);
        versions::g2(ctx, &self.nest, self.at, pat, aux, segop_body, out)
    }

    /// Applies the rule for a parallel statement.
    fn parallel(
        &mut self,
        ctx: &mut Ctx<'_>,
        stm: Stm<Soacs>,
        pat: Vec<Param<Soacs>>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let Stm { pat: _, mut aux, exp } = stm;
        let certs: Vec<Name> = aux.certs.iter().copied().collect();
        let (variant, known): (Vec<Name>, Vec<Name>) =
            certs.into_iter().partition(|cert| self.nest.is_variant(*cert));
        aux.certs = known.into_iter().collect();
        let nest = self.nest.child(variant);
        match exp {
            Exp::Op(soac) => ctx.combinator(&nest, self.at, pat, aux, soac, out),
            Exp::Loop { params, form, body } => {
                loops::g7(ctx, &nest, self.at, pat, aux, (params, form, body), out)
            }
            Exp::If { cond, then_body, else_body } => {
                branches::g8(ctx, &nest, self.at, pat, aux, (cond, then_body, else_body), out)
            }
            Exp::Basic(op) => array_ops::operation(ctx, &nest, self.at, pat, aux, op, out),
            Exp::Apply { .. } => Err(PassError::bug("a call was chosen for distribution")),
        }
    }

    /// Binds the body's results that have no array yet.
    pub(super) fn results(
        mut self,
        ctx: &mut Ctx<'_>,
        results: Vec<(Atom, Param<Soacs>)>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let (mut left, mut pat, mut ret) = (Vec::new(), Vec::new(), Vec::new());
        for (result, param) in results {
            let known = result.var().filter(|name| !self.is_pending(*name));
            let known = known.and_then(|name| self.nest.constant(name));
            let is_acc = matches!(param.ty, Type::Acc { .. });
            let result = known.filter(|_| !is_acc).unwrap_or(result);
            let array = match result {
                Atom::Var(name) if matches!(param.ty, Type::Acc { .. }) => self.acc(name),
                Atom::Var(name) => self.nest.array_of(name),
                Atom::Const(_) => None,
            };
            if let Some(array) = array {
                let op = if matches!(param.ty, Type::Acc { .. }) {
                    BasicOp::Atom(array.into())
                } else {
                    BasicOp::Copy(array)
                };
                bind(ctx, param, op, self.aux, out);
                continue;
            }
            let ty = match result {
                Atom::Var(name) => ctx.type_of(name)?,
                Atom::Const(value) => Type::Prim(value.ty()),
            };
            let variant = |name| self.nest.is_variant(name) || self.pending.bound.contains_key(&name);
            if !result.var().is_some_and(variant) && !matches!(ty, Type::Acc { .. }) {
                let shape = self.nest.widths().collect();
                let value = result;
                bind(ctx, param, BasicOp::Replicate { shape, value }, self.aux, out);
                continue;
            }
            left.push(result);
            ret.push(ty);
            pat.push(param);
        }
        if left.is_empty() {
            return Ok(());
        }
        let stms = std::mem::take(&mut self.pending.stms);
        let body = Body { stms, result: left };
        self.in_nest(ctx, body, ret, pat, out)
    }

    /// The accumulator from outside the nest that a name stands for, if no pending statement
    /// updates it.
    fn acc(&self, name: Name) -> Option<Name> {
        if self.pending.bound.contains_key(&name) {
            return None;
        }
        self.nest.acc(name)
    }
}

/// Appends a basic operation outside of segops.
pub(super) fn bind(ctx: &mut Ctx<'_>, param: Param<Soacs>, op: BasicOp, aux: &Aux, out: &mut Vec<Stm<Segs>>) {
    let pat = vec![ctx.param(param)];
    out.push(Stm { pat, aux: Aux::at(aux.prov), exp: Exp::Basic(op) });
}

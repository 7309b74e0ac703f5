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
use super::{array_ops, control_flow, invariant, map};
use crate::context::{Ctx, Let};
use crate::functions::Callees;
use crate::manifest::SegopBody;
use crate::names::atoms;
use crate::nest::{Nest, Segments};
use crate::scope::Scope;
use crate::{Pat, Result, Stms, bug};
use ir::accumulators::without_tokens;
use ir::soac::Soac;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, stm_names, substitute_stm};
use ir::{Name, PassError, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns true if the rule pays: the nest can be distributed into some statement of the body.
pub(super) fn pays(ctx: &Ctx<'_>, scope: Scope<'_>, body: &Body<Soacs>) -> bool {
    NestBindings::of(ctx, scope, &|_| false).exploits(body)
}

/// Appends a nest over a body; the pattern has its results for all iterations.
pub(crate) fn distribute(ctx: &mut Ctx<'_>, scope: Scope<'_>, body: Body<Soacs>, to: Let) -> Result {
    if !scope.nest.is_empty() {
        let nest = scope.nest.child(Vec::new());
        return Distribution::new(ctx, scope, nest, &body).over(ctx, body, to.pat);
    }
    let (stms, left) = named(body, to.pat);
    ctx.stms(scope, stms)?;
    for (param, result) in left {
        ctx.bind(param, BasicOp::Atom(result), to.aux.prov);
    }
    Ok(())
}

/// Results of a statement, with the arrays over the nest that have their values; segments have none.
pub(super) type Results = Vec<(Param<Soacs>, Option<Param<Soacs>>)>;

/// The arrays that a body's results are stored in.
#[derive(Default)]
pub(super) struct Stores {
    stores: FxHashMap<Name, Vec<(usize, Param<Soacs>)>>,
    /// The indices of the results that are stored already.
    done: FxHashSet<usize>,
}

/// The state of distributing a nest over a body.
pub(super) struct Distribution<'c, 'n> {
    /// The scope of the nest.
    pub(super) outer: Scope<'n>,
    /// The nest, with what its iterations bind so far.
    pub(super) nest: Nest<'n>,
    pub(super) pending: Pending,
    /// The last statement that uses a name. Each statement has two numbers, an even and an odd one;
    /// `end` stands for the results.
    pub(super) last_use: FxHashMap<Name, usize>,
    /// The number after those of all statements.
    pub(super) end: usize,
    /// True if the nest is also distributed into irregular statements.
    pub(super) allow_irregular: bool,
    /// Arrays that the body may consume.
    pub(super) may_consume: FxHashSet<Name>,
    pub(super) callees: &'c Callees,
    /// The segments of each length that varies across iterations.
    pub(super) segments: FxHashMap<Atom, Segments>,
    /// Names that are segments: the array of all segments, and the vector of its elements' iterations.
    pub(super) segment_arrays: FxHashMap<Name, (Name, Name)>,
}

impl<'c, 'n> Distribution<'c, 'n> {
    /// Starts the distribution of a nest over a body.
    pub(super) fn new(ctx: &Ctx<'c>, outer: Scope<'n>, nest: Nest<'n>, body: &Body<Soacs>) -> Self {
        let mut last_use: FxHashMap<Name, usize> = FxHashMap::default();
        for (i, stm) in body.stms.iter().enumerate() {
            stm_names(stm, |name| {
                last_use.insert(name, 2 * i + 1);
            });
        }
        let end = 2 * body.stms.len();
        last_use.extend(body.result.iter().filter_map(|it| Some((it.var()?, end))));
        Self {
            outer,
            nest,
            pending: Pending::default(),
            last_use,
            end,
            allow_irregular: ctx.allows_irregular(outer),
            may_consume: invariant::taken(ctx.callees, &body.stms),
            callees: ctx.callees,
            segments: FxHashMap::default(),
            segment_arrays: FxHashMap::default(),
        }
    }
}

impl Distribution<'_, '_> {
    /// The scope of a statement in the nest.
    pub(super) fn scope(&self) -> Scope<'_> {
        self.outer.over(&self.nest)
    }

    /// Distributes the nest over a body; the pattern has its results for all iterations.
    pub(super) fn over(mut self, ctx: &mut Ctx<'_>, body: Body<Soacs>, pat: Pat) -> Result {
        let mut sink = Stores::default();
        for (k, (result, param)) in body.result.iter().zip(&pat).enumerate() {
            if let Atom::Var(name) = result {
                sink.stores.entry(*name).or_default().push((k, param.clone()));
            }
        }
        self.statements(ctx, body.stms, &mut sink)?;
        let results = body.result.into_iter().zip(pat).enumerate();
        let results = results.filter(|(k, _)| !sink.done.contains(k)).map(|(_, it)| it);
        self.results(ctx, results.collect())
    }

    /// Distributes the nest over statements, in order.
    pub(super) fn statements(&mut self, ctx: &mut Ctx<'_>, stms: Stms<Soacs>, sink: &mut Stores) -> Result {
        for (i, stm) in stms.into_iter().enumerate() {
            let stms = self.rewrite(ctx, stm)?;
            let last = stms.len().saturating_sub(1);
            // Results of one part that later parts use count as used.
            for param in stms.iter().take(last).flat_map(|stm| &stm.pat) {
                self.last_use.entry(param.name).or_insert(2 * i + 1);
            }
            for (k, stm) in stms.into_iter().enumerate() {
                self.statement(ctx, (2 * i + usize::from(k == last), stm), sink)?;
            }
        }
        Ok(())
    }

    /// Distributes the nest into a statement, or leaves the statement pending.
    fn statement(&mut self, ctx: &mut Ctx<'_>, (i, stm): (usize, Stm<Soacs>), sink: &mut Stores) -> Result {
        if self.allow_irregular && matches!(&stm.exp, Exp::Apply { args, .. } if args.is_empty()) {
            self.bind_outside(ctx, stm);
            return Ok(());
        }
        let is_result = stm.pat.iter().any(|p| sink.stores.contains_key(&p.name));
        if !is_result && let Some(same) = self.invariant(&stm) {
            return self.in_one_iteration(ctx, stm, same);
        }
        let Some((way, needs)) = self.needs_of(&stm, i) else {
            self.wait(stm);
            return Ok(());
        };
        self.flush(ctx, needs)?;
        if self.allow_irregular && !is_result && array_ops::is_invariant(&self.nest, &stm) {
            self.bind_outside(ctx, stm);
            return Ok(());
        }
        // These may have iterations or branches in which nothing makes the statement's checks.
        // Segops ensure that by themselves (`empty_checks`).
        let mut checks: Vec<Name> = stm.aux.certs.to_vec();
        let may_leave_out =
            matches!(stm.exp, Exp::Loop { .. } | Exp::If { .. } | Exp::Op(Soac::WithAcc { .. }));
        checks.retain(|cert| may_leave_out && self.nest.is_variant(*cert));
        let keeps_own_checks = !checks.is_empty() && way == Regularity::Regular;
        let mut own = Vec::with_capacity(stm.pat.len());
        for param in &stm.pat {
            let own_name = |name: Name| stm.pat.iter().any(|param| param.name == name);
            let bound = NestBindings { more: &own_name, pending: None, ..self.bound() };
            let is_segment = way == Regularity::Irregular && bound.has_variant_size(&param.ty);
            own.push(match sink.stores.get(&param.name).map(Vec::as_slice) {
                _ if is_segment => None,
                // A result that is used in only one place is stored there directly.
                Some([(k, param)]) if !keeps_own_checks => {
                    sink.done.insert(*k);
                    Some(param.clone())
                }
                _ => Some(ctx.names.fresh_like(param.name, self.nest.expand(&param.ty))),
            });
        }
        if way == Regularity::Irregular {
            let results = stm.pat.into_iter().zip(own).collect();
            return self.irregular(ctx, results, stm.aux, stm.exp);
        }
        let own: Pat = own.into_iter().flatten().collect();
        let inner = stm.pat.clone();
        self.parallel(ctx, stm, own.clone())?;
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
    pub(super) fn bind_pending(&mut self, ctx: &mut Ctx<'_>, mut names: Vec<Name>) -> Result {
        if names.iter().any(|name| self.is_pending(*name)) {
            let is_result = |name: &&Name| self.last_use.get(name) == Some(&self.end);
            let results = self.pending.bound.keys().filter(is_result);
            names.extend(results.copied());
            names.sort_unstable();
            names.dedup();
        }
        let needs = self.needs(self.bound(), names);
        let needs = needs.ok_or_else(bug("a value has no regular shape"))?;
        self.flush(ctx, needs)
    }

    /// The names bound in the nest and by pending statements.
    pub(super) fn bound(&self) -> NestBindings<'_> {
        NestBindings {
            nest: &self.nest,
            pending: Some(&self.pending),
            more: &|_| false,
            irregular: self.allow_irregular,
            callees: self.callees,
        }
    }

    /// Computes the needed pending values, and binds them in the nest.
    fn flush(&mut self, ctx: &mut Ctx<'_>, needs: Needs) -> Result {
        let Needs { recomputed, stored, stored_as_segments: filled } = needs;
        if recomputed.is_empty() && stored.is_empty() && filled.is_empty() {
            return Ok(());
        }
        let Pending { stms, .. } = std::mem::take(&mut self.pending);
        let recomputed: Stms<Soacs> = recomputed.into_iter().map(|at| stms[at].clone()).collect();
        let is_filled = |param: &&Param<Soacs>| filled.contains(&param.name);
        let mut segments: Pat = stms.iter().flat_map(|stm| &stm.pat).filter(is_filled).cloned().collect();
        segments.sort_unstable_by_key(|param| param.name);
        let every = if filled.is_empty() { Vec::new() } else { without_accumulators(&stms)? };
        if !stored.is_empty() {
            let (mut inner, mut pat): (Pat, Pat) = (Vec::new(), Vec::new());
            for name in stored {
                let ty = ctx.names.type_of(name)?;
                pat.push(ctx.names.fresh_like(name, self.nest.expand(&ty)));
                inner.push(Param { name, ty, ann: () });
            }
            let body = Body { stms, result: atoms(&inner) };
            let ret = inner.iter().map(|param| param.ty.clone()).collect();
            self.in_nest(ctx, body, ret, pat.clone())?;
            for (param, array) in inner.into_iter().zip(pat) {
                self.nest.bind_element(param, array.name);
            }
        }
        // Recomputed statements that read segments are bound after these.
        let mut late: FxHashSet<Name> = filled.into_iter().collect();
        let (after, before): (Vec<_>, Vec<_>) = recomputed.into_iter().partition(|stm| {
            let mut found = false;
            stm_names(stm, |name| found |= late.contains(&name));
            if found {
                late.extend(stm.pat.iter().map(|param| param.name));
            }
            found
        });
        before.into_iter().for_each(|stm| self.nest.bind(stm));
        if !segments.is_empty() {
            self.fill(ctx, every, segments)?;
        }
        after.into_iter().for_each(|stm| self.nest.bind(stm));
        Ok(())
    }

    /// Appends a segop over the nest with a sequential body.
    pub(super) fn in_nest(&self, ctx: &mut Ctx<'_>, body: Body<Soacs>, ret: Vec<Type>, pat: Pat) -> Result {
        map::g2(ctx, self.scope(), Let::at(self.outer.prov, pat), SegopBody::map(body, ret))
    }

    /// Applies the rule for a parallel statement.
    fn parallel(&mut self, ctx: &mut Ctx<'_>, stm: Stm<Soacs>, pat: Pat) -> Result {
        let (aux, variant) = self.certs(stm.aux, &[]);
        let nest = self.nest.child(variant);
        let (scope, to) = (self.outer.over(&nest).with_prov(aux.prov), Let { pat, aux });
        match stm.exp {
            Exp::Op(soac) => super::combinator(ctx, scope, to, soac),
            Exp::Loop { params, form, body } => control_flow::g7(ctx, scope, to, (params, form, body)),
            Exp::If { cond, then_body, else_body } => {
                control_flow::g8(ctx, scope, to, (cond, then_body, else_body))
            }
            Exp::Basic(op) => array_ops::operation(ctx, scope, to, op),
            Exp::Apply { .. } => Err(PassError::bug("a call was chosen for distribution")),
        }
    }

    /// Splits a statement's certificates: the ones from outside the nest, which it keeps, and the
    /// nest-variant ones, including the certificates of its inputs. The latter hold for empty
    /// segments, too, which have no element that makes the checks.
    pub(super) fn certs(&self, aux: Aux, inputs: &[Name]) -> (Aux, Vec<Name>) {
        let more = self.nest.certs_of(inputs).into_iter().filter(|cert| !aux.certs.contains(cert));
        let all = aux.certs.iter().copied().chain(more);
        let (variant, known): (Vec<Name>, Vec<Name>) = all.partition(|cert| self.nest.is_variant(*cert));
        (Aux { certs: known.into_iter().collect(), ..aux }, variant)
    }

    /// Binds the body's results that have no array yet.
    pub(super) fn results(mut self, ctx: &mut Ctx<'_>, results: Vec<(Atom, Param<Soacs>)>) -> Result {
        let (mut left, mut pat, mut ret) = (Vec::new(), Vec::new(), Vec::new());
        for (mut result, param) in results {
            let waits = result.var().is_some_and(|name| self.is_pending(name));
            if matches!(param.ty, Type::Acc { .. }) {
                // An accumulator from outside the nest, if no pending statement updates it.
                if let Some(acc) = result.var().filter(|_| !waits).and_then(|name| self.nest.acc(name)) {
                    ctx.bind(param, BasicOp::Atom(acc.into()), self.outer.prov);
                    continue;
                }
            } else {
                let known = result.var().filter(|_| !waits).and_then(|name| self.nest.constant(name));
                result = known.unwrap_or(result);
                if let Some(array) = result.var().and_then(|name| self.nest.array_of(name)) {
                    ctx.bind(param, BasicOp::Copy(array), self.outer.prov);
                    continue;
                }
                if !result.var().is_some_and(|name| self.nest.is_variant(name) || self.is_pending(name)) {
                    let shape = self.nest.widths().collect();
                    ctx.bind(param, BasicOp::Replicate { shape, value: result }, self.outer.prov);
                    continue;
                }
            }
            ret.push(ctx.names.atom_type(result)?);
            left.push(result);
            pat.push(param);
        }
        if left.is_empty() {
            return Ok(());
        }
        let stms = std::mem::take(&mut self.pending.stms);
        self.in_nest(ctx, Body { stms, result: left }, ret, pat)
    }
}

/// The statements without the accumulators that they update, as these are updated once.
fn without_accumulators(stms: &[Stm<Soacs>]) -> Result<Stms<Soacs>> {
    let tokens = stms.iter().flat_map(|stm| &stm.pat).filter_map(|param| match &param.ty {
        Type::Acc { token, .. } => Some(*token),
        Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
    });
    let tokens: Vec<Name> = tokens.collect();
    let stms = stms.iter().filter_map(|stm| without_tokens(stm, &tokens).transpose());
    stms.collect()
}

/// The statements of a body, with its results renamed to the names of a pattern, and the remaining
/// results to be bound: names from outside the body, constants, repeated results.
fn named(body: Body<Soacs>, pat: Pat) -> (Stms<Soacs>, Vec<(Param<Soacs>, Atom)>) {
    let Body { mut stms, result } = body;
    let given: Vec<(Param<Soacs>, Atom)> = pat.into_iter().zip(result).collect();
    let own: FxHashSet<Name> = given.iter().map(|(param, _)| param.name).collect();
    let mut dims = given.iter().flat_map(|(param, _)| param.ty.shape());
    if dims.any(|dim| matches!(dim, Dim::Var(size) if own.contains(size))) {
        // A size has to be bound before the arrays that have it.
        return (stms, given);
    }
    let mut wanted: FxHashMap<Name, Param<Soacs>> = FxHashMap::default();
    for (param, result) in given.iter().rev() {
        if let Atom::Var(name) = result {
            wanted.insert(*name, param.clone());
        }
    }
    let mut map = Substitution::default();
    let mut done: FxHashSet<Name> = FxHashSet::default();
    for param in stms.iter_mut().flat_map(|stm| &mut stm.pat) {
        if let Some(own) = wanted.remove(&param.name) {
            map.insert(param.name, own.name.into());
            done.insert(own.name);
            *param = own;
        }
    }
    if !map.is_empty() {
        for stm in &mut stms {
            substitute_stm(stm, &map);
        }
    }
    let left = given.into_iter().filter(|(param, _)| !done.contains(&param.name)).map(|(param, result)| {
        let renamed = result.var().and_then(|name| map.get(&name).copied());
        (param, renamed.unwrap_or(result))
    });
    (stms, left.collect())
}

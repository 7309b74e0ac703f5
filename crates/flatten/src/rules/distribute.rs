//! Rule G6: a nest over statements becomes nests over groups of statements.
//!
//! ```text
//! Σ ⊢ let a = e1 in e2   =>   let as = (Σ ⊢ e1) in (Σ, a = as[indices of Σ] ⊢ e2)
//! ```
//!
//! Groups are single statements that are parallel in the same way at all points, and
//! what runs in order between them. Of the latter, what is cheap is not stored for
//! later groups but computed again there: scalars, views, checks. A group that later
//! ones do not need waits for the next one like it.

use super::pending::{Needs, Pending, Way};
use super::regular::Bound;
use super::results::named;
use super::{book, branches, irregular, loops, once, versions};
use crate::context::Ctx;
use crate::manifest::Point;
use crate::nest::{Nest, Segments};
use crate::position::Position;
use ir::soac::Soac;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::stm_names;
use ir::{FunName, Name, PassError, Segs, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Whether the rule gains anything: there is a statement that the nest goes into, be it
/// irregular if that is wanted.
pub(super) fn exploits(ctx: &Ctx<'_>, nest: &Nest<'_>, body: &Body<Soacs>, irregular: bool) -> bool {
    let bound = Bound { nest, more: &|_| false, irregular, lifts: &ctx.lifts };
    bound.exploits(body)
}

/// Whether it gains anything though nothing in it is parallel: each element of what it
/// gives can be computed alone.
pub(super) fn gives_elements(ctx: &Ctx<'_>, nest: &Nest<'_>, body: &Body<Soacs>) -> bool {
    let bound = Bound { nest, more: &|_| false, irregular: true, lifts: &ctx.lifts };
    book::gives_elements(bound, body)
}

/// Appends a nest over a body; the pattern has its results at all points.
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

/// Where a body's results go.
#[derive(Default)]
pub(super) struct Sink {
    wanted: FxHashMap<Name, Vec<(usize, Param<Soacs>)>>,
    /// Which of them are there.
    done: FxHashSet<usize>,
}

/// A body that a nest is being distributed over.
pub(super) struct Distribution<'a, 'n> {
    pub(super) nest: Nest<'n>,
    pub(super) pending: Pending,
    /// Which statement uses a name last, each having two numbers; one above for results.
    pub(super) last_use: FxHashMap<Name, usize>,
    /// That number.
    pub(super) end: usize,
    pub(super) at: Position,
    pub(super) aux: &'a Aux,
    /// Whether the nest goes into what is irregular, too.
    pub(super) irregular: bool,
    /// Arrays that the body may consume.
    pub(super) taken: FxHashSet<Name>,
    /// Functions that have versions for all points.
    lifts: Arc<FxHashSet<FunName>>,
    /// The segments of each length that differs from point to point.
    pub(super) segments: FxHashMap<Atom, Segments>,
    /// Names that are segments of an array, by the vector that says whose elements are.
    pub(super) flat: FxHashMap<Name, (Name, Name)>,
}

impl<'a, 'n> Distribution<'a, 'n> {
    /// Begins to distribute a nest over a body.
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
            irregular: irregular::goes(ctx, at),
            taken: once::taken(ctx, body),
            lifts: Arc::clone(&ctx.lifts),
            segments: FxHashMap::default(),
            flat: FxHashMap::default(),
        }
    }
}

impl Distribution<'_, '_> {
    /// The nest over a body; the pattern has its results at all points.
    pub(super) fn over(
        mut self,
        ctx: &mut Ctx<'_>,
        body: Body<Soacs>,
        pat: Vec<Param<Soacs>>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let results = body.result;
        let mut sink = Sink::default();
        for (k, (result, param)) in results.iter().zip(&pat).enumerate() {
            if let Atom::Var(name) = result {
                sink.wanted.entry(*name).or_default().push((k, param.clone()));
            }
        }
        self.statements(ctx, body.stms, &mut sink, out)?;
        let results = results.into_iter().zip(pat).enumerate();
        let results = results.filter(|(k, _)| !sink.done.contains(k));
        let results = results.map(|(_, it)| it).collect();
        self.results(ctx, results, out)
    }

    /// The nest over statements, in order.
    pub(super) fn statements(
        &mut self,
        ctx: &mut Ctx<'_>,
        stms: Vec<Stm<Soacs>>,
        sink: &mut Sink,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        for (i, stm) in stms.into_iter().enumerate() {
            let stms = self.rewritten(ctx, stm)?;
            let last = stms.len().saturating_sub(1);
            // What the parts have for each other is wanted.
            for param in stms.iter().take(last).flat_map(|stm| &stm.pat) {
                self.last_use.entry(param.name).or_insert(2 * i + 1);
            }
            for (k, stm) in stms.into_iter().enumerate() {
                self.statement(ctx, (2 * i + usize::from(k == last), stm), sink, out)?;
            }
        }
        Ok(())
    }

    /// The nest over a statement, or the statement waits.
    fn statement(
        &mut self,
        ctx: &mut Ctx<'_>,
        (i, stm): (usize, Stm<Soacs>),
        sink: &mut Sink,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        if self.irregular && matches!(&stm.exp, Exp::Apply { args, .. } if args.is_empty()) {
            self.once(ctx, stm, out);
            return Ok(());
        }
        let is_result = stm.pat.iter().any(|p| sink.wanted.contains_key(&p.name));
        if !is_result && let Some(same) = self.same(&stm) {
            return self.at_one_point(ctx, stm, same, out);
        }
        let Some((way, needs)) = self.needs_of(&stm, i) else {
            self.wait(stm);
            return Ok(());
        };
        self.flush(ctx, needs, out)?;
        if self.irregular && !is_result && book::is_invariant(&self.nest, &stm) {
            self.once(ctx, stm, out);
            return Ok(());
        }
        // Nothing in these has to make the statement's checks. Segops see to that by
        // themselves (`empty`).
        let mut checks: Vec<Name> = stm.aux.certs.to_vec();
        let may_leave_out =
            matches!(stm.exp, Exp::Loop { .. } | Exp::If { .. } | Exp::Op(Soac::WithAcc { .. }));
        checks.retain(|cert| may_leave_out && self.nest.is_variant(*cert));
        let at_point = !checks.is_empty() && way == Way::Regular;
        // Results go where they are wanted, if in one place only.
        let mut own = Vec::with_capacity(stm.pat.len());
        for param in &stm.pat {
            let own_size =
                |dim: &Dim| matches!(dim, Dim::Var(name) if stm.pat.iter().any(|p| p.name == *name));
            let varies = |dim: &Dim| self.bound(&|_| false).varies(*dim) || own_size(dim);
            if way == Way::Irregular && param.ty.shape().iter().any(varies) {
                own.push(None);
                continue;
            }
            let expanded = match sink.wanted.get(&param.name).map(Vec::as_slice) {
                Some([(k, param)]) if !at_point => {
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
        if way == Way::Irregular {
            return self.irregular(ctx, stm, own, out);
        }
        let own: Vec<Param<Soacs>> = own.into_iter().flatten().collect();
        let inner = stm.pat.clone();
        self.parallel(ctx, stm, own.clone(), out)?;
        for (param, array) in inner.into_iter().zip(own) {
            self.nest.bind_checked(param, array.name, &checks);
        }
        Ok(())
    }

    /// Whether a name's statement waits for the nest.
    pub(super) fn waits(&self, name: Name) -> bool {
        self.pending.bound.contains_key(&name)
    }

    /// Has all of these names in the nest, of which some may wait, and then the body's other
    /// results, too: nothing waits any longer.
    pub(super) fn settle(
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
        let needs = needs.ok_or_else(|| PassError::bug("a value without a regular shape"))?;
        self.flush(ctx, needs, out)
    }

    /// What is bound in the nest, and what waits.
    pub(super) fn bound<'b>(&'b self, more: &'b dyn Fn(Name) -> bool) -> Bound<'b> {
        Bound { nest: &self.nest, more, irregular: self.irregular, lifts: &self.lifts }
    }

    /// Puts what waits into the nest.
    fn flush(&mut self, ctx: &mut Ctx<'_>, needs: Needs, out: &mut Vec<Stm<Segs>>) -> Result<(), PassError> {
        let Needs { again, stored, filled } = needs;
        if again.is_empty() && stored.is_empty() && filled.is_empty() {
            return Ok(());
        }
        let Pending { stms, .. } = std::mem::take(&mut self.pending);
        let again = again.into_iter().filter_map(|at| stms.get(at).cloned());
        let again: Vec<Stm<Soacs>> = again.collect();
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
        // What is computed again of segments is bound after these are.
        let mut late: FxHashSet<Name> = filled.iter().map(|param| param.name).collect();
        let (after, before): (Vec<_>, Vec<_>) = again.into_iter().partition(|stm| {
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

    /// A segop over the nest, all in order.
    pub(super) fn in_nest(
        &self,
        ctx: &mut Ctx<'_>,
        body: Body<Soacs>,
        ret: Vec<Type>,
        pat: Vec<Param<Soacs>>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let point = Point::map(body, ret);
        let aux = Aux::at(self.aux.prov);
        versions::g2(ctx, &self.nest, self.at, pat, aux, point, out)
    }

    /// The rule of a parallel statement.
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
            Exp::Basic(op) => book::operation(ctx, &nest, self.at, pat, aux, op, out),
            Exp::Apply { .. } => Err(PassError::bug("a nest goes into a call")),
        }
    }

    /// The body's results that have no array yet.
    pub(super) fn results(
        mut self,
        ctx: &mut Ctx<'_>,
        results: Vec<(Atom, Param<Soacs>)>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let (mut left, mut pat, mut ret) = (Vec::new(), Vec::new(), Vec::new());
        for (result, param) in results {
            let known = result.var().filter(|name| !self.waits(*name));
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

    /// The accumulator outside of the nest that a name in it is, if nothing that waits
    /// updates it.
    fn acc(&self, name: Name) -> Option<Name> {
        if self.pending.bound.contains_key(&name) {
            return None;
        }
        self.nest.acc(name)
    }
}

/// Appends a basic operation on the host.
pub(super) fn bind(ctx: &mut Ctx<'_>, param: Param<Soacs>, op: BasicOp, aux: &Aux, out: &mut Vec<Stm<Segs>>) {
    let pat = vec![ctx.param(param)];
    out.push(Stm { pat, aux: Aux::at(aux.prov), exp: Exp::Basic(op) });
}

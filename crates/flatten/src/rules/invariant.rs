//! Statements that are invariant along a dimension of a nest are computed in one of its iterations.
//!
//! ```text
//! ⟨i < n⟩⟨j < k⟩ ⊢ let a = e1 in e2
//!   =>  let m  = if n > 0 then 1 else 0
//!       let as = (⟨i < m⟩⟨j < k⟩ ⊢ e1) in (⟨i < n⟩⟨j < k⟩, a = as[0, j] ⊢ e2)
//!       if e1 depends on nothing that varies with i
//! ```
//!
//! If the dimension has no iterations, nothing is computed: the statement may rely on there being
//! one, as a read does whose index is in range for that reason. After a loop has been interchanged
//! outwards (G7), the rest of a nest is often invariant: coefficients that depend on the time but
//! not on the priced option. Scalar operations that cannot fail are computed outside the nest, so
//! that conditions and sizes are known to be the same for all of it.
//!
//! Applies to: combinators, and loops and branches with combinators in them, whose results have one
//! shape in all iterations. Results of the nest stay in it, and so do consumed arrays, as each
//! iteration has its own.

use super::distribute::{Distribution, distribute};
use super::parallelism::has_parallelism;
use super::updates::viewed;
use crate::context::{Ctx, Let};
use crate::empty_checks::any_empty;
use crate::functions::Callees;
use crate::names::atoms;
use crate::nest::Nest;
use crate::{Pat, Result, Stms};
use analysis::total;
use ir::syntax::{Atom, Attr, BasicOp, Body, Exp, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{
    Substitution, consumed_by, stm_names, sub_bodies, substitute_stm, substitute_type, used_names, with_stack,
};
use ir::{Name, Soacs};
use prim::PrimType;
use rustc_hash::FxHashSet;

/// The dependencies of an invariant statement, and the dimensions that it is invariant along.
pub(super) struct Invariant {
    /// Statements that are computed outside the nest, in order.
    outside: Stms<Soacs>,
    /// Bindings of the nest, in order.
    bound: Stms<Soacs>,
    /// Pending statements, in order.
    waiting: Stms<Soacs>,
    /// The indices of the dimensions along which all of these are invariant.
    fixed: FxHashSet<Name>,
}

/// The names whose arrays statements may consume, also through views of them.
pub(super) fn taken(callees: &Callees, stms: &[Stm<Soacs>]) -> FxHashSet<Name> {
    let mut names = FxHashSet::default();
    take(callees, stms, &mut names);
    names
}

fn take(callees: &Callees, stms: &[Stm<Soacs>], names: &mut FxHashSet<Name>) {
    for stm in stms.iter().rev() {
        let before = names.len();
        names.extend(consumed_by(&stm.exp, |fun, i| callees.consumes(fun, i)));
        sub_bodies(&stm.exp, |body| with_stack(|| take(callees, &body.stms, names)));
        let is_taken = |param: &Param<Soacs>| param.ty.is_array() && names.contains(&param.name);
        let may_pass = match &stm.exp {
            Exp::Basic(op) => viewed(op).is_some() && stm.pat.iter().any(is_taken),
            // The operands may be the parameters that its functions consume.
            Exp::Op(_) => names.len() > before,
            Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } => stm.pat.iter().any(is_taken),
        };
        if may_pass {
            used_names(&stm.exp, |name| {
                names.insert(name);
            });
        }
    }
}

impl Distribution<'_, '_> {
    /// Appends a statement that cannot fail and is invariant in the nest, outside of the nest.
    pub(super) fn bind_outside(&mut self, ctx: &mut Ctx<'_>, stm: Stm<Soacs>) {
        let exp = match stm.exp {
            Exp::Basic(op) => Exp::Basic(op),
            Exp::Apply { fun, args } => Exp::Apply { fun: ctx.call_version(fun, self.scope().at), args },
            Exp::If { .. } | Exp::Loop { .. } | Exp::Op(_) => return,
        };
        let mut pat: Pat = Vec::with_capacity(stm.pat.len());
        let mut names = Substitution::default();
        for param in &stm.pat {
            let mut ty = param.ty.clone();
            substitute_type(&mut ty, &names);
            let own = ctx.names.fresh("invariant", ty);
            names.insert(param.name, own.name.into());
            pat.push(own);
        }
        for (param, own) in stm.pat.into_iter().zip(&pat) {
            self.nest.bind_op(param, BasicOp::Atom(own.name.into()));
        }
        ctx.emit(Let { pat, aux: stm.aux }, exp);
    }

    /// The bindings and pending statements that a statement depends on, if it is invariant along a
    /// dimension and worth a nest of its own.
    pub(super) fn invariant(&self, stm: &Stm<Soacs>) -> Option<Invariant> {
        let bound = self.bound();
        let stays = |param: &Param<Soacs>| {
            matches!(param.ty, Type::Acc { .. })
                || self.may_consume.contains(&param.name)
                || !bound.is_regular_result(stm, &param.ty)
        };
        if !has_combinators(stm) || stm.pat.iter().any(stays) {
            return None;
        }
        let (mut at, mut names) = (FxHashSet::default(), self.nest.certs());
        let mut open = Vec::new();
        stm_names(stm, |name| open.push(name));
        while let Some(name) = open.pop() {
            match self.pending.bound.get(&name) {
                Some(&waits) if at.insert(waits) => {
                    stm_names(self.pending.stms.get(waits)?, |name| open.push(name));
                }
                Some(_) => {}
                None => names.push(name),
            }
        }
        let (bound, indices) = self.nest.dependencies(names)?;
        let own = self.nest.dims().iter().map(|(index, _)| *index);
        let fixed: FxHashSet<Name> = own.filter(|index| !indices.contains(index)).collect();
        if fixed.iter().all(|index| self.nest.has_at_most_one_iteration(*index)) {
            return None;
        }
        let mut at: Vec<usize> = at.into_iter().collect();
        at.sort_unstable();
        let waiting = at.into_iter().filter_map(|at| self.pending.stms.get(at));
        let mut same = Invariant { outside: Vec::new(), bound: Vec::new(), waiting: Vec::new(), fixed };
        let mut inside = indices;
        for (stm, waits) in
            bound.into_iter().map(|stm| (stm, false)).chain(waiting.cloned().map(|stm| (stm, true)))
        {
            let mut outside = stm.aux.certs.is_empty()
                && stm.pat.iter().all(|param| param.ty.is_prim())
                && matches!(&stm.exp, Exp::Basic(op) if total::is_total(op));
            stm_names(&stm, |name| outside &= !inside.contains(&name));
            if outside {
                same.outside.push(stm);
                continue;
            }
            inside.extend(stm.pat.iter().map(|param| param.name));
            if waits {
                same.waiting.push(stm);
            } else {
                same.bound.push(stm);
            }
        }
        Some(same)
    }

    /// Appends a statement in a nest with one iteration along the dimensions that it is invariant along.
    pub(super) fn in_one_iteration(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut stm: Stm<Soacs>,
        mut same: Invariant,
    ) -> Result {
        let pat = stm.pat.clone();
        outside(ctx, &mut same, &mut stm);
        let indices: Vec<Atom> = (self.nest.dims().iter())
            .map(|&(index, _)| if same.fixed.contains(&index) { Atom::i64(0) } else { index.into() })
            .collect();
        let narrow = self.narrowed(ctx, &same.fixed);
        let mut nest = Nest::with_widths(narrow, same.fixed);
        same.bound.into_iter().for_each(|stm| nest.bind(stm));
        let nest = nest.child(self.nest.certs());
        let own: Pat = pat.iter().map(|param| ctx.names.fresh("invariant", nest.expand(&param.ty))).collect();
        let result = atoms(&stm.pat);
        let stms = same.waiting.into_iter().chain([stm]).collect();
        let to = Let::at(self.outer.prov, own.clone());
        distribute(ctx, self.scope().over(&nest), Body { stms, result }, to)?;
        for (param, own) in pat.into_iter().zip(own) {
            self.nest.bind_at(param, own.name, &indices);
        }
        Ok(())
    }

    /// The dimensions of the nest, where those in `fixed` have one iteration, or still none.
    fn narrowed(&self, ctx: &mut Ctx<'_>, fixed: &FxHashSet<Name>) -> Vec<(Name, Dim)> {
        ctx.build(self.outer.prov, |b| {
            let mut one = |width: Dim| match any_empty(b, [width].iter()) {
                None => Dim::Const(1),
                Some(none) => Dim::Var(b.select(PrimType::I64, none, Atom::i64(0), Atom::i64(1))),
            };
            let dims = self.nest.dims().iter();
            dims.map(|&(i, width)| (i, if fixed.contains(&i) { one(width) } else { width })).collect()
        })
    }
}

/// Appends the statements that are computed outside the nest, with fresh names. Names whose types depend on these are
/// fresh, too: the nest keeps the old ones for its other statements.
fn outside(ctx: &mut Ctx<'_>, same: &mut Invariant, stm: &mut Stm<Soacs>) {
    let mut names = Substitution::default();
    for mut scalar in std::mem::take(&mut same.outside) {
        substitute_stm(&mut scalar, &names);
        let (Exp::Basic(op), pat) = (scalar.exp, scalar.pat) else {
            continue;
        };
        let pat = pat.into_iter().map(|param| {
            let own = ctx.names.fresh("outside", param.ty);
            names.insert(param.name, own.name.into());
            own
        });
        let to = Let { pat: pat.collect(), aux: scalar.aux };
        ctx.emit(to, Exp::Basic(op));
    }
    if names.is_empty() {
        return;
    }
    let inside = same.bound.iter_mut().chain(&mut same.waiting);
    for stm in inside.chain([&mut *stm]) {
        substitute_stm(stm, &names);
        for param in &mut stm.pat {
            if ctx.names.type_of(param.name).is_ok_and(|ty| ty != param.ty) {
                let own = ctx.names.fresh_copy(param);
                names.insert(param.name, own.name.into());
                *param = own;
            }
        }
    }
    ctx.names.types.add_exp(&stm.exp);
}

/// Returns true if a statement is a combinator, or a loop or branch with one in it.
fn has_combinators(stm: &Stm<Soacs>) -> bool {
    match &stm.exp {
        _ if stm.aux.attrs.has(&Attr::Sequential) => false,
        Exp::Op(_) => true,
        Exp::Loop { .. } | Exp::If { .. } => {
            let mut found = false;
            sub_bodies(&stm.exp, |body| found |= has_parallelism(body));
            found
        }
        Exp::Basic(_) | Exp::Apply { .. } => false,
    }
}

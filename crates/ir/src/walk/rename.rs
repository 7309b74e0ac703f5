//! Operations on names: substitution, free names, copies with fresh names, import of bodies from
//! another function.
//!
//! All rely on names being unique within a function: a substitution cannot capture, and the free
//! names are those used and not bound inside.

use super::{Visit, VisitMut};
use crate::name::{Name, NameTable};
use crate::poly::Poly;
use crate::prov::{Prov, ProvImport, ProvTable};
use crate::syntax::{Atom, Body, Exp, Lambda, Level, Param, Stm};
use crate::types::{Dim, Type};
use rustc_hash::{FxHashMap, FxHashSet};

/// The operand that replaces each name.
pub type Substitution = FxHashMap<Name, Atom>;

struct Substitute<'a>(&'a Substitution);

impl<L: Level> VisitMut<L> for Substitute<'_> {
    fn name(&mut self, name: &mut Name) {
        if let Some(Atom::Var(new)) = self.0.get(name) {
            *name = *new;
        }
    }

    fn atom(&mut self, atom: &mut Atom) {
        if let Atom::Var(name) = atom
            && let Some(new) = self.0.get(name)
        {
            *atom = *new;
        }
    }

    fn dim(&mut self, dim: &mut Dim) {
        if let Dim::Var(name) = dim
            && let Some(new) = self.0.get(name).and_then(|new| Dim::from_atom(*new))
        {
            *dim = new;
        }
    }

    fn poly(&mut self, poly: &mut Poly) {
        if poly.names().any(|name| self.0.contains_key(&name)) {
            *poly = poly
                .substitute(|name| self.0.get(&name).map_or_else(|| Poly::var(name), |new| Poly::atom(*new)));
        }
    }
}

/// Applies the substitution to the body: to operands, dimensions, types and annotations. Where only
/// a variable is allowed (arrays, certificates, blocks), a name that maps to a constant is kept.
pub fn substitute_body<L: Level>(body: &mut Body<L>, map: &Substitution) {
    if !map.is_empty() {
        VisitMut::<L>::body(&mut Substitute(map), body);
    }
}

/// [`substitute_body`] for the type and annotation of a binder.
pub fn substitute_param<L: Level>(param: &mut Param<L>, map: &Substitution) {
    if !map.is_empty() {
        VisitMut::<L>::param(&mut Substitute(map), param);
    }
}

/// [`substitute_body`] for a statement.
pub fn substitute_stm<L: Level>(stm: &mut Stm<L>, map: &Substitution) {
    if !map.is_empty() {
        VisitMut::<L>::stm(&mut Substitute(map), stm);
    }
}

/// [`substitute_body`] for an expression.
pub fn substitute_exp<L: Level>(exp: &mut Exp<L>, map: &Substitution) {
    if !map.is_empty() {
        VisitMut::<L>::exp(&mut Substitute(map), exp);
    }
}

/// [`substitute_body`] for a lambda (not for its parameters' own names).
pub fn substitute_lambda<L: Level>(lambda: &mut Lambda<L>, map: &Substitution) {
    if !map.is_empty() {
        VisitMut::<L>::lambda(&mut Substitute(map), lambda);
    }
}

/// [`substitute_body`] for a type.
pub fn substitute_type(ty: &mut Type, map: &Substitution) {
    if !map.is_empty() {
        VisitMut::<crate::Soacs>::ty(&mut Substitute(map), ty);
    }
}

#[derive(Default)]
struct Names {
    used: FxHashSet<Name>,
    bound: Vec<Name>,
}

impl<L: Level> Visit<L> for Names {
    fn name(&mut self, name: &Name) {
        self.used.insert(*name);
    }

    fn binder(&mut self, name: &Name) {
        self.bound.push(*name);
    }
}

impl Names {
    fn free(mut self) -> Vec<Name> {
        for name in &self.bound {
            self.used.remove(name);
        }
        #[allow(clippy::iter_over_hash_type, reason = "sorted right away")]
        let mut free: Vec<Name> = self.used.into_iter().collect();
        free.sort_unstable();
        free
    }
}

/// Returns the names that the body uses and does not bind, sorted.
pub fn free_names<L: Level>(body: &Body<L>) -> Vec<Name> {
    let mut names = Names::default();
    Visit::<L>::body(&mut names, body);
    names.free()
}

/// Returns the names that the lambda uses and does not bind, sorted.
pub fn free_names_lambda<L: Level>(lambda: &Lambda<L>) -> Vec<Name> {
    let mut names = Names::default();
    Visit::<L>::lambda(&mut names, lambda);
    names.free()
}

/// Returns the names that the expression uses and does not bind, sorted.
pub fn free_names_exp<L: Level>(exp: &Exp<L>) -> Vec<Name> {
    let mut names = Names::default();
    Visit::<L>::exp(&mut names, exp);
    names.free()
}

/// Returns the names bound in the body, at any depth, in scope order.
pub fn binders<L: Level>(body: &Body<L>) -> Vec<Name> {
    let mut names = Names::default();
    Visit::<L>::body(&mut names, body);
    names.bound
}

/// Returns the names bound in bodies and lambdas of the expression, at any depth, in scope order.
pub fn binders_in<L: Level>(exp: &Exp<L>) -> Vec<Name> {
    let mut names = Names::default();
    Visit::<L>::exp(&mut names, exp);
    names.bound
}

/// Renames each binder by `fresh`, and then its uses, which follow in scope order. Other names are
/// substituted by `map`, provenances by `prov`.
struct Copier<'a, F, P> {
    map: &'a mut Substitution,
    fresh: F,
    prov: P,
}

impl<L: Level, F: FnMut(Name) -> Name, P: FnMut(Prov) -> Prov> VisitMut<L> for Copier<'_, F, P> {
    fn binder(&mut self, name: &mut Name) {
        let new = (self.fresh)(*name);
        self.map.insert(*name, Atom::Var(new));
        *name = new;
    }

    fn prov(&mut self, prov: &mut Prov) {
        *prov = (self.prov)(*prov);
    }

    fn name(&mut self, name: &mut Name) {
        VisitMut::<L>::name(&mut Substitute(self.map), name);
    }

    fn atom(&mut self, atom: &mut Atom) {
        VisitMut::<L>::atom(&mut Substitute(self.map), atom);
    }

    fn dim(&mut self, dim: &mut Dim) {
        VisitMut::<L>::dim(&mut Substitute(self.map), dim);
    }

    fn poly(&mut self, poly: &mut Poly) {
        VisitMut::<L>::poly(&mut Substitute(self.map), poly);
    }
}

/// Returns a copy of the body with fresh bound names and its free names substituted by `map`. On
/// return `map` also maps each bound name to its new name.
pub fn refresh_body<L: Level>(body: &Body<L>, names: &mut NameTable, map: &mut Substitution) -> Body<L> {
    let mut copy = body.clone();
    let fresh = |name| names.fresh_like(name);
    VisitMut::<L>::body(&mut Copier { map, fresh, prov: |prov| prov }, &mut copy);
    copy
}

/// Returns true if two bodies of a function are equal up to the names that they bind
/// (alpha-equivalent).
pub fn alpha_equivalent<L: Level>(one: &Body<L>, other: &Body<L>) -> bool {
    alpha_equivalent_given(one, other, Substitution::default())
}

/// The same after a substitution of the other body's free names.
pub fn alpha_equivalent_given<L: Level>(one: &Body<L>, other: &Body<L>, mut map: Substitution) -> bool {
    if one.stms.len() != other.stms.len() {
        return false;
    }
    let mut bound = binders(one).into_iter();
    let mut copy = other.clone();
    let fresh = |name| bound.next().unwrap_or(name);
    VisitMut::<L>::body(&mut Copier { map: &mut map, fresh, prov: |prov| prov }, &mut copy);
    *one == copy
}

/// Returns true if two expressions of a function are equal up to the names that they bind and their
/// provenances.
pub fn alpha_equivalent_ignoring_prov<L: Level>(one: &Exp<L>, other: &Exp<L>) -> bool {
    let mut names = Names::default();
    Visit::<L>::exp(&mut names, one);
    let without = |exp: &Exp<L>| {
        let mut bound = names.bound.iter().copied();
        let mut copy = exp.clone();
        VisitMut::<L>::exp(
            &mut Copier {
                map: &mut Substitution::default(),
                fresh: |name| bound.next().unwrap_or(name),
                prov: |_| Prov::NONE,
            },
            &mut copy,
        );
        copy
    };
    without(one) == without(other)
}

/// [`refresh_body`] for a lambda; its parameters are fresh too.
pub fn refresh_lambda<L: Level>(
    lambda: &Lambda<L>,
    names: &mut NameTable,
    map: &mut Substitution,
) -> Lambda<L> {
    let mut copy = lambda.clone();
    let fresh = |name| names.fresh_like(name);
    VisitMut::<L>::lambda(&mut Copier { map, fresh, prov: |prov| prov }, &mut copy);
    copy
}

/// Source and target of the import of a body from another function.
pub struct Import<'a> {
    /// Names of the source function.
    pub from_names: &'a NameTable,
    /// Provenances of the source function.
    pub from_provs: &'a ProvTable,
    /// Names of the target function.
    pub names: &'a mut NameTable,
    /// Provenances of the target function.
    pub provs: &'a mut ProvTable,
    /// Provenance of the call, in the target function; put below each stack of the body.
    pub outer: Prov,
}

/// Returns a copy of another function's body, with all bound names fresh in the target function.
/// `map` maps the body's free names (the source function's parameters) to operands; on return it
/// also maps each bound name to its new name.
pub fn import_body<L: Level>(body: &Body<L>, import: &mut Import<'_>, map: &mut Substitution) -> Body<L> {
    let Import { from_names, from_provs, names, provs, outer } = import;
    let mut imported = ProvImport { from: from_provs, to: provs, outer: *outer, known: FxHashMap::default() };
    let mut copy = body.clone();
    let fresh = |name| names.fresh_shared(from_names.hint(name).clone());
    let prov = |old| imported.prov(old);
    VisitMut::<L>::body(&mut Copier { map, fresh, prov }, &mut copy);
    copy
}

//! Substitution of replacements for names.
//!
//! The certificates that a replacement depends on are added to the statement; sizes, types,
//! annotations and results of bodies have no place for certificates and are only replaced if there
//! are none.

use super::{Certs, Simplifier, Sub, add_certs};
use crate::level::OptLevel;
use ir::Name;
use ir::poly::Poly;
use ir::syntax::{Atom, Body, Lambda, Level, Param};
use ir::types::{Dim, Type};
use ir::walk::VisitMut;

impl<L: OptLevel> Simplifier<'_, L> {
    /// Rewrites results of a body, only by replacements without certificates.
    pub(crate) fn results(&self, mut result: Vec<Atom>) -> Vec<Atom> {
        for atom in &mut result {
            self.rewrite_plain(atom);
        }
        result
    }

    /// Rewrites an operand where no certificates can be added.
    pub(crate) fn rewrite_plain(&self, atom: &mut Atom) {
        if let Atom::Var(name) = atom
            && let Some(sub) = &self.subs[name.index()]
            && sub.certs.is_empty()
        {
            *atom = sub.atom;
        }
    }

    /// Rewrites an operand, and adds the certificates of the replacement.
    pub(crate) fn rewrite_atom(&self, atom: &mut Atom, certs: &mut Certs) {
        VisitMut::<L>::atom(&mut Rewriter { subs: &self.subs, certs }, atom);
    }

    /// Rewrites an array, and adds the certificates of the replacement.
    pub(crate) fn rewrite_name(&self, name: &mut Name, certs: &mut Certs) {
        VisitMut::<L>::name(&mut Rewriter { subs: &self.subs, certs }, name);
    }

    pub(crate) fn rewrite_dim(&self, dim: &mut Dim) {
        let mut certs = Certs::new();
        VisitMut::<L>::dim(&mut Rewriter { subs: &self.subs, certs: &mut certs }, dim);
    }

    pub(crate) fn rewrite_type(&self, ty: &mut Type) {
        let mut certs = Certs::new();
        VisitMut::<L>::ty(&mut Rewriter { subs: &self.subs, certs: &mut certs }, ty);
    }

    pub(crate) fn rewrite_param(&self, param: &mut Param<L>) {
        self.rewrite_type(&mut param.ty);
        let mut certs = Certs::new();
        VisitMut::<L>::ann(&mut Rewriter { subs: &self.subs, certs: &mut certs }, &mut param.ann);
    }

    pub(super) fn rewrite_certs(&self, certs: &Certs) -> Certs {
        let mut new = Certs::new();
        for cert in certs {
            match self.cert_subs.get(cert) {
                Some(subs) => add_certs(&mut new, subs),
                None => add_certs(&mut new, &[*cert]),
            }
        }
        new
    }
}

/// Substitutes replacements for names, except in bodies.
pub(super) struct Rewriter<'a> {
    pub(super) subs: &'a [Option<Sub>],
    pub(super) certs: &'a mut Certs,
}

impl Rewriter<'_> {
    fn sub(&self, name: Name) -> Option<&Sub> {
        self.subs.get(name.index())?.as_ref()
    }
}

impl<L: Level> VisitMut<L> for Rewriter<'_> {
    fn name(&mut self, name: &mut Name) {
        if let Some(Sub { atom: Atom::Var(new), certs }) =
            self.subs.get(name.index()).and_then(|sub| sub.as_ref())
        {
            *name = *new;
            add_certs(self.certs, certs);
        }
    }

    fn atom(&mut self, atom: &mut Atom) {
        if let Atom::Var(name) = atom
            && let Some(sub) = self.subs.get(name.index()).and_then(|sub| sub.as_ref())
        {
            *atom = sub.atom;
            add_certs(self.certs, &sub.certs);
        }
    }

    fn dim(&mut self, dim: &mut Dim) {
        if let Dim::Var(name) = dim
            && let Some(sub) = self.sub(*name)
            && sub.certs.is_empty()
            && let Some(new) = Dim::from_atom(sub.atom)
        {
            *dim = new;
        }
    }

    fn poly(&mut self, poly: &mut Poly) {
        if poly.names().any(|name| self.sub(name).is_some()) {
            *poly = poly.substitute(|name| match self.sub(name) {
                Some(sub) if sub.certs.is_empty() => Poly::atom(sub.atom),
                _ => Poly::var(name),
            });
        }
    }

    fn body(&mut self, _: &mut Body<L>) {}

    fn lambda(&mut self, _: &mut Lambda<L>) {}
}

//! Patterns: the roots of their variables.

use super::alias::{Aliases, MemoryRoot, holds_memory, position, set};
use super::{ConsumptionCheck, Origin, Owner, RootInfo};
use crate::tast::{Pat, PatKind, Ty, Uniq, VarId};
use std::rc::Rc;

impl ConsumptionCheck<'_> {
    pub(super) fn new_root(&mut self, origin: Origin, owner: Owner) -> MemoryRoot {
        let root = MemoryRoot::new(self.roots.len());
        self.roots.push(RootInfo { origin, owner, consumed: None, reported: false });
        root
    }

    /// Binds a parameter: each component gets its own root, which is consumable if the component is
    /// unique by its own type or an enclosing one.
    pub(super) fn bind_param(&mut self, pat: &Pat, outer: &Uniq) {
        let unique = pat.consumes.or(outer);
        match &pat.kind {
            PatKind::Var(var) => {
                let aliases = self.param_aliases(*var, &pat.ty, &unique);
                self.vars.insert(*var, aliases);
            }
            PatKind::Wildcard | PatKind::Lit(..) => {}
            PatKind::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.bind_param(part, unique.part(i));
                }
            }
            PatKind::Record(fields) => {
                for (label, part) in fields {
                    self.bind_param(part, unique.part(position(&pat.ty, label)));
                }
            }
            PatKind::Constr(_, parts) => {
                let unique = if unique.any() { Uniq::All } else { Uniq::None };
                for part in parts {
                    self.bind_param(part, &unique);
                }
            }
            PatKind::Attr(_, inner) => self.bind_param(inner, &unique),
        }
    }

    pub(super) fn param_aliases(&mut self, var: VarId, ty: &Ty, unique: &Uniq) -> Aliases {
        let parts: Vec<&Ty> = match ty {
            Ty::Tuple(parts) => parts.iter().collect(),
            Ty::Record(fields) => fields.iter().map(|(_, ty)| ty).collect(),
            ty if holds_memory(ty) => {
                let owner = if unique.any() { Owner::Owned } else { Owner::Borrowed };
                let root = self.new_root(Origin::Var(var), owner);
                return Aliases::Roots(Rc::from([root]));
            }
            _ => return Aliases::none(),
        };
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(i, ty)| self.param_aliases(var, ty, unique.part(i)));
        Aliases::Parts(parts.collect())
    }

    /// Binds a pattern to a value. Components that share no memory get a root of their own.
    pub(super) fn bind(&mut self, pat: &Pat, aliases: &Aliases) {
        match &pat.kind {
            PatKind::Var(var) => {
                let aliases = self.named(*var, &pat.ty, aliases);
                self.vars.insert(*var, aliases);
            }
            PatKind::Wildcard | PatKind::Lit(..) => {}
            PatKind::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.bind(part, &aliases.part(i));
                }
            }
            PatKind::Record(fields) => {
                for (label, part) in fields {
                    self.bind(part, &aliases.part(position(&pat.ty, label)));
                }
            }
            PatKind::Constr(_, parts) => {
                let roots = set(aliases.to_vec());
                for part in parts {
                    self.bind(part, &Aliases::spread(&roots, &part.ty));
                }
            }
            PatKind::Attr(_, inner) => self.bind(inner, aliases),
        }
    }

    fn named(&mut self, var: VarId, ty: &Ty, aliases: &Aliases) -> Aliases {
        let parts: Vec<&Ty> = match (aliases, ty) {
            (Aliases::Parts(_), Ty::Tuple(parts)) => parts.iter().collect(),
            (Aliases::Parts(_), Ty::Record(fields)) => fields.iter().map(|(_, ty)| ty).collect(),
            (Aliases::Roots(roots), ty) if roots.is_empty() => {
                return Aliases::build(ty, &mut |_| {
                    Aliases::Roots(Rc::from([self.new_root(Origin::Var(var), Owner::Owned)]))
                });
            }
            _ => return aliases.clone(),
        };
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(i, ty)| self.named(var, ty, &aliases.part(i)));
        Aliases::Parts(parts.collect())
    }
}

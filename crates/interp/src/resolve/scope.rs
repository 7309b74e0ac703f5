//! Scopes of watched programs: each variable is recorded with the source region that is its scope.
//! In other programs, nothing is recorded.

use super::{Found, Resolver};
use crate::debug::ScopedVar;
use crate::tree::Param;
use check::tast::{Pat, PatKind, Ty, VarId};
use syntax::span::Span;

impl Resolver<'_> {
    /// A pattern whose variables are in scope in a source region; `from` has the types of the
    /// values matched.
    pub(super) fn param_in_scope(&mut self, pat: &Pat, from: &[&Ty], region: Span) -> Param {
        let param = self.param(pat, from);
        if self.watched.is_some() {
            self.pattern_in_scope(pat, region);
        }
        param
    }

    fn pattern_in_scope(&mut self, pat: &Pat, region: Span) {
        match &pat.kind {
            PatKind::Var(var) => self.add_to_scope(*var, &pat.ty, region),
            PatKind::Wildcard | PatKind::Lit(..) => {}
            PatKind::Tuple(pats) | PatKind::Constr(_, pats) => {
                for pat in pats {
                    self.pattern_in_scope(pat, region);
                }
            }
            PatKind::Record(pats) => {
                for (_, pat) in pats {
                    self.pattern_in_scope(pat, region);
                }
            }
            PatKind::Attr(_, pat) => self.pattern_in_scope(pat, region),
        }
    }

    /// Records that a variable is in scope in a source region.
    pub(super) fn add_to_scope(&mut self, var: VarId, source: &Ty, region: Span) {
        let Some(program) = self.watched else {
            return;
        };
        let name = program.vars.get(var.index()).map(|info| &info.name);
        let Some(name) = name.filter(|name| is_plain(name)).cloned() else {
            return;
        };
        let Found::Slot(slot) = self.lookup(var) else {
            return;
        };
        let ty = self.ty(source);
        self.frame().seen.push(ScopedVar { var, name, slot, source: source.clone(), ty, region });
    }

    /// Adds the variables in scope at an inner function to the inner function's own.
    pub(super) fn inherit_scope(&mut self, body: Span) {
        if self.watched.is_none() {
            return;
        }
        let around = self.frames.len().checked_sub(2);
        let Some(around) = around.and_then(|at| self.frames.get(at)) else {
            return;
        };
        let seen: Vec<(VarId, Ty)> = around
            .seen
            .iter()
            .filter(|it| it.is_visible_at(body))
            .map(|seen| (seen.var, seen.source.clone()))
            .collect();
        for (var, source) in seen {
            self.add_to_scope(var, &source, body);
        }
    }

    /// The region after a binding: the bindings after it, and the body.
    pub(super) fn region_after(&self, binding: Span, body: Span) -> Span {
        Span::new(body.file, binding.end.min(body.end), body.end)
    }
}

/// Returns true if a name is an identifier, not an operator.
fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '\'')
}

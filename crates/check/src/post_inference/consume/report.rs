//! Diagnostics about invalid consumption.

use super::alias::MemoryRoot;
use super::{ConsumptionCheck, Origin, Owner, Use};
use crate::tast::{Exp, ExpKind, Name, VarId};
use std::sync::Arc;
use syntax::diag::Diagnostic;
use syntax::span::Span;

impl ConsumptionCheck<'_> {
    /// The owner of a root.
    pub(super) fn owner(&self, root: MemoryRoot) -> Owner {
        let info = self.roots.get(root.index());
        info.map_or(Owner::Owned, |info| info.owner)
    }

    /// The name of a root, for messages.
    pub(super) fn root_name(&self, root: MemoryRoot) -> String {
        match self.roots.get(root.index()).map(|info| &info.origin) {
            Some(Origin::Var(var)) => format!("\"{}\"", self.var_name(*var)),
            Some(Origin::Result(name)) => format!("the result of applying \"{name}\""),
            None => "a value".to_owned(),
        }
    }

    pub(super) fn var_name(&self, var: VarId) -> &str {
        self.tables.vars.get(var.index()).map_or("?", |data| &data.name)
    }

    /// The name of a function, for messages.
    pub(super) fn function_name(&self, fun: &Exp) -> Name {
        match &fun.kind {
            ExpKind::Var { id, .. } => Arc::from(self.var_name(*id)),
            ExpKind::Intrinsic { .. } => Arc::from("a built-in function"),
            _ => Arc::from("a function"),
        }
    }

    /// The span that binds a variable.
    fn binding_span(&self, var: VarId) -> Option<Span> {
        let data = self.tables.vars.get(var.index())?;
        data.span
    }

    /// Adds a label at the span that binds the root's variable.
    fn label_binding(&self, root: MemoryRoot, diag: Diagnostic) -> Diagnostic {
        let Some(info) = self.roots.get(root.index()) else {
            return diag;
        };
        let binding = match &info.origin {
            Origin::Var(var) => self.binding_span(*var),
            Origin::Result(_) => None,
        };
        match binding {
            Some(span) => diag.also(span, format!("{} is bound here", self.root_name(root))),
            None => diag,
        }
    }

    /// Reports a use of consumed memory.
    pub(super) fn used_after(&mut self, used: &Use, consumed: Span) {
        if !self.first_report(used.root) {
            return;
        }
        let name = self.root_name(used.root);
        let message = match used.var {
            Some(var) if format!("\"{}\"", self.var_name(var)) != name => {
                let var = self.var_name(var);
                format!("Using \"{var}\", which may share memory with {name}, but this was consumed")
            }
            _ => format!("Using {name}, but this was consumed"),
        };
        let diag = Diagnostic::error("use-after-consume", message)
            .at(used.span, "used here")
            .also(consumed, "consumed here");
        let mut diag = self.label_binding(used.root, diag);
        let alias = used.var.map(|var| (self.var_name(var), self.binding_span(var)));
        if let Some((alias, Some(span))) = alias
            && diag.secondary.iter().all(|label| label.span != span)
        {
            diag = diag.also(span, format!("\"{alias}\" is bound here"));
        }
        let diag = diag.hint("use it before it is consumed, or consume a `copy` of it");
        self.diags.push(diag);
    }

    /// Reports consumption of memory that the code does not own.
    pub(super) fn not_consumable(&mut self, root: MemoryRoot, span: Span) {
        if !self.first_report(root) {
            return;
        }
        let name = self.root_name(root);
        let outer = root.0 < self.barrier;
        let owner = self.roots.get(root.index()).map(|info| info.owner);
        let (message, hint) = match owner {
            Some(Owner::Owned) if outer => (
                format!(
                    "Consuming variable {name}, which is not consumable {}: it comes from outside",
                    self.region
                ),
                "pass it as a parameter, or consume a `copy`",
            ),
            Some(Owner::Global) => {
                (format!("Consuming {name}, which is not consumable: it is a constant"), "consume a `copy`")
            }
            _ => (
                format!("Consuming {name}, which is not consumable"),
                "declare the type of the parameter unique with `*`, or consume a `copy`",
            ),
        };
        let diag = Diagnostic::error("not-consumable", message).at(span, "consumed here").hint(hint);
        let diag = self.label_binding(root, diag);
        self.diags.push(diag);
    }

    /// Reports an error about a root at one span, once per root.
    pub(super) fn report(&mut self, id: &'static str, root: MemoryRoot, span: Span, message: String) {
        if self.first_report(root) {
            let diag = Diagnostic::error(id, message).at(span, "");
            let name = self.root_name(root);
            let diag = diag.hint(format!("use a `copy` of {name} here, which shares no memory"));
            let diag = self.label_binding(root, diag);
            self.diags.push(diag);
        }
    }

    /// Returns true at the first report about the root.
    fn first_report(&mut self, root: MemoryRoot) -> bool {
        match self.roots.get_mut(root.index()) {
            Some(info) => !std::mem::replace(&mut info.reported, true),
            None => false,
        }
    }
}

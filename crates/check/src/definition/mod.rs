//! The checking of one definition, and its state.
//!
//! A [`DefinitionChecker`] is made for each walk over a definition (and over each type and module type in a
//! declaration) and dropped after it, so its records of sections, sizes, literals and local names
//! cannot leak into another definition. It infers types with [`Infer`], looks up names in the
//! [`Context`] that it borrows, and reports errors there. [`finish`] completes the definition.
//!
//! It has no access to files, imports, applications of modules or entry points. Earlier definitions
//! are visible through the context only.

mod ambiguous;
mod arrays;
mod exps;
mod finish;
mod functions;
mod hints;
mod literals;
mod loops;
mod mismatch;
mod ops;
mod pats;
mod size_params;
mod type_rules;
mod types;
mod uses;

pub(crate) use functions::FunctionSyntax;
use types::AnonymousSizes;

use crate::context::Context;
use crate::index::{ItemKind, OpenLabel};
use crate::infer::{Infer, InferTables, Scalars, Sizes, Walk};
use crate::tast::{Dim, Ty, VarId};
use crate::unused::BindingUses;
use ambiguous::RequiredSize;
use hints::MonomorphicFunctions;
use literals::Literals;
use rustc_hash::FxHashSet;
use syntax::ast::{Ident, Liftedness};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// The state of a walk over one definition.
pub(crate) struct DefinitionChecker<'d, 'a> {
    pub(crate) infer: Infer<'d>,
    pub(crate) cx: &'d mut Context<'a>,
    /// The spans of sections with a left operand.
    sections: FxHashSet<Span>,
    /// Sizes that must be inferred.
    required_sizes: Vec<RequiredSize>,
    /// Literals whose types are still inferred.
    literals: Literals,
    /// Local names, for warnings about unused ones.
    names: BindingUses,
    /// Local functions, for hints.
    functions: MonomorphicFunctions,
    /// Functions with a declared result.
    declared: Vec<VarId>,
    /// The definition being checked, from its beginning on.
    current_def: Option<VarId>,
    /// The checks that the finished definition needs.
    needed_checks: NeededChecks,
    /// True if a recursive function without a declared result is used in itself at sizes that
    /// differ from its own.
    recursive_sizes_differ: bool,
    /// Holes, with their types.
    holes: Vec<(Span, Ty)>,
    /// Anonymous sizes that are arguments of types.
    size_args: Vec<VarId>,
    /// Pattern variables with a declared type that is not unique.
    non_unique_params: Vec<VarId>,
    /// Fields and constructors, for the index of names.
    labels: Vec<OpenLabel>,
    /// The kind of the variables that patterns bind here.
    variables: ItemKind,
}

/// The properties of a definition that determine the checks of the finished one.
#[derive(Clone, Copy, Default)]
struct NeededChecks {
    /// The number of unknown sizes before the definition.
    unknowns: u32,
    /// True if it mentions itself.
    recursive: bool,
    /// True if it has refutable patterns or a `match`.
    refutable: bool,
    /// True if it uses `==` or `!=`.
    equality: bool,
}

impl<'d, 'a> DefinitionChecker<'d, 'a> {
    /// The state at the start of a walk.
    pub(crate) fn new(tables: &'d mut InferTables, cx: &'d mut Context<'a>, walk: Walk) -> Self {
        let unknowns = tables.unknowns;
        Self {
            infer: Infer::new(tables, walk),
            cx,
            sections: FxHashSet::default(),
            required_sizes: Vec::new(),
            literals: Literals::default(),
            names: BindingUses::default(),
            functions: MonomorphicFunctions::default(),
            declared: Vec::new(),
            non_unique_params: Vec::new(),
            size_args: Vec::new(),
            holes: Vec::new(),
            current_def: None,
            needed_checks: NeededChecks { unknowns, ..NeededChecks::default() },
            recursive_sizes_differ: false,
            labels: Vec::new(),
            variables: ItemKind::Local,
        }
    }

    /// Runs `f` one scope deeper, which is at a span, and removes its bindings afterwards.
    pub(crate) fn scoped<T>(&mut self, scope: Span, f: impl FnOnce(&mut Self) -> T) -> T {
        let (mark, depth) = (self.cx.env.enter(), self.infer.depth);
        let outer = std::mem::replace(&mut self.cx.scope, scope);
        self.infer.depth += 1;
        let result = f(self);
        self.infer.depth = depth;
        self.cx.scope = outer;
        self.cx.env.leave(mark);
        result
    }

    /// Records a local name. `update` is true if it is bound by `let x[i] = v`.
    fn record_binding(&mut self, name: &Ident, update: bool) {
        if !self.cx.site.is_prelude() {
            self.names.bind(name, update);
        }
    }

    /// Binds a local variable.
    fn bind_local(&mut self, name: &Ident, kind: ItemKind, var: VarId, ty: Ty) {
        self.cx.define(name, kind);
        self.cx.env.bind_mono(name.name, var, ty, name.span);
    }

    /// Records fields or constructors of a type; `declared` is true in a type.
    fn record_labels<'l>(&mut self, labels: impl IntoIterator<Item = &'l Ident>, ty: &Ty, declared: bool) {
        if self.cx.recorder().is_some() {
            for label in labels {
                let name = self.cx.symbol_text(label.name);
                self.labels.push(OpenLabel { name, span: label.span, ty: ty.clone(), declared });
            }
        }
    }

    /// Records a use of the name bound at a span.
    fn record_use(&mut self, binding: Option<Span>) {
        if let Some(binding) = binding
            && !self.cx.site.is_prelude()
        {
            self.names.use_name(binding);
        }
    }

    /// Unifies `found` with `expected`, or reports a mismatch; returns true on success. `what`
    /// opens the message: "the argument has the wrong type".
    pub(crate) fn unify(&mut self, expected: &Ty, found: &Ty, span: Span, what: &str) -> bool {
        match self.infer.unifying(Sizes::Strict, span, |u| u.unify(expected, found)) {
            Ok(()) => true,
            Err(mismatch) => {
                self.mismatch(expected, found, &mismatch, span, what);
                false
            }
        }
    }

    /// Requires a scalar type of the set.
    pub(super) fn require_scalar(&mut self, ty: &Ty, set: Scalars, span: Span, what: &str) {
        if let Err(mismatch) = self.infer.unifying(Sizes::Strict, span, |u| u.require_scalar(ty, set)) {
            self.mismatch(ty, ty, &mismatch, span, what);
        }
    }

    /// Requires a type of at most this liftedness.
    pub(crate) fn require_lifted(&mut self, ty: &Ty, lifted: Liftedness, span: Span, what: &str) {
        let ty = self.infer.tables.resolve(ty);
        if let Err(mismatch) = self.infer.unifying(Sizes::Strict, span, |u| u.require_lifted(&ty, lifted)) {
            self.mismatch(&ty, &ty, &mismatch, span, what);
        }
    }

    /// Unifies the pairs of sizes deferred since `from` again, and reports mismatches. At the end
    /// of a definition (`last`), also reports the pairs that remain undecided.
    pub(super) fn solve_deferred(&mut self, from: usize, last: bool) {
        loop {
            let todo = self.infer.take_deferred(from);
            let before = todo.len();
            for ((a, b), span) in todo {
                let result = self.infer.unifying(Sizes::Strict, span, |u| u.unify_dims(&a, &b));
                if let Err(mismatch) = result {
                    let ty = |d: &Dim| Ty::array(d.clone(), Ty::unit());
                    self.mismatch(&ty(&a), &ty(&b), &mismatch, span, "sizes do not match");
                }
            }
            if self.infer.deferred() - from >= before {
                break;
            }
        }
        if last {
            for ((a, b), span) in self.infer.take_deferred(from) {
                let (a, b) = (self.infer.tables.show_dim(&a), self.infer.tables.show_dim(&b));
                self.cx.report(
                    Diagnostic::error(
                        "ambiguous-size",
                        format!("cannot infer sizes such that \"{a}\" equals \"{b}\""),
                    )
                    .at(span, "")
                    .hint("specify the sizes with a size coercion `:>`"),
                );
            }
        }
    }
}

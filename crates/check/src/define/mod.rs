//! The state of the definition that is being checked, and its checking.
//!
//! A [`Definer`] is made for each walk over a definition (and over each type and each
//! module type that a declaration writes), and gone with it: what it notes of sections, sizes, literals
//! and local names cannot be taken for another definition's. It infers types with
//! [`Infer`], looks up names in the [`Context`] that it borrows, and says there what is
//! wrong; at its end ([`finish`]) the definition is complete.
//!
//! Never known here: files, imports, applications of modules, entry points, and the
//! definitions before as more than what the context says of them.

mod advice;
mod ambiguous;
mod arrays;
mod explain;
mod exps;
mod finish;
mod funs;
mod literals;
mod loops;
mod ops;
mod pats;
mod size_params;
mod type_rules;
mod types;
mod uses;

pub(crate) use funs::FunSource;
use types::Anonymous;

use crate::context::Context;
use crate::infer::{Infer, Scalars, Sizes, Tables, Walk};
use crate::tast::{Dim, Ty, VarId};
use crate::unused::LocalNames;
use advice::LocalFunctions;
use ambiguous::Wanted;
use literals::Literals;
use rustc_hash::FxHashSet;
use syntax::ast::{Ident, Liftedness};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// The checking of one definition.
pub(crate) struct Definer<'d, 'a> {
    pub(crate) infer: Infer<'d>,
    pub(crate) cx: &'d mut Context<'a>,
    /// Sections with a left operand.
    sections: FxHashSet<Span>,
    /// Sizes that must be found out.
    wanted: Vec<Wanted>,
    /// Literals, until their types are known.
    literals: Literals,
    /// Local names, for those that nothing uses.
    names: LocalNames,
    /// Local functions, for advice.
    functions: LocalFunctions,
    /// Functions whose result is declared.
    declared: Vec<VarId>,
    /// The definition that is checked, once it has begun.
    own: Option<VarId>,
    /// Which judgements of the finished definition there is reason for.
    judge: Judge,
    /// Whether a recursive function without a declared result was used in itself at other
    /// sizes than it has.
    misused: bool,
    /// Holes with their types.
    holes: Vec<(Span, Ty)>,
    /// Anonymous sizes that are arguments of types.
    size_args: Vec<VarId>,
    /// Variables of patterns with a declared type that is not unique.
    lent: Vec<VarId>,
}

/// The properties of a definition that decide which checks of the finished one are made.
#[derive(Clone, Copy, Default)]
struct Judge {
    /// How many unknown sizes there were before.
    unknowns: u32,
    /// Whether it mentions itself.
    recursive: bool,
    /// Whether it has patterns that may fail, or a `match`.
    refutable: bool,
    /// Whether it compares with `==` or `!=`.
    equality: bool,
}

impl<'d, 'a> Definer<'d, 'a> {
    /// The beginning of a walk over a definition.
    pub(crate) fn new(tables: &'d mut Tables, cx: &'d mut Context<'a>, walk: Walk) -> Self {
        let unknowns = tables.unknowns;
        Self {
            infer: Infer::new(tables, walk),
            cx,
            sections: FxHashSet::default(),
            wanted: Vec::new(),
            literals: Literals::default(),
            names: LocalNames::default(),
            functions: LocalFunctions::default(),
            declared: Vec::new(),
            lent: Vec::new(),
            size_args: Vec::new(),
            holes: Vec::new(),
            own: None,
            judge: Judge { unknowns, ..Judge::default() },
            misused: false,
        }
    }

    /// Runs `f` one scope deeper; bindings made by it are gone afterwards.
    pub(crate) fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let (mark, depth) = (self.cx.env.enter(), self.infer.depth);
        self.infer.depth += 1;
        let result = f(self);
        self.infer.depth = depth;
        self.cx.env.leave(mark);
        result
    }

    /// Notes that a local name is bound; `update`: by `let x[i] = v`.
    fn note_bound(&mut self, name: &Ident, update: bool) {
        if !self.cx.place.is_prelude() {
            self.names.bind(name, update);
        }
    }

    /// Notes that the name bound at a place is used.
    fn note_used(&mut self, place: Option<Span>) {
        if let Some(place) = place
            && !self.cx.place.is_prelude()
        {
            self.names.use_name(place);
        }
    }

    /// Makes `found` fit `expected`, or says why it does not. `what` opens the
    /// message: "the argument has the wrong type".
    pub(crate) fn unify(&mut self, expected: &Ty, found: &Ty, span: Span, what: &str) -> bool {
        match self.infer.unifying(Sizes::Strict, span, |u| u.unify(expected, found)) {
            Ok(()) => true,
            Err(mismatch) => {
                self.mismatch(expected, found, &mismatch, span, what);
                false
            }
        }
    }

    /// Demands a scalar type.
    pub(super) fn require_scalar(&mut self, ty: &Ty, set: Scalars, span: Span, what: &str) {
        if let Err(mismatch) = self.infer.unifying(Sizes::Strict, span, |u| u.require_scalar(ty, set)) {
            self.mismatch(ty, ty, &mismatch, span, what);
        }
    }

    /// Demands a type of at most this liftedness.
    pub(crate) fn require_lifted(&mut self, ty: &Ty, lifted: Liftedness, span: Span, what: &str) {
        let ty = self.infer.tables.resolve(ty);
        if let Err(mismatch) = self.infer.unifying(Sizes::Strict, span, |u| u.require_lifted(&ty, lifted)) {
            self.mismatch(&ty, &ty, &mismatch, span, what);
        }
    }

    /// Looks again at sizes that could not be decided since `from`; reports
    /// those that are wrong, and at the end of a definition (`last`) those that
    /// remain.
    pub(super) fn settle(&mut self, from: usize, last: bool) {
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
                        format!("cannot tell sizes from \"{a}\" being equal to \"{b}\""),
                    )
                    .at(span, "")
                    .hint("say what the sizes are with a size coercion `:>`"),
                );
            }
        }
    }
}

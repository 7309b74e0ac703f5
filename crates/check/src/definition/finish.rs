//! The end of a definition: open types get defaults, recorded facts are checked, and the checks of
//! [`crate::post_inference`] are made.

use crate::definition::DefinitionChecker;
use crate::infer::{DefaultedType, ErasedTypes, TablesMark};
use crate::post_inference::{causality, consume, exhaustiveness, recursion, warnings};
use crate::tast::{Def, TyVarId};
use prim::ScalarType;
use std::sync::Arc;
use syntax::ast::ValBind;
use syntax::diag::Diagnostic;

impl DefinitionChecker<'_, '_> {
    /// Gives defaults to the scalar types that nothing determines, and reports the other types that
    /// the definition leaves open. Warns of defaults of `public` types, which the definition's type
    /// mentions, and returns one of them.
    pub(super) fn default_types(
        &mut self,
        from: usize,
        problems: usize,
        public: &[TyVarId],
    ) -> Option<ScalarType> {
        let mut chosen = None;
        let message = |what: &str, labels: Vec<String>| {
            let plural = if labels.len() == 1 { "" } else { "s" };
            format!("Type is ambiguous: cannot infer {what}{plural} {}", labels.join(", "))
        };
        for undetermined in self.infer.tables.default_types(from, public) {
            let (span, diag) = match undetermined {
                DefaultedType::Number(span, ty) => {
                    chosen = Some(ty);
                    self.cx.warn(
                        Diagnostic::warning("defaulted-type", format!("Defaulting ambiguous type to {ty}"))
                            .at(span, "")
                            .hint("declare the types of the definition's parameters or result"),
                    );
                    continue;
                }
                DefaultedType::Record(span, fields) => {
                    let labels = fields.iter().map(|l| format!("\"{l}\"")).collect();
                    let message = message("this record from its field", labels);
                    let diag = Diagnostic::error("ambiguous-record", message);
                    (span, diag.hint("declare the type of the parameter"))
                }
                DefaultedType::Sum(span, constrs) => {
                    let labels = constrs.iter().map(|l| format!("\"#{l}\"")).collect();
                    let message = message("the sum type from its constructor", labels);
                    let diag = Diagnostic::error("ambiguous-sum", message);
                    (span, diag.hint("ascribe the type: `(#x : t)`"))
                }
            };
            self.cx.reports.report_first(problems, diag.at(span, ""));
        }
        chosen
    }

    /// Returns the shapes for the second walk, or `None` if this is the last walk: also if there are
    /// errors, unless `anyway`. `problems` and `mark` are the numbers of errors and variables at its
    /// start.
    pub(crate) fn shapes(&mut self, problems: usize, mark: TablesMark, anyway: bool) -> Option<ErasedTypes> {
        let continues = anyway || self.cx.reports.no_errors_since(problems);
        continues.then(|| self.infer.shapes(mark)).flatten()
    }

    /// Returns the shapes for another second walk, if one with other settings may succeed.
    pub(crate) fn shapes_for_retry(&self, problems: usize) -> Option<ErasedTypes> {
        let no_errors = self.cx.reports.no_errors_since(problems);
        let mut options = self.infer.walk_options();
        if self.recursive_sizes_differ && !options.unknown_results {
            options.unknown_results = true;
        } else if !no_errors && self.infer.tables.joined_loop && !options.loose_loops {
            options.loose_loops = true;
        } else {
            return None;
        }
        self.infer.retry(options)
    }

    /// Ends the walk over a type or module type: checks its literals against their types.
    pub(crate) fn finish_types(self) {
        self.cx.record_labels(self.infer.tables, self.labels);
        self.literals.check(self.infer.tables, self.cx);
    }

    /// Ends a definition whose walk began with `problems` errors: checks it and makes `def` final.
    pub(crate) fn finish(self, def: &mut Def, bind: &ValBind, problems: usize) {
        let Self {
            infer,
            cx,
            sections,
            required_sizes,
            literals,
            names,
            functions: _,
            declared,
            non_unique_params,
            recursive_sizes_differ: _,
            size_args: _,
            holes,
            current_def: _,
            needed_checks,
            labels,
            variables: _,
        } = self;
        cx.function_facts.declared.extend(declared);
        cx.function_facts.non_unique_params.extend(non_unique_params);
        let tables = infer.tables;
        literals.check(tables, cx);
        cx.record_labels(tables, labels);
        for (span, ty) in holes {
            let message = format!("Hole of type: {}", tables.show(&ty));
            let diag = Diagnostic::warning("hole", message).at(span, "");
            cx.warn(diag.hint("write an expression of this type; evaluation stops here"));
        }
        let (kept_abstract, has_error) = tables.finish_def(def, true);
        if let Some(recorder) = cx.recorder() {
            recorder.index.defs.insert(def.span, Arc::new(def.clone()));
        }
        cx.reports.report_too_large(tables, bind.name.span);
        if has_error || !cx.reports.no_errors_since(problems) {
            return;
        }
        super::ambiguous::check(required_sizes, def, tables, cx);
        if tables.unknowns > needed_checks.unknowns || tables.absorbed {
            causality::check(def, tables, &sections, cx);
            tables.absorbed = false;
        }
        if needed_checks.equality {
            recursion::check_equality(def, cx);
        }
        if !cx.site.is_prelude() {
            consume::check(def, tables, cx);
        }
        // The following checks see through abstract types.
        if kept_abstract {
            tables.finish_def(def, false);
        }
        if needed_checks.refutable {
            exhaustiveness::check(def, cx);
        }
        warnings::check(def, cx);
        for (ident, update) in names.unused() {
            cx.warn_unused_name(&ident, update);
        }
        if needed_checks.recursive {
            recursion::check_recursion(def, bind, cx);
        }
    }
}

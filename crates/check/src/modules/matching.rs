//! Matching of modules with module types.
//!
//! To *match* a module with a module type is to find the type of the module that implements each
//! abstract type, then to check each value against its specification. The result is a *view*: the
//! same values at the specified types. These mention new abstract types for an ascription, and the
//! actual types for the argument of a parametric module.

use crate::context::Context;
use crate::definition::DefinitionChecker;
use crate::env::{
    AbstractSpec, Entry, ModType, Module, ModuleExports, NamedType, Target, TypeParam, ValueEntry,
};
use crate::infer::{Infer, InferTables, Mismatch, Sizes, Walk};
use crate::modules::instances::{TypeSubst, abstract_module};
use crate::subst::Subst;
use crate::tast::{Dim, Exp, ExpKind, Ty, TyVarId, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use syntax::diag::Diagnostic;
use syntax::span::Span;
use syntax::symbol::Symbol;

/// The state of matching a module with a module type.
pub(super) struct Matcher<'m, 'a> {
    pub(super) tables: &'m mut InferTables,
    pub(super) cx: &'m mut Context<'a>,
    /// The span of the module.
    pub(super) span: Span,
}

impl<'a> Matcher<'_, 'a> {
    /// A checker for types that are known without inference.
    pub(super) fn checker(&mut self) -> DefinitionChecker<'_, 'a> {
        DefinitionChecker::new(self.tables, self.cx, Walk::known())
    }

    /// The view of a module through a module type; if `opaque`, its abstract types are new ones.
    pub(super) fn match_mod_type(
        &mut self,
        module: &Module<'a>,
        sig: &ModType<'a>,
        opaque: bool,
    ) -> Module<'a> {
        match (module, sig) {
            (Module::Struct(module), ModType::Struct(sig)) => {
                let mut actual = TypeSubst::default();
                let mut seen = TypeSubst::default();
                for abstract_type in &sig.abstract_types {
                    self.match_abstract_type(module, abstract_type, opaque, &mut actual, &mut seen);
                }
                let mut sizes = FxHashMap::default();
                specified_sizes(module, &sig.body, &mut sizes);
                actual.dims.clone_from(&sizes);
                seen.dims = sizes;
                Module::Struct(Rc::new(self.view(
                    module,
                    &sig.body,
                    &sig.abstract_types,
                    &mut actual,
                    &mut seen,
                )))
            }
            (Module::Functor(_), ModType::Functor { .. }) => module.clone(),
            (Module::Intrinsics, _) | (_, ModType::Unknown) => module.clone(),
            (Module::Unknown, _) => abstract_module(self.tables, sig),
            (Module::Struct(_), ModType::Functor { .. }) => {
                self.cx.error("module-mismatch", self.span, "expected a parametric module");
                abstract_module(self.tables, sig)
            }
            (Module::Functor(_), ModType::Struct(_)) => {
                self.cx.error("module-mismatch", self.span, "this module is parametric: apply it first");
                abstract_module(self.tables, sig)
            }
        }
    }

    /// Matches a module and returns the definitions of the module type's abstract types and sizes.
    pub(super) fn actual_types(&mut self, module: &Module<'a>, sig: &ModType<'a>) -> TypeSubst {
        self.match_mod_type(module, sig, false);
        let mut actual = TypeSubst::default();
        if let (Module::Struct(module), ModType::Struct(sig)) = (module, sig) {
            for abstract_type in &sig.abstract_types {
                if let Some(found) = find_path(module, &abstract_type.path) {
                    actual.types.insert(abstract_type.id, found);
                }
            }
            specified_sizes(module, &sig.body, &mut actual.dims);
        }
        actual
    }

    fn view(
        &mut self,
        module: &ModuleExports<'a>,
        body: &ModuleExports<'a>,
        abstract_types: &[AbstractSpec],
        actual: &mut TypeSubst,
        seen: &mut TypeSubst,
    ) -> ModuleExports<'a> {
        let mut out = ModuleExports::default();
        for (symbol, abbr) in &body.types {
            let is_abstract = abstract_types.iter().any(|abstract_type| abstract_type.path == [*symbol]);
            if !is_abstract {
                self.check_abbr(module, *symbol, &actual.abbr(abbr));
            }
            let mut ty = seen.abbr(abbr);
            if let Some(found) = module.types.get(symbol).filter(|found| found.span != ty.span) {
                Rc::make_mut(&mut ty).span = found.span;
            }
            out.types.insert(*symbol, ty);
        }
        for (symbol, spec) in &body.terms {
            let entry = match (spec, module.terms.get(symbol)) {
                (Entry::Value(spec), Some(Entry::Value(value))) => {
                    self.check_existential_specs(*symbol, &spec.scheme.ty, actual);
                    let via = self.match_value(*symbol, &actual.value(spec), value);
                    let shown = seen.value(spec);
                    Entry::Value(Rc::new(ValueEntry {
                        target: value.target,
                        scheme: Arc::clone(&shown.scheme),
                        instance_args: via,
                        span: value.span,
                    }))
                }
                (
                    Entry::Module(Module::Struct(spec), _),
                    Some(Entry::Module(Module::Struct(inner), span)),
                ) => {
                    let below: Vec<AbstractSpec> = abstract_types
                        .iter()
                        .filter(|abstract_type| abstract_type.path.first() == Some(symbol))
                        .map(|abstract_type| AbstractSpec {
                            path: abstract_type.path[1..].to_vec(),
                            ..abstract_type.clone()
                        })
                        .collect();
                    let inner = self.view(inner, spec, &below, actual, seen);
                    Entry::Module(Module::Struct(Rc::new(inner)), *span)
                }
                (
                    Entry::Module(Module::Functor(_), _),
                    Some(found @ Entry::Module(Module::Functor(_), _)),
                ) => found.clone(),
                (spec, Some(Entry::Module(Module::Unknown, _))) => spec.clone(),
                (spec, found) => {
                    let name = self.cx.symbol_text(*symbol);
                    let kind = if matches!(spec, Entry::Module(..)) { "module" } else { "value" };
                    let message = match found {
                        None => {
                            format!("the module has no {kind} \"{name}\", which its module type specifies")
                        }
                        Some(_) => format!("\"{name}\" is not the {kind} that its module type specifies"),
                    };
                    self.cx.error("module-mismatch", self.span, message);
                    spec.clone()
                }
            };
            out.terms.insert(*symbol, entry);
        }
        out
    }

    /// Checks that a type specified with a definition has that definition.
    fn check_abbr(&mut self, module: &ModuleExports<'a>, symbol: Symbol, spec: &NamedType) {
        let name = self.cx.symbol_text(symbol);
        let Some(found) = module.types.get(&symbol).cloned() else {
            self.cx.error(
                "module-mismatch",
                self.span,
                format!("the module has no type \"{name}\", which its module type specifies"),
            );
            return;
        };
        let mut types = Vec::new();
        let mut dims = Vec::new();
        for param in &spec.params {
            match param {
                TypeParam::Type(var, _) => types.push(Ty::Var(*var)),
                TypeParam::Size(var) => dims.push(Dim::Var(*var)),
            }
        }
        let actual = found.apply(&types, &dims);
        let expected = spec.apply(&types, &dims);
        let shown = self.tables.show(&expected);
        let what = format!(
            "the type \"{name}\" does not have the specified definition: the module type requires \
             \"type {name} = {shown}\""
        );
        let span = self.span;
        self.checker().unify(&expected, &actual, span, &what);
    }

    /// Checks a value against its specification. Returns the arguments for its own parameters, in
    /// terms of the parameters of the specification.
    fn match_value(&mut self, symbol: Symbol, spec: &ValueEntry, value: &ValueEntry) -> Option<Arc<Subst>> {
        let (specified, actual) = (&spec.scheme, &value.scheme);
        if actual.ty_params.is_empty() && actual.size_params.is_empty() && actual.ty == specified.ty {
            return value.instance_args.clone();
        }
        let (used, result) = self.instance_at(&specified.ty, value);
        if let Err(mismatch) = result {
            let name = self.cx.symbol_text(symbol);
            let shown = self.tables.show(&specified.ty);
            let what = format!(
                "\"{name}\" does not have the specified type: Module type requires \
                 \"val {name} : {shown}\""
            );
            let span = self.span;
            self.checker().mismatch(&specified.ty, &used.ty, &mismatch, span, &what);
        } else if !self.cx.function_facts.satisfies_spec(value.target, &specified.ty, &actual.ty) {
            let name = self.cx.symbol_text(symbol);
            let (specified, actual) = (self.tables.show(&specified.ty), self.tables.show(&actual.ty));
            let message = format!("\"{name}\" consumes or aliases more than its specification allows");
            self.cx.report(
                Diagnostic::error("unique-mismatch", message)
                    .at(self.span, "")
                    .note(format!("specified: `val {name} : {specified}`"))
                    .note(format!("found    : `val {name} : {actual}`")),
            );
        }
        let mut via = match &used.kind {
            ExpKind::Var { ty_args, size_args, .. } => {
                Subst { types: ty_args.clone(), dims: size_args.clone() }
            }
            // Only the order of an intrinsic's parameters matters.
            ExpKind::Intrinsic { ty_args, size_args, fun: _ } => Subst {
                types: ty_args.iter().map(|ty| (TyVarId(0), ty.clone())).collect(),
                dims: size_args.iter().map(|dim| (VarId(0), dim.clone())).collect(),
            },
            _ => return None,
        };
        for (_, ty) in &mut via.types {
            *ty = self.tables.resolve(ty);
        }
        // Sizes that the specification does not name (those hidden in abstract types) are read off
        // the arguments at each use.
        for (_, dim) in &mut via.dims {
            *dim = self.tables.finish_dim(dim);
        }
        (!via.is_empty()).then(|| Arc::new(via))
    }
}

impl Matcher<'_, '_> {
    /// A use of a value at a type: first its types are inferred, then its sizes.
    fn instance_at(&mut self, specified: &Ty, value: &ValueEntry) -> (Exp, Result<(), Mismatch>) {
        let mark = self.tables.mark();
        let mut walk = Walk::first();
        loop {
            self.tables.saw_sizes = false;
            let mut infer = Infer::new(self.tables, walk);
            infer.depth += 2;
            let used = infer.instantiate(value, self.span);
            let result = infer.unifying(Sizes::Strict, self.span, |u| {
                u.unify(specified, &used.ty)?;
                u.solve_deferred()
            });
            match infer.shapes(mark).filter(|_| result.is_ok()) {
                Some(shapes) => walk = Walk::InferSizes(shapes),
                None => return (used, result),
            }
            self.tables.truncate(mark);
        }
    }
}

/// Collects the value itself for each specified value of type `i64`.
fn specified_sizes(module: &ModuleExports<'_>, sig: &ModuleExports<'_>, out: &mut FxHashMap<VarId, Dim>) {
    for (symbol, spec) in &sig.terms {
        match (spec, module.terms.get(symbol)) {
            (Entry::Value(spec), Some(Entry::Value(value))) => {
                if let (Target::Var(placeholder), Target::Var(actual)) = (spec.target, value.target)
                    && spec.scheme.ty == Ty::I64
                {
                    out.insert(placeholder, Dim::Var(actual));
                }
            }
            (Entry::Module(Module::Struct(spec), _), Some(Entry::Module(Module::Struct(inner), _))) => {
                specified_sizes(inner, spec, out);
            }
            _ => {}
        }
    }
}

/// The type at the end of a module path.
pub(super) fn find_path(module: &ModuleExports<'_>, path: &[Symbol]) -> Option<Rc<NamedType>> {
    match path {
        [] => None,
        [name] => module.types.get(name).cloned(),
        [first, rest @ ..] => match module.terms.get(first) {
            Some(Entry::Module(Module::Struct(inner), _)) => find_path(inner, rest),
            _ => None,
        },
    }
}

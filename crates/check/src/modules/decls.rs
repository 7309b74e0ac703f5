//! Modules, module types, declarations.
//!
//! A parametric module is checked once at its definition, with abstract parameters, and again at
//! each application with the actual arguments: so each application yields its own definitions,
//! whose types are known.

use crate::context::Context;
use crate::decl_site::strip_local;
use crate::definition::{DefinitionChecker, FunctionSyntax};
use crate::env::{Entry, Functor, FunctorBody, Module, ModuleExports, Scheme, Target, ValueEntry};
use crate::index::file_start;
use crate::infer::Walk;
use crate::modules::Elaborator;
use crate::modules::entry::entry_point;
use crate::modules::external_names::external_name;
use crate::modules::instances::abstract_module;
use crate::modules::items::Declared;
use crate::tast::Def;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{self, Decl, DeclKind, Doc, Import, ModBind, ModExp, ModExpKind};
use syntax::diag::Diagnostic;
use syntax::span::Span;
use syntax::symbol::Symbol;

/// The maximum number of applications of parametric modules: modules that apply others twice can
/// request exponentially many.
const MAX_APPLICATIONS: u32 = 50_000;

/// The maximum length, in bytes, of module paths in messages; a last name may exceed it.
const MAX_PATH: usize = 60;

impl<'a> Context<'a> {
    /// Reports a name that is declared twice in a list of declarations.
    fn check_duplicate(&mut self, decl: &Decl, seen: &mut FxHashMap<(Symbol, u8), Span>) {
        let (ident, space) = match &decl.kind {
            DeclKind::Val(bind) => (bind.name, 0),
            DeclKind::Mod(bind) => (bind.name, 0),
            DeclKind::Type(bind) => (bind.name, 1),
            DeclKind::ModType(bind) => (bind.name, 2),
            // A local name is not exported, so it may shadow another or be shadowed.
            DeclKind::Local(_) | DeclKind::Open(_) | DeclKind::Import(_) => return,
        };
        if let Some(first) = seen.get(&(ident.name, space)).copied() {
            let name = self.symbol_text(ident.name);
            self.report(
                Diagnostic::error(
                    "duplicate-definition",
                    format!("Duplicate definition: \"{name}\" is defined twice"),
                )
                .at(ident.span, "")
                .also(first, "defined here first"),
            );
        } else {
            seen.insert((ident.name, space), ident.span);
        }
    }

    /// Binds the names of a module in the current scope, and adds them to `exports`.
    fn open(&mut self, module: &Module<'a>, span: Span, exports: Option<&mut ModuleExports<'a>>) {
        let module = match module {
            Module::Struct(module) => module,
            Module::Functor(_) | Module::Intrinsics => {
                return self.error("not-a-struct", span, "a parametric module cannot be opened");
            }
            Module::Unknown => return,
        };
        self.env.open(module);
        if let Some(exports) = exports {
            exports.extend(module);
        }
    }
}

impl<'a> Elaborator<'a> {
    // ----------------------------------------------------------- declarations

    /// Checks declarations in order; returns their exports.
    pub(crate) fn decls(&mut self, decls: &'a [Decl]) -> ModuleExports<'a> {
        let mut exports = ModuleExports::default();
        let mut seen = FxHashMap::default();
        for decl in decls {
            self.cx.check_duplicate(decl, &mut seen);
            let inner = strip_local(decl);
            let exported = std::ptr::eq(decl, inner).then_some(&mut exports);
            self.decl(inner, exported, decl.doc.as_ref());
        }
        exports
    }

    fn decl(&mut self, decl: &'a Decl, exports: Option<&mut ModuleExports<'a>>, doc: Option<&Doc>) {
        let from = decl.span.end;
        match &decl.kind {
            DeclKind::Local(inner) => self.decl(inner, None, doc),
            DeclKind::Val(bind) => {
                if self.cx.site.is_in_module() && bind.keyword == ast::ValKeyword::Entry {
                    let message = "Entry points may not be declared inside of modules";
                    self.cx.error("entry-in-module", bind.name.span, message);
                }
                let entry = Entry::Value(Rc::new(self.val_bind(bind, decl)));
                self.record(&bind.name, Declared::Term(&entry), from, doc);
                if let Some(exports) = exports {
                    exports.terms.insert(bind.name.name, entry.clone());
                }
                self.cx.env.bind_term(bind.name.name, entry);
            }
            DeclKind::Type(bind) => {
                let errors = self.cx.reports.error_count();
                let mut abbr = self.type_bind(bind);
                let sizes = |p: &ast::TypeParam| matches!(p.kind, ast::TypeParamKind::Size);
                if !self.cx.site.is_in_module()
                    && bind.params.iter().all(sizes)
                    && self.cx.reports.no_errors_since(errors)
                {
                    abbr.external_name = Some(external_name(&bind.body, &mut self.cx));
                }
                self.record(&bind.name, Declared::Type(&abbr), from, doc);
                let abbr = Rc::new(abbr);
                self.cx.reports.report_too_large(&self.tables, bind.name.span);
                if let Some(exports) = exports {
                    exports.types.insert(bind.name.name, Rc::clone(&abbr));
                }
                self.cx.env.bind_type(bind.name.name, abbr);
            }
            DeclKind::Mod(bind) => {
                let before = self.tables.abstracts.len();
                let module = Entry::Module(self.mod_bind(bind), Some(bind.name.span));
                self.prefix_abstract_paths(before, bind.name.name);
                self.record(&bind.name, Declared::Term(&module), from, doc);
                self.cx.reports.report_too_large(&self.tables, bind.name.span);
                if let Some(exports) = exports {
                    exports.terms.insert(bind.name.name, module.clone());
                }
                self.cx.env.bind_term(bind.name.name, module);
            }
            DeclKind::ModType(bind) => {
                let sig = (self.mod_type_exp(&bind.body), bind.name.span);
                self.record(&bind.name, Declared::ModType, from, doc);
                self.cx.reports.report_too_large(&self.tables, bind.name.span);
                if let Some(exports) = exports {
                    exports.mod_types.insert(bind.name.name, sig.clone());
                }
                self.cx.env.bind_sig(bind.name.name, sig);
            }
            DeclKind::Open(me) => {
                let module = self.mod_exp(me);
                self.cx.reports.report_too_large(&self.tables, me.span);
                self.record_opened(&module, from);
                self.cx.open(&module, me.span, exports);
            }
            DeclKind::Import(import) => {
                let module = self.import(import);
                self.record_opened(&module, from);
                self.cx.open(&module, import.path_span, None);
            }
        }
    }

    /// Checks a definition. Since release 0.27 of the language a function is in scope of itself;
    /// before, its name referred to an outer definition. If a program is correct only under the old
    /// rule, it is accepted under that rule.
    fn val_bind(&mut self, bind: &'a ast::ValBind, decl: &'a Decl) -> ValueEntry {
        let text = self.cx.symbol_text(bind.name.name);
        if matches!(&*text, "&&" | "||") {
            self.cx.error(
                "reserved-operator",
                bind.name.span,
                format!("the operator \"{text}\" cannot be defined"),
            );
        }
        let errors = self.cx.reports.error_count();
        let shadows = self.cx.env.term(bind.name.name).is_some();
        let (mut def, mut scheme) = self.definition(bind, &decl.attrs, true);
        if shadows && !bind.params.is_empty() && !self.cx.reports.no_errors_since(errors) {
            let found = self.cx.reports.take_errors_since(errors);
            let other = self.definition(bind, &decl.attrs, false);
            if self.cx.reports.no_errors_since(errors) {
                (def, scheme) = other;
            } else {
                if self.cx.recorder().is_some() {
                    // What the first attempt recorded.
                    self.definition(bind, &decl.attrs, true);
                }
                self.cx.reports.replace_errors_since(errors, found);
            }
        }
        let ty = self.tables.exported_type(&scheme.ty);
        let scheme = Arc::new(Scheme { ty, ..scheme });
        let def = Arc::new(def);
        if def.entry && bind.complete && self.cx.reports.no_errors_since(errors) {
            let doc = decl.doc.as_ref().map_or("", |doc| &doc.text);
            let entry = entry_point(bind, doc, &def, &scheme, &self.tables, &mut self.cx);
            self.entries.push(entry);
        }
        let entry = ValueEntry {
            target: Target::Var(def.var),
            scheme,
            instance_args: None,
            span: Some(bind.name.span),
        };
        self.defs.push(def);
        entry
    }

    /// Checks a definition, in two walks if it has sizes. If `recursive`, a function is in scope of
    /// itself.
    fn definition(
        &mut self,
        bind: &'a ast::ValBind,
        attrs: &'a [ast::Attr],
        recursive: bool,
    ) -> (Def, Scheme) {
        let source = FunctionSyntax {
            name: &bind.name,
            type_params: &bind.type_params,
            params: &bind.params,
            ret: bind.ret.as_ref(),
            body: &bind.body,
            complete: bind.complete,
            attrs,
            top: true,
            recursive,
        };
        let errors = self.cx.reports.error_count();
        let is_entry = bind.keyword == ast::ValKeyword::Entry || self.extra_entries.contains(&bind.name.name);
        let mark = self.tables.mark();
        let mut walk = Walk::first();
        // The errors of the first attempt at the second walk; reported if later attempts fail too.
        let mut found = None;
        // The errors of the first walk; the second is made despite them for the index of names.
        let mut type_errors = None;
        loop {
            self.tables.saw_sizes = false;
            self.tables.joined_loop = false;
            let mut checker = DefinitionChecker::new(&mut self.tables, &mut self.cx, walk);
            let (mut def, scheme) = checker.function(&source);
            let next_walk = checker.shapes_for_retry(errors);
            if next_walk.is_some() {
                let problems = checker.cx.reports.take_errors_since(errors);
                if !problems.is_empty() {
                    found.get_or_insert(problems);
                }
            } else if let Some(found) = found.take()
                && !checker.cx.reports.no_errors_since(errors)
            {
                checker.cx.reports.replace_errors_since(errors, found);
            }
            let indexed = checker.cx.recorder().is_some();
            match next_walk.or_else(|| checker.shapes(errors, mark, indexed)) {
                None => {
                    if let Some(type_errors) = type_errors {
                        checker.cx.reports.replace_errors_since(errors, type_errors);
                    }
                    def.entry = checker.cx.site.is_root() && is_entry;
                    checker.finish(&mut def, bind, errors);
                    return (def, scheme);
                }
                Some(shapes) => {
                    if !checker.cx.reports.no_errors_since(errors) {
                        type_errors = Some(checker.cx.reports.take_errors_since(errors));
                    }
                    walk = Walk::InferSizes(shapes);
                }
            }
            self.tables.truncate(mark);
        }
    }

    // ---------------------------------------------------------------- modules

    fn mod_bind(&mut self, bind: &'a ModBind) -> Module<'a> {
        if bind.params.is_empty() {
            let module = self.mod_exp(&bind.body);
            return match &bind.ty {
                Some(ty) => {
                    let sig = self.mod_type_exp(ty);
                    self.matcher(bind.body.span).match_mod_type(&module, &sig, true)
                }
                None => module,
            };
        }
        let body = FunctorBody::Source { params: &bind.params, ret: bind.ty.as_ref(), body: &bind.body };
        self.functor(body)
    }

    /// Prefixes the paths of the abstract types created since there were `from` with the module's
    /// name.
    fn prefix_abstract_paths(&mut self, from: usize, module: Symbol) {
        if self.tables.abstracts.len() > from {
            let name = self.cx.symbol_text(module);
            for data in self.tables.abstracts.iter_mut().skip(from) {
                if data.path.len() < MAX_PATH {
                    data.path = format!("{name}.{}", data.path);
                }
            }
        }
    }

    /// Makes a parametric module and checks it with abstract parameters.
    fn functor(&mut self, body: FunctorBody<'a>) -> Module<'a> {
        let env = self.cx.env.snapshot();
        let scope = self.cx.scope;
        if let FunctorBody::Source { params, ret, body } = &body {
            let defs = self.defs.len();
            let mut used = Vec::with_capacity(params.len());
            for param in *params {
                used.push(self.cx.used_modules.enter(param.name.name));
                let sig = self.mod_type_exp(&param.ty);
                let before = self.tables.abstracts.len();
                let module = abstract_module(&mut self.tables, &sig);
                self.prefix_abstract_paths(before, param.name.name);
                let module = Entry::Module(module, Some(param.name.span));
                self.cx.scope = param.span.at_end().to(body.span.at_end());
                self.record(&param.name, Declared::Term(&module), param.span.end, None);
                self.cx.env.bind_term(param.name.name, module);
            }
            let module = self.mod_exp(body);
            if let Some(ret) = ret {
                let sig = self.mod_type_exp(ret);
                self.matcher(body.span).match_mod_type(&module, &sig, true);
            }
            for (param, used) in params.iter().zip(used) {
                if !self.cx.used_modules.leave(param.name.name, used) {
                    self.cx.warn_unused_name(&param.name, false);
                }
            }
            self.defs.truncate(defs);
            self.cx.env = env.clone();
            self.cx.scope = scope;
        }
        Module::Functor(Rc::new(Functor { body, env }))
    }

    /// Checks a module expression.
    pub(super) fn mod_exp(&mut self, me: &'a ModExp) -> Module<'a> {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || self.mod_exp_inner(me))
    }

    fn mod_exp_inner(&mut self, me: &'a ModExp) -> Module<'a> {
        match &me.kind {
            ModExpKind::Var(name) => {
                let path: Vec<ast::Ident> = name.quals.iter().copied().chain([name.name]).collect();
                let module = self.cx.find_module(&path).unwrap_or(Module::Unknown);
                if matches!(module, Module::Intrinsics) && !self.cx.site.is_prelude() {
                    let message = "The 'intrinsics' module may not be used in module expressions.";
                    self.cx.error("intrinsics-module", me.span, message);
                }
                module
            }
            ModExpKind::Parens(inner) => self.mod_exp(inner),
            ModExpKind::Import(import) => self.import(import),
            ModExpKind::Decls(decls) => {
                let exports = self.scoped(me.span, self.cx.site.enter_module(), |e| e.decls(decls));
                Module::Struct(Rc::new(exports))
            }
            ModExpKind::Ascript(inner, sig) => {
                let module = self.mod_exp(inner);
                let sig = self.mod_type_exp(sig);
                self.matcher(inner.span).match_mod_type(&module, &sig, true)
            }
            ModExpKind::Lambda(param, ret, body) => {
                let params = std::slice::from_ref(&**param);
                self.functor(FunctorBody::Source { params, ret: ret.as_deref(), body })
            }
            ModExpKind::Apply(fun, arg) => {
                let functor = self.mod_exp(fun);
                let arg_module = self.mod_exp(arg);
                match functor {
                    Module::Functor(functor) => self.apply_functor(&functor, &arg_module, arg.span),
                    Module::Struct(_) | Module::Intrinsics => {
                        let message = "this module is not parametric and cannot be applied";
                        self.cx.error("not-a-functor", fun.span, message);
                        Module::Unknown
                    }
                    Module::Unknown => Module::Unknown,
                }
            }
        }
    }

    fn import(&mut self, import: &'a Import) -> Module<'a> {
        let key = (import.path_span.file, import.path.clone());
        let Some((file, module)) = self.imports.get(&key).and_then(|path| self.files.get(path)) else {
            // An unreadable file was reported by the search for imports.
            return Module::Unknown;
        };
        self.cx.note_use(import.path_span, Some(file_start(*file)));
        Module::Struct(Rc::clone(module))
    }

    fn apply_functor(&mut self, functor: &Functor<'a>, arg: &Module<'a>, span: Span) -> Module<'a> {
        match &functor.body {
            FunctorBody::Known { param, ret } => {
                let mut map = self.matcher(span).actual_types(arg, param);
                let ret = map.sig(ret);
                abstract_module(&mut self.tables, &ret)
            }
            FunctorBody::Source { params, ret, body } => {
                self.applications += 1;
                if self.applications > MAX_APPLICATIONS {
                    if self.applications == MAX_APPLICATIONS + 1 {
                        let message = "the program applies parametric modules too many times";
                        self.cx.error("too-many-applications", span, message);
                    }
                    return Module::Unknown;
                }
                let Some((param, rest)) = params.split_first() else {
                    return Module::Unknown;
                };
                let caller = self.cx.env.snapshot();
                let used = std::mem::take(&mut self.cx.used_modules);
                self.cx.env = functor.env.clone();
                let sig = self.mod_type_exp(&param.ty);
                let view = self.matcher(span).match_mod_type(arg, &sig, false);
                self.cx.env.bind_term(param.name.name, Entry::Module(view, Some(param.name.span)));
                let result = if rest.is_empty() {
                    let saved_site = self.cx.site;
                    self.cx.site = saved_site.enter_application();
                    let module = self.mod_exp(body);
                    self.cx.site = saved_site;
                    match ret {
                        Some(ret) => {
                            let sig = self.mod_type_exp(ret);
                            self.matcher(body.span).match_mod_type(&module, &sig, true)
                        }
                        None => module,
                    }
                } else {
                    let body = FunctorBody::Source { params: rest, ret: *ret, body };
                    let env = self.cx.env.snapshot();
                    Module::Functor(Rc::new(Functor { body, env }))
                };
                self.cx.env = caller;
                self.cx.used_modules = used;
                result
            }
        }
    }
}

//! Module types: specifications, abstract types, and `with`.

use crate::env::{
    AbstractSpec, Entry, ModType, ModTypeSpecs, Module, NamedType, Scheme, Target, TypeParam, ValueEntry,
};
use crate::infer::less_lifted;
use crate::modules::Elaborator;
use crate::modules::instances::{TypeSubst, fresh_mod_type, module_of};
use crate::modules::items::Declared;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{self, Liftedness, ModTypeExp, ModTypeExpKind, SpecKind};
use syntax::diag::Diagnostic;
use syntax::span::Span;
use syntax::symbol::Symbol;

impl<'a> Elaborator<'a> {
    /// Checks a module type expression; its abstract types are new ones.
    pub(super) fn mod_type_exp(&mut self, mte: &'a ModTypeExp) -> ModType<'a> {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || self.sig_exp_inner(mte))
    }

    fn sig_exp_inner(&mut self, mte: &'a ModTypeExp) -> ModType<'a> {
        match &mte.kind {
            ModTypeExpKind::Var(name) => {
                let found = if name.quals.is_empty() {
                    self.cx.env.sig(name.name.name).cloned()
                } else {
                    match self.cx.find_module(&name.quals) {
                        Some(Module::Struct(module)) => module.mod_types.get(&name.name.name).cloned(),
                        Some(Module::Functor(_) | Module::Intrinsics) => None,
                        Some(Module::Unknown) | None => return ModType::Unknown,
                    }
                };
                let Some((sig, span)) = found else {
                    let text = self.cx.symbol_text(name.name.name);
                    self.cx.error(
                        "unknown-module-type",
                        name.span(),
                        format!("Unknown module type \"{text}\""),
                    );
                    return ModType::Unknown;
                };
                self.cx.note_use(name.name.span, Some(span));
                fresh_mod_type(&mut self.tables, &sig)
            }
            ModTypeExpKind::Parens(inner) => self.mod_type_exp(inner),
            ModTypeExpKind::Specs(specs) => self.specs(specs, mte.span),
            ModTypeExpKind::With(inner, with) => {
                let sig = self.mod_type_exp(inner);
                self.with_type(&sig, with)
            }
            ModTypeExpKind::Arrow(name, param, ret) => {
                let param = self.mod_type_exp(param);
                let ret = self.scoped(mte.span, self.cx.site, |e| {
                    if let Some(name) = name {
                        let module = Entry::Module(module_of(&param), Some(name.span));
                        e.record(name, Declared::Term(&module), name.span.end, None);
                        e.cx.env.bind_term(name.name, module);
                    }
                    e.mod_type_exp(ret)
                });
                ModType::Functor { param: Rc::new(param), ret: Rc::new(ret) }
            }
        }
    }

    fn specs(&mut self, specs: &'a [ast::Spec], span: Span) -> ModType<'a> {
        let mut sig = ModTypeSpecs::default();
        self.scoped(span, self.cx.site.with_spec(true), |e| e.specs_into(specs, &mut sig));
        ModType::Struct(Rc::new(sig))
    }

    fn specs_into(&mut self, specs: &'a [ast::Spec], sig: &mut ModTypeSpecs<'a>) {
        let mut seen: Vec<(Symbol, u8)> = Vec::new();
        for spec in specs {
            let ident = match &spec.kind {
                SpecKind::Val { name, .. } => Some((*name, 0)),
                SpecKind::Mod(name, _) => Some((*name, 0)),
                SpecKind::Type { name, .. } => Some((*name, 1)),
                SpecKind::TypeAbbr(bind) => Some((bind.name, 1)),
                SpecKind::Include(_) => None,
            };
            if let Some((ident, space)) = ident {
                if seen.contains(&(ident.name, space)) {
                    let name = self.cx.symbol_text(ident.name);
                    self.cx.error(
                        "duplicate-definition",
                        ident.span,
                        format!("\"{name}\" is specified twice"),
                    );
                }
                seen.push((ident.name, space));
            }
            self.spec(spec, sig);
        }
    }

    fn spec(&mut self, spec: &'a ast::Spec, sig: &mut ModTypeSpecs<'a>) {
        let (from, doc) = (spec.span.end, spec.doc.as_ref());
        match &spec.kind {
            SpecKind::Val { name, type_params, ty } => {
                let text = self.cx.symbol_text(name.name);
                let var = self.tables.new_value(text, 0, name.span);
                let scheme = self.val_spec(type_params, ty);
                let entry = Entry::Value(Rc::new(ValueEntry {
                    target: Target::Var(var),
                    scheme: Arc::new(scheme),
                    instance_args: None,
                    span: Some(name.span),
                }));
                self.record(name, Declared::Term(&entry), from, doc);
                sig.body.terms.insert(name.name, entry.clone());
                self.cx.env.bind_term(name.name, entry);
            }
            SpecKind::TypeAbbr(bind) => {
                let abbr = Rc::new(self.type_bind(bind));
                self.record(&bind.name, Declared::Type(&abbr), from, doc);
                sig.body.types.insert(bind.name.name, Rc::clone(&abbr));
                self.cx.env.bind_type(bind.name.name, abbr);
            }
            SpecKind::Type { lifted, name, params } => {
                let text = self.cx.symbol_text(name.name);
                let params = self.spec_params(params, spec.span);
                let (id, mut abbr) = self.tables.new_abstract(text, params.clone(), *lifted, None);
                sig.abstract_types.push(AbstractSpec { path: vec![name.name], id, lifted: *lifted, params });
                abbr.span = Some(name.span);
                self.record(name, Declared::Type(&abbr), from, doc);
                let abbr = Rc::new(abbr);
                sig.body.types.insert(name.name, Rc::clone(&abbr));
                self.cx.env.bind_type(name.name, abbr);
            }
            SpecKind::Mod(name, mte) => {
                let inner = self.mod_type_exp(mte);
                if let ModType::Struct(inner) = &inner {
                    sig.abstract_types.extend(inner.abstract_types.iter().map(|abstract_type| {
                        AbstractSpec {
                            path: std::iter::once(name.name)
                                .chain(abstract_type.path.iter().copied())
                                .collect(),
                            ..abstract_type.clone()
                        }
                    }));
                }
                let entry = Entry::Module(module_of(&inner), Some(name.span));
                self.record(name, Declared::Term(&entry), from, doc);
                sig.body.terms.insert(name.name, entry.clone());
                self.cx.env.bind_term(name.name, entry);
            }
            SpecKind::Include(mte) => match self.mod_type_exp(mte) {
                ModType::Struct(inner) => {
                    // A type that `with` equates with an outer one is not abstract and shadows nothing.
                    for abstract_type in &inner.abstract_types {
                        if let [name] = abstract_type.path.as_slice()
                            && self.cx.env.ty(*name).is_some()
                        {
                            let name = self.cx.symbol_text(*name);
                            let message = format!("Inclusion shadows type \"{name}\"");
                            self.cx.warn(Diagnostic::warning("shadowed-type", message).at(mte.span, ""));
                        }
                    }
                    self.cx.env.open(&inner.body);
                    self.record_opened(&module_of(&ModType::Struct(Rc::clone(&inner))), from);
                    sig.abstract_types.extend(inner.abstract_types.iter().cloned());
                    sig.body.extend(&inner.body);
                }
                ModType::Functor { .. } => {
                    let message = "only a module type with specifications can be included";
                    self.cx.error("not-a-struct", mte.span, message);
                }
                ModType::Unknown => {}
            },
        }
    }

    /// The type of a `val` specification.
    pub(super) fn val_spec(&mut self, type_params: &'a [ast::TypeParam], ty: &'a ast::TypeExp) -> Scheme {
        self.check_in_walks(|checker| checker.val_spec(type_params, ty))
    }

    /// The parameters of an abstract type.
    pub(super) fn spec_params(&mut self, params: &[ast::TypeParam], scope: Span) -> Vec<TypeParam> {
        self.known_checker().scoped(scope, |c| c.type_params(params))
    }

    /// A type with a definition.
    pub(super) fn type_bind(&mut self, bind: &'a ast::TypeBind) -> NamedType {
        self.check_in_walks(|checker| checker.type_bind(bind))
    }

    /// `mte with t 'a = te`.
    fn with_type(&mut self, sig: &ModType<'a>, with: &'a ast::TypeRef) -> ModType<'a> {
        let ModType::Struct(body) = sig else {
            if matches!(sig, ModType::Functor { .. }) {
                let message = "`with` needs a module type with specifications";
                self.cx.error("not-a-struct", with.span, message);
            }
            return sig.clone();
        };
        let path: Vec<Symbol> = with.name.quals.iter().map(|q| q.name).chain([with.name.name.name]).collect();
        let saved_site = self.cx.site;
        self.cx.site = saved_site.with_spec(false);
        let abbr = self.check_in_walks(|checker| checker.with_type(with));
        self.cx.site = saved_site;
        let text = self.cx.symbol_text(with.name.name.name);
        let Some(abstract_type) = body.abstract_types.iter().find(|abstract_type| abstract_type.path == path)
        else {
            self.cx.error(
                "unknown-type",
                with.name.span(),
                format!("\"{text}\" is not an abstract type of the module type"),
            );
            return sig.clone();
        };
        if abstract_type.params.len() != abbr.params.len() {
            self.cx.error(
                "type-arguments",
                with.span,
                format!(
                    "Cannot refine a type with different parameters: \"{text}\" has {}",
                    abstract_type.params.len()
                ),
            );
            return sig.clone();
        }
        let same = |pair: (&TypeParam, &TypeParam)| match pair {
            (TypeParam::Size(_), TypeParam::Size(_)) => true,
            (TypeParam::Type(_, given), TypeParam::Type(_, required)) => {
                less_lifted(*given, *required) == *required
            }
            _ => false,
        };
        if !abbr.params.iter().zip(&abstract_type.params).all(same) {
            self.cx.report(
                Diagnostic::error(
                    "type-arguments",
                    format!(
                        "Cannot refine a type with different parameters: those of \"{text}\" differ in \
                         kind or liftedness"
                    ),
                )
                .at(with.span, "")
                .hint("copy the parameters from the module type, including `'` and `'^`"),
            );
            return sig.clone();
        }
        if abbr.params.is_empty() {
            let what = "the type cannot implement this abstract type";
            // If `with` gives a definition, the abstract type's users know it, including
            // existential sizes.
            let limit = match abstract_type.lifted {
                Liftedness::Unlifted | Liftedness::SizeLifted => Liftedness::SizeLifted,
                Liftedness::Lifted => Liftedness::Lifted,
            };
            self.known_checker().require_lifted(&abbr.ty, limit, with.span, what);
        }
        let id = abstract_type.id;
        let mut map = TypeSubst::default();
        map.types.insert(id, Rc::new(abbr));
        let mut out = map.struct_sig(body);
        out.abstract_types.retain(|abstract_type| abstract_type.id != id);
        ModType::Struct(Rc::new(out))
    }
}

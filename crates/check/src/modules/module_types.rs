//! Module types: specifications, abstract types, and `with`.

use crate::env::{Entry, Hole, Module, Scheme, Sig, StructSig, Target, TypeAbbr, TypeParam, ValueEntry};
use crate::infer::lower;
use crate::modules::Elaborator;
use crate::modules::instances::{TypeSubst, instance, refresh};
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{self, Liftedness, ModTypeExp, ModTypeExpKind, SpecKind};
use syntax::diag::Diagnostic;
use syntax::symbol::Symbol;

impl<'a> Elaborator<'a> {
    /// Checks a module type expression; its abstract types are new ones.
    pub(super) fn sig_exp(&mut self, mte: &'a ModTypeExp) -> Sig<'a> {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || self.sig_exp_inner(mte))
    }

    fn sig_exp_inner(&mut self, mte: &'a ModTypeExp) -> Sig<'a> {
        match &mte.kind {
            ModTypeExpKind::Var(name) => {
                let found = if name.quals.is_empty() {
                    self.cx.env.sig(name.name.name).cloned()
                } else {
                    match self.cx.find_module(&name.quals) {
                        Some(Module::Struct(module)) => module.sigs.get(&name.name.name).cloned(),
                        Some(Module::Functor(_) | Module::Intrinsics) | None => None,
                    }
                };
                let Some(sig) = found else {
                    let text = self.cx.name(name.name.name);
                    self.cx.error(
                        "unknown-module-type",
                        name.span(),
                        format!("Unknown module type \"{text}\""),
                    );
                    return Sig::Struct(Rc::default());
                };
                refresh(&mut self.tables, &sig)
            }
            ModTypeExpKind::Parens(inner) => self.sig_exp(inner),
            ModTypeExpKind::Specs(specs) => self.specs(specs),
            ModTypeExpKind::With(inner, with) => {
                let sig = self.sig_exp(inner);
                self.with_type(&sig, with)
            }
            ModTypeExpKind::Arrow(name, param, ret) => {
                let param = self.sig_exp(param);
                let saved = self.cx.env.snapshot();
                if let Some(name) = name {
                    let module = instance(&param);
                    self.cx.env.bind_term(name.name, Entry::Module(module));
                }
                let ret = self.sig_exp(ret);
                self.cx.env = saved;
                Sig::Functor { param: Rc::new(param), ret: Rc::new(ret) }
            }
        }
    }

    fn specs(&mut self, specs: &'a [ast::Spec]) -> Sig<'a> {
        let saved = self.cx.env.snapshot();
        let place = self.cx.place;
        self.cx.place = place.spec(true);
        let mut sig = StructSig::default();
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
                    let name = self.cx.name(ident.name);
                    self.cx.error(
                        "duplicate-definition",
                        ident.span,
                        format!("\"{name}\" is specified twice"),
                    );
                }
                seen.push((ident.name, space));
            }
            self.spec(spec, &mut sig);
        }
        self.cx.place = place;
        self.cx.env = saved;
        Sig::Struct(Rc::new(sig))
    }

    fn spec(&mut self, spec: &'a ast::Spec, sig: &mut StructSig<'a>) {
        match &spec.kind {
            SpecKind::Val { name, type_params, ty } => {
                let text = self.cx.name(name.name);
                let var = self.tables.new_value(text, 0, name.span);
                let scheme = self.val_spec(type_params, ty);
                let entry = Entry::Value(Rc::new(ValueEntry {
                    target: Target::Var(var),
                    scheme: Arc::new(scheme),
                    via: None,
                    span: Some(name.span),
                }));
                sig.body.terms.insert(name.name, entry.clone());
                self.cx.env.bind_term(name.name, entry);
            }
            SpecKind::TypeAbbr(bind) => {
                let abbr = Rc::new(self.type_bind(bind));
                sig.body.types.insert(bind.name.name, Rc::clone(&abbr));
                self.cx.env.bind_type(bind.name.name, abbr);
            }
            SpecKind::Type { lifted, name, params } => {
                let text = self.cx.name(name.name);
                let params = self.spec_params(params);
                let (id, abbr) = self.tables.new_abstract(text, params.clone(), *lifted, None);
                sig.holes.push(Hole { path: vec![name.name], id, lifted: *lifted, params });
                let abbr = Rc::new(abbr);
                sig.body.types.insert(name.name, Rc::clone(&abbr));
                self.cx.env.bind_type(name.name, abbr);
            }
            SpecKind::Mod(name, mte) => {
                let inner = self.sig_exp(mte);
                if let Sig::Struct(inner) = &inner {
                    sig.holes.extend(inner.holes.iter().map(|hole| Hole {
                        path: std::iter::once(name.name).chain(hole.path.iter().copied()).collect(),
                        ..hole.clone()
                    }));
                }
                let entry = Entry::Module(instance(&inner));
                sig.body.terms.insert(name.name, entry.clone());
                self.cx.env.bind_term(name.name, entry);
            }
            SpecKind::Include(mte) => match self.sig_exp(mte) {
                Sig::Struct(inner) => {
                    // A type that `with` has made equal to an outer one is no hole and shadows
                    // nothing.
                    for hole in &inner.holes {
                        if let [name] = hole.path.as_slice()
                            && self.cx.env.ty(*name).is_some()
                        {
                            let name = self.cx.name(*name);
                            let message = format!("Inclusion shadows type \"{name}\"");
                            self.cx.warn(Diagnostic::warning("shadowed-type", message).at(mte.span, ""));
                        }
                    }
                    self.cx.env.open(&inner.body);
                    sig.holes.extend(inner.holes.iter().cloned());
                    let body = &inner.body;
                    sig.body.terms.extend(body.terms.iter().map(|(n, e)| (*n, e.clone())));
                    sig.body.types.extend(body.types.iter().map(|(n, t)| (*n, Rc::clone(t))));
                }
                Sig::Functor { .. } => {
                    let message = "only a module type with specifications can be included";
                    self.cx.error("not-a-struct", mte.span, message);
                }
            },
        }
    }

    /// The type of a `val` specification.
    pub(super) fn val_spec(&mut self, type_params: &'a [ast::TypeParam], ty: &'a ast::TypeExp) -> Scheme {
        self.checked(|definer| definer.val_spec(type_params, ty))
    }

    /// The parameters of an abstract type.
    pub(super) fn spec_params(&mut self, params: &[ast::TypeParam]) -> Vec<TypeParam> {
        self.definer().scoped(|c| c.type_params(params))
    }

    /// A type with a definition.
    pub(super) fn type_bind(&mut self, bind: &'a ast::TypeBind) -> TypeAbbr {
        self.checked(|definer| definer.type_bind(bind))
    }

    /// `mte with t 'a = te`.
    fn with_type(&mut self, sig: &Sig<'a>, with: &'a ast::TypeRef) -> Sig<'a> {
        let Sig::Struct(body) = sig else {
            let message = "`with` needs a module type with specifications";
            self.cx.error("not-a-struct", with.span, message);
            return sig.clone();
        };
        let path: Vec<Symbol> = with.name.quals.iter().map(|q| q.name).chain([with.name.name.name]).collect();
        let place = self.cx.place;
        self.cx.place = place.spec(false);
        let abbr = self.checked(|definer| definer.with_type(with));
        self.cx.place = place;
        let text = self.cx.name(with.name.name.name);
        let Some(hole) = body.holes.iter().find(|hole| hole.path == path) else {
            self.cx.error(
                "unknown-type",
                with.name.span(),
                format!("\"{text}\" is not an abstract type of the module type"),
            );
            return sig.clone();
        };
        if hole.params.len() != abbr.params.len() {
            self.cx.error(
                "type-arguments",
                with.span,
                format!("Cannot refine a type with other parameters: \"{text}\" has {}", hole.params.len()),
            );
            return sig.clone();
        }
        let same = |pair: (&TypeParam, &TypeParam)| match pair {
            (TypeParam::Size(_), TypeParam::Size(_)) => true,
            (TypeParam::Type(_, own), TypeParam::Type(_, wanted)) => lower(*own, *wanted) == *wanted,
            _ => false,
        };
        if !abbr.params.iter().zip(&hole.params).all(same) {
            self.cx.report(
                Diagnostic::error(
                    "type-arguments",
                    format!("Cannot refine a type with other parameters: those of \"{text}\" differ"),
                )
                .at(with.span, "")
                .hint("give the parameters as the module type has them, `'` and `'^` included"),
            );
            return sig.clone();
        }
        if abbr.params.is_empty() {
            let what = "the type cannot stand for this abstract type";
            // If `with` gives a definition, the abstract type's users know it, including
            // existential sizes.
            let limit = match hole.lifted {
                Liftedness::Unlifted | Liftedness::SizeLifted => Liftedness::SizeLifted,
                Liftedness::Lifted => Liftedness::Lifted,
            };
            self.definer().require_lifted(&abbr.ty, limit, with.span, what);
        }
        let id = hole.id;
        let mut map = TypeSubst::default();
        map.types.insert(id, Rc::new(abbr));
        let mut out = map.struct_sig(body);
        out.holes.retain(|hole| hole.id != id);
        Sig::Struct(Rc::new(out))
    }
}

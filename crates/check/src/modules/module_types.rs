//! Module types: their specifications, abstract types, and `with`.

use crate::checker::Checker;
use crate::env::{
    Entry, Hole, Module, Scheme, Sig, StructSig, Target, TypeAbbr, TypeParam, ValueEntry,
};
use crate::infer::AbstractData;
use crate::tast::{Dim, Name, Ty, TypeArgs, TypeId};
use crate::define::types::Anonymous;
use crate::infer::unify::lower;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{self, Liftedness, ModTypeExp, ModTypeExpKind, SpecKind};
use syntax::diag::Diagnostic;
use syntax::symbol::Symbol;

impl<'a> Checker<'a> {
    /// A module type expression; its abstract types are new ones.
    pub(crate) fn sig_exp(&mut self, mte: &'a ModTypeExp) -> Sig<'a> {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || {
            self.sig_exp_inner(mte)
        })
    }

    fn sig_exp_inner(&mut self, mte: &'a ModTypeExp) -> Sig<'a> {
        match &mte.kind {
            ModTypeExpKind::Var(name) => {
                let found = if name.quals.is_empty() {
                    self.env.sig(name.name.name).cloned()
                } else {
                    match self.find_module(&name.quals) {
                        Some(Module::Struct(module)) => module.sigs.get(&name.name.name).cloned(),
                        Some(Module::Functor(_) | Module::Intrinsics) | None => None,
                    }
                };
                let Some(sig) = found else {
                    let text = self.name(name.name.name);
                    self.error(
                        "unknown-module-type",
                        name.span(),
                        format!("Unknown module type \"{text}\""),
                    );
                    return Sig::Struct(Rc::default());
                };
                self.refresh(&sig)
            }
            ModTypeExpKind::Parens(inner) => self.sig_exp(inner),
            ModTypeExpKind::Specs(specs) => self.specs(specs),
            ModTypeExpKind::With(inner, with) => {
                let sig = self.sig_exp(inner);
                self.with_type(&sig, with)
            }
            ModTypeExpKind::Arrow(name, param, ret) => {
                let param = self.sig_exp(param);
                let saved = self.snapshot();
                if let Some(name) = name {
                    let module = Self::instance(&param);
                    self.env.bind_term(name.name, Entry::Module(module));
                }
                let ret = self.sig_exp(ret);
                self.env = saved;
                Sig::Functor {
                    param: Rc::new(param),
                    ret: Rc::new(ret),
                }
            }
        }
    }

    fn specs(&mut self, specs: &'a [ast::Spec]) -> Sig<'a> {
        let saved = self.snapshot();
        let in_spec = std::mem::replace(&mut self.in_spec, true);
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
                    let name = self.name(ident.name);
                    self.error(
                        "duplicate-definition",
                        ident.span,
                        format!("\"{name}\" is specified twice"),
                    );
                }
                seen.push((ident.name, space));
            }
            self.spec(spec, &mut sig);
        }
        self.in_spec = in_spec;
        self.env = saved;
        Sig::Struct(Rc::new(sig))
    }

    fn spec(&mut self, spec: &'a ast::Spec, sig: &mut StructSig<'a>) {
        match &spec.kind {
            SpecKind::Val {
                name,
                type_params,
                ty,
            } => {
                let text = self.name(name.name);
                let var = self.new_value(text, name.span);
                let scheme = self.val_spec(type_params, ty);
                let entry = Entry::Value(Rc::new(ValueEntry {
                    target: Target::Var(var),
                    scheme: Arc::new(scheme),
                    via: None,
                    span: Some(name.span),
                }));
                sig.body.terms.insert(name.name, entry.clone());
                self.env.bind_term(name.name, entry);
            }
            SpecKind::TypeAbbr(bind) => {
                let abbr = Rc::new(self.type_bind(bind));
                sig.body.types.insert(bind.name.name, Rc::clone(&abbr));
                self.env.bind_type(bind.name.name, abbr);
            }
            SpecKind::Type {
                lifted,
                name,
                params,
            } => {
                let text = self.name(name.name);
                let params = self.scoped(|c| c.type_params(params));
                let (id, abbr) = self.new_abstract(text, params.clone(), *lifted, None);
                sig.holes.push(Hole {
                    path: vec![name.name],
                    id,
                    lifted: *lifted,
                    params,
                });
                let abbr = Rc::new(abbr);
                sig.body.types.insert(name.name, Rc::clone(&abbr));
                self.env.bind_type(name.name, abbr);
            }
            SpecKind::Mod(name, mte) => {
                let inner = self.sig_exp(mte);
                if let Sig::Struct(inner) = &inner {
                    sig.holes.extend(inner.holes.iter().map(|hole| {
                        Hole {
                            path: std::iter::once(name.name)
                                .chain(hole.path.iter().copied())
                                .collect(),
                            ..hole.clone()
                        }
                    }));
                }
                let entry = Entry::Module(Self::instance(&inner));
                sig.body.terms.insert(name.name, entry.clone());
                self.env.bind_term(name.name, entry);
            }
            SpecKind::Include(mte) => match self.sig_exp(mte) {
                Sig::Struct(inner) => {
                    // Types that `with` has made one with those outside hide nothing.
                    for hole in &inner.holes {
                        if let [name] = hole.path.as_slice()
                            && self.env.ty(*name).is_some()
                        {
                            let name = self.name(*name);
                            let message = format!("Inclusion shadows type \"{name}\"");
                            self.warn(
                                Diagnostic::warning("shadowed-type", message).at(mte.span, ""),
                            );
                        }
                    }
                    self.env.open(&inner.body);
                    sig.holes.extend(inner.holes.iter().cloned());
                    let body = &inner.body;
                    sig.body
                        .terms
                        .extend(body.terms.iter().map(|(n, e)| (*n, e.clone())));
                    sig.body
                        .types
                        .extend(body.types.iter().map(|(n, t)| (*n, Rc::clone(t))));
                }
                Sig::Functor { .. } => {
                    let message = "only a module type with specifications can be included";
                    self.error("not-a-struct", mte.span, message);
                }
            },
        }
    }

    /// The type of a `val` specification.
    pub(crate) fn val_spec(
        &mut self,
        type_params: &'a [ast::TypeParam],
        ty: &'a ast::TypeExp,
    ) -> Scheme {
        self.scoped(|c| {
            let params = c.type_params(type_params);
            let mut anon = Anonymous::Collect(Vec::new());
            let (ty, _) = c.type_exp(ty, &mut anon);
            let ty = c.settled_ty(&ty);
            if let Anonymous::Collect(ext) = anon {
                for var in ext {
                    c.tables.var_mut(var).state = crate::infer::VarState::Unknown;
                }
            }
            let mut scheme = Scheme::mono(ty);
            for param in params {
                match param {
                    TypeParam::Type(var, _) => scheme.ty_params.push(var),
                    TypeParam::Size(var) => scheme.size_params.push(var),
                }
            }
            scheme
        })
    }

    /// A new abstract type, and the name for it.
    pub(crate) fn new_abstract(
        &mut self,
        name: Name,
        params: Vec<TypeParam>,
        lifted: Liftedness,
        repr: Option<Arc<TypeAbbr>>,
    ) -> (TypeId, TypeAbbr) {
        let id = TypeId(self.tables.abstracts.len() as u32);
        self.tables.abstracts.push(AbstractData {
            name,
            path: String::new(),
            lifted,
            repr,
        });
        let mut args = TypeArgs::default();
        for param in &params {
            match param {
                TypeParam::Type(var, _) => args.types.push(Ty::Var(*var)),
                TypeParam::Size(var) => args.dims.push(Dim::Var(*var)),
            }
        }
        let ty = Ty::Abstract(id, Arc::new(args));
        (
            id,
            TypeAbbr {
                params,
                ext: Vec::new(),
                ty,
                lifted,
            },
        )
    }

    /// `mte with t 'a = te`.
    fn with_type(&mut self, sig: &Sig<'a>, with: &'a ast::TypeRef) -> Sig<'a> {
        let Sig::Struct(body) = sig else {
            let message = "`with` needs a module type with specifications";
            self.error("not-a-struct", with.span, message);
            return sig.clone();
        };
        let path: Vec<Symbol> = with
            .name
            .quals
            .iter()
            .map(|q| q.name)
            .chain([with.name.name.name])
            .collect();
        let in_spec = std::mem::replace(&mut self.in_spec, false);
        let abbr = self.scoped(|c| {
            let params = c.type_params(&with.params);
            let mut anon = Anonymous::Collect(Vec::new());
            let (ty, _) = c.type_exp(&with.body, &mut anon);
            let ext = match anon {
                Anonymous::Collect(ext) => ext,
                Anonymous::Infer | Anonymous::Forbid | Anonymous::Result(_) => Vec::new(),
            };
            TypeAbbr {
                params,
                ext,
                ty: c.tables.resolve(&ty),
                lifted: Liftedness::Lifted,
            }
        });
        self.in_spec = in_spec;
        let text = self.name(with.name.name.name);
        let Some(hole) = body.holes.iter().find(|hole| hole.path == path) else {
            self.error(
                "unknown-type",
                with.name.span(),
                format!("\"{text}\" is not an abstract type of the module type"),
            );
            return sig.clone();
        };
        if hole.params.len() != abbr.params.len() {
            self.error(
                "type-arguments",
                with.span,
                format!(
                    "Cannot refine a type with other parameters: \"{text}\" has {}",
                    hole.params.len()
                ),
            );
            return sig.clone();
        }
        let same = |pair: (&TypeParam, &TypeParam)| match pair {
            (TypeParam::Size(_), TypeParam::Size(_)) => true,
            (TypeParam::Type(_, own), TypeParam::Type(_, wanted)) => {
                lower(*own, *wanted) == *wanted
            }
            _ => false,
        };
        if !abbr.params.iter().zip(&hole.params).all(same) {
            self.report(
                Diagnostic::error(
                    "type-arguments",
                    format!(
                        "Cannot refine a type with other parameters: those of \"{text}\" differ"
                    ),
                )
                .at(with.span, "")
                .hint("give the parameters as the module type has them, `'` and `'^` included"),
            );
            return sig.clone();
        }
        if abbr.params.is_empty() {
            let what = "the type cannot stand for this abstract type";
            // What is known of the type afterwards includes sizes that vary.
            let limit = match hole.lifted {
                Liftedness::Unlifted | Liftedness::SizeLifted => Liftedness::SizeLifted,
                Liftedness::Lifted => Liftedness::Lifted,
            };
            self.require_lifted(&abbr.ty, limit, with.span, what);
        }
        let id = hole.id;
        let mut map = crate::modules::matching::TypeSubst::default();
        map.types.insert(id, Rc::new(abbr));
        let mut out = self.map_struct_sig(body, &mut map);
        out.holes.retain(|hole| hole.id != id);
        Sig::Struct(Rc::new(out))
    }
}

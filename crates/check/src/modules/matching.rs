//! Modules against module types.
//!
//! To *match* a module with a module type is to find for each abstract type of
//! the module type what stands for it in the module, then to hold each value
//! against its specification. The result is a *view*: the same values, seen at
//! the specified types, which for ascription mention new abstract types and for
//! the argument of a parametric module the actual ones.

use crate::checker::Checker;
use crate::env::Env;
use crate::env::{
    Entry, Functor, FunctorBody, Hole, Module, Scheme, Sig, Struct, StructSig, Target, TypeAbbr,
    TypeParam, ValueEntry,
};
use crate::subst::{Subst, TyMap, map_ty};
use crate::tast::{Dim, ExpKind, Ty, TyVarId, TypeArgs, TypeId, VarId};
use crate::infer::unify::Sizes;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use syntax::diag::Diagnostic;
use syntax::span::Span;
use syntax::symbol::Symbol;

/// What stands for abstract types.
#[derive(Default)]
pub(crate) struct TypeSubst {
    /// Definitions of abstract types.
    pub(crate) types: FxHashMap<TypeId, Rc<TypeAbbr>>,
    /// Values for the values that a module type specifies, where sizes mention them.
    pub(crate) dims: FxHashMap<VarId, Dim>,
}

impl TyMap for TypeSubst {
    fn ty_var(&mut self, _: TyVarId) -> Option<Ty> {
        None
    }

    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        self.dims.get(&var).cloned()
    }

    fn abstract_ty(&mut self, id: TypeId, args: &TypeArgs) -> Option<Ty> {
        let abbr = self.types.get(&id)?;
        let mut subst = abbr.subst(&args.types, &args.dims);
        // Sizes that the representation hides stay unknown.
        subst
            .dims
            .extend(abbr.ext.iter().map(|var| (*var, Dim::Any)));
        Some(subst.ty(&abbr.ty))
    }
}

impl TypeSubst {
    fn abbr(&mut self, abbr: &Rc<TypeAbbr>) -> Rc<TypeAbbr> {
        match map_ty(&abbr.ty, self) {
            Some(ty) => Rc::new(TypeAbbr {
                ty,
                ..TypeAbbr::clone(abbr)
            }),
            None => Rc::clone(abbr),
        }
    }

    fn value(&mut self, value: &Rc<ValueEntry>) -> Rc<ValueEntry> {
        match map_ty(&value.scheme.ty, self) {
            Some(ty) => Rc::new(ValueEntry {
                scheme: Arc::new(Scheme {
                    ty,
                    ..Scheme::clone(&value.scheme)
                }),
                ..ValueEntry::clone(value)
            }),
            None => Rc::clone(value),
        }
    }
}

impl<'a> Checker<'a> {
    /// A module of which nothing but its type is known: new abstract types.
    pub(crate) fn skeleton(&mut self, sig: &Sig<'a>) -> Module<'a> {
        let sig = self.refresh(sig);
        Self::instance(&sig)
    }

    /// The module that a module type describes, with its own abstract types.
    pub(crate) fn instance(sig: &Sig<'a>) -> Module<'a> {
        match sig {
            Sig::Struct(sig) => Module::Struct(Rc::new(sig.body.clone())),
            Sig::Functor { param, ret } => {
                let body = FunctorBody::Known {
                    param: Rc::clone(param),
                    ret: Rc::clone(ret),
                };
                Module::Functor(Rc::new(Functor {
                    body,
                    env: Env::default(),
                }))
            }
        }
    }

    /// The same module type with abstract types of its own.
    pub(crate) fn refresh(&mut self, sig: &Sig<'a>) -> Sig<'a> {
        match sig {
            Sig::Functor { .. } => sig.clone(),
            Sig::Struct(sig) if sig.holes.is_empty() => Sig::Struct(Rc::clone(sig)),
            Sig::Struct(sig) => {
                let mut map = TypeSubst::default();
                let mut ids = FxHashMap::default();
                for hole in &sig.holes {
                    let name = Arc::clone(&self.tables.abstracts[hole.id.0 as usize].name);
                    let (id, abbr) =
                        self.new_abstract(name, hole.params.clone(), hole.lifted, None);
                    map.types.insert(hole.id, Rc::new(abbr));
                    ids.insert(hole.id, id);
                }
                let mut out = self.map_struct_sig(sig, &mut map);
                for hole in &mut out.holes {
                    if let Some(id) = ids.get(&hole.id) {
                        hole.id = *id;
                    }
                }
                Sig::Struct(Rc::new(out))
            }
        }
    }

    /// The module type with abstract types replaced; the holes stay listed.
    pub(crate) fn map_struct_sig(
        &mut self,
        sig: &StructSig<'a>,
        map: &mut TypeSubst,
    ) -> StructSig<'a> {
        StructSig {
            holes: sig.holes.clone(),
            body: self.map_struct(&sig.body, map),
        }
    }

    fn map_struct(&mut self, body: &Struct<'a>, map: &mut TypeSubst) -> Struct<'a> {
        let terms = body
            .terms
            .iter()
            .map(|(name, entry)| (*name, self.map_entry(entry, map)))
            .collect();
        let types = body
            .types
            .iter()
            .map(|(name, abbr)| (*name, map.abbr(abbr)))
            .collect();
        Struct {
            terms,
            types,
            sigs: body.sigs.clone(),
        }
    }

    fn map_entry(&mut self, entry: &Entry<'a>, map: &mut TypeSubst) -> Entry<'a> {
        match entry {
            Entry::Value(value) => Entry::Value(map.value(value)),
            Entry::Module(Module::Struct(inner)) => {
                Entry::Module(Module::Struct(Rc::new(self.map_struct(inner, map))))
            }
            Entry::Module(Module::Functor(functor)) => match &functor.body {
                FunctorBody::Known { param, ret } => {
                    let body = FunctorBody::Known {
                        param: Rc::new(self.map_sig(param, map)),
                        ret: Rc::new(self.map_sig(ret, map)),
                    };
                    let env = functor.env.clone();
                    Entry::Module(Module::Functor(Rc::new(Functor { body, env })))
                }
                FunctorBody::Source { .. } => entry.clone(),
            },
            Entry::Module(Module::Intrinsics)
            | Entry::Operator(_)
            | Entry::Equality { .. }
            | Entry::Logical { .. } => entry.clone(),
        }
    }

    pub(crate) fn map_sig(&mut self, sig: &Sig<'a>, map: &mut TypeSubst) -> Sig<'a> {
        match sig {
            Sig::Struct(sig) => Sig::Struct(Rc::new(self.map_struct_sig(sig, map))),
            Sig::Functor { param, ret } => Sig::Functor {
                param: Rc::new(self.map_sig(param, map)),
                ret: Rc::new(self.map_sig(ret, map)),
            },
        }
    }

    /// `module : sig`: the view with new abstract types.
    pub(crate) fn ascribe(&mut self, module: &Module<'a>, sig: &Sig<'a>, span: Span) -> Module<'a> {
        self.match_sig(module, sig, span, true)
    }

    /// The view of a module through a module type; `opaque` makes its abstract
    /// types new ones.
    pub(crate) fn match_sig(
        &mut self,
        module: &Module<'a>,
        sig: &Sig<'a>,
        span: Span,
        opaque: bool,
    ) -> Module<'a> {
        match (module, sig) {
            (Module::Struct(module), Sig::Struct(sig)) => {
                let mut actual = TypeSubst::default();
                let mut seen = TypeSubst::default();
                for hole in &sig.holes {
                    self.fill_hole(module, hole, span, opaque, &mut actual, &mut seen);
                }
                let mut sizes = FxHashMap::default();
                specified_sizes(module, &sig.body, &mut sizes);
                actual.dims.clone_from(&sizes);
                seen.dims = sizes;
                Module::Struct(Rc::new(self.view(
                    module,
                    &sig.body,
                    &sig.holes,
                    &mut actual,
                    &mut seen,
                    span,
                )))
            }
            (Module::Functor(_), Sig::Functor { .. }) => module.clone(),
            (Module::Intrinsics, _) => module.clone(),
            (Module::Struct(_), Sig::Functor { .. }) => {
                self.error(
                    "module-mismatch",
                    span,
                    "a parametric module is needed here",
                );
                self.skeleton(sig)
            }
            (Module::Functor(_), Sig::Struct(_)) => {
                self.error(
                    "module-mismatch",
                    span,
                    "this module is parametric: apply it first",
                );
                self.skeleton(sig)
            }
        }
    }

    /// Matches a module and gives what stands for the abstract types and sizes
    /// of the module type.
    pub(crate) fn actual_types(
        &mut self,
        module: &Module<'a>,
        sig: &Sig<'a>,
        span: Span,
    ) -> TypeSubst {
        self.match_sig(module, sig, span, false);
        let mut actual = TypeSubst::default();
        if let (Module::Struct(module), Sig::Struct(sig)) = (module, sig) {
            for hole in &sig.holes {
                if let Some(found) = find_path(module, &hole.path) {
                    actual.types.insert(hole.id, found);
                }
            }
            specified_sizes(module, &sig.body, &mut actual.dims);
        }
        actual
    }

    fn view(
        &mut self,
        module: &Struct<'a>,
        body: &Struct<'a>,
        holes: &[Hole],
        actual: &mut TypeSubst,
        seen: &mut TypeSubst,
        span: Span,
    ) -> Struct<'a> {
        let mut out = Struct::default();
        for (symbol, abbr) in &body.types {
            let hole = holes.iter().any(|hole| hole.path == [*symbol]);
            if !hole {
                self.check_abbr(module, *symbol, &actual.abbr(abbr), span);
            }
            out.types.insert(*symbol, seen.abbr(abbr));
        }
        for (symbol, spec) in &body.terms {
            let entry = match (spec, module.terms.get(symbol)) {
                (Entry::Value(spec), Some(Entry::Value(value))) => {
                    self.check_hidden_sizes(*symbol, &spec.scheme.ty, actual, span);
                    let via = self.match_value(*symbol, &actual.value(spec), value, span);
                    let shown = seen.value(spec);
                    Entry::Value(Rc::new(ValueEntry {
                        target: value.target,
                        scheme: Arc::clone(&shown.scheme),
                        via,
                        span: value.span,
                    }))
                }
                (
                    Entry::Module(Module::Struct(spec)),
                    Some(Entry::Module(Module::Struct(inner))),
                ) => {
                    let below: Vec<Hole> = holes
                        .iter()
                        .filter(|hole| hole.path.first() == Some(symbol))
                        .map(|hole| Hole {
                            path: hole.path[1..].to_vec(),
                            ..hole.clone()
                        })
                        .collect();
                    let inner = self.view(inner, spec, &below, actual, seen, span);
                    Entry::Module(Module::Struct(Rc::new(inner)))
                }
                (
                    Entry::Module(Module::Functor(_)),
                    Some(found @ Entry::Module(Module::Functor(_))),
                ) => found.clone(),
                (spec, found) => {
                    let name = self.name(*symbol);
                    let kind = if matches!(spec, Entry::Module(_)) {
                        "module"
                    } else {
                        "value"
                    };
                    let message = match found {
                        None => format!(
                            "the module has no {kind} \"{name}\", which its module type specifies"
                        ),
                        Some(_) => format!("\"{name}\" must be a {kind} of the specified form"),
                    };
                    self.error("module-mismatch", span, message);
                    spec.clone()
                }
            };
            out.terms.insert(*symbol, entry);
        }
        out
    }

    /// A type specified with its definition must have that definition.
    fn check_abbr(&mut self, module: &Struct<'a>, symbol: Symbol, spec: &TypeAbbr, span: Span) {
        let name = self.name(symbol);
        let Some(found) = module.types.get(&symbol).cloned() else {
            self.error(
                "module-mismatch",
                span,
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
            "the type \"{name}\" is not the specified one: the module type requires \
             \"type {name} = {shown}\""
        );
        self.unify(&expected, &actual, span, &what);
    }

    /// A value against its specification: what its own parameters are in terms
    /// of those of the specification.
    fn match_value(
        &mut self,
        symbol: Symbol,
        spec: &ValueEntry,
        value: &ValueEntry,
        span: Span,
    ) -> Option<Arc<Subst>> {
        let (wanted, own) = (&spec.scheme, &value.scheme);
        if own.ty_params.is_empty() && own.size_params.is_empty() && own.ty == wanted.ty {
            return value.via.clone();
        }
        let deferred = self.deferred.len();
        self.depth += 2;
        let used = self.instantiate(value, span);
        let result = self.unifying(Sizes::Strict, span, |u| {
            u.unify(&wanted.ty, &used.ty)?;
            u.settle()
        });
        self.depth -= 2;
        self.deferred.truncate(deferred);
        if let Err(mismatch) = result {
            let name = self.name(symbol);
            let shown = self.tables.show(&wanted.ty);
            let what = format!(
                "\"{name}\" does not have the specified type: Module type requires \
                 \"val {name} : {shown}\""
            );
            self.mismatch(&wanted.ty, &used.ty, &mismatch, span, &what);
        } else if !self.functions.fit(value.target, &wanted.ty, &own.ty) {
            let name = self.name(symbol);
            let (wanted, own) = (self.tables.show(&wanted.ty), self.tables.show(&own.ty));
            let message = format!(
                "\"{name}\" consumes more than is specified, or shares what must be unique"
            );
            self.report(
                Diagnostic::error("unique-mismatch", message)
                    .at(span, "")
                    .note(format!("specified: `val {name} : {wanted}`"))
                    .note(format!("found    : `val {name} : {own}`")),
            );
        }
        let mut via = match &used.kind {
            ExpKind::Var {
                ty_args, size_args, ..
            } => Subst {
                types: ty_args.clone(),
                dims: size_args.clone(),
            },
            // Of the parameters of an intrinsic only the order counts.
            ExpKind::Intrinsic {
                ty_args,
                size_args,
                fun: _,
            } => Subst {
                types: ty_args.iter().map(|ty| (TyVarId(0), ty.clone())).collect(),
                dims: size_args
                    .iter()
                    .map(|dim| (VarId(0), dim.clone()))
                    .collect(),
            },
            _ => return None,
        };
        for (_, ty) in &mut via.types {
            *ty = self.tables.resolve(ty);
        }
        for (_, dim) in &mut via.dims {
            *dim = self.tables.resolve_dim(dim);
        }
        (!via.is_empty()).then(|| Arc::new(via))
    }
}

/// For each specified value of type `i64`, the value itself.
fn specified_sizes(module: &Struct<'_>, sig: &Struct<'_>, out: &mut FxHashMap<VarId, Dim>) {
    for (symbol, spec) in &sig.terms {
        match (spec, module.terms.get(symbol)) {
            (Entry::Value(spec), Some(Entry::Value(value))) => {
                if let (Target::Var(placeholder), Target::Var(actual)) = (spec.target, value.target)
                    && spec.scheme.ty == Ty::I64
                {
                    out.insert(placeholder, Dim::Var(actual));
                }
            }
            (Entry::Module(Module::Struct(spec)), Some(Entry::Module(Module::Struct(inner)))) => {
                specified_sizes(inner, spec, out);
            }
            _ => {}
        }
    }
}

/// The type at the end of a path of modules.
pub(crate) fn find_path(module: &Struct<'_>, path: &[Symbol]) -> Option<Rc<TypeAbbr>> {
    match path {
        [] => None,
        [name] => module.types.get(name).cloned(),
        [first, rest @ ..] => match module.terms.get(first) {
            Some(Entry::Module(Module::Struct(inner))) => find_path(inner, rest),
            _ => None,
        },
    }
}

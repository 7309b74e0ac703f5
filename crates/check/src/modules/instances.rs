//! Instances of module types: with new abstract types, with abstract types replaced by definitions,
//! and as modules of which only the type is known.

use crate::env::{
    Entry, Env, Functor, FunctorBody, ModType, ModTypeSpecs, Module, ModuleExports, NamedType, Scheme,
    Target, ValueEntry,
};
use crate::infer::{InferTables, VarState};
use crate::subst::{TypeMapper, map_ty};
use crate::tast::{AbstractTypeId, Dim, Ty, TypeArgs, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A substitution for the abstract types and placeholders of a module type.
#[derive(Default)]
pub(crate) struct TypeSubst {
    /// Definitions of abstract types.
    pub(crate) types: FxHashMap<AbstractTypeId, Rc<NamedType>>,
    /// Sizes for the specified values that sizes mention.
    pub(crate) dims: FxHashMap<VarId, Dim>,
    /// New placeholders for specified values.
    targets: FxHashMap<VarId, VarId>,
}

impl TypeMapper for TypeSubst {
    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        self.dims.get(&var).cloned()
    }

    fn abstract_ty(&mut self, id: AbstractTypeId, args: &TypeArgs) -> Option<Ty> {
        let abbr = self.types.get(&id)?;
        let mut subst = abbr.subst(&args.types, &args.dims);
        // Existential sizes of the representation stay unknown.
        subst.dims.extend(abbr.ext.iter().map(|var| (*var, Dim::Any)));
        Some(subst.ty(&abbr.ty))
    }
}

impl TypeSubst {
    pub(super) fn abbr(&mut self, abbr: &Rc<NamedType>) -> Rc<NamedType> {
        match map_ty(&abbr.ty, self) {
            Some(ty) => Rc::new(NamedType { ty, ..NamedType::clone(abbr) }),
            None => Rc::clone(abbr),
        }
    }

    pub(super) fn value(&mut self, value: &Rc<ValueEntry>) -> Rc<ValueEntry> {
        if let Target::Var(old) = value.target
            && let Some(new) = self.targets.get(&old)
        {
            return Rc::new(ValueEntry { target: Target::Var(*new), ..ValueEntry::clone(value) });
        }
        match map_ty(&value.scheme.ty, self) {
            Some(ty) => Rc::new(ValueEntry {
                scheme: Arc::new(Scheme { ty, ..Scheme::clone(&value.scheme) }),
                ..ValueEntry::clone(value)
            }),
            None => Rc::clone(value),
        }
    }

    /// The module type with abstract types replaced; the list of abstract types is unchanged.
    pub(super) fn struct_sig<'a>(&mut self, sig: &ModTypeSpecs<'a>) -> ModTypeSpecs<'a> {
        ModTypeSpecs { abstract_types: sig.abstract_types.clone(), body: self.body(&sig.body) }
    }

    fn body<'a>(&mut self, body: &ModuleExports<'a>) -> ModuleExports<'a> {
        let terms = body.terms.iter().map(|(name, entry)| (*name, self.entry(entry))).collect();
        let types = body.types.iter().map(|(name, abbr)| (*name, self.abbr(abbr))).collect();
        ModuleExports { terms, types, mod_types: body.mod_types.clone() }
    }

    fn entry<'a>(&mut self, entry: &Entry<'a>) -> Entry<'a> {
        match entry {
            Entry::Value(value) => Entry::Value(self.value(value)),
            Entry::Module(Module::Struct(inner), span) => {
                Entry::Module(Module::Struct(Rc::new(self.body(inner))), *span)
            }
            Entry::Module(Module::Functor(functor), span) => match &functor.body {
                FunctorBody::Known { param, ret } => {
                    let body =
                        FunctorBody::Known { param: Rc::new(self.sig(param)), ret: Rc::new(self.sig(ret)) };
                    let env = functor.env.clone();
                    Entry::Module(Module::Functor(Rc::new(Functor { body, env })), *span)
                }
                FunctorBody::Source { .. } => entry.clone(),
            },
            Entry::Module(Module::Intrinsics | Module::Unknown, _)
            | Entry::Operator(_)
            | Entry::Equality { .. }
            | Entry::Logical { .. } => entry.clone(),
        }
    }

    /// The module type with abstract types replaced.
    pub(super) fn sig<'a>(&mut self, sig: &ModType<'a>) -> ModType<'a> {
        match sig {
            ModType::Struct(sig) => ModType::Struct(Rc::new(self.struct_sig(sig))),
            ModType::Functor { param, ret } => {
                ModType::Functor { param: Rc::new(self.sig(param)), ret: Rc::new(self.sig(ret)) }
            }
            ModType::Unknown => ModType::Unknown,
        }
    }
}

/// A module of which only the type is known, with new abstract types.
pub(super) fn abstract_module<'a>(tables: &mut InferTables, sig: &ModType<'a>) -> Module<'a> {
    module_of(&fresh_mod_type(tables, sig))
}

/// The module that a module type describes, with the abstract types of that module type.
pub(super) fn module_of<'a>(sig: &ModType<'a>) -> Module<'a> {
    match sig {
        ModType::Struct(sig) => Module::Struct(Rc::new(sig.body.clone())),
        ModType::Functor { param, ret } => {
            let body = FunctorBody::Known { param: Rc::clone(param), ret: Rc::clone(ret) };
            Module::Functor(Rc::new(Functor { body, env: Env::default() }))
        }
        ModType::Unknown => Module::Unknown,
    }
}

/// A copy of a module type with new abstract types and placeholders for sizes.
pub(super) fn fresh_mod_type<'a>(tables: &mut InferTables, sig: &ModType<'a>) -> ModType<'a> {
    match sig {
        ModType::Functor { .. } | ModType::Unknown => sig.clone(),
        ModType::Struct(sig) => {
            let mut map = TypeSubst::default();
            fresh_size_placeholders(tables, &sig.body, &mut map);
            if sig.abstract_types.is_empty() && map.targets.is_empty() {
                return ModType::Struct(Rc::clone(sig));
            }
            let mut ids = FxHashMap::default();
            for abstract_type in &sig.abstract_types {
                let name = Arc::clone(&tables.abstracts[abstract_type.id.index()].name);
                let (id, abbr) =
                    tables.new_abstract(name, abstract_type.params.clone(), abstract_type.lifted, None);
                map.types.insert(abstract_type.id, Rc::new(abbr));
                ids.insert(abstract_type.id, id);
            }
            let mut out = map.struct_sig(sig);
            for abstract_type in &mut out.abstract_types {
                if let Some(id) = ids.get(&abstract_type.id) {
                    abstract_type.id = *id;
                }
            }
            ModType::Struct(Rc::new(out))
        }
    }
}

/// New placeholders for the specified values of type `i64`, which sizes may mention.
fn fresh_size_placeholders(tables: &mut InferTables, body: &ModuleExports<'_>, map: &mut TypeSubst) {
    for entry in body.terms.values() {
        match entry {
            Entry::Value(value) => {
                if let Target::Var(old) = value.target
                    && value.scheme.ty == Ty::I64
                {
                    let data = tables.var(old);
                    let (name, depth, span) = (Arc::clone(&data.name), data.depth, data.span);
                    let new = tables.new_var(name, VarState::Value, depth);
                    tables.var_mut(new).span = span;
                    map.targets.insert(old, new);
                    map.dims.insert(old, Dim::Var(new));
                }
            }
            Entry::Module(Module::Struct(inner), _) => fresh_size_placeholders(tables, inner, map),
            _ => {}
        }
    }
}

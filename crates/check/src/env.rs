//! The environment: the entries of names (values, types, modules, module types), and scopes.
//!
//! A scope is a chain of frames. Only the innermost is written to, and closures of parametric
//! modules keep the chain that they captured. Local bindings are made in the innermost frame and
//! undone through a log.

use crate::intrinsics::Intrinsic;
use crate::subst::Subst;
use crate::tast::{AbstractTypeId, Dim, ExternalName, OverloadedOp, Ty, TyVarId, VarId};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{Liftedness, ModExp, ModParam, ModTypeExp};
use syntax::span::Span;
use syntax::symbol::Symbol;

/// A map in insertion order.
pub(crate) type Ordered<V> = IndexMap<Symbol, V, FxBuildHasher>;

/// A parameter of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TypeParam {
    /// `'t`
    Type(TyVarId, Liftedness),
    /// `[n]`
    Size(VarId),
}

impl TypeParam {
    /// Returns true for a size parameter.
    pub(crate) const fn is_size(&self) -> bool {
        matches!(self, Self::Size(_))
    }
}

/// A named type: its parameters and its definition.
#[derive(Clone, Debug)]
pub(crate) struct NamedType {
    pub(crate) params: Vec<TypeParam>,
    /// Existential sizes in `ty`.
    pub(crate) ext: Vec<VarId>,
    pub(crate) ty: Ty,
    pub(crate) lifted: Liftedness,
    /// The external spelling, if the type was declared at the top level of a file without type
    /// parameters.
    pub(crate) external_name: Option<Arc<ExternalName>>,
    /// The span of its name, where it is declared.
    pub(crate) span: Option<Span>,
}

impl NamedType {
    /// A type without parameters.
    pub(crate) const fn plain(ty: Ty) -> Self {
        Self {
            params: Vec::new(),
            ext: Vec::new(),
            ty,
            lifted: Liftedness::Unlifted,
            external_name: None,
            span: None,
        }
    }

    /// The type with its parameters replaced; existential sizes become unknown.
    pub(crate) fn apply(&self, types: &[Ty], dims: &[Dim]) -> Ty {
        let mut subst = self.subst(types, dims);
        subst.dims.extend(self.ext.iter().map(|var| (*var, Dim::Any)));
        subst.ty(&self.ty)
    }

    /// The substitution of arguments for the parameters.
    pub(crate) fn subst(&self, types: &[Ty], dims: &[Dim]) -> Subst {
        let (mut types, mut dims) = (types.iter(), dims.iter());
        let mut subst = Subst::default();
        for param in &self.params {
            match param {
                TypeParam::Type(var, _) => {
                    subst.types.extend(types.next().map(|ty| (*var, ty.clone())));
                }
                TypeParam::Size(var) => {
                    subst.dims.extend(dims.next().map(|dim| (*var, dim.clone())));
                }
            }
        }
        subst
    }
}

/// The type scheme of a value.
#[derive(Clone, Debug)]
pub(crate) struct Scheme {
    pub(crate) ty_params: Vec<TyVarId>,
    pub(crate) size_params: Vec<VarId>,
    pub(crate) ty: Ty,
}

impl Scheme {
    /// A type without parameters.
    pub(crate) const fn mono(ty: Ty) -> Self {
        Self { ty_params: Vec::new(), size_params: Vec::new(), ty }
    }
}

/// The referent of a value name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Var(VarId),
    Intrinsic(Intrinsic),
}

/// A value name.
#[derive(Clone, Debug)]
pub(crate) struct ValueEntry {
    pub(crate) target: Target,
    /// The type at which the value is seen.
    pub(crate) scheme: Arc<Scheme>,
    /// The arguments for the target's own parameters, in terms of the parameters of `scheme`;
    /// present if the value is seen through an ascription.
    pub(crate) instance_args: Option<Arc<Subst>>,
    pub(crate) span: Option<Span>,
}

/// A name of the term name space.
#[derive(Clone, Debug)]
pub(crate) enum Entry<'a> {
    Value(Rc<ValueEntry>),
    /// A module, and the span of its name where it is declared.
    Module(Module<'a>, Option<Span>),
    /// A built-in overloaded operator, from module `intrinsics`.
    Operator(OverloadedOp),
    /// `==` or `!=`.
    Equality {
        negate: bool,
    },
    /// `&&` or `||`.
    Logical {
        and: bool,
    },
}

impl Entry<'_> {
    /// The span of the name where it is declared.
    pub(crate) fn span(&self) -> Option<Span> {
        match self {
            Self::Value(value) => value.span,
            Self::Module(_, span) => *span,
            Self::Operator(_) | Self::Equality { .. } | Self::Logical { .. } => None,
        }
    }
}

/// A module.
#[derive(Clone, Debug)]
pub(crate) enum Module<'a> {
    Struct(Rc<ModuleExports<'a>>),
    Functor(Rc<Functor<'a>>),
    /// The built-in module.
    Intrinsics,
    /// The result of an error.
    Unknown,
}

/// The names that a module makes visible.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModuleExports<'a> {
    pub(crate) terms: Ordered<Entry<'a>>,
    pub(crate) types: Ordered<Rc<NamedType>>,
    /// Module types, each with the span of its name.
    pub(crate) mod_types: Ordered<(ModType<'a>, Span)>,
}

impl ModuleExports<'_> {
    /// Adds the names of another module.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.terms.extend(other.terms.iter().map(|(n, e)| (*n, e.clone())));
        self.types.extend(other.types.iter().map(|(n, t)| (*n, Rc::clone(t))));
        self.mod_types.extend(other.mod_types.iter().map(|(n, s)| (*n, s.clone())));
    }
}

/// A parametric module.
#[derive(Clone, Debug)]
pub(crate) struct Functor<'a> {
    pub(crate) body: FunctorBody<'a>,
    pub(crate) env: Env<'a>,
}

/// The body of a parametric module.
#[derive(Clone, Debug)]
pub(crate) enum FunctorBody<'a> {
    /// `\(p: S): T -> e`, also with several parameters.
    Source { params: &'a [ModParam], ret: Option<&'a ModTypeExp>, body: &'a ModExp },
    /// A parameter that is itself parametric: only its type is known.
    Known { param: Rc<ModType<'a>>, ret: Rc<ModType<'a>> },
}

/// A module type.
#[derive(Clone, Debug)]
pub(crate) enum ModType<'a> {
    Struct(Rc<ModTypeSpecs<'a>>),
    Functor {
        param: Rc<ModType<'a>>,
        ret: Rc<ModType<'a>>,
    },
    /// The result of an error.
    Unknown,
}

/// A module type with specifications. Its abstract types are placeholders, renewed at every use.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModTypeSpecs<'a> {
    /// The abstract types, each with the path that leads to it.
    pub(crate) abstract_types: Vec<AbstractSpec>,
    /// The specifications; the targets of values are placeholders.
    pub(crate) body: ModuleExports<'a>,
}

/// An abstract type of a module type.
#[derive(Clone, Debug)]
pub(crate) struct AbstractSpec {
    pub(crate) path: Vec<Symbol>,
    pub(crate) id: AbstractTypeId,
    pub(crate) lifted: Liftedness,
    pub(crate) params: Vec<TypeParam>,
}

/// One frame of a scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame<'a> {
    pub(crate) terms: FxHashMap<Symbol, Entry<'a>>,
    pub(crate) types: FxHashMap<Symbol, Rc<NamedType>>,
    pub(crate) sigs: FxHashMap<Symbol, (ModType<'a>, Span)>,
}

impl Frame<'_> {
    /// Adds all entries of an inner frame.
    fn extend(&mut self, inner: &Self) {
        let Frame { terms, types, sigs } = inner;
        self.terms.extend(terms.iter().map(|(n, e)| (*n, e.clone())));
        self.types.extend(types.iter().map(|(n, t)| (*n, Rc::clone(t))));
        self.sigs.extend(sigs.iter().map(|(n, s)| (*n, s.clone())));
    }
}

#[derive(Debug)]
struct FrameLink<'a> {
    frame: Frame<'a>,
    outer: Option<Rc<FrameLink<'a>>>,
    /// The length of the chain from here on.
    length: usize,
}

/// The maximum length of a chain; longer ones are merged into one frame.
const MAX_FRAMES: usize = 16;

enum Undo<'a> {
    Term(Symbol, Option<Entry<'a>>),
    Type(Symbol, Option<Rc<NamedType>>),
}

impl std::fmt::Debug for Undo<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("undo")
    }
}

/// A scope.
#[derive(Debug, Default)]
pub(crate) struct Env<'a> {
    top: Frame<'a>,
    outer: Option<Rc<FrameLink<'a>>>,
    log: Vec<Undo<'a>>,
}

impl Clone for Env<'_> {
    fn clone(&self) -> Self {
        Self { top: self.top.clone(), outer: self.outer.clone(), log: Vec::new() }
    }
}

impl<'a> Env<'a> {
    /// Closes the innermost frame, so that copies of the scope are cheap.
    fn freeze(&mut self) {
        if self.top.terms.is_empty() && self.top.types.is_empty() && self.top.sigs.is_empty() {
            return;
        }
        let mut frame = std::mem::take(&mut self.top);
        let mut length = self.outer.as_ref().map_or(0, |link| link.length) + 1;
        if length > MAX_FRAMES {
            let mut merged = Frame::default();
            let links = std::iter::successors(self.outer.as_deref(), |l| l.outer.as_deref());
            let frames: Vec<&Frame<'a>> = links.map(|link| &link.frame).collect();
            for frame in frames.into_iter().rev().chain([&frame]) {
                merged.extend(frame);
            }
            frame = merged;
            length = 1;
            self.outer = None;
        }
        let outer = self.outer.take();
        self.outer = Some(Rc::new(FrameLink { frame, outer, length }));
        self.log.clear();
    }

    /// A copy of the scope, to be captured or restored.
    pub(crate) fn snapshot(&mut self) -> Self {
        self.freeze();
        self.clone()
    }

    fn frames(&self) -> impl Iterator<Item = &Frame<'a>> {
        let outer = std::iter::successors(self.outer.as_deref(), |link| link.outer.as_deref());
        std::iter::once(&self.top).chain(outer.map(|link| &link.frame))
    }

    pub(crate) fn term(&self, name: Symbol) -> Option<&Entry<'a>> {
        self.frames().find_map(|frame| frame.terms.get(&name))
    }

    pub(crate) fn ty(&self, name: Symbol) -> Option<&Rc<NamedType>> {
        self.frames().find_map(|frame| frame.types.get(&name))
    }

    pub(crate) fn sig(&self, name: Symbol) -> Option<&(ModType<'a>, Span)> {
        self.frames().find_map(|frame| frame.sigs.get(&name))
    }

    /// The keys of a map of all frames; unordered, with repetitions.
    fn names<'e, V: 'e>(&'e self, map: impl Fn(&'e Frame<'a>) -> &'e FxHashMap<Symbol, V>) -> Vec<Symbol> {
        #[allow(clippy::iter_over_hash_type, reason = "callers order them")]
        self.frames().flat_map(|frame| map(frame).keys().copied()).collect()
    }

    /// All names of the term name space in scope; unordered, with repetitions.
    pub(crate) fn term_names(&self) -> Vec<Symbol> {
        self.names(|frame| &frame.terms)
    }

    /// All type names in scope; unordered, with repetitions.
    pub(crate) fn type_names(&self) -> Vec<Symbol> {
        self.names(|frame| &frame.types)
    }

    /// All names of module types in scope; unordered, with repetitions.
    pub(crate) fn mod_type_names(&self) -> Vec<Symbol> {
        self.names(|frame| &frame.sigs)
    }

    pub(crate) fn bind_term(&mut self, name: Symbol, entry: Entry<'a>) {
        let old = self.top.terms.insert(name, entry);
        self.log.push(Undo::Term(name, old));
    }

    /// Binds a name to a value with a monomorphic type.
    pub(crate) fn bind_mono(&mut self, name: Symbol, id: VarId, ty: Ty, span: Span) {
        let entry = ValueEntry {
            target: Target::Var(id),
            scheme: Arc::new(Scheme::mono(ty)),
            instance_args: None,
            span: Some(span),
        };
        self.bind_term(name, Entry::Value(Rc::new(entry)));
    }

    pub(crate) fn bind_type(&mut self, name: Symbol, ty: Rc<NamedType>) {
        let old = self.top.types.insert(name, ty);
        self.log.push(Undo::Type(name, old));
    }

    pub(crate) fn bind_sig(&mut self, name: Symbol, sig: (ModType<'a>, Span)) {
        self.top.sigs.insert(name, sig);
    }

    /// A mark for [`Env::leave`].
    pub(crate) fn enter(&self) -> usize {
        self.log.len()
    }

    /// Undoes all bindings of terms and types since `mark`.
    pub(crate) fn leave(&mut self, mark: usize) {
        while self.log.len() > mark {
            match self.log.pop() {
                Some(Undo::Term(name, Some(old))) => {
                    self.top.terms.insert(name, old);
                }
                Some(Undo::Term(name, None)) => {
                    self.top.terms.remove(&name);
                }
                Some(Undo::Type(name, Some(old))) => {
                    self.top.types.insert(name, old);
                }
                Some(Undo::Type(name, None)) => {
                    self.top.types.remove(&name);
                }
                None => break,
            }
        }
    }

    /// Binds all names of a module.
    pub(crate) fn open(&mut self, module: &ModuleExports<'a>) {
        for (name, entry) in &module.terms {
            self.bind_term(*name, entry.clone());
        }
        for (name, ty) in &module.types {
            self.bind_type(*name, Rc::clone(ty));
        }
        for (name, sig) in &module.mod_types {
            self.bind_sig(*name, sig.clone());
        }
    }
}

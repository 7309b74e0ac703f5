//! The types of expressions' results, and a side table of names' types.
//!
//! Types are computed from the syntax and the operands' types. They are not checked here but by the
//! verifier.

use crate::name::{Name, NameTable};
use crate::syntax::{Atom, BasicOp, DimIndex, Exp, Function, Level, LoopForm, Param};
use crate::types::{Dim, Type};
use crate::walk::{LevelOp, Visit};
use prim::PrimType;
use rustc_hash::FxHashMap;

/// The types of a function's names, by index.
#[derive(Clone, Debug, Default)]
pub struct TypeEnv {
    types: Vec<Option<Type>>,
}

impl TypeEnv {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The types of all names bound in the function, at any depth.
    pub fn of_function<L: Level>(function: &Function<L>) -> Self {
        let mut env = Self { types: vec![None; function.names.len()] };
        Collect(&mut env).walk_function(function);
        env
    }

    /// Records a name's type.
    pub fn set(&mut self, name: Name, ty: Type) {
        if self.types.len() <= name.index() {
            self.types.resize(name.index() + 1, None);
        }
        self.types[name.index()] = Some(ty);
    }

    /// The type of a name, if known.
    pub fn get(&self, name: Name) -> Option<&Type> {
        self.types.get(name.index())?.as_ref()
    }

    /// The type of a name.
    ///
    /// # Panics
    ///
    /// If the name has no known type, which is a bug of the caller.
    pub fn type_of(&self, name: Name) -> &Type {
        self.get(name).unwrap_or_else(|| panic!("name {} has no known type", name.0))
    }

    /// The type of an operand.
    ///
    /// # Panics
    ///
    /// As [`TypeEnv::type_of`].
    pub fn type_of_atom(&self, atom: Atom) -> Type {
        match atom {
            Atom::Var(name) => self.type_of(name).clone(),
            Atom::Const(value) => Type::Prim(value.ty()),
        }
    }

    /// Records the types of all names bound in an expression.
    pub fn add_exp<L: Level>(&mut self, exp: &Exp<L>) {
        Visit::<L>::exp(&mut Collect(self), exp);
    }

    /// Records the types of all names bound in a body.
    pub fn add_body<L: Level>(&mut self, body: &crate::Body<L>) {
        Visit::<L>::body(&mut Collect(self), body);
    }

    /// Records the types of parameters or a pattern.
    pub fn add_params<L: Level>(&mut self, params: &[Param<L>]) {
        for param in params {
            self.set(param.name, param.ty.clone());
        }
    }
}

struct Collect<'a>(&'a mut TypeEnv);

impl<L: Level> Visit<L> for Collect<'_> {
    fn binder(&mut self, name: &Name) {
        // Names bound without a parameter are indices or counters. A parameter's type is set
        // afterwards, a counter's too if it is not `i64`.
        self.0.set(*name, Type::I64);
    }

    fn param(&mut self, param: &Param<L>) {
        self.0.set(param.name, param.ty.clone());
    }

    fn exp(&mut self, exp: &Exp<L>) {
        self.walk_exp(exp);
        if let Exp::Loop { form: LoopForm::For { var, ty, .. }, .. } = exp {
            self.0.set(*var, Type::Prim(*ty));
        }
    }
}

/// The type of a basic operation's only result; `type_of` returns the type of a name in scope.
pub fn basic_type(op: &BasicOp, type_of: &dyn Fn(Name) -> Type) -> Type {
    let atom_type = |atom: &Atom| match atom {
        Atom::Var(name) => type_of(*name),
        Atom::Const(value) => Type::Prim(value.ty()),
    };
    match op {
        BasicOp::Atom(x) | BasicOp::Opaque(x) => atom_type(x),
        BasicOp::Scalar(op) => Type::Prim(op.result_type()),
        BasicOp::SizeAtLeast { .. } => Type::Prim(PrimType::Bool),
        BasicOp::Param { .. } => Type::I64,
        BasicOp::Assert { .. } => Type::Cert,
        BasicOp::Index { array, slice } => {
            let ty = type_of(*array);
            let dims = slice.iter().filter_map(|index| match index {
                DimIndex::Fix(_) => None,
                DimIndex::Slice { count, .. } => Some(*count),
            });
            let inner = ty.shape().iter().skip(slice.len()).copied();
            ty.elem().map_or(ty.clone(), |elem| Type::array(elem, dims.chain(inner)))
        }
        BasicOp::FlatIndex { array, dims, .. } => {
            let ty = type_of(*array);
            let inner = ty.shape().iter().skip(1).copied();
            let shape = dims.iter().map(|(count, _)| *count).chain(inner);
            ty.elem().map_or(ty.clone(), |elem| Type::array(elem, shape))
        }
        BasicOp::Update { array, .. }
        | BasicOp::FlatUpdate { array, .. }
        | BasicOp::Copy(array)
        | BasicOp::Manifest { array, .. }
        | BasicOp::UpdateAcc { acc: array, .. } => type_of(*array),
        BasicOp::Concat { dim, arrays, width } => {
            let mut ty = arrays.first().map_or(Type::Cert, |array| type_of(*array));
            if let Type::Array { shape, .. } = &mut ty
                && let Some(size) = shape.get_mut(*dim)
            {
                *size = *width;
            }
            ty
        }
        BasicOp::Iota { ty, count, .. } => Type::array(*ty, [*count]),
        BasicOp::Replicate { shape, value } => {
            shape.iter().rev().fold(atom_type(value), |ty, dim| ty.array_of(*dim))
        }
        BasicOp::Scratch { elem, shape } => Type::array(*elem, shape.iter().copied()),
        BasicOp::Rearrange { perm, array } => {
            let ty = type_of(*array);
            let dims: Vec<Dim> = perm.iter().filter_map(|i| ty.shape().get(*i).copied()).collect();
            ty.elem().map_or(ty.clone(), |elem| Type::array(elem, dims))
        }
        BasicOp::Reshape { shape, array, .. } => {
            let ty = type_of(*array);
            ty.elem().map_or(ty.clone(), |elem| Type::array(elem, shape.iter().copied()))
        }
        BasicOp::ArrayLit { row, elems } => row.array_of(Dim::Const(elems.len() as i64)),
        BasicOp::ConstArray { elem, shape, .. } => Type::array(*elem, shape.iter().map(|n| Dim::Const(*n))),
    }
}

/// The types of an expression's results, with sizes among the results as [`Dim::Ext`]. `None` for
/// conditionals and calls, whose result types are known from the pattern only.
pub fn exp_types<L: Level>(exp: &Exp<L>, type_of: &dyn Fn(Name) -> Type) -> Option<Vec<Type>> {
    match exp {
        Exp::Basic(op) => Some(vec![basic_type(op, type_of)]),
        Exp::If { .. } | Exp::Apply { .. } => None,
        Exp::Loop { params, .. } => {
            let positions = positions(params.iter().map(|p| p.param.name));
            let ext = |name| positions.get(&name).map_or(Dim::Var(name), |i| Dim::Ext(*i));
            Some(params.iter().map(|p| map_dims(&p.param.ty, &ext)).collect())
        }
        Exp::Op(op) => Some(op.result_types(type_of)),
    }
}

/// The position of each name.
pub fn positions(names: impl IntoIterator<Item = Name>) -> FxHashMap<Name, u32> {
    names.into_iter().zip(0..).collect()
}

/// The type with each named dimension replaced by `f`.
#[must_use]
pub fn map_dims(ty: &Type, f: &dyn Fn(Name) -> Dim) -> Type {
    let dim = |dim: &Dim| match dim {
        Dim::Var(name) => f(*name),
        Dim::Const(_) | Dim::Ext(_) => *dim,
    };
    match ty {
        Type::Array { elem, shape } => Type::array(*elem, shape.iter().map(dim)),
        Type::Acc { token, shape, elems } => Type::Acc {
            token: *token,
            shape: shape.iter().map(dim).collect(),
            elems: elems.iter().map(|ty| map_dims(ty, f)).collect(),
        },
        Type::Prim(_) | Type::Cert | Type::Mem(_) => ty.clone(),
    }
}

/// The type with each [`Dim::Ext`] replaced by `f` of its position, where that is defined.
#[must_use]
pub fn instantiate(ty: &Type, f: &dyn Fn(u32) -> Option<Dim>) -> Type {
    let dim = |dim: &Dim| match dim {
        Dim::Ext(i) => f(*i).unwrap_or(*dim),
        Dim::Const(_) | Dim::Var(_) => *dim,
    };
    match ty {
        Type::Array { elem, shape } => Type::array(*elem, shape.iter().map(dim)),
        Type::Acc { token, shape, elems } => Type::Acc {
            token: *token,
            shape: shape.iter().map(dim).collect(),
            elems: elems.iter().map(|ty| instantiate(ty, f)).collect(),
        },
        Type::Prim(_) | Type::Cert | Type::Mem(_) => ty.clone(),
    }
}

/// A pattern of fresh names for results of these types, with each [`Dim::Ext`] replaced by the
/// pattern's own elements. Annotations have their default.
pub fn fresh_pattern<L: Level>(
    names: &mut NameTable,
    results: impl IntoIterator<Item = (impl AsRef<str>, Type)>,
) -> Vec<Param<L>> {
    let mut pat: Vec<Param<L>> = Vec::new();
    for (hint, ty) in results {
        let ty = instantiate(&ty, &|i| pat.get(i as usize).map(|p| Dim::Var(p.name)));
        pat.push(Param { name: names.fresh(hint.as_ref()), ty, ann: L::Ann::default() });
    }
    pat
}

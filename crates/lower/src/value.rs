//! Values at lowering time, the results of evaluating expressions.
//!
//! Scalars are core operands, arrays are one core array per leaf of their element type, functions
//! are closures that are applied where they are called. Tuples, records and functions leave no
//! trace in the core program.

use crate::types::{AccTy, LTy, Label, Size};
use check::intrinsics::Intrinsic;
use check::tast::{self, TyVarId, VarId};
use ir::{Atom, Dim, Name};
use prim::ScalarType;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A lowering-time value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A scalar of a source type.
    Scalar(Atom, ScalarType),
    /// An array.
    Array(ArrayVal),
    /// A tuple.
    Tuple(Rc<[Value]>),
    /// A record, in the order of its type.
    Record(Rc<[(Label, Value)]>),
    /// A value of a sum type: the constructor's number, then the payloads of all constructors, with
    /// the sizes of their core arrays. The type has the sizes that the payload has if it is present
    /// ([`crate::payload`]).
    Sum(Rc<[Value]>, LTy),
    /// A function.
    Fun(Rc<FunVal>),
    /// The current state of an accumulator.
    Acc(Name, Rc<AccTy>),
}

/// An array value. All sizes in `elem` are known.
#[derive(Clone, Debug)]
pub(crate) struct ArrayVal {
    /// Outer size.
    pub(crate) dim: Dim,
    /// Type of the elements.
    pub(crate) elem: LTy,
    /// A core array for each leaf of the element type.
    pub(crate) leaves: Rc<[Name]>,
    /// True if the core arrays may belong to another value that continues to use them: an in-place
    /// update copies them first.
    pub(crate) shared: bool,
}

/// A partially applied function.
#[derive(Clone, Debug)]
pub(crate) struct FunVal {
    /// The function.
    pub(crate) kind: FunKind,
    /// The arguments so far, fewer than it takes.
    pub(crate) args: Vec<Value>,
}

/// The function of a [`FunVal`].
#[derive(Clone, Debug)]
pub(crate) enum FunKind {
    /// An anonymous function in its environment.
    Lambda(Arc<tast::Lambda>, Rc<Env>),
    /// A definition: instantiated, in its environment (empty for a global one).
    Def(Arc<tast::Def>, Rc<Env>, Rc<Inst>),
    /// A built-in function with its type and size arguments.
    Intrinsic(Intrinsic, Rc<[LTy]>, Rc<[Size]>),
    /// The function in a payload of a constructor that the value does not have.
    Absent,
    /// A hole of function type: its results are blank. The type, in the environment of the hole.
    Hole(Arc<tast::ArrowTy>, Rc<Env>),
    /// A function whose results depend on the certificate.
    Checked(Rc<FunVal>, Name),
}

/// The type and size arguments of a polymorphic definition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inst {
    pub(crate) types: Vec<(TyVarId, LTy)>,
    pub(crate) sizes: Vec<(VarId, Size)>,
}

/// An environment: the bindings of one evaluation of a function's body, and those of the enclosing
/// scopes of the function.
#[derive(Debug, Default)]
pub(crate) struct Env {
    vars: RefCell<FxHashMap<VarId, Value>>,
    types: RefCell<FxHashMap<TyVarId, LTy>>,
    parent: Option<Rc<Env>>,
}

impl Env {
    pub(crate) fn root() -> Rc<Self> {
        Rc::new(Self::default())
    }

    pub(crate) fn inside(parent: &Rc<Self>) -> Rc<Self> {
        Rc::new(Self { parent: Some(Rc::clone(parent)), ..Self::default() })
    }

    pub(crate) fn bind(&self, var: VarId, value: Value) {
        self.vars.borrow_mut().insert(var, value);
    }

    /// Removes a binding of the innermost scope.
    pub(crate) fn unbind(&self, var: VarId) {
        self.vars.borrow_mut().remove(&var);
    }

    pub(crate) fn bind_type(&self, var: TyVarId, ty: LTy) {
        self.types.borrow_mut().insert(var, ty);
    }

    pub(crate) fn get(&self, var: VarId) -> Option<Value> {
        let mut env = self;
        loop {
            if let Some(value) = env.vars.borrow().get(&var) {
                return Some(value.clone());
            }
            env = env.parent.as_deref()?;
        }
    }

    pub(crate) fn get_type(&self, var: TyVarId) -> Option<LTy> {
        let mut env = self;
        loop {
            if let Some(ty) = env.types.borrow().get(&var) {
                return Some(ty.clone());
            }
            env = env.parent.as_deref()?;
        }
    }
}

impl Value {
    pub(crate) fn size(dim: Dim) -> Self {
        Self::Scalar(dim.atom().unwrap_or(Atom::i64(0)), ScalarType::I64)
    }

    pub(crate) fn bool(atom: impl Into<Atom>) -> Self {
        Self::Scalar(atom.into(), ScalarType::Bool)
    }

    /// A value of a sum type. Sizes that the type does not have are taken from the parts.
    pub(crate) fn sum(parts: Rc<[Self]>, ty: &LTy) -> Self {
        let LTy::Sum(constrs) = ty else {
            return Self::Sum(parts, ty.clone());
        };
        let mut at = parts.iter().skip(1);
        let mut part = |ty: &LTy| {
            let own = at.next().map(Self::claims);
            own.map_or(ty.clone(), |own| ty.zip_sizes(&own, &mut |x, y| x.or(y)))
        };
        let constrs =
            constrs.iter().map(|(l, tys)| (l.clone(), tys.iter().map(&mut part).collect())).collect();
        Self::Sum(parts, LTy::Sum(constrs))
    }

    /// The type, with all sizes.
    pub(crate) fn ty(&self) -> LTy {
        match self {
            Self::Scalar(_, ty) => LTy::Scalar(*ty),
            Self::Array(array) => LTy::array(Some(array.dim), array.elem.clone()),
            Self::Tuple(parts) => LTy::Tuple(parts.iter().map(Self::ty).collect()),
            Self::Record(fields) => LTy::Record(fields.iter().map(|(l, v)| (l.clone(), v.ty())).collect()),
            Self::Sum(parts, ty) => {
                let LTy::Sum(constrs) = ty else {
                    return ty.clone();
                };
                let mut at = parts.iter().skip(1);
                let mut next = |ty: &LTy| at.next().map_or(ty.clone(), Self::ty);
                LTy::Sum(
                    constrs.iter().map(|(l, tys)| (l.clone(), tys.iter().map(&mut next).collect())).collect(),
                )
            }
            Self::Fun(_) => LTy::Fun,
            Self::Acc(_, ty) => LTy::Acc(Rc::clone(ty)),
        }
    }

    /// The type, with the sizes that payloads have if they are present.
    pub(crate) fn claims(&self) -> LTy {
        match self {
            Self::Sum(_, ty) => ty.clone(),
            Self::Tuple(parts) => LTy::Tuple(parts.iter().map(Self::claims).collect()),
            Self::Record(fields) => {
                LTy::Record(fields.iter().map(|(l, v)| (l.clone(), v.claims())).collect())
            }
            Self::Scalar(..) | Self::Array(_) | Self::Fun(_) | Self::Acc(..) => self.ty(),
        }
    }

    /// The value with the sizes that payloads have if they are present, as far as `claims` has
    /// them.
    #[must_use]
    pub(crate) fn with_claims(self, claims: &LTy) -> Self {
        match (self, claims) {
            (Self::Sum(parts, own), LTy::Sum(_)) if own.sizes().len() == claims.sizes().len() => {
                let tys = claims.parts().unwrap_or_default();
                let parts = parts.iter().zip(tys);
                let parts = parts.map(|(part, ty)| part.clone().with_claims(ty));
                let ty = claims.zip_sizes(&own, &mut |new, own| new.or(own));
                Self::Sum(parts.collect(), ty)
            }
            (Self::Tuple(parts), LTy::Tuple(tys)) => {
                let parts = parts.iter().zip(tys.iter());
                Self::Tuple(parts.map(|(v, ty)| v.clone().with_claims(ty)).collect())
            }
            (Self::Record(fields), LTy::Record(tys)) => {
                let fields = fields.iter().zip(tys.iter());
                let field = |((l, v), (_, ty)): (&(Label, Self), &(Label, LTy))| {
                    (l.clone(), v.clone().with_claims(ty))
                };
                Self::Record(fields.map(field).collect())
            }
            (value, _) => value,
        }
    }

    /// Returns true if an array is in the payload of a sum that is not an element of an array.
    pub(crate) fn has_payload_sizes(&self) -> bool {
        match self {
            Self::Sum(_, ty) => ty.has_payload_sizes(),
            Self::Tuple(parts) => parts.iter().any(Self::has_payload_sizes),
            Self::Record(fields) => fields.iter().any(|(_, v)| v.has_payload_sizes()),
            Self::Scalar(..) | Self::Array(_) | Self::Fun(_) | Self::Acc(..) => false,
        }
    }

    /// Returns true if it contains a function.
    pub(crate) fn has_fun(&self) -> bool {
        match self {
            Self::Scalar(..) | Self::Array(_) | Self::Acc(..) => false,
            Self::Tuple(parts) | Self::Sum(parts, _) => parts.iter().any(Self::has_fun),
            Self::Record(fields) => fields.iter().any(|(_, v)| v.has_fun()),
            Self::Fun(_) => true,
        }
    }

    /// Returns true if it contains an accumulator.
    pub(crate) fn has_acc(&self) -> bool {
        match self {
            Self::Scalar(..) | Self::Array(_) => false,
            Self::Tuple(parts) | Self::Sum(parts, _) => parts.iter().any(Self::has_acc),
            Self::Record(fields) => fields.iter().any(|(_, v)| v.has_acc()),
            Self::Fun(fun) => fun.args.iter().any(Self::has_acc),
            Self::Acc(..) => true,
        }
    }

    /// The operands of the leaves, in order.
    pub(crate) fn atoms(&self) -> Vec<Atom> {
        let mut out = Vec::new();
        self.collect_atoms(&mut out);
        out
    }

    fn collect_atoms(&self, out: &mut Vec<Atom>) {
        match self {
            Self::Scalar(atom, _) => out.push(*atom),
            Self::Array(array) => out.extend(array.leaves.iter().map(|n| Atom::Var(*n))),
            Self::Tuple(parts) | Self::Sum(parts, _) => {
                for part in parts.iter() {
                    part.collect_atoms(out);
                }
            }
            Self::Record(fields) => {
                for (_, value) in fields.iter() {
                    value.collect_atoms(out);
                }
            }
            Self::Fun(_) => {}
            Self::Acc(name, _) => out.push(Atom::Var(*name)),
        }
    }

    /// For each leaf, true if it is shared (see [`ArrayVal::shared`]).
    pub(crate) fn shared(&self) -> Vec<bool> {
        match self {
            Self::Scalar(..) | Self::Acc(..) => vec![false],
            Self::Array(array) => vec![array.shared; array.leaves.len()],
            Self::Tuple(parts) | Self::Sum(parts, _) => parts.iter().flat_map(Self::shared).collect(),
            Self::Record(fields) => fields.iter().flat_map(|(_, v)| v.shared()).collect(),
            Self::Fun(_) => Vec::new(),
        }
    }

    /// The value with its arrays marked as shared.
    #[must_use]
    pub(crate) fn mark_shared(self) -> Self {
        match self {
            Self::Array(array) => Self::Array(ArrayVal { shared: true, ..array }),
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(|v| v.clone().mark_shared()).collect()),
            Self::Sum(parts, ty) => Self::Sum(parts.iter().map(|v| v.clone().mark_shared()).collect(), ty),
            Self::Record(fields) => {
                Self::Record(fields.iter().map(|(l, v)| (l.clone(), v.clone().mark_shared())).collect())
            }
            Self::Scalar(..) | Self::Fun(_) | Self::Acc(..) => self,
        }
    }

    /// The value of a type from the operands of its leaves. An unknown array size counts as 0;
    /// `None` if there are too few operands, a constant is in the position of an array, or the type
    /// contains a function.
    pub(crate) fn from_atoms(ty: &LTy, atoms: &mut dyn Iterator<Item = Atom>) -> Option<Self> {
        Some(match ty {
            LTy::Scalar(ty) => Self::Scalar(atoms.next()?, *ty),
            LTy::Array(array) => {
                let leaves =
                    (0..array.1.n_leaves()).map(|_| atoms.next()?.var()).collect::<Option<Rc<[Name]>>>()?;
                Self::Array(ArrayVal {
                    dim: array.0.unwrap_or(Dim::Const(0)),
                    elem: array.1.clone(),
                    leaves,
                    shared: false,
                })
            }
            LTy::Tuple(parts) => {
                Self::Tuple(parts.iter().map(|ty| Self::from_atoms(ty, atoms)).collect::<Option<_>>()?)
            }
            LTy::Record(fields) => Self::Record(
                fields
                    .iter()
                    .map(|(l, ty)| Some((l.clone(), Self::from_atoms(ty, atoms)?)))
                    .collect::<Option<_>>()?,
            ),
            LTy::Sum(_) => Self::Sum(
                ty.parts()?.into_iter().map(|ty| Self::from_atoms(ty, atoms)).collect::<Option<_>>()?,
                ty.clone(),
            ),
            LTy::Acc(ty) => Self::Acc(atoms.next()?.var()?, Rc::clone(ty)),
            LTy::Fun => return None,
        })
    }

    /// A component of a tuple or field of a record.
    pub(crate) fn field(&self, label: &str) -> Option<Self> {
        match self {
            Self::Tuple(parts) => parts.get(label.parse::<usize>().ok()?).cloned(),
            Self::Record(fields) => fields.iter().find(|(l, _)| &**l == label).map(|(_, v)| v.clone()),
            Self::Scalar(..) | Self::Array(_) | Self::Sum(..) | Self::Fun(_) | Self::Acc(..) => None,
        }
    }
}

//! Types of generated programs, with the sizes of expressions by the language's rules. Two sizes
//! are equal only if the rules of every version of the language imply it, so a program that
//! requires them to be equal is well typed.

use std::rc::Rc;

/// The number of a size variable. Names may be shadowed, numbers are not.
pub(super) type Id = u32;

/// A size in a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Size {
    Const(i64),
    /// A size parameter, an `i64` variable, or a size without a name.
    Var(Id),
    Sum(Rc<Self>, Rc<Self>),
    /// The size of an absent payload, which unifies with any other.
    Open,
}

/// The interface of a module with an abstract type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `type t [n]`, a vector.
    Vec,
    /// `type t [n] [m]`, a matrix.
    Mat,
    /// `type~ t`, an array of any size.
    Bag,
}

impl Kind {
    /// The number of size parameters.
    pub fn rank(self) -> usize {
        match self {
            Self::Vec => 1,
            Self::Mat => 2,
            Self::Bag => 0,
        }
    }
}

/// A type. All elements of arrays are `i64`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    Int,
    Array(Vec<Size>),
    /// The type `t` of a module.
    Abstract(Rc<str>, Kind, Vec<Size>),
    /// The type of the module `boxes` for a type argument.
    Boxed(Rc<Self>),
    Tuple(Vec<Self>),
    Record(Vec<(&'static str, Self)>),
    Sum(Vec<(&'static str, Vec<Self>)>),
}

impl Ty {
    /// An array of this rank with open sizes.
    pub fn rank(rank: usize) -> Self {
        Self::Array(vec![Size::Open; rank])
    }

    /// The type with each size, in order, replaced.
    pub fn map_sizes(&self, f: &mut dyn FnMut(&Size) -> Size) -> Self {
        let mut all = |tys: &[Self]| tys.iter().map(|ty| ty.map_sizes(f)).collect::<Vec<_>>();
        match self {
            Self::Int => Self::Int,
            Self::Array(sizes) => Self::Array(sizes.iter().map(f).collect()),
            Self::Abstract(path, kind, sizes) => {
                Self::Abstract(path.clone(), *kind, sizes.iter().map(f).collect())
            }
            Self::Boxed(ty) => Self::Boxed(Rc::new(ty.map_sizes(f))),
            Self::Tuple(parts) => Self::Tuple(all(parts)),
            Self::Record(fields) => {
                let field = |(name, ty): &(&'static str, Self)| (*name, ty.map_sizes(f));
                Self::Record(fields.iter().map(field).collect())
            }
            Self::Sum(cases) => {
                let case = |(name, payload): &(&'static str, Vec<Self>)| (*name, all(payload));
                Self::Sum(cases.iter().map(case).collect())
            }
        }
    }

    /// The sizes, in order.
    pub fn sizes(&self) -> Vec<Size> {
        let mut found = Vec::new();
        self.map_sizes(&mut |size| {
            found.push(size.clone());
            size.clone()
        });
        found
    }

    /// The type with these sizes, in order.
    pub fn with_sizes(&self, sizes: &[Size]) -> Self {
        let mut sizes = sizes.iter();
        self.map_sizes(&mut |old| sizes.next().unwrap_or(old).clone())
    }

    /// The type with all sizes open.
    pub fn shape(&self) -> Self {
        self.map_sizes(&mut |_| Size::Open)
    }

    /// Returns true if the types are the same up to sizes.
    pub fn same_shape(&self, other: &Self) -> bool {
        self.shape() == other.shape()
    }

    /// The type with the abstract types of one module replaced by those of another.
    pub fn with_module(&self, from: &str, to: &Rc<str>) -> Self {
        match self {
            Self::Int | Self::Array(_) => self.clone(),
            Self::Abstract(path, kind, sizes) => {
                let path = if **path == *from { to } else { path };
                Self::Abstract(path.clone(), *kind, sizes.clone())
            }
            Self::Boxed(ty) => Self::Boxed(Rc::new(ty.with_module(from, to))),
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(|ty| ty.with_module(from, to)).collect()),
            Self::Record(fields) => {
                let fields = fields.iter();
                Self::Record(fields.map(|(f, ty)| (*f, ty.with_module(from, to))).collect())
            }
            Self::Sum(cases) => {
                let payload = |tys: &[Self]| tys.iter().map(|ty| ty.with_module(from, to)).collect();
                Self::Sum(cases.iter().map(|(c, tys)| (*c, payload(tys))).collect())
            }
        }
    }

    /// Returns true if values of the type determine all its sizes.
    pub fn determines_sizes(&self) -> bool {
        match self {
            Self::Int | Self::Array(_) => true,
            Self::Abstract(_, kind, _) => *kind != Kind::Bag,
            Self::Boxed(_) | Self::Sum(_) => false,
            Self::Tuple(parts) => parts.iter().all(Self::determines_sizes),
            Self::Record(fields) => fields.iter().all(|(_, ty)| ty.determines_sizes()),
        }
    }

    /// Returns true if the type has boxes.
    pub fn has_boxes(&self) -> bool {
        match self {
            Self::Int | Self::Array(_) | Self::Abstract(..) => false,
            Self::Boxed(_) => true,
            Self::Tuple(parts) => parts.iter().any(Self::has_boxes),
            Self::Record(fields) => fields.iter().any(|(_, ty)| ty.has_boxes()),
            Self::Sum(cases) => cases.iter().any(|(_, tys)| tys.iter().any(Self::has_boxes)),
        }
    }

    /// Returns true if a payload has boxes: sizes in them are determined only by values of that
    /// constructor, and by no value of a declared type.
    pub fn boxed_payload(&self) -> bool {
        match self {
            Self::Int | Self::Array(_) | Self::Abstract(..) => false,
            Self::Boxed(ty) => ty.boxed_payload(),
            Self::Tuple(parts) => parts.iter().any(Self::boxed_payload),
            Self::Record(fields) => fields.iter().any(|(_, ty)| ty.boxed_payload()),
            Self::Sum(_) => self.has_boxes(),
        }
    }

    /// Returns true if the type mentions this module.
    pub fn mentions(&self, module: &str) -> bool {
        match self {
            Self::Int | Self::Array(_) => false,
            Self::Abstract(path, ..) => **path == *module,
            Self::Boxed(ty) => ty.mentions(module),
            Self::Tuple(parts) => parts.iter().any(|ty| ty.mentions(module)),
            Self::Record(fields) => fields.iter().any(|(_, ty)| ty.mentions(module)),
            Self::Sum(cases) => {
                let mut payloads = cases.iter().flat_map(|(_, payload)| payload);
                payloads.any(|ty| ty.mentions(module))
            }
        }
    }
}

impl Size {
    /// The size with each variable replaced.
    pub fn map_vars(&self, f: &mut dyn FnMut(Id) -> Self) -> Self {
        match self {
            Self::Var(id) => f(*id),
            Self::Sum(a, b) => Self::Sum(Rc::new(a.map_vars(f)), Rc::new(b.map_vars(f))),
            Self::Const(_) | Self::Open => self.clone(),
        }
    }

    /// The sum of two sizes.
    pub fn plus(&self, other: &Self) -> Self {
        Self::Sum(Rc::new(self.clone()), Rc::new(other.clone()))
    }
}

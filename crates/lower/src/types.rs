//! Concrete types at lowering time.
//!
//! A [`LTy`] is a source type without variables, whose sizes are operands of the core function
//! being made, or unknown. Its *leaves* are the scalars and arrays of scalars that carry a value of
//! the type, in a fixed order: tuples and records component by component, a sum type as its
//! constructor's number (`i8`) and then the payloads of all constructors.

use check::tast;
use ir::{Atom, Dim, Name, Type};
use prim::{Scalar, ScalarType};
use std::fmt::Write as _;
use std::rc::Rc;

/// The text of a label or constructor.
pub(crate) type Label = tast::Name;

/// A size: `None` if it is not known.
pub(crate) type Size = Option<Dim>;

/// The operand as a size. Unlike in the resulting IR, a constant may be negative here: checks
/// compare it and messages show it.
pub(crate) const fn size_of(atom: Atom) -> Size {
    match atom {
        Atom::Const(Scalar::I64(n)) => Some(Dim::Const(n)),
        atom => Dim::from_atom(atom),
    }
}

/// A concrete type.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum LTy {
    /// A scalar.
    Scalar(ScalarType),
    /// An array: size and element type.
    Array(Rc<(Size, LTy)>),
    /// A tuple.
    Tuple(Rc<[LTy]>),
    /// A record, in the order of the source type.
    Record(Rc<[(Label, LTy)]>),
    /// A sum type, in the order of the source type.
    Sum(Rc<[(Label, Rc<[LTy]>)]>),
    /// A function, which is part of the value.
    Fun,
    /// An accumulator, inside the `withacc` that made it.
    Acc(Rc<AccTy>),
}

/// The type of an accumulator.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AccTy {
    /// The token of its `withacc`.
    pub(crate) token: Name,
    /// The size of the array that is being written.
    pub(crate) dim: Dim,
    /// The type of the array's elements.
    pub(crate) elem: LTy,
}

impl AccTy {
    /// The core type.
    pub(crate) fn core(&self) -> Type {
        Type::Acc {
            token: self.token,
            shape: std::iter::once(self.dim).collect(),
            elems: self.elem.leaves().iter().map(Leaf::core).collect(),
        }
    }
}

/// One leaf: outer dimensions and element type, or an accumulator.
pub(crate) struct Leaf {
    pub(crate) dims: Vec<Size>,
    pub(crate) elem: ScalarType,
    pub(crate) acc: Option<Rc<AccTy>>,
}

impl Leaf {
    /// The core type; an unknown size counts as 0.
    pub(crate) fn core(&self) -> Type {
        if let Some(acc) = &self.acc {
            return acc.core();
        }
        Type::array(self.elem.prim(), self.dims.iter().map(|d| d.unwrap_or(Dim::Const(0))))
    }
}

impl LTy {
    /// This tuple, record or sum with each part replaced by the result of `f` for the part and the
    /// corresponding part of a source type; `None` for other types.
    pub(crate) fn with_parts<E>(
        &self,
        ty: &tast::Ty,
        f: &mut dyn FnMut(&tast::Ty, &Self) -> Result<Self, E>,
    ) -> Option<Result<Self, E>> {
        Some(match (ty, self) {
            (tast::Ty::Tuple(parts), Self::Tuple(found)) => {
                let parts = parts.iter().zip(found.iter());
                parts.map(|(ty, part)| f(ty, part)).collect::<Result<_, E>>().map(Self::Tuple)
            }
            (tast::Ty::Record(fields), Self::Record(found)) => {
                let fields = fields.iter().zip(found.iter());
                let fields = fields.map(|((l, ty), (_, part))| Ok((l.clone(), f(ty, part)?)));
                fields.collect::<Result<_, E>>().map(Self::Record)
            }
            (tast::Ty::Sum(constrs), Self::Sum(found)) => {
                let constrs = constrs.iter().zip(found.iter());
                let constrs = constrs.map(|((l, tys), (_, parts))| {
                    let tys = tys.iter().zip(parts.iter());
                    Ok((l.clone(), tys.map(|(ty, part)| f(ty, part)).collect::<Result<_, E>>()?))
                });
                constrs.collect::<Result<_, E>>().map(Self::Sum)
            }
            _ => return None,
        })
    }

    pub(crate) fn array(size: Size, elem: Self) -> Self {
        Self::Array(Rc::new((size, elem)))
    }

    /// The parts whose leaves, concatenated, are those of this type; `None` for scalars, arrays,
    /// functions and accumulators.
    pub(crate) fn parts(&self) -> Option<Vec<&Self>> {
        match self {
            Self::Tuple(parts) => Some(parts.iter().collect()),
            Self::Record(fields) => Some(fields.iter().map(|(_, ty)| ty).collect()),
            Self::Sum(constrs) => {
                let tag = std::iter::once(&Self::Scalar(ScalarType::I8));
                Some(tag.chain(constrs.iter().flat_map(|(_, tys)| tys.iter())).collect())
            }
            Self::Scalar(_) | Self::Array(_) | Self::Fun | Self::Acc(_) => None,
        }
    }

    /// The leaves in order.
    pub(crate) fn leaves(&self) -> Vec<Leaf> {
        let mut out = Vec::new();
        self.collect_leaves(&mut Vec::new(), &mut out);
        out
    }

    fn collect_leaves(&self, outer: &mut Vec<Size>, out: &mut Vec<Leaf>) {
        match self {
            Self::Scalar(elem) => out.push(Leaf { dims: outer.clone(), elem: *elem, acc: None }),
            Self::Acc(acc) => {
                out.push(Leaf { dims: Vec::new(), elem: ScalarType::Bool, acc: Some(Rc::clone(acc)) });
            }
            Self::Array(array) => {
                outer.push(array.0);
                array.1.collect_leaves(outer, out);
                outer.pop();
            }
            Self::Fun => {}
            Self::Tuple(_) | Self::Record(_) | Self::Sum(_) => {
                for part in self.parts().unwrap_or_default() {
                    part.collect_leaves(outer, out);
                }
            }
        }
    }

    /// The number of leaves.
    pub(crate) fn n_leaves(&self) -> usize {
        match self {
            Self::Scalar(_) | Self::Acc(_) => 1,
            Self::Array(array) => array.1.n_leaves(),
            Self::Fun => 0,
            Self::Tuple(_) | Self::Record(_) | Self::Sum(_) => {
                self.parts().unwrap_or_default().into_iter().map(Self::n_leaves).sum()
            }
        }
    }

    /// Returns true if it contains a function.
    pub(crate) fn has_fun(&self) -> bool {
        match self {
            Self::Scalar(_) | Self::Acc(_) => false,
            Self::Array(array) => array.1.has_fun(),
            Self::Fun => true,
            Self::Tuple(_) | Self::Record(_) | Self::Sum(_) => {
                self.parts().unwrap_or_default().into_iter().any(Self::has_fun)
            }
        }
    }

    /// The type with each size replaced, in order of the type's text.
    pub(crate) fn map_sizes(&self, f: &mut dyn FnMut(Size) -> Size) -> Self {
        match self {
            Self::Scalar(_) | Self::Fun | Self::Acc(_) => self.clone(),
            Self::Array(array) => {
                let size = f(array.0);
                Self::array(size, array.1.map_sizes(f))
            }
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(|ty| ty.map_sizes(f)).collect()),
            Self::Record(fields) => {
                Self::Record(fields.iter().map(|(l, ty)| (l.clone(), ty.map_sizes(f))).collect())
            }
            Self::Sum(constrs) => Self::Sum(
                constrs
                    .iter()
                    .map(|(l, tys)| (l.clone(), tys.iter().map(|ty| ty.map_sizes(f)).collect()))
                    .collect(),
            ),
        }
    }

    /// All sizes, in order of the type's text.
    pub(crate) fn sizes(&self) -> Vec<Size> {
        let mut sizes = Vec::new();
        self.map_sizes(&mut |size| {
            sizes.push(size);
            size
        });
        sizes
    }

    /// For each size, in order, true if it is one of a payload: of an array in a sum that is
    /// not an element of an array.
    pub(crate) fn payload_sizes(&self) -> Vec<bool> {
        let mut out = Vec::new();
        self.collect_payload_sizes(false, &mut out);
        out
    }

    fn collect_payload_sizes(&self, payload: bool, out: &mut Vec<bool>) {
        match self {
            Self::Array(_) => out.extend(self.sizes().iter().map(|_| payload)),
            Self::Scalar(_) | Self::Fun | Self::Acc(_) => {}
            Self::Tuple(_) | Self::Record(_) | Self::Sum(_) => {
                let payload = payload || matches!(self, Self::Sum(_));
                for part in self.parts().unwrap_or_default() {
                    part.collect_payload_sizes(payload, out);
                }
            }
        }
    }

    /// Returns true if an array is in the payload of a sum that is not an element of an array.
    pub(crate) fn has_payload_sizes(&self) -> bool {
        match self {
            Self::Sum(_) => !self.sizes().is_empty(),
            Self::Tuple(parts) => parts.iter().any(Self::has_payload_sizes),
            Self::Record(fields) => fields.iter().any(|(_, ty)| ty.has_payload_sizes()),
            Self::Scalar(_) | Self::Array(_) | Self::Fun | Self::Acc(_) => false,
        }
    }

    /// The type with each size combined with that of a type of the same structure; `f` gets `None`
    /// where the other type has no such size.
    pub(crate) fn zip_sizes(&self, other: &Self, f: &mut dyn FnMut(Size, Size) -> Size) -> Self {
        let sizes = other.sizes();
        let mut at = sizes.into_iter();
        self.map_sizes(&mut |size| f(size, at.next().flatten()))
    }

    /// Appends a text that is equal for types of equal structure, whatever their sizes.
    pub(crate) fn structure(&self, out: &mut String) {
        match self {
            Self::Scalar(ty) => out.push_str(ty.name()),
            Self::Array(array) => {
                out.push_str("[]");
                array.1.structure(out);
            }
            Self::Fun => out.push_str("->"),
            Self::Acc(acc) => {
                let _ = write!(out, "acc{}", acc.token.0);
            }
            Self::Tuple(parts) => {
                out.push('(');
                for part in parts.iter() {
                    part.structure(out);
                    out.push(',');
                }
                out.push(')');
            }
            Self::Record(fields) => {
                out.push('{');
                for (label, ty) in fields.iter() {
                    let _ = write!(out, "{label}:");
                    ty.structure(out);
                    out.push(',');
                }
                out.push('}');
            }
            Self::Sum(constrs) => {
                out.push('<');
                for (label, tys) in constrs.iter() {
                    let _ = write!(out, "#{label}");
                    for ty in tys.iter() {
                        out.push(' ');
                        ty.structure(out);
                    }
                    out.push('|');
                }
                out.push('>');
            }
        }
    }
}

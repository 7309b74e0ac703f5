//! Types of generated expressions. Sizes are numbers or names in scope, so types are equal where
//! the checker infers them to be equal.

use prim::ScalarType;
use std::rc::Rc;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    Const(i64),
    /// A name in scope.
    Var(Rc<str>),
}

impl Size {
    /// The size as an expression of type `i64`, and in types.
    pub fn text(&self) -> String {
        match self {
            Self::Const(n) => n.to_string(),
            Self::Var(name) => name.to_string(),
        }
    }
}

/// A declared sum type.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Sum {
    pub name: String,
    /// The constructors with their payloads, which have constant sizes.
    pub cases: Vec<(String, Vec<Ty>)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ty {
    Scalar(ScalarType),
    /// An array: its outer size, and its rows.
    Array(Size, Rc<Ty>),
    /// A tuple of at least two components.
    Tuple(Vec<Ty>),
    Record(Vec<(&'static str, Ty)>),
    /// A declared sum type.
    Sum(Rc<Sum>),
}

/// The type of sizes and indices.
pub(crate) const I64: Ty = Ty::Scalar(ScalarType::I64);
pub(crate) const BOOL: Ty = Ty::Scalar(ScalarType::Bool);

impl Ty {
    /// An array of this type.
    pub fn array(size: Size, row: Self) -> Self {
        Self::Array(size, Rc::new(row))
    }

    /// The type in source text.
    pub fn text(&self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.name().to_owned(),
            Self::Array(size, row) => format!("[{}]{}", size.text(), row.text()),
            Self::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(Self::text).collect();
                format!("({})", parts.join(", "))
            }
            Self::Record(fields) => {
                let field = |(name, ty): &(&str, Self)| format!("{name}: {}", ty.text());
                let fields: Vec<String> = fields.iter().map(field).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Self::Sum(sum) => sum.name.clone(),
        }
    }

    /// The scalar type, if it is one.
    pub fn scalar(&self) -> Option<ScalarType> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Returns true if it has floats, outside of sum types.
    pub fn has_floats(&self) -> bool {
        match self {
            Self::Scalar(scalar) => scalar.is_float(),
            Self::Array(_, row) => row.has_floats(),
            Self::Tuple(parts) => parts.iter().any(Self::has_floats),
            Self::Record(fields) => fields.iter().any(|(_, ty)| ty.has_floats()),
            Self::Sum(_) => false,
        }
    }

    /// Adds the names of sizes in it.
    pub fn size_names(&self, names: &mut Vec<Rc<str>>) {
        match self {
            Self::Scalar(_) | Self::Sum(_) => {}
            Self::Array(size, row) => {
                if let Size::Var(name) = size {
                    names.push(name.clone());
                }
                row.size_names(names);
            }
            Self::Tuple(parts) => parts.iter().for_each(|ty| ty.size_names(names)),
            Self::Record(fields) => fields.iter().for_each(|(_, ty)| ty.size_names(names)),
        }
    }

    /// The type with names of sizes replaced.
    pub fn with_sizes(&self, sizes: &[(Rc<str>, Size)]) -> Self {
        match self {
            Self::Scalar(_) | Self::Sum(_) => self.clone(),
            Self::Array(size, row) => {
                let new = match size {
                    Size::Const(_) => None,
                    Size::Var(name) => sizes.iter().find(|(other, _)| other == name),
                };
                let size = new.map_or_else(|| size.clone(), |(_, size)| size.clone());
                Self::array(size, row.with_sizes(sizes))
            }
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(|ty| ty.with_sizes(sizes)).collect()),
            Self::Record(fields) => {
                let field = |(name, ty): &(&'static str, Self)| (*name, ty.with_sizes(sizes));
                Self::Record(fields.iter().map(field).collect())
            }
        }
    }

    /// Unifies the type with `goal` by instantiating the names `open`; returns false if that is
    /// impossible.
    pub fn fit(&self, goal: &Self, open: &[Rc<str>], found: &mut Vec<(Rc<str>, Size)>) -> bool {
        match (self, goal) {
            (Self::Scalar(x), Self::Scalar(y)) => x == y,
            (Self::Sum(x), Self::Sum(y)) => x == y,
            (Self::Array(size, row), Self::Array(other, other_row)) => {
                let same = match size {
                    Size::Var(name) if open.contains(name) => {
                        match found.iter().find(|(known, _)| known == name) {
                            Some((_, known)) => known == other,
                            None => {
                                found.push((name.clone(), other.clone()));
                                true
                            }
                        }
                    }
                    _ => size == other,
                };
                same && row.fit(other_row, open, found)
            }
            (Self::Tuple(xs), Self::Tuple(ys)) => {
                xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| x.fit(y, open, found))
            }
            (Self::Record(xs), Self::Record(ys)) => {
                let fit = |((a, x), (b, y)): (&(&str, Self), &(&str, Self))| a == b && x.fit(y, open, found);
                xs.len() == ys.len() && xs.iter().zip(ys).all(fit)
            }
            _ => false,
        }
    }
}

//! Types, and expressions over all scalars of a value: its leaves.

use super::Gen;
use std::rc::Rc;

/// The size of a dimension.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Size {
    Const(i64),
    Var(Rc<str>),
}

/// A type; its floats are of the program's float type.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Ty {
    Float,
    Int,
    Bool,
    Array(Size, Rc<Ty>),
    Tuple(Vec<Ty>),
    Record(Vec<(&'static str, Ty)>),
}

impl Size {
    pub(super) fn var(name: &str) -> Self {
        Self::Var(name.into())
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Const(n) => n.to_string(),
            Self::Var(name) => name.to_string(),
        }
    }

    /// The assumed value.
    pub(super) fn estimate(&self) -> i64 {
        match self {
            Self::Const(n) => *n,
            Self::Var(_) => 6,
        }
    }
}

impl Ty {
    pub(super) fn array(size: &Size, row: Self) -> Self {
        Self::Array(size.clone(), Rc::new(row))
    }

    /// An array of floats.
    pub(super) fn floats(sizes: &[Size]) -> Self {
        sizes.iter().rev().fold(Self::Float, |row, size| Self::array(size, row))
    }

    pub(super) fn pair(x: Self, y: Self) -> Self {
        Self::Tuple(vec![x, y])
    }

    /// The parts of a tuple or record with their selectors.
    pub(super) fn parts(&self) -> Vec<(String, &Self)> {
        match self {
            Self::Tuple(parts) => parts.iter().enumerate().map(|(at, ty)| (at.to_string(), ty)).collect(),
            Self::Record(fields) => fields.iter().map(|(name, ty)| ((*name).to_owned(), ty)).collect(),
            Self::Float | Self::Int | Self::Bool | Self::Array(..) => Vec::new(),
        }
    }

    /// Returns true for scalars and arrays of scalars.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Float | Self::Int | Self::Bool => true,
            Self::Array(_, row) => row.is_plain(),
            Self::Tuple(_) | Self::Record(_) => false,
        }
    }

    pub(super) fn has_floats(&self) -> bool {
        match self {
            Self::Float => true,
            Self::Int | Self::Bool => false,
            Self::Array(_, row) => row.has_floats(),
            Self::Tuple(_) | Self::Record(_) => self.parts().iter().any(|(_, ty)| ty.has_floats()),
        }
    }

    /// The scalar type and the dimensions of a plain type.
    pub(super) fn plain(&self) -> (&Self, Vec<Size>) {
        match self {
            Self::Array(size, row) => {
                let (scalar, mut dims) = row.plain();
                dims.insert(0, size.clone());
                (scalar, dims)
            }
            Self::Float | Self::Int | Self::Bool | Self::Tuple(_) | Self::Record(_) => (self, Vec::new()),
        }
    }

    /// The estimated number of scalars.
    pub(super) fn cells(&self) -> i64 {
        match self {
            Self::Float | Self::Int | Self::Bool => 1,
            Self::Array(size, row) => size.estimate() * row.cells(),
            Self::Tuple(_) | Self::Record(_) => self.parts().iter().map(|(_, ty)| ty.cells()).sum(),
        }
    }

    /// The plain types of the leaves.
    pub(super) fn leaves(&self) -> Vec<Self> {
        match self {
            Self::Float | Self::Int | Self::Bool => vec![self.clone()],
            Self::Array(size, row) => row.leaves().into_iter().map(|leaf| Self::array(size, leaf)).collect(),
            Self::Tuple(_) | Self::Record(_) => {
                self.parts().into_iter().flat_map(|(_, ty)| ty.leaves()).collect()
            }
        }
    }

    /// Substitutes a size variable.
    pub(super) fn with_size(&self, name: &str, to: &Size) -> Self {
        match self {
            Self::Float | Self::Int | Self::Bool => self.clone(),
            Self::Array(size, row) => {
                let size = if *size == Size::var(name) { to } else { size };
                Self::array(size, row.with_size(name, to))
            }
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(|ty| ty.with_size(name, to)).collect()),
            Self::Record(fields) => {
                Self::Record(fields.iter().map(|(field, ty)| (*field, ty.with_size(name, to))).collect())
            }
        }
    }
}

/// A function of the texts of two expressions.
type Combine<'f> = &'f dyn Fn(&str, &str) -> String;

impl Gen<'_> {
    pub(super) fn text(&self, ty: &Ty) -> String {
        match ty {
            Ty::Float => self.float.to_owned(),
            Ty::Int => "i64".to_owned(),
            Ty::Bool => "bool".to_owned(),
            Ty::Array(size, row) => format!("[{}]{}", size.text(), self.text(row)),
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|ty| self.text(ty)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Record(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, ty)| format!("{name}: {}", self.text(ty))).collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
    }

    /// A lambda's parameter of a type.
    pub(super) fn typed(&self, name: &str, ty: &Ty) -> String {
        format!("({name}: {})", self.text(ty))
    }

    /// The leaves of a variable as plain expressions.
    pub(super) fn leaf_texts(&mut self, ty: &Ty, value: &str) -> Vec<String> {
        match ty {
            Ty::Tuple(_) | Ty::Record(_) => {
                let parts = ty.parts().into_iter();
                parts.flat_map(|(part, ty)| self.leaf_texts(ty, &format!("{value}.{part}"))).collect()
            }
            Ty::Array(_, row) if !row.is_plain() => {
                let e = self.fresh("e");
                let leaves = self.leaf_texts(row, &e);
                let param = self.typed(&e, row);
                leaves.into_iter().map(|leaf| format!("(map (\\{param} -> {leaf}) {value})")).collect()
            }
            Ty::Float | Ty::Int | Ty::Bool | Ty::Array(..) => vec![value.to_owned()],
        }
    }

    /// A value made of expressions of its leaves.
    pub(super) fn assembled(&mut self, ty: &Ty, leaves: &mut std::slice::Iter<'_, String>) -> String {
        match ty {
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|ty| self.assembled(ty, leaves)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Record(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, ty)| format!("{name} = {}", self.assembled(ty, leaves)))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
            Ty::Array(_, row) if !row.is_plain() => {
                let types = row.leaves();
                let names: Vec<String> = types.iter().map(|_| self.fresh("e")).collect();
                let params: Vec<String> =
                    names.iter().zip(&types).map(|(name, ty)| self.typed(name, ty)).collect();
                let arrays: Vec<String> = leaves.by_ref().take(types.len()).cloned().collect();
                let body = self.assembled(row, &mut names.iter());
                format!("(map{} (\\{} -> {body}) {})", types.len(), params.join(" "), arrays.join(" "))
            }
            Ty::Float | Ty::Int | Ty::Bool | Ty::Array(..) => leaves.next().cloned().unwrap_or_default(),
        }
    }

    /// The sum of the products of two values' floats; `None` without floats.
    pub(super) fn dot(&mut self, ty: &Ty, x: &str, y: &str) -> Option<String> {
        match ty {
            Ty::Float => Some(format!("({x} * {y})")),
            Ty::Int | Ty::Bool => None,
            Ty::Array(_, row) => {
                let [a, b] = [self.fresh("e"), self.fresh("e")];
                let product = self.dot(row, &a, &b)?;
                let params = [self.typed(&a, row), self.typed(&b, row)].join(" ");
                Some(format!("({}.sum (map2 (\\{params} -> {product}) {x} {y}))", self.float))
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let parts = ty.parts().into_iter();
                let parts = parts
                    .filter_map(|(part, ty)| self.dot(ty, &format!("{x}.{part}"), &format!("{y}.{part}")));
                let parts: Vec<String> = parts.collect();
                (!parts.is_empty()).then(|| format!("({})", parts.join(" + ")))
            }
        }
    }

    /// A value whose floats are made of those of two values; the rest is the first value's.
    pub(super) fn zipped(&mut self, ty: &Ty, x: &str, y: &str, f: Combine<'_>) -> String {
        match ty {
            Ty::Float => f(x, y),
            Ty::Int | Ty::Bool => x.to_owned(),
            Ty::Array(_, row) => {
                let [a, b] = [self.fresh("e"), self.fresh("e")];
                let body = self.zipped(row, &a, &b, f);
                let params = [self.typed(&a, row), self.typed(&b, row)].join(" ");
                format!("(map2 (\\{params} -> {body}) {x} {y})")
            }
            Ty::Tuple(_) => {
                let parts = ty.parts().into_iter();
                let parts: Vec<String> = parts
                    .map(|(part, ty)| self.zipped(ty, &format!("{x}.{part}"), &format!("{y}.{part}"), f))
                    .collect();
                format!("({})", parts.join(", "))
            }
            Ty::Record(_) => {
                let parts = ty.parts().into_iter();
                let parts: Vec<String> = parts
                    .map(|(part, ty)| {
                        let value = self.zipped(ty, &format!("{x}.{part}"), &format!("{y}.{part}"), f);
                        format!("{part} = {value}")
                    })
                    .collect();
                format!("{{{}}}", parts.join(", "))
            }
        }
    }

    /// The value of an expression with a function applied to its floats.
    pub(super) fn mapped(&mut self, ty: &Ty, value: &str, f: &dyn Fn(&str) -> String) -> String {
        match ty {
            Ty::Float => f(value),
            Ty::Int | Ty::Bool => value.to_owned(),
            Ty::Array(_, row) => {
                if !row.has_floats() {
                    return value.to_owned();
                }
                let a = self.fresh("e");
                let body = self.mapped(row, &a, f);
                format!("(map (\\{} -> {body}) {value})", self.typed(&a, row))
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let x = self.fresh("e");
                let leaves: Vec<String> = ty
                    .parts()
                    .into_iter()
                    .map(|(part, ty)| self.mapped(ty, &format!("{x}.{part}"), f))
                    .collect();
                let made = match ty {
                    Ty::Record(fields) => {
                        let fields: Vec<String> =
                            fields.iter().zip(leaves).map(|((name, _), x)| format!("{name} = {x}")).collect();
                        format!("{{{}}}", fields.join(", "))
                    }
                    Ty::Float | Ty::Int | Ty::Bool | Ty::Array(..) | Ty::Tuple(_) => {
                        format!("({})", leaves.join(", "))
                    }
                };
                format!("(let {x}: {} = {value} in {made})", self.text(ty))
            }
        }
    }
}

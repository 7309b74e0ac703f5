//! What memory a value may share.
//!
//! A *root* is a piece of memory that the program can tell from others: what a
//! parameter holds, what a fresh array is bound to, what a call gives that may
//! share parts. A value's aliases are roots, component by component. So two
//! values may share memory if they have a root in common, and consuming one
//! consumes its roots.

use crate::tast::{Ty, Uniq};
use crate::visit::any_part;
use std::rc::Rc;

/// A piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Root(pub(super) u32);

/// The roots of a value.
#[derive(Clone, Debug)]
pub(super) enum Aliases {
    /// Of a value that is not taken apart, in order.
    Roots(Rc<[Root]>),
    /// Of the components of a tuple or record, in the order of its type.
    Parts(Rc<[Aliases]>),
}

impl Aliases {
    /// Those of a value that shares with nobody.
    pub(super) fn none() -> Self {
        Self::Roots(Rc::from([]))
    }

    /// Of a type: the same roots for each component that holds memory.
    pub(super) fn spread(roots: &Rc<[Root]>, ty: &Ty) -> Self {
        Self::build(ty, &mut |_| Self::Roots(Rc::clone(roots)))
    }

    /// Of a type, component by component.
    pub(super) fn build(ty: &Ty, leaf: &mut dyn FnMut(&Ty) -> Self) -> Self {
        match ty {
            Ty::Tuple(parts) => Self::Parts(parts.iter().map(|ty| Self::build(ty, leaf)).collect()),
            Ty::Record(fields) => Self::Parts(fields.iter().map(|(_, ty)| Self::build(ty, leaf)).collect()),
            ty if holds_memory(ty) => leaf(ty),
            _ => Self::none(),
        }
    }

    /// Of something that is either of two values.
    pub(super) fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Parts(x), Self::Parts(y)) if x.len() == y.len() => {
                Self::Parts(x.iter().zip(y.iter()).map(|(x, y)| x.or(y)).collect())
            }
            (Self::Roots(x), y) if x.is_empty() => y.clone(),
            (x, Self::Roots(y)) if y.is_empty() => x.clone(),
            _ => {
                let mut all = self.all();
                all.extend(other.all());
                Self::Roots(set(all))
            }
        }
    }

    /// Calls `f` on each root, perhaps several times.
    pub(super) fn each(&self, f: &mut dyn FnMut(Root)) {
        match self {
            Self::Roots(roots) => roots.iter().for_each(|root| f(*root)),
            Self::Parts(parts) => parts.iter().for_each(|part| part.each(f)),
        }
    }

    /// All roots, in any order.
    pub(super) fn all(&self) -> Vec<Root> {
        let mut out = Vec::new();
        self.each(&mut |root| out.push(root));
        out
    }

    /// Those of a component.
    pub(super) fn part(&self, i: usize) -> Self {
        match self {
            Self::Roots(_) => self.clone(),
            Self::Parts(parts) => parts.get(i).cloned().unwrap_or_else(Self::none),
        }
    }

    /// With those of a component replaced.
    pub(super) fn with(&self, path: &[usize], new: Self) -> Self {
        let Some((first, rest)) = path.split_first() else {
            return new;
        };
        match self {
            Self::Roots(_) => self.or(&new),
            Self::Parts(parts) => {
                let mut parts = parts.to_vec();
                if let Some(part) = parts.get_mut(*first) {
                    *part = part.with(rest, new);
                }
                Self::Parts(Rc::from(parts))
            }
        }
    }

    /// The roots of each component that is not taken apart, and whether it is
    /// unique.
    pub(super) fn leaves(&self, unique: &Uniq, out: &mut Vec<(Rc<[Root]>, bool)>) {
        match self {
            Self::Roots(roots) => out.push((Rc::clone(roots), unique.any())),
            Self::Parts(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    part.leaves(unique.part(i), out);
                }
            }
        }
    }

    /// Taken apart as far as `shape` is.
    pub(super) fn shaped(&self, shape: &Self) -> Self {
        match (self, shape) {
            (Self::Parts(x), Self::Parts(y)) if x.len() == y.len() => {
                Self::Parts(x.iter().zip(y.iter()).map(|(x, y)| x.shaped(y)).collect())
            }
            (Self::Roots(_), Self::Roots(_)) => self.clone(),
            _ => {
                let roots = set(self.all());
                shape.map_leaves(&mut |_| Rc::clone(&roots))
            }
        }
    }

    /// With the roots of each component that is not taken apart, in order,
    /// replaced.
    pub(super) fn map_leaves(&self, f: &mut dyn FnMut(&Rc<[Root]>) -> Rc<[Root]>) -> Self {
        match self {
            Self::Roots(roots) => Self::Roots(f(roots)),
            Self::Parts(parts) => Self::Parts(parts.iter().map(|p| p.map_leaves(f)).collect()),
        }
    }
}

/// Roots in order, each once.
pub(super) fn set(mut roots: Vec<Root>) -> Rc<[Root]> {
    roots.sort_unstable();
    roots.dedup();
    Rc::from(roots)
}

/// Whether values of the type can share memory.
pub(super) fn holds_memory(ty: &Ty) -> bool {
    any_part(ty, &|part| !matches!(part, Ty::Scalar(_)))
}

/// Whether values of the type are sure to share memory if they share anything.
pub(super) fn holds_array(ty: &Ty) -> bool {
    any_part(ty, &|part| matches!(part, Ty::Array(_)))
}

/// The place of a component in a type.
pub(super) fn position(ty: &Ty, label: &str) -> usize {
    let found = match ty {
        Ty::Record(fields) => fields.iter().position(|(l, _)| &**l == label),
        _ => label.parse().ok(),
    };
    found.unwrap_or(usize::MAX)
}

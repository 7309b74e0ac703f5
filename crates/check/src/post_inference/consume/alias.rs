//! Alias sets: the memory that a value may share.
//!
//! A *root* is an abstract memory location: the memory of a parameter, of a variable bound to a
//! fresh array, or of a call's result that may share parts. The aliases of a value are sets of
//! roots, one per component. Two values may share memory if their roots intersect; consuming a
//! value consumes its roots.

use crate::tast::{Ty, Uniq};
use crate::visit::any_component;
use std::rc::Rc;

prim::dense_ids! {
    /// An abstract memory location.
    pub(super) struct MemoryRoot;
}

/// The alias sets of a value.
#[derive(Clone, Debug)]
pub(super) enum Aliases {
    /// Of a value that is not split into components; sorted.
    Roots(Rc<[MemoryRoot]>),
    /// Of the components of a tuple or record, in the order of its type.
    Parts(Rc<[Aliases]>),
}

impl Aliases {
    /// The aliases of a value that shares no memory.
    pub(super) fn none() -> Self {
        Self::Roots(Rc::from([]))
    }

    /// The same roots for each component of the type that holds memory.
    pub(super) fn spread(roots: &Rc<[MemoryRoot]>, ty: &Ty) -> Self {
        Self::build(ty, &mut |_| Self::Roots(Rc::clone(roots)))
    }

    /// Aliases in the structure of a type; `leaf` gives those of each component that holds memory.
    pub(super) fn build(ty: &Ty, leaf: &mut dyn FnMut(&Ty) -> Self) -> Self {
        match ty {
            Ty::Tuple(parts) => Self::Parts(parts.iter().map(|ty| Self::build(ty, leaf)).collect()),
            Ty::Record(fields) => Self::Parts(fields.iter().map(|(_, ty)| Self::build(ty, leaf)).collect()),
            ty if holds_memory(ty) => leaf(ty),
            _ => Self::none(),
        }
    }

    /// The union, component by component: the aliases of a value that is one of two.
    pub(super) fn union(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Parts(x), Self::Parts(y)) if x.len() == y.len() => {
                Self::Parts(x.iter().zip(y.iter()).map(|(x, y)| x.union(y)).collect())
            }
            (Self::Roots(x), y) if x.is_empty() => y.clone(),
            (x, Self::Roots(y)) if y.is_empty() => x.clone(),
            _ => {
                let mut all = self.to_vec();
                all.extend(other.to_vec());
                Self::Roots(set(all))
            }
        }
    }

    /// Calls `f` on each root, possibly several times.
    pub(super) fn for_each_root(&self, f: &mut dyn FnMut(MemoryRoot)) {
        match self {
            Self::Roots(roots) => roots.iter().for_each(|root| f(*root)),
            Self::Parts(parts) => parts.iter().for_each(|part| part.for_each_root(f)),
        }
    }

    /// All roots, unordered, with repetitions.
    pub(super) fn to_vec(&self) -> Vec<MemoryRoot> {
        let mut out = Vec::new();
        self.for_each_root(&mut |root| out.push(root));
        out
    }

    /// The aliases of a component.
    pub(super) fn part(&self, i: usize) -> Self {
        match self {
            Self::Roots(_) => self.clone(),
            Self::Parts(parts) => parts.get(i).cloned().unwrap_or_else(Self::none),
        }
    }

    /// The aliases with those of the component at `path` replaced.
    pub(super) fn with(&self, path: &[usize], new: Self) -> Self {
        let Some((first, rest)) = path.split_first() else {
            return new;
        };
        match self {
            Self::Roots(_) => self.union(&new),
            Self::Parts(parts) => {
                let mut parts = parts.to_vec();
                if let Some(part) = parts.get_mut(*first) {
                    *part = part.with(rest, new);
                }
                Self::Parts(Rc::from(parts))
            }
        }
    }

    /// Appends the roots of each leaf component, with true if it is unique.
    pub(super) fn leaves(&self, unique: &Uniq, out: &mut Vec<(Rc<[MemoryRoot]>, bool)>) {
        match self {
            Self::Roots(roots) => out.push((Rc::clone(roots), unique.any())),
            Self::Parts(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    part.leaves(unique.part(i), out);
                }
            }
        }
    }

    /// The aliases, split into components as `shape` is.
    pub(super) fn with_structure_of(&self, shape: &Self) -> Self {
        match (self, shape) {
            (Self::Parts(x), Self::Parts(y)) if x.len() == y.len() => {
                Self::Parts(x.iter().zip(y.iter()).map(|(x, y)| x.with_structure_of(y)).collect())
            }
            (Self::Roots(_), Self::Roots(_)) => self.clone(),
            _ => {
                let roots = set(self.to_vec());
                shape.map_leaves(&mut |_| Rc::clone(&roots))
            }
        }
    }

    /// The aliases with the roots of each leaf component replaced, in order.
    pub(super) fn map_leaves(&self, f: &mut dyn FnMut(&Rc<[MemoryRoot]>) -> Rc<[MemoryRoot]>) -> Self {
        match self {
            Self::Roots(roots) => Self::Roots(f(roots)),
            Self::Parts(parts) => Self::Parts(parts.iter().map(|p| p.map_leaves(f)).collect()),
        }
    }
}

/// A set of roots: sorted, without repetitions.
pub(super) fn set(mut roots: Vec<MemoryRoot>) -> Rc<[MemoryRoot]> {
    roots.sort_unstable();
    roots.dedup();
    Rc::from(roots)
}

/// Returns true if values of the type can share memory.
pub(super) fn holds_memory(ty: &Ty) -> bool {
    any_component(ty, &|part| !matches!(part, Ty::Scalar(_)))
}

/// Returns true if values of the type certainly contain memory: an array.
pub(super) fn holds_array(ty: &Ty) -> bool {
    any_component(ty, &|part| matches!(part, Ty::Array(_)))
}

/// The index of a component in a type.
pub(super) fn position(ty: &Ty, label: &str) -> usize {
    let found = match ty {
        Ty::Record(fields) => fields.iter().position(|(l, _)| &**l == label),
        _ => label.parse().ok(),
    };
    found.unwrap_or(usize::MAX)
}

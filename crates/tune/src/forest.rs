//! The choices between versions of a program, in the form that tuning needs.
//!
//! A *tree* is a comparison with the trees for both outcomes, or a version, which may contain
//! trees. Sibling trees are independent of each other's outcomes and run one after another. A
//! parameter may be compared by several statements, and by one of them several times with different
//! sizes (in a loop, or in a function with several calls): then both sides of a
//! comparison may be reached in one run.
//!
//! If the sizes that parameters are compared with are known, a forest determines the versions that
//! a setting leads to. Two settings that lead to the same versions take the same time, even if they
//! differ in comparisons on the way.

use crate::region::{Param, Region, Setting, Span};
use std::collections::{BTreeMap, BTreeSet};

/// A comparison or a version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tree {
    /// A comparison of a size with a parameter.
    Choice {
        /// The parameter.
        param: Param,
        /// The trees if the size is at least the parameter.
        holds: Vec<Tree>,
        /// The trees if it is not.
        fails: Vec<Tree>,
    },
    /// A version.
    Version {
        /// Its number; versions with the same number are the same code.
        number: u32,
        /// The trees inside it.
        inside: Vec<Tree>,
    },
}

/// A program's choices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Forest {
    /// The trees of all functions.
    pub trees: Vec<Tree>,
    /// The default of each parameter.
    pub defaults: Setting,
    /// For each parameter, true if it is compared with the same sizes everywhere and whichever
    /// versions run: if only one statement, or its copies, of a function that is called once compares
    /// it.
    pub has_fixed_sizes: Vec<bool>,
    /// Parameters that are not compared with sizes, and their permitted values: parameters of the
    /// source program, and grain sizes.
    pub free_params: BTreeMap<Param, Span>,
}

/// The sizes that each parameter is known to be compared with.
pub type Sizes = Vec<BTreeSet<i64>>;

/// The versions that a setting leads to, and, if a parameter is compared with several sizes with
/// different outcomes, the outcomes of all comparisons.
pub type VersionSet = (BTreeSet<u32>, BTreeSet<(Param, i64, bool)>);

impl Tree {
    /// Calls `f` with each parameter that is compared: those of the whole tree, or of its outermost
    /// choices only, without those inside versions.
    pub fn params(&self, whole: bool, f: &mut impl FnMut(Param)) {
        match self {
            Self::Choice { param, holds, fails } => {
                f(*param);
                for tree in holds.iter().chain(fails) {
                    tree.params(whole, f);
                }
            }
            Self::Version { inside, .. } if whole => {
                for tree in inside {
                    tree.params(whole, f);
                }
            }
            Self::Version { .. } => {}
        }
    }

    /// Calls `f` with the trees inside the versions that this one leads to.
    pub fn inside<'t>(&'t self, f: &mut impl FnMut(&'t Self)) {
        match self {
            Self::Choice { holds, fails, .. } => {
                for tree in holds.iter().chain(fails) {
                    tree.inside(f);
                }
            }
            Self::Version { inside, .. } => inside.iter().for_each(f),
        }
    }
}

/// The path of a setting through trees.
pub struct Path<'t> {
    /// The versions and outcomes.
    pub signature: VersionSet,
    /// All settings whose comparisons have the same outcomes.
    pub region: Region,
    /// The versions that it leads to.
    pub versions: Vec<&'t Tree>,
}

/// Follows a setting through trees, down to their versions, or to the innermost versions if
/// `whole`. If sizes are not known, `i64::MIN` holds for any size, and `i64::MAX` for none.
///
/// # Errors
/// The first parameter on the path whose sizes are not known, with another value.
pub fn follow<'t>(
    trees: impl IntoIterator<Item = &'t Tree>,
    setting: &[i64],
    sizes: &Sizes,
    whole: bool,
) -> Result<Path<'t>, Param> {
    let mut path = Path { signature: VersionSet::default(), region: Region::default(), versions: Vec::new() };
    let mut outcomes = Outcomes::default();
    for tree in trees {
        walk(tree, setting, sizes, whole, &mut path, &mut outcomes)?;
    }
    if outcomes.mixed {
        path.signature.1 = outcomes.all;
    }
    Ok(path)
}

impl Path<'_> {
    fn narrow(&mut self, param: Param, span: Span) -> Result<(), Param> {
        let narrowed = std::mem::take(&mut self.region).with(param, span);
        self.region = narrowed.ok_or(param)?;
        Ok(())
    }
}

/// The comparisons on a path.
#[derive(Default)]
struct Outcomes {
    all: BTreeSet<(Param, i64, bool)>,
    /// True if some parameter has both outcomes.
    mixed: bool,
}

/// The smallest and the largest size.
fn bounds(sizes: &BTreeSet<i64>) -> Option<(i64, i64)> {
    Some((*sizes.first()?, *sizes.last()?))
}

fn walk<'t>(
    tree: &'t Tree,
    setting: &[i64],
    sizes: &Sizes,
    whole: bool,
    path: &mut Path<'t>,
    outcomes: &mut Outcomes,
) -> Result<(), Param> {
    match tree {
        Tree::Choice { param, holds, fails } => {
            let value = setting.get(*param).copied().unwrap_or(i64::MAX);
            let known = sizes.get(*param).filter(|known| !known.is_empty());
            let (first, last) = match known {
                Some(known) => bounds(known).ok_or(*param)?,
                // The outcome is the same for any size.
                None if value == i64::MIN || value == i64::MAX => (0, 0),
                None => return Err(*param),
            };
            if known.is_none() {
                let exact = Span { min: value, max: value };
                path.narrow(*param, exact)?;
            }
            outcomes.mixed |= first < value && value <= last;
            for size in known.into_iter().flatten() {
                let holds = value <= *size;
                path.narrow(*param, Span::of(*size, holds).ok_or(*param)?)?;
                outcomes.all.insert((*param, *size, holds));
            }
            let holds = (value <= last).then_some(holds).into_iter().flatten();
            let fails = (value > first).then_some(fails).into_iter().flatten();
            holds.chain(fails).try_for_each(|tree| walk(tree, setting, sizes, whole, path, outcomes))
        }
        Tree::Version { number, inside } => {
            if path.signature.0.insert(*number) {
                path.versions.push(tree);
            }
            let inside = whole.then_some(inside).into_iter().flatten();
            inside.into_iter().try_for_each(|tree| walk(tree, setting, sizes, whole, path, outcomes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u32, inside: Vec<Tree>) -> Tree {
        Tree::Version { number, inside }
    }

    fn choice(param: Param, holds: Tree, fails: Tree) -> Tree {
        Tree::Choice { param, holds: vec![holds], fails: vec![fails] }
    }

    /// Two paths to version 0, one to version 1 with a choice inside.
    fn tree() -> Tree {
        let inside = choice(2, version(2, vec![]), version(3, vec![]));
        let second = choice(1, version(1, vec![inside]), version(0, vec![]));
        choice(0, version(0, vec![]), second)
    }

    fn sizes(sizes: &[&[i64]]) -> Sizes {
        let sizes = sizes.iter().map(|sizes| sizes.iter().copied().collect());
        sizes.collect()
    }

    #[test]
    fn settings_lead_to_versions() {
        let (tree, known) = (tree(), sizes(&[&[10], &[20], &[30]]));
        let versions = |setting: &[i64], whole| {
            let path = follow([&tree], setting, &known, whole)
                .unwrap_or_else(|param| panic!("the sizes of {param} are unknown"));
            assert!(path.region.contains(setting));
            path.signature.0.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(versions(&[10, 0, 0], true), [0]);
        assert_eq!(versions(&[11, 21, 0], true), [0]);
        assert_eq!(versions(&[11, 20, 30], true), [1, 2]);
        assert_eq!(versions(&[11, 20, 31], true), [1, 3]);
        assert_eq!(versions(&[11, 20, 31], false), [1]);
        let unknown = sizes(&[&[10], &[], &[30]]);
        let end = |value| follow([&tree], &[11, value, 0], &unknown, true).map(|path| path.signature.0);
        assert_eq!(end(0), Err(1));
        assert_eq!(end(i64::MIN), Ok(BTreeSet::from([1, 2])));
        assert_eq!(end(i64::MAX), Ok(BTreeSet::from([0])));
    }

    #[test]
    fn several_sizes_may_take_both_branches() {
        let (tree, known) = (tree(), sizes(&[&[10, 12], &[20], &[30]]));
        let path = follow([&tree], &[11, 20, 30], &known, true)
            .unwrap_or_else(|param| panic!("the sizes of {param} are unknown"));
        assert_eq!(path.signature.0, BTreeSet::from([0, 1, 2]));
        let second = [(1, 20, true), (2, 30, true)];
        let mixed: BTreeSet<_> = [(0, 10, false), (0, 12, true)].into_iter().chain(second).collect();
        assert_eq!(path.signature.1, mixed);
        assert_eq!(path.region.span(0), Span { min: 11, max: 12 });
    }
}

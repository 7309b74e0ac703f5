//! The scope of a statement that is being flattened: its nest, its position on the machine, the
//! versions that are emitted there, the attributes in force. A rule takes a scope by value and
//! passes on another one for its inner statements.

use crate::names::Names;
use crate::nest::Nest;
use crate::{Result, bug};
use ir::attrs::Versions;
use ir::syntax::{Atom, Attr, Aux};
use ir::{Name, Prov};
use std::sync::LazyLock;
use target::levels::{LevelId, Stack};

/// A position in the target's stack of levels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Position {
    /// The level of the enclosing segop.
    pub(crate) enclosing: Option<LevelId>,
    /// The level that combinators are mapped to; without one they are sequential.
    pub(crate) level: Option<LevelId>,
}

impl Position {
    /// Outside all segops; on a machine without levels everything there is sequential.
    pub(crate) fn host(stack: Stack) -> Self {
        Self { enclosing: None, level: stack.outermost() }
    }

    /// In a segop at a level, with sequential combinators.
    pub(crate) const fn sequential_in(around: LevelId) -> Self {
        Self { enclosing: Some(around), level: None }
    }

    /// In a segop at a level, with maps at the level that may stand in it; `None` if none may.
    pub(crate) fn inside(stack: Stack, around: LevelId) -> Option<Self> {
        let level = stack.for_maps(around)?;
        Some(Self { enclosing: Some(around), level: Some(level) })
    }
}

/// Which versions are emitted, in a segop, of combinators that lanes may share if their sizes
/// suffice, where a size is known before the segop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneVersions {
    /// The version shared by lanes; the sizes to compare are not known yet.
    Shared,
    /// The version shared by lanes; the only size compared suffices.
    Long,
    /// Both versions, each combinator behind its own comparison.
    Each,
    /// Loops.
    Loops,
}

/// The scope of a statement.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'n> {
    /// The maps around the statement that are not made manifest yet.
    pub(crate) nest: &'n Nest<'n>,
    pub(crate) at: Position,
    /// The first of the names that are bound inside a segop, if it is inside one.
    pub(crate) first_inside: Option<Name>,
    /// If a segop is being made around it, the first of the segop's guards.
    pub(crate) first_guard: Option<usize>,
    /// The product of the widths of enclosing segops at a level that may contain itself, as far as
    /// it is counted: their tasks run concurrently with those inside.
    pub(crate) outer_parallelism: Option<Atom>,
    /// The number of enclosing choices between versions.
    pub(crate) choices: u32,
    pub(crate) lane_versions: LaneVersions,
    /// True if attributes allow lanes to share the combinator.
    pub(crate) may_share: bool,
    /// True if attributes allow lanes to share the combinators inside.
    pub(crate) may_share_inside: bool,
    /// True if a loop over the iterations of a map encloses it, in the segop that is being made.
    pub(crate) in_map_loop: bool,
    pub(crate) prov: Prov,
    /// Provenance of the outermost enclosing combinator.
    pub(crate) outermost: Prov,
    /// True if an attribute requests sequential code.
    pub(crate) sequential: bool,
    /// True if an attribute requests sequential code for irregular parallelism.
    pub(crate) sequentialise_irregular: bool,
}

/// The nest of statements that are in none.
static NO_NEST: LazyLock<Nest<'static>> = LazyLock::new(Nest::default);

impl<'n> Scope<'n> {
    /// The scope of a function's body at a position.
    pub(crate) fn of_function(at: Position) -> Self {
        Self {
            nest: &NO_NEST,
            at,
            first_inside: at.enclosing.map(|_| Name(0)),
            first_guard: None,
            outer_parallelism: None,
            choices: 0,
            lane_versions: LaneVersions::Shared,
            may_share: true,
            may_share_inside: true,
            in_map_loop: false,
            prov: Prov::NONE,
            outermost: Prov::NONE,
            sequential: false,
            sequentialise_irregular: false,
        }
    }

    /// The scope of a statement with these attributes.
    pub(crate) fn of(self, aux: &Aux) -> Self {
        let has = |attr| aux.attrs.has(&attr);
        let sequential = has(Attr::Sequential);
        let plain = has(Attr::SequentialInner) || has(Attr::Flattening(Versions::NoIntra));
        let is_outermost = self.at.enclosing.is_none() && self.nest.is_empty();
        let irregular = has(Attr::Flattening(Versions::SequentialiseNonuniform));
        Self {
            at: if sequential { Position { level: None, ..self.at } } else { self.at },
            may_share: self.may_share_inside && !sequential && !has(Attr::SequentialOuter),
            may_share_inside: self.may_share_inside && !sequential && !plain,
            prov: aux.prov,
            outermost: if is_outermost { aux.prov } else { self.outermost },
            sequential: self.sequential || sequential,
            sequentialise_irregular: self.sequentialise_irregular || irregular,
            ..self
        }
    }

    /// The same scope with another nest.
    pub(crate) fn over<'q>(self, nest: &'q Nest<'q>) -> Scope<'q>
    where
        'n: 'q,
    {
        Scope { nest, ..self }
    }

    /// The same scope, without nest.
    pub(crate) fn without_nest(self) -> Self {
        Self { nest: &NO_NEST, ..self }
    }

    /// The same scope for a statement of this provenance.
    pub(crate) fn with_prov(self, prov: Prov) -> Self {
        Self { prov, ..self }
    }

    /// The same scope at another position.
    pub(crate) fn at(self, at: Position) -> Self {
        Self { at, ..self }
    }

    /// The same scope with sequential combinators.
    pub(crate) fn sequential(self) -> Self {
        self.at(Position { level: None, ..self.at })
    }

    /// The same scope inside one more choice between versions.
    pub(crate) fn in_choice(self) -> Self {
        Self { choices: self.choices + 1, ..self }
    }

    /// Inside a segop over the nest at the level of combinators, which has no inner parallelism.
    pub(crate) fn in_segop(self) -> Result<Self> {
        Ok(self.at(Position::sequential_in(self.level()?)))
    }

    /// The body of a segop that is being made, whose guards begin with `first_guard`.
    pub(crate) fn in_body(self, names: &Names<'_>, first_guard: usize, versions: LaneVersions) -> Self {
        Self {
            first_inside: self.first_inside.or(Some(names.next())),
            first_guard: Some(first_guard),
            lane_versions: versions,
            in_map_loop: false,
            ..self
        }
    }

    /// The level of segops.
    pub(crate) fn level(self) -> Result<LevelId> {
        self.at.level.ok_or_else(bug("a segop has no level"))
    }

    /// Returns true if segops at the position's level may contain segops of that level.
    pub(crate) fn level_nests(self, stack: Stack) -> bool {
        self.at.level.is_some_and(|level| stack.for_maps(level) == Some(level))
    }

    /// Returns true if a name is bound inside a segop.
    pub(crate) fn is_inside(self, names: &Names<'_>, name: Name) -> bool {
        self.first_inside.is_some_and(|first| name >= first || names.is_in_operator(name))
    }

    /// Returns true if a size is known before the segop that is being made.
    pub(crate) fn is_known_before_segop(self, names: &Names<'_>, size: Name) -> bool {
        self.first_guard.is_some() && !self.is_inside(names, size)
    }
}

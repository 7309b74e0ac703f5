//! Source attributes of statements and functions, and the rules by which they merge.
//!
//! An attribute never changes the meaning of a program, only its compilation. Statements and
//! functions carry the attributes that a later stage reads; `lower` has applied the others
//! (`blank`, `scratch`, `opaque`; `unsafe` where no call is left).
//!
//! Attributes of statements that are merged or replaced:
//!
//! | attribute | two operations fuse | one replaces two equal ones | its body replaces it |
//! |---|---|---|---|
//! | `inline`, `noinline` | removed | kept if on either | removed: it was for this call |
//! | `unroll`, `stripmine(N)`, `bound(N)`, `true_dep` | kept if on both | kept if on either | removed: it was for this loop |
//! | `sequential`, `sequential_outer`, `sequential_inner` | kept if on either | kept if on either | to operations and calls |
//! | `flattening(..)` | kept if on either | kept if on either | to operations and calls |
//! | `unsafe` | kept if on both | kept if on both | to checks (then assumed to hold), calls |
//! | `warn(safety_checks)` | kept if on either | kept if on either | to checks and calls |
//! | any other | kept if on either | kept if on either | removed |
//!
//! The columns are [`Attrs::fused`], [`Attrs::merged_equal`] and [`Attrs::heritage`]. A statement that
//! moves keeps its attributes, and so do the parts of a statement that is split; statements added
//! next to it (sizes, indices) have none.

use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// An attribute.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Attr {
    /// Calls are inlined; on a function or a call.
    Inline,
    /// Calls are not inlined; on a function or a call.
    NoInline,
    /// The loop is fully unrolled; so are the directions of a derivative.
    Unroll,
    /// The loop's reverse derivative saves the state at this many levels of nested loops.
    StripMine(u32),
    /// The `while` loop has at most this many iterations.
    Bound(u64),
    /// Iterations of the loop read no element of the arrays that it updates but the newest: its
    /// reverse derivative needs no copies of their earlier states.
    TrueDep,
    /// The operation runs sequentially, with everything nested in it.
    Sequential,
    /// The operation runs sequentially; operations nested in it may be parallel.
    SequentialOuter,
    /// Operations nested in the operation run sequentially.
    SequentialInner,
    /// Restricts the versions of an operation (incremental flattening).
    Flattening(Versions),
    /// The call's checks are omitted once its body is inlined.
    Unsafe,
    /// Requests a warning for each check that remains.
    WarnChecks,
    /// An attribute without a meaning to any stage, as written.
    Other(Arc<str>),
}

/// Restrictions of the versions of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Versions {
    /// No version in which only the operation itself is parallel.
    NoOuter,
    /// No version in which the operations nested in it run at the level below (intra-block).
    NoIntra,
    /// Only that version.
    OnlyIntra,
    /// No version of its own; the operations nested in it have versions.
    OnlyInner,
    /// Irregular operations nested in it run sequentially.
    SequentialiseNonuniform,
}

/// The attributes with a meaning and without a number, and their source syntax.
const SPELLINGS: [(&str, Attr); 14] = [
    ("inline", Attr::Inline),
    ("noinline", Attr::NoInline),
    ("unroll", Attr::Unroll),
    ("true_dep", Attr::TrueDep),
    ("sequential", Attr::Sequential),
    ("sequential_outer", Attr::SequentialOuter),
    ("sequential_inner", Attr::SequentialInner),
    ("flattening(no_outer)", Attr::Flattening(Versions::NoOuter)),
    ("flattening(no_intra)", Attr::Flattening(Versions::NoIntra)),
    ("flattening(only_intra)", Attr::Flattening(Versions::OnlyIntra)),
    ("flattening(only_inner)", Attr::Flattening(Versions::OnlyInner)),
    ("flattening(sequentialise_nonuniform)", Attr::Flattening(Versions::SequentialiseNonuniform)),
    ("unsafe", Attr::Unsafe),
    ("warn(safety_checks)", Attr::WarnChecks),
];

impl Attr {
    /// Returns the attribute with this source syntax.
    pub fn of(text: &str) -> Self {
        // `flattening(..)` was once called `incremental_flattening(..)`.
        let known = text
            .strip_prefix("incremental_")
            .filter(|known| known.starts_with("flattening("))
            .unwrap_or(text);
        let written = SPELLINGS.iter().find(|(own, _)| *own == known).map(|(_, attr)| attr.clone());
        written.or_else(|| Self::with_number(text)).unwrap_or_else(|| Self::Other(Arc::from(text)))
    }

    /// The attribute of the form `name(N)`.
    fn with_number(text: &str) -> Option<Self> {
        let (name, number) = text.strip_suffix(')')?.split_once('(')?;
        let attr = match name {
            "stripmine" => Self::StripMine(number.parse().ok()?),
            "bound" => Self::Bound(number.parse().ok()?),
            _ => return None,
        };
        // Other spellings of the number are kept as written.
        (attr.to_string() == text).then_some(attr)
    }

    /// Returns true if it concerns one loop, and no loops inside of it.
    pub const fn is_of_one_loop(&self) -> bool {
        matches!(self, Self::Unroll | Self::StripMine(_) | Self::Bound(_) | Self::TrueDep)
    }

    fn rule(&self) -> Rule {
        let rule = |fused, equal, heirs| Rule { fused, equal, heirs };
        match self {
            Self::Inline | Self::NoInline => rule(KeepIf::Never, KeepIf::Either, &[]),
            Self::Unroll | Self::StripMine(_) | Self::Bound(_) | Self::TrueDep => {
                rule(KeepIf::Both, KeepIf::Either, &[])
            }
            Self::Sequential | Self::SequentialOuter | Self::SequentialInner | Self::Flattening(_) => {
                rule(KeepIf::Either, KeepIf::Either, &[Inheritor::Operation, Inheritor::Call])
            }
            Self::Unsafe => rule(KeepIf::Both, KeepIf::Both, &[Inheritor::Check, Inheritor::Call]),
            Self::WarnChecks => rule(KeepIf::Either, KeepIf::Either, &[Inheritor::Check, Inheritor::Call]),
            Self::Other(_) => rule(KeepIf::Either, KeepIf::Either, &[]),
        }
    }
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::StripMine(n) = self {
            return write!(f, "stripmine({n})");
        }
        if let Self::Bound(n) = self {
            return write!(f, "bound({n})");
        }
        if let Self::Other(text) = self {
            return f.write_str(text);
        }
        let written = SPELLINGS.iter().find(|(_, attr)| attr == self);
        f.write_str(written.map_or("", |(text, _)| text))
    }
}

/// The condition under which a merged statement has an attribute of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeepIf {
    Either,
    Both,
    Never,
}

impl KeepIf {
    fn holds(self, both: bool) -> bool {
        match self {
            Self::Either => true,
            Self::Both => both,
            Self::Never => false,
        }
    }
}

/// A row of the table in the module's header.
struct Rule {
    fused: KeepIf,
    equal: KeepIf,
    heirs: &'static [Inheritor],
}

/// The statements of a body that inherit attributes of the statement that the body replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inheritor {
    /// A check, at any depth.
    Check,
    /// A call, at any depth.
    Call,
    /// A combinator that is nested in no other.
    Operation,
}

/// The attributes of a statement or function, without repetitions, in source order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attrs(SmallVec<[Attr; 1]>);

impl Attrs {
    /// Returns true if the attribute is present.
    pub fn has(&self, attr: &Attr) -> bool {
        self.0.contains(attr)
    }

    /// Returns true if there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The attributes in order.
    pub fn iter(&self) -> impl Iterator<Item = &Attr> {
        self.0.iter()
    }

    /// Adds an attribute unless it is present. The last one of `inline` and `noinline` replaces the
    /// other.
    pub fn add(&mut self, attr: Attr) {
        if attr == Attr::Inline {
            self.remove(&Attr::NoInline);
        } else if attr == Attr::NoInline {
            self.remove(&Attr::Inline);
        }
        if !self.has(&attr) {
            self.0.push(attr);
        }
    }

    /// Removes an attribute.
    pub fn remove(&mut self, attr: &Attr) {
        self.0.retain(|own| own != attr);
    }

    /// Keeps only the attributes for which the predicate holds.
    pub fn retain(&mut self, mut kept: impl FnMut(&Attr) -> bool) {
        self.0.retain(|own| kept(own));
    }

    /// The attributes of the operation made by fusing two.
    #[must_use]
    pub fn fused(producer: &Self, consumer: &Self) -> Self {
        Self::merged(consumer, producer, |rule| rule.fused)
    }

    /// The attributes of the first of two equal statements when it replaces both.
    #[must_use]
    pub fn merged_equal(first: &Self, second: &Self) -> Self {
        Self::merged(first, second, |rule| rule.equal)
    }

    fn merged(first: &Self, second: &Self, kept: impl Fn(&Rule) -> KeepIf) -> Self {
        let mut out = Self::default();
        for (own, other) in [(first, second), (second, first)] {
            for attr in own.iter() {
                if kept(&attr.rule()).holds(other.has(attr)) {
                    out.add(attr.clone());
                }
            }
        }
        out
    }

    /// The attributes that statements of the body inherit when the body replaces this statement: a
    /// call, a loop or a branch.
    #[must_use]
    pub fn inherited_by(&self, heir: Inheritor) -> Self {
        let own = self.iter().filter(|attr| attr.rule().heirs.contains(&heir));
        own.cloned().collect()
    }

    /// Adds inherited attributes.
    pub fn inherit(&mut self, heritage: &Self) {
        for attr in heritage.iter() {
            self.add(attr.clone());
        }
    }
}

impl FromIterator<Attr> for Attrs {
    fn from_iter<I: IntoIterator<Item = Attr>>(attrs: I) -> Self {
        let mut all = Self::default();
        attrs.into_iter().for_each(|attr| all.add(attr));
        all
    }
}

#[cfg(test)]
mod tests;

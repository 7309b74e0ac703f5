//! Source attributes, as statements and functions carry them, and how they merge.
//!
//! An attribute never changes what a program means, only how it is compiled. On
//! statements and functions stand those that a later stage reads; `lower` has
//! acted on the others by then (`blank`, `scratch`, `opaque`; `unsafe` where no
//! call is left).
//!
//! What becomes of attributes when statements do:
//!
//! | attribute | two operations fuse | one does for two | its body comes in its place |
//! |---|---|---|---|
//! | `inline`, `noinline` | gone | kept if on either | gone: it was for this call |
//! | `unroll` | kept if on both | kept if on either | gone: it was for this loop |
//! | `sequential`, `sequential_outer`, `sequential_inner` | kept if on either | kept if on either | to operations and calls |
//! | `flattening(..)` | kept if on either | kept if on either | to operations and calls |
//! | `unsafe` | kept if on both | kept if on both | to checks, which then hold, and calls |
//! | `warn(safety_checks)` | kept if on either | kept if on either | to checks and calls |
//! | any other | kept if on either | kept if on either | gone |
//!
//! The columns are [`Attrs::fused`], [`Attrs::of_equal`] and [`Attrs::heritage`].
//! A statement that moves keeps its attributes, and so do the parts of one that
//! falls apart; statements that are made beside it (sizes, indices) have none.

use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// An attribute.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Attr {
    /// Replaces calls by the function's body; on a function or on a call.
    Inline,
    /// Leaves calls calls; on a function or on a call.
    NoInline,
    /// Asks for a full copy of a loop's body for each iteration.
    Unroll,
    /// The operation runs in order, with all that is in it.
    Sequential,
    /// The operation runs in order; what is in it may be parallel.
    SequentialOuter,
    /// What is in the operation runs in order.
    SequentialInner,
    /// Which versions of an operation are made.
    Flattening(Versions),
    /// The call's checks are left out once its body stands in its place.
    Unsafe,
    /// Asks for a warning where a check remains.
    WarnChecks,
    /// One that no stage knows, as it was written.
    Other(Arc<str>),
}

/// Versions that an operation shall have or not have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Versions {
    /// None in which it alone is parallel.
    NoOuter,
    /// None in which those that share a level work on what is in it.
    NoIntra,
    /// Only the latter.
    OnlyIntra,
    /// None; what is in it has versions.
    OnlyInner,
    /// What is in it and irregular runs in order.
    SequentialiseNonuniform,
}

/// The attributes with a meaning and their written form.
const WRITTEN: [(&str, Attr); 13] = [
    ("inline", Attr::Inline),
    ("noinline", Attr::NoInline),
    ("unroll", Attr::Unroll),
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
    /// The attribute that is written so.
    pub fn of(text: &str) -> Self {
        // What versions there are had another name once.
        let known = text
            .strip_prefix("incremental_")
            .filter(|known| known.starts_with("flattening("))
            .unwrap_or(text);
        let written = WRITTEN.iter().find(|(own, _)| *own == known);
        written.map_or_else(|| Self::Other(Arc::from(text)), |(_, attr)| attr.clone())
    }

    fn rule(&self) -> Rule {
        let rule = |fused, equal, heirs| Rule { fused, equal, heirs };
        match self {
            Self::Inline | Self::NoInline => rule(Kept::Never, Kept::Either, &[]),
            Self::Unroll => rule(Kept::Both, Kept::Either, &[]),
            Self::Sequential | Self::SequentialOuter | Self::SequentialInner | Self::Flattening(_) => {
                rule(Kept::Either, Kept::Either, &[Heir::Operation, Heir::Call])
            }
            Self::Unsafe => rule(Kept::Both, Kept::Both, &[Heir::Check, Heir::Call]),
            Self::WarnChecks => rule(Kept::Either, Kept::Either, &[Heir::Check, Heir::Call]),
            Self::Other(_) => rule(Kept::Either, Kept::Either, &[]),
        }
    }
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Other(text) = self {
            return f.write_str(text);
        }
        let written = WRITTEN.iter().find(|(_, attr)| attr == self);
        f.write_str(written.map_or("", |(text, _)| text))
    }
}

/// When one statement out of two has an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Either,
    Both,
    Never,
}

impl Kept {
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
    fused: Kept,
    equal: Kept,
    heirs: &'static [Heir],
}

/// Statements of a body that comes in the place of the statement that ran it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heir {
    /// A check, at any depth.
    Check,
    /// A call, at any depth.
    Call,
    /// A combinator that stands in no other.
    Operation,
}

/// The attributes of a statement or function, each once, in the order in which
/// they were written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attrs(SmallVec<[Attr; 1]>);

impl Attrs {
    /// Whether an attribute is there.
    pub fn has(&self, attr: &Attr) -> bool {
        self.0.contains(attr)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The attributes in order.
    pub fn iter(&self) -> impl Iterator<Item = &Attr> {
        self.0.iter()
    }

    /// Adds an attribute unless it is there. Of `inline` and `noinline` the last
    /// one holds.
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

    /// Takes an attribute away.
    pub fn remove(&mut self, attr: &Attr) {
        self.0.retain(|own| own != attr);
    }

    /// Those of the operation that two become which fuse.
    #[must_use]
    pub fn fused(producer: &Self, consumer: &Self) -> Self {
        Self::merged(consumer, producer, |rule| rule.fused)
    }

    /// Those of the first of two equal statements once it does for both.
    #[must_use]
    pub fn of_equal(first: &Self, second: &Self) -> Self {
        Self::merged(first, second, |rule| rule.equal)
    }

    fn merged(first: &Self, second: &Self, kept: impl Fn(&Rule) -> Kept) -> Self {
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

    /// What a statement hands down to those of its body when the body comes in
    /// its place: that of a function which is called, of a loop, of a branch.
    #[must_use]
    pub fn heritage(&self, heir: Heir) -> Self {
        let own = self.iter().filter(|attr| attr.rule().heirs.contains(&heir));
        own.cloned().collect()
    }

    /// Adds what was handed down.
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

//! A remark: a decision with its source location, text, and rating.

use super::names::{At, User};
use driver::Decision;
use driver::decision::{Around, Copied, Kind, NoLanes, Party, Runs, Sequential};
use ir::SrcLoc;

/// The subject of a decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Function instances and calls.
    Functions,
    /// Work that was hoisted or found unnecessary.
    Work,
    /// Fusion.
    Fusion,
    /// Parallelisation and offloading.
    Parallel,
    /// Vectorisation.
    Lanes,
    /// Checks.
    Checks,
    /// Copies.
    Copies,
}

impl Group {
    /// All groups, in the order of display.
    pub const ALL: [Self; 7] =
        [Self::Functions, Self::Work, Self::Fusion, Self::Parallel, Self::Lanes, Self::Checks, Self::Copies];

    pub fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Work => "work",
            Self::Fusion => "fusion",
            Self::Parallel => "parallel",
            Self::Lanes => "lanes",
            Self::Checks => "checks",
            Self::Copies => "copies",
        }
    }
}

/// The rating of a decision with regard to the program's speed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// An optimisation was applied.
    Good,
    /// An optimisation was not applied.
    Left,
    /// Neutral.
    Plain,
}

impl Mark {
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Left => "left",
            Self::Plain => "plain",
        }
    }

    /// The first character of the remark's line.
    pub fn sign(self) -> char {
        match self {
            Self::Good => '+',
            Self::Left => '!',
            Self::Plain => '.',
        }
    }
}

/// A remark.
#[derive(Clone)]
pub struct Entry {
    /// The source location.
    pub place: SrcLoc,
    /// The subject of the decision.
    pub group: Group,
    /// The rating.
    pub mark: Mark,
    /// The name of the kind of decision.
    pub name: &'static str,
    /// The decision, with functions by their source names.
    pub kind: Kind,
    /// The operation's source text, truncated if it is long.
    pub subject: String,
    /// The library function that contains the operation.
    pub within: Option<String>,
    /// The text of the remark.
    pub words: String,
    /// The locations of other operations and loops that the remark mentions.
    pub others: Vec<SrcLoc>,
    /// The number of equal decisions.
    pub times: u32,
}

impl Entry {
    /// The whole line.
    pub fn text(&self) -> String {
        let Self { subject, words, .. } = self;
        let inside = match &self.within {
            Some(function) => format!(" (inside `{function}`)"),
            None => String::new(),
        };
        let text = match self.group {
            Group::Functions => format!("{words}{inside}"),
            Group::Fusion | Group::Lanes | Group::Copies => format!("`{subject}`{inside} {words}"),
            Group::Work if self.name == "hoisted" => format!("`{subject}`{inside} {words}"),
            Group::Work | Group::Parallel | Group::Checks => {
                format!("`{subject}`{inside}: {words}")
            }
        };
        format!("{text}{}", self.often())
    }

    /// The key that identifies the operation.
    pub fn of(&self) -> (SrcLoc, Option<&str>) {
        (self.place, self.within.as_deref())
    }

    /// The operation as text.
    pub fn title(&self) -> String {
        match &self.within {
            Some(function) => format!("`{}`, inside `{function}`", self.subject),
            None => format!("`{}`", self.subject),
        }
    }

    /// The line below a heading that names the operation.
    pub fn short(&self) -> String {
        format!("{}{}", self.words, self.often())
    }

    fn often(&self) -> String {
        if self.group == Group::Functions && self.times > 1 {
            format!(" ({} times)", self.times)
        } else {
            String::new()
        }
    }
}

/// Returns the remark for a decision; `None` if it has no location in user code, or if it only
/// concerns library code and `all` is not set.
pub fn entry(decision: &Decision, user: &User<'_>, all: bool) -> Option<Entry> {
    let places = user.places(decision);
    let place = user.source.own(&places)?;
    let within = user.source.within(&places);
    let (group, mark) = judge(&decision.kind)?;
    if !all && decision.kind == Kind::Hoisted && places.first() != Some(&place) {
        return None;
    }
    let at = At { user, function: &decision.function, place };
    let other = |party: &Party| {
        let own = user.source.own(&party.places);
        let inside = own == Some(place) && user.source.within(&party.places).is_some();
        (own, inside)
    };
    let others = match &decision.kind {
        Kind::Fused { consumer, .. }
        | Kind::Again { consumer, .. }
        | Kind::Apart { consumer, .. }
        | Kind::Together { second: consumer, .. } => {
            let (own, inside) = other(consumer);
            // Fusion inside a library function is omitted.
            if !all && (inside || own == Some(place) && within.is_some()) {
                return None;
            }
            own.into_iter().collect()
        }
        Kind::Runs { how: Runs::Shared { around, .. } | Runs::Loop(Sequential::Inside(around)), .. }
        | Kind::CheckLeft { inside: Around::Loop(around) | Around::Parallel(around), .. } => {
            user.source.own(around).into_iter().collect()
        }
        Kind::Copied { why: Copied::UsedLater { places, .. }, .. } => {
            user.source.own(places).into_iter().collect()
        }
        _ => Vec::new(),
    };
    let kind = user.named(&decision.kind);
    Some(Entry {
        place,
        group,
        mark,
        name: decision.kind.name(),
        subject: user.source.snippet(place),
        within: within.map(str::to_owned),
        words: kind.told(&at),
        others,
        times: 1,
        kind,
    })
}

/// Returns the subject and rating of a decision; `None` for bookkeeping that is not reported.
fn judge(kind: &Kind) -> Option<(Group, Mark)> {
    let around = |around: &Around| match around {
        Around::Nothing => Mark::Plain,
        Around::Loop(_) | Around::Parallel(_) => Mark::Left,
    };
    Some(match kind {
        Kind::Counted { .. } | Kind::Version { .. } => return None,
        Kind::Fused { .. } | Kind::Again { .. } | Kind::Together { .. } | Kind::TurnedInside(_) => {
            (Group::Fusion, Mark::Good)
        }
        Kind::Apart { .. } => (Group::Fusion, Mark::Left),
        Kind::Inlined(_)
        | Kind::Called(..)
        | Kind::InPlace(_)
        | Kind::Instance { .. }
        | Kind::SharedInstance(_) => (Group::Functions, Mark::Plain),
        Kind::Lanes { .. } => (Group::Lanes, Mark::Good),
        Kind::NoLanes { why, .. } => (
            Group::Lanes,
            match why {
                NoLanes::Plain
                | NoLanes::Reduction
                | NoLanes::NotWorth(_)
                | NoLanes::Around(_)
                | NoLanes::Already
                | NoLanes::Tasks
                | NoLanes::Fuel => Mark::Plain,
                NoLanes::Nested
                | NoLanes::Counter
                | NoLanes::Shared(_)
                | NoLanes::Carried(_)
                | NoLanes::Private { .. }
                | NoLanes::PrivateUse(_)
                | NoLanes::CounterOutside
                | NoLanes::Call
                | NoLanes::Allocates
                | NoLanes::Globals
                | NoLanes::Buffers
                | NoLanes::Entangled => Mark::Left,
            },
        ),
        Kind::Runs { how, .. } => (
            Group::Parallel,
            match how {
                Runs::Tasks { .. } | Runs::Kernels { .. } | Runs::Shared { .. } => Mark::Good,
                Runs::Loop(Sequential::ArrayOperator) => Mark::Left,
                Runs::Loop(Sequential::Inside(_) | Sequential::Asked) => Mark::Plain,
            },
        ),
        Kind::VersionGone { .. } | Kind::NoVersions { .. } => (Group::Parallel, Mark::Plain),
        Kind::OnHost { .. } => (Group::Parallel, Mark::Left),
        Kind::Hoisted => (Group::Work, Mark::Good),
        Kind::Unneeded(_) => (Group::Work, Mark::Plain),
        Kind::CheckGone { .. } | Kind::CheckMoved(_) => (Group::Checks, Mark::Good),
        Kind::CheckLeft { inside, .. } => (Group::Checks, around(inside)),
        Kind::Copied { .. } => (Group::Copies, Mark::Left),
    })
}

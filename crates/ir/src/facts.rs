//! What is known about an operation beyond what it computes: things that code may be
//! made by, found by passes of their own (`mem::layout`, `mem::facts`), never by those who
//! make code.
//!
//! | fact | on | says |
//! |---|---|---|
//! | `independent` | a segop, a loop | points or iterations may run in any order, side by side |
//! | `after` | a segop that scans | so may what follows the scans |
//! | `packed` | an `updateacc` that ends a point | one scalar goes to one place of each of several vectors that lie in order |
//! | `filter` | the same, after a scan | what is flagged goes to places that count the flags |
//! | `streamed` | an index | the element of a vector at the segop's own index |
//! | `order` | a segop that maps, a branch | a result that had better not lie row by row |
//!
//! Orders are decided before there is memory (`mem::layout`), which then obeys; all other
//! facts are found when there is.
//!
//! That a point leaves accumulators as they are is a lambda of the segop
//! ([`Seg::keeps`](crate::seg::Seg::keeps)).

use smallvec::SmallVec;

/// The facts about a statement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    marks: u8,
    filter: Option<Box<Filter>>,
    orders: Vec<(usize, Order)>,
}

/// The dimensions of an array, the one of the largest stride first.
pub type Order = SmallVec<[usize; 3]>;

/// A fact that says nothing beside its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Mark {
    /// Points or iterations may run in any order, side by side.
    Independent = 1,
    /// What follows scans may run in any order, side by side.
    After = 2,
    /// An update that ends a point: of vectors that lie in order, one scalar each.
    Packed = 4,
    /// An element of a vector at the index of the segop around.
    Streamed = 8,
}

impl Mark {
    /// All of them, in the order in which they are printed.
    pub const ALL: [Self; 4] = [Self::Independent, Self::After, Self::Packed, Self::Streamed];

    /// Its name in IR text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::After => "after",
            Self::Packed => "packed",
            Self::Streamed => "streamed",
        }
    }
}

/// A scan that counts flags, whose post lambda writes what is flagged to the count:
/// the places of what is flagged follow one another, so none need be computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Which of the mapped values is the flag.
    pub flag: usize,
    /// Which are what is written.
    pub values: Vec<usize>,
    /// What is added to the count, the own flag included, for the place.
    pub added: i64,
}

impl Facts {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether this is known.
    pub const fn has(&self, mark: Mark) -> bool {
        self.marks & mark as u8 != 0
    }

    /// From now on this is known.
    pub const fn add(&mut self, mark: Mark) {
        self.marks |= mark as u8;
    }

    /// What is filtered, if something is.
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.as_deref()
    }

    /// The results that do not lie row by row, by position, and in which order.
    pub fn orders(&self) -> &[(usize, Order)] {
        &self.orders
    }

    /// The order in which a result had better lie, if that is not row by row.
    pub fn order(&self, result: usize) -> Option<&Order> {
        let found = self.orders.iter().find(|(at, _)| *at == result);
        found.map(|(_, order)| order)
    }

    /// From now on a result had better lie in this order.
    pub fn set_order(&mut self, result: usize, order: Order) {
        self.orders.push((result, order));
    }

    /// From now on results lie where their annotations say.
    pub fn forget_orders(&mut self) {
        self.orders.clear();
    }

    /// From now on this is a filter.
    pub fn set_filter(&mut self, filter: Filter) {
        self.filter = Some(Box::new(filter));
    }
}

//! Facts: properties of an operation beyond its meaning, by which code generators choose the form
//! of code. They are found by separate passes (`mem::layout`, `mem::facts`), never by code
//! generators.
//!
//! | fact | on | meaning |
//! |---|---|---|
//! | `independent` | a segop, a loop | iterations may run in any order and in parallel |
//! | `after` | a segop that scans | so may the operations that follow the scans |
//! | `packed` | an `updateacc` ending an iteration | writes a scalar to each of its (contiguous) vectors |
//! | `filter` | the same, after a scan | writes flagged values at the count of flags |
//! | `partition` | the same, after a scan of several counts | writes values at the count of one of several flags |
//! | `streamed` | an index | reads the element of a vector at the segop's own index |
//! | `scalars` | a kernel that maps or reduces | iterations only compute scalars, from memory that it does not write |
//! | `shared` | an index in such a kernel | several iterations read the element |
//! | `order` | a segop that maps, a branch | preferred dimension order of a result |
//!
//! Orders are layout preferences, chosen before memory is introduced (`mem::layout`) and then
//! followed; all other facts are found afterwards.
//!
//! The condition under which an iteration leaves accumulators unchanged is a lambda of the segop
//! ([`Seg::identity_predicate`](crate::seg::Seg::identity_predicate)).

use crate::name::Name;
use crate::poly::Poly;
use smallvec::SmallVec;

/// The facts about a statement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    marks: u8,
    filter: Option<Box<Filter>>,
    partition: Option<Box<Partition>>,
    shared: Option<Box<SharedRead>>,
    orders: Vec<(usize, DimOrder)>,
}

/// The dimensions of an array by decreasing stride.
pub type DimOrder = SmallVec<[usize; 3]>;

/// A fact without parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FactFlag {
    /// Iterations may run in any order and in parallel.
    Independent = 1,
    /// The operations that follow scans may run in any order and in parallel.
    PostScanIndependent = 2,
    /// An update at the end of an iteration, of one scalar in each of several contiguous vectors.
    Packable = 4,
    /// A read of a vector's element at the index of the surrounding segop.
    Streamed = 8,
    /// Iterations only compute scalars, from memory that the segop does not write.
    Scalars = 16,
    /// Loops in all iterations of a map read the same elements.
    SharedColumns = 32,
}

impl FactFlag {
    /// All marks, in the order in which they are printed.
    pub const ALL: [Self; 6] = [
        Self::Independent,
        Self::PostScanIndependent,
        Self::Packable,
        Self::Streamed,
        Self::Scalars,
        Self::SharedColumns,
    ];

    /// Its name in IR text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::PostScanIndependent => "after",
            Self::Packable => "packed",
            Self::Streamed => "streamed",
            Self::Scalars => "scalars",
            Self::SharedColumns => "columns",
        }
    }
}

/// A scan that counts flags and whose post lambda writes the flagged values at the count. The
/// indices of flagged values are consecutive, so they need not be computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Position of the flag among the mapped values.
    pub flag: usize,
    /// Positions of the written values among the mapped values.
    pub values: Vec<usize>,
    /// Offset of the index from the count (which includes the value's own flag).
    pub offset: i64,
}

/// A scan of the counts of several flags, of which each iteration has at most one, and whose post lambda writes values
/// at the count of the iteration's flag; an iteration without a flag writes nothing. The indices of values with the
/// same flag are consecutive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Positions of the written values among the mapped values.
    pub values: Vec<usize>,
    /// For each count, the offset of the index from it (which includes the value's own flag), by names bound outside
    /// of the segop.
    pub offsets: Vec<Poly>,
    /// True if each iteration has a flag.
    pub complete: bool,
}

/// A read, in each iteration of a loop, of an element that several iterations of the segop read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedRead {
    /// The iterations that read the same element.
    pub by: SharedBy,
    /// The element's block.
    pub block: Name,
    /// Its offset in the block, by the loop's counter, the segop's indices, and names bound outside
    /// of the segop.
    pub offset: Poly,
}

/// The dependence of a shared element, besides the loop's counter and the outer dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedBy {
    /// The last dimension but one.
    Row,
    /// The last dimension.
    Column,
    /// Neither.
    Loop,
}

impl SharedBy {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Row, Self::Column, Self::Loop];

    /// Its name in IR text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Column => "column",
            Self::Loop => "loop",
        }
    }
}

impl Facts {
    /// Returns true if there are no facts.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if the mark is set.
    pub const fn has(&self, mark: FactFlag) -> bool {
        self.marks & mark as u8 != 0
    }

    /// Sets a mark.
    pub const fn add(&mut self, mark: FactFlag) {
        self.marks |= mark as u8;
    }

    /// The filter, if the statement is one.
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.as_deref()
    }

    /// The partition, if the statement is one.
    pub fn partition(&self) -> Option<&Partition> {
        self.partition.as_deref()
    }

    /// [`partition`](Self::partition), mutable.
    pub fn partition_mut(&mut self) -> Option<&mut Partition> {
        self.partition.as_deref_mut()
    }

    /// Marks the statement as a partition.
    pub fn set_partition(&mut self, partition: Partition) {
        self.partition = Some(Box::new(partition));
    }

    /// The shared read, if the statement is one.
    pub fn shared(&self) -> Option<&SharedRead> {
        self.shared.as_deref()
    }

    /// [`shared`](Self::shared), mutable.
    pub fn shared_mut(&mut self) -> Option<&mut SharedRead> {
        self.shared.as_deref_mut()
    }

    /// Marks the statement as a shared read.
    pub fn set_shared(&mut self, read: SharedRead) {
        self.shared = Some(Box::new(read));
    }

    /// The results with a preferred order other than row-major, by position.
    pub fn layouts(&self) -> &[(usize, DimOrder)] {
        &self.orders
    }

    /// The preferred order of a result, if other than row-major.
    pub fn layout(&self, result: usize) -> Option<&DimOrder> {
        let found = self.orders.iter().find(|(at, _)| *at == result);
        found.map(|(_, order)| order)
    }

    /// Sets the preferred order of a result.
    pub fn set_layout(&mut self, result: usize, order: DimOrder) {
        self.orders.push((result, order));
    }

    /// Removes the orders: from then on annotations determine the layout of results.
    pub fn clear_layouts(&mut self) {
        self.orders.clear();
    }

    /// Marks the statement as a filter.
    pub fn set_filter(&mut self, filter: Filter) {
        self.filter = Some(Box::new(filter));
    }
}

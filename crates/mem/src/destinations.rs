//! Destinations (short-circuiting): propagates the locations of a body's results backwards to the
//! operations that create them.
//!
//! ```text
//! segmap (i < n) {                          -- result row i is stored in out[i]
//!   let o = scratch [m]                     -- and therefore o is, too,
//!   let o' = loop (o1 = o) for j < m do     -- as the loop updates it in place
//!     let o2 = o1 with [j] <- x in (o2)
//!   in (o') }
//! ```
//!
//! A value that is written into an array bound outside of the body (`out with [i] <- row`) gets
//! that slice as its destination too, if the body uses no other array in the same block: then the
//! early write is unobservable.
//!
//! The checks that the value fits (the certificates of the update and of coercions on the way) must
//! pass before the first element is written; [`crate::checks_first`] moves them ahead where
//! possible.

use crate::alloc::Ctx;
use crate::checks_first::slice_operands;
use analysis::uses;
use ir::Segs;
use ir::mem::Lmad;
use ir::name::Name;
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp};
use ir::walk::binders;
use rustc_hash::FxHashMap;

/// The destination of an array: a location in a block.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Destination {
    pub(crate) block: Name,
    pub(crate) lmad: Lmad,
}

/// The locations of the arrays bound outside of a body.
pub(crate) trait Locations {
    /// A location in a block.
    type Location: Clone;

    /// Returns true if a loop parameter is updated in place by the loop's body.
    fn in_place(&self, param: Name) -> bool;

    /// The block of an array.
    fn block(&self, array: Name) -> Option<Name>;

    /// The location of a slice of an array.
    fn slice(&self, array: Name, slice: &[DimIndex]) -> Option<Self::Location>;
}

impl Locations for Ctx<'_> {
    type Location = Destination;

    fn in_place(&self, param: Name) -> bool {
        self.roots.in_place(param)
    }

    fn block(&self, array: Name) -> Option<Name> {
        Some(self.location_of(array).ok()?.0)
    }

    fn slice(&self, array: Name, slice: &[DimIndex]) -> Option<Destination> {
        let (block, lmad) = self.location_of(array).ok()?;
        Some(Destination { block, lmad: lmad.slice(slice) })
    }
}

/// A destination, and the number of the body's first statement before which all checks and operands
/// that allow writing there are available.
#[derive(Clone)]
struct ReadyDestination<D> {
    dest: D,
    from: usize,
}

/// Computes the destinations of the arrays that a body's statements bind, given those of its
/// results; sorted by name.
pub(crate) fn propagate<L: Locations>(
    at: &L,
    body: &Body<Segs>,
    results: impl IntoIterator<Item = Option<L::Location>>,
) -> Vec<(Name, L::Location)> {
    let mut flow = Flow::new(body);
    for (result, dest) in body.result.iter().zip(results) {
        if let (Atom::Var(name), Some(dest)) = (result, dest) {
            flow.add(*name, ReadyDestination { dest, from: 0 });
        }
    }
    let mut uses: Option<FxHashMap<Name, u32>> = None;
    for stm in body.stms.iter().rev() {
        match &stm.exp {
            Exp::Basic(op) => {
                let dest = stm.pat.first().and_then(|elem| flow.destinations.get(&elem.name)).cloned();
                // The certificates of a reshape say that the sizes are equal.
                let checked = matches!(op, BasicOp::Reshape { .. });
                let source = op.in_place_of();
                if let (Some(source), Some(ReadyDestination { dest, from })) = (source, dest) {
                    let from = if checked { flow.known_from(&stm.aux.certs, from) } else { from };
                    flow.add(source, ReadyDestination { dest, from });
                }
                if let BasicOp::Update { array, slice, value: Atom::Var(value) } = op
                    && flow.defined.contains_key(value)
                    && !flow.defined.contains_key(array)
                    && !flow.destinations.contains_key(value)
                {
                    let uses = uses.get_or_insert_with(|| free_uses(body));
                    if uses.get(array) == Some(&1)
                        && !uses_block(at, uses, *array)
                        && let Some(dest) = at.slice(*array, slice)
                    {
                        let index_operands = slice.iter().flat_map(slice_operands);
                        let index_operands: Vec<Name> = index_operands.filter_map(Atom::var).collect();
                        let from = flow.known_from(&index_operands, flow.known_from(&stm.aux.certs, 0));
                        flow.add(*value, ReadyDestination { dest, from });
                    }
                }
            }
            Exp::Loop { params, form: _, body: _ } => {
                for (elem, param) in stm.pat.iter().zip(params) {
                    if let (true, Some(ready), Atom::Var(init)) =
                        (at.in_place(param.param.name), flow.destinations.get(&elem.name), param.init)
                    {
                        let ready = ready.clone();
                        flow.add(init, ready);
                    }
                }
            }
            Exp::If { .. } | Exp::Apply { .. } | Exp::Op(_) => {}
        }
    }
    let mut destinations: Vec<(Name, L::Location)> =
        (flow.destinations.into_iter()).map(|(name, ready)| (name, ready.dest)).collect();
    destinations.sort_unstable_by_key(|(name, _)| *name);
    destinations
}

/// Destinations during the backward walk of a body.
struct Flow<D> {
    destinations: FxHashMap<Name, ReadyDestination<D>>,
    /// The statement that binds each name of the body.
    defined: FxHashMap<Name, usize>,
}

impl<D> Flow<D> {
    fn new(body: &Body<Segs>) -> Self {
        let stms = body.stms.iter().enumerate();
        let defined = stms.flat_map(|(at, stm)| stm.pat.iter().map(move |p| (p.name, at)));
        Self { destinations: FxHashMap::default(), defined: defined.collect() }
    }

    /// The first statement from `from` on before which all these names are bound.
    fn known_from(&self, names: &[Name], from: usize) -> usize {
        let known = names.iter().filter_map(|name| Some(self.defined.get(name)? + 1));
        known.fold(from, usize::max)
    }

    /// Gives an array a destination, unless it has one or is created too early.
    fn add(&mut self, array: Name, ready: ReadyDestination<D>) {
        if self.defined.get(&array).is_none_or(|&at| at >= ready.from) {
            self.destinations.entry(array).or_insert(ready);
        }
    }
}

/// The number of uses in a body of each name that is bound outside.
fn free_uses(body: &Body<Segs>) -> FxHashMap<Name, u32> {
    let mut uses = uses::in_body(body);
    for name in binders(body) {
        uses.remove(&name);
    }
    uses
}

/// Returns true if another name that is used is an array in the block of this one.
fn uses_block(at: &impl Locations, uses: &FxHashMap<Name, u32>, array: Name) -> bool {
    let block = at.block(array);
    uses.keys().any(|name| *name != array && block.is_some() && at.block(*name) == block)
}

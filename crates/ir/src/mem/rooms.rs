//! How the arrays of a block share the scratchpad: those that are not alive at once may lie
//! in one place, a *room*.
//!
//! ```text
//! let a_mem = alloc x scratchpad        a |        room 0: a, c    of max (x, z) bytes
//! let b_mem = alloc y scratchpad        | b        room 1: b       of y bytes
//! .. a, b ..                            | |
//! let c_mem = alloc z scratchpad        c |
//! .. b, c ..                            | |
//! ```
//!
//! A block of the scratchpad is alive from its allocation to the end of the last statement of
//! the same body that mentions it or what lies in it, at any depth; so what a loop takes from
//! outside is alive to the loop's end. The statements of a body and of those in it are
//! counted, and two blocks are alive at once if their stretches have a number in common.
//!
//! Rooms are given out by size, the largest first, each to the first room that is free
//! throughout. Sizes need not be known: products of more sizes count as larger. So all that
//! depends on them is how much space there is in the end.
//!
//! Whoever writes into a room that somebody else had waits for all threads of the block
//! before, as for any place that others may still read.

use super::{Block, Blocks, MemAnn, MemOp, Mems};
use crate::error::PassError;
use crate::name::Name;
use crate::poly::Poly;
use crate::seg::SegOp;
use crate::syntax::{Atom, Body, Exp, Param};
use crate::types::{Space, Type};
use crate::walk::{Visit, sub_bodies, with_stack};
use rustc_hash::FxHashMap;

/// Blocks that lie in one place, with their bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Room {
    /// The blocks.
    pub blocks: Vec<(Name, Atom)>,
}

/// A block of the scratchpad.
struct Tenant {
    block: Name,
    bytes: Atom,
    /// The first and the last number at which it is alive.
    alive: (u32, u32),
    /// About how many bytes, for the order.
    size: Poly,
}

impl Tenant {
    fn meets(&self, other: &Self) -> bool {
        self.alive.0 <= other.alive.1 && other.alive.0 <= self.alive.1
    }

    /// The number of sizes in the largest term, and how often it counts.
    fn weight(&self) -> (usize, i64) {
        let terms = self.size.terms().iter();
        let terms = terms.map(|(sizes, times)| (sizes.len(), *times));
        terms.max().unwrap_or_default()
    }
}

/// The rooms of what a body allocates in the scratchpad.
///
/// # Errors
/// Only for bugs: each room is looked at again.
pub fn rooms(body: &Body<Mems>, blocks: &Blocks) -> Result<Vec<Room>, PassError> {
    let mut walk = Walk { blocks, sizes: sizes(body), at: 0, found: Vec::new() };
    walk.body(body);
    let mut tenants = walk.found;
    // The sort is stable: those of one size stand in the order of the program.
    tenants.sort_by_key(|tenant| std::cmp::Reverse(tenant.weight()));
    let mut rooms: Vec<Vec<&Tenant>> = Vec::new();
    for tenant in &tenants {
        let free = |room: &&mut Vec<&Tenant>| room.iter().all(|other| !other.meets(tenant));
        match rooms.iter_mut().find(free) {
            Some(room) => room.push(tenant),
            None => rooms.push(vec![tenant]),
        }
    }
    let apart = rooms.iter().all(|room| {
        let pairs = room.iter().enumerate();
        let mut pairs = pairs.flat_map(|(at, one)| room[..at].iter().map(move |two| (one, two)));
        pairs.all(|(one, two)| one.alive.1 < two.alive.0 || two.alive.1 < one.alive.0)
    });
    if !apart || rooms.iter().map(Vec::len).sum::<usize>() != tenants.len() {
        return Err(PassError::bug("two arrays are alive at once in one place"));
    }
    let rooms =
        rooms.into_iter().map(|room| Room { blocks: room.iter().map(|it| (it.block, it.bytes)).collect() });
    Ok(rooms.collect())
}

/// About how large blocks are: as the first array that lies in each.
fn sizes(body: &Body<Mems>) -> FxHashMap<Name, Poly> {
    struct Sizes(FxHashMap<Name, Poly>);
    impl Visit<Mems> for Sizes {
        fn param(&mut self, param: &Param<Mems>) {
            if let (Type::Array { elem, shape }, MemAnn::In { block: Block::Var(block), lmad: _ }) =
                (&param.ty, &param.ann)
            {
                self.0.entry(*block).or_insert_with(|| {
                    let bytes = Poly::constant(elem.size() as i64);
                    let dims = shape.iter().map(|&dim| Poly::dim(dim));
                    dims.fold(bytes, |bytes, dim| bytes.mul(&dim))
                });
            }
            self.walk_param(param);
        }
    }
    let mut sizes = Sizes(FxHashMap::default());
    sizes.body(body);
    sizes.0
}

struct Walk<'b> {
    blocks: &'b Blocks,
    sizes: FxHashMap<Name, Poly>,
    /// The number of the beginning or end of a statement.
    at: u32,
    found: Vec<Tenant>,
}

impl Walk<'_> {
    fn body(&mut self, body: &Body<Mems>) {
        with_stack(|| {
            let mut own: FxHashMap<Name, usize> = FxHashMap::default();
            for stm in &body.stms {
                self.at += 1;
                if let (Exp::Op(MemOp::Alloc { bytes, space: Space::Scratchpad }), [block]) =
                    (&stm.exp, stm.pat.as_slice())
                {
                    own.insert(block.name, self.found.len());
                    self.found.push(Tenant {
                        block: block.name,
                        bytes: *bytes,
                        alive: (self.at, self.at),
                        size: self.sizes.get(&block.name).cloned().unwrap_or_default(),
                    });
                }
                // What a segop allocates is its threads'.
                if !matches!(&stm.exp, Exp::Op(MemOp::Seg(SegOp::Seg(_)))) {
                    sub_bodies(&stm.exp, |body| self.body(body));
                }
                self.at += 1;
                for block in self.blocks.used(stm) {
                    self.lives(&own, block);
                }
            }
            self.at += 1;
            let results = body.result.iter().filter_map(|atom| atom.var());
            for block in results.filter_map(|name| self.blocks.of(name)) {
                self.lives(&own, block);
            }
        });
    }

    /// A block is alive here, if it is the body's own.
    fn lives(&mut self, own: &FxHashMap<Name, usize>, block: Name) {
        if let Some(tenant) = own.get(&block).and_then(|&at| self.found.get_mut(at)) {
            tenant.alive.1 = self.at;
        }
    }
}

//! Shared-memory colouring: arrays in a thread block's shared memory that are not live at the same
//! time share a slot.
//!
//! ```text
//! let a_mem = alloc x shared        a |        slot 0: a, c    of max (x, z) bytes
//! let b_mem = alloc y shared        | b        slot 1: b       of y bytes
//! .. a, b ..                            | |
//! let c_mem = alloc z shared        c |
//! .. b, c ..                            | |
//! ```
//!
//! A memory block in shared memory is live from its allocation to the end of the last statement of
//! the same body that mentions it or an array in it, at any depth; so a block that a loop uses from
//! outside is live to the end of the loop. Beginnings and ends of the statements of a body, and of
//! those nested in it, are numbered; two blocks interfere if their intervals of numbers overlap.
//!
//! Slots are assigned in decreasing order of size: each block gets the first slot in which it
//! interferes with no other. Sizes may be symbolic: products of more sizes count as larger. Only
//! the total capacity depends on their values.
//!
//! Before a slot that another array occupied is written, all threads of the block synchronise, as
//! before any write to memory that others may still read.

use super::{Block, Blocks, MemAnn, MemOp, Mems};
use crate::error::PassError;
use crate::name::Name;
use crate::poly::Poly;
use crate::seg::SegOp;
use crate::syntax::{Atom, Body, Exp, Param};
use crate::types::Type;
use crate::walk::{Visit, sub_bodies, with_stack};
use rustc_hash::FxHashMap;
use target::memories::Allocation;

/// Memory blocks that share a slot, with their sizes in bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedSlot {
    /// The blocks.
    pub blocks: Vec<(Name, Atom)>,
}

/// A memory block in shared memory.
struct SharedBlock {
    block: Name,
    bytes: Atom,
    /// First and last number of its live interval.
    alive: (u32, u32),
    /// Estimated size in bytes, for the order of assignment.
    size: Poly,
}

impl SharedBlock {
    fn interferes(&self, other: &Self) -> bool {
        self.alive.0 <= other.alive.1 && other.alive.0 <= self.alive.1
    }

    /// The number of sizes in the largest term, and its coefficient.
    fn weight(&self) -> (usize, i64) {
        let terms = self.size.terms().iter();
        let terms = terms.map(|(sizes, times)| (sizes.len(), *times));
        terms.max().unwrap_or_default()
    }
}

/// The slots of the shared-memory blocks that a body allocates.
///
/// # Errors
/// Only for bugs: each slot is checked for interference afterwards.
pub fn assign_slots(body: &Body<Mems>, blocks: &Blocks) -> Result<Vec<SharedSlot>, PassError> {
    let mut walk = Walk { blocks, sizes: sizes(body), at: 0, found: Vec::new() };
    walk.body(body);
    let mut blocks_found = walk.found;
    // The sort is stable: blocks of equal weight remain in program order.
    blocks_found.sort_by_key(|block| std::cmp::Reverse(block.weight()));
    let mut slots: Vec<Vec<&SharedBlock>> = Vec::new();
    for block in &blocks_found {
        let free = |slot: &&mut Vec<&SharedBlock>| slot.iter().all(|other| !other.interferes(block));
        match slots.iter_mut().find(free) {
            Some(slot) => slot.push(block),
            None => slots.push(vec![block]),
        }
    }
    let disjoint = slots.iter().all(|slot| {
        let pairs = slot.iter().enumerate();
        let mut pairs = pairs.flat_map(|(at, one)| slot[..at].iter().map(move |two| (one, two)));
        pairs.all(|(one, two)| one.alive.1 < two.alive.0 || two.alive.1 < one.alive.0)
    });
    if !disjoint || slots.iter().map(Vec::len).sum::<usize>() != blocks_found.len() {
        return Err(PassError::bug("two arrays in one slot are live at the same time"));
    }
    let slots = slots
        .into_iter()
        .map(|slot| SharedSlot { blocks: slot.iter().map(|it| (it.block, it.bytes)).collect() });
    Ok(slots.collect())
}

/// Estimated sizes of blocks: that of the first array in each.
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
    /// Number of the current beginning or end of a statement.
    at: u32,
    found: Vec<SharedBlock>,
}

impl Walk<'_> {
    fn body(&mut self, body: &Body<Mems>) {
        with_stack(|| {
            let mut own: FxHashMap<Name, usize> = FxHashMap::default();
            for stm in &body.stms {
                self.at += 1;
                if let (Exp::Op(MemOp::Alloc { bytes, memory }), [block]) = (&stm.exp, stm.pat.as_slice())
                    && memory.allocation == Allocation::Launch
                {
                    own.insert(block.name, self.found.len());
                    self.found.push(SharedBlock {
                        block: block.name,
                        bytes: *bytes,
                        alive: (self.at, self.at),
                        size: self.sizes.get(&block.name).cloned().unwrap_or_default(),
                    });
                }
                // Allocations inside of a segop are private to its threads.
                if !matches!(&stm.exp, Exp::Op(MemOp::Seg(SegOp::Seg(_)))) {
                    sub_bodies(&stm.exp, |body| self.body(body));
                }
                self.at += 1;
                for block in self.blocks.used(stm) {
                    self.extend_live_interval(&own, block);
                }
            }
            self.at += 1;
            let results = body.result.iter().filter_map(|atom| atom.var());
            for block in results.filter_map(|name| self.blocks.of(name)) {
                self.extend_live_interval(&own, block);
            }
        });
    }

    /// Extends the live interval of a block to this point, if the block is one of the body's own.
    fn extend_live_interval(&mut self, own: &FxHashMap<Name, usize>, block: Name) {
        if let Some(tenant) = own.get(&block).and_then(|&at| self.found.get_mut(at)) {
            tenant.alive.1 = self.at;
        }
    }
}

//! The blocks of arrays, and the blocks that each statement uses.

use crate::mem::{Block, MemAnn, Mems};
use crate::name::Name;
use crate::syntax::{Body, Function, Param, Stm};
use crate::types::Type;
use crate::walk::{self, Visit};
use rustc_hash::FxHashSet;

/// For each name, the block that it denotes or lies in.
#[derive(Debug)]
pub struct Blocks(Vec<Option<Name>>);

impl Blocks {
    /// The blocks of a function's names.
    pub fn new(function: &Function<Mems>) -> Self {
        let params = function.params.iter().map(|param| &param.param);
        Self::of_names(params, &function.body, function.names.len())
    }

    /// The blocks of the names bound in a body, of a function with this number of names.
    pub fn of_body(body: &Body<Mems>, names: usize) -> Self {
        Self::of_names(std::iter::empty(), body, names)
    }

    fn of_names<'p>(params: impl Iterator<Item = &'p Param<Mems>>, body: &Body<Mems>, names: usize) -> Self {
        struct Collect(Vec<Option<Name>>);
        impl Visit<Mems> for Collect {
            fn param(&mut self, param: &Param<Mems>) {
                let block = match (&param.ty, &param.ann) {
                    (Type::Mem(_), _) => Some(param.name),
                    (_, MemAnn::In { block: Block::Var(block), lmad: _ }) => Some(*block),
                    _ => None,
                };
                self.0[param.name.index()] = block;
                self.walk_param(param);
            }
        }
        let mut collect = Collect(vec![None; names]);
        for param in params {
            collect.param(param);
        }
        collect.body(body);
        Self(collect.0)
    }

    /// The block that a name denotes or lies in.
    pub fn of(&self, name: Name) -> Option<Name> {
        self.0.get(name.index()).copied().flatten()
    }

    /// For each statement of a body, the blocks bound in the body that it uses last: no later
    /// statement and no result uses them.
    pub fn last_uses(&self, body: &Body<Mems>) -> Vec<Vec<Name>> {
        let own: FxHashSet<Name> = body
            .stms
            .iter()
            .flat_map(|stm| &stm.pat)
            .filter(|param| matches!(param.ty, Type::Mem(_)))
            .map(|param| param.name)
            .collect();
        let mut live: FxHashSet<Name> = FxHashSet::default();
        for block in body.result.iter().filter_map(|atom| self.of(atom.var()?)) {
            live.insert(block);
        }
        let mut last = vec![Vec::new(); body.stms.len()];
        if own.is_empty() {
            return last;
        }
        for (stm, dead) in body.stms.iter().zip(&mut last).rev() {
            for block in self.used(stm) {
                if own.contains(&block) && live.insert(block) {
                    dead.push(block);
                }
            }
        }
        last
    }

    /// The blocks that a statement mentions, without repetitions, in order of mention.
    pub fn used(&self, stm: &Stm<Mems>) -> Vec<Name> {
        struct Uses<'a> {
            blocks: &'a Blocks,
            seen: FxHashSet<Name>,
            order: Vec<Name>,
        }
        impl Uses<'_> {
            fn note(&mut self, name: Name) {
                if let Some(block) = self.blocks.of(name)
                    && self.seen.insert(block)
                {
                    self.order.push(block);
                }
            }
        }
        impl Visit<Mems> for Uses<'_> {
            fn name(&mut self, name: &Name) {
                self.note(*name);
            }
            fn binder(&mut self, name: &Name) {
                self.note(*name);
            }
        }
        let mut uses = Uses { blocks: self, seen: FxHashSet::default(), order: Vec::new() };
        uses.stm(stm);
        uses.order
    }

    /// The blocks of the arrays that are free in a segop's body.
    pub fn read_by(&self, body: &Body<Mems>) -> FxHashSet<Name> {
        walk::free_names(body)
            .into_iter()
            .filter(|&name| self.of(name) != Some(name))
            .filter_map(|name| self.of(name))
            .collect()
    }
}

//! Provenance: where in the source a statement comes from.
//!
//! A [`Prov`] is an index into its function's [`ProvTable`]. It stands for a stack of
//! source places, the statement's own and one more for each call that was inlined, or
//! for several of them where statements have become one: the producer's before the
//! consumer's. Both are interned, so equal ones are the same index.
//!
//! There are at most [`MOST`] stacks in one, each once: chains of fusion add a table
//! entry of bounded length for each step. Where more come together, the first ones
//! and the last remain. The last one, the consumer's, is the one that counts where
//! there can be only one; it is also what is inlined into another function's stacks
//! as the call's.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// So many stacks a statement has at most.
pub const MOST: usize = 8;

/// A place in the source: file by its index in the program's file list, lines
/// and columns counted from 1, the end column exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SrcLoc {
    /// Index into [`Program::files`](crate::Program::files).
    pub file: u32,
    /// First line.
    pub line: u32,
    /// First column.
    pub col: u32,
    /// Last line.
    pub end_line: u32,
    /// Column after the last one.
    pub end_col: u32,
}

/// An interned stack of source places, or several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Prov(pub u32);

impl Prov {
    /// The empty stack, for statements that the compiler made up.
    pub const NONE: Self = Self(0);
}

/// Stacks by their index.
type Stacks = SmallVec<[Prov; 2]>;

/// What an index stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ProvEntry {
    /// A place and the stack of the call that it was inlined from.
    At(SrcLoc, Prov),
    /// Two stacks or more, none of them empty.
    Several(Box<[Prov]>),
}

/// The provenances of one function.
#[derive(Clone, Debug, Default)]
pub struct ProvTable {
    entries: Vec<ProvEntry>,
    index: FxHashMap<ProvEntry, Prov>,
}

impl PartialEq for ProvTable {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl ProvTable {
    /// A table with the empty stack only.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stack with `loc` innermost on top of `outer`, of several its last.
    pub fn push(&mut self, loc: SrcLoc, outer: Prov) -> Prov {
        let outer = self.last(outer);
        self.intern(ProvEntry::At(loc, outer))
    }

    /// The stacks of a statement that two have become.
    pub fn join(&mut self, producer: Prov, consumer: Prov) -> Prov {
        let later = self.each(consumer);
        let mut all = self.each(producer);
        all.retain(|stack| !later.contains(stack));
        all.extend(later);
        self.several(&all)
    }

    /// These stacks as one: each once, where it comes first, and no more than there
    /// may be.
    pub fn several(&mut self, stacks: &[Prov]) -> Prov {
        let mut all = Stacks::new();
        for stack in stacks {
            for stack in self.each(*stack) {
                if !all.contains(&stack) {
                    all.push(stack);
                }
            }
        }
        if all.len() > MOST {
            all.drain(MOST - 1..all.len() - 1);
        }
        match all.as_slice() {
            [] => Prov::NONE,
            [stack] => *stack,
            stacks => self.intern(ProvEntry::Several(stacks.into())),
        }
    }

    #[allow(clippy::expect_used, reason = "2^32 entries are more than 64 GiB: memory ends first")]
    fn intern(&mut self, entry: ProvEntry) -> Prov {
        let entries = &mut self.entries;
        *self.index.entry(entry).or_insert_with_key(|entry| {
            entries.push(entry.clone());
            Prov(u32::try_from(entries.len()).expect("fewer than 2^32 provenances"))
        })
    }

    /// What a provenance stands for, `None` for the empty stack.
    pub fn entry(&self, prov: Prov) -> Option<&ProvEntry> {
        prov.0.checked_sub(1).map(|i| &self.entries[i as usize])
    }

    /// The stacks in one, none if it is empty.
    fn each(&self, prov: Prov) -> Stacks {
        match self.entry(prov) {
            None => Stacks::new(),
            Some(ProvEntry::At(..)) => Stacks::from_slice(&[prov]),
            Some(ProvEntry::Several(stacks)) => Stacks::from_slice(stacks),
        }
    }

    /// The last of the stacks: the consumer's.
    fn last(&self, prov: Prov) -> Prov {
        match self.entry(prov) {
            Some(ProvEntry::Several(stacks)) => stacks.last().copied().unwrap_or(Prov::NONE),
            Some(ProvEntry::At(..)) | None => prov,
        }
    }

    /// The innermost place and the rest of a stack, of several the last; `None` for
    /// the empty one.
    pub fn pop(&self, prov: Prov) -> Option<(SrcLoc, Prov)> {
        match self.entry(self.last(prov)) {
            Some(ProvEntry::At(loc, outer)) => Some((*loc, *outer)),
            Some(ProvEntry::Several(_)) | None => None,
        }
    }

    /// The places of a stack, innermost first; of several the last.
    pub fn stack(&self, mut prov: Prov) -> Vec<SrcLoc> {
        let mut places = Vec::new();
        while let Some((loc, rest)) = self.pop(prov) {
            places.push(loc);
            prov = rest;
        }
        places
    }

    /// The places of all stacks, producers first.
    pub fn stacks(&self, prov: Prov) -> Vec<Vec<SrcLoc>> {
        let stacks = self.each(prov).into_iter();
        stacks.map(|stack| self.stack(stack)).collect()
    }

    /// How many provenances there are beside the empty one; `Prov(1..=len)` are valid.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether only the empty stack is there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Brings provenances from one function's table to another's.
pub(crate) struct Imported<'t> {
    pub(crate) from: &'t ProvTable,
    pub(crate) to: &'t mut ProvTable,
    /// The stack that goes below each: the call's.
    pub(crate) outer: Prov,
    pub(crate) known: FxHashMap<Prov, Prov>,
}

impl Imported<'_> {
    pub(crate) fn prov(&mut self, prov: Prov) -> Prov {
        let Some(ProvEntry::Several(stacks)) = self.from.entry(prov) else {
            return self.stack(prov);
        };
        if let Some(new) = self.known.get(&prov) {
            return *new;
        }
        let stacks: Stacks = stacks.iter().map(|stack| self.stack(*stack)).collect();
        let new = self.to.several(&stacks);
        self.known.insert(prov, new);
        new
    }

    fn stack(&mut self, prov: Prov) -> Prov {
        let mut pending = Vec::new();
        let mut rest = prov;
        let mut new = loop {
            if let Some(new) = self.known.get(&rest) {
                break *new;
            }
            match self.from.pop(rest) {
                None => break self.outer,
                Some((loc, below)) => {
                    pending.push((rest, loc));
                    rest = below;
                }
            }
        };
        while let Some((old, loc)) = pending.pop() {
            new = self.to.push(loc, new);
            self.known.insert(old, new);
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Prov, ProvTable, SrcLoc};

    fn at(line: u32) -> SrcLoc {
        SrcLoc { file: 0, line, col: 1, end_line: line, end_col: 2 }
    }

    fn lines(table: &ProvTable, prov: Prov) -> Vec<Vec<u32>> {
        let stacks = table.stacks(prov).into_iter();
        stacks.map(|stack| stack.iter().map(|loc| loc.line).collect()).collect()
    }

    #[test]
    fn both_are_kept_and_the_consumer_counts() {
        let mut table = ProvTable::new();
        let call = table.push(at(9), Prov::NONE);
        let (a, b) = (table.push(at(1), call), table.push(at(2), Prov::NONE));
        let both = table.join(a, b);
        assert_eq!(lines(&table, both), [vec![1, 9], vec![2]]);
        assert_eq!(table.stack(both), [at(2)]);
        assert_eq!(table.pop(both), Some((at(2), Prov::NONE)));
        assert_eq!(table.join(a, b), both);
        assert_eq!(table.join(both, b), both);
        assert_eq!(table.join(a, both), both);
        let turned = table.join(both, a);
        assert_eq!(lines(&table, turned), [vec![2], vec![1, 9]]);
        // Nothing is nobody's.
        assert_eq!(table.join(a, a), a);
        assert_eq!(table.join(Prov::NONE, b), b);
        assert_eq!(table.join(both, Prov::NONE), both);
        assert_eq!(table.join(Prov::NONE, Prov::NONE), Prov::NONE);
        assert_eq!(lines(&table, Prov::NONE), [[0; 0]; 0]);
        // As the place of a call it is the consumer.
        let inner = table.push(at(5), both);
        assert_eq!(lines(&table, inner), [vec![5, 2]]);
    }

    #[test]
    fn long_chains_grow_by_one_bounded_entry_a_step() {
        let mut table = ProvTable::new();
        let mut all = Prov::NONE;
        for line in 1..=1000 {
            let own = table.push(at(line), Prov::NONE);
            all = table.join(all, own);
        }
        assert_eq!(table.len(), 1999);
        let mut expected: Vec<Vec<u32>> = (1..MOST as u32).map(|line| vec![line]).collect();
        expected.push(vec![1000]);
        assert_eq!(lines(&table, all), expected);
        let twice = table.join(all, all);
        assert_eq!(twice, all);
    }
}

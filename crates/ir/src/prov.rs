//! Provenance: the source spans of a statement.
//!
//! A [`Prov`] is an index into its function's [`ProvTable`]. It denotes a stack of source spans,
//! the statement's own and one for each call through which it was inlined, or several stacks if
//! statements were merged: the producer's before the consumer's. Entries are interned, so equal
//! ones have the same index.
//!
//! A provenance has at most [`MAX_STACKS`] stacks, all different, so each step of a chain of fusions adds
//! a table entry of bounded length. If there are more, the first ones and the last are kept. The
//! last stack, the consumer's, represents the statement where only one is possible, also as the
//! provenance of a call whose body is inlined.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Maximum number of stacks of a statement.
pub const MAX_STACKS: usize = 8;

/// A source span: a file by its index in the program's file list, lines and columns counted from 1,
/// the end column exclusive.
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

prim::dense_ids! {
    /// An interned stack of source spans, or several stacks.
    pub struct Prov;
}

impl Prov {
    /// The empty stack, for statements made by the compiler.
    pub const NONE: Self = Self(0);
}

/// Stacks by index.
type Stacks = SmallVec<[Prov; 2]>;

/// An entry of the table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ProvEntry {
    /// A source span and the stack of the call through which it was inlined.
    At(SrcLoc, Prov),
    /// Two or more stacks, none of them empty.
    Stacks(Box<[Prov]>),
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

    /// Returns the stack of `loc` on top of `outer`; of several outer stacks, on top of the last.
    pub fn push(&mut self, loc: SrcLoc, outer: Prov) -> Prov {
        let outer = self.last(outer);
        self.intern(ProvEntry::At(loc, outer))
    }

    /// Returns the stacks of a statement into which two were merged.
    pub fn merge(&mut self, producer: Prov, consumer: Prov) -> Prov {
        let later = self.each(consumer);
        let mut all = self.each(producer);
        all.retain(|stack| !later.contains(stack));
        all.extend(later);
        self.intern_stacks(&all)
    }

    /// Returns these stacks as one provenance: without repetitions, each at its first occurrence,
    /// and at most [`MAX_STACKS`].
    pub fn intern_stacks(&mut self, stacks: &[Prov]) -> Prov {
        let mut all = Stacks::new();
        for stack in stacks {
            for stack in self.each(*stack) {
                if !all.contains(&stack) {
                    all.push(stack);
                }
            }
        }
        if all.len() > MAX_STACKS {
            all.drain(MAX_STACKS - 1..all.len() - 1);
        }
        match all.as_slice() {
            [] => Prov::NONE,
            [stack] => *stack,
            stacks => self.intern(ProvEntry::Stacks(stacks.into())),
        }
    }

    fn intern(&mut self, entry: ProvEntry) -> Prov {
        let entries = &mut self.entries;
        *self.index.entry(entry).or_insert_with_key(|entry| {
            entries.push(entry.clone());
            Prov::new(entries.len())
        })
    }

    /// The entry of a provenance; `None` for the empty stack.
    pub fn entry(&self, prov: Prov) -> Option<&ProvEntry> {
        prov.0.checked_sub(1).map(|i| &self.entries[i as usize])
    }

    /// The stacks of a provenance; none for the empty stack.
    fn each(&self, prov: Prov) -> Stacks {
        match self.entry(prov) {
            None => Stacks::new(),
            Some(ProvEntry::At(..)) => Stacks::from_slice(&[prov]),
            Some(ProvEntry::Stacks(stacks)) => Stacks::from_slice(stacks),
        }
    }

    /// The last of the stacks: the consumer's.
    fn last(&self, prov: Prov) -> Prov {
        match self.entry(prov) {
            Some(ProvEntry::Stacks(stacks)) => stacks.last().copied().unwrap_or(Prov::NONE),
            Some(ProvEntry::At(..)) | None => prov,
        }
    }

    /// The innermost span and the rest of the (last) stack; `None` for the empty stack.
    pub fn pop(&self, prov: Prov) -> Option<(SrcLoc, Prov)> {
        match self.entry(self.last(prov)) {
            Some(ProvEntry::At(loc, outer)) => Some((*loc, *outer)),
            Some(ProvEntry::Stacks(_)) | None => None,
        }
    }

    /// The spans of the (last) stack, innermost first.
    pub fn stack(&self, mut prov: Prov) -> Vec<SrcLoc> {
        let mut spans = Vec::new();
        while let Some((loc, rest)) = self.pop(prov) {
            spans.push(loc);
            prov = rest;
        }
        spans
    }

    /// The spans of all stacks, producers first.
    pub fn stacks(&self, prov: Prov) -> Vec<Vec<SrcLoc>> {
        let stacks = self.each(prov).into_iter();
        stacks.map(|stack| self.stack(stack)).collect()
    }

    /// The number of provenances other than the empty one; `Prov(1..=len)` are valid.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there is only the empty stack.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Translates provenances from one function's table to another's.
pub(crate) struct ProvImport<'t> {
    pub(crate) from: &'t ProvTable,
    pub(crate) to: &'t mut ProvTable,
    /// Provenance of the call, put below each stack.
    pub(crate) outer: Prov,
    pub(crate) known: FxHashMap<Prov, Prov>,
}

impl ProvImport<'_> {
    pub(crate) fn prov(&mut self, prov: Prov) -> Prov {
        let Some(ProvEntry::Stacks(stacks)) = self.from.entry(prov) else {
            return self.stack(prov);
        };
        if let Some(new) = self.known.get(&prov) {
            return *new;
        }
        let stacks: Stacks = stacks.iter().map(|stack| self.stack(*stack)).collect();
        let new = self.to.intern_stacks(&stacks);
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
    use super::{MAX_STACKS, Prov, ProvTable, SrcLoc};

    fn at(line: u32) -> SrcLoc {
        SrcLoc { file: 0, line, col: 1, end_line: line, end_col: 2 }
    }

    fn lines(table: &ProvTable, prov: Prov) -> Vec<Vec<u32>> {
        let stacks = table.stacks(prov).into_iter();
        stacks.map(|stack| stack.iter().map(|loc| loc.line).collect()).collect()
    }

    #[test]
    fn fused_provenance_keeps_both_and_starts_with_the_consumer() {
        let mut table = ProvTable::new();
        let call = table.push(at(9), Prov::NONE);
        let (a, b) = (table.push(at(1), call), table.push(at(2), Prov::NONE));
        let both = table.merge(a, b);
        assert_eq!(lines(&table, both), [vec![1, 9], vec![2]]);
        assert_eq!(table.stack(both), [at(2)]);
        assert_eq!(table.pop(both), Some((at(2), Prov::NONE)));
        assert_eq!(table.merge(a, b), both);
        assert_eq!(table.merge(both, b), both);
        assert_eq!(table.merge(a, both), both);
        let turned = table.merge(both, a);
        assert_eq!(lines(&table, turned), [vec![2], vec![1, 9]]);
        // Equal stacks and the empty stack are absorbed.
        assert_eq!(table.merge(a, a), a);
        assert_eq!(table.merge(Prov::NONE, b), b);
        assert_eq!(table.merge(both, Prov::NONE), both);
        assert_eq!(table.merge(Prov::NONE, Prov::NONE), Prov::NONE);
        assert_eq!(lines(&table, Prov::NONE), [[0; 0]; 0]);
        // As the provenance of a call, it is the consumer's.
        let inner = table.push(at(5), both);
        assert_eq!(lines(&table, inner), [vec![5, 2]]);
    }

    #[test]
    fn long_provenance_chains_have_bounded_entries() {
        let mut table = ProvTable::new();
        let mut all = Prov::NONE;
        for line in 1..=1000 {
            let own = table.push(at(line), Prov::NONE);
            all = table.merge(all, own);
        }
        assert_eq!(table.len(), 1999);
        let mut expected: Vec<Vec<u32>> = (1..MAX_STACKS as u32).map(|line| vec![line]).collect();
        expected.push(vec![1000]);
        assert_eq!(lines(&table, all), expected);
        let twice = table.merge(all, all);
        assert_eq!(twice, all);
    }
}

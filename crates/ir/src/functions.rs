//! The functions of a program by id: access, reachability, and new ids after a pass has added,
//! removed or reordered functions.

use crate::name::FunId;
use crate::syntax::{Function, Level, Program};
use crate::walk::{VisitMut, callees};

/// Changes the ids of functions in calls.
struct Renumber<F>(F);

impl<L: Level, F: FnMut(FunId) -> FunId> VisitMut<L> for Renumber<F> {
    fn fun(&mut self, fun: &mut FunId) {
        *fun = (self.0)(*fun);
    }
}

impl<L: Level> Function<L> {
    /// Changes the id of the function of each call.
    pub fn renumber_calls(&mut self, new: impl FnMut(FunId) -> FunId) {
        VisitMut::<L>::body(&mut Renumber(new), &mut self.body);
    }
}

impl<L: Level> Program<L> {
    /// The function of an id.
    pub fn function(&self, id: FunId) -> &Function<L> {
        &self.functions[id.index()]
    }

    /// Changes the ids of functions in entry points and calls.
    pub fn renumber(&mut self, new: impl Fn(FunId) -> FunId) {
        self.entries.iter_mut().for_each(|entry| entry.fun = new(entry.fun));
        self.functions.iter_mut().for_each(|function| function.renumber_calls(&new));
    }

    /// For each function, true if entry points reach it.
    pub fn reachable(&self) -> Vec<bool> {
        let mut reached = vec![false; self.functions.len()];
        let mut open: Vec<FunId> = self.entries.iter().map(|entry| entry.fun).collect();
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut reached[id.index()], true) {
                callees(&self.function(id).body, |callee| open.push(callee));
            }
        }
        reached
    }

    /// Removes all functions but these, which call no others.
    pub fn retain_functions(&mut self, kept: &[bool]) {
        let mut next = 0;
        let new: Vec<FunId> = (kept.iter())
            .map(|kept| {
                let id = FunId::new(next);
                next += usize::from(*kept);
                id
            })
            .collect();
        let mut kept = kept.iter();
        self.functions.retain(|_| kept.next() == Some(&true));
        self.renumber(|id| new[id.index()]);
    }
}

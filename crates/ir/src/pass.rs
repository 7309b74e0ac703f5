//! The context of passes, and their execution over the functions of a program.
//!
//! A [`Context`] belongs to one function while a pass works on it, and contexts are merged in the
//! order of the functions afterwards. So functions are processed in parallel ([`Context::each`]),
//! and the result does not depend on scheduling. With limited fuel, functions are processed
//! sequentially, so that the first rewrites are always the same.

use crate::Fuel;
use crate::name::SrcLoc;
use crate::remark::{Remark, RemarkKind};
use std::convert::Infallible;
use std::sync::Arc;
use target::Machine;
use target::device::Device;
use target::levels::Stack;
use workers::Workers;

/// The state shared by all passes.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Remaining rewrites.
    pub fuel: Fuel,
    /// The compiler's options.
    pub options: Arc<Options>,
    /// Decisions made so far.
    pub decisions: Vec<Remark>,
    /// Threads that run passes.
    pub workers: Workers,
}

/// The options on which passes depend.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// The main source file, for messages.
    pub source_name: Arc<str>,
    /// True if every floating-point operation rounds separately: no multiply-adds are fused.
    pub strict_fp: bool,
    /// True if combinators are fused.
    pub fuse: bool,
    /// The bytes of a loop's states up to which its reverse derivative saves all of them.
    pub tape_limit: u64,
    /// True if all decisions are recorded, for optimisation remarks.
    pub remarks: bool,
    /// True if the program measures its parallel nests, for profiles.
    pub profile: bool,
    /// Vector lanes of loops.
    pub lanes: VectorLanes,
    /// The target machine.
    pub machine: Machine,
    /// The target's levels of parallelism.
    pub stack: Stack,
    /// Execution parameters of a device, if the target has one.
    pub device: Device,
    /// Versions made by flattening.
    pub flatten: Flatten,
}

/// Versions that flattening makes of nested combinators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flatten {
    /// One: the outermost combinators are parallel, the others sequential.
    None,
    /// One, by heuristics (moderate flattening): nested combinators are parallel, except for
    /// reductions of values computed in the same iteration.
    Moderate,
    /// Several, chosen by sizes at run time (incremental flattening).
    Incremental,
    /// One: all parallelism is exploited (full flattening).
    Full,
}

impl Flatten {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::None, Self::Moderate, Self::Incremental, Self::Full];

    /// The mode's name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Moderate => "moderate",
            Self::Incremental => "incremental",
            Self::Full => "full",
        }
    }

    /// Returns true if nested combinators are mapped to the outermost level wherever the rules
    /// permit.
    pub const fn is_full_depth(self) -> bool {
        matches!(self, Self::Incremental | Self::Full)
    }
}

/// Vector lanes of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VectorLanes {
    /// None: loops are not vectorised.
    Off,
    /// The most profitable number, by the cost model.
    Auto,
    /// This number wherever it is legal, profitable or not; a power of two from 2 to 64.
    Width(u32),
}

impl Options {
    /// The default of [`Self::tape_limit`]: tapes of this size are written and read from main memory as fast as
    /// iterations run again.
    pub const TAPE_LIMIT: u64 = 256 << 20;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            source_name: Arc::from(""),
            strict_fp: false,
            fuse: true,
            tape_limit: Self::TAPE_LIMIT,
            remarks: false,
            profile: false,
            lanes: VectorLanes::Auto,
            machine: Machine::of(64),
            stack: Stack::default(),
            device: Device::default(),
            flatten: Flatten::Incremental,
        }
    }
}

impl Context {
    /// A context for this number of rewrites (unlimited if `None`), on this thread only.
    pub fn new(fuel: Option<u64>, options: Options) -> Self {
        Self {
            fuel: fuel.map_or_else(Fuel::unlimited, Fuel::limited),
            options: Arc::new(options),
            ..Self::default()
        }
    }

    /// Records a decision.
    pub fn remark(&mut self, function: &Arc<str>, spans: Vec<SrcLoc>, kind: RemarkKind) {
        self.decisions.push(Remark { function: function.clone(), spans, kind });
    }

    /// Applies `work` to each item (usually a function), each with its own context; returns the
    /// results in order, or the first error in that order.
    pub fn each<T: Send, R: Send, E: Send>(
        &mut self,
        items: Vec<T>,
        work: impl Fn(T, &mut Self) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        if self.fuel.left.is_some() || !self.workers.is_parallel() {
            return items.into_iter().map(|item| work(item, self)).collect();
        }
        let own = Self {
            fuel: Fuel::unlimited(),
            options: self.options.clone(),
            decisions: Vec::new(),
            workers: self.workers.clone(),
        };
        let done = self.workers.map(items, |item| {
            let mut own = own.clone();
            (work(item, &mut own), own)
        });
        done.into_iter()
            .map(|(result, own)| {
                self.fuel.spent += own.fuel.spent;
                self.decisions.extend(own.decisions);
                result
            })
            .collect()
    }

    /// [`each`](Self::each) for work that cannot fail.
    pub fn over<T: Send, R: Send>(
        &mut self,
        items: Vec<T>,
        work: impl Fn(T, &mut Self) -> R + Sync,
    ) -> Vec<R> {
        let work = |item, own: &mut Self| Ok::<R, Infallible>(work(item, own));
        match self.each(items, work) {
            Ok(done) => done,
            Err(never) => match never {},
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Context, Options, Workers};

    fn squares(context: &mut Context) -> Result<Vec<u32>, u32> {
        context.each((0..100).collect(), |n: u32, own| if own.fuel.take() { Ok(n * n) } else { Err(n) })
    }

    #[test]
    fn results_and_fuel_are_the_same_on_any_number_of_threads() {
        let expected: Vec<u32> = (0..100).map(|n| n * n).collect();
        for threads in [1, 2, 7] {
            let mut context = Context { workers: Workers::new(threads, |_| 1 << 20), ..Context::default() };
            assert_eq!(squares(&mut context), Ok(expected.clone()));
            assert_eq!(context.fuel.spent, 100);
        }
    }

    #[test]
    fn limited_fuel_is_used_by_the_first_functions() {
        let mut context =
            Context { workers: Workers::new(4, |_| 1 << 20), ..Context::new(Some(40), Options::default()) };
        assert_eq!(squares(&mut context), Err(40));
    }

    #[test]
    fn first_of_several_errors_is_reported() {
        let mut context = Context { workers: Workers::new(4, |_| 1 << 20), ..Context::default() };
        let failed: Result<Vec<()>, u32> = context.each((0..50).collect(), |n, _| Err(n));
        assert_eq!(failed, Err(0));
    }
}

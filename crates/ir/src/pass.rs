//! What passes share, and how they run over the functions of a program.
//!
//! A [`Context`] belongs to one function while a pass works on that, and is merged
//! in the order of the functions afterwards; so functions go through passes side by
//! side ([`Context::each`]), and what comes out does not depend on who did what
//! when. Where fuel is limited, functions are visited one after the other, so that
//! the first so many rewrites are always the same.

use crate::Fuel;
use crate::decision::{Decision, Kind};
use crate::name::SrcLoc;
use std::convert::Infallible;
use std::sync::Arc;
use target::Machine;
use target::device::Device;
use target::levels::Stack;
use workers::Workers;

/// What passes share.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// How many rewrites may still be made.
    pub fuel: Fuel,
    /// What was asked for.
    pub options: Arc<Options>,
    /// What was decided up to here.
    pub decisions: Vec<Decision>,
    /// Who runs passes.
    pub workers: Workers,
}

/// What was asked for, as far as passes depend on it.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// The main source file, for messages.
    pub source_name: Arc<str>,
    /// Whether every floating-point operation rounds by itself: no multiply-adds are fused.
    pub strict_fp: bool,
    /// Whether combinators fuse.
    pub fuse: bool,
    /// Whether all that is decided is recorded, for an account of it.
    pub account: bool,
    /// How many vector lanes loops get.
    pub lanes: Lanes,
    /// The machine that code is made for.
    pub machine: Machine,
    /// Its levels of parallelism.
    pub stack: Stack,
    /// How work is laid out on a device, where the machine has one.
    pub device: Device,
    /// Which versions flattening makes.
    pub flatten: Flatten,
}

/// Which versions flattening makes of nested combinators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flatten {
    /// One: the outermost combinators are parallel, those inside run in order.
    None,
    /// One, by what is usual: what is inside is parallel, but for reductions of what
    /// is computed where they are.
    Moderate,
    /// Those between which sizes decide when the program runs.
    Incremental,
    /// One: all that can be is parallel.
    Full,
}

impl Flatten {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::None, Self::Moderate, Self::Incremental, Self::Full];

    /// Its name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Moderate => "moderate",
            Self::Incremental => "incremental",
            Self::Full => "full",
        }
    }

    /// Whether what is inside goes to the outermost level as far as there are rules for
    /// it.
    pub const fn is_deep(self) -> bool {
        matches!(self, Self::Incremental | Self::Full)
    }
}

/// How many vector lanes loops get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lanes {
    /// None: loops stay as they are.
    Off,
    /// As many as pays, by an estimate.
    Auto,
    /// So many wherever it is possible, whether it pays or not; a power of two
    /// from 2 to 64.
    Width(u32),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            source_name: Arc::from(""),
            strict_fp: false,
            fuse: true,
            account: false,
            lanes: Lanes::Auto,
            machine: Machine::of(64),
            stack: Stack::default(),
            device: Device::default(),
            flatten: Flatten::Incremental,
        }
    }
}

impl Context {
    /// For this many rewrites (all if `None`), on this thread.
    pub fn new(fuel: Option<u64>, options: Options) -> Self {
        Self {
            fuel: fuel.map_or_else(Fuel::unlimited, Fuel::limited),
            options: Arc::new(options),
            ..Self::default()
        }
    }

    /// Notes what was decided.
    pub fn decide(&mut self, function: &Arc<str>, places: Vec<SrcLoc>, kind: Kind) {
        self.decisions.push(Decision { function: function.clone(), places, kind });
    }

    /// Does something to each item (a function, mostly), each with a context of its
    /// own, and gives what came of it in order; of several errors the first.
    pub fn each<T: Send, R: Send, E: Send>(
        &mut self,
        items: Vec<T>,
        work: impl Fn(T, &mut Self) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        if self.fuel.left.is_some() || !self.workers.are_several() {
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

    /// As [`each`](Self::each), for work that cannot fail.
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
    fn limited_fuel_goes_to_the_first() {
        let mut context =
            Context { workers: Workers::new(4, |_| 1 << 20), ..Context::new(Some(40), Options::default()) };
        assert_eq!(squares(&mut context), Err(40));
    }

    #[test]
    fn of_several_errors_the_first_is_told() {
        let mut context = Context { workers: Workers::new(4, |_| 1 << 20), ..Context::default() };
        let failed: Result<Vec<()>, u32> = context.each((0..50).collect(), |n, _| Err(n));
        assert_eq!(failed, Err(0));
    }
}

//! What passes share, and how they run over the functions of a program.
//!
//! A [`Context`] belongs to one function while a pass works on that, and is merged
//! in the order of the functions afterwards; so functions go through passes side by
//! side ([`Context::each`]), and what comes out does not depend on who did what
//! when. Where fuel is limited, functions are visited one after the other, so that
//! the first so many rewrites are always the same.

use crate::Fuel;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What passes share.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// How many rewrites may still be made.
    pub fuel: Fuel,
    /// Whether every floating-point operation rounds by itself: no multiply-adds are fused.
    pub strict_fp: bool,
    /// Who runs passes.
    pub workers: Workers,
}

impl Context {
    /// For this many rewrites (all if `None`), with or without fused multiply-adds,
    /// on this thread.
    pub fn new(fuel: Option<u64>, strict_fp: bool) -> Self {
        Self {
            fuel: fuel.map_or_else(Fuel::unlimited, Fuel::limited),
            strict_fp,
            workers: Workers::default(),
        }
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
            ..self.clone()
        };
        let done = self.workers.map(items, |item| {
            let mut own = own.clone();
            (work(item, &mut own), own)
        });
        done.into_iter()
            .map(|(result, own)| {
                self.fuel.spent += own.fuel.spent;
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

/// Threads that work beside the caller: functions and modules are compiled side by
/// side. They start when there are two things to do for the first time.
#[derive(Clone, Debug, Default)]
pub struct Workers(Option<Arc<Pool>>);

#[derive(Debug)]
struct Pool {
    /// How many there are beside the caller.
    threads: usize,
    /// Bytes of stack for each of so many threads.
    stack: fn(usize) -> usize,
    /// Nothing if the system refuses threads.
    pool: OnceLock<Option<ThreadPool>>,
}

impl Workers {
    /// So many threads with the caller, and how many bytes of stack each of so many
    /// gets: walks are as deep as programs are nested.
    pub fn new(threads: usize, stack: fn(usize) -> usize) -> Self {
        let pool = Pool {
            threads: threads.saturating_sub(1),
            stack,
            pool: OnceLock::new(),
        };
        Self((pool.threads > 0).then(|| Arc::new(pool)))
    }

    /// Whether things are done side by side at all.
    fn are_several(&self) -> bool {
        self.0.is_some()
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let own = self.0.as_ref()?;
        let start = || {
            let stack = (own.stack)(own.threads);
            ThreadPoolBuilder::new()
                .num_threads(own.threads)
                .spawn_handler(|thread| {
                    std::thread::Builder::new()
                        .spawn(move || stacker::grow(stack, || thread.run()))
                        .map(|_| ())
                })
                .build()
                .ok()
        };
        own.pool.get_or_init(start).as_ref()
    }

    /// Applies a function to each item, and gives the results in order. The caller
    /// works too; who is free takes the next item.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        let pool = if items.len() > 1 { self.pool() } else { None };
        let Some(pool) = pool else {
            return items.into_iter().map(work).collect();
        };
        let count = items.len();
        let next = Mutex::new(items.into_iter().enumerate());
        let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(count));
        let until_none_is_left = || {
            loop {
                let item = locked(&next).next();
                let Some((at, item)) = item else {
                    return;
                };
                let result = work(item);
                locked(&done).push((at, result));
            }
        };
        pool.in_place_scope(|scope| {
            for _ in 0..pool.current_num_threads().min(count - 1) {
                scope.spawn(|_| until_none_is_left());
            }
            until_none_is_left();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

/// A lock that nobody holds while work is done, so that it is never left poisoned.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Context, Workers};
    use std::sync::Barrier;

    #[test]
    fn things_are_done_at_the_same_time() {
        // Ends only if two threads come here.
        let both = Barrier::new(2);
        Workers::new(2, |_| 1 << 20).map(vec![(), ()], |()| both.wait());
    }

    fn squares(context: &mut Context) -> Result<Vec<u32>, u32> {
        context.each((0..100).collect(), |n: u32, own| {
            if own.fuel.take() { Ok(n * n) } else { Err(n) }
        })
    }

    #[test]
    fn results_and_fuel_are_the_same_on_any_number_of_threads() {
        let expected: Vec<u32> = (0..100).map(|n| n * n).collect();
        for threads in [1, 2, 7] {
            let mut context = Context {
                workers: Workers::new(threads, |_| 1 << 20),
                ..Context::new(None, false)
            };
            assert_eq!(squares(&mut context), Ok(expected.clone()));
            assert_eq!(context.fuel.spent, 100);
        }
    }

    #[test]
    fn limited_fuel_goes_to_the_first() {
        let mut context = Context {
            workers: Workers::new(4, |_| 1 << 20),
            ..Context::new(Some(40), false)
        };
        assert_eq!(squares(&mut context), Err(40));
    }

    #[test]
    fn of_several_errors_the_first_is_told() {
        let mut context = Context {
            workers: Workers::new(4, |_| 1 << 20),
            ..Context::default()
        };
        let failed: Result<Vec<()>, u32> = context.each((0..50).collect(), |n, _| Err(n));
        assert_eq!(failed, Err(0));
    }
}

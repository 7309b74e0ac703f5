//! A thread pool that compiles functions and modules in parallel.
//!
//! Work is a list of independent items; the results are in the order of the list, independent of
//! scheduling. *Absent:* any knowledge of the work.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Threads that work in addition to the caller's. They are started at the first list of two or more
/// items.
#[derive(Clone, Debug, Default)]
pub struct Workers(Option<Arc<Pool>>);

#[derive(Debug)]
struct Pool {
    /// Number of threads in addition to the caller's.
    threads: usize,
    /// Stack size in bytes of each thread, by their number.
    stack: fn(usize) -> usize,
    /// `None` inside if the system refuses to create threads.
    started: OnceLock<Option<ThreadPool>>,
}

impl Workers {
    /// A pool of `threads` threads including the caller's. `stack` returns the stack size in bytes
    /// by the number of threads: the recursion of passes is as deep as the nesting of programs.
    pub fn new(threads: usize, stack: fn(usize) -> usize) -> Self {
        let pool = Pool { threads: threads.saturating_sub(1), stack, started: OnceLock::new() };
        Self((pool.threads > 0).then(|| Arc::new(pool)))
    }

    /// Returns true if items are processed in parallel.
    pub fn is_parallel(&self) -> bool {
        self.0.is_some()
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let pool = self.0.as_ref()?;
        let start = || {
            let stack = (pool.stack)(pool.threads);
            ThreadPoolBuilder::new()
                .num_threads(pool.threads)
                .spawn_handler(|thread| {
                    std::thread::Builder::new()
                        .spawn(move || stacker::grow(stack, || thread.run()))
                        .map(|_| ())
                })
                .build()
                .ok()
        };
        pool.started.get_or_init(start).as_ref()
    }

    /// Applies a function to each item and returns the results in order. The calling thread takes
    /// part; each thread takes the next item when it is free.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        let pool = if items.len() > 1 { self.pool() } else { None };
        let Some(pool) = pool else {
            return items.into_iter().map(work).collect();
        };
        let count = items.len();
        let next = Mutex::new(items.into_iter().enumerate());
        let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(count));
        let work_loop = || {
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
                scope.spawn(|_| work_loop());
            }
            work_loop();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

/// Locks a mutex that is never held while items are processed, and so is never poisoned.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Workers;
    use std::sync::Barrier;

    #[test]
    fn items_are_processed_concurrently() {
        // Terminates only if two threads arrive.
        let both = Barrier::new(2);
        Workers::new(2, |_| 1 << 20).map(vec![(), ()], |()| both.wait());
    }
}

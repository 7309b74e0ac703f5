//! Threads that compile functions and modules side by side.
//!
//! What is done is a list of things that do not depend on each other; results come
//! back in the order of the list, whoever made them. *Absent:* what is done.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

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
    started: OnceLock<Option<ThreadPool>>,
}

impl Workers {
    /// So many threads with the caller, and how many bytes of stack each of so many
    /// gets: walks are as deep as programs are nested.
    pub fn new(threads: usize, stack: fn(usize) -> usize) -> Self {
        let pool = Pool { threads: threads.saturating_sub(1), stack, started: OnceLock::new() };
        Self((pool.threads > 0).then(|| Arc::new(pool)))
    }

    /// Whether things are done side by side at all.
    pub fn are_several(&self) -> bool {
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
        own.started.get_or_init(start).as_ref()
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
    use super::Workers;
    use std::sync::Barrier;

    #[test]
    fn things_are_done_at_the_same_time() {
        // Ends only if two threads come here.
        let both = Barrier::new(2);
        Workers::new(2, |_| 1 << 20).map(vec![(), ()], |()| both.wait());
    }
}

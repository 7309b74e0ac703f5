//! A work-stealing deque of fixed capacity (Chase and Lev, with the memory orderings of Lê, Pop,
//! Cohen and Zappa Nardelli, PPoPP 2013).
//!
//! Its owner pushes and pops at the bottom, thieves steal from the top. Because ranges are split
//! into halves, mostly while the deque is empty, few entries suffice; a full deque refuses, and its
//! owner then runs the work itself.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};

const CAPACITY: usize = 256;

/// Half-open range of chunks of the operation whose join record is at `join`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Address of the join record.
    pub join: u64,
    /// First chunk.
    pub lo: i64,
    /// One past the last chunk.
    pub hi: i64,
}

/// The result of an attempt to steal.
#[derive(Debug, PartialEq, Eq)]
pub enum Steal {
    /// The deque is empty.
    Empty,
    /// Another thread took the job; a retry may succeed.
    Retry,
    /// The oldest job.
    Job(Job),
}

#[repr(align(128))]
struct Padded<T>(T);

/// A work-stealing deque.
pub struct Deque {
    top: Padded<AtomicI64>,
    bottom: Padded<AtomicI64>,
    slots: Box<[[AtomicU64; 3]]>,
}

impl Default for Deque {
    fn default() -> Self {
        Self {
            top: Padded(AtomicI64::new(0)),
            bottom: Padded(AtomicI64::new(0)),
            slots: (0..CAPACITY).map(|_| [const { AtomicU64::new(0) }; 3]).collect(),
        }
    }
}

impl Deque {
    fn slot(&self, index: i64) -> &[AtomicU64; 3] {
        &self.slots[index as usize % CAPACITY]
    }

    fn read(&self, index: i64) -> Job {
        let [join, lo, hi] = self.slot(index);
        Job {
            join: join.load(Ordering::Relaxed),
            lo: lo.load(Ordering::Relaxed) as i64,
            hi: hi.load(Ordering::Relaxed) as i64,
        }
    }

    /// Owner only: adds a job at the bottom; returns false if the deque is full.
    pub fn push(&self, job: Job) -> bool {
        let bottom = self.bottom.0.load(Ordering::Relaxed);
        let top = self.top.0.load(Ordering::Acquire);
        if bottom - top >= CAPACITY as i64 {
            return false;
        }
        let [join, lo, hi] = self.slot(bottom);
        join.store(job.join, Ordering::Relaxed);
        lo.store(job.lo as u64, Ordering::Relaxed);
        hi.store(job.hi as u64, Ordering::Relaxed);
        self.bottom.0.store(bottom + 1, Ordering::Release);
        true
    }

    /// Owner only: takes the youngest job.
    pub fn pop(&self) -> Option<Job> {
        let bottom = self.bottom.0.load(Ordering::Relaxed) - 1;
        if self.top.0.load(Ordering::Relaxed) > bottom {
            return None;
        }
        self.bottom.0.store(bottom, Ordering::Release);
        fence(Ordering::SeqCst);
        let top = self.top.0.load(Ordering::Relaxed);
        if top < bottom {
            return Some(self.read(bottom));
        }
        // At most one job is left, for which thieves may compete.
        let job = self.read(bottom);
        let won = top == bottom
            && self.top.0.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        self.bottom.0.store(bottom + 1, Ordering::Release);
        won.then_some(job)
    }

    /// Any thread: takes the oldest job.
    pub fn steal(&self) -> Steal {
        let top = self.top.0.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        let bottom = self.bottom.0.load(Ordering::Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        // The words may be torn by a later push into the same slot, but then `top` has advanced and
        // the exchange fails.
        let job = self.read(top);
        let won = self.top.0.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        if won { Steal::Job(job) } else { Steal::Retry }
    }

    /// Returns true if the deque looks empty: exact for its owner while no thief is active.
    pub fn is_empty(&self) -> bool {
        let top = self.top.0.load(Ordering::Acquire);
        let bottom = self.bottom.0.load(Ordering::Acquire);
        top >= bottom
    }
}

#[cfg(test)]
mod tests {
    use super::{Deque, Job, Steal};
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    #[test]
    fn owner_is_last_in_first_out_and_thief_first_in_first_out() {
        let deque = Deque::default();
        let job = |lo| Job { join: 7, lo, hi: 9 };
        for i in 0..4 {
            assert!(deque.push(job(i)));
        }
        assert_eq!(deque.pop(), Some(job(3)));
        assert_eq!(deque.steal(), Steal::Job(job(0)));
        assert_eq!(deque.pop(), Some(job(2)));
        assert_eq!(deque.pop(), Some(job(1)));
        assert_eq!(deque.pop(), None);
        assert_eq!(deque.steal(), Steal::Empty);
        for i in 0..256 {
            assert!(deque.push(job(i)));
        }
        assert!(!deque.push(job(0)));
    }

    #[test]
    fn every_job_is_taken_once() {
        const JOBS: usize = 200_000;
        let deque = Deque::default();
        let taken: Vec<AtomicU32> = (0..JOBS).map(|_| AtomicU32::new(0)).collect();
        let over = AtomicBool::new(false);
        let take = |job: Job| {
            assert_eq!(job.hi, job.lo + 1);
            assert_eq!(job.join, job.lo as u64 ^ 0xabcd);
            taken[job.lo as usize].fetch_add(1, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    loop {
                        match deque.steal() {
                            Steal::Job(job) => take(job),
                            Steal::Retry => {}
                            Steal::Empty if over.load(Ordering::Acquire) => break,
                            Steal::Empty => std::thread::yield_now(),
                        }
                    }
                });
            }
            for i in 0..JOBS as i64 {
                let job = Job { join: i as u64 ^ 0xabcd, lo: i, hi: i + 1 };
                while !deque.push(job) {
                    deque.pop().into_iter().for_each(take);
                }
                if i % 3 == 0 {
                    deque.pop().into_iter().for_each(take);
                }
            }
            while let Some(job) = deque.pop() {
                take(job);
            }
            over.store(true, Ordering::Release);
        });
        assert!(taken.iter().all(|n| n.load(Ordering::Relaxed) == 1));
    }
}

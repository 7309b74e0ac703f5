//! Sleep and wake-up of idle threads, without lost wake-ups.
//!
//! A sleeper announces itself, then searches for work once more, then blocks. A waker makes work
//! visible first and checks for sleepers afterwards. With a sequentially consistent fence between
//! the two steps on both sides, at least one sees the other.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

#[derive(Default)]
struct SleepState {
    state: AtomicU32,
    lock: Mutex<()>,
    condvar: Condvar,
}

impl SleepState {
    /// Wakes the thread if it sleeps; returns true if this call did.
    fn wake(&self) -> bool {
        let woke =
            self.state.load(Ordering::SeqCst) == ASLEEP && self.state.swap(AWAKE, Ordering::SeqCst) == ASLEEP;
        if woke {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.condvar.notify_one();
        }
        woke
    }
}

/// The sleep states of all threads of a context.
pub struct Sleepers {
    sleepers: AtomicUsize,
    beds: Box<[SleepState]>,
}

impl Sleepers {
    /// Creates the states of `n` threads, all awake.
    pub fn new(n: usize) -> Self {
        Self { sleepers: AtomicUsize::new(0), beds: (0..n).map(|_| SleepState::default()).collect() }
    }

    /// Blocks thread `me` until it is woken, unless `has_reason_to_stay_awake` returns true; that
    /// is called after the thread has announced itself.
    pub fn sleep(&self, me: usize, has_reason_to_stay_awake: impl Fn() -> bool) {
        let Some(bed) = self.beds.get(me) else { return };
        bed.state.store(ASLEEP, Ordering::SeqCst);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if has_reason_to_stay_awake() {
            bed.state.store(AWAKE, Ordering::SeqCst);
        } else {
            let mut guard = bed.lock.lock().unwrap_or_else(PoisonError::into_inner);
            while bed.state.load(Ordering::SeqCst) == ASLEEP {
                guard = bed.condvar.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes one sleeper, if there is one, after work became visible.
    pub fn wake_one(&self, me: usize) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return;
        }
        let n = self.beds.len();
        for i in 1..n {
            if self.beds[(me + i) % n].wake() {
                return;
            }
        }
    }

    /// Wakes thread `who` if it sleeps.
    pub fn wake(&self, who: usize) {
        fence(Ordering::SeqCst);
        if let Some(bed) = self.beds.get(who) {
            bed.wake();
        }
    }

    /// Wakes all sleepers.
    pub fn wake_all(&self) {
        fence(Ordering::SeqCst);
        for bed in &self.beds {
            bed.wake();
        }
    }
}

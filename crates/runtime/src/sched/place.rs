//! Where worker threads begin: each on a processor of its own.
//!
//! A new thread may begin on the processor of the one that started it. Workers that look
//! for work give way rather than sleep, so such a pair may stay together for as long as the
//! process lives, while another processor has nothing to do (`bench/run.py nests --case
//! "reduce of rows"`: some processes gained nothing by a second thread). So a worker moves
//! once, to a processor counted on from its starter's among those that the process may use;
//! from then on the system moves it as it likes.

use std::mem::{MaybeUninit, size_of};

/// The processor that this thread runs on, if that is known.
pub(super) fn current() -> Option<usize> {
    // SAFETY: a plain query.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves this thread to the processor that is so many after `home`.
pub(super) fn begin(home: usize, index: usize) {
    let Some(all) = allowed() else {
        return;
    };
    // SAFETY: the numbers lie within the set.
    let is_allowed = |&cpu: &usize| unsafe { libc::CPU_ISSET(cpu, &all) };
    let numbers: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(is_allowed).collect();
    let own = numbers.iter().position(|&cpu| cpu == home);
    let own = own.and_then(|at| numbers.get((at + index) % numbers.len()));
    let Some(&own) = own else {
        return;
    };
    // SAFETY: all zeros is the empty set, and the number lies within it.
    let one = unsafe {
        let mut one = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        libc::CPU_SET(own, &mut one);
        one
    };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: both sets have that size. Where the first call moved the thread, the second
    // leaves it there, free to go; where it failed, nothing has changed.
    unsafe {
        if libc::sched_setaffinity(0, size, &raw const one) == 0 {
            libc::sched_setaffinity(0, size, &raw const all);
        }
    }
}

/// The processors that this thread may use; `None` on machines with more than a set holds.
fn allowed() -> Option<libc::cpu_set_t> {
    let mut all = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the set has that size, and is initialised, if only by zeros.
    unsafe {
        let known = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), all.as_mut_ptr());
        (known == 0).then(|| all.assume_init())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the processors in this thread's set.
    fn numbers() -> Vec<usize> {
        let all = allowed().unwrap();
        // SAFETY: as above.
        let is_in = |&cpu: &usize| unsafe { libc::CPU_ISSET(cpu, &all) };
        (0..libc::CPU_SETSIZE as usize).filter(is_in).collect()
    }

    #[test]
    fn a_thread_moves_and_stays_free() {
        let before = numbers();
        let home = before[0];
        for index in 0..=before.len() {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    begin(home, index);
                    assert_eq!(numbers(), before);
                });
            });
        }
    }

    #[test]
    fn a_home_outside_of_the_set_changes_nothing() {
        let before = numbers();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                begin(usize::MAX, 1);
                assert_eq!(numbers(), before);
            });
        });
    }
}

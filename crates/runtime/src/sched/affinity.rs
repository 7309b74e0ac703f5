//! Initial CPU affinity of worker threads: each starts on a processor of its own.
//!
//! A new thread may start on the processor of its creator. Workers that search for work yield
//! rather than sleep, so such a pair may share a processor for as long as the process lives, while
//! another processor is idle (`bench/run.py nests --case "reduce of rows"`: some processes gained
//! nothing by a second thread). So a worker moves once, to a processor counted from its creator's
//! among the processors that the process may use; afterwards the system schedules it freely.

use std::mem::{MaybeUninit, size_of};

/// The processor on which this thread runs, if the system reports it.
pub(super) fn current_cpu() -> Option<usize> {
    // SAFETY: a plain query.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves this thread to the processor `index` positions after `home`.
pub(super) fn spread_to(home: usize, index: usize) {
    let Some(all) = allowed() else {
        return;
    };
    // SAFETY: the numbers lie within the set.
    let is_allowed = |&cpu: &usize| unsafe { libc::CPU_ISSET(cpu, &all) };
    let numbers: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(is_allowed).collect();
    let home_index = numbers.iter().position(|&cpu| cpu == home);
    let target = home_index.and_then(|at| numbers.get((at + index) % numbers.len()));
    let Some(&target) = target else {
        return;
    };
    // SAFETY: all zeros is the empty set, and the number lies within it.
    let one = unsafe {
        let mut one = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        libc::CPU_SET(target, &mut one);
        one
    };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: both sets have that size. If the first call moved the thread, the second leaves it
    // there and lifts the restriction; if it failed, nothing has changed.
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
    fn moving_a_thread_keeps_its_affinity_mask() {
        let before = numbers();
        let home = before[0];
        for index in 0..=before.len() {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    spread_to(home, index);
                    assert_eq!(numbers(), before);
                });
            });
        }
    }

    #[test]
    fn unknown_home_leaves_the_thread_in_place() {
        let before = numbers();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                spread_to(usize::MAX, 1);
                assert_eq!(numbers(), before);
            });
        });
    }
}

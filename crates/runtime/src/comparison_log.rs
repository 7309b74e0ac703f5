//! The log of comparisons of sizes with tuning parameters, if a context requests it; for parameters
//! of class "size", only the first use.

use crate::abi::{CLASS_CHUNK_SIZE, Ctx, TunableDesc};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The maximum number of comparisons between two calls of `take`.
const MAX_ENTRIES: usize = 1 << 20;

/// The comparisons since the last `take`, in the order in which they were made; those of parallel
/// tasks in any order.
pub(crate) struct Comparisons {
    /// For each parameter, true if only its first use is logged.
    log_once: Box<[bool]>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Parameter and size.
    entries: Vec<(usize, i64)>,
    /// The parameters of class "size" whose first use is logged.
    logged_once: BTreeSet<usize>,
    /// The number of comparisons dropped because the log was full.
    dropped: u64,
}

impl Comparisons {
    /// An empty log for a program with these parameters.
    pub(crate) fn of(tunables: &[TunableDesc]) -> Self {
        let log_once = tunables.iter().map(|it| it.class.get() == CLASS_CHUNK_SIZE);
        Self { log_once: log_once.collect(), seen: Mutex::default() }
    }

    fn add(&self, tunable: usize, size: i64) {
        let log_once = self.log_once.get(tunable).is_some_and(|first| *first);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if log_once && !seen.logged_once.insert(tunable) {
            return;
        }
        if seen.entries.len() < MAX_ENTRIES {
            seen.entries.push((tunable, size));
        } else {
            seen.dropped += 1;
        }
    }

    /// Takes the logged comparisons, as parameter number and size, and the number of dropped ones.
    pub(crate) fn take(&self) -> (Vec<(usize, i64)>, u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { entries, dropped, .. } = std::mem::take(&mut *seen);
        (entries, dropped)
    }
}

/// Logs a comparison; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_compared(ctx: *mut Ctx, tunable: i64, size: i64) {
    // SAFETY: by the caller's promise.
    let shared = unsafe { (*ctx).shared() };
    shared.comparisons.add(tunable as usize, size);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log_once: &[bool]) -> Comparisons {
        Comparisons { log_once: log_once.into(), seen: Mutex::default() }
    }

    #[test]
    fn entries_beyond_the_limit_are_counted() {
        let seen = of(&[false, false]);
        (0..MAX_ENTRIES as i64 + 3).for_each(|size| seen.add(1, size));
        let (entries, dropped) = seen.take();
        assert_eq!((entries.len(), entries[5], dropped), (MAX_ENTRIES, (1, 5), 3));
        assert_eq!(seen.take(), (Vec::new(), 0));
    }

    #[test]
    fn chunk_sizes_are_logged_once() {
        let seen = of(&[true, false]);
        for size in [3, 4] {
            seen.add(0, size);
            seen.add(1, size);
        }
        assert_eq!(seen.take().0, [(0, 3), (1, 3), (1, 4)]);
        seen.add(0, 5);
        assert_eq!(seen.take().0, [(0, 5)]);
    }
}

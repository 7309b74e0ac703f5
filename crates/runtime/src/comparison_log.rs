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
    kept: Vec<(usize, i64)>,
    /// The parameters of class "size" whose first use is logged.
    noted: BTreeSet<usize>,
    /// The number of comparisons dropped because the log was full.
    more: u64,
}

impl Comparisons {
    /// An empty log for a program with these parameters.
    pub(crate) fn of(tunables: &[TunableDesc]) -> Self {
        let first_alone = tunables.iter().map(|it| it.class.get() == CLASS_CHUNK_SIZE);
        Self { log_once: first_alone.collect(), seen: Mutex::default() }
    }

    fn add(&self, tunable: usize, size: i64) {
        let first_alone = self.log_once.get(tunable).is_some_and(|first| *first);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if first_alone && !seen.noted.insert(tunable) {
            return;
        }
        if seen.kept.len() < MAX_ENTRIES {
            seen.kept.push((tunable, size));
        } else {
            seen.more += 1;
        }
    }

    /// Takes the logged comparisons, as parameter number and size, and the number of dropped ones.
    pub(crate) fn take(&self) -> (Vec<(usize, i64)>, u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { kept, more, .. } = std::mem::take(&mut *seen);
        (kept, more)
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

    fn of(first_alone: &[bool]) -> Comparisons {
        Comparisons { log_once: first_alone.into(), seen: Mutex::default() }
    }

    #[test]
    fn no_more_are_kept_than_fit() {
        let seen = of(&[false, false]);
        (0..MAX_ENTRIES as i64 + 3).for_each(|size| seen.add(1, size));
        let (kept, more) = seen.take();
        assert_eq!((kept.len(), kept[5], more), (MAX_ENTRIES, (1, 5), 3));
        assert_eq!(seen.take(), (Vec::new(), 0));
    }

    #[test]
    fn some_are_noted_once() {
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

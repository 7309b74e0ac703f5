//! Times and work of parallel nests, for `-P`: a row for each nest of a program that is built for
//! profiles, and one for all calls of entry points.
//!
//! The thread that calls the program measures a nest from start to end; nests in tasks are part of the
//! nest around them.

use crate::abi::{CheckDesc, Ctx, NEST_COUNTS, text};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The profile of a context.
pub(crate) struct Nests {
    /// True if nests are measured.
    pub(crate) enabled: bool,
    totals: Mutex<Totals>,
}

/// The totals since the last restart.
#[derive(Default)]
struct Totals {
    /// By the address of the nest's description.
    rows: BTreeMap<usize, Row>,
    calls: Row,
}

#[derive(Clone, Copy, Default)]
struct Row {
    times: u64,
    nanos: u64,
    counts: [u64; NEST_COUNTS],
}

impl Row {
    fn add(&mut self, other: &Self) {
        self.times += other.times;
        self.nanos += other.nanos;
        let dependence = self.counts[DEPENDENCE] | other.counts[DEPENDENCE];
        for (own, other) in self.counts.iter_mut().zip(other.counts) {
            *own = own.saturating_add(other);
        }
        self.counts[DEPENDENCE] = dependence;
    }

    /// The line of a table with this name.
    fn line(&self, name: &str, all: &Self) -> String {
        let [single, double, integer, read, written, dependence] = self.counts;
        let sign = ["", ">=", "<=", "~"][(dependence % 4) as usize];
        format!(
            "{:>9} {:>14.1} {:>6.1}% {:>16} {:>16} {:>16} {read:>16} {written:>16}  {name}",
            self.times,
            self.nanos as f64 / 1e3,
            100.0 * self.nanos as f64 / all.nanos.max(1) as f64,
            format!("{sign}{single}"),
            format!("{sign}{double}"),
            format!("{sign}{integer}"),
        )
    }
}

/// The index of the last count, the dependence on data.
const DEPENDENCE: usize = NEST_COUNTS - 1;

/// The nests that a thread is in.
#[derive(Default)]
pub(crate) struct OpenNests {
    depth: u32,
    begin: Option<Instant>,
}

impl Nests {
    /// An empty profile.
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, totals: Mutex::default() }
    }

    fn totals(&self) -> std::sync::MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time at which a call begins, if calls are measured.
    pub(crate) fn begin_call(&self) -> Option<Instant> {
        self.enabled.then(Instant::now)
    }

    /// Adds a call that began at this time.
    pub(crate) fn end_call(&self, begin: Option<Instant>) {
        if let Some(begin) = begin {
            let nanos = begin.elapsed().as_nanos() as u64;
            self.totals().calls.add(&Row { times: 1, nanos, ..Row::default() });
        }
    }

    /// Resets the totals after a warm-up run.
    pub(crate) fn restart(&self) {
        *self.totals() = Totals::default();
    }

    /// The table, sorted by time, longest first; empty if no nest was measured.
    pub(crate) fn table(&self) -> Vec<String> {
        let totals = self.totals();
        if totals.rows.is_empty() {
            return Vec::new();
        }
        // Parts of a program that are compiled separately have descriptions of their own.
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        for (nest, row) in &totals.rows {
            // SAFETY: the description lives as long as the program, which the context owns.
            let name = unsafe { name(&*(*nest as *const CheckDesc)) };
            rows.entry(name).or_default().add(row);
        }
        let mut rows: Vec<(String, Row)> = rows.into_iter().collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.nanos));
        rows.push(("all calls".to_owned(), totals.calls));
        let head = format!(
            "{:>9} {:>14} {:>7} {:>16} {:>16} {:>16} {:>16} {:>16}  parallel nest",
            "times",
            "us",
            "share",
            "f32 operations",
            "f64 operations",
            "i32 operations",
            "bytes read",
            "bytes written"
        );
        let lines = rows.iter().map(|(name, row)| row.line(name, &totals.calls));
        std::iter::once(head).chain(lines).collect()
    }
}

/// The name of a nest with its positions in the source.
///
/// # Safety
/// The description's texts must be valid.
unsafe fn name(nest: &CheckDesc) -> String {
    // SAFETY: by the caller's promise.
    let (name, spans) =
        unsafe { (text(nest.format, nest.format_len), text(nest.location, nest.location_len)) };
    crate::device::profile::located(&name, &spans)
}

/// Begins a nest; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_begin_nest(ctx: *mut Ctx) {
    // SAFETY: by the caller's promise.
    let ctx = unsafe { &mut *ctx };
    let measured = ctx.index() == 0 && ctx.shared().nests.enabled;
    ctx.nests.depth += 1;
    if ctx.nests.depth == 1 && measured {
        ctx.nests.begin = Some(Instant::now());
    }
}

/// Ends a nest; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context, `nest` a valid description that lives as
/// long as the program, and `counts` must point to [`NEST_COUNTS`] words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_end_nest(ctx: *mut Ctx, nest: *const CheckDesc, counts: *const u64) {
    // SAFETY: by the caller's promise.
    let ctx = unsafe { &mut *ctx };
    ctx.nests.depth = ctx.nests.depth.saturating_sub(1);
    if ctx.nests.depth > 0 {
        return;
    }
    if let Some(begin) = ctx.nests.begin.take() {
        let nanos = begin.elapsed().as_nanos() as u64;
        // SAFETY: by the caller's promise.
        let counts = unsafe { *counts.cast::<[u64; NEST_COUNTS]>() };
        let row = Row { times: 1, nanos, counts };
        ctx.shared().nests.totals().rows.entry(nest as usize).or_default().add(&row);
    }
}

#[cfg(test)]
mod tests {
    use super::{Nests, Row};
    use crate::abi::CheckDesc;

    fn desc(name: &'static str, at: &'static str) -> CheckDesc {
        CheckDesc {
            format: name.as_ptr(),
            format_len: name.len() as u64,
            location: at.as_ptr(),
            location_len: at.len() as u64,
        }
    }

    #[test]
    fn rows_of_one_nest_are_added_and_sorted_by_time() {
        let nests = Nests::new(true);
        assert_eq!(nests.table(), Vec::<String>::new());
        let all = [
            desc("main.segred#0", "a.fut:1:1-2"),
            desc("main.segmap#1", "a.fut:2:1-2"),
            desc("main.segred#0", "a.fut:1:1-2"),
        ];
        for (desc, nanos) in all.iter().zip([1000, 2500, 3000]) {
            let dependence = u64::from(nanos == 2500);
            let row = Row { times: 1, nanos, counts: [10, 0, 1, nanos, 8, dependence] };
            nests.totals().rows.insert(std::ptr::from_ref(desc) as usize, row);
        }
        nests.totals().calls = Row { times: 2, nanos: 8000, ..Row::default() };
        let expected = [
            "    times             us   share   f32 operations   f64 operations   i32 operations       bytes read    bytes written  parallel nest",
            "        2            4.0   50.0%               20                0                2             4000               16  main.segred#0 (a.fut:1:1-2)",
            "        1            2.5   31.2%             >=10              >=0              >=1             2500                8  main.segmap#1 (a.fut:2:1-2)",
            "        2            8.0  100.0%                0                0                0                0                0  all calls",
        ];
        assert_eq!(nests.table(), expected);
        nests.restart();
        assert_eq!(nests.table(), Vec::<String>::new());
    }
}

//! Control of a call in progress by other threads: cancellation, and reports on progress.
//!
//! A request to cancel holds until the call in progress ends, or else the next one. The scheduler
//! notices it between chunks of iterations, devices between kernels, and compiled code at the ends
//! of iterations of long sequential loops ([`abi`](crate::abi)); an iteration of a loop without
//! loops inside, a chunk and a kernel run to their ends. The call fails, what it has allocated is
//! freed, and the context can be used again.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The message of a cancelled call.
pub(crate) const CANCELLED: &str = "cancelled";

/// Cancels the calls of a context.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicU32>);

impl Cancellation {
    /// Requests that the call in progress end with a failure, or else the next one.
    pub fn request(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// Returns true if a call is to be cancelled.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Withdraws the request.
    pub(crate) fn withdraw(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// The address of the flag that compiled code reads.
    pub(crate) fn flag(&self) -> *const AtomicU32 {
        Arc::as_ptr(&self.0)
    }
}

/// A report on the progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Chunks of iterations of the outermost parallel operation in progress.
    Chunks {
        /// The number of chunks that have ended.
        done: i64,
        /// The number of all its chunks.
        total: i64,
    },
    /// The number of kernels launched since the context was created.
    Launches(u64),
}

/// A receiver of reports on progress.
#[derive(Clone)]
pub struct ProgressHook(Arc<dyn Fn(Progress) + Send + Sync>);

impl ProgressHook {
    /// The receiver that calls a function, on any thread.
    pub fn new(hook: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    /// Reports.
    pub(crate) fn report(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for ProgressHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressHook")
    }
}

//! Deep programs: stacks for walks over trees of hundreds of thousands of levels.
//!
//! The walks of the compiler grow the stack where they have to; what the language
//! derives (copying, comparing and dropping a tree) cannot. So compilation runs on
//! stacks that are large from the start. They are address space: memory is taken as
//! it is used. Where the system refuses that much, they are smaller, and the parser,
//! which knows how much there is, refuses programs that nest too deeply for it.

const GIB: usize = 1 << 30;

/// Sizes to try, in bytes.
const SIZES: [usize; 6] = [8 * GIB, 4 * GIB, 2 * GIB, GIB, GIB / 4, GIB / 16];

/// A stack that the system gives to each of so many threads, in bytes.
fn size(threads: usize) -> Option<usize> {
    // As much again has to be left for all else.
    SIZES.into_iter().find(|size| runtime::can_reserve(size.saturating_mul(2 * threads)))
}

/// Runs `work` on a large stack.
pub fn on_large_stack<R>(work: impl FnOnce() -> R) -> R {
    match size(1) {
        Some(size) => stacker::grow(size, work),
        None => work(),
    }
}

/// The stack of each of so many threads that compile side by side, in bytes.
pub(crate) fn of_workers(threads: usize) -> usize {
    size(threads).unwrap_or(SIZES[SIZES.len() - 1])
}

//! Stacks for deep programs: walks over trees of hundreds of thousands of levels.
//!
//! The compiler's own walks grow the stack where necessary; derived implementations (copying,
//! comparing and dropping a tree) cannot. So compilation runs on stacks that are large from the
//! start. They only reserve address space: memory is committed as it is used. If the system refuses
//! that much, they are smaller, and the parser, which knows the size available, rejects programs
//! that nest too deeply for it.

const GIB: usize = 1 << 30;

/// Sizes to try, in bytes.
const SIZES: [usize; 6] = [8 * GIB, 4 * GIB, 2 * GIB, GIB, GIB / 4, GIB / 16];

/// The largest stack size in bytes that the system grants to each of `threads` threads.
fn stack_size(threads: usize) -> Option<usize> {
    // As much again must be left for everything else.
    SIZES.into_iter().find(|size| runtime::can_reserve(size.saturating_mul(2 * threads)))
}

/// Runs `work` on a large stack.
pub fn on_large_stack<R>(work: impl FnOnce() -> R) -> R {
    match stack_size(1) {
        Some(size) => stacker::grow(size, work),
        None => work(),
    }
}

/// The stack size in bytes of each of `threads` compilation threads.
pub(crate) fn worker_stack(threads: usize) -> usize {
    stack_size(threads).unwrap_or(SIZES[SIZES.len() - 1])
}

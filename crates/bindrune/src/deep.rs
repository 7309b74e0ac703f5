//! Deep programs: a stack for walks over trees of hundreds of thousands of levels.
//!
//! The walks of the compiler grow the stack where they have to; what the language
//! derives (copying, comparing and dropping a tree) cannot. So subcommands run on
//! a stack that is large from the start. It is address space: memory is taken as
//! it is used. Where the system refuses that much, it is smaller, and the parser,
//! which knows how much there is, refuses programs that nest too deeply for it.

const GIB: usize = 1 << 30;

/// Sizes to try, in bytes.
const SIZES: [usize; 6] = [8 * GIB, 4 * GIB, 2 * GIB, GIB, GIB / 4, GIB / 16];

/// Runs `work` on a large stack.
pub fn on_large_stack<R>(work: impl FnOnce() -> R) -> R {
    // As much again has to be left for all else.
    match SIZES
        .into_iter()
        .find(|size| runtime::can_reserve(2 * size))
    {
        Some(size) => stacker::grow(size, work),
        None => work(),
    }
}

//! What the compiler asks of the system beside its runtime: whether there is so
//! much address space, and an end at once.

/// Whether the system lets this process map `bytes` of memory that may be written,
/// of which nothing is used yet.
pub fn can_reserve(bytes: usize) -> bool {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a new mapping at a place of the system's choice, which nobody uses
    // and which goes at once.
    unsafe {
        let place = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        place != libc::MAP_FAILED && libc::munmap(place, bytes) == 0
    }
}

/// Ends the process with an exit code, and runs nothing before: other threads may
/// be anywhere.
pub fn exit_at_once(code: i32) -> ! {
    // SAFETY: it does not return, and needs nothing.
    unsafe { libc::_exit(code) }
}

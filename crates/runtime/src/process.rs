//! System calls for the compiler itself: a test of available address space, and an immediate exit.

/// Returns true if the system lets this process map `bytes` of writable memory, without using any
/// of it.
pub fn can_reserve(bytes: usize) -> bool {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a new mapping at an address chosen by the system, which is not used and is unmapped
    // at once.
    unsafe {
        let address = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        address != libc::MAP_FAILED && libc::munmap(address, bytes) == 0
    }
}

/// Exits the process at once, without running destructors or exit handlers: other threads may still
/// be running.
pub fn exit_at_once(code: i32) -> ! {
    // SAFETY: it does not return and has no preconditions.
    unsafe { libc::_exit(code) }
}

//! Whether the system would give so much address space.

/// Whether the system lets this process map `bytes` of memory that may be written,
/// of which nothing is used yet.
pub fn can_reserve(bytes: usize) -> bool {
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANON,
    );
    // SAFETY: a new mapping at a place of the system's choice, which nobody uses
    // and which goes at once.
    unsafe {
        let place = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        place != libc::MAP_FAILED && libc::munmap(place, bytes) == 0
    }
}

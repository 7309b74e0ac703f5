//! Arrays between two protected pages, so that an access outside of their block ends the test.

use prim::{PrimType, Scalar};
use std::ffi::{c_int, c_void};

const PAGE: usize = 4096;

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        bytes: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn mprotect(at: *mut c_void, bytes: usize, protection: c_int) -> c_int;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
}

/// The page next to which an array lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    First,
    Last,
}

/// An array next to a protected page.
pub struct Guarded {
    map: *mut c_void,
    bytes: usize,
    array: *mut u8,
    len: usize,
    elem: PrimType,
}

impl Guarded {
    /// An array of these elements.
    pub fn new(elem: PrimType, elems: &[Scalar], edge: Edge) -> Self {
        let size = elem.size() as usize;
        let inside = (elems.len() * size).next_multiple_of(PAGE).max(PAGE);
        let bytes = inside + 2 * PAGE;
        // SAFETY: a fresh private anonymous mapping (readable and writable); its first and last
        // page are protected before it is used.
        let (map, inner) = unsafe {
            let map = mmap(std::ptr::null_mut(), bytes, 3, 0x22, -1, 0);
            assert_ne!(map as isize, -1, "no memory");
            assert_eq!(mprotect(map, PAGE, 0), 0);
            assert_eq!(mprotect(map.byte_add(bytes - PAGE), PAGE, 0), 0);
            (map, map.byte_add(PAGE).cast::<u8>())
        };
        let shift = match edge {
            Edge::First => 0,
            Edge::Last => inside - elems.len() * size,
        };
        let guarded = Self {
            map,
            bytes,
            // SAFETY: inside the mapping.
            array: unsafe { inner.add(shift) },
            len: elems.len(),
            elem,
        };
        for (i, x) in elems.iter().enumerate() {
            let bits = x.bits().to_le_bytes();
            // SAFETY: inside the array.
            unsafe { std::ptr::copy(bits.as_ptr(), guarded.array.add(i * size), size) };
        }
        guarded
    }

    /// The address as a word.
    pub fn word(&self) -> u64 {
        self.array as u64
    }

    /// The elements as bits.
    pub fn bits(&self) -> Vec<u64> {
        let size = self.elem.size() as usize;
        let element = |i: usize| {
            let mut bits = [0; 8];
            // SAFETY: inside the array.
            unsafe { std::ptr::copy(self.array.add(i * size), bits.as_mut_ptr(), size) };
            u64::from_le_bytes(bits)
        };
        (0..self.len).map(element).collect()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value.
        unsafe { munmap(self.map, self.bytes) };
    }
}

//! Arguments and results of programs with a device, whose arrays are device blocks.
//!
//! Before a call, elements are copied to device blocks. After it, results that are shown are copied
//! to host blocks by [`Context::copy_results_to_host`]. The words must match their descriptions; they
//! own every block created here.

use super::{Words, array_of};
use crate::abi::{KIND_ARRAY, ParamDesc};
use crate::context::Context;
use crate::device::{br_device_alloc, br_device_copy};
use crate::error::Error;
use crate::heap;

/// The `direction` argument of [`br_device_copy`].
const TO_DEVICE: i64 = 0;
const TO_HOST: i64 = 1;
const ON_DEVICE: i64 = 2;

impl Context {
    /// Returns true if arrays of arguments and results are device blocks.
    pub(super) fn has_device(&self) -> bool {
        self.shared().device.is_some()
    }

    /// Creates a device block with these bytes.
    pub(super) fn upload(&mut self, bytes: &[u8]) -> Result<*mut u8, Error> {
        let block = self.alloc_device(bytes.len())?;
        self.copy(TO_DEVICE, (block, bytes.as_ptr().cast_mut()), bytes.len())
    }

    /// Creates a device block with a copy of the first bytes of another one.
    pub(super) fn copy_remote(&mut self, from: *mut u8, bytes: usize) -> Result<*mut u8, Error> {
        let block = self.alloc_device(bytes)?;
        self.copy(ON_DEVICE, (block, from), bytes)
    }

    /// Copies the arrays of results to host blocks and releases their device blocks.
    ///
    /// # Errors
    /// Out of memory, or the device has failed; all blocks are released.
    pub(crate) fn copy_results_to_host(
        &mut self,
        params: &[ParamDesc],
        mut words: Words,
    ) -> Result<Words, Error> {
        if !self.has_device() {
            return Ok(words);
        }
        let mut start = 0;
        for param in params {
            let end = start + param.words as usize;
            if param.kind == KIND_ARRAY {
                let array = array_of(param, &words.0[start..end]);
                match array.and_then(|(block, bytes)| self.fetch(block, bytes)) {
                    Ok(block) => words.0[start] = block as usize as u64,
                    Err(failure) => {
                        self.free(params, &words);
                        return Err(failure);
                    }
                }
            }
            start = end;
        }
        Ok(words)
    }

    /// Creates a host block with the first bytes of a device block, which is released.
    fn fetch(&mut self, block: *mut u8, bytes: usize) -> Result<*mut u8, Error> {
        let ctx = self.activate();
        // SAFETY: this thread's view of a live context.
        let to = unsafe { heap::br_alloc(ctx, bytes as i64, std::ptr::null()) };
        let to = self.check_allocated(to)?;
        let to = self.copy(TO_HOST, (to, block), bytes)?;
        // SAFETY: there are no other references to the block.
        unsafe { heap::br_unref(ctx, block) };
        Ok(to)
    }

    /// Allocates a device block of `bytes` bytes.
    fn alloc_device(&mut self, bytes: usize) -> Result<*mut u8, Error> {
        let ctx = self.activate();
        // SAFETY: this thread's view of a live context.
        let block = unsafe { br_device_alloc(ctx, bytes as i64, std::ptr::null()) };
        self.check_allocated(block)
    }

    /// Copies bytes to the beginning of a new block, which is released if that fails.
    fn copy(
        &mut self,
        direction: i64,
        (to, from): (*mut u8, *mut u8),
        bytes: usize,
    ) -> Result<*mut u8, Error> {
        let ctx = self.activate();
        // SAFETY: both have at least `bytes` bytes, and are blocks or host memory as `direction`
        // requires.
        let status = unsafe { br_device_copy(ctx, direction, to, 0, from, 0, bytes as i64) };
        self.check_status(status).map(|()| to).inspect_err(|_| {
            // SAFETY: there are no other references to the block.
            unsafe { heap::br_unref(ctx, to) };
        })
    }
}

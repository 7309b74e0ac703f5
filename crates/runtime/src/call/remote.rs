//! Arguments and results of programs with a device: their arrays lie there.
//!
//! Before a call: elements are copied to blocks of the device. After it: what is to be shown
//! is copied to blocks of the host's, [`Context::fetched`]. Needs words that fit their
//! descriptions; every block that is made here is the words'.

use super::{Words, array_of};
use crate::abi::{KIND_ARRAY, ParamDesc};
use crate::context::Context;
use crate::device::{br_device_alloc, br_device_copy};
use crate::error::Error;
use crate::heap;

/// Ways of [`br_device_copy`].
const TO_DEVICE: i64 = 0;
const TO_HOST: i64 = 1;
const ON_DEVICE: i64 = 2;

impl Context {
    /// Whether arrays of arguments and results lie on a device.
    pub(super) fn has_device(&self) -> bool {
        self.shared().device.is_some()
    }

    /// A block of the device with these bytes.
    pub(super) fn upload(&mut self, bytes: &[u8]) -> Result<*mut u8, Error> {
        let block = self.room(bytes.len())?;
        self.copy(TO_DEVICE, (block, bytes.as_ptr().cast_mut()), bytes.len())
    }

    /// A block of the device with the first bytes of another one.
    pub(super) fn copy_remote(&mut self, from: *mut u8, bytes: usize) -> Result<*mut u8, Error> {
        let block = self.room(bytes)?;
        self.copy(ON_DEVICE, (block, from), bytes)
    }

    /// Results whose arrays have come to the host; the blocks of the device are given back.
    ///
    /// # Errors
    /// There is no memory, or the device has been lost; all blocks are given back.
    pub(crate) fn fetched(&mut self, params: &[ParamDesc], mut words: Words) -> Result<Words, Error> {
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

    /// A block of the host's with the first bytes of one of the device, which is given back.
    fn fetch(&mut self, block: *mut u8, bytes: usize) -> Result<*mut u8, Error> {
        let ctx = self.enter();
        // SAFETY: this thread's view of a live context.
        let to = unsafe { heap::br_alloc(ctx, bytes as i64, std::ptr::null()) };
        let to = self.made(to)?;
        let to = self.copy(TO_HOST, (to, block), bytes)?;
        // SAFETY: nobody has the block any more.
        unsafe { heap::br_unref(ctx, block) };
        Ok(to)
    }

    /// A block of the device of so many bytes.
    fn room(&mut self, bytes: usize) -> Result<*mut u8, Error> {
        let ctx = self.enter();
        // SAFETY: this thread's view of a live context.
        let block = unsafe { br_device_alloc(ctx, bytes as i64, std::ptr::null()) };
        self.made(block)
    }

    /// Copies bytes to the beginning of a new block, which is given back if that fails.
    fn copy(&mut self, way: i64, (to, from): (*mut u8, *mut u8), bytes: usize) -> Result<*mut u8, Error> {
        let ctx = self.enter();
        // SAFETY: so many bytes are in both, which are blocks or memory as the way says.
        let status = unsafe { br_device_copy(ctx, way, to, 0, from, 0, bytes as i64) };
        self.outcome(status).map(|()| to).inspect_err(|_| {
            // SAFETY: nobody else has the block.
            unsafe { heap::br_unref(ctx, to) };
        })
    }
}

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
    pub(crate) fn fetched(&mut self, params: &[ParamDesc], words: Words) -> Result<Words, Error> {
        if !self.has_device() {
            return Ok(words);
        }
        let mut host = Words(words.0.clone());
        let mut start = 0;
        for (index, param) in params.iter().enumerate() {
            if param.kind == KIND_ARRAY {
                match self.fetch(param, words.of(params, index)) {
                    Ok(block) => host.0[start] = block as usize as u64,
                    Err(failure) => {
                        // From here on they are the device's still.
                        self.free(params, &host);
                        return Err(failure);
                    }
                }
                let ctx = self.enter();
                // SAFETY: the word is a block that the words own.
                unsafe { heap::br_unref(ctx, words.0[start] as usize as *mut u8) };
            }
            start += param.words as usize;
        }
        Ok(host)
    }

    /// A block of the host's with the elements of an array on the device.
    fn fetch(&mut self, param: &ParamDesc, words: &[u64]) -> Result<*mut u8, Error> {
        let (block, bytes) = array_of(param, words)?;
        let ctx = self.enter();
        // SAFETY: this thread's view of a live context.
        let to = unsafe { heap::br_alloc(ctx, bytes as i64, std::ptr::null()) };
        let to = self.made(to)?;
        self.copy(TO_HOST, (to, block), bytes)
    }

    /// A block of the device of so many bytes.
    fn room(&mut self, bytes: usize) -> Result<*mut u8, Error> {
        let ctx = self.enter();
        // SAFETY: this thread's view of a live context.
        let block = unsafe { br_device_alloc(ctx, bytes as i64, std::ptr::null()) };
        self.made(block)
    }

    /// Copies bytes to the beginning of a new block, which is given back if that fails.
    fn copy(
        &mut self,
        way: i64,
        (to, from): (*mut u8, *mut u8),
        bytes: usize,
    ) -> Result<*mut u8, Error> {
        let ctx = self.enter();
        // SAFETY: so many bytes are in both, which are blocks or memory as the way says.
        let status = unsafe { br_device_copy(ctx, way, to, 0, from, 0, bytes as i64) };
        self.outcome(status).map(|()| to).inspect_err(|_| {
            // SAFETY: nobody else has the block.
            unsafe { heap::br_unref(ctx, to) };
        })
    }
}

//! The blocks of values between calls. If a program has a device, they are device blocks.

use crate::context::Context;
use crate::device::{br_device_alloc, br_device_copy};
use crate::error::Error;
use crate::heap;
use value::Buffer;

/// The `direction` argument of [`br_device_copy`].
#[derive(Clone, Copy)]
pub(super) enum Copy {
    ToDevice = 0,
    ToHost = 1,
    OnDevice = 2,
}

impl Context {
    /// Returns true if arrays of arguments and results are device blocks.
    pub(super) fn has_device(&self) -> bool {
        self.shared().device.is_some()
    }

    /// Creates a block of `bytes` bytes.
    pub(super) fn allocate(&mut self, bytes: usize) -> Result<*mut u8, Error> {
        let allocate = if self.has_device() { br_device_alloc } else { heap::br_alloc };
        let ctx = self.activate();
        // SAFETY: this thread's view of a live context.
        let block = unsafe { allocate(ctx, bytes as i64, std::ptr::null()) };
        self.check_allocated(block)
    }

    /// Creates a block of a buffer, without copying on the host.
    pub(super) fn block_of(&mut self, data: Buffer) -> Result<*mut u8, Error> {
        if !self.has_device() {
            let ctx = self.activate();
            // SAFETY: this thread's view of a live context.
            let block = unsafe { heap::adopt(ctx, data) };
            return self.check_allocated(block);
        }
        let block = self.allocate(data.len())?;
        let from = data.as_slice().as_ptr().cast_mut();
        let copied = self.copy(Copy::ToDevice, (block, 0), (from, 0), data.len());
        copied.map(|()| block).inspect_err(|_| self.unref(block))
    }

    /// Creates a block with a part of another one, `bytes` bytes from an offset on.
    pub(super) fn copy_of(&mut self, from: (*mut u8, usize), bytes: usize) -> Result<*mut u8, Error> {
        let block = self.allocate(bytes)?;
        let copied = self.copy(Copy::OnDevice, (block, 0), from, bytes);
        copied.map(|()| block).inspect_err(|_| self.unref(block))
    }

    /// Copies bytes to host memory from a block, from an offset on.
    pub(super) fn read(&mut self, to: &mut [u8], from: (*mut u8, usize)) -> Result<(), Error> {
        self.copy(Copy::ToHost, (to.as_mut_ptr(), 0), from, to.len())
    }

    /// Copies bytes between addresses with offsets: blocks that hold them, or host memory as the
    /// direction requires. Without a device all are host memory.
    pub(super) fn copy(
        &mut self,
        direction: Copy,
        (to, to_at): (*mut u8, usize),
        (from, from_at): (*mut u8, usize),
        bytes: usize,
    ) -> Result<(), Error> {
        if !self.has_device() {
            // SAFETY: both have these bytes, and no block is copied to itself.
            unsafe { to.add(to_at).copy_from_nonoverlapping(from.add(from_at), bytes) };
            return Ok(());
        }
        let ctx = self.activate();
        let (to_at, from_at) = (to_at as i64, from_at as i64);
        // SAFETY: both have these bytes, and are blocks or host memory as `direction` requires.
        let status = unsafe { br_device_copy(ctx, direction as i64, to, to_at, from, from_at, bytes as i64) };
        self.check_status(status)
    }

    /// Releases a reference to a block.
    pub(super) fn unref(&mut self, block: *mut u8) {
        let ctx = self.activate();
        // SAFETY: the caller owns the reference.
        unsafe { heap::br_unref(ctx, block) };
    }

    /// Returns an allocated block, or the recorded failure if it is null.
    fn check_allocated(&self, block: *mut u8) -> Result<*mut u8, Error> {
        if block.is_null() {
            return Err(self
                .check_status(1)
                .err()
                .unwrap_or_else(|| super::bug("an allocation failed without a message")));
        }
        Ok(block)
    }
}

//! Values of entry points in the memory of a context, from and to values outside of it.

use super::bug;
use crate::context::Context;
use crate::error::Error;
use crate::heap;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;
use value::interface::{EntryType, OpaqueTypes};
use value::{Buffer, Value, ValueType};

/// A value of an entry point's type in the memory of the context that made it, which releases it.
#[derive(Debug)]
pub struct Handle {
    pub(super) ty: EntryType,
    pub(super) words: SmallVec<[u64; 4]>,
    /// The context, by the address of its state.
    owner: usize,
}

/// The elements of a scalar or array.
pub enum Elements<'h> {
    /// In the value's block or word.
    Borrowed(&'h [u8]),
    /// A copy of device memory.
    Copied(Buffer),
}

impl Elements<'_> {
    /// The elements, row-major.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Copied(buffer) => buffer.as_slice(),
        }
    }
}

const _: () = assert!(cfg!(target_endian = "little"), "words are little endian");

impl Handle {
    /// The value's type.
    pub fn ty(&self) -> EntryType {
        self.ty
    }
}

/// A leaf of a value: its type and its words.
pub(super) type Leaf<'w> = (ValueType, &'w [u64]);

/// The leaves of a value with these words.
pub(super) fn leaves<'w>(
    opaques: &OpaqueTypes,
    ty: EntryType,
    words: &'w [u64],
) -> Result<SmallVec<[Leaf<'w>; 2]>, Error> {
    let types: SmallVec<[ValueType; 2]> = match ty {
        EntryType::Value(ty) => smallvec![ty],
        EntryType::Opaque(_) => opaques.leaves(ty).into(),
    };
    let mut rest = words;
    let mut out = SmallVec::new();
    for ty in types {
        let mismatch = || bug("a value does not match its description");
        let (own, others) = rest.split_at_checked(ty.n_words()).ok_or_else(mismatch)?;
        out.push((ty, own));
        rest = others;
    }
    Ok(out)
}

/// The block of an array.
pub(super) fn block_of(words: &[u64]) -> *mut u8 {
    words.first().map_or(std::ptr::null_mut(), |block| *block as usize as *mut u8)
}

/// The dimensions of a leaf; none for a scalar.
pub(super) fn dims((ty, words): Leaf<'_>) -> impl Iterator<Item = i64> + '_ {
    words.iter().skip(1).take(ty.rank).map(|dim| *dim as i64)
}

/// The size in bytes of the elements of an array with these dimensions.
pub(super) fn n_bytes(ty: ValueType, mut dims: impl Iterator<Item = i64>) -> Result<usize, Error> {
    let elements = dims.try_fold((1i64, false), |(n, empty), dim| match dim {
        0 => Some((n, true)),
        dim => Some((n.checked_mul(dim).filter(|_| dim > 0)?, empty)),
    });
    let elements = elements.map(|(n, empty)| if empty { 0 } else { n });
    let bytes = elements.and_then(|n| n.checked_mul(ty.scalar.size() as i64));
    let bytes = bytes.and_then(|n| usize::try_from(n).ok());
    bytes.ok_or_else(|| Error::Usage("an array has an invalid shape".to_owned()))
}

impl Context {
    /// A value of this context.
    pub(super) fn handle(&self, ty: EntryType, words: SmallVec<[u64; 4]>) -> Handle {
        Handle { ty, words, owner: std::ptr::from_ref(self.shared()) as usize }
    }

    /// Fails unless a value belongs to this context.
    pub(super) fn check_owner(&self, handle: &Handle) -> Result<(), Error> {
        if handle.owner == std::ptr::from_ref(self.shared()) as usize {
            return Ok(());
        }
        Err(Error::Usage("a value belongs to another context".to_owned()))
    }

    /// Takes a scalar or an array into the context, without copying its elements on the host.
    pub fn import(&mut self, value: Value) -> Result<Handle, Error> {
        let ty = EntryType::Value(value.value_type());
        if let Some(scalar) = value.as_scalar() {
            return Ok(self.handle(ty, smallvec![scalar.bits()]));
        }
        let (_, shape, data) = value.into_parts();
        let mut words = smallvec![self.block_of(data)? as usize as u64];
        words.extend(shape.iter().map(|&dim| dim as u64));
        Ok(self.handle(ty, words))
    }

    /// A copy of a scalar or an array outside of the context.
    pub fn export(&mut self, handle: &Handle) -> Result<Value, Error> {
        let (ty, shape) = self.value_type(handle)?;
        let data = match self.elements(handle)? {
            Elements::Borrowed(bytes) => Buffer::copy_of(bytes).map_err(|e| Error::Usage(e.to_string()))?,
            Elements::Copied(buffer) => buffer,
        };
        Value::new(ty.scalar, shape, data).map_err(|e| Error::Usage(format!("a result: {e}")))
    }

    /// The type and the dimensions of a scalar or array.
    pub fn value_type(&self, handle: &Handle) -> Result<(ValueType, Vec<i64>), Error> {
        self.check_owner(handle)?;
        match handle.ty {
            EntryType::Value(ty) => Ok((ty, dims((ty, &handle.words)).collect())),
            EntryType::Opaque(_) => {
                let name = self.interface().opaques.name(handle.ty);
                Err(Error::Usage(format!("values of type `{name}` have no text or binary form")))
            }
        }
    }

    /// The elements of a scalar or array.
    pub fn elements<'h>(&mut self, handle: &'h Handle) -> Result<Elements<'h>, Error> {
        let (ty, shape) = self.value_type(handle)?;
        let bytes = n_bytes(ty, shape.into_iter())?;
        let source = match handle.words.first() {
            // The low bytes of a scalar's word come first.
            Some(word) if ty.rank == 0 => (&raw const *word).cast::<u8>(),
            _ if bytes == 0 => return Ok(Elements::Borrowed(&[])),
            _ if self.has_device() => {
                let mut buffer = Buffer::zeroed(bytes).map_err(|e| Error::Program(format!("Error: {e}")))?;
                self.read(buffer.as_mut_slice(), (block_of(&handle.words), 0))?;
                return Ok(Elements::Copied(buffer));
            }
            _ => block_of(&handle.words).cast_const(),
        };
        // SAFETY: generated code guarantees that the block holds an array of this shape; the handle
        // keeps it alive. A word is 8 bytes and no scalar is larger.
        Ok(Elements::Borrowed(unsafe { std::slice::from_raw_parts(source, bytes) }))
    }

    /// Another handle to the same value.
    pub fn share(&mut self, handle: &Handle) -> Result<Handle, Error> {
        self.check_owner(handle)?;
        self.part(handle.ty, &handle.words)
    }

    /// A handle to these words of another handle, with references of its own.
    pub(super) fn part(&mut self, ty: EntryType, words: &[u64]) -> Result<Handle, Error> {
        let interface = Arc::clone(self.interface());
        for (leaf, own) in leaves(&interface.opaques, ty, words)? {
            if leaf.rank > 0 {
                // SAFETY: the other handle keeps the block alive.
                unsafe { heap::br_ref(block_of(own)) };
            }
        }
        Ok(self.handle(ty, words.into()))
    }

    /// A copy of a value, with blocks of its own.
    pub(crate) fn duplicate(&mut self, handle: &Handle) -> Result<Handle, Error> {
        let interface = Arc::clone(self.interface());
        self.check_owner(handle)?;
        let mut copy = self.handle(handle.ty, handle.words.clone());
        let mut at = 0;
        let mut outcome = Ok(());
        for leaf in leaves(&interface.opaques, handle.ty, &handle.words)? {
            if leaf.0.rank > 0 {
                let block = match &outcome {
                    Ok(()) => n_bytes(leaf.0, dims(leaf))
                        .and_then(|bytes| self.copy_of((block_of(leaf.1), 0), bytes)),
                    // The handle is released, which ignores null.
                    Err(_) => Ok(std::ptr::null_mut()),
                };
                let block = block.unwrap_or_else(|failure| {
                    outcome = Err(failure);
                    std::ptr::null_mut()
                });
                copy.words[at] = block as usize as u64;
            }
            at += leaf.0.n_words();
        }
        if let Err(failure) = outcome {
            self.release(copy);
            return Err(failure);
        }
        Ok(copy)
    }

    /// Releases a value; those of other contexts are left alone.
    pub fn release(&mut self, handle: Handle) {
        if self.check_owner(&handle).is_err() {
            return;
        }
        if let EntryType::Value(ty) = handle.ty {
            if ty.rank > 0 {
                self.unref(block_of(&handle.words));
            }
            return;
        }
        let leaves = leaves(&self.interface().opaques, handle.ty, &handle.words);
        // The words of a handle match its type.
        for (leaf, words) in leaves.into_iter().flatten() {
            if leaf.rank > 0 {
                self.unref(block_of(words));
            }
        }
    }

    /// Replaces a result by what executables print for it, each on a line: the components of a
    /// tuple, or the result itself.
    pub(crate) fn components(&mut self, handle: Handle) -> Vec<Handle> {
        let interface = Arc::clone(self.interface());
        let parts = interface.opaques.components(handle.ty);
        let mut words = &handle.words[..];
        let mut out = Vec::with_capacity(parts.len());
        for ty in parts {
            let (own, rest) = words.split_at(interface.opaques.n_words(ty).min(words.len()));
            out.push(self.handle(ty, own.into()));
            words = rest;
        }
        out
    }
}

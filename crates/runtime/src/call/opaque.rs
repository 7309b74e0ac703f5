//! Records, sums and arrays of opaque types: built of parts, and split into components.
//!
//! Parts and wholes share blocks, but for elements of arrays, which are copied. Every operation
//! checks types, shapes and indices, and leaves its operands to their owner.

use super::blocks::Copy;
use super::handle::{Handle, block_of, dims, leaves, n_bytes};
use crate::context::Context;
use crate::error::Error;
use smallvec::SmallVec;
use std::sync::Arc;
use value::interface::{Constr, EntryType, Interface, OpaqueId, OpaqueKind};
use value::{Buffer, ValueType};

fn usage<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::Usage(message.into()))
}

/// The constructors of a sum.
fn constrs(interface: &Interface, ty: EntryType) -> Result<&[Constr], Error> {
    match interface.opaques.kind(ty) {
        Some(OpaqueKind::Sum(constrs)) => Ok(constrs),
        _ => usage("Not a sum type"),
    }
}

/// The element type and the rank of an array.
fn array_type(interface: &Interface, ty: EntryType) -> Result<(EntryType, usize), Error> {
    match (ty, interface.opaques.kind(ty)) {
        (EntryType::Value(ty), _) if ty.rank > 0 => Ok((EntryType::scalar(ty.scalar), ty.rank)),
        (_, Some(OpaqueKind::Array { elem, rank } | OpaqueKind::RecordArray { elem, rank, .. })) => {
            Ok((EntryType::Opaque(*elem), *rank))
        }
        _ => usage("Not an array type"),
    }
}

impl Context {
    /// Fails unless the parts are values of these types.
    fn check_parts(&self, expected: &[EntryType], parts: &[&Handle]) -> Result<(), Error> {
        if parts.len() != expected.len() {
            return usage(format!("Expected {} values, but got {}.", expected.len(), parts.len()));
        }
        parts.iter().try_for_each(|part| self.check_owner(part))?;
        match expected.iter().zip(parts).find(|(ty, part)| **ty != part.ty) {
            Some((ty, part)) => {
                let opaques = &self.interface().opaques;
                let (expected, found) = (opaques.name(*ty), opaques.name(part.ty));
                usage(format!("Expected a value of type {expected}, got one of type {found}."))
            }
            None => Ok(()),
        }
    }

    /// The record of its fields, or the array of records of the arrays of their fields, in the
    /// order of the type.
    pub fn new_record(&mut self, ty: OpaqueId, fields: &[&Handle]) -> Result<Handle, Error> {
        let interface = Arc::clone(self.interface());
        let ty = EntryType::Opaque(ty);
        let (own, rank) = match interface.opaques.kind(ty) {
            Some(OpaqueKind::Record(own)) => (own, 0),
            Some(OpaqueKind::RecordArray { fields: own, rank, .. }) => (own, *rank),
            _ => return usage("Not a record type"),
        };
        let types: Vec<EntryType> = own.iter().map(|(_, ty)| *ty).collect();
        self.check_parts(&types, fields)?;
        let words: SmallVec<[u64; 4]> = fields.iter().flat_map(|field| field.words.iter().copied()).collect();
        let parts = leaves(&interface.opaques, ty, &words)?;
        let mut shapes = parts.iter().map(|leaf| dims(*leaf).take(rank).collect::<Vec<i64>>());
        if let Some(first) = shapes.next()
            && !shapes.all(|shape| shape == first)
        {
            return usage("Cannot zip arrays with different shapes.");
        }
        self.part(ty, &words)
    }

    /// A field of a record, or the array of that field of an array of records.
    pub fn project(&mut self, record: &Handle, field: usize) -> Result<Handle, Error> {
        let interface = Arc::clone(self.interface());
        self.check_owner(record)?;
        let kind = interface.opaques.kind(record.ty);
        let Some(OpaqueKind::Record(fields) | OpaqueKind::RecordArray { fields, .. }) = kind else {
            return usage("Not a record type");
        };
        let Some((_, ty)) = fields.get(field) else { return usage("No such field") };
        let at: usize = fields.iter().take(field).map(|(_, ty)| interface.opaques.n_words(*ty)).sum();
        self.part(*ty, &record.words[at..at + interface.opaques.n_words(*ty)])
    }

    /// The number of the constructor that a value of a sum type has.
    pub fn variant(&self, value: &Handle) -> Result<usize, Error> {
        self.check_owner(value)?;
        let constrs = constrs(self.interface(), value.ty)?;
        let number = value.words.first().map_or(usize::MAX, |tag| *tag as u8 as usize);
        if number < constrs.len() { Ok(number) } else { usage("No such variant") }
    }

    /// The value of a sum type with this constructor and payload. The arrays of other constructors
    /// are empty.
    pub fn new_variant(
        &mut self,
        ty: OpaqueId,
        constructor: usize,
        payload: &[&Handle],
    ) -> Result<Handle, Error> {
        let interface = Arc::clone(self.interface());
        let ty = EntryType::Opaque(ty);
        let constrs = constrs(&interface, ty)?;
        let Some(own) = constrs.get(constructor) else { return usage("No such variant") };
        self.check_parts(&own.payload, payload)?;
        let mut words: SmallVec<[u64; 4]> = SmallVec::new();
        words.push(constructor as u64);
        let mut blanks = Vec::new();
        for (number, constr) in constrs.iter().enumerate() {
            if number == constructor {
                words.extend(payload.iter().flat_map(|part| part.words.iter().copied()));
                continue;
            }
            for leaf in constr.payload.iter().flat_map(|ty| interface.opaques.leaves(*ty)) {
                if leaf.rank > 0 {
                    blanks.push(words.len());
                }
                words.extend(std::iter::repeat_n(0, leaf.n_words()));
            }
        }
        // Blocks are null until they are made, which is ignored when they are released.
        let mut value = self.part(ty, &words)?;
        for at in blanks {
            match self.allocate(0) {
                Ok(block) => value.words[at] = block as usize as u64,
                Err(failure) => {
                    self.release(value);
                    return Err(failure);
                }
            }
        }
        Ok(value)
    }

    /// The payload of a value of a sum type.
    pub fn destruct(&mut self, value: &Handle) -> Result<Vec<Handle>, Error> {
        let interface = Arc::clone(self.interface());
        let constructor = self.variant(value)?;
        let mut at = 1;
        let mut payload = Vec::new();
        for (number, constr) in constrs(&interface, value.ty)?.iter().enumerate().take(constructor + 1) {
            for ty in &constr.payload {
                let end = at + interface.opaques.n_words(*ty);
                if number == constructor {
                    payload.push(self.part(*ty, &value.words[at..end])?);
                }
                at = end;
            }
        }
        Ok(payload)
    }

    /// The shape of an array: the dimensions around its elements.
    pub fn shape(&self, array: &Handle) -> Result<Vec<i64>, Error> {
        self.check_owner(array)?;
        let interface = self.interface();
        let (_, rank) = array_type(interface, array.ty)?;
        match leaves(&interface.opaques, array.ty, &array.words)?.first() {
            Some(leaf) => Ok(dims(*leaf).take(rank).collect()),
            None => usage("an array of units has no shape"),
        }
    }

    /// A copy of an element of an array.
    pub fn index(&mut self, array: &Handle, indices: &[i64]) -> Result<Handle, Error> {
        let interface = Arc::clone(self.interface());
        let (elem, rank) = array_type(&interface, array.ty)?;
        let shape = self.shape(array)?;
        if indices.len() != rank || shape.iter().zip(indices).any(|(n, i)| i < &0 || i >= n) {
            return usage("Index out of bounds.");
        }
        let at = shape.iter().zip(indices).fold(0, |at, (n, i)| at * n + i) as usize;
        let mut words: SmallVec<[u64; 4]> = SmallVec::new();
        for leaf in leaves(&interface.opaques, array.ty, &array.words)? {
            let own = ValueType::new(leaf.0.scalar, leaf.0.rank - rank);
            let row: SmallVec<[i64; 4]> = dims(leaf).skip(rank).collect();
            let outcome = n_bytes(own, row.iter().copied()).and_then(|bytes| {
                let from = (block_of(leaf.1), at * bytes);
                if own.rank > 0 {
                    return Ok(self.copy_of(from, bytes)? as usize as u64);
                }
                let mut word = [0; 8];
                self.read(&mut word[..bytes], from)?;
                Ok(u64::from_le_bytes(word))
            });
            words.push(*outcome.as_ref().unwrap_or(&0));
            words.extend(row.iter().map(|dim| *dim as u64));
            if let Err(failure) = outcome {
                words.resize(interface.opaques.n_words(elem), 0);
                self.release(self.handle(elem, words));
                return Err(failure);
            }
        }
        Ok(self.handle(elem, words))
    }

    /// The array of this type and shape of its elements, row-major.
    pub fn new_array(&mut self, ty: EntryType, shape: &[i64], elems: &[&Handle]) -> Result<Handle, Error> {
        let interface = Arc::clone(self.interface());
        let (elem, rank) = array_type(&interface, ty)?;
        let count = n_bytes(ValueType::new(prim::ScalarType::I8, rank), shape.iter().copied())?;
        if shape.len() != rank {
            return usage("the shape does not have the rank of the array");
        }
        self.check_parts(&vec![elem; count], elems)?;
        let mut array = self.handle(ty, SmallVec::from_elem(0, interface.opaques.n_words(ty)));
        // The positions of a leaf's words in the array and in an element.
        let (mut at, mut from) = (0, 0);
        for leaf in interface.opaques.leaves(ty) {
            let own = ValueType::new(leaf.scalar, leaf.rank - rank);
            match self.gather(own, elems, from) {
                Ok((block, row)) => {
                    array.words[at] = block as usize as u64;
                    let dims = shape.iter().copied().chain(row);
                    array.words.iter_mut().skip(at + 1).zip(dims).for_each(|(word, n)| *word = n as u64);
                }
                Err(failure) => {
                    self.release(array);
                    return Err(failure);
                }
            }
            at += leaf.n_words();
            from += own.n_words();
        }
        Ok(array)
    }

    /// A block with the leaf of this type, at this position in their words, of all values, and the
    /// dimensions of one.
    fn gather(&mut self, ty: ValueType, values: &[&Handle], at: usize) -> Result<(*mut u8, Vec<i64>), Error> {
        let words = |value: &Handle| -> SmallVec<[u64; 4]> { value.words[at..at + ty.n_words()].into() };
        let row: Vec<i64> = match values.first() {
            Some(first) => dims((ty, &words(first))).collect(),
            None => vec![0; ty.rank],
        };
        let bytes = n_bytes(ty, row.iter().copied())?;
        if ty.rank == 0 {
            let mut data = Buffer::new();
            for value in values {
                let extended = data.extend(&words(value)[0].to_le_bytes()[..bytes]);
                extended.map_err(|e| Error::Program(format!("Error: {e}")))?;
            }
            return Ok((self.block_of(data)?, row));
        }
        if !values.iter().all(|value| dims((ty, &words(value))).eq(row.iter().copied())) {
            return usage("Cannot construct arrays with elements of different shapes.");
        }
        let total = n_bytes(ty, [values.len() as i64].into_iter().chain(row.iter().copied()))?;
        let block = self.allocate(total)?;
        for (number, value) in values.iter().enumerate() {
            let from = (block_of(&words(value)), 0);
            let copied = self.copy(Copy::OnDevice, (block, number * bytes), from, bytes);
            copied.inspect_err(|_| self.unref(block))?;
        }
        Ok((block, row))
    }
}

//! Calls of entry points, and their values in the memory of a context.
//!
//! This is the only way in and out: executables, the compiler's tests and every other user of a
//! program make [`Handle`]s of arguments, call an entry point, and split its result into components:
//! [`opaque`] has the operations on records, sums and arrays. An argument's elements become a block
//! without being copied. If a program has a device, all blocks are device blocks ([`blocks`]); the
//! time of a call does not include the copies before and after it.

mod blocks;
mod handle;
mod opaque;

use crate::context::Context;
use crate::error::{Error, count_arguments};
pub use handle::{Elements, Handle};
use smallvec::SmallVec;
use std::sync::Arc;
use value::Value;
use value::interface::{EntryType, EntryValue};

/// A line that executables print for a result.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A scalar or an array.
    Value(Value),
    /// The unit value.
    Unit,
    /// A value without text form, with the name of its type.
    Opaque(String),
}

fn bug(what: &str) -> Error {
    Error::Usage(format!("{what}; this is a compiler bug, please report it"))
}

impl Context {
    /// The number of the entry point of this name.
    pub fn entry(&self, name: &str) -> Result<usize, Error> {
        let entries = &self.interface().entries;
        entries.iter().position(|entry| *entry.name == *name).ok_or_else(|| {
            let names: Vec<&str> = entries.iter().map(|entry| &*entry.name).collect();
            Error::Usage(if names.is_empty() {
                format!("there is no entry point `{name}`: the program has none")
            } else {
                format!("there is no entry point `{name}`; there are: {}", names.join(", "))
            })
        })
    }

    /// Calls the entry point of this number. The arguments stay the caller's; those of unique
    /// parameters may be overwritten. The context stays usable after a failure.
    pub fn invoke(&mut self, entry: usize, args: &[Handle]) -> Result<Handle, Error> {
        let interface = &**self.interface();
        let (Some(signature), Some(code)) =
            (interface.entries.get(entry), self.program().entries().get(entry).copied())
        else {
            return Err(Error::Usage(format!("there is no entry point of number {entry}")));
        };
        check_count(&signature.name, signature.params.len(), args.len())?;
        for (index, (param, arg)) in signature.params.iter().zip(args).enumerate() {
            self.check_owner(arg)?;
            if param.ty != arg.ty {
                let found = interface.opaques.name(arg.ty);
                let expected = interface.opaques.name(param.ty);
                return Err(mismatch(index, param, &expected, &found));
            }
        }
        let mut words = SmallVec::<[u64; 16]>::new();
        args.iter().for_each(|arg| words.extend_from_slice(&arg.words));
        let ty = signature.result.ty;
        let n_words = interface.opaques.n_words(ty);
        let mut result = self.handle(ty, SmallVec::from_elem(0, n_words));
        let ctx = self.activate();
        let status = if self.shared().cancellation.is_requested() {
            1
        } else {
            let begin = self.shared().nests.begin_call();
            // SAFETY: generated code fulfils the contract of `EntryFn`; the words fit the entry's
            // description.
            let status = unsafe { code(ctx, words.as_ptr(), result.words.as_mut_ptr()) };
            self.shared().nests.end_call(begin);
            status
        };
        let outcome = self.check_status(status);
        self.shared().cancellation.withdraw();
        outcome?;
        if let Err(failure) = self.synchronise() {
            self.release(result);
            return Err(failure);
        }
        Ok(result)
    }

    /// Calls the entry point `name` with values for all parameters that are not `()`.
    pub fn call(&mut self, name: &str, args: Vec<Value>) -> Result<Vec<Output>, Error> {
        let entry = self.entry(name)?;
        let interface = Arc::clone(self.interface());
        let params = &interface.entries[entry].params;
        let is_unit = |ty: EntryType| interface.opaques.is_unit(ty);
        check_count(name, params.iter().filter(|param| !is_unit(param.ty)).count(), args.len())?;
        let mut args = args.into_iter();
        let mut handles = Vec::with_capacity(params.len());
        let mut outcome = Ok(());
        for (index, param) in params.iter().enumerate() {
            let handle = match (param.ty, args.as_slice().first()) {
                (ty, _) if is_unit(ty) => Ok(self.unit(ty)),
                (EntryType::Value(ty), Some(value)) if ty != value.value_type() => {
                    Err(mismatch(index, param, &ty.to_string(), &value.value_type().to_string()))
                }
                (EntryType::Value(_), _) => {
                    let value = args.next().ok_or_else(|| bug("an argument is missing"));
                    value.and_then(|value| self.import(value))
                }
                (EntryType::Opaque(_), _) => Err(Error::Usage(format!(
                    "{}: values of this type cannot be passed from outside of the program",
                    describe(index, param)
                ))),
            };
            match handle {
                Ok(handle) => handles.push(handle),
                Err(failure) => {
                    outcome = Err(failure);
                    break;
                }
            }
        }
        let result = outcome.and_then(|()| self.invoke(entry, &handles));
        handles.into_iter().for_each(|handle| self.release(handle));
        let components = self.components(result?);
        let outputs = components.iter().map(|handle| {
            Ok(match handle.ty {
                ty if interface.opaques.is_unit(ty) => Output::Unit,
                EntryType::Opaque(_) => Output::Opaque(interface.opaques.name(handle.ty).to_string()),
                EntryType::Value(_) => Output::Value(self.export(handle)?),
            })
        });
        let outputs = outputs.collect();
        components.into_iter().for_each(|handle| self.release(handle));
        outputs
    }

    /// The only value of this type, which is `()`.
    pub(crate) fn unit(&self, ty: EntryType) -> Handle {
        self.handle(ty, SmallVec::new())
    }
}

fn check_count(name: &str, expected: usize, given: usize) -> Result<(), Error> {
    if given == expected {
        return Ok(());
    }
    let were = if given == 1 { "was" } else { "were" };
    Err(Error::Usage(format!("`{name}` takes {}, {given} {were} given", count_arguments(expected))))
}

/// The name of parameter `index` of an entry point in messages.
pub fn describe(index: usize, param: &EntryValue) -> String {
    let star = if param.unique { "*" } else { "" };
    let (name, ty) = (&param.name, &param.type_name);
    if name.is_empty() {
        format!("argument {} (of type {star}{ty})", index + 1)
    } else {
        format!("argument {} (`{name}`, of type {star}{ty})", index + 1)
    }
}

fn mismatch(index: usize, param: &EntryValue, expected: &str, found: &str) -> Error {
    Error::Usage(format!(
        "{}: expected a value of type {expected}, got one of type {found}",
        describe(index, param)
    ))
}

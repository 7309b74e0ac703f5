//! Calls of entry points from Rust: values in, values out.
//!
//! An argument's elements become a block without being copied. Results are views of blocks until
//! they are converted to values. If a program has a device, blocks of arguments and results are
//! device blocks ([`device_values`]); the time of a call does not include the copies before and after it.

mod device_values;

use crate::abi::{EntryDesc, KIND_ARRAY, KIND_OPAQUE, KIND_SCALAR, KIND_UNIT, ParamDesc};
use crate::context::Context;
use crate::error::Error;
use crate::heap;
use prim::ScalarType;
use smallvec::SmallVec;
use value::{Value, ValueType};

/// A result of an entry point.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A scalar or an array.
    Value(Value),
    /// The unit value.
    Unit,
    /// A value without text form, with the name of its type.
    Opaque(String),
}

/// A scalar or array in the words and blocks of a call.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The (element) type.
    pub ty: ScalarType,
    /// The dimensions; none for a scalar.
    pub shape: Vec<i64>,
    /// The elements, row-major; those of a scalar are in its word.
    pub bytes: &'a [u8],
}

/// The printable form of a result.
#[derive(Clone, Debug)]
pub enum ResultView<'a> {
    /// A scalar or an array.
    View(View<'a>),
    /// The unit value.
    Unit,
    /// A value without text form.
    Opaque(&'a str),
}

/// Words of arguments or results, each value described by its parameter.
#[derive(Debug, Default)]
pub struct Words(SmallVec<[u64; 16]>);

impl Words {
    /// Space for the values of these parameters, all 0.
    fn zeroed(params: &[ParamDesc]) -> Self {
        let count = params.iter().map(|p| p.words as usize).sum();
        Self(SmallVec::from_elem(0, count))
    }

    /// The words as passed to generated code.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// The words of parameter `index`.
    fn of<'a>(&'a self, params: &[ParamDesc], index: usize) -> &'a [u64] {
        let start: usize = params.iter().take(index).map(|p| p.words as usize).sum();
        let count = params.get(index).map_or(0, |p| p.words as usize);
        self.0.get(start..start + count).unwrap_or_default()
    }
}

fn bug(what: &str) -> Error {
    Error::Usage(format!("{what}; this is a compiler bug, please report it"))
}

/// The type of a parameter's values; `None` if they have no text form.
pub fn value_type(param: &ParamDesc) -> Option<ValueType> {
    let rank = match param.kind {
        KIND_SCALAR => 0,
        KIND_ARRAY => param.rank as usize,
        _ => return None,
    };
    Some(ValueType::new(param.scalar_type()?, rank))
}

/// The result at `index`.
pub fn view_result<'a>(
    params: &'a [ParamDesc],
    words: &'a Words,
    index: usize,
) -> Result<ResultView<'a>, Error> {
    let Some(param) = params.get(index) else {
        return Err(bug("a result has no description"));
    };
    let words = words.of(params, index);
    match (param.kind, param.scalar_type(), words) {
        (KIND_UNIT, _, _) => Ok(ResultView::Unit),
        (KIND_OPAQUE, _, _) => Ok(ResultView::Opaque(param.type_name.get())),
        (KIND_SCALAR, Some(ty), [word]) => {
            // SAFETY: a word is 8 bytes and no scalar is larger; little-endian machines have the
            // low bytes first.
            let bytes =
                unsafe { std::slice::from_raw_parts((&raw const *word).cast::<u8>(), ty.size() as usize) };
            let shape = Vec::new();
            Ok(ResultView::View(View { ty, shape, bytes }))
        }
        (KIND_ARRAY, Some(ty), [_, dims @ ..]) => {
            let shape: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
            let (data, bytes) = array_of(param, words)?;
            let bytes = if bytes == 0 {
                &[][..]
            } else {
                // SAFETY: generated code guarantees that the block holds an array of this shape,
                // and the words' owner keeps the block alive.
                unsafe { std::slice::from_raw_parts(data.cast_const(), bytes) }
            };
            Ok(ResultView::View(View { ty, shape, bytes }))
        }
        _ => Err(bug("a value does not match its description")),
    }
}

/// The block of an array, and the size of its elements in bytes.
fn array_of(param: &ParamDesc, words: &[u64]) -> Result<(*mut u8, usize), Error> {
    let (Some(ty), [block, dims @ ..]) = (param.scalar_type(), words) else {
        return Err(bug("a value does not match its description"));
    };
    let elements = if dims.contains(&0) {
        Some(0)
    } else {
        let mut dims = dims.iter().map(|&dim| dim as i64);
        dims.try_fold(1i64, |n, dim| n.checked_mul(dim).filter(|_| dim > 0))
    };
    let bytes = elements.and_then(|n| n.checked_mul(ty.size() as i64));
    let bytes = bytes.and_then(|n| usize::try_from(n).ok());
    let bytes = bytes.ok_or_else(|| bug("an array has an invalid shape"))?;
    Ok((*block as usize as *mut u8, bytes))
}

const _: () = assert!(cfg!(target_endian = "little"), "words are little endian");

impl Context {
    /// The entry point of this name.
    pub fn entry(&self, name: &str) -> Result<EntryDesc, Error> {
        self.program().entry(name).copied().ok_or_else(|| {
            let names: Vec<&str> = self.program().entries().iter().map(|e| e.name.get()).collect();
            Error::Usage(if names.is_empty() {
                format!("there is no entry point `{name}`: the program has none")
            } else {
                format!("there is no entry point `{name}`; there are: {}", names.join(", "))
            })
        })
    }

    /// Appends a value to the words of a call, its elements as a block.
    pub(crate) fn append_value(&mut self, value: Value, words: &mut Words) -> Result<(), Error> {
        if let Some(scalar) = value.as_scalar() {
            words.0.push(scalar.bits());
            return Ok(());
        }
        let (_, shape, data) = value.into_parts();
        let block = if self.has_device() {
            self.upload(data.as_slice())?
        } else {
            let ctx = self.activate();
            // SAFETY: this thread's view of a live context.
            let block = unsafe { heap::adopt(ctx, data) };
            self.check_allocated(block)?
        };
        words.0.push(block as usize as u64);
        words.0.extend(shape.iter().map(|&dim| dim as u64));
        Ok(())
    }

    /// A copy of argument words in which every unique parameter has blocks of its own, to be
    /// released by [`Self::free_unique`].
    pub(crate) fn copy_unique(&mut self, params: &[ParamDesc], words: &Words) -> Result<Words, Error> {
        let mut copy = Words(words.0.clone());
        let mut start = 0;
        for (index, param) in params.iter().enumerate() {
            if param.unique != 0 && param.kind == KIND_ARRAY {
                let own = &words.0[start..start + param.words as usize];
                let (block, bytes) = array_of(param, own)?;
                let made = if self.has_device() {
                    self.copy_remote(block, bytes)
                } else {
                    self.copy_block(block, bytes)
                };
                match made {
                    Ok(block) => copy.0[start] = block as usize as u64,
                    Err(failure) => {
                        // Blocks from `start` on are still the originals.
                        self.free_unique(&params[..index], &copy);
                        return Err(failure);
                    }
                }
            }
            start += param.words as usize;
        }
        Ok(copy)
    }

    /// Creates a host block with a copy of the first bytes of another one.
    fn copy_block(&mut self, from: *mut u8, bytes: usize) -> Result<*mut u8, Error> {
        let ctx = self.activate();
        // SAFETY: this thread's view of a live context.
        let block = unsafe { heap::br_alloc(ctx, bytes as i64, std::ptr::null()) };
        let block = self.check_allocated(block)?;
        // SAFETY: both have at least `bytes` bytes.
        unsafe { block.copy_from_nonoverlapping(from, bytes) };
        Ok(block)
    }

    /// Returns an allocated block, or the recorded failure if it is null.
    fn check_allocated(&self, block: *mut u8) -> Result<*mut u8, Error> {
        if block.is_null() {
            return Err(self
                .check_status(1)
                .err()
                .unwrap_or_else(|| bug("an allocation failed without a message")));
        }
        Ok(block)
    }

    /// Releases the blocks that [`Self::copy_unique`] made.
    pub(crate) fn free_unique(&mut self, params: &[ParamDesc], words: &Words) {
        self.free_where(params, words, |param| param.unique != 0);
    }

    /// Releases the blocks of values.
    pub(crate) fn free(&mut self, params: &[ParamDesc], words: &Words) {
        self.free_where(params, words, |_| true);
    }

    fn free_where(&mut self, params: &[ParamDesc], words: &Words, chosen: impl Fn(&ParamDesc) -> bool) {
        let ctx = self.activate();
        let mut start = 0;
        for param in params {
            if chosen(param) {
                for &offset in param.block_words() {
                    if let Some(&word) = words.0.get(start + offset as usize) {
                        // SAFETY: the word is a block that the words own.
                        unsafe { heap::br_unref(ctx, word as usize as *mut u8) };
                    }
                }
            }
            start += param.words as usize;
        }
    }

    /// Calls an entry point on argument words, which stay the caller's. The caller must release the
    /// results.
    pub(crate) fn invoke(&mut self, entry: &EntryDesc, args: &Words) -> Result<Words, Error> {
        let mut results = Words::zeroed(entry.results());
        let ctx = self.activate();
        // SAFETY: generated code fulfils the contract of `EntryFn`; the words fit the entry's
        // description.
        let status = unsafe { (entry.fun)(ctx, args.0.as_ptr(), results.0.as_mut_ptr()) };
        self.check_status(status)?;
        if let Err(failure) = self.synchronise() {
            self.free(entry.results(), &results);
            return Err(failure);
        }
        Ok(results)
    }

    /// Calls the entry point `name`. The context stays usable after a failure.
    pub fn call(&mut self, name: &str, args: Vec<Value>) -> Result<Vec<Output>, Error> {
        let entry = self.entry(name)?;
        let params = entry.params();
        let wanted = params.iter().filter(|p| p.kind != KIND_UNIT).count();
        if args.len() != wanted {
            return Err(Error::Usage(format!(
                "`{name}` takes {}, {} {} given",
                crate::error::count_arguments(wanted),
                args.len(),
                if args.len() == 1 { "was" } else { "were" }
            )));
        }
        let mut words = Words::default();
        let mut args = args.into_iter();
        let mut loaded = 0;
        let mut outcome = Ok(());
        for (index, param) in params.iter().enumerate() {
            if param.kind != KIND_UNIT {
                outcome = args.next().map_or_else(
                    || Err(bug("an argument is missing")),
                    |value| {
                        check_type(index, param, &value)?;
                        self.append_value(value, &mut words)
                    },
                );
            }
            if outcome.is_err() {
                break;
            }
            loaded += 1;
        }
        let outcome = outcome.and_then(|()| self.invoke(&entry, &words));
        self.free(&params[..loaded], &words);
        let descs = entry.results();
        let results = outcome.and_then(|results| self.copy_results_to_host(descs, results))?;
        let outputs = (0..descs.len())
            .map(|index| {
                Ok(match view_result(descs, &results, index)? {
                    ResultView::Unit => Output::Unit,
                    ResultView::Opaque(name) => Output::Opaque(name.to_owned()),
                    ResultView::View(view) => Output::Value(
                        Value::from_bytes(view.ty, view.shape, view.bytes)
                            .map_err(|e| Error::Usage(format!("result {index}: {e}")))?,
                    ),
                })
            })
            .collect();
        self.free(descs, &results);
        outputs
    }
}

/// The name of parameter `index` of an entry point in messages.
pub fn describe(index: usize, param: &ParamDesc) -> String {
    let name = param.name.get();
    let ty = param.shown_type();
    if name.is_empty() {
        format!("argument {} (of type {ty})", index + 1)
    } else {
        format!("argument {} (`{name}`, of type {ty})", index + 1)
    }
}

fn check_type(index: usize, param: &ParamDesc, value: &Value) -> Result<(), Error> {
    match value_type(param) {
        Some(expected) if expected == value.value_type() => Ok(()),
        Some(expected) => Err(Error::Usage(format!(
            "{}: expected a value of type {expected}, got one of type {}",
            describe(index, param),
            value.value_type()
        ))),
        None => Err(Error::Usage(format!(
            "{}: values of this type cannot be passed from outside of the program",
            describe(index, param)
        ))),
    }
}

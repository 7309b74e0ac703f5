//! Memory blocks with the last writer of each element.
//!
//! Logical time advances with every definition that writes. Each element records the time of its
//! last write and the name for which it was written. Each array records the time since which all of
//! its elements are its own: an element written later belongs to another array, and reading it as
//! an element of this one is an error.
//!
//! The elements of a block have one type, that of the first array in it.

use super::EvalError;
use super::array::checked_count;
use super::buffer::{Buffer, PartialBuffer};
use super::view::View;
use crate::name::{FunName, Name, NameTable};
use prim::{PrimType, Scalar};
use std::cell::RefCell;
use std::rc::Rc;

type Result<T> = std::result::Result<T, EvalError>;

/// Exclusive upper bound of logical time.
pub(super) const MAX_TIME: u32 = u32::MAX >> 1;

/// A block, shared by its arrays.
pub(super) type BlockRef = Rc<RefCell<Block>>;

/// A name of any function, as a number; see [`WriterNames`].
pub(super) type Writer = u32;

/// Time and writer of a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) time: u32,
    pub(super) writer: Writer,
}

/// Record of an element's last write: the time in the upper half, with a bit that is set if the
/// element was only reserved (as scratch space) and not written; the writer in the lower half.
/// Initially 0.
#[derive(Clone, Copy)]
struct WriteRecord(u64);

impl WriteRecord {
    fn new(stamp: Stamp, unset: bool) -> Self {
        let when = u64::from(stamp.time) << 1 | u64::from(unset);
        Self(when << 32 | u64::from(stamp.writer))
    }

    fn time(self) -> u32 {
        (self.0 >> 33) as u32
    }

    fn unset(self) -> bool {
        self.time() == 0 || (self.0 >> 32) & 1 == 1
    }

    fn writer(self) -> Writer {
        self.0 as u32
    }
}

/// The names denoted by writers.
#[derive(Default, Debug)]
pub(super) struct WriterNames(RefCell<Vec<(Writer, FunName, NameTable)>>);

impl WriterNames {
    /// Adds a function; returns the number of its first name.
    pub(super) fn add(&self, function: &FunName, names: &NameTable) -> Writer {
        let mut tables = self.0.borrow_mut();
        let base = tables.last().map_or(0, |(base, _, names)| base + names.len() as u32);
        tables.push((base, function.clone(), names.clone()));
        base
    }

    fn show(&self, writer: Writer) -> String {
        let tables = self.0.borrow();
        let at = tables.partition_point(|(base, _, _)| *base <= writer);
        match at.checked_sub(1).map(|at| &tables[at]) {
            Some((base, function, names)) if ((writer - base) as usize) < names.len() => {
                let name = crate::text::show_name(names, Name(writer - base));
                format!("{name} of {function}")
            }
            _ => "something".to_owned(),
        }
    }
}

/// A block of memory.
#[derive(Debug)]
pub struct Block {
    bytes: u64,
    name: Writer,
    legend: Rc<WriterNames>,
    /// `None` until the first array is written.
    data: Option<Buffer>,
    marks: Vec<u64>,
    /// True if the elements must not be overwritten.
    read_only: bool,
}

impl Block {
    /// A block of this size.
    pub(super) fn new(bytes: u64, name: Writer, legend: &Rc<WriterNames>) -> Self {
        Self { bytes, name, legend: legend.clone(), data: None, marks: Vec::new(), read_only: false }
    }

    /// Forbids writes from now on.
    pub(super) fn keep(&mut self) {
        self.read_only = true;
    }

    fn wrong<T>(&self, what: &str) -> Result<T> {
        let block = self.legend.show(self.name);
        Err(EvalError::bug(format!("block {block}: {what}")))
    }

    /// Checks that these elements exist and have this type.
    fn check_bounds(&self, view: &View, elem: PrimType) -> Result<()> {
        if let Some(data) = &self.data
            && data.elem() != elem
        {
            return self.wrong(&format!("it contains {}, but is accessed as {elem}", data.elem()));
        }
        let n = (self.bytes / elem.size()) as i64;
        match view.bounds() {
            Some((least, most)) if least < 0 || most >= n => {
                let at = if least < 0 { least } else { most };
                self.wrong(&format!("element {at} is out of bounds ({n} elements)"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the elements of the view have not been overwritten since `born`; returns true if
    /// all of them have been written.
    pub(super) fn check(&self, view: &View, elem: PrimType, born: u32) -> Result<bool> {
        self.check_bounds(view, elem)?;
        if self.marks.is_empty() {
            return Ok(view.count() == 0);
        }
        let (mut clobbered, mut all_set) = (None, true);
        let mut look = |at: usize, mark: u64| {
            let mark = WriteRecord(mark);
            all_set &= !mark.unset();
            if mark.time() > born && clobbered.is_none() {
                clobbered = Some((at, mark));
            }
        };
        match view.contiguous() {
            Some(range) => {
                let marks = &self.marks[range.clone()];
                marks.iter().zip(range).for_each(|(m, at)| look(at, *m));
            }
            None => view.each(|at| look(at, self.marks[at])),
        }
        match clobbered {
            Some((at, mark)) => self.clobbered(at, mark),
            None => Ok(all_set),
        }
    }

    fn clobbered<T>(&self, at: usize, mark: WriteRecord) -> Result<T> {
        let by = self.legend.show(mark.writer());
        self.wrong(&format!("element {at} is read, but {by} has overwritten it"))
    }

    /// Returns an element, which must not have been overwritten since `born`.
    pub(super) fn get(&self, at: i64, elem: PrimType, born: u32) -> Result<Scalar> {
        let view = View { offset: at, shape: smallvec::SmallVec::new(), strides: smallvec::SmallVec::new() };
        self.check_bounds(&view, elem)?;
        let mark = WriteRecord(self.marks.get(at as usize).copied().unwrap_or(0));
        if mark.time() > born {
            return self.clobbered(at as usize, mark);
        }
        match self.data.as_ref().and_then(|data| data.get(at as usize)) {
            Some(value) if !mark.unset() => Ok(value),
            _ => self.wrong(&format!("element {at} is read before it is written")),
        }
    }

    /// Appends elements, which must not have been overwritten since `born`; unwritten ones are
    /// included.
    pub(super) fn append(
        &self,
        view: &View,
        elem: PrimType,
        born: u32,
        out: &mut PartialBuffer,
    ) -> Result<bool> {
        let all_set = self.check(view, elem, born)?;
        let Some(data) = &self.data else {
            let nothing = PartialBuffer::scratch(elem, view.count());
            let whole = View::whole(smallvec::smallvec![view.count() as i64]);
            return Ok(out.extend(&nothing.data, &whole, Some(&|_| true)));
        };
        let unset = |at: usize| WriteRecord(self.marks[at]).unset();
        Ok(out.extend(data, view, (!all_set).then_some(&unset)))
    }

    /// Checks a write to these elements, and creates the buffer at the first one.
    fn prepare_write(&mut self, view: &View, elem: PrimType) -> Result<()> {
        self.check_bounds(view, elem)?;
        if view.count() == 0 {
            return Ok(());
        }
        if self.read_only {
            return self.wrong("it is read-only, but is written");
        }
        if self.data.is_none() {
            let n = (self.bytes / elem.size()) as i64;
            let n = checked_count(&[n], elem)?;
            self.data = Some(Buffer::filled(Scalar::zero(elem), n));
            self.marks = vec![0; n];
        }
        Ok(())
    }

    /// Writes an element.
    pub(super) fn set(&mut self, at: i64, value: Scalar, stamp: Stamp) -> Result<()> {
        let view = View { offset: at, shape: smallvec::SmallVec::new(), strides: smallvec::SmallVec::new() };
        self.prepare_write(&view, value.ty())?;
        if let (Some(data), Some(mark)) = (&mut self.data, self.marks.get_mut(at as usize)) {
            let _ = data.set(at as usize, value);
            *mark = WriteRecord::new(stamp, false).0;
        }
        Ok(())
    }

    /// Writes elements, as many as the view has, in its order. Elements that are unset in the
    /// source are unset afterwards.
    pub(super) fn put(&mut self, view: &View, from: &PartialBuffer, stamp: Stamp) -> Result<bool> {
        self.prepare_write(view, from.data.elem())?;
        let Some(data) = &mut self.data else {
            return Ok(from.data.is_empty());
        };
        if !data.put(view, &from.data) {
            return Ok(false);
        }
        let (set, unset) = (WriteRecord::new(stamp, false).0, WriteRecord::new(stamp, true).0);
        if let (Some(range), true) = (view.contiguous(), from.unset.is_empty()) {
            self.marks[range].fill(set);
            return Ok(true);
        }
        let mut written = from.unset.iter();
        let marks = &mut self.marks;
        view.each(|at| {
            let is_unset = written.next() == Some(&true);
            marks[at] = if is_unset { unset } else { set };
        });
        Ok(true)
    }
}

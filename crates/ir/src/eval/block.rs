//! Blocks of memory, and who wrote each of their elements last.
//!
//! Time passes with every definition that writes. An element notes the time of
//! its last write and the name for which it was written. An array knows since
//! when all that lies in it is its own: an element that was written later
//! belongs to another array, and reading it as a part of this one is an error.
//!
//! A block's elements are of one type, that of the first array in it.

use super::EvalError;
use super::array::checked_count;
use super::buffer::{Buffer, Store};
use super::view::View;
use crate::name::{FunName, Name, NameTable};
use prim::{PrimType, Scalar};
use std::cell::RefCell;
use std::rc::Rc;

type Result<T> = std::result::Result<T, EvalError>;

/// Points in time are below this.
pub(super) const END_OF_TIME: u32 = u32::MAX >> 1;

/// A block, shared by the arrays in it.
pub(super) type BlockRef = Rc<RefCell<Block>>;

/// A name of any function, as a number: see [`Legend`].
pub(super) type Writer = u32;

/// When something is written, and as what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) time: u32,
    pub(super) writer: Writer,
}

/// What an element notes: the time above, whether it was only claimed (as
/// scratch space) and not written, the writer below. All 0 at first.
#[derive(Clone, Copy)]
struct Mark(u64);

impl Mark {
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

/// The names that writers stand for.
#[derive(Default, Debug)]
pub(super) struct Legend(RefCell<Vec<(Writer, FunName, NameTable)>>);

impl Legend {
    /// Adds a function; the number of its first name.
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
    legend: Rc<Legend>,
    /// Nothing is kept before the first array comes.
    data: Option<Buffer>,
    marks: Vec<u64>,
    /// Whether what is in it must stay as it is.
    kept: bool,
}

impl Block {
    /// A block of so many bytes.
    pub(super) fn new(bytes: u64, name: Writer, legend: &Rc<Legend>) -> Self {
        Self { bytes, name, legend: legend.clone(), data: None, marks: Vec::new(), kept: false }
    }

    /// From now on, what is in it must stay as it is.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }

    fn wrong<T>(&self, what: &str) -> Result<T> {
        let block = self.legend.show(self.name);
        Err(EvalError::bug(format!("block {block}: {what}")))
    }

    /// Sees to it that these elements exist.
    fn hold(&self, view: &View, elem: PrimType) -> Result<()> {
        if let Some(data) = &self.data
            && data.elem() != elem
        {
            return self.wrong(&format!("it holds {} and is used for {elem}", data.elem()));
        }
        let n = (self.bytes / elem.size()) as i64;
        match view.bounds() {
            Some((least, most)) if least < 0 || most >= n => {
                let at = if least < 0 { least } else { most };
                self.wrong(&format!("element {at} lies outside, there are {n}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that what lies at these places has been there since `born`;
    /// whether all of it was written.
    pub(super) fn check(&self, view: &View, elem: PrimType, born: u32) -> Result<bool> {
        self.hold(view, elem)?;
        if self.marks.is_empty() {
            return Ok(view.count() == 0);
        }
        let (mut clobbered, mut all_set) = (None, true);
        let mut look = |at: usize, mark: u64| {
            let mark = Mark(mark);
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

    fn clobbered<T>(&self, at: usize, mark: Mark) -> Result<T> {
        let by = self.legend.show(mark.writer());
        self.wrong(&format!("element {at} is read, but {by} has overwritten what was there"))
    }

    /// An element that has been there since `born`.
    pub(super) fn get(&self, at: i64, elem: PrimType, born: u32) -> Result<Scalar> {
        let view = View { offset: at, shape: smallvec::SmallVec::new(), strides: smallvec::SmallVec::new() };
        self.hold(&view, elem)?;
        let mark = Mark(self.marks.get(at as usize).copied().unwrap_or(0));
        if mark.time() > born {
            return self.clobbered(at as usize, mark);
        }
        match self.data.as_ref().and_then(|data| data.get(at as usize)) {
            Some(value) if !mark.unset() => Ok(value),
            _ => self.wrong(&format!("element {at} is read, but nobody wrote it")),
        }
    }

    /// Appends elements that have been there since `born`, written or not.
    pub(super) fn append(&self, view: &View, elem: PrimType, born: u32, out: &mut Store) -> Result<bool> {
        let all_set = self.check(view, elem, born)?;
        let Some(data) = &self.data else {
            let nothing = Store::scratch(elem, view.count());
            let whole = View::whole(smallvec::smallvec![view.count() as i64]);
            return Ok(out.extend(&nothing.data, &whole, Some(&|_| true)));
        };
        let unset = |at: usize| Mark(self.marks[at]).unset();
        Ok(out.extend(data, view, (!all_set).then_some(&unset)))
    }

    /// Prepares for a write to these elements.
    fn open(&mut self, view: &View, elem: PrimType) -> Result<()> {
        self.hold(view, elem)?;
        if view.count() == 0 {
            return Ok(());
        }
        if self.kept {
            return self.wrong("it is written, but what is in it is still needed");
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
        self.open(&view, value.ty())?;
        if let (Some(data), Some(mark)) = (&mut self.data, self.marks.get_mut(at as usize)) {
            let _ = data.set(at as usize, value);
            *mark = Mark::new(stamp, false).0;
        }
        Ok(())
    }

    /// Writes elements, as many as there are in the view, in its order; those that
    /// were never written are not, afterwards.
    pub(super) fn put(&mut self, view: &View, from: &Store, stamp: Stamp) -> Result<bool> {
        self.open(view, from.data.elem())?;
        let Some(data) = &mut self.data else {
            return Ok(from.data.is_empty());
        };
        if !data.put(view, &from.data) {
            return Ok(false);
        }
        let (set, unset) = (Mark::new(stamp, false).0, Mark::new(stamp, true).0);
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

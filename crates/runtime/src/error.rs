//! Run-time failures: the context's error slot, and the format of messages.
//!
//! The first failure of a call fills the slot; later ones are dropped. The slot holds owned text,
//! so that no references to generated code remain.

use crate::abi::{CheckDesc, Ctx, text};
use half::f16;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The reason why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The program failed: message and backtrace, beginning with `Error: `.
    Program(String),
    /// The call was invalid: entry point, number or types of arguments, options.
    Usage(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(message) | Self::Usage(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

/// The maximum number of calls that a backtrace shows; a stack overflow has many more.
const MAX_CALLS: usize = 8;

/// Holds the first failure of a call.
#[derive(Default)]
pub struct ErrorSlot {
    set: AtomicBool,
    failure: Mutex<Recorded>,
}

#[derive(Default)]
struct Recorded {
    /// The finished text, or, while calls are added to the backtrace, the bare message.
    message: String,
    /// The thread on whose stack calls are added to the backtrace.
    backtrace_thread: Option<usize>,
    /// The source positions of the backtrace, innermost first, one per line.
    location: String,
    /// The number of calls in the backtrace.
    calls: usize,
    /// The number of calls left out of it.
    more: usize,
}

impl Recorded {
    fn text(self) -> String {
        if self.backtrace_thread.is_none() {
            return self.message;
        }
        let mut text = render(&self.message, &self.location);
        if self.more > 0 {
            let _ = write!(text, "\n   and {} more calls", self.more);
        }
        text
    }
}

impl ErrorSlot {
    /// Records a failure, as its finished text, unless one is recorded already.
    pub fn record(&self, text: impl FnOnce() -> String) {
        self.set(|| Recorded { message: text(), ..Recorded::default() });
    }

    /// Records a failure to whose backtrace the calls on this thread are added.
    pub fn record_with_backtrace(&self, thread: usize, message: &str) {
        self.set(|| Recorded {
            message: message.to_owned(),
            backtrace_thread: Some(thread),
            ..Recorded::default()
        });
    }

    fn set(&self, failure: impl FnOnce() -> Recorded) {
        if self.set.load(Ordering::Acquire) {
            return;
        }
        let mut slot = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.set.load(Ordering::Acquire) {
            *slot = failure();
            self.set.store(true, Ordering::Release);
        }
    }

    /// Adds the location of a call to the backtrace, if it is open for this thread.
    pub fn called(&self, thread: usize, location: &str) {
        let mut slot = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.backtrace_thread != Some(thread) {
            return;
        }
        if slot.calls == MAX_CALLS {
            slot.more += 1;
            return;
        }
        slot.calls += 1;
        slot.location.push_str(location);
        slot.location.push('\n');
    }

    /// Takes the failure out; the slot is empty again.
    pub fn take(&self) -> Option<String> {
        if !self.set.load(Ordering::Acquire) {
            return None;
        }
        let mut slot = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        self.set.swap(false, Ordering::AcqRel).then(|| std::mem::take(&mut *slot).text())
    }
}

/// Records the failure of a check; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context, `desc` a valid
/// description, `values` as many words as its format has placeholders.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_fail(ctx: *mut Ctx, desc: *const CheckDesc, values: *const u64) -> i32 {
    // SAFETY: by the caller's promise.
    let (shared, desc) = unsafe { ((*ctx).shared(), &*desc) };
    shared.errors.record(|| {
        let mut next = 0;
        check_message(desc, || {
            // SAFETY: called once for each placeholder.
            let word = unsafe { values.add(next).read() };
            next += 1;
            word
        })
    });
    1
}

/// The message of a failing check, with the words that `next` returns.
pub(crate) fn check_message(desc: &CheckDesc, next: impl FnMut() -> u64) -> String {
    // SAFETY: descriptions hold valid addresses.
    let (format, location) =
        unsafe { (text(desc.format, desc.format_len), text(desc.location, desc.location_len)) };
    render(&fill(&format, next), &location)
}

/// A number of arguments in words: `1 argument`, `2 arguments`.
pub fn count_arguments(count: usize) -> String {
    format!("{count} argument{}", if count == 1 { "" } else { "s" })
}

/// Adds a failed call at the description's location to the backtrace; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context, `desc` a valid description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_called(ctx: *mut Ctx, desc: *const CheckDesc) {
    // SAFETY: by the caller's promise.
    let (ctx, desc) = unsafe { (&*ctx, &*desc) };
    // SAFETY: by the caller's promise.
    let location = unsafe { text(desc.location, desc.location_len) };
    ctx.shared().errors.called(ctx.index(), &location);
}

/// The text of a failure with its backtrace; `location` as in [`CheckDesc`].
pub fn render(message: &str, location: &str) -> String {
    let mut out = format!("Error: {message}");
    for (i, position) in location.lines().filter(|line| !line.is_empty()).enumerate() {
        if i == 0 {
            out.push_str("\n\nBacktrace:");
        }
        let arrow = if i == 0 { "->" } else { "  " };
        let number = format!("#{i}");
        // Writing to a string cannot fail.
        let _ = write!(out, "\n{arrow} {number:<3} {position}");
    }
    out
}

/// Replaces the placeholders of a format by the words that `next` returns.
fn fill(format: &str, mut next: impl FnMut() -> u64) -> String {
    let mut out = String::with_capacity(format.len() + 16);
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let (brace, tail) = rest[at..].split_at(1);
        if let Some(after) = tail.strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
            continue;
        }
        let shown = tail.split_once('}').and_then(|(ty, after)| {
            is_placeholder(ty).then(|| {
                rest = after;
                show(ty, next())
            })
        });
        if let Some(shown) = shown {
            out.push_str(&shown);
        } else {
            out.push_str(brace);
            rest = tail;
        }
    }
    out.push_str(rest);
    out
}

fn is_placeholder(ty: &str) -> bool {
    prim::ScalarType::ALL.iter().any(|t| t.name() == ty)
}

fn show(ty: &str, word: u64) -> String {
    match ty {
        "i8" => (word as i8).to_string(),
        "i16" => (word as i16).to_string(),
        "i32" => (word as i32).to_string(),
        "i64" => (word as i64).to_string(),
        "u8" => (word as u8).to_string(),
        "u16" => (word as u16).to_string(),
        "u32" => (word as u32).to_string(),
        "f16" => f16::from_bits(word as u16).to_string(),
        "f32" => f32::from_bits(word as u32).to_string(),
        "f64" => f64::from_bits(word).to_string(),
        "bool" => (word & 1 != 0).to_string(),
        _ => word.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorSlot, fill, render};

    fn filled(format: &str, words: &[u64]) -> String {
        let mut words = words.iter();
        fill(format, || *words.next().expect("as many words as placeholders"))
    }

    #[test]
    fn placeholders_and_braces() {
        assert_eq!(
            filled("Index [{i64}] out of bounds for array of shape [{i64}].", &[-1i64 as u64, 10]),
            "Index [-1] out of bounds for array of shape [10]."
        );
        assert_eq!(
            filled(
                "{{{i32}}} {bool} {u8} {f32} {f64}{{}}",
                &[0xffff_ffff, 1, 0x1ff, 1.5f32.to_bits().into(), 0.1f64.to_bits()]
            ),
            "{-1} true 255 1.5 0.1{}"
        );
        assert_eq!(filled("}{ {x} {", &[]), "}{ {x} {");
        assert_eq!(filled("é {i8}ß", &[0x80]), "é -128ß");
    }

    #[test]
    fn backtrace_marks_the_innermost_position() {
        assert_eq!(
            render("division by zero", "a.fut:1:2-3\nb.fut:10:1-4"),
            "Error: division by zero\n\nBacktrace:\n-> #0  a.fut:1:2-3\n   #1  b.fut:10:1-4"
        );
        assert_eq!(render("no location", ""), "Error: no location");
    }

    #[test]
    fn calls_are_added_to_the_backtrace() {
        let slot = ErrorSlot::default();
        slot.record_with_backtrace(1, "too deep");
        for call in 0..20 {
            slot.called(0, "elsewhere.fut:1:1-1");
            slot.called(1, &format!("a.fut:{call}:1-2"));
        }
        let text = slot.take().expect("it failed");
        assert!(
            text.starts_with("Error: too deep\n\nBacktrace:\n-> #0  a.fut:0:1-2\n   #1  a.fut:1:1-2\n"),
            "{text}"
        );
        assert!(text.ends_with("   #7  a.fut:7:1-2\n   and 12 more calls"), "{text}");
        slot.record(|| "one".into());
        slot.called(0, "a.fut:1:1-2");
        assert_eq!(slot.take().as_deref(), Some("one"));
    }

    #[test]
    fn the_first_failure_wins_and_the_slot_can_be_used_again() {
        let slot = ErrorSlot::default();
        assert_eq!(slot.take(), None);
        slot.record(|| "one".into());
        slot.record(|| "two".into());
        assert_eq!(slot.take().as_deref(), Some("one"));
        slot.record(|| "three".into());
        assert_eq!(slot.take().as_deref(), Some("three"));
        assert_eq!(slot.take(), None);
    }
}

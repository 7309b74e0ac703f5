//! What is said when the compiler breaks: one message with all that a report needs,
//! and exit code 3, so that scripts tell it from a rejected program (1) and from
//! wrong usage (2).
//!
//! Nothing is left half written: outputs are renamed into place when they are done.

use crate::memory;
use std::io::Write;
use std::panic::PanicHookInfo;

/// The exit code of a compiler that broke.
pub const EXIT_CODE: i32 = 3;

/// From now on a panic ends the process with a message.
pub fn end_process() {
    std::panic::set_hook(Box::new(|info| {
        let _ = writeln!(std::io::stderr(), "{}", message(info));
        runtime::exit_at_once(EXIT_CODE)
    }));
}

/// What is said of a panic.
pub fn message(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map(|at| format!(" at {at}"));
    let work = memory::work().map(|(file, stage)| format!(" ({file}, {stage})"));
    format!(
        "bindrune: a bug of the compiler: {what}{}{}\nplease report it, with the program: this is bindrune {}",
        place.unwrap_or_default(),
        work.unwrap_or_default(),
        env!("CARGO_PKG_VERSION"),
    )
}

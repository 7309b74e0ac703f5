//! Internal compiler errors: one message with everything that a report needs, and exit code 3,
//! which differs from those of a rejected program (1) and of wrong usage (2).
//!
//! Outputs are renamed into place when complete, so none is left half written.

use crate::memory;
use runner::executable::COMPILER_BUG;
use std::io::Write;
use std::panic::PanicHookInfo;

/// Installs a panic hook that prints a message and ends the process.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let _ = writeln!(std::io::stderr(), "{}", message(info));
        runtime::exit_at_once(COMPILER_BUG)
    }));
}

/// Returns the message for a panic.
pub fn message(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("no message");
    let location = info.location().map(|at| format!(" at {at}"));
    let work = memory::work().map(|(file, stage)| format!(" ({file}, {stage})"));
    format!(
        "bindrune: compiler bug: {what}{}{}\nplease report it with the program; this is bindrune {}",
        location.unwrap_or_default(),
        work.unwrap_or_default(),
        env!("CARGO_PKG_VERSION"),
    )
}

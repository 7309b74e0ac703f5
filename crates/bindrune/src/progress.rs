//! Progress of commands that process many programs: a bar on a terminal, plain lines otherwise.
//! Failures are printed as they happen.

use crate::common;
use driver::Session;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use runner::Log;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use syntax::diag::Diagnostic;

/// Progress through a number of items.
pub struct Progress {
    bar: Option<ProgressBar>,
    failed: AtomicUsize,
}

impl Progress {
    /// Starts at 0 of `items`. `plain` suppresses the bar.
    pub fn new(items: usize, plain: bool) -> Self {
        let bar = (!plain && items > 1 && std::io::stderr().is_terminal()).then(|| {
            let bar =
                ProgressBar::with_draw_target(Some(items as u64), ProgressDrawTarget::stderr_with_hz(10));
            let style = ProgressStyle::with_template(
                "{bar:30} {pos}/{len} {prefix} [{elapsed}, {eta} left] {wide_msg}",
            );
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, failed: AtomicUsize::new(0) }
    }

    /// Returns a spinner for a task of unknown length.
    pub fn spinner() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(None, target);
            let style = ProgressStyle::with_template("{spinner} [{elapsed}] {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(std::time::Duration::from_millis(200));
            bar
        });
        Self { bar, failed: AtomicUsize::new(0) }
    }

    /// Marks the end of an item and prints these lines.
    pub fn end(&self, failed: bool, lines: &[String]) {
        if failed {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(bar) = &self.bar {
            for line in lines {
                bar.println(line);
            }
            let failed = self.failed.load(Ordering::Relaxed);
            if failed > 0 {
                bar.set_prefix(format!("({failed} failed)"));
            }
            bar.inc(1);
        } else {
            let mut stderr = std::io::stderr().lock();
            for line in lines {
                // Write errors of standard error are ignored.
                let _ = writeln!(stderr, "{line}");
            }
        }
    }

    /// Calls `f` while the bar is hidden.
    pub fn pause<T>(&self, f: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(f),
            None => f(),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Log for Progress {
    fn note(&self, line: &str) {
        self.pause(|| common::note(line));
    }

    fn begin(&self, activity: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(activity.to_owned());
        }
    }

    fn diagnostics(&self, session: &Session, diagnostics: &[Diagnostic]) {
        self.pause(|| common::show(session, diagnostics));
    }
}

//! Progress of commands that work on many programs: a bar on a terminal, lines
//! otherwise. What went wrong is shown as it happens.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Progress through a number of items.
pub struct Progress {
    bar: Option<ProgressBar>,
    failed: AtomicUsize,
}

impl Progress {
    /// None done yet. `plain` suppresses the bar.
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

    /// Of one thing that takes nobody knows how many steps.
    pub fn endless() -> Self {
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

    /// Work on an item begins.
    pub fn begin(&self, name: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(name.to_owned());
        }
    }

    /// Work on an item ends, with these lines to be shown.
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
                // Whoever closes standard error does not want to know.
                let _ = writeln!(stderr, "{line}");
            }
        }
    }

    /// Does something while the bar is out of the way.
    pub fn pause<T>(&self, f: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(f),
            None => f(),
        }
    }

    /// All is done.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

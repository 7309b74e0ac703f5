//! Times of launches and copies, for `-P` and `-D`: a row for each kernel and for each direction of
//! copies, and with `-D` a line for each command.
//!
//! The driver times commands by its own events, and only if a profile is requested. Times are
//! collected now and then, with `-D` after each command: failures are then reported for the command
//! that failed.

use crate::abi::{DeviceDesc, KernelDesc};

/// The number of pending commands after which their times are collected.
pub const MOST_PENDING: usize = 1024;
/// The maximum number of lines kept between two calls of `lines`.
const MOST_LINES: usize = 1 << 16;

/// The directions of a copy, as [`crate::abi`] numbers them.
pub const DIRECTIONS: [&str; 3] = ["to the device", "to the host", "on the device"];

/// A command of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// A launch: kernel and number of blocks.
    Launch(usize, u64),
    /// A copy: direction and number of bytes.
    Copy(usize, u64),
    /// A read or reset of the failure block.
    FailureBlock,
}

/// The totals of all commands of a kind.
#[derive(Clone, Copy, Default, Debug)]
struct Row {
    calls: u64,
    nanos: u64,
    bytes: u64,
}

/// The times of a context's commands.
pub struct Profile {
    /// True if the host waits for each command and logs a line for it.
    pub debug: bool,
    pending: Vec<Command>,
    kernels: Vec<Row>,
    copies: [Row; DIRECTIONS.len()],
    notes: Row,
    lines: Vec<String>,
    more: u64,
}

impl Profile {
    /// An empty profile of a program's kernels.
    pub fn new(desc: &DeviceDesc, debug: bool) -> Self {
        Self {
            debug,
            pending: Vec::new(),
            kernels: vec![Row::default(); desc.kernels().len()],
            copies: Default::default(),
            notes: Row::default(),
            lines: Vec::new(),
            more: 0,
        }
    }

    /// Records an issued command; returns true if times should be collected now.
    pub fn issued(&mut self, command: Command) -> bool {
        self.pending.push(command);
        self.debug || self.pending.len() >= MOST_PENDING
    }

    /// Records the times, in nanoseconds, of the commands since the last call, in order.
    pub fn completed(&mut self, desc: &DeviceDesc, times: &[u64]) {
        for (command, nanos) in std::mem::take(&mut self.pending).into_iter().zip(times) {
            let (row, bytes) = match command {
                Command::Launch(kernel, _) => (self.kernels.get_mut(kernel), 0),
                Command::Copy(way, bytes) => (self.copies.get_mut(way), bytes),
                Command::FailureBlock => (Some(&mut self.notes), 0),
            };
            if let Some(row) = row {
                row.calls += 1;
                row.nanos += nanos;
                row.bytes += bytes;
            }
            if self.debug {
                self.add_line(desc, command, *nanos);
            }
        }
    }

    /// Resets the totals after a warm-up run.
    pub fn restart(&mut self) {
        self.kernels.fill(Row::default());
        self.copies = Default::default();
        self.notes = Row::default();
    }

    /// Drops the commands since the last call, whose times are unknown.
    pub fn forget(&mut self) {
        self.pending.clear();
    }

    fn add_line(&mut self, desc: &DeviceDesc, command: Command, nanos: u64) {
        let what = match command {
            Command::Launch(kernel, blocks) => {
                let Some(kernel) = desc.kernels().get(kernel) else {
                    return;
                };
                let threads = kernel.threads;
                format!("{}: {blocks} blocks of {threads} threads", display_name(kernel))
            }
            Command::Copy(way, bytes) => {
                let way = DIRECTIONS.get(way).unwrap_or(&"");
                format!("copy {way}: {bytes} bytes")
            }
            Command::FailureBlock => return,
        };
        if self.lines.len() < MOST_LINES {
            let took = micros(nanos);
            self.lines.push(format!("{what}, {took} us"));
        } else {
            self.more += 1;
        }
    }

    /// Takes the lines since the last call.
    pub fn lines(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.lines);
        let more = std::mem::take(&mut self.more);
        if more > 0 {
            lines.push(format!("There were {more} more launches and copies."));
        }
        lines
    }

    /// The table, sorted by time, longest first.
    pub fn table(&self, desc: &DeviceDesc) -> Vec<String> {
        let kernels = desc.kernels().iter().zip(&self.kernels);
        let mut rows: Vec<(String, Row)> = kernels.map(|(k, row)| (display_name(k), *row)).collect();
        let copies = DIRECTIONS.iter().zip(&self.copies);
        rows.extend(copies.map(|(way, row)| (format!("copies {way}"), *row)));
        rows.push(("notes of failures".to_owned(), self.notes));
        rows.retain(|(_, row)| row.calls > 0);
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.nanos));
        let mut all = Row::default();
        for (_, row) in &rows {
            all.calls += row.calls;
            all.nanos += row.nanos;
            all.bytes += row.bytes;
        }
        rows.push(("all launches and copies".to_owned(), all));
        let head = format!(
            "{:>9} {:>14} {:>12} {:>7} {:>14}  launch or copy",
            "times", "us", "us each", "share", "bytes"
        );
        let lines = rows.into_iter().map(|(name, row)| {
            format!(
                "{:>9} {:>14} {:>12} {:>6.1}% {:>14}  {name}",
                row.calls,
                micros(row.nanos),
                micros(row.nanos / row.calls.max(1)),
                100.0 * row.nanos as f64 / all.nanos.max(1) as f64,
                row.bytes,
            )
        });
        std::iter::once(head).chain(lines).collect()
    }
}

/// Microseconds with one decimal.
fn micros(nanos: u64) -> String {
    format!("{:.1}", nanos as f64 / 1e3)
}

/// The path prefix of the standard library's files, which are not shown.
const LIBRARY: &str = "/prelude/";

/// A kernel's name in reports: name, number and positions in the source.
pub fn display_name(kernel: &KernelDesc) -> String {
    located(&format!("{}#{}", kernel.display_name.get(), kernel.id), kernel.spans.get())
}

/// A name with, for each operation in the list of spans, the innermost position that is in the user's code.
pub fn located(name: &str, list: &str) -> String {
    let mut spans: Vec<&str> = Vec::new();
    for part in list.split("\n\n") {
        let user_span = part.lines().find(|span| !span.starts_with(LIBRARY));
        let span = user_span.or_else(|| part.lines().next()).unwrap_or("");
        if !span.is_empty() && !spans.contains(&span) {
            spans.push(span);
        }
    }
    if spans.is_empty() {
        return name.to_owned();
    }
    format!("{name} ({})", spans.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{Command, MOST_PENDING, Profile, display_name};
    use crate::abi::{DeviceDesc, KernelDesc, Str, TARGET_OPENCL};

    const KERNEL: KernelDesc = KernelDesc {
        name: Str::new("k0"),
        display_name: Str::new("main.segred"),
        id: 3,
        spans: Str::new("/prelude/x.fut:7:1-2\na.fut:1:1-2\na.fut:9:1-5\n\na.fut:2:3-4"),
        threads: 256,
        sizes: std::ptr::null(),
        n_sizes: 0,
        n_shared_buffers: 0,
        fails: 1,
    };

    fn desc(kernels: &[KernelDesc]) -> DeviceDesc {
        DeviceDesc {
            target: TARGET_OPENCL,
            source: Str::new(""),
            needs: Str::new(""),
            kernels: kernels.as_ptr(),
            n_kernels: kernels.len() as u64,
            checks: std::ptr::null(),
            n_checks: 0,
        }
    }

    #[test]
    fn rows_are_sorted_by_time_and_debugging_adds_lines() {
        assert_eq!(display_name(&KERNEL), "main.segred#3 (a.fut:1:1-2, a.fut:2:3-4)");
        let kernels = [KERNEL];
        let desc = desc(&kernels);
        for debug in [false, true] {
            let mut profile = Profile::new(&desc, debug);
            for command in
                [Command::Copy(0, 100), Command::Launch(0, 7), Command::Launch(0, 8), Command::FailureBlock]
            {
                assert_eq!(profile.issued(command), debug);
            }
            profile.completed(&desc, &[1000, 2500, 3500, 3000]);
            let expected = [
                "    times             us      us each   share          bytes  launch or copy",
                "        2            6.0          3.0   60.0%              0  main.segred#3 (a.fut:1:1-2, a.fut:2:3-4)",
                "        1            3.0          3.0   30.0%              0  notes of failures",
                "        1            1.0          1.0   10.0%            100  copies to the device",
                "        4           10.0          2.5  100.0%            100  all launches and copies",
            ];
            assert_eq!(profile.table(&desc), expected);
            let lines = profile.lines();
            if debug {
                let first = "copy to the device: 100 bytes, 1.0 us";
                let second = "main.segred#3 (a.fut:1:1-2, a.fut:2:3-4): 7 blocks of 256 threads, 2.5 us";
                assert_eq!((&*lines[0], &*lines[1], lines.len()), (first, second, 3));
            } else {
                assert!(lines.is_empty());
            }
            assert!(profile.lines().is_empty());
        }
    }

    #[test]
    fn times_are_collected_before_too_many_are_pending() {
        let mut profile = Profile::new(&desc(&[]), false);
        let wanted = (0..MOST_PENDING).position(|_| profile.issued(Command::FailureBlock));
        assert_eq!(wanted, Some(MOST_PENDING - 1));
    }
}

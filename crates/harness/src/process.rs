//! Child processes that may crash, hang or use too much memory, run with limits.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The limit on a child's address space, in KiB.
const MEMORY: u64 = 16 << 20;
/// The limit on each output stream, in bytes.
const MAX_OUTPUT: u64 = 2 << 30;

/// The way a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// It was killed at the time limit or because `stop` was set.
    Timeout,
    /// It exited, but wrote more output than the limit.
    OutputLimit,
}

/// The result of a process.
#[derive(Debug)]
pub struct Finished {
    /// The way it ended.
    pub end: End,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

/// Runs a program with arguments and standard input.
///
/// # Errors
/// The program does not start.
pub fn run(program: &[&str], stdin: &[u8], limit: Duration) -> Result<Finished, String> {
    run_until(program, stdin, limit, &AtomicBool::new(false))
}

/// As [`run`], but the program is also killed when `stop` is set.
pub fn run_until(
    program: &[&str],
    stdin: &[u8],
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Finished, String> {
    let limited = format!("ulimit -v {MEMORY} 2>/dev/null; ulimit -c 0; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, "sh"]).args(program);
    start(&mut command, stdin, limit, stop)
}

/// As [`run`], without a limit on address space: `valgrind` needs a large one.
pub fn run_unlimited(program: &[&str], stdin: &[u8], limit: Duration) -> Result<Finished, String> {
    let (name, args) = program.split_first().ok_or("no program to run")?;
    start(Command::new(name).args(args), stdin, limit, &AtomicBool::new(false))
}

fn start(
    command: &mut Command,
    stdin: &[u8],
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Finished, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
    let (to, from, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let end = std::thread::scope(|scope| {
        // A process that does not read its input closes the pipe; the write error is ignored.
        scope.spawn(move || to.map(|mut to| drop(to.write_all(stdin))));
        let out = scope.spawn(|| from.is_none_or(|from| read_limited(from, &mut stdout)));
        let err = scope.spawn(|| errors.is_none_or(|errors| read_limited(errors, &mut stderr)));
        let end = wait(&mut child, limit, stop)?;
        let complete = [out, err].map(|reader| reader.join().unwrap_or(false));
        Ok::<End, String>(match end {
            End::Code(_) if complete != [true, true] => End::OutputLimit,
            end => end,
        })
    })?;
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    Ok(Finished { end, stdout, stderr })
}

/// Reads to the end and keeps up to the limit. Returns true if that is everything.
fn read_limited(mut from: impl Read, to: &mut Vec<u8>) -> bool {
    let result = from.by_ref().take(MAX_OUTPUT).read_to_end(to);
    result.is_ok() && std::io::copy(&mut from, &mut std::io::sink()).is_ok_and(|more| more == 0)
}

fn wait(child: &mut Child, limit: Duration, stop: &AtomicBool) -> Result<End, String> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            use std::os::unix::process::ExitStatusExt;
            return Ok(match (status.code(), status.signal()) {
                (Some(code), _) => End::Code(code),
                (None, signal) => End::Signal(signal.unwrap_or(0)),
            });
        }
        if start.elapsed() > limit || stop.load(Ordering::Relaxed) {
            child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
            return Ok(End::Timeout);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

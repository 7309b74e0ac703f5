//! Processes of the tests: the binary under test, and an executable built from a program with many
//! entry points.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The time limit of a process.
const LIMIT: Duration = Duration::from_mins(2);

/// The program of most tests.
pub const SAMPLE: &str = "\
entry main (xs: []i32) : i32 = reduce (+) 0 xs
entry dot [n] (xs: [n]f64) (ys: [n]f64) : f64 = reduce (+) 0 (map2 (*) xs ys)
entry both (x: i32) (y: f32) : (i32, f32) = (x + 1, y / 2)
entry squares (n: i64) : []i64 = map (\\i -> i * i) (iota n)
entry consume (xs: *[]i32) : *[]i32 = xs with [0] = xs[0] + 1
entry gather (xs: []i32) (is: []i64) : []i32 =
  map (\\i -> xs[i]) is
entry divide (n: i64) (d: i32) : []i32 = map (\\i -> 100 / (i32.i64 i - d)) (iota n)
entry positive (xs: []i32) : []i32 = map (\\x -> assert (x > 0) (x + x)) xs
entry fit [n] (xs: [n]i32) (ys: []i32) : [n]i32 = map2 (*) xs (ys :> [n]i32)
entry fill (n: i64) (x: i64) : []i64 = replicate n x
entry table (n: i64) (m: i64) : [][]i32 = replicate n (replicate m 1)
entry nothing (_x: i32) : () = ()
entry record (x: i32) : {a: i32, b: f32} = {a = x, b = 1}
entry flags (xs: []bool) : []bool = map (\\x -> !x) xs
";

/// The result of a process.
#[derive(Debug)]
pub struct Finished {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Standard output as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("standard output is text")
    }

    /// Checks success and an empty standard error.
    #[track_caller]
    pub fn quiet(self) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{}", self.text());
        self
    }

    /// Checks exit code 1 and that standard error contains all parts.
    #[track_caller]
    pub fn fails(self, parts: &[&str]) -> Self {
        assert_eq!(self.code, 1, "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is missing in:\n{}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// Runs a process to its end. Panics if it is killed by a signal or exceeds the time limit.
#[track_caller]
pub fn finish(command: &mut Command, stdin: &[u8]) -> Finished {
    if command.get_envs().all(|(name, _)| name != "RUST_BACKTRACE") {
        command.env("RUST_BACKTRACE", "0");
    }
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the process starts");
    let mut to = child.stdin.take().expect("standard input is a pipe");
    let mut from = child.stdout.take();
    let mut errors = child.stderr.take().expect("standard error is a pipe");
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status = std::thread::scope(|scope| {
        // A process that does not read all of its input closes the pipe; the write error is
        // ignored.
        scope.spawn(move || drop(to.write_all(stdin)));
        scope.spawn(|| from.as_mut().map(|from| from.read_to_end(&mut stdout)));
        scope.spawn(|| errors.read_to_end(&mut stderr));
        let start = Instant::now();
        loop {
            match child.try_wait().expect("the process can be waited for") {
                Some(status) => break Some(status),
                None if start.elapsed() > LIMIT => {
                    child.kill().expect("the process can be ended");
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    });
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    let status = status.unwrap_or_else(|| panic!("{command:?} does not end: {stderr}"));
    let code = status.code().unwrap_or_else(|| panic!("{command:?}: {status}: {stderr}"));
    Finished { code, stdout, stderr }
}

/// The command of the binary under test with these arguments.
pub fn command<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bindrune"));
    command.args(args).stdout(Stdio::piped());
    command
}

/// Runs the binary under test.
#[track_caller]
pub fn bindrune<S: AsRef<OsStr>>(args: &[S], stdin: impl AsRef<[u8]>) -> Finished {
    finish(&mut command(args), stdin.as_ref())
}

/// The executable of [`SAMPLE`] with these arguments.
pub fn sample_command(args: &[&str]) -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // Concurrent test processes build it too, so the name contains the process identifier.
        let source = folder.join(format!("sample-{}.fut", std::process::id()));
        std::fs::write(&source, SAMPLE).expect("the program can be written");
        let output = source.with_extension("");
        let file = |path: &PathBuf| path.to_string_lossy().into_owned();
        bindrune(&["build", &file(&source), "-o", &file(&output)], "").quiet();
        output
    });
    let mut command = Command::new(path);
    command.args(args).stdout(Stdio::piped());
    command
}

/// Runs the executable of [`SAMPLE`].
#[track_caller]
pub fn sample(args: &[&str], stdin: impl AsRef<[u8]>) -> Finished {
    finish(&mut sample_command(args), stdin.as_ref())
}

/// A temporary directory for one test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// Creates an empty directory.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).expect("the file can be written");
        path
    }
}

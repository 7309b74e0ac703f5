//! The demonstration: three programs, compiled and run on large inputs.
//!
//! Requires `build/bindrune`. Executables and run times are written to `build/demo`, the image to
//! `build/mandelbrot.png`.

use crate::Outcome;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use value::{Reader, Value};

/// The number of runs of each program; the median is reported.
const RUNS: usize = 5;

/// A program of `examples/` with an input.
struct Show {
    program: &'static str,
    entry: &'static str,
    what: &'static str,
    input: &'static str,
    /// Returns a line about the results.
    report: fn(&Path, &[Value]) -> Result<String, String>,
}

const SHOWS: [Show; 3] = [
    Show {
        program: "dot_product",
        entry: "waves",
        what: "dot product of two waves of 100,000,000 samples",
        input: "100000000i64",
        report: numbers,
    },
    Show {
        program: "mandelbrot",
        entry: "main",
        what: "Mandelbrot set, 1920 x 1080 pixels, at most 1000 steps each",
        input: "1080i64 1920i64 1000i32",
        report: picture,
    },
    Show {
        program: "nbody",
        entry: "main",
        what: "10,000 bodies, 10 steps of 100,000,000 forces (energy before and after, centre)",
        input: "10000i64 10i32",
        report: numbers,
    },
];

/// Compiles and runs the programs.
pub fn run(root: &Path) -> Outcome {
    let folder = root.join("build/demo");
    std::fs::create_dir_all(&folder).map_err(|e| problem(&folder, e))?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{threads} threads; run times are the median of {RUNS} runs");
    for show in &SHOWS {
        println!("\n{}: {}", show.program, show.what);
        let executable = folder.join(show.program);
        let begin = Instant::now();
        let mut build = Command::new(root.join("build/bindrune"));
        build.arg("build").arg(root.join("examples").join(show.program).with_extension("fut"));
        output(build.arg("-o").arg(&executable), "")?;
        println!("  compiled in {:.2} s", begin.elapsed().as_secs_f64());

        let times = executable.with_extension("times");
        let mut program = Command::new(&executable);
        program.args(["-b", "-e", show.entry, "-r", &RUNS.to_string()]);
        program.arg(format!("--num-threads={threads}")).arg("-t").arg(&times);
        let bytes = output(&mut program, show.input)?;
        println!("  ran in {:.1} ms", median(&times)? / 1e3);

        let mut reader = Reader::from_slice(&bytes);
        let mut values = Vec::new();
        while let Some(value) = reader.read_any().map_err(|e| format!("{}: {e}", show.program))? {
            values.push(value);
        }
        println!("  {}", (show.report)(root, &values)?);
    }
    Ok(())
}

/// Formats the values as text.
fn numbers(_: &Path, values: &[Value]) -> Result<String, String> {
    let mut text = b"result:".to_vec();
    for value in values {
        text.push(b' ');
        value::write_text(&mut text, value).map_err(|e| e.to_string())?;
    }
    String::from_utf8(text).map_err(|e| e.to_string())
}

/// Writes an RGB image of shape `[height][width][3]` as PNG.
fn picture(root: &Path, values: &[Value]) -> Result<String, String> {
    let [image] = values else {
        return Err("the picture is missing".to_owned());
    };
    let (Some(pixels), [height, width, 3]) = (image.elements::<u8>(), image.shape()) else {
        return Err(format!("a picture of shape {:?}", image.shape()));
    };
    let side = |pixels: i64| u32::try_from(pixels).map_err(|e| e.to_string());
    let path = root.join("build/mandelbrot.png");
    let file = File::create(&path).map_err(|e| problem(&path, e))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), side(*width)?, side(*height)?);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(pixels)?;
        writer.finish()
    });
    written.map_err(|e| problem(&path, e))?;
    let black = pixels.chunks_exact(3).filter(|pixel| **pixel == [0, 0, 0]).count();
    let share = 100.0 * black as f64 / (height * width).max(1) as f64;
    Ok(format!("result: build/mandelbrot.png, {share:.2} % of it in the set"))
}

/// Returns the median of a file of run times in microseconds, one per line.
fn median(path: &Path) -> Result<f64, String> {
    let text = std::fs::read_to_string(path).map_err(|e| problem(path, e))?;
    let mut times: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().ok_or_else(|| problem(path, "no run times"))
}

/// Runs the command with `input` and returns its standard output.
fn output(command: &mut Command, input: &str) -> Result<Vec<u8>, String> {
    let name = Path::new(command.get_program()).to_owned();
    let fails = |error: std::io::Error| problem(&name, error);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(fails)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A process that fails early may not read its input; its status reports the failure.
        drop(stdin.write_all(input.as_bytes()));
    }
    let finished = child.wait_with_output().map_err(fails)?;
    if finished.status.success() { Ok(finished.stdout) } else { Err(problem(&name, finished.status)) }
}

fn problem(path: &Path, what: impl Display) -> String {
    format!("{}: {what}", path.display())
}

//! The kernels of a program, and the functions that they call, as one text that a driver compiles
//! for its device: OpenCL C, CUDA C++ or HIP.
//!
//! A target consists of a dialect and the first file of the prelude; integer and float operators
//! are the same text as in portable C.

use crate::dialect::Dialect;
use crate::error::{Error, Res};
use crate::function::TranslationUnit;
use crate::{names, portable};
use imp::kernels::{Kernel, uses_device};
use imp::{Program, Stmt, Verified};
use std::fmt::Write as _;
use std::sync::Arc;

/// The language of kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// OpenCL C 1.2.
    OpenCl,
    /// CUDA C++, for NVIDIA's run-time compiler.
    Cuda,
    /// C++ with HIP's attributes and clang's builtins, for AMD's run-time compiler.
    Hip,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 3] = [Self::OpenCl, Self::Cuda, Self::Hip];

    /// The target's name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenCl => "opencl",
            Self::Cuda => "cuda",
            Self::Hip => "hip",
        }
    }

    const fn dialect(self) -> &'static Dialect {
        match self {
            Self::OpenCl => &Dialect::OPENCL,
            Self::Cuda | Self::Hip => &Dialect::CUDA,
        }
    }

    const fn prelude(self) -> &'static str {
        match self {
            Self::OpenCl => include_str!("prelude/opencl.h"),
            Self::Cuda => include_str!("prelude/cuda.h"),
            Self::Hip => include_str!("prelude/hip.h"),
        }
    }
}

/// The code of a program's kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernels {
    /// The source text.
    pub source: Arc<str>,
    /// The kernels' names in the source, in the order of [`imp::kernels::kernels`].
    pub names: Vec<Arc<str>>,
    /// The OpenCL extensions that the device must have: names separated by spaces.
    pub required_extensions: Arc<str>,
}

/// The part of the prelude that all targets share.
const COMMON: [&str; 3] =
    [include_str!("prelude/kernel.h"), include_str!("prelude/integers.h"), include_str!("prelude/floats.h")];

/// Returns the code of a program's kernels; `None` if it uses no device.
///
/// # Errors
/// [`Error::Unsupported`] for features that kernels do not support yet.
pub fn kernels(program: &Verified, target: Target) -> Result<Option<Kernels>, Error> {
    if !uses_device(program) {
        return Ok(None);
    }
    let all = imp::kernels::kernels(program);
    let unit = TranslationUnit::new(program, target.dialect());
    let (code, names) = code(&unit, &all)?;
    let has = |wanted: &dyn Fn(&str) -> bool| {
        code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(wanted)
    };
    // No identifier of the program equals such a word: they contain their numbers.
    let doubles = has(&|word| {
        let names = ["f64", "f64_m", "br_fma_f16", "br_exp2_eighths"];
        names.contains(&word) || (word.starts_with("br_") && word.contains("f64"))
    });
    let wide = has(&|word| word.starts_with("br_atomic_") && word.ends_with("64"));
    let (mut head, mut needs) = (HEAD.to_owned(), Vec::new());
    if doubles {
        head += "#define BR_HAS_F64\n";
        needs.push("cl_khr_fp64");
    }
    if wide {
        head += "#define BR_ATOMICS_64\n";
        needs.extend(["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"]);
    }
    if all.iter().any(|kernel| !kernel.launch.shared_buffers.is_empty()) {
        head += "#define BR_HAS_DYNAMIC_SHARED\n";
    }
    let values = program.checks.iter().map(|check| values(&check.format));
    // Writing to a string cannot fail.
    let _ = writeln!(head, "#define BR_VALUES {}\n", values.max().unwrap_or(0).max(1));
    let mut source = head + target.prelude();
    for part in COMMON {
        source.push('\n');
        source += &part.replace("EIGHTHS", &portable::exp2_eighths_table());
    }
    source += "\n/* The program. */\n";
    source += &code;
    Ok(Some(Kernels { source: source.into(), names, required_extensions: needs.join(" ").into() }))
}

/// Returns the generated code alone, without the prelude.
///
/// # Errors
/// As [`kernels`].
pub fn kernels_code(program: &Verified, target: Target) -> Result<String, Error> {
    let unit = TranslationUnit::new(program, target.dialect());
    Ok(code(&unit, &imp::kernels::kernels(program))?.0)
}

const HEAD: &str = "/* Kernels that Bindrune made of a Futhark program. */\n\n";

/// The functions that kernels call, and the kernels, with their names.
fn code(unit: &TranslationUnit<'_>, all: &[Kernel<'_>]) -> Res<(String, Vec<Arc<str>>)> {
    let mut text = String::new();
    let called = called(unit.program, all);
    for &at in &called {
        text += &unit.signature(at)?;
        text += ";\n";
    }
    for &at in &called {
        text.push('\n');
        text += &unit.definition(at)?;
    }
    let any_fails = all.iter().any(Kernel::can_fail);
    let mut names = Vec::with_capacity(all.len());
    for (at, kernel) in all.iter().enumerate() {
        let name = names::kernel(at, &kernel.launch.name);
        text.push('\n');
        text += &unit.kernel(kernel, &name, any_fails)?;
        names.push(name.into());
    }
    Ok((text, names))
}

/// An upper bound on the number of values in a message.
fn values(format: &str) -> usize {
    // Escaped braces are counted too, which only reserves more words.
    format.matches('{').count()
}

/// The functions that kernels call, directly or indirectly, in program order.
fn called(program: &Program, all: &[Kernel<'_>]) -> Vec<usize> {
    let mut seen = vec![false; program.functions.len()];
    let mut open = Vec::new();
    for kernel in all {
        calls(&kernel.grid.body, &mut open);
    }
    while let Some(at) = open.pop() {
        if let (Some(seen @ false), Some(function)) = (seen.get_mut(at), program.functions.get(at)) {
            *seen = true;
            calls(&function.body, &mut open);
        }
    }
    let found = seen.iter().enumerate().filter(|(_, seen)| **seen);
    found.map(|(at, _)| at).collect()
}

fn calls(stmts: &[Stmt], found: &mut Vec<usize>) {
    imp::walk::each_stmt(stmts, &mut |stmt| {
        if let Stmt::Call { fun, .. } = stmt {
            found.push(fun.index());
        }
    });
}

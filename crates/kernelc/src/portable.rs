//! Portable C: a whole program as one file of C11, runtime and `main` included.
//!
//! The prelude is hand-written C (`src/prelude`), one concern per file. The files that generated
//! code uses precede it; the files that make an executable of it (input and output of values,
//! options, `main`) follow it.

use crate::dialect::Dialect;
use crate::error::{Error, Res};
use crate::function::TranslationUnit;
use crate::tables;
use imp::Verified;
use prim::eval::EXP2_EIGHTHS;

/// The prelude files before the generated code.
const PRELUDE: [&str; 6] = [
    include_str!("prelude/target.h"),
    include_str!("prelude/integers.h"),
    include_str!("prelude/floats.h"),
    include_str!("prelude/context.h"),
    include_str!("prelude/failure.c"),
    include_str!("prelude/memory.c"),
];

/// The prelude files after the generated code.
const EPILOGUE: [&str; 10] = [
    include_str!("prelude/behind.h"),
    include_str!("prelude/limit.c"),
    include_str!("prelude/input.c"),
    include_str!("prelude/literal.c"),
    include_str!("prelude/text.c"),
    include_str!("prelude/binary.c"),
    include_str!("prelude/print.c"),
    include_str!("prelude/tuning.c"),
    include_str!("prelude/options.c"),
    include_str!("prelude/main.c"),
];

/// The comment at the top of the file, with the command to compile it.
const HEAD: &str = "\
/* Portable C that Bindrune made of a Futhark program. To compile it:\n\
   \n\
       cc -std=c11 -O3 -ffp-contract=off -fno-math-errno FILE.c -o FILE -lm\n\
   \n\
   The executable reads arguments from standard input; --help lists its options. */\n";

/// Returns the C of a program: an executable's whole text.
///
/// # Errors
/// [`Error::Unsupported`] for features that C code does not support yet, [`Error::Bug`] for
/// vectors.
pub fn program(program: &Verified) -> Result<String, Error> {
    let (mut text, eighths) = (HEAD.to_owned(), exp2_eighths_table());
    for part in PRELUDE {
        text.push('\n');
        text += &part.replace("EIGHTHS", &eighths);
    }
    text += "\n/* The program. */\n\n";
    text += &functions(program)?;
    for part in EPILOGUE {
        text.push('\n');
        text += part;
    }
    Ok(text)
}

/// Returns the generated part of the C without the prelude: data, checks, functions, description.
///
/// # Errors
/// As [`program`].
pub fn functions(program: &Verified) -> Res<String> {
    let dialect = Dialect::PORTABLE;
    let unit = TranslationUnit::new(program, &dialect);
    let mut text = String::new();
    for (at, data) in program.data.iter().enumerate() {
        text += &tables::data(at, data, &dialect);
    }
    for (at, check) in program.checks.iter().enumerate() {
        text += &tables::check(at, check);
    }
    for at in 0..program.functions.len() {
        text += &unit.signature(at)?;
        text += ";\n";
    }
    for at in 0..program.functions.len() {
        text.push('\n');
        text += &unit.definition(at)?;
    }
    text.push('\n');
    for (at, entry) in program.entries.iter().enumerate() {
        text += &tables::entry(&unit, at, entry)?;
    }
    text += &tables::description(&unit)?;
    Ok(text)
}

/// The lines of the table of powers 2^(j/8).
pub fn exp2_eighths_table() -> String {
    EXP2_EIGHTHS.map(|power| format!("    {power:?},\n")).concat()
}

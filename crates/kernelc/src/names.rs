//! Identifiers: what a name has of letters, digits and underscores, and a number that
//! makes it unique. Names of the prelude begin with `br_` and end in no number.

use imp::{FunId, Function, Program};

/// A name's letters and digits; what is none becomes an underscore.
fn plain(name: &str) -> String {
    let kept = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let name: String = kept.collect();
    let name = name.trim_matches('_');
    match name.as_bytes().first() {
        None => "v".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("v{name}"),
        Some(_) => name.to_owned(),
    }
}

/// The names of a function's variables.
pub fn variables(function: &Function) -> Vec<String> {
    let named = function.vars.iter().enumerate();
    named.map(|(at, var)| format!("{}_{at}", plain(&var.hint))).collect()
}

/// The names of a program's functions.
pub fn functions(program: &Program) -> Vec<String> {
    let named = program.functions.iter().enumerate();
    named.map(|(at, function)| format!("f{at}_{}", plain(&function.name))).collect()
}

/// The name of a kernel at a position, of a launch of this name.
pub fn kernel(at: usize, launch: &str) -> String {
    format!("k{at}_{}", plain(launch))
}

/// The function that calls an entry point's code.
pub fn entry(at: usize) -> String {
    format!("entry{at}")
}

/// The description of a check.
pub fn check(id: imp::CheckId) -> String {
    format!("check{}", id.0)
}

/// A block of constant data.
pub fn data(id: imp::DataId) -> String {
    format!("data{}", id.0)
}

/// The position of a function in its program's list.
pub const fn place(id: FunId) -> usize {
    id.0 as usize
}

//! Identifiers: the letters, digits and underscores of a name, and a number that makes it unique.
//! Names of the prelude begin with `br_` and do not end in a number of this kind.

use imp::{Function, Program};

/// Replaces the characters of a name that are not alphanumeric by underscores.
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

/// The identifiers of a function's variables.
pub fn variables(function: &Function) -> Vec<String> {
    let named = function.vars.iter().enumerate();
    named.map(|(at, var)| format!("{}_{at}", plain(&var.hint))).collect()
}

/// The identifiers of a program's functions.
pub fn functions(program: &Program) -> Vec<String> {
    let named = program.functions.iter().enumerate();
    named.map(|(at, function)| format!("f{at}_{}", plain(&function.name))).collect()
}

/// The identifier of the kernel at a position, for a launch of this name.
pub fn kernel(at: usize, launch: &str) -> String {
    format!("k{at}_{}", plain(launch))
}

/// The identifier of the function that calls an entry point's code.
pub fn entry(at: usize) -> String {
    format!("entry{at}")
}

/// The identifier of a check's description.
pub fn check(id: imp::CheckId) -> String {
    format!("check{}", id.0)
}

/// The identifier of a block of constant data.
pub fn data(id: imp::DataId) -> String {
    format!("data{}", id.0)
}

//! Every stage leaves a valid program, whose text form is read back equal.

use crate::program::Program;
use driver::Ir;

/// Programs that should compile do, through the verifier of every stage; the others are rejected
/// with the expected message.
pub fn verify(program: &Program) -> Vec<String> {
    match (program.stages(), &program.spec.compile_error) {
        (Ok(_), None) => Vec::new(),
        (Ok(_), Some(pattern)) => vec![format!("accepted, but should be rejected with `{}`", pattern.regex)],
        (Err(message), Some(pattern)) if pattern.matches(&message) == Ok(true) => Vec::new(),
        (Err(message), _) => vec![message],
    }
}

fn reads_back<L: ir::text::TextLevel>(program: &ir::Program<L>) -> Result<(), String> {
    let text = ir::text::print(program);
    match ir::text::parse::<L>(&text) {
        Err(e) => Err(format!("line {}, column {}: {}", e.line, e.col, e.message)),
        Ok(read) if read == *program => Ok(()),
        Ok(read) => Err(difference(&text, &ir::text::print(&read))),
    }
}

/// Checks that a program of the imperative IR is read back equal from its text.
pub fn imp_reads_back(program: &imp::Program) -> Result<(), String> {
    let text = imp::print(program);
    match imp::parse(&text).map_err(|e| e.to_string())? {
        read if read == *program => Ok(()),
        read => Err(difference(&text, &imp::print(&read))),
    }
}

fn difference(text: &str, again: &str) -> String {
    let pair = text.lines().zip(again.lines()).find(|(a, b)| a != b);
    format!("another program is read back: {pair:?}")
}

/// The text form of every stage that changed the program is read back equal.
pub fn text_forms_read_back(program: &Program) -> Vec<String> {
    let stages = program.stages().unwrap_or_default();
    let mut problems = Vec::new();
    for (number, (stage, ir)) in stages.iter().enumerate() {
        if number > 0 && stages[number - 1].1 == *ir {
            continue;
        }
        let result = match ir {
            Ir::Soacs(program) => reads_back(program),
            Ir::Segs(program) => reads_back(program),
            Ir::Mems(program) => reads_back(program),
            Ir::Imp(program) => imp_reads_back(program),
        };
        problems.extend(result.err().map(|e| format!("the text after {stage}: {e}")));
    }
    if let Ok(lanes) = program.lanes() {
        let result = imp_reads_back(lanes);
        problems.extend(result.err().map(|e| format!("the text with lanes: {e}")));
    }
    problems
}

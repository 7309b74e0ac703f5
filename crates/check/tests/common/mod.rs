//! Files of programs with expected answers.

use std::path::Path;

const OPEN: &str = "```futhark\n";
const ANSWER: &str = "```\n```text\n";
const CLOSE: &str = "```\n";

/// Compares the answers in a Markdown file below `tests` with those of `answer`, which gets a program
/// and the answer in the file; with `UPDATE_EXPECT=1`, rewrites the file. Returns the number of
/// programs.
pub fn check_answers(file: &str, answer: impl Fn(&str, &str) -> String) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let old = std::fs::read_to_string(&path).expect("the file can be read");
    let mut parts = old.split(OPEN);
    let mut new = parts.next().unwrap_or_default().to_owned();
    let mut programs = 0;
    for part in parts {
        let (program, rest) = part.split_once(ANSWER).expect("the answer follows the program");
        let (former, after) = rest.split_once(CLOSE).expect("the block of the answer ends");
        for piece in [OPEN, program, ANSWER, &answer(program, former), CLOSE, after] {
            new += piece;
        }
        programs += 1;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &new).expect("the file can be written");
    } else {
        assert_eq!(old, new);
    }
    programs
}

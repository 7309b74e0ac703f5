//! `repl` on a terminal.

use crate::process::{Folder, command};
use rexpect::session::{PtySession, spawn_command};

/// A REPL on a pseudo-terminal, with its history in the folder.
fn prompt(folder: &Folder) -> PtySession {
    let mut command = command(&["repl"]);
    // Standard output and error must be the terminal, so the command is rebuilt.
    let mut fresh = std::process::Command::new(command.get_program());
    fresh.args(command.get_args()).env("TERM", "xterm").env("XDG_STATE_HOME", folder.path(""));
    std::mem::swap(&mut command, &mut fresh);
    let mut session = spawn_command(command, Some(60_000)).expect("the prompt starts");
    session.exp_string("[0]> ").expect("a prompt");
    session
}

#[test]
fn control_c_ends_an_evaluation_and_returns_to_the_prompt() {
    let folder = Folder::new();
    let mut session = prompt(&folder);
    let endless = [
        "let n = trace (6 * 7i32) in loop x = n while x > 0 do 1",
        "let n = trace (6 * 7i64) in reduce (+) 0 (map (+ n) (iota 30000000))",
        "let n = trace (6 * 7i64) in map (\\i -> reduce (+) 0 (iota (i + 100000))) (iota 1000000)",
    ];
    for (number, line) in endless.iter().enumerate() {
        session.send_line(line).expect("a line can be entered");
        // The evaluation has started once this is printed.
        session.exp_string(": 42i").expect("the evaluation starts");
        session.send_control('c').expect("Ctrl-C can be pressed");
        session.exp_string("Interrupted.").expect("the evaluation ends");
        let next = format!("[{}]> ", number + 1);
        session.exp_string(&next).expect("a prompt");
    }
    session.send_line("20 + 3").expect("a line can be entered");
    session.exp_string("23i32").expect("the value");
    session.send_line(":quit").expect("a line can be entered");
    session.exp_eof().expect("the process ends");
}

#[test]
fn tab_completes_names() {
    let folder = Folder::new();
    let mut session = prompt(&folder);
    let mut enter = |text: &str, expected: &str| {
        session.send(text).expect("keys can be pressed");
        session.flush().expect("keys can be pressed");
        let found = session.exp_string(expected);
        found.unwrap_or_else(|e| panic!("{text:?}, {expected:?}: {e}"));
    };
    enter("f64.sqr\t", "f64.sqrt");
    enter(" 6.25\n", "2.5f64");
    enter(":mty\t", ":mtype");
    enter("\u{3}", "> ");
    enter("def seldom_used = 5i32\n", "[2]> ");
    enter("seld\t", "seldom_used");
    enter(" + 90\n", "95i32");
}

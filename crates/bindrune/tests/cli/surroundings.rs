//! Full disks, closed pipes, missing tools.

use crate::process::{Folder, bindrune, command, finish, sample_command};
use std::fs::OpenOptions;
use std::process::{Command, Stdio};

/// A device on which all writes fail.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("the device is there").into()
}

/// A pipe without a reader.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    writer.into()
}

#[test]
fn write_errors_of_results_are_reported() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (n: i64) = iota n\n");
    let run =
        |stdout: Stdio, command: &mut Command, stdin: &str| finish(command.stdout(stdout), stdin.as_bytes());
    for size in ["3", "100000"] {
        let squares = || sample_command(&["-e", "squares"]);
        run(full(), &mut squares(), size).fails(&["cannot write", "space"]);
        let mut in_process = command(&["run", &program]);
        run(full(), &mut in_process, size).fails(&["cannot write", "space"]);
        // A closed pipe fails without a message.
        let finished = run(closed(), &mut squares(), size);
        assert_eq!((finished.code, finished.stderr.as_str()), (1, ""));
        let finished = run(closed(), &mut command(&["run", &program]), size);
        assert_eq!((finished.code, finished.stderr.as_str()), (1, ""));
    }
    // Write errors of run times are reported too.
    let times = finish(&mut sample_command(&["-t", "/dev/full"]), b"[1]");
    times.fails(&["cannot write", "space"]);
    run(full(), &mut command(&["dev", &program]), "").fails(&["cannot write", "space"]);
    let finished = run(closed(), &mut command(&["dev", &program]), "");
    assert_eq!((finished.code, finished.stderr.as_str()), (1, ""));
}

#[test]
fn unwritable_standard_error_keeps_the_exit_code() {
    let folder = Folder::new();
    let wrong = folder.file("wrong.fut", "entry main = x\n");
    for stderr in [full(), closed()] {
        let mut check = command(&["check", &wrong]);
        let status = check.stderr(stderr).stdin(Stdio::null()).status();
        assert_eq!(status.expect("the process starts").code(), Some(1));
    }
    for stderr in [full(), closed()] {
        let mut sample = sample_command(&["-e", "none"]);
        let status = sample.stderr(stderr).stdin(Stdio::null()).status();
        assert_eq!(status.expect("the process starts").code(), Some(1));
    }
}

#[test]
fn write_errors_of_executables_are_reported() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (x: i32) = x\n");
    let output = folder.path("no/such/folder/p");
    bindrune(&["build", &program, "-o", &output], "").fails(&["cannot write", "no/such/folder"]);
    std::fs::create_dir(folder.path("taken")).expect("a folder can be made");
    bindrune(&["build", &program, "-o", &folder.path("taken")], "").fails(&["taken"]);
}

#[test]
fn missing_linker_is_reported_with_advice() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (x: i32) = x\n");
    let build = || command(&["build", &program, "-o", &folder.path("p")]);
    finish(build().env("CC", "/does/not/exist"), b"").fails(&[
        "cannot start the linker",
        "/does/not/exist",
        "install",
    ]);
    let mut without_path = build();
    finish(without_path.env_remove("CC").env("PATH", folder.path("")), b"").fails(&[
        "cannot start the linker",
        "`cc`",
        "install",
    ]);
    finish(build().env("CC", "false"), b"").fails(&["the linker `false` failed"]);
    assert!(!std::path::Path::new(&folder.path("p")).exists());
}

#[test]
fn missing_temporary_folder_is_reported() {
    let folder = Folder::new();
    let program = folder.file("p.fut", "entry main (x: i32) = x\n");
    let mut build = command(&["build", &program, "-o", &folder.path("p")]);
    finish(build.env("TMPDIR", "/does/not/exist"), b"").fails(&["/does/not/exist"]);
}

#[test]
fn missing_input_is_an_error() {
    let mut sample = sample_command(&[]);
    let status = sample.stdin(Stdio::null()).stderr(Stdio::null()).status();
    assert_eq!(status.expect("the process starts").code(), Some(1));
}

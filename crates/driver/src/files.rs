//! Sessions for programs in the file system.

use crate::{Failure, Ir, Options, Session};
use check::tast::Program;
use std::path::Path;

/// Reads imported files from the file system.
pub struct Files;

impl check::Loader for Files {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| error.to_string())
    }
}

/// Opens a session for a program and type-checks it.
pub fn check(file: &Path, options: Options) -> (Session, Result<Program, Failure>) {
    let name = file.to_string_lossy();
    let mut session = Session::new(name.as_ref(), options);
    if file.extension().is_none_or(|ext| ext != "fut") {
        let failure = Failure::message(
            "no-source-file",
            format!("{name} is not a Futhark program: its name does not end in `.fut`"),
        );
        return (session, Err(failure));
    }
    let program = session.check(&mut Files);
    (session, program)
}

/// Opens a session for a program and lowers it to core IR.
pub fn lower(file: &Path, options: Options) -> (Session, Result<Ir, Failure>) {
    let (session, program) = check(file, options);
    let ir = program.and_then(|program| session.lower(&program));
    (session, ir)
}

//! Programs given as text, compiled up to a stage.

use driver::{Ir, Options, Session, Stage};

struct Text<'t>(&'t str);

impl check::Loader for Text<'_> {
    fn load(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }
}

/// The program at a stage, with the session, which has its warnings.
pub fn advanced(program: &str, stage: &str) -> (Session, Ir) {
    let mut session = Session::new("main.fut", Options::default());
    let program = session.check(&mut Text(program)).expect("the checker accepts the program");
    let ir = session.lower(&program).expect("the program can be lowered");
    let stage = Stage::from_name(stage).expect("the stage exists");
    let ir = session.run_passes(ir, stage, &mut ()).expect("the program compiles");
    (session, ir)
}

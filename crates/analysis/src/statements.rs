//! Searches for statements at any depth.

use ir::syntax::{Body, Level, Stm};
use ir::walk::{sub_bodies, with_stack};

/// Returns true if a statement of a body, or one nested in it, passes the test.
pub fn any<L: Level>(body: &Body<L>, test: &dyn Fn(&Stm<L>) -> bool) -> bool {
    with_stack(|| {
        body.stms.iter().any(|stm| {
            let mut found = test(stm);
            if !found {
                sub_bodies(&stm.exp, |body| found = found || any(body, test));
            }
            found
        })
    })
}

//! The documentation pages of the optimiser's warnings: the first program of a page has the warning
//! of its title, the second has none.

mod text;

use std::path::Path;

/// The ids of the warnings of a program.
fn warnings(program: &str) -> Vec<&'static str> {
    let (session, _) = text::advanced(program, "segs");
    session.warnings.iter().map(|warning| warning.id).collect()
}

fn page(id: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/errors/{id}.md"));
    std::fs::read_to_string(path).expect("cannot read the page")
}

#[test]
fn documented_programs_have_the_documented_warnings() {
    for id in ["safety-check", "unroll"] {
        let page = page(id);
        let programs: Vec<&str> =
            page.split("```futhark\n").skip(1).filter_map(|block| block.split("```").next()).collect();
        let [warned, fixed] = programs[..] else {
            panic!("{id}: the page must have two programs");
        };
        assert_eq!((warnings(warned), warnings(fixed)), (vec![id], vec![]), "{id}");
    }
}

#[test]
fn checks_in_called_functions_are_warned_of() {
    let called = "def get (xs: []f32) (i: i64) = xs[i]\n\
                  #[noinline] def f (xs: []f32) (i: i64) = get xs i + 1\n\
                  entry main (xs: []f32) (is: []i64) : []f32 =\n\
                  #[warn(safety_checks)] map (get xs) is";
    assert_eq!(warnings(called), ["safety-check"]);
    let two = called.replace("map (get xs) is", "(xs[0] + get xs 1 + get xs is[2], is)");
    let two = two.replace("[]f32 =", "(f32, []i64) =");
    assert_eq!(warnings(&two).len(), 4);
}

#[test]
fn unroll_warns_of_loops_that_are_too_long() {
    let long = "entry main (xs: []f32) : f32 =\n\
                #[unroll] loop y = 0 for i < 1000000i64 do y * xs[i]";
    assert_eq!(warnings(long), ["unroll"]);
    let inner = "entry main (n: i64) (x: f32) : f32 =\n\
                 #[unroll] loop y = x for i < 4i64 do loop y for _j < n do y * y + f32.i64 i";
    assert_eq!(warnings(inner), [""; 0]);
}

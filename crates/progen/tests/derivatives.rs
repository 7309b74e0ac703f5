//! A fixed number of random programs with derivatives, compared with the interpreter's; forward and
//! reverse mode are compared with each other, and with central differences.
//! `cargo xtask progen --derivatives` runs more.

mod support;

use progen::Setting;
use support::Programs;

/// Text that programs contain, and the least number of 200 programs with it.
const CONTENT: [(&str, usize); 24] = [
    ("vjp2 ", 30),
    ("jvp2 ", 30),
    ("mjp2 ", 10),
    ("jmp2 ", 10),
    ("vjp g x", 30),
    ("jvp g x", 30),
    ("(coarse, fine)", 20),
    ("(loop ", 60),
    (" while ", 15),
    ("(match ", 15),
    ("(scan ", 30),
    ("(reduce ", 40),
    ("(hist ", 4),
    ("(reduce_by_index ", 10),
    ("(scatter ", 5),
    (" with [", 20),
    ("(with_vjp ", 10),
    ("#[noinline]", 40),
    ("(depth - 1)", 15),
    ("(filter ", 5),
    ("(transpose ", 3),
    ("(rotate ", 5),
    ("f32", 15),
    ("f64.max ", 10),
];

const PROGRAMS: Programs =
    Programs { count: 40, size: 60, setting: |seed| Setting::draw(seed).with_derivatives(true) };

#[test]
fn derivatives_agree_with_the_interpreter() {
    let (values, _) = PROGRAMS.agree();
    assert!(values >= PROGRAMS.count * 2, "only {values} calls returned values");
}

#[test]
fn programs_with_derivatives_contain_all_forms() {
    PROGRAMS.contain(&CONTENT);
}

#[test]
fn choices_replay_the_program_of_a_seed() {
    PROGRAMS.replay();
}

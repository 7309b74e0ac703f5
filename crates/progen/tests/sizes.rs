//! A fixed number of random programs about sizes in types. Their results are known beforehand, and
//! compared with those of the interpreter, which checks all values against the sizes in their
//! types, of compiled code and of the simulated device. `cargo xtask progen --sizes` runs more.

mod support;

use progen::Setting;
use support::Programs;

/// Text that programs contain, and the least number of 200 programs with it.
const CONTENT: [(&str, usize); 14] = [
    ("(loop ", 100),
    (" while ", 40),
    (" for ", 100),
    ("(match ", 100),
    ("(let [", 40),
    ("\nmodule F0 (X: ", 80),
    ("\nmodule Wrap_", 20),
    ("type~ t", 100),
    (" :> [", 30),
    (": ?[l0]", 20),
    ("(boxes.mk ", 40),
    (" |> filter ", 20),
    ("#none", 100),
    ("else (fun", 30),
];

const PROGRAMS: Programs =
    Programs { count: 50, size: 60, setting: |seed| Setting::draw(seed).with_sizes(true) };

#[test]
fn programs_about_sizes_have_the_expected_results() {
    let (values, _) = PROGRAMS.agree();
    // Nearly all programs have two calls.
    assert!(values > PROGRAMS.count * 3 / 2, "only {values} calls returned values");
}

#[test]
fn programs_about_sizes_contain_all_forms() {
    PROGRAMS.contain(&CONTENT);
}

#[test]
fn choices_replay_the_program_about_sizes_of_a_seed() {
    PROGRAMS.replay();
}

//! A fixed number of random nests with reuse: products, convolutions, stencils and distances, with the
//! compiler's choice of tiles and with small tiles. `cargo xtask progen --nests` runs more.

mod support;

use progen::Setting;
use support::Programs;

/// Text that programs contain, and the least number of 200 programs with it.
const CONTENT: [(&str, usize); 14] = [
    ("(reduce ", 60),
    ("(loop ", 100),
    ("(map2 ", 60),
    ("tabulate_2d ", 50),
    ("tabulate_3d ", 20),
    ("transpose ", 50),
    ("unflatten ", 5),
    (":> [", 30),
    ("(rotate ", 10),
    ("i64.min ", 20),
    (" with [", 3),
    ("reduce_by_index ", 1),
    ("\nentry other ", 60),
    ("f32", 50),
];

const PROGRAMS: Programs =
    Programs { count: 20, size: 20, setting: |seed| Setting::draw(seed).with_nests(true) };

#[test]
fn nests_agree_with_the_interpreter() {
    let (values, coverage) = PROGRAMS.agree();
    assert!(values >= PROGRAMS.count * 2, "only {values} calls returned values");
    let tiled = coverage.counts().find(|(name, _)| *name == "calls tiled").map_or(0, |(_, count)| count);
    assert!(tiled > PROGRAMS.count / 5, "only {tiled} programs ran tiles");
}

#[test]
fn nests_contain_all_forms() {
    PROGRAMS.contain(&CONTENT);
}

#[test]
fn choices_replay_the_nest_of_a_seed() {
    PROGRAMS.replay();
}

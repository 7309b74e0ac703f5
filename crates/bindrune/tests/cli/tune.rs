//! `bindrune tune` as users meet it: what it writes, and what it says of bad input.

use crate::process::{Folder, bindrune};

/// Two parameters, and a data set that says which of the versions are taken.
const ROWS: &str = "\
-- ==
-- entry: squares
-- input { [[1i64, 2i64], [3i64, 4i64]] } output { [5i64, 25i64] }
entry squares [n][m] (xss: [n][m]i64) : [n]i64 =
  map (\\xs -> i64.sum (map (\\x -> x * x) xs)) xss
";

#[test]
fn it_writes_a_file_that_others_find() {
    let folder = Folder::new();
    let program = folder.file("rows.fut", ROWS);
    let kept = "-- By hand.\nothers.gone_0=3\n";
    folder.file("rows.fut.tuning", kept);
    let done = bindrune(&["tune", "--runs", "2", &program], "").quiet();
    let text = done.text();
    assert!(text.contains("written to"), "{text}");
    let written = std::fs::read_to_string(folder.path("rows.fut.tuning")).expect("it is there");
    assert!(written.starts_with(kept), "{written}");
    for name in ["squares.suff_outer_par_0=", "squares.suff_intra_par_0="] {
        assert!(written.contains(name), "{written}");
    }
    bindrune(&["tune", "--runs", "2", "--cost", "worst", &program], "").quiet();
}

#[test]
fn bad_input_is_told_and_loses_nothing() {
    let folder = Folder::new();
    let program = folder.file("rows.fut", ROWS);
    bindrune(&["tune", &program, "--cost", "most"], "")
        .fails(&["there is no cost function `most`"]);
    let damaged = "squares.suff_outer_par_0: 1\n";
    let tuning = folder.file("rows.fut.tuning", damaged);
    bindrune(&["tune", &program], "").fails(&["line 1: must be of the form NAME=N"]);
    let left = std::fs::read_to_string(tuning).expect("it is there");
    assert_eq!(left, damaged);
    let none = folder.file("none.fut", "entry main (x: i64) = x\n");
    bindrune(&["tune", &none], "").fails(&["it has no data set"]);
    let wrong = ROWS.replace("output { [5i64, 25i64] }", "output { [5i64, 26i64] }");
    let wrong = folder.file("wrong.fut", wrong);
    bindrune(&["tune", &wrong], "").fails(&["expected 26i64, got 25i64"]);
}

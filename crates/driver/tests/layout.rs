//! Array layout: arrays that are computed by columns and then transposed are not copied.

mod text;

/// The number of copies in a program with memory.
fn copies(body: &str) -> usize {
    let program = format!("entry main [n][m] (xs: [n][m]f32) : [n][m]f32 = {body}");
    let (_, ir) = text::advanced(&program, "mem");
    ir.print().matches("= copy ").count()
}

#[test]
fn transposed_scans_of_columns_are_not_copied() {
    assert_eq!(copies("transpose (map (scan (+) 0) (transpose xs))"), 0);
    let sums = "transpose (map (\\c -> let s = f32.sum c in map (/ s) c) (transpose xs))";
    assert_eq!(copies(sums), 0);
    let twice = "loop ys = xs for _i < 3i32 do transpose (map (scan (+) 0) (transpose ys))";
    assert_eq!(copies(twice), 0);
}

#[test]
fn transposed_scans_of_rows_are_copied() {
    // The rows are read contiguously; writing columns instead would be strided.
    let rows = "transpose (map (scan (+) 0) xs) :> [n][m]f32";
    assert_eq!(copies(rows), 1);
    // The untransposed array is used as well.
    let used = "let ys = map (scan (+) 0) (transpose xs) in map (map (+ ys[0, 0])) (transpose ys)";
    assert_eq!(copies(used), 0);
    let both = "let ys = map (scan (+) 0) (transpose xs) in \
                if ys[0, 0] > 1 then transpose ys else xs";
    assert_eq!(copies(both), 1);
}

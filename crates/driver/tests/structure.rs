//! The code of whole programs: fused combinators, arrays in memory, vectorised operations.

mod text;

fn at(stage: &str, program: &str) -> String {
    let (_, ir) = text::advanced(program, stage);
    ir.print()
}

#[test]
fn filters_allocate_only_flags_and_results() {
    let program = "entry main (xs: []f32) : []f32 = filter (> 0) xs";
    let mem = at("mem", program);
    assert_eq!(mem.matches("= alloc ").count(), 2, "{mem}");
    assert_eq!(mem.matches("segred tasks").count(), 1, "{mem}");
    assert_eq!(mem.matches("segscan tasks").count(), 1, "{mem}");
    assert!(!mem.contains("segmap"), "{mem}");
    // Flagged values are packed; their indices are not computed.
    let imp = at("imp", program);
    assert!(imp.contains("pack("), "{imp}");
    assert!(!imp.contains("scanned_"), "{imp}");
    assert!(!imp.contains("scattered_"), "{imp}");
}

#[test]
fn fused_operations_name_the_sources_of_all_parts() {
    let program = "entry main (xs: []f32) : f32 =\n  let ys = map (* 2) xs\n  in f32.sum ys";
    let imp = at("imp", program);
    let line = imp.lines().find(|line| line.contains("main.fut:2:12"));
    let line = line.unwrap_or_else(|| panic!("{imp}"));
    // The sum's source locations come first, the map's after an empty line.
    let (sum, map) = line.split_once("\\n\\n").expect(line);
    assert!(sum.contains("main.fut:3:6"), "{line}");
    assert!(map.contains("main.fut:2:12"), "{line}");
}

#[test]
fn partitions_do_not_store_indices() {
    let two = at("mem", "entry main (xs: []f32) = partition (> 0) xs");
    assert_eq!(two.matches("= alloc ").count(), 3, "{two}");
    let three = at("mem", "entry main (xs: []f32) = partition2 (> 0) (< 0) xs");
    assert_eq!(three.matches("= alloc ").count(), 4, "{three}");
}

#[test]
fn scatters_to_scanned_indices_are_fused_with_the_scan() {
    let program = "entry main [n] (xs: [n]i64) : [n]i64 = \
                   scatter (replicate n 0) (scan (+) 0 xs) xs";
    let mem = at("mem", program);
    assert_eq!(mem.matches("segscan tasks").count(), 1, "{mem}");
    assert!(!mem.contains("segmap tasks"), "{mem}");
    let imp = at("imp", program);
    assert!(imp.contains("scattered_"), "{imp}");
}

#[test]
fn long_rows_are_scanned_across_vector_lanes() {
    let mem = at("mem", "entry main [n][m] (xs: [n][m]f32) : [n][m]f32 = map (scan (+) 0) xs");
    assert_eq!(mem.matches("segscan lanes").count(), 1, "{mem}");
    // One result array in each of three versions, and no array of rows besides.
    assert_eq!(mem.matches("= alloc ").count(), 3, "{mem}");
    let across = at("mem", "entry main [n][m] (xs: [n][m]f32) : [m][n]f32 = map (scan (+) 0) (transpose xs)");
    assert!(!across.contains("segscan lanes"), "{across}");
}

//! The effects of source attributes on the program.

mod text;

fn at(stage: &str, program: &str) -> String {
    let (_, ir) = text::advanced(program, stage);
    ir.print()
}

#[test]
fn restricting_attributes_apply_to_their_expression() {
    let nest = |attr: &str| {
        let program =
            format!("entry main [n][m] (xs: [n][m]f32) : [n]f32 = {attr} map (\\x -> f32.sum x) xs");
        let segs = at("segs", &program);
        let count = |what| segs.matches(what).count();
        [count(" tasks ("), count(" lanes ("), count("loop ")]
    };
    // Rows as tasks, long rows shared by lanes or not; tasks in tasks.
    assert_eq!(nest(""), [4, 1, 1]);
    assert_eq!(nest("#[unknown]"), [4, 1, 1]);
    assert_eq!(nest("#[sequential]"), [0, 0, 2]);
    assert_eq!(nest("#[sequential_inner]"), [1, 0, 1]);
    assert_eq!(nest("#[flattening(no_intra)]"), [3, 0, 1]);
    assert_eq!(nest("#[incremental_flattening(no_intra)]"), [3, 0, 1]);
    assert_eq!(nest("#[sequential_outer]"), [1, 0, 1]);
}

#[test]
fn sequential_applies_to_branches_loops_and_called_functions() {
    let program = "def squares [n] (xs: [n]i32) : [n]i32 = map (\\x -> x * x) xs\n\
                   #[noinline] def total [n] (xs: [n]i32) : i32 = i32.sum xs\n\
                   entry main [n] (c: bool) (xs: [n]i32) : ([n]i32, i32) =\n\
                   #[sequential] (loop ys = (if c then squares xs else map (+ 1) xs)\n\
                   for _i < 3i32 do map2 (+) xs (opaque ys), total xs)";
    let segs = at("segs", program);
    assert!(!segs.contains(" tasks ("), "{segs}");
    assert!(segs.contains("call total_1.seq"), "{segs}");
    let without = at("segs", &program.replace("#[sequential]", ""));
    assert_eq!(without.matches(" tasks (").count(), 4, "{without}");
}

#[test]
fn scatters_and_histograms_are_made_sequential_too() {
    let program = "entry main [n] (is: [n]i64) : ([n]i64, [4]i64) =\n\
                   #[sequential] (scatter (replicate n 0) is is, hist (+) 0 4 is is)";
    let segs = at("segs", program);
    assert!(!segs.contains(" tasks ("), "{segs}");
    let without = at("segs", &program.replace("#[sequential]", ""));
    assert_eq!(without.matches(" tasks (").count(), 2, "{without}");
}

#[test]
fn unsafe_removes_checks_of_inlined_functions() {
    let program = "def two (xs: []i32) (i: i64) (j: i64) : i32 =\n\
                   let a = xs[i] * xs[j] let b = a * a + 3 * a let c = b * b - a in c * c + xs[i - j]\n\
                   entry main (xs: []i32) (i: i64) (j: i64) : i32 = two xs i j";
    let called = at("lower", program);
    assert!(called.contains("call two_1"), "{called}");
    let checks = |program: &str| at("soacs", program).matches("assert ").count();
    assert!(checks(program) > 0);
    assert_eq!(checks(&program.replace("= two", "= #[unsafe] two")), 0);
}

#[test]
fn inline_attributes_of_a_call_override_the_definition() {
    let program = "def next (x: i32) : i32 = x + 1\n\
                   #[noinline] def last (x: i32) : i32 = x - 1\n\
                   entry main (x: i32) : (i32, i32) = (next x, last x)";
    let calls = |program: &str| {
        let soacs = at("soacs", program);
        [soacs.contains("call next"), soacs.contains("call last")]
    };
    assert_eq!(calls(program), [false, true]);
    assert_eq!(calls(&program.replace("(next", "(#[noinline] next")), [true, true]);
    assert_eq!(calls(&program.replace(", last", ", #[inline] last")), [false, false]);
}

#[test]
fn handled_attributes_are_removed() {
    let program = "entry main (xs: []f32) : ([]f32, []f32) =\n\
                   (#[opaque] map (* 2) xs, #[blank] #[trace] #[break] #[mine] map f32.sqrt xs)";
    let lowered = at("lower", program);
    for attr in ["#[opaque]", "#[blank]", "#[trace]", "#[break]"] {
        assert!(!lowered.contains(attr), "{lowered}");
    }
    assert!(lowered.contains("= opaque "), "{lowered}");
}

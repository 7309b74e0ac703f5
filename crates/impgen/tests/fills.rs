//! Fills that become task loops, and their partition.

use imp::{For, Stmt, print, verify, walk};
use ir::{Mems, text};

/// The loops of the function `f` with this body.
fn loops(body: &str) -> (String, Vec<For>) {
    let source = format!(
        "mems
file \"test.fut\"
entry \"f\" = f (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)

fun f(n_0: i64) : (i64)
{{
{body}
  in (n_0)
}}
"
    );
    let program = text::parse::<Mems>(&source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let program = impgen::generate(&program, &mut ir::Context::default()).unwrap_or_else(|e| panic!("{e:?}"));
    let shown = print(&program);
    assert_eq!(verify(&program), Ok(()), "{shown}");
    let mut found = Vec::new();
    walk::each_stmt(&program.functions[0].body, &mut |stmt| {
        if let Stmt::For(f) = stmt {
            found.push(f.clone());
        }
    });
    (shown, found)
}

#[test]
fn fills_take_slices_unless_there_is_one_task() {
    let iota = |n: &str| {
        format!(
            "  let mem_1: mem host = alloc 8000000i64 host
  let xs_2: [{n}]i64 @ mem_1 -> {{0; (1: {n})}} = iota.i64 {n} 0i64 1i64"
        )
    };
    let replicate = |n: &str, m: &str| {
        format!(
            "  let mem_1: mem host = alloc 8000000i64 host
  let xs_2: [{n}][{m}]i64 @ mem_1 -> {{0; ({m}: {n}), (1: {m})}} = replicate [{n}][{m}] 7i64"
        )
    };
    let copy = |n: &str, m: &str| {
        format!(
            "{}
  let mem_3: mem host = alloc 8000000i64 host
  let ys_4: [{n}][{m}]i64 @ mem_3 -> {{0; ({m}: {n}), (1: {m})}} = copy xs_2",
            replicate(n, m)
        )
    };
    let cases = [
        (iota("65535"), 0),
        (iota("65536"), 1),
        (iota("n_0"), 1),
        (replicate("255", "256"), 0),
        (replicate("256", "256"), 1),
        (replicate("2", "n_0"), 1),
        (replicate("1", "100000"), 0),
        (copy("255", "256"), 0),
        (copy("256", "256"), 2),
        (copy("n_0", "3"), 2),
    ];
    for (body, wanted) in cases {
        let (shown, loops) = loops(&body);
        let tasks = loops.iter().filter(|f| f.slices().is_some()).count();
        assert_eq!(tasks, wanted, "{shown}");
    }
}

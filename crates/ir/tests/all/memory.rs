//! The evaluator at the level with memory: every kind of misuse in a small program, and legal
//! programs that share blocks.

use crate::eval::i64s;
use ir::eval::{ErrorClass, EvalError, EvalValue, eval_entry};
use ir::{Mems, text, verify};
use prim::Scalar;

/// The result of `main` for an array `xs_2` of `n_0` numbers in the block `m_1`: its last result,
/// an array if `array` is true, else a number.
fn run(kind: &str, body: &str, more: &str, array: bool) -> Result<EvalValue, EvalError> {
    let (entry, results) = if array {
        ("\"\": \"[]i64\" as array 1 i64", "(mem host, i64, [?1]i64 @ ?0 -> {0; (1: ?1)})")
    } else {
        ("\"\": \"i64\" as i64", "(i64)")
    };
    let source = format!(
        "mems\nfile \"t.fut\"\n\
         entry \"main\" = f (\"xs\": {kind}\"[]i64\" as array 1 i64) -> ({entry})\n\
         fun f(n_0: i64, m_1: mem host, {kind}xs_2: [n_0]i64 @ m_1 -> {{0; (1: n_0)}}) : {results}\n\
         {{\n{body}\n}}\n{more}"
    );
    let program = text::parse::<Mems>(&source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let mut results = eval_entry(&program, "main", vec![i64s(&[10, 20, 30, 40])])?;
    // A program that the evaluator accepts must pass the verifier.
    if let Err(errors) = verify::verify(&program) {
        panic!("{}", verify::listing(&program, &errors));
    }
    Ok(results.pop().expect("one result"))
}

#[track_caller]
fn gives(body: &str, wanted: i64) {
    let result = run("*", body, "", false);
    assert_eq!(result, Ok(EvalValue::Scalar(Scalar::I64(wanted))), "{body}");
}

#[track_caller]
fn gives_array(body: &str, wanted: &[i64]) {
    assert_eq!(run("*", body, "", true), Ok(i64s(wanted)), "{body}");
}

#[track_caller]
fn is_bug(result: Result<EvalValue, EvalError>, wanted: &[&str]) {
    let error = result.expect_err("memory is misused");
    assert_eq!(error.class, ErrorClass::Bug, "{error}");
    for part in wanted {
        assert!(error.message.contains(part), "{error}");
    }
}

#[track_caller]
fn bug(body: &str, wanted: &[&str]) {
    is_bug(run("*", body, "", false), wanted);
}

#[test]
fn reads_of_overwritten_elements_are_errors() {
    // Another array at the same location.
    bug(
        "let a_3: [n_0]i64 @ m_1 -> {0; (1: n_0)} = iota.i64 n_0 0i64 1i64
         let x_4: i64 = xs_2[3i64]
         in (x_4)",
        &[
            "block m_1 of f: element 3 is read, but a_3 of f has overwritten it",
            "\n  in f: let x_4: i64 = xs_2[3i64]",
        ],
    );
    // Partial overwriting: the other elements are intact.
    let part = |at: i64| {
        format!(
            "let a_3: [2]i64 @ m_1 -> {{1; (1: 2)}} = iota.i64 2 0i64 1i64
             let x_4: i64 = xs_2[{at}i64]
             in (x_4)"
        )
    };
    gives(&part(0), 10);
    gives(&part(3), 40);
    bug(&part(1), &["element 1 is read, but a_3"]);
    // Overwriting with the same values.
    bug(
        "let a_3: [1]i64 @ m_1 -> {0; (1: 1)} = iota.i64 1 10i64 1i64
         let x_4: i64 = xs_2[0i64]
         in (x_4)",
        &["a_3 of f has overwritten"],
    );
    // A read through a view, in a copy of the whole.
    bug(
        "let v_3: [n_0]i64 @ m_1 -> {3; (-1: n_0)} = xs_2[3i64 :+ n_0 * -1i64]
         let a_4: [1]i64 @ m_1 -> {2; (1: 1)} = iota.i64 1 0i64 1i64
         let b_5: mem host = alloc 32i64 host
         let c_6: [n_0]i64 @ b_5 -> {0; (1: n_0)} = copy v_3
         let x_7: i64 = c_6[0i64]
         in (x_7)",
        &["element 2 is read, but a_4 of f", "let c_6"],
    );
    // A read of an element that an update has replaced, which the verifier detects as well.
    bug(
        "let a_3: [n_0]i64 @ m_1 -> {0; (1: n_0)} = copy xs_2
         let v_4: [2]i64 @ m_1 -> {0; (1: 2)} = a_3[0i64 :+ 2 * 1i64]
         let b_5: [n_0]i64 @ m_1 -> {0; (1: n_0)} = a_3 with [1i64] = 5i64
         let x_6: i64 = v_4[1i64]
         in (x_6)",
        &["element 1 is read, but b_5"],
    );
}

#[test]
fn writes_of_callees_are_detected() {
    let callee = "fun g(n_0: i64, m_1: mem host, ys_2: [n_0]i64 @ m_1 -> {0; (1: n_0)}) : (i64) {
         let a_3: [n_0]i64 @ m_1 -> {0; (1: n_0)} = replicate [n_0] 0i64
         in (n_0)
       }";
    let body = "let k_3: i64 = call g (n_0, m_1, xs_2)
         let x_4: i64 = xs_2[0i64]
         in (x_4)";
    is_bug(run("*", body, callee, false), &["a_3 of g has overwritten", "in f: let x_4"]);
}

#[test]
fn accesses_out_of_bounds_are_errors() {
    bug(
        "let b_3: mem host = alloc 24i64 host
         let a_4: [n_0]i64 @ b_3 -> {0; (1: n_0)} = iota.i64 n_0 0i64 1i64
         in (n_0)",
        &["block b_3 of f: element 3 is out of bounds (3 elements)", "in f: let a_4"],
    );
    bug(
        "let a_3: [2]i64 @ m_1 -> {-1; (1: 2)} = iota.i64 2 0i64 1i64
         in (n_0)",
        &["element -1 is out of bounds"],
    );
    bug(
        "let b_3: mem host = alloc 32i64 host
         let r_4: [n_0]i64 @ b_3 -> {0; (2: n_0)} = segmap tasks (i_5 < n_0) chunks (1, 1, 1, 0) : (i64) -> { in (i_5) }
         in (n_0)",
        &["element 4 is out of bounds (4 elements)", "in f: let r_4"],
    );
    bug(
        "let b_3: mem host = alloc 32i64 host
         let a_4: [2]i64 @ b_3 -> {0; (1: 2)} = iota.i64 2 0i64 1i64
         let c_5: [2]i32 @ b_3 -> {4; (1: 2)} = iota.i32 2 0i32 1i32
         in (n_0)",
        &["it contains i64, but is accessed as i32"],
    );
}

#[test]
fn reads_of_unwritten_elements_are_errors() {
    bug(
        "let b_3: mem host = alloc 32i64 host
         let a_4: [n_0]i64 @ b_3 -> {0; (1: n_0)} = scratch.i64 [n_0]
         let c_5: [n_0]i64 @ b_3 -> {0; (1: n_0)} = a_4 with [2i64] = 1i64
         let x_6: i64 = c_5[1i64]
         in (x_6)",
        &["element 1 is read before it is written", "in f: let x_6"],
    );
    // Values from before the scratch do not count.
    bug(
        "let a_3: [n_0]i64 @ m_1 -> {0; (1: n_0)} = scratch.i64 [n_0]
         let x_4: i64 = a_3[0i64]
         in (x_4)",
        &["before it is written"],
    );
    // Unwritten elements may be copied and remain unwritten; the others are defined.
    let copied = |at: i64| {
        format!(
            "let b_3: mem host = alloc 32i64 host
             let a_4: [n_0]i64 @ b_3 -> {{0; (1: n_0)}} = scratch.i64 [n_0]
             let c_5: [n_0]i64 @ b_3 -> {{0; (1: n_0)}} = a_4 with [2i64] = 7i64
             let b_6: mem host = alloc 32i64 host
             let d_7: [n_0]i64 @ b_6 -> {{0; (1: n_0)}} = copy c_5
             let x_8: i64 = d_7[{at}i64]
             in (x_8)"
        )
    };
    gives(&copied(2), 7);
    bug(&copied(3), &["block b_6 of f: element 3", "before it is written"]);
    is_bug(
        run(
            "",
            "let b_3: mem host = alloc 32i64 host
             let a_4: [n_0]i64 @ b_3 -> {0; (1: n_0)} = scratch.i64 [n_0]
             in (b_3, n_0, a_4)",
            "",
            true,
        ),
        &["a result was not completely written"],
    );
}

#[test]
fn locations_are_checked_against_annotations() {
    bug(
        "let v_3: [2]i64 @ m_1 -> {0; (1: 2)} = xs_2[1i64 :+ 2 * 1i64]
         in (n_0)",
        &["v_3 is not at the location in its annotation", "in f: let v_3"],
    );
    bug(
        "let b_3: mem host = alloc 32i64 host
         let y_4: [n_0]i64 @ b_3 -> {0; (1: n_0)} = xs_2 with [0i64] = 1i64
         in (n_0)",
        &["y_4 is not at the location"],
    );
    bug(
        "let b_3: mem host = alloc 32i64 host
         let a_4: [n_0]i64 @ b_3 -> {0; (1: n_0)} = copy xs_2
         let c_5: bool = eq.i64 n_0 4i64
         let y_6: [n_0]i64 @ m_1 -> {0; (1: n_0)} = if c_5 then { in (a_4) } else { in (xs_2) }
         in (n_0)",
        &["y_6 is not at the location"],
    );
    bug(
        "let b_3: mem host = alloc 32i64 host
         let a_4: [n_0]i64 @ b_3 -> {0; (1: n_0)} = copy xs_2
         let r_5: [n_0]i64 @ m_1 -> {0; (1: n_0)} = loop (y_6: [n_0]i64 @ m_1 -> {0; (1: n_0)} = xs_2) for i_7: i64 < 2i64 do { in (a_4) }
         in (n_0)",
        &["y_6 is not at the location", "in f: let r_5"],
    );
    bug(
        "let t_3: [2][2]i64 @ m_1 -> {0; (2: 2), (1: 2)} = reshape [2][2] xs_2
         let u_4: [2][2]i64 @ m_1 -> {0; (1: 2), (2: 2)} = rearrange (1, 0) t_3
         let v_5: [4]i64 @ m_1 -> {0; (1: 4)} = reshape [4] u_4
         in (n_0)",
        &["no index function expresses this reshape"],
    );
    is_bug(
        run(
            "*",
            "let v_3: [n_0]i64 @ m_1 -> {3; (-1: n_0)} = xs_2[3i64 :+ n_0 * -1i64]
             in (m_1, n_0, v_3)",
            "",
            true,
        ),
        &["is not row-major from the start of its block"],
    );
}

#[test]
fn overlapping_result_rows_are_errors() {
    bug(
        "let b_3: mem host = alloc 64i64 host
         let r_4: [n_0][2]i64 @ b_3 -> {0; (1: n_0), (1: 2)} = segmap tasks (i_5 < n_0) chunks (1, 1, 1, 0) : ([2]i64) -> {
           let p_6: mem registers = alloc 16i64 registers
           let a_7: [2]i64 @ p_6 -> {0; (1: 2)} = lit i64 (i_5, 0i64)
           in (a_7)
         }
         in (n_0)",
        &["element 1 is read, but r_4 of f has overwritten", "in f: let r_4"],
    );
    bug(
        "let b_3: mem host = alloc 64i64 host
         let r_4: [n_0]i64 @ b_3 -> {0; (0: n_0)} = segscan tasks (i_5 < n_0) chunks (1, 1, 1, 0) : (i64) -> { in (i_5) }
           scan \\(a_6: i64, b_7: i64) : (i64) -> { let c_8: i64 = add.i64 a_6 b_7 in (c_8) } neutral (0i64)
         in (n_0)",
        &["element 0 is read, but r_4"],
    );
    // An operation whose result overwrites elements that other iterations still read.
    bug(
        "let r_3: [n_0]i64 @ m_1 -> {3; (-1: n_0)} = segmap tasks (i_4 < n_0) chunks (1, 1, 1, 0) : (i64) -> {
           let x_5: i64 = xs_2[i_4]
           in (x_5)
         }
         in (n_0)",
        &["element 2 is read, but r_3", "in f: let x_5"],
    );
    // An array that overwrites a finished row.
    bug(
        "let b_3: mem host = alloc 64i64 host
         let r_4: [n_0][2]i64 @ b_3 -> {0; (2: n_0), (1: 2)} = segmap tasks (i_5 < n_0) chunks (1, 1, 1, 0) : ([2]i64) -> {
           let a_6: [2]i64 @ b_3 -> {2*i_5; (1: 2)} = lit i64 (i_5, 0i64)
           let c_7: [1]i64 @ b_3 -> {1 + 2*i_5; (1: 1)} = lit i64 (9i64)
           in (a_6)
         }
         in (n_0)",
        &["element 1 is read, but c_7"],
    );
    // A concatenation that overwrites its operands.
    bug(
        "let u_3: [2]i64 @ m_1 -> {0; (1: 2)} = xs_2[0i64 :+ 2 * 1i64]
         let v_4: [2]i64 @ m_1 -> {2; (1: 2)} = xs_2[2i64 :+ 2 * 1i64]
         let a_5: [4]i64 @ m_1 -> {0; (1: 4)} = concat 0 to 4 (v_4, u_3)
         in (n_0)",
        &["is read, but a_5", "in f: let a_5"],
    );
}

#[test]
fn writes_to_read_only_blocks_are_errors() {
    is_bug(
        run(
            "",
            "let a_3: [1]i64 @ m_1 -> {0; (1: 1)} = iota.i64 1 0i64 1i64
             in (n_0)",
            "",
            false,
        ),
        &["block m_1 of f: it is read-only, but is written", "in f: let a_3"],
    );
    let constant = "const table() : (mem host, [2]i64 @ ?0 -> {0; (1: 2)}) {
         let b_0: mem host = alloc 16i64 host
         let t_1: [2]i64 @ b_0 -> {0; (1: 2)} = lit i64 (1i64, 2i64)
         in (b_0, t_1)
       }";
    let body = "let (b_3: mem host, t_4: [2]i64 @ b_3 -> {0; (1: 2)}) = call table ()
         let u_5: [2]i64 @ b_3 -> {0; (1: 2)} = t_4 with [0i64] = 5i64
         let x_6: i64 = u_5[0i64]
         in (x_6)";
    is_bug(run("", body, constant, false), &["block b_0 of table: it is read-only", "in f: let u_5"]);
}

#[test]
fn legal_block_sharing() {
    // The rows of the result are built in place by the loop.
    gives_array(
        "let b_3: mem host = alloc 32i64 host
         let r_4: [2][2]i64 @ b_3 -> {0; (2: 2), (1: 2)} = segmap tasks (i_5 < 2) chunks (1, 1, 1, 0) : ([2]i64) -> {
           let o_6: [2]i64 @ b_3 -> {2*i_5; (1: 2)} = scratch.i64 [2]
           let p_7: [2]i64 @ b_3 -> {2*i_5; (1: 2)} = loop (*q_8: [2]i64 @ b_3 -> {2*i_5; (1: 2)} = o_6) for j_9: i64 < 2i64 do {
             let k_10: i64 = add.i64 i_5 j_9
             let w_11: [2]i64 @ b_3 -> {2*i_5; (1: 2)} = q_8 with [j_9] = k_10
             in (w_11)
           }
           in (p_7)
         }
         let s_12: [4]i64 @ b_3 -> {0; (1: 4)} = reshape [4] r_4
         in (b_3, 4i64, s_12)",
        &[0, 1, 1, 2],
    );
    // A row that is at its location before the update.
    gives_array(
        "let v_3: [2]i64 @ m_1 -> {2; (1: 2)} = iota.i64 2 7i64 1i64
         let x_4: i64 = xs_2[1i64]
         let y_5: [n_0]i64 @ m_1 -> {0; (1: n_0)} = xs_2 with [2i64 :+ 2 * 1i64] = v_3
         in (m_1, n_0, y_5)",
        &[10, 20, 7, 8],
    );
    // An iteration that overwrites the element that it alone has read.
    gives_array(
        "let r_3: [n_0]i64 @ m_1 -> {0; (1: n_0)} = segmap tasks (i_4 < n_0) chunks (1, 1, 1, 0) : (i64) -> {
           let x_5: i64 = xs_2[i_4]
           let y_6: i64 = add.i64 x_5 1i64
           in (y_6)
         }
         in (m_1, n_0, r_3)",
        &[11, 21, 31, 41],
    );
    // Blocks of branches, of every iteration, and a copy within a block.
    gives_array(
        "let (b_3: mem host, r_4: [n_0]i64 @ b_3 -> {0; (1: n_0)}) = loop (c_5: mem host = m_1, y_6: [n_0]i64 @ c_5 -> {0; (1: n_0)} = xs_2) for i_7: i64 < 3i64 do {
           let odd_8: i64 = and.i64 i_7 1i64
           let q_9: bool = eq.i64 odd_8 1i64
           let (d_10: mem host, z_11: [n_0]i64 @ d_10 -> {0; (1: n_0)}) = if q_9 then { in (c_5, y_6) } else {
             let e_12: mem host = alloc 32i64 host
             let v_13: [n_0]i64 @ c_5 -> {3; (-1: n_0)} = y_6[3i64 :+ n_0 * -1i64]
             let w_14: [n_0]i64 @ e_12 -> {0; (1: n_0)} = copy v_13
             in (e_12, w_14)
           }
           in (d_10, z_11)
         }
         let u_15: [3]i64 @ b_3 -> {0; (1: 3)} = r_4[0i64 :+ 3 * 1i64]
         let k_16: [3]i64 @ b_3 -> {1; (1: 3)} = copy u_15
         let h_17: mem host = alloc 24i64 host
         let l_18: [3]i64 @ h_17 -> {0; (1: 3)} = copy k_16
         in (h_17, 3i64, l_18)",
        &[10, 20, 30],
    );
    // Colliding scattered writes, with the array in place.
    gives_array(
        "let y_3: [n_0]i64 @ m_1 -> {0; (1: n_0)} = withacc ([n_0] (xs_2)) \\(t_4: cert, a_5: acc t_4 [n_0] (i64)) : (acc t_4 [n_0] (i64)) -> {
           let r_6: acc t_4 [n_0] (i64) = segmap tasks (i_7 < n_0) chunks (1, 1, 1, 0) : (acc t_4 [n_0] (i64)) -> {
             let h_8: i64 = ashr.i64 i_7 1i64
             let u_9: acc t_4 [n_0] (i64) = updateacc a_5 (h_8) (i_7)
             in (u_9)
           }
           in (r_6)
         }
         in (m_1, n_0, y_3)",
        &[1, 3, 30, 40],
    );
}

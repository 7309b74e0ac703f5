//! Kernels on the simulated device: results in all orders of threads, failing checks, and every
//! kind of misuse that it reports.

use imp::eval::{ErrorClass, EvalError, EvalValue, Options, eval_entry_with};
use imp::{LoopMode, Program, Stmt, parse, print, verify};
use prim::Scalar;

/// A program whose `main` has a parameter and a result of type `i64`: it fills `xs_2` with 0 to 15,
/// runs a kernel of `blocks` blocks of 4 threads, and returns the first of the 16 elements of
/// `out_3`. The kernel has 8 numbers in shared memory, the statements `common` before the threads,
/// and the threads' code.
fn program(blocks: &str, common: &str, threads: &str) -> Program {
    program_with("", blocks, common, threads)
}

/// With `shared` in `lists`, the launch has the shared-memory buffer.
fn program_with(lists: &str, blocks: &str, common: &str, threads: &str) -> Program {
    let frame = if lists.contains("shared") { "" } else { "shared_5 = frame [8]i64" };
    let text = format!(
        "imp file \"a.fut\"
        check#0 = \"{{i64}} is bad.\" at \"a.fut:1:2-3\\na.fut:4:5-6\"
        entry \"main\" = main (\"n\": \"i64\" as i64) -> (\"\": \"i64\" as i64)
        fun twice(n_0: i64) -> (r_1: i64) {{
          check#0 slt.i64(n_0, 100) values (n_0)
          r_1: i64 = (n_0 * 2)
        }}
        fun main(n_0: i64) -> (r_1: i64) {{
          owned xs_2, out_3, host_4
          vars xs_2: buffer device, out_3: buffer device, shared_5: buffer shared, own_6: buffer private, x_11: i64, y_12: i64, z_13: i64, go_14: bool, s_15: i32, k_16: i64, common_9: i64
          host_4 = alloc 128
          for i_7: i64 in 0 .. 16 {{ host_4[i64: i_7] = i_7 }}
          xs_2 = alloc 128
          copy [16]i64 xs_2[0 strides 1] <- host_4[0 strides 1] as memory
          out_3 = alloc 128
          for block_8: i64 in 0 .. {blocks} grid#0 \"main.test\" at \"\" cost 1
            owned () locals (shared_5, common_9) captures () distinct () {lists} {{
            {frame}
            {common}
            for thread_10: i64 in 0 .. 4 block locals (x_11, y_12, z_13, own_6, go_14, s_15, k_16) {{ {threads} }}
          }}
          copy [1]i64 host_4[0 strides 1] <- out_3[0 strides 1] as memory
          r_1: i64 = host_4[i64: at 0]
        }}"
    );
    let mut program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    program.functions.iter_mut().for_each(imp::captures::fill);
    assert_eq!(verify(&program), Ok(()), "{text}");
    let printed = print(&program);
    assert_eq!(parse(&printed).as_ref(), Ok(&program), "{printed}");
    program
}

/// The results of `main` for an argument, in a few orders.
fn run(program: &Program, n: i64) -> Vec<Result<i64, EvalError>> {
    let run = |seed| {
        let options = Options { budget: 100_000, seed, ..Options::default() };
        let args = vec![EvalValue::Scalar(Scalar::I64(n))];
        match eval_entry_with(program, "main", args, options)?.as_slice() {
            [EvalValue::Scalar(Scalar::I64(x))] => Ok(*x),
            other => panic!("{other:?}"),
        }
    };
    (0..16).map(run).collect()
}

#[track_caller]
fn gives(program: &Program, n: i64, wanted: i64) {
    for result in run(program, n) {
        assert_eq!(result, Ok(wanted));
    }
}

/// The evaluator reports the same misuse in all orders.
#[track_caller]
fn is_reported(program: &Program, wanted: &str) {
    for result in run(program, 5) {
        let error = result.expect_err(wanted);
        assert_eq!(error.class, ErrorClass::Bug, "{error}");
        assert!(error.message.contains(wanted), "{error}");
    }
}

/// A tree reduction of 4 numbers in shared memory.
const TREE: &str = "
    x_11: i64 = xs_2[i64: (block_8 * 4) + thread_10]
    shared_5[i64: thread_10] = x_11
    barrier
    y_12: i64 = 2
    go_14: bool = true
    while go_14 {
      if slt.i64(thread_10, y_12) {
        x_11: i64 = shared_5[i64: (thread_10 + y_12)]
        own_6 = frame [1]i64
        own_6[i64: at 0] = x_11
        x_11: i64 = shared_5[i64: thread_10]
        z_13: i64 = own_6[i64: at 0]
        shared_5[i64: thread_10] = (x_11 + z_13)
      }
      barrier
      y_12: i64 = squot.i64(y_12, 2)
      go_14: bool = slt.i64(0, y_12)
    }";

#[test]
fn launch_sets_the_size_of_shared_memory() {
    let end = "if eq.i64(thread_10, 0) { x_11: i64 = shared_5[i64: at 0] out_3[i64: block_8] = x_11 }";
    let of = |bytes: &str| {
        let shared = format!("shared (shared_5: buffer shared of {bytes})");
        program_with(&shared, "3", "", &format!("{TREE} {end}"))
    };
    gives(&of("(n_0 * 8)"), 4, 1 + 2 + 3);
    is_reported(&of("((n_0 * 8) - 16)"), "outside of a block of 24 bytes");
    for bytes in ["(0 - n_0)", "(49152 + n_0)"] {
        for result in run(&of(bytes), 8) {
            let error = result.expect_err("the buffer does not fit");
            assert_eq!(error.class, ErrorClass::Limit, "{error}");
            assert!(error.message.contains("of shared memory"), "{error}");
        }
    }
}

#[test]
fn threads_of_a_block_communicate_in_shared_memory() {
    let end = "if eq.i64(thread_10, 0) { x_11: i64 = shared_5[i64: at 0] out_3[i64: block_8] = x_11 }";
    let program = program("3", "", &format!("{TREE} {end}"));
    gives(&program, 0, 1 + 2 + 3);
}

#[test]
fn atomic_updates_race_only_with_plain_accesses() {
    let sum = program(
        "4",
        "common_9: i64 = (block_8 * 4)",
        "x_11: i64 = xs_2[i64: common_9 + thread_10]
         if eq.i64((common_9 + thread_10), 0) { out_3[i64: at 1] = 7 }
         barrier
         atomic add xs_2[i64: at 15] <- 0",
    );
    // Element 15 is both read non-atomically and updated.
    is_reported(&sum, "meet in byte 120 of block xs_2");
    let count = program(
        "4",
        "",
        "atomic x_11: i64 = add xs_2[i64: at 0] <- thread_10
         atomic smax xs_2[i64: at 1] <- (block_8 * thread_10)
         if eq.i64((block_8 + thread_10), 0) { out_3[i64: at 0] = n_0 }",
    );
    gives(&count, 6, 6);
    let last = program(
        "1",
        "",
        "shared_5[i64: thread_10] = 0
         barrier
         atomic add shared_5[i64: at 0] <- (thread_10 * thread_10)
         barrier
         x_11: i64 = shared_5[i64: at 0]
         if eq.i64(thread_10, 3) { out_3[i64: at 0] = x_11 }",
    );
    gives(&last, 0, 1 + 4 + 9);
    // A lock, for an operation without an atomic operator.
    let lock = program(
        "1",
        "",
        "shared_5[i64: thread_10] = 0
         barrier
         go_14: bool = true
         while go_14 {
           swap x_11: i64 = shared_5[i64: at 0] expected thread_10 to (thread_10 + 1)
           go_14: bool = slt.i64(x_11, thread_10)
         }
         barrier
         if eq.i64(thread_10, 3) { x_11: i64 = shared_5[i64: at 0] out_3[i64: at 0] = x_11 }",
    );
    gives(&lock, 0, 4);
}

#[test]
fn functions_run_in_threads() {
    let calls = program(
        "4",
        "",
        "(x_11: i64) = twice((n_0 + thread_10)) out_3[i64: (block_8 * 4) + thread_10] = x_11",
    );
    gives(&calls, 10, 20);
    for result in run(&calls, 97) {
        let error = result.expect_err("the check fails for 100");
        assert_eq!(error.class, ErrorClass::Failure);
        let text = "100 is bad.\n  at a.fut:1:2-3\n  called at a.fut:4:5-6";
        assert_eq!(error.message, text);
    }
}

#[test]
fn failed_threads_do_not_block_barriers() {
    let fails = program(
        "4",
        "",
        "check#0 slt.i64((block_8 + thread_10), 4) values (((block_8 * 10) + thread_10))
         barrier
         out_3[i64: (block_8 * 4) + thread_10] = 1",
    );
    let mut seen = Vec::new();
    for result in run(&fails, 0) {
        let error = result.expect_err("a thread fails");
        assert_eq!(error.class, ErrorClass::Failure);
        let text = error.message.lines().next().unwrap_or_default();
        seen.push(text.to_owned());
    }
    seen.sort();
    seen.dedup();
    // Any failing thread may be reported.
    let all = [13, 22, 23, 31, 32, 33].map(|at| format!("{at} is bad."));
    assert!(seen.len() > 1 && seen.iter().all(|text| all.contains(text)), "{seen:?}");
}

#[test]
fn races_between_threads_are_reported() {
    let missing = program(
        "1",
        "",
        "shared_5[i64: thread_10] = 0
         barrier
         shared_5[i64: thread_10] = thread_10
         x_11: i64 = shared_5[i64: (3 - thread_10)]",
    );
    is_reported(&missing, "of block 0 of grid#0 \"main.test\" meet in byte");
    let shared = program("1", "", "shared_5[i64: at 0] = thread_10");
    is_reported(&shared, "meet in byte 0 of block shared_5: one writes it and the other writes it");
    // A barrier orders the threads of one block only.
    let blocks = program(
        "2",
        "",
        "if eq.i64((block_8 + thread_10), 0) { xs_2[i64: at 9] = 1 }
         barrier
         x_11: i64 = xs_2[i64: at 9]",
    );
    is_reported(&blocks, "meet in byte 72 of block xs_2");
    let blocks = program("2", "", "out_3[i64: thread_10] = 1");
    is_reported(&blocks, "of block out_3");
    // Readers before the last one count.
    let readers = program(
        "1",
        "",
        "x_11: i64 = xs_2[i64: at 3]
         if eq.i64(thread_10, 2) { xs_2[i64: at 3] = 1 }",
    );
    is_reported(&readers, "meet in byte 24 of block xs_2");
    let part = program(
        "1",
        "",
        "if eq.i64(thread_10, 0) { shared_5[i64: at 0] = 1 } else { shared_5[i8: at 1 + thread_10] = 1i8 }",
    );
    is_reported(&part, "of block shared_5");
    let atomic = program(
        "1",
        "",
        "shared_5[i64: thread_10] = 0
         barrier
         shared_5[i64: thread_10] = 1
         atomic add shared_5[i64: at 0] <- 1",
    );
    is_reported(&atomic, "meet in byte 0 of block shared_5");
}

#[test]
fn scattered_writes_may_race() {
    let scatter =
        program_with("scattered (out_3)", "2", "", "out_3[i64: at 0] = 8 out_3[i64: thread_10] = 8");
    gives(&scatter, 0, 8);
    let read =
        program_with("scattered (out_3)", "2", "", "out_3[i64: at 0] = 8 x_11: i64 = out_3[i64: at 0]");
    is_reported(&read, "of block out_3");
}

#[test]
fn other_misuse_is_reported() {
    let outside = program("1", "", "x_11: i64 = xs_2[i64: (13 + thread_10)]");
    is_reported(&outside, "lie outside of a block of 128 bytes");
    let outside = program("1", "", "shared_5[i64: (thread_10 - 1)] = 1");
    is_reported(&outside, "lie outside of a block of 64 bytes");
    let unwritten = program("1", "", "x_11: i64 = out_3[i64: thread_10] y_12: i64 = (x_11 + 1)");
    is_reported(&unwritten, "is used and was never written");
    // A block does not see another block's shared memory.
    let left = program(
        "2",
        "",
        "if eq.i64(block_8, 0) { shared_5[i64: thread_10] = 1 } barrier x_11: i64 = shared_5[i64: thread_10] y_12: i64 = (x_11 + 1)",
    );
    is_reported(&left, "is used and was never written");
    let own = "own_6 = frame [1]i64 x_11: i64 = own_6[i64: at 0]";
    let private = program("1", "", &format!("{own} y_12: i64 = (x_11 + 1)"));
    is_reported(&private, "is used and was never written");
    // A copy keeps the value unwritten.
    let copied = "out_3[i64: thread_10] = x_11 z_13: i64 = out_3[i64: thread_10]";
    let fine = program("1", "", &format!("{own} {copied} out_3[i64: thread_10] = 7"));
    gives(&fine, 0, 7);
    let used = program("1", "", &format!("{own} {copied} y_12: i64 = (z_13 + 1)"));
    is_reported(&used, "is used and was never written");
    let unset = program("1", "", "y_12: i64 = x_11");
    is_reported(&unset, "is not set");
}

#[test]
fn writes_to_variables_of_other_levels_are_reported() {
    let mut program = program("2", "common_9: i64 = 1", "x_11: i64 = common_9");
    assert_eq!(print(&program).matches("locals (x_11, ").count(), 1);
    let main = program.functions.iter_mut().find(|f| &*f.name == "main");
    let stmts = main.into_iter().flat_map(|main| &mut main.body);
    let kernels = stmts.filter_map(|stmt| match stmt {
        Stmt::For(kernel) if matches!(kernel.mode, LoopMode::Grid(_)) => kernel.body.last_mut(),
        _ => None,
    });
    for threads in kernels {
        if let Stmt::For(threads) = threads
            && let LoopMode::Threads(locals) = &mut threads.mode
        {
            locals.remove(0);
        }
    }
    is_reported(&program, "is set by a block or a thread, and is not its own");
}

#[test]
fn divergent_barriers_are_reported() {
    // The simulated device reports what the verifier refuses.
    let mut ended = program("1", "", "if eq.i64(thread_10, 0) { x_11: i64 = 1 } barrier");
    let text = print(&ended);
    let text = text.replace("x_11: i64 = 1", "barrier").replacen("}\n      barrier", "}", 1);
    ended = parse(&text).expect("the text is valid");
    assert!(verify(&ended).is_err());
    is_reported(&ended, "waits at a barrier, and 3 have ended");
    let text = text.replace("barrier\n      }", "barrier\n      } else {\n barrier\n }");
    let other = parse(&text).expect("the text is valid");
    is_reported(&other, "wait at different barriers");
}

/// Code of two blocks that pass data: of the one that takes number 0 from a counter, and of the
/// other one.
fn two_blocks(first: &str, second: &str) -> Program {
    program(
        "2",
        "",
        &format!(
            "if eq.i64(thread_10, 0) {{
               atomic s_15: i32 = add xs_2[i32: at 3] <- 1i32
               shared_5[i64: at 0] = sext.i32.i64(s_15)
             }}
             barrier
             x_11: i64 = shared_5[i64: at 0]
             if eq.i64(x_11, 0) {{ {first} }} else {{ {second} }}"
        ),
    )
}

/// The signal of the block with number 0.
const GIVEN: &str = "if eq.i64(thread_10, 0) { signal xs_2[i32: at 1] <- 7i32 }";
const AWAITED: &str = "if eq.i64(thread_10, 2) { await s_15: i32 = xs_2[i32: at 1] }";
const WRITTEN: &str = "xs_2[i64: (4 + thread_10)] = n_0";
const READ: &str = "y_12: i64 = xs_2[i64: (7 - thread_10)] out_3[i64: thread_10] = y_12";

#[test]
fn await_makes_earlier_writes_visible() {
    let whole = two_blocks(&format!("{WRITTEN} barrier {GIVEN}"), &format!("{AWAITED} barrier {READ}"));
    gives(&whole, 13, 13);
    // A single thread needs no barriers.
    let alone = two_blocks(
        "if eq.i64(thread_10, 0) { xs_2[i64: at 4] = n_0 signal xs_2[i32: at 1] <- 7i32 }",
        "if eq.i64(thread_10, 2) {
           await s_15: i32 = xs_2[i32: at 1]
           y_12: i64 = xs_2[i64: at 4]
           xs_2[i64: at 4] = 0
           out_3[i64: at 0] = (y_12 + sext.i32.i64(s_15))
         }",
    );
    gives(&alone, 13, 20);
}

#[test]
fn signals_are_transitive_across_blocks() {
    // Each block awaits the previous one, and adds to its result.
    let chain = program(
        "8",
        "",
        "if eq.i64(thread_10, 0) {
           atomic s_15: i32 = add xs_2[i32: at 3] <- 1i32
           x_11: i64 = sext.i32.i64(s_15)
           y_12: i64 = n_0
           if slt.i64(0, x_11) {
             await s_15: i32 = xs_2[i32: (9 + (x_11 * 2))]
             y_12: i64 = xs_2[i64: at 14]
           }
           y_12: i64 = (y_12 + x_11)
           xs_2[i64: at 14] = y_12
           if eq.i64(x_11, 7) { out_3[i64: at 0] = y_12 }
           signal xs_2[i32: (11 + (x_11 * 2))] <- 1i32
         }",
    );
    gives(&chain, 2, 2 + 28);
    // Signals are transitive.
    let chain = program(
        "6",
        "",
        "if eq.i64(thread_10, 0) {
           atomic s_15: i32 = add xs_2[i32: at 3] <- 1i32
           x_11: i64 = sext.i32.i64(s_15)
           if eq.i64(x_11, 0) { xs_2[i64: at 14] = n_0 } else {
             await s_15: i32 = xs_2[i32: (9 + (x_11 * 2))]
           }
           if eq.i64(x_11, 5) { y_12: i64 = xs_2[i64: at 14] out_3[i64: at 0] = y_12 }
           signal xs_2[i32: (11 + (x_11 * 2))] <- 1i32
         }",
    );
    gives(&chain, 9, 9);
}

#[test]
fn unsynchronised_accesses_are_reported() {
    let races = |first: &str, second: &str| {
        is_reported(&two_blocks(first, second), "of block xs_2: one");
    };
    let (awaited, written) = (format!("{AWAITED} barrier {READ}"), format!("{WRITTEN} barrier {GIVEN}"));
    // No signal, or none awaited.
    races(WRITTEN, READ);
    races(&written, READ);
    // An atomic update is not a signal, and reading by one awaits none.
    let update = "if eq.i64(thread_10, 0) { atomic smax xs_2[i32: at 1] <- 7i32 }";
    races(&format!("{WRITTEN} barrier {update}"), &awaited);
    let polls = "go_14: bool = true
        while go_14 {
          atomic s_15: i32 = add xs_2[i32: at 1] <- 0i32
          go_14: bool = eq.i32(s_15, 0i32)
        }";
    races(&written, &format!("{polls} {READ}"));
    // The signal precedes the write that it should follow, of the same thread or of another one.
    races(&format!("{GIVEN} {WRITTEN}"), &awaited);
    races(&format!("{WRITTEN} {GIVEN}"), &awaited);
    // Another thread of the block has awaited it, with no barrier in between.
    races(&written, &format!("{AWAITED} {READ}"));
    // Signals race with plain accesses.
    races(&written, "y_12: i64 = xs_2[i64: at 0]");
}

#[test]
fn awaiting_a_missing_signal_is_reported() {
    let never = program("2", "", "await s_15: i32 = xs_2[i32: at 1]");
    is_reported(&never, "await signals that none of them gives");
    // Not all awaited blocks have started: none has taken a number.
    let next = program(
        "8",
        "",
        "if eq.i64(thread_10, 0) {
           if slt.i64(block_8, 7) { await s_15: i32 = xs_2[i32: (3 + (block_8 * 2))] }
           signal xs_2[i32: (1 + (block_8 * 2))] <- 1i32
           if eq.i64(block_8, 0) { out_3[i64: at 0] = n_0 }
         }",
    );
    let errors = run(&next, 5).into_iter().filter_map(Result::err);
    let errors: Vec<EvalError> = errors.collect();
    assert!(!errors.is_empty());
    for error in errors {
        assert!(error.message.contains("that none of them gives"), "{error}");
    }
}

#[test]
fn failed_blocks_do_not_block_waiting_blocks() {
    let fails = two_blocks(
        &format!("check#0 slt.i64(n_0, thread_10) values (n_0) barrier {GIVEN}"),
        &format!("{AWAITED} barrier {READ}"),
    );
    for result in run(&fails, 5) {
        let error = result.expect_err("threads fail");
        assert_eq!(error.class, ErrorClass::Failure, "{error}");
        assert!(error.message.starts_with("5 is bad."), "{error}");
    }
}

#[test]
fn subgroup_barriers_order_their_subgroup_only() {
    let exchange = |barrier: &str, other: i64| {
        let text = format!(
            "shared_5[i64: thread_10] = (thread_10 * 10)
             {barrier}
             x_11: i64 = shared_5[i64: xor.i64(thread_10, {other})]
             if eq.i64(thread_10, 0) {{ out_3[i64: block_8] = x_11 }}"
        );
        program("3", "", &text)
    };
    gives(&exchange("barrier of 2", 1), 5, 10);
    gives(&exchange("barrier of 4", 2), 5, 20);
    is_reported(&exchange("barrier of 2", 2), "of block shared_5: one");
    is_reported(&exchange("barrier of 1", 1), "of block shared_5: one");
    is_reported(
        &exchange("barrier of 2 barrier of 4", 1),
        "groups in a block of 4 threads that differ in size",
    );
    is_reported(&exchange("barrier of 8", 1), "groups in a block of 4 threads");
    // Readers of one subgroup are ordered before its writer, those of two subgroups are not.
    let readers = |index: &str| {
        let text = format!(
            "shared_5[i64: thread_10] = 7
             barrier
             x_11: i64 = shared_5[i64: {index}]
             barrier of 2
             if eq.i64(thread_10, 0) {{ shared_5[i64: at 0] = 8 out_3[i64: block_8] = x_11 }}"
        );
        program("2", "", &text)
    };
    gives(&readers("(thread_10 - and.i64(thread_10, 1))"), 5, 7);
    is_reported(&readers("0"), "of block shared_5: one");
    // A subgroup that has passed more of its barriers than another one still waits at the block's.
    let steps = program(
        "2",
        "",
        "for k_16: i64 in 0 .. 3 { barrier of 2 }
         shared_5[i64: thread_10] = thread_10
         barrier
         x_11: i64 = shared_5[i64: (3 - thread_10)]
         if eq.i64(thread_10, 0) { out_3[i64: block_8] = x_11 }",
    );
    gives(&steps, 5, 3);
}

#[test]
fn relaxed_signals_publish_only_their_value() {
    let signal = "if eq.i64(thread_10, 0) { signal xs_2[i64: at 0] <- n_0 }";
    let await_and_read = "if eq.i64(thread_10, 2) {
          await y_12: i64 = xs_2[i64: at 0]
          out_3[i64: at 0] = y_12
        }";
    gives(&two_blocks(signal, await_and_read), 5, 5);
    let behind = two_blocks(
        &format!("{WRITTEN} barrier {signal}"),
        &format!("{await_and_read} barrier y_12: i64 = xs_2[i64: (7 - thread_10)]"),
    );
    is_reported(&behind, "of block xs_2: one");
}

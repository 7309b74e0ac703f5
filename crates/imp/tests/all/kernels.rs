//! The verifier on kernels: a valid program, and one violation of each rule.

use imp::{Program, parse, verify};

/// A program with a kernel, in whose text parts may be replaced.
const VALID: &str = "imp file \"a.fut\"
check#0 = \"bad\" at \"\"
data#0: i64 = \"0100000000000000\"
global#0: i64
global#1: buffer device
tunable#0: threshold = \"main.t\" 5
fun helper(n_0: i64) -> (r_1: i64) {
  r_1: i64 = (n_0 + 1)
}
recursive fun again(n_0: i64) -> (r_1: i64) {
  (r_1: i64) = again(n_0)
}
fun made() -> (b_0: buffer device) {
  owned b_0
  b_0 = alloc 8
}
fun main(d_0: buffer device, n_1: i64) -> (b_2: buffer device) {
  owned b_2, h_3
  vars e_4: buffer device, shared_5: buffer shared, own_6: buffer private, small_14: buffer, go_15: bool, v_17: 2 x i64, kept_18: buffer device
  h_3 = alloc 80
  b_2 = alloc 80
  copy [10]i64 b_2[0 strides 1] <- h_3[0 strides 1] as memory
  small_14 = frame [1]i64
  e_4 = borrow b_2
  /* host */
  for block_7: i64 in 0 .. n_1 grid#0 \"main.k\" at \"\" cost 1 owned () locals (shared_5, first_8, own_6x) captures (d_0, b_2) distinct () scattered (b_2) {
    shared_5 = frame [4]i64
    first_8: i64 = (block_7 * 4)
    /* block */
    for thread_9: i64 in 0 .. 4 block locals (x_10, y_11, own_6, go_15, v_17, kept_18) {
      own_6 = frame [2]i64
      x_10: i64 = d_0[i64: first_8 + thread_9]
      own_6[i64: at 0] = x_10
      shared_5[i64: thread_9] = x_10
      barrier
      atomic y_11: i64 = add b_2[i64: at 0] <- x_10
      (y_11: i64) = helper(x_10)
      for k_12: i64 in 0 .. first_8 {
        barrier
      }
      copy [2]i64 own_6[0 strides 1] <- shared_5[0 strides 1] as memory
      /* thread */
    }
  }
}
";

fn text(from: &str, to: &str) -> String {
    assert!(VALID.contains(from), "{from}");
    let text = VALID.replacen(from, to, 1);
    let text = text.replace(", own_6x", "");
    ["host", "block", "thread"].iter().fold(text, |text, mark| text.replace(&format!("/* {mark} */"), ""))
}

fn program(from: &str, to: &str) -> Program {
    let text = text(from, to);
    let mut program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    program.functions.iter_mut().for_each(imp::captures::fill);
    program
}

#[track_caller]
fn rejected(from: &str, to: &str, wanted: &str) {
    let errors = verify(&program(from, to)).expect_err(wanted);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains(wanted)), "{texts:#?}");
}

const HOST: &str = "/* host */";
const BLOCK: &str = "/* block */";
const THREAD: &str = "/* thread */";

#[test]
fn valid_kernel_passes() {
    assert_eq!(verify(&program(HOST, "")), Ok(()));
    let kept = "global#1 = b_2";
    let mut program = program(HOST, kept);
    program.init = None;
    assert!(verify(&program).is_err(), "only the initialiser writes globals");
}

#[test]
fn captures_are_listed() {
    let mut program = program(HOST, "");
    let imp::Stmt::For(f) = &mut program.functions[3].body[5] else { panic!() };
    let launch = f.mode.launch_mut().expect("the loop is a kernel");
    assert_eq!(launch.captures.len(), 2);
    launch.captures.pop();
    let errors = verify(&program).expect_err("a capture is missing");
    assert!(errors[0].message.contains("does not capture b_2"), "{errors:?}");
}

#[test]
fn memory_spaces_are_checked() {
    rejected(HOST, "x_20: i64 = d_0[i64: at 0]", "the host accesses d_0");
    rejected(HOST, "d_0[i64: at 0] = 1", "the host accesses d_0");
    rejected(THREAD, "x_10: i64 = h_3[i64: at 0]", "a thread accesses h_3");
    rejected(THREAD, "h_3[i64: at 0] = 1", "a thread accesses h_3");
    rejected(THREAD, "copy [1]i64 h_3[0 strides 1] <- own_6[0 strides 1] as memory", "a thread accesses h_3");
    rejected(HOST, "shared_5 = alloc 8", "shared_5 is allocated in memory `shared`");
    rejected("e_4 = borrow b_2", "e_4 = borrow h_3", "e_4 and h_3 are in different memory spaces");
    rejected(HOST, "small_14 = data#0 e_4 = data#0", "e_4 is constant data in memory `device`");
    rejected(HOST, "small_14: buffer = global#1", "global#1 is in another memory space");
    rejected(HOST, "e_4 = frame [1]i64", "e_4 is an array of the frame in memory `device`");
    rejected(THREAD, "own_6 = borrow d_0", "own_6 and d_0 are in different memory spaces");
    rejected(
        "global#1: buffer device",
        "global#1: buffer private",
        "global#1 is in memory that only threads access",
    );
}

#[test]
fn host_device_copies_must_be_contiguous() {
    rejected(
        HOST,
        "copy [5]i64 b_2[0 strides 2] <- h_3[0 strides 1] one by one",
        "the host copies a region that is not contiguous",
    );
    rejected(
        THREAD,
        "copy [2, 2]i64 own_6[0 strides 2, 1] <- shared_5[0 strides 1, 2] in registers 2",
        "a kernel copies through vector registers",
    );
}

#[test]
fn kernel_structure_is_checked() {
    rejected(
        BLOCK,
        "x_20: i64 = d_0[i64: at 0]",
        "a statement of a thread block is outside of its loop over threads",
    );
    rejected(BLOCK, "own_6 = frame [2]i64", "own_6 is a shared-memory array in memory `private`");
    rejected(
        "shared_5 = frame [4]i64",
        "shared_5 = frame [6145]i64",
        "a block needs 49160 bytes of shared memory, but the limit is 49152",
    );
    let shared = |what: &str| format!("scattered (b_2) shared ({what})");
    rejected(
        "scattered (b_2)",
        &shared("own_6: buffer private of 8"),
        "own_6 is a shared-memory array in memory `private`",
    );
    rejected(
        "scattered (b_2)",
        &shared("own_6: buffer private of 8"),
        "own_6 is not local to the thread block",
    );
    rejected(
        "thread_9: i64 in 0 .. 4",
        "thread_9: i64 in 0 .. first_8",
        "the number of threads depends on first_8",
    );
    rejected("thread_9: i64 in 0 ..", "thread_9: i64 in 1 ..", "counts from 0");
    rejected("block_7: i64 in 0 ..", "block_7: i64 in 1 ..", "counts from 0");
    rejected("cost 1 owned ()", "cost 1 owned (kept_18)", "a kernel owns blocks");
    rejected("/* thread */\n    }", "}\n first_8: i64 = 1", "a kernel has no statements");
    rejected(
        "4 block locals (x_10, y_11, own_6, go_15, v_17, kept_18)",
        "4",
        "the last statement of a kernel is not the loop over its threads",
    );
    rejected(
        HOST,
        "for i_20: i64 in 0 .. 1 block locals () { }",
        "a loop over threads is outside of a kernel",
    );
    rejected(
        THREAD,
        "for i_20: i64 in 0 .. 1 block locals () { }",
        "a device thread contains a loop of tasks, lanes, blocks or threads",
    );
    rejected(
        HOST,
        "for i_20: i64 in 0 .. 1 tasks#1 \"t\" at \"\" cost 1 owned () locals () captures () distinct () {
           for j_21: i64 in 0 .. 1 grid#2 \"t\" at \"\" cost 1 owned () locals () captures () distinct () {
             for k_22: i64 in 0 .. 1 block locals () { }
           }
         }",
        "a kernel is launched by a task",
    );
    rejected(THREAD, "first_8: i64 = 1", "first_8 is set inside a loop it does not belong to");
}

#[test]
fn host_only_statements_in_threads_are_rejected() {
    rejected(THREAD, "kept_18 = alloc 8", "a kernel allocates");
    rejected(THREAD, "kept_18 = share d_0", "a kernel shares a block");
    rejected(THREAD, "release b_2", "a kernel releases a block");
    rejected(THREAD, "small_14 = data#0", "a kernel reads constant data");
    rejected(THREAD, "x_10: i64 = global#0", "a kernel accesses global variables");
    rejected(THREAD, "compared tunable#0 with x_10", "a kernel records comparisons");
    rejected(THREAD, "x_10: i64 = tunable#0", "a kernel reads a tuning parameter");
    rejected(THREAD, "if logging { }", "a kernel reads a tuning parameter");
    rejected(THREAD, "kept_18 = slots 1", "a kernel uses slots");
    rejected(THREAD, "v_17: 2 x i64 = d_0[2 x i64: 0 ..]", "a kernel uses vectors");
    rejected(
        THREAD,
        "(kept_18: buffer device) = made()",
        "a kernel calls a function that returns the block kept_18",
    );
    rejected(THREAD, "(x_10: i64) = again(x_10)", "a kernel calls a recursive function");
    rejected("r_1: i64 = (n_0 + 1)", "r_1: i64 = tunable#0", "in helper: a kernel reads a tuning parameter");
    rejected("r_1: i64 = (n_0 + 1)", "r_1: i64 = n_0 barrier", "in helper: a barrier is in a function");
    rejected(HOST, "barrier", "the host executes a statement of device threads");
}

#[test]
fn unsupported_atomic_operations_are_rejected() {
    rejected("add b_2[i64: at 0] <- x_10", "mul b_2[i64: at 0] <- x_10", "mul.i64 is not atomic");
    rejected(THREAD, "atomic add b_2[i8: at 0] <- 1i8", "add.i8 is not atomic");
    rejected(THREAD, "atomic add own_6[i64: at 0] <- 1", "own_6 is updated atomically");
    rejected(
        THREAD,
        "swap z_20: i8 = b_2[i8: at 0] expected 0i8 to 1i8",
        "compare-and-swap of i8 is not atomic",
    );
    rejected(THREAD, "swap x_10: i64 = b_2[i64: at 0] expected 0 to 1i32", "a value has type i32");
    rejected(THREAD, "atomic add b_2[i64: at 0] <- 1i32", "a value has type i32");
}

#[test]
fn signals_must_be_in_device_memory() {
    rejected(THREAD, "signal b_2[i16: at 0] <- 1i16", "a signal cannot have type i16");
    rejected(THREAD, "await z_20: i16 = b_2[i16: at 0]", "a signal cannot have type i16");
    rejected(THREAD, "signal shared_5[i32: at 0] <- 1i32", "shared_5 is used for signals");
    rejected(THREAD, "signal b_2[i32: at 0] <- 1", "a value has type i64");
    rejected(HOST, "signal b_2[i32: at 0] <- 1i32", "the host executes a statement of device threads");
    rejected(
        THREAD,
        "await z_20: i32 = b_2[i32: at 0] if eq.i32(z_20, 1i32) { barrier }",
        "a barrier is in divergent code",
    );
}

#[test]
fn divergent_barriers_are_rejected() {
    let parted = "a barrier is in divergent code";
    rejected(THREAD, "if slt.i64(thread_9, 2) { barrier }", parted);
    rejected(THREAD, "for k_20: i64 in 0 .. x_10 { barrier }", parted);
    rejected(THREAD, "if slt.i64(thread_9, 2) { barrier of 2 }", parted);
    rejected(THREAD, "barrier of 3", "3 is not a subgroup size");
    rejected(THREAD, "barrier of 64", "64 is not a subgroup size");
    // By variables that are set in divergent code, or later in a loop.
    rejected(
        THREAD,
        "go_15: bool = true
         while go_15 { barrier if eq.i64(x_10, 0) { go_15: bool = false } }",
        parted,
    );
    rejected(THREAD, "y_11: i64 = own_6[i64: at 0] if eq.i64(y_11, 0) { barrier }", parted);
    rejected(THREAD, "atomic y_11: i64 = add b_2[i64: at 0] <- 1 if eq.i64(y_11, 0) { barrier }", parted);
    // A value that all threads read at one position is uniform.
    let same = "z_20: i64 = shared_5[i64: at 0]
         if eq.i64((z_20 + n_1), 0) { barrier }";
    let mut with_local = text(THREAD, same).replace("kept_18) {", "kept_18, z_20) {");
    with_local = with_local.replace("/* thread */", "");
    let mut program = parse(&with_local).expect("the text is valid");
    program.functions.iter_mut().for_each(imp::captures::fill);
    assert_eq!(verify(&program), Ok(()));
}

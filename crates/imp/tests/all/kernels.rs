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
  vars e_4: buffer device, pad_5: buffer scratchpad, own_6: buffer private, small_14: buffer, go_15: bool, v_17: 2 x i64, kept_18: buffer device
  h_3 = alloc 80
  b_2 = alloc 80
  copy [10]i64 b_2[0 strides 1] <- h_3[0 strides 1] as memory
  small_14 = frame [1]i64
  e_4 = borrow b_2
  /* host */
  for block_7: i64 in 0 .. n_1 grid#0 \"main.k\" at \"\" cost 1 owned () locals (pad_5, first_8, own_6x) captures (d_0, b_2) distinct () scattered (b_2) {
    pad_5 = frame [4]i64
    first_8: i64 = (block_7 * 4)
    /* block */
    for thread_9: i64 in 0 .. 4 block locals (x_10, y_11, own_6, go_15, v_17, kept_18) {
      own_6 = frame [2]i64
      x_10: i64 = d_0[i64: first_8 + thread_9]
      own_6[i64: at 0] = x_10
      pad_5[i64: thread_9] = x_10
      barrier
      atomic y_11: i64 = add b_2[i64: at 0] <- x_10
      (y_11: i64) = helper(x_10)
      for k_12: i64 in 0 .. first_8 {
        barrier
      }
      copy [2]i64 own_6[0 strides 1] <- pad_5[0 strides 1] as memory
      /* thread */
    }
  }
}
";

fn text(from: &str, to: &str) -> String {
    assert!(VALID.contains(from), "{from}");
    let text = VALID.replacen(from, to, 1);
    let text = text.replace(", own_6x", "");
    ["host", "block", "thread"].iter().fold(text, |text, place| text.replace(&format!("/* {place} */"), ""))
}

fn program(from: &str, to: &str) -> Program {
    let text = text(from, to);
    let mut program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    program.functions.iter_mut().for_each(imp::captures::fill);
    program
}

#[track_caller]
fn refused(from: &str, to: &str, wanted: &str) {
    let errors = verify(&program(from, to)).expect_err(wanted);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains(wanted)), "{texts:#?}");
}

const HOST: &str = "/* host */";
const BLOCK: &str = "/* block */";
const THREAD: &str = "/* thread */";

#[test]
fn a_kernel_passes() {
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
    let launch = f.mode.launch_mut().expect("it is a kernel");
    assert_eq!(launch.captures.len(), 2);
    launch.captures.pop();
    let errors = verify(&program).expect_err("a capture is missing");
    assert!(errors[0].message.contains("does not capture b_2"), "{errors:?}");
}

#[test]
fn the_host_and_threads_reach_their_own_memory() {
    refused(HOST, "x_20: i64 = d_0[i64: at 0]", "the host touches d_0");
    refused(HOST, "d_0[i64: at 0] = 1", "the host touches d_0");
    refused(THREAD, "x_10: i64 = h_3[i64: at 0]", "a thread touches h_3");
    refused(THREAD, "h_3[i64: at 0] = 1", "a thread touches h_3");
    refused(THREAD, "copy [1]i64 h_3[0 strides 1] <- own_6[0 strides 1] as memory", "a thread touches h_3");
    refused(HOST, "pad_5 = alloc 8", "pad_5 is allocated in memory `scratchpad`");
    refused("e_4 = borrow b_2", "e_4 = borrow h_3", "e_4 and h_3 lie in different spaces");
    refused(HOST, "small_14 = data#0 e_4 = data#0", "e_4 is constant data in memory `device`");
    refused(HOST, "small_14: buffer = global#1", "global#1 lies in another space");
    refused(HOST, "e_4 = frame [1]i64", "e_4 is an array of the frame in memory `device`");
    refused(THREAD, "own_6 = borrow d_0", "own_6 and d_0 lie in different spaces");
    refused(
        "global#1: buffer device",
        "global#1: buffer private",
        "global#1 lies where only threads reach it",
    );
}

#[test]
fn the_host_copies_what_is_contiguous() {
    refused(
        HOST,
        "copy [5]i64 b_2[0 strides 2] <- h_3[0 strides 1] one by one",
        "the host copies what is not contiguous",
    );
    refused(
        THREAD,
        "copy [2, 2]i64 own_6[0 strides 2, 1] <- pad_5[0 strides 1, 2] in registers 2",
        "a kernel copies through vectors",
    );
}

#[test]
fn kernels_have_a_form() {
    refused(BLOCK, "x_20: i64 = d_0[i64: at 0]", "a block does what only its threads do");
    refused(BLOCK, "own_6 = frame [2]i64", "own_6 is an array of a block in memory `private`");
    refused(
        "pad_5 = frame [4]i64",
        "pad_5 = frame [6145]i64",
        "a block has 49160 bytes in the scratchpad, and 49152 fit",
    );
    let pads = |what: &str| format!("scattered (b_2) pads ({what})");
    refused(
        "scattered (b_2)",
        &pads("own_6: buffer private of 8"),
        "own_6 is an array of a block in memory `private`",
    );
    refused("scattered (b_2)", &pads("own_6: buffer private of 8"), "own_6 does not belong to a block");
    refused("thread_9: i64 in 0 .. 4", "thread_9: i64 in 0 .. first_8", "the host does not know first_8");
    refused("thread_9: i64 in 0 ..", "thread_9: i64 in 1 ..", "from 0");
    refused("block_7: i64 in 0 ..", "block_7: i64 in 1 ..", "from 0");
    refused("cost 1 owned ()", "cost 1 owned (kept_18)", "a kernel owns blocks");
    refused("/* thread */\n    }", "}\n first_8: i64 = 1", "a kernel has no threads");
    refused(
        "4 block locals (x_10, y_11, own_6, go_15, v_17, kept_18)",
        "4",
        "a kernel does not end with its threads",
    );
    refused(
        HOST,
        "for i_20: i64 in 0 .. 1 block locals () { }",
        "threads of a block stand outside of a kernel",
    );
    refused(THREAD, "for i_20: i64 in 0 .. 1 block locals () { }", "a thread has threads of its own");
    refused(
        HOST,
        "for i_20: i64 in 0 .. 1 tasks#1 \"t\" at \"\" cost 1 owned () locals () captures () distinct () {
           for j_21: i64 in 0 .. 1 grid#2 \"t\" at \"\" cost 1 owned () locals () captures () distinct () {
             for k_22: i64 in 0 .. 1 block locals () { }
           }
         }",
        "a kernel is launched by a task",
    );
    refused(THREAD, "first_8: i64 = 1", "first_8 is set inside a loop it does not belong to");
}

#[test]
fn threads_and_what_they_call_leave_the_rest_to_the_host() {
    refused(THREAD, "kept_18 = alloc 8", "a kernel allocates");
    refused(THREAD, "kept_18 = share d_0", "a kernel keeps a block");
    refused(THREAD, "release b_2", "a kernel gives a block back");
    refused(THREAD, "small_14 = data#0", "a kernel has constant data");
    refused(THREAD, "x_10: i64 = global#0", "a kernel has globals");
    refused(THREAD, "compared tunable#0 with x_10", "a kernel notes comparisons");
    refused(THREAD, "x_10: i64 = tunable#0", "a kernel asks the context");
    refused(THREAD, "if logging { }", "a kernel asks the context");
    refused(THREAD, "kept_18 = slots 1", "a kernel has slots");
    refused(THREAD, "v_17: 2 x i64 = d_0[2 x i64: 0 ..]", "a kernel has vectors");
    refused(THREAD, "(kept_18: buffer device) = made()", "a kernel gets the block kept_18");
    refused(THREAD, "(x_10: i64) = again(x_10)", "a kernel calls a function that calls itself");
    refused("r_1: i64 = (n_0 + 1)", "r_1: i64 = tunable#0", "in helper: a kernel asks the context");
    refused("r_1: i64 = (n_0 + 1)", "r_1: i64 = n_0 barrier", "in helper: a barrier stands in a function");
    refused(HOST, "barrier", "the host does what only threads of a device do");
}

#[test]
fn atomic_operations_are() {
    refused("add b_2[i64: at 0] <- x_10", "mul b_2[i64: at 0] <- x_10", "mul.i64 is not atomic");
    refused(THREAD, "atomic add b_2[i8: at 0] <- 1i8", "add.i8 is not atomic");
    refused(THREAD, "atomic add own_6[i64: at 0] <- 1", "own_6 is changed atomically");
    refused(THREAD, "swap z_20: i8 = b_2[i8: at 0] expected 0i8 to 1i8", "a swap of i8 is not atomic");
    refused(THREAD, "swap x_10: i64 = b_2[i64: at 0] expected 0 to 1i32", "a value of type i32");
    refused(THREAD, "atomic add b_2[i64: at 0] <- 1i32", "a value of type i32");
}

#[test]
fn signals_lie_on_the_device() {
    refused(THREAD, "signal b_2[i16: at 0] <- 1i16", "a signal of i16");
    refused(THREAD, "await z_20: i16 = b_2[i16: at 0]", "a signal of i16");
    refused(THREAD, "signal pad_5[i32: at 0] <- 1i32", "pad_5 is given signals");
    refused(THREAD, "signal b_2[i32: at 0] <- 1", "a value of type i64");
    refused(HOST, "signal b_2[i32: at 0] <- 1i32", "the host does what only threads of a device do");
    refused(
        THREAD,
        "await z_20: i32 = b_2[i32: at 0] if eq.i32(z_20, 1i32) { barrier }",
        "a barrier stands where threads of a block part",
    );
}

#[test]
fn barriers_stand_where_threads_have_not_parted() {
    let parted = "a barrier stands where threads of a block part";
    refused(THREAD, "if slt.i64(thread_9, 2) { barrier }", parted);
    refused(THREAD, "for k_20: i64 in 0 .. x_10 { barrier }", parted);
    refused(THREAD, "if slt.i64(thread_9, 2) { barrier of 2 }", parted);
    refused(THREAD, "barrier of 3", "a barrier of 3 threads");
    refused(THREAD, "barrier of 64", "a barrier of 64 threads");
    // By variables that are set in divergent code, or later in a loop.
    refused(
        THREAD,
        "go_15: bool = true
         while go_15 { barrier if eq.i64(x_10, 0) { go_15: bool = false } }",
        parted,
    );
    refused(THREAD, "y_11: i64 = own_6[i64: at 0] if eq.i64(y_11, 0) { barrier }", parted);
    refused(THREAD, "atomic y_11: i64 = add b_2[i64: at 0] <- 1 if eq.i64(y_11, 0) { barrier }", parted);
    // A value that all threads read at one position is uniform.
    let same = "z_20: i64 = pad_5[i64: at 0]
         if eq.i64((z_20 + n_1), 0) { barrier }";
    let mut with_local = text(THREAD, same).replace("kept_18) {", "kept_18, z_20) {");
    with_local = with_local.replace("/* thread */", "");
    let mut program = parse(&with_local).expect("it is as it was");
    program.functions.iter_mut().for_each(imp::captures::fill);
    assert_eq!(verify(&program), Ok(()));
}

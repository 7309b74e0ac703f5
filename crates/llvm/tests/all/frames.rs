//! The stack use of frame arrays.

use crate::common::{Fun, add, at, bin, c, less, mul, program, run, sub, v};
use imp::{Arg, EntryType, FunId, Stmt};
use prim::{BinOp, PrimType, ScalarType};
use value::Value;

/// Recursive calls with frames of 3/4 MiB each, more than the runtime's reserve: the recursion
/// fails before the stack overflows, however large it is.
#[test]
fn large_frames_count_for_the_stack() {
    let mut down = Fun::default();
    let n = down.param("n", imp::VarType::Scalar(PrimType::I64));
    let (r, held) = (down.int("r"), down.buffer("held"));
    down.results = vec![r];
    let cells = 3 << 15;
    let position = |x| bin(BinOp::And, PrimType::I64, x, c((1 << 15) - 1));
    let mut down = down.finish(
        "down",
        vec![
            Stmt::Frame { buffer: held, elem: PrimType::I64, count: cells as u64 },
            Stmt::Store(at(held, PrimType::I64, c(0)), v(n)),
            Stmt::Store(at(held, PrimType::I64, position(v(n))), v(n)),
            Stmt::Set(r, c(0)),
            Stmt::If(
                less(c(0), v(n)),
                vec![
                    Stmt::Call {
                        fun: FunId(0),
                        args: vec![Arg::Scalar(sub(v(n), c(1)))],
                        results: vec![r],
                        location: None,
                    },
                    Stmt::Load(n, at(held, PrimType::I64, position(mul(v(n), v(n))))),
                    Stmt::Set(r, add(v(r), v(n))),
                ],
                vec![],
            ),
        ],
    );
    down.recursive = true;
    let int = EntryType::scalar(ScalarType::I64);
    let program = program(vec![down], vec![int], vec![int]);
    let args = |depth: i64| vec![Value::scalar(depth).unwrap()];
    for stack in (4 << 20..5 << 20).step_by(96 << 10) {
        std::thread::scope(|scope| {
            let calls = || {
                let wanted = vec![Value::scalar(1i64).unwrap()];
                assert_eq!(run(&program, 1, args(1)), Ok(wanted));
                let error = run(&program, 1, args(1 << 40)).unwrap_err();
                assert!(error.contains("recursion"), "{error}");
            };
            let thread = std::thread::Builder::new().stack_size(stack);
            let started = thread.spawn_scoped(scope, calls).unwrap();
            started.join().unwrap();
        });
    }
}

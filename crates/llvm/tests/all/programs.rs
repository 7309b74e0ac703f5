//! Runs programs written by hand in the imperative IR on the runtime. Each run checks that no block
//! leaks.

use crate::common::{
    Fun, add, array_of, at, bin, c, check, context, launch, less, mul, program, run, seq, sub, tasks, tile,
    v, verified,
};
use imp::{
    Arg, CopyPlan, Data, DataId, EntryType, Expr, FunId, GlobalId, Launch, Program, Region, Stmt, VarType,
    Verified,
};
use llvm::{Options, Output};
use prim::{BinOp, PrimType, Scalar, ScalarType};
use value::Value;

const F32: VarType = VarType::Scalar(PrimType::F32);
const I64: VarType = VarType::Scalar(PrimType::I64);

fn f32s(xs: &[f32]) -> Value {
    Value::from_slice(&[xs.len() as i64], xs).unwrap()
}

fn i64s(xs: &[i64]) -> Value {
    Value::from_slice(&[xs.len() as i64], xs).unwrap()
}

fn f32_const(x: f32) -> Expr {
    Expr::Const(Scalar::F32(x))
}

/// `map (\x -> x * k + 1) xs`, in tasks over chunks of 1000.
fn map_program() -> Program {
    let mut f = Fun::default();
    let (xs, n) = f.array("xs");
    let k = f.param("k", F32);
    let ys = f.owned("ys");
    f.results = vec![ys, n];
    let (chunk, low, high, i) = (f.int("chunk"), f.int("low"), f.int("high"), f.int("i"));
    let x = f.scalar("x", PrimType::F32);
    let chunks = bin(BinOp::SDiv, PrimType::I64, add(v(n), c(999)), c(1000));
    let value = bin(BinOp::FAdd, PrimType::F32, bin(BinOp::FMul, PrimType::F32, v(x), v(k)), f32_const(1.0));
    let body = vec![
        Stmt::Set(low, mul(v(chunk), c(1000))),
        Stmt::Set(high, bin(BinOp::SMin, PrimType::I64, add(v(low), c(1000)), v(n))),
        seq(
            true,
            i,
            v(low),
            v(high),
            vec![Stmt::Load(x, at(xs, PrimType::F32, v(i))), Stmt::Store(at(ys, PrimType::F32, v(i)), value)],
        ),
    ];
    let launch = Launch { locals: vec![low, high, x], distinct: vec![ys], ..launch() };
    let f =
        f.finish("map", vec![Stmt::Alloc(ys, mul(v(n), c(4)), None), tasks(1, chunk, chunks, launch, body)]);
    let params = vec![array_of(ScalarType::F32), EntryType::scalar(ScalarType::F32)];
    program(vec![f], params, vec![array_of(ScalarType::F32)])
}

#[test]
fn map_in_tasks() {
    let program = map_program();
    for n in [0, 1, 7, 1000, 100_003] {
        let xs: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
        let wanted: Vec<f32> = xs.iter().map(|x| x * 3.0 + 1.0).collect();
        for threads in [1, 4] {
            let args = vec![f32s(&xs), Value::scalar(3.0f32).unwrap()];
            assert_eq!(run(&program, threads, args), Ok(vec![f32s(&wanted)]));
        }
    }
}

#[test]
fn float_maps_become_vectors() {
    let options = Options { cpu: "x86-64-v3".to_owned(), ..Options::default() };
    let text = llvm::text(&verified(&map_program()), &options, Output::Ir).unwrap();
    assert!(text.contains("fmul <8 x float>"), "{text}");
    // Writes and reads are known not to alias: there are no run-time checks.
    assert!(!text.contains("vector.memcheck"), "{text}");
}

#[test]
fn compilation_is_deterministic() {
    let program = map_program();
    let object = |threads| {
        let options = Options {
            start: llvm::Start::Program,
            workers: workers::Workers::new(threads, |_| 64 << 20),
            ..Options::default()
        };
        llvm::compile(&verified(&program), &options, Output::Object).unwrap()
    };
    assert_eq!(object(1), object(1));
    assert_eq!(object(1), object(3));
    let assembly = llvm::text(&verified(&program), &Options::default(), Output::Assembly).unwrap();
    assert!(assembly.contains("entry_main:"));
}

#[test]
fn reduce_with_partial_sums() {
    let mut f = Fun::default();
    let (xs, n) = f.array("xs");
    let partial = f.owned("partial");
    let (sum, chunk, i, acc) =
        (f.scalar("sum", PrimType::F32), f.int("chunk"), f.int("i"), f.scalar("a", PrimType::F32));
    let (x, p) = (f.scalar("x", PrimType::F32), f.scalar("p", PrimType::F32));
    f.results = vec![sum];
    let plus = |x, y| bin(BinOp::FAdd, PrimType::F32, v(x), v(y));
    let body = vec![
        Stmt::Set(acc, f32_const(0.0)),
        seq(
            false,
            i,
            bin(BinOp::SDiv, PrimType::I64, mul(v(chunk), v(n)), c(16)),
            bin(BinOp::SDiv, PrimType::I64, mul(add(v(chunk), c(1)), v(n)), c(16)),
            vec![Stmt::Load(x, at(xs, PrimType::F32, v(i))), Stmt::Set(acc, plus(acc, x))],
        ),
        Stmt::Store(at(partial, PrimType::F32, v(chunk)), v(acc)),
    ];
    let launch = Launch { locals: vec![acc, x], distinct: vec![partial], ..launch() };
    let fold = vec![Stmt::Load(p, at(partial, PrimType::F32, v(i))), Stmt::Set(sum, plus(sum, p))];
    let f = f.finish(
        "sum",
        vec![
            Stmt::Alloc(partial, c(64), None),
            tasks(1, chunk, c(16), launch, body),
            Stmt::Set(sum, f32_const(0.0)),
            seq(false, i, c(0), c(16), fold),
        ],
    );
    let sum = EntryType::scalar(ScalarType::F32);
    let program = program(vec![f], vec![array_of(ScalarType::F32)], vec![sum]);
    let xs: Vec<f32> = (0..12_345).map(|i| 1.0 / (i as f32 + 1.0)).collect();
    let part = |k: usize| xs[k * xs.len() / 16..(k + 1) * xs.len() / 16].iter().fold(0.0f32, |a, x| a + x);
    let wanted = (0..16).map(part).fold(0.0f32, |a, x| a + x);
    for threads in [1, 3] {
        let got = run(&program, threads, vec![f32s(&xs)]);
        assert_eq!(got, Ok(vec![Value::scalar(wanted).unwrap()]));
    }
}

/// A task per index; each has a buffer of its own and uses its index to read an array.
#[test]
fn failure_in_tasks_leaks_nothing() {
    let mut f = Fun::default();
    let (is, n) = f.array("is");
    let (out, own, kept) = (f.owned("out"), f.buffer("own"), f.owned("kept"));
    f.results = vec![out, n];
    let (t, i, x) = (f.int("t"), f.int("i"), f.int("x"));
    let in_bounds = bin(
        BinOp::And,
        PrimType::Bool,
        Expr::compare(prim::CmpOp::SLe, PrimType::I64, c(0), v(i)),
        less(v(i), v(n)),
    );
    let body = vec![
        Stmt::Alloc(own, c(80), None),
        Stmt::Load(i, at(is, PrimType::I64, v(t))),
        Stmt::Store(at(own, PrimType::I64, c(3)), v(i)),
        check(in_bounds, vec![v(i), v(n)]),
        Stmt::Load(x, at(own, PrimType::I64, c(3))),
        Stmt::Store(at(out, PrimType::I64, v(t)), mul(v(x), v(x))),
    ];
    let launch = Launch { owned: vec![own], locals: vec![i, x], ..launch() };
    let f = f.finish(
        "gather",
        vec![
            Stmt::Alloc(kept, c(1000), None),
            // Set twice: the first block is released.
            Stmt::Alloc(kept, c(2000), None),
            Stmt::Alloc(out, mul(v(n), c(8)), None),
            tasks(7, t, v(n), launch, body),
        ],
    );
    let program = program(vec![f], vec![array_of(ScalarType::I64)], vec![array_of(ScalarType::I64)]);
    let good: Vec<i64> = (0..1000).rev().collect();
    let squares: Vec<i64> = good.iter().map(|x| x * x).collect();
    let mut bad = good.clone();
    bad[700] = 1000;
    for threads in [1, 4] {
        assert_eq!(run(&program, threads, vec![i64s(&good)]), Ok(vec![i64s(&squares)]));
        let error = run(&program, threads, vec![i64s(&bad)]).unwrap_err();
        assert!(error.contains("index 1000 is out of bounds for size 1000"), "{error}");
        assert!(error.contains("test.fut:1:2-3"), "{error}");
    }
}

/// `main xs = let (ys, k) = inc xs in sum-to k`, with a recursive callee.
#[test]
fn calls_pass_buffers_and_fail() {
    let mut main = Fun::default();
    let (xs, n) = main.array("xs");
    let depth = main.param("depth", I64);
    let ys = main.owned("ys");
    let total = main.int("total");
    main.results = vec![ys, n, total];
    let main = main.finish(
        "main",
        vec![
            Stmt::Call {
                fun: FunId(1),
                args: vec![Arg::Buffer(xs), Arg::Scalar(v(n))],
                results: vec![ys],
                location: None,
            },
            Stmt::Call {
                fun: FunId(2),
                args: vec![Arg::Scalar(v(depth))],
                results: vec![total],
                location: None,
            },
        ],
    );
    let mut inc = Fun::default();
    let (xs, n) = inc.array("xs");
    let ys = inc.owned("ys");
    inc.results = vec![ys];
    let (i, x) = (inc.int("i"), inc.int("x"));
    let inc = inc.finish(
        "inc",
        vec![
            Stmt::Alloc(ys, mul(v(n), c(8)), None),
            seq(
                true,
                i,
                c(0),
                v(n),
                vec![
                    Stmt::Load(x, at(xs, PrimType::I64, v(i))),
                    Stmt::Store(at(ys, PrimType::I64, v(i)), add(v(x), c(1))),
                ],
            ),
        ],
    );
    // down n = if 0 < n then 1 + down (n - 1) else 0, holding a block meanwhile
    let mut down = Fun::default();
    let n = down.param("n", I64);
    let (r, held) = (down.int("r"), down.owned("held"));
    down.results = vec![r];
    let mut down = down.finish(
        "down",
        vec![
            Stmt::Alloc(held, c(16), None),
            Stmt::Store(at(held, PrimType::I64, c(0)), v(n)),
            Stmt::Set(r, c(0)),
            Stmt::If(
                less(c(0), v(n)),
                vec![
                    Stmt::Call {
                        fun: FunId(2),
                        args: vec![Arg::Scalar(sub(v(n), c(1)))],
                        results: vec![r],
                        location: None,
                    },
                    Stmt::Load(n, at(held, PrimType::I64, c(0))),
                    Stmt::If(less(v(n), c(0)), vec![], vec![Stmt::Set(r, add(v(r), c(1)))]),
                ],
                vec![],
            ),
        ],
    );
    down.recursive = true;
    let int = EntryType::scalar(ScalarType::I64);
    let program = program(
        vec![main, inc, down],
        vec![array_of(ScalarType::I64), int],
        vec![array_of(ScalarType::I64), int],
    );
    let args = |depth: i64| vec![i64s(&[1, 2, 3]), Value::scalar(depth).unwrap()];
    let wanted = vec![i64s(&[2, 3, 4]), Value::scalar(1000i64).unwrap()];
    assert_eq!(run(&program, 1, args(1000)), Ok(wanted));
    let error = run(&program, 1, args(1 << 40)).unwrap_err();
    assert!(error.contains("recursion"), "{error}");
}

/// A copy of rank 3 whose strides are parameters, in tiles of side `side`.
fn copy_program(elem: ScalarType, side: Option<u32>) -> Program {
    let mut f = Fun::default();
    let (xs, size) = f.array("xs");
    let ys = f.owned("ys");
    let mut ints = || -> Vec<imp::Var> { (0..3).map(|_| f.param("s", I64)).collect() };
    let (extents, to, from) = (ints(), ints(), ints());
    f.results = vec![ys, size];
    let exprs = |vars: &[imp::Var]| vars.iter().map(|x| v(*x)).collect::<Vec<_>>();
    let f = f.finish(
        "copy",
        vec![
            Stmt::Alloc(ys, mul(v(size), c(elem.size() as i64)), None),
            Stmt::Copy {
                to: Region { buffer: ys, offset: c(0), strides: exprs(&to) },
                from: Region { buffer: xs, offset: c(0), strides: exprs(&from) },
                elem: elem.prim(),
                extents: exprs(&extents),
                plan: CopyPlan::Dynamic(side.map(tile)),
            },
        ],
    );
    let mut params = vec![array_of(elem)];
    params.extend(vec![EntryType::scalar(ScalarType::I64); 9]);
    impopt::copies::outline_copies(program(vec![f], params, vec![array_of(elem)]))
}

#[test]
fn copies_of_all_layouts() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    // The strides of a packed array with this order of dimensions.
    let strides = |n: [i64; 3], order: [usize; 3]| {
        let mut strides = [0; 3];
        let mut step = 1;
        for dim in order.into_iter().rev() {
            strides[dim] = step;
            step *= n[dim];
        }
        strides
    };
    for (elem, side) in [
        (ScalarType::U8, Some(32)),
        (ScalarType::F16, Some(32)),
        (ScalarType::I32, Some(32)),
        (ScalarType::I64, Some(32)),
        (ScalarType::U8, Some(3)),
        (ScalarType::I64, None),
    ] {
        let program = copy_program(elem, side);
        let mut context = context(&program, 1);
        for n in [[3, 5, 7], [1, 40, 70], [40, 1, 70], [70, 33, 1], [2, 100, 3], [0, 4, 4]] {
            let count = n.iter().product::<i64>() as usize;
            let size = elem.size() as usize;
            let bytes: Vec<u8> = (0..count * size).map(|i| (i * 7 + i / 251) as u8).collect();
            let xs = Value::from_bytes(elem, vec![count as i64], &bytes).unwrap();
            for (to, from) in orders.iter().flat_map(|to| orders.iter().map(move |from| (to, from))) {
                let (to, from) = (strides(n, *to), strides(n, *from));
                let mut wanted = vec![0; bytes.len()];
                for at in 0..count as i64 {
                    let index = [at / (n[1] * n[2]), at / n[2] % n[1], at % n[2]];
                    let access = |strides: [i64; 3]| {
                        let sum: i64 = index.iter().zip(strides).map(|(i, s)| i * s).sum();
                        sum as usize * size
                    };
                    let (to, from) = (access(to), access(from));
                    wanted[to..to + size].copy_from_slice(&bytes[from..from + size]);
                }
                let mut args = vec![xs.try_clone().unwrap()];
                let words = n.iter().chain(&to).chain(&from);
                args.extend(words.map(|x| Value::scalar(*x).unwrap()));
                let got = context.call("main", args).unwrap();
                let wanted = Value::from_bytes(elem, vec![count as i64], &wanted).unwrap();
                assert_eq!(got, [runtime::Output::Value(wanted)], "{n:?} {to:?} {from:?}");
            }
        }
        assert_eq!(context.finish(), 0, "bytes leaked");
    }
}

/// Constant data as a global, as a result, and copied in nested tasks.
#[test]
fn constants_globals_and_nested_tasks() {
    let mut init = Fun::default();
    let (table, size) = (init.buffer("table"), init.int("size"));
    let init = init.finish(
        "init",
        vec![
            Stmt::ConstData(table, DataId(0)),
            Stmt::Set(size, c(4)),
            Stmt::WriteGlobal(GlobalId(0), table),
            Stmt::WriteGlobal(GlobalId(1), size),
        ],
    );
    let mut main = Fun::default();
    let n = main.param("n", I64);
    let (shared, size) = (main.owned("shared"), main.int("size"));
    let (grid, cells) = (main.owned("grid"), main.int("cells"));
    main.results = vec![shared, size, grid, cells];
    let (table, i, j, x) = (main.buffer("table"), main.int("i"), main.int("j"), main.int("x"));
    let (row, k) = (main.buffer("row"), main.int("k"));
    let inner = vec![
        Stmt::Load(x, at(table, PrimType::I64, bin(BinOp::SMod, PrimType::I64, v(j), v(size)))),
        Stmt::Load(k, at(row, PrimType::I64, c(0))),
        Stmt::Store(at(grid, PrimType::I64, add(mul(v(i), v(n)), v(j))), add(v(x), v(k))),
    ];
    let inner_launch = Launch { locals: vec![x, k], distinct: vec![grid], ..launch() };
    let outer = vec![
        Stmt::Alloc(row, c(8), None),
        Stmt::Store(at(row, PrimType::I64, c(0)), mul(v(i), c(1000))),
        tasks(2, j, v(n), inner_launch, inner),
    ];
    let outer_launch = Launch { owned: vec![row], ..launch() };
    let main = main.finish(
        "main",
        vec![
            Stmt::ReadGlobal(table, GlobalId(0)),
            Stmt::ReadGlobal(size, GlobalId(1)),
            Stmt::Share(shared, table),
            Stmt::Set(cells, mul(v(n), v(n))),
            Stmt::Alloc(grid, mul(v(cells), c(8)), None),
            tasks(1, i, v(n), outer_launch, outer),
        ],
    );
    let ints = array_of(ScalarType::I64);
    let mut program = program(vec![main, init], vec![EntryType::scalar(ScalarType::I64)], vec![ints, ints]);
    let bytes: Vec<u8> = [10i64, 20, 30, 40].iter().flat_map(|x| x.to_le_bytes()).collect();
    program.data = vec![Data { elem: PrimType::I64, bytes: bytes.into() }];
    program.globals = vec![VarType::HOST, I64];
    program.init = Some(FunId(1));
    let grid: Vec<i64> = (0..30).flat_map(|i| (0..30).map(move |j| (j % 4 + 1) * 10 + i * 1000)).collect();
    for threads in [1, 4] {
        let got = run(&program, threads, vec![Value::scalar(30i64).unwrap()]);
        assert_eq!(got, Ok(vec![i64s(&[10, 20, 30, 40]), i64s(&grid)]));
    }
}

/// Iterations of an independent loop share a frame array: LLVM must not assume that their accesses
/// to it are independent.
#[test]
fn frame_arrays_are_not_independent() {
    let mut f = Fun::default();
    let (xs, n) = f.array("xs");
    let (ys, frame, view) = (f.owned("ys"), f.buffer("frame"), f.buffer("view"));
    let (i, j, x, y) = (f.int("i"), f.int("j"), f.int("x"), f.int("y"));
    f.results = vec![ys, n];
    let slot = |j| at(view, PrimType::I64, bin(BinOp::And, PrimType::I64, j, c(7)));
    let body = vec![
        Stmt::Frame { buffer: frame, elem: PrimType::I64, count: 8 },
        Stmt::Borrow(view, frame),
        seq(
            false,
            j,
            c(0),
            c(8),
            vec![Stmt::Load(x, at(xs, PrimType::I64, v(i))), Stmt::Store(slot(v(j)), add(v(x), v(j)))],
        ),
        Stmt::Load(x, slot(v(i))),
        Stmt::Load(y, slot(add(v(i), c(3)))),
        Stmt::Store(at(ys, PrimType::I64, v(i)), mul(v(x), v(y))),
    ];
    let f = f.finish("frames", vec![Stmt::Alloc(ys, mul(v(n), c(8)), None), seq(true, i, c(0), v(n), body)]);
    let ints = array_of(ScalarType::I64);
    let program = program(vec![f], vec![ints], vec![ints]);
    let xs: Vec<i64> = (0..100).map(|i| i * i).collect();
    let wanted: Vec<i64> =
        xs.iter().enumerate().map(|(i, x)| (x + (i as i64 & 7)) * (x + ((i as i64 + 3) & 7))).collect();
    assert_eq!(run(&program, 1, vec![i64s(&xs)]), Ok(vec![i64s(&wanted)]));
}

#[test]
fn limitations_and_invalid_programs_are_errors() {
    let mut program = map_program();
    let Some(Stmt::For(tasks)) = program.functions[0].body.last_mut() else { panic!() };
    tasks.body.iter_mut().for_each(|stmt| {
        if let Stmt::For(f) = stmt {
            f.mode = imp::LoopMode::Lanes(8);
        }
    });
    let error =
        llvm::compile(&verified(&program), &Options::default(), Output::Object).err().unwrap().to_string();
    assert!(error.starts_with("a loop in lanes has not been vectorised"), "{error}");

    let mut program = map_program();
    program.functions[0].results.clear();
    let error = Verified::new(program).unwrap_err();
    assert!(error.contains("the results of entry point main do not match its function"), "{error}");

    let options = Options { cpu: "z80".to_owned(), ..Options::default() };
    let error = llvm::compile(&verified(&map_program()), &options, Output::Object).err().unwrap().to_string();
    assert!(error.starts_with("unknown processor 'z80'"), "{error}");
}

//! Tests every operator at every type on vectors of several lane counts, compiled, against
//! `prim::eval` on scalars: bit for bit but for the payload of NaNs, for the processors that the
//! host can emulate. Also vectors as arguments of functions and tasks, and in the text form.

use crate::common::cases::{Case, cases, is_nan};
use crate::common::vectors::{Random, array, export, run, unit};
use crate::common::{self, Fun, add, array_of, entry_fn, jit, machines, mul, v, verified};
use imp::{EntryType, Expr, FunId, LaneAccess, LanePositions, MaskedOff, Program, Stmt, VarType};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarType};
use std::fmt::Write;

/// The lane counts under test.
const LANES: &[u32] = &[1, 2, 3, 4, 8, 16, 32];

/// A selection for cases in which running time matters.
const FEW_LANES: &[u32] = &[3, 16];

/// The lane counts of a case, among `lanes`: calls are the same code in each lane.
fn lanes_of(case: &Case, lanes: &'static [u32]) -> &'static [u32] {
    if case.fun().is_some() { &[3] } else { lanes }
}

/// Applies an operator to arrays, `lanes` elements at a time.
fn add_case(program: &mut Program, case: &Case, lanes: u32) {
    let mut f = Fun::default();
    let (out, n) = f.array("out");
    let (i, result) = (f.int("i"), f.var("r", VarType::Vector(case.result, lanes)));
    let position = || mul(v(i), Expr::i64(i64::from(lanes)));
    let (mut body, mut args) = (Vec::new(), Vec::new());
    let mut params = vec![array(case.result)];
    for &ty in &case.params {
        let (buffer, _) = f.array("x");
        params.push(array(ty));
        let var = f.var("x", VarType::Vector(ty, lanes));
        body.push(Stmt::LoadLanes { var, from: unit(buffer, ty, lanes, position()), mask: None });
        args.push(v(var));
    }
    let constants = case.constants.iter();
    args.extend(constants.map(|x| Expr::Splat(lanes, Box::new(Expr::Const(*x)))));
    body.push(Stmt::Set(result, case.expr(args)));
    body.push(Stmt::StoreLanes {
        to: unit(out, case.result, lanes, position()),
        value: v(result),
        mask: None,
    });
    let count = common::bin(BinOp::SQuot, PrimType::I64, v(n), Expr::i64(i64::from(lanes)));
    let name = format!("{}x{lanes}", case.name);
    let f = f.finish(&name, vec![common::seq(false, i, Expr::i64(0), count, body)]);
    export(program, f, &params);
}

/// Rows of operands: all pairs of interesting values, every 7th triple, and random bits; a multiple
/// of 96 rows.
fn operands(case: &Case, random: &mut Random) -> Vec<Vec<Scalar>> {
    let mut rows = case.arguments();
    for _ in 0..500 {
        rows.push(case.params.iter().map(|ty| random.scalar(*ty)).collect());
    }
    while !rows.len().is_multiple_of(96) {
        rows.push(rows[rows.len() % 7].clone());
    }
    rows
}

fn bytes(elems: impl Iterator<Item = Scalar>) -> Vec<u8> {
    elems.flat_map(|x| x.bits().to_le_bytes()[..x.ty().size() as usize].to_vec()).collect()
}

fn element(bytes: &[u8], ty: PrimType, index: usize) -> u64 {
    let size = ty.size() as usize;
    let mut bits = [0; 8];
    bits[..size].copy_from_slice(&bytes[index * size..(index + 1) * size]);
    u64::from_le_bytes(bits)
}

fn all_operators(cpu: &str, counts: &'static [u32]) {
    let cases = cases();
    let mut program = Program { source_name: "vectors".into(), ..Program::default() };
    for case in &cases {
        for lanes in lanes_of(case, counts) {
            add_case(&mut program, case, *lanes);
        }
    }
    let jit = jit(&program, cpu);
    let (mut failures, mut compared, mut random) = (Vec::new(), 0, Random(42));
    for case in &cases {
        let rows = operands(case, &mut random);
        let wanted: Vec<Option<Scalar>> = rows.iter().map(|row| case.meaning(row)).collect();
        let inputs: Vec<Vec<u8>> =
            (0..case.params.len()).map(|i| bytes(rows.iter().map(|row| row[i]))).collect();
        for lanes in lanes_of(case, counts) {
            let code = entry_fn(&jit, &format!("{}x{lanes}", case.name));
            let mut out = vec![0xaau8; rows.len() * case.result.size() as usize];
            let n = rows.len() as u64;
            let mut words = vec![out.as_mut_ptr() as u64, n];
            for input in &inputs {
                words.extend([input.as_ptr() as u64, n]);
            }
            // SAFETY: the code does not access its context; the words are as described.
            unsafe { run(code, &words) };
            for (i, (args, wanted)) in rows.iter().zip(&wanted).enumerate() {
                let Some(wanted) = *wanted else { continue };
                compared += 1;
                let bits = element(&out, case.result, i);
                let got = Scalar::from_bits(case.result, bits);
                if got.bits() != bits || (got != wanted && !(is_nan(got) && is_nan(wanted))) {
                    failures
                        .push(format!("{}x{lanes} {args:?} = {got:?} ({bits:x}), not {wanted:?}", case.name));
                }
            }
        }
    }
    assert!(compared > 500_000, "only {compared} comparisons");
    let shown: Vec<_> = failures.iter().take(40).cloned().collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), shown.join("\n"));
}

#[test]
fn vector_operators_on_the_host() {
    all_operators("native", FEW_LANES);
}

/// Tests that only `make test-all` runs.
mod all_tier {
    use super::*;

    #[test]
    fn vector_operators_of_all_lane_counts() {
        all_operators("native", LANES);
    }

    #[test]
    fn vector_operators_on_other_processors() {
        // Operators are the same for all processors with AVX-512.
        let others = ["x86-64-v2", "x86-64-v3", "x86-64-v4"];
        for cpu in machines().into_iter().filter(|cpu| others.contains(cpu)) {
            all_operators(cpu, FEW_LANES);
        }
    }
}

/// Vectors as parameters and results, in stack slots across a loop, in a task's environment.
#[test]
fn vectors_cross_calls_loops_and_tasks() {
    let lanes = 16;
    let vector = VarType::Vector(PrimType::F32, lanes);
    let mut g = Fun::default();
    let (x, y) = (g.param("x", vector), g.param("y", vector));
    let (m, sum) = (g.param("m", VarType::Vector(PrimType::Bool, lanes)), g.var("s", vector));
    g.results = vec![sum];
    let added = common::bin(BinOp::FAdd, PrimType::F32, v(x), v(y));
    let value = Expr::select(PrimType::F32, v(m), added, v(x));
    let g = g.finish("sum", vec![Stmt::Set(sum, value)]);

    let mut f = Fun::default();
    let (xs, _) = f.array("xs");
    let n = f.param("n", VarType::Scalar(PrimType::I64));
    let out = f.owned("out");
    f.results = vec![out, n];
    let (x, acc, m) =
        (f.var("x", vector), f.var("acc", vector), f.var("m", VarType::Vector(PrimType::Bool, lanes)));
    let (i, t, limit) = (f.int("i"), f.int("t"), f.int("limit"));
    let load =
        |position| Stmt::LoadLanes { var: x, from: unit(xs, PrimType::F32, lanes, position), mask: None };
    let sixteen = || Expr::i64(i64::from(lanes));
    let body = vec![
        load(Expr::i64(0)),
        Stmt::Set(acc, v(x)),
        // Lane k takes part in the first k of 16 additions.
        common::seq(
            false,
            i,
            Expr::i64(0),
            sixteen(),
            vec![
                Stmt::Set(
                    m,
                    Expr::compare(
                        CmpOp::SLt,
                        PrimType::I64,
                        Expr::Splat(lanes, Box::new(v(i))),
                        Expr::LaneIds(PrimType::I64, lanes),
                    ),
                ),
                Stmt::Call {
                    fun: FunId(1),
                    args: [acc, x, m].map(|var| imp::Arg::Scalar(v(var))).to_vec(),
                    results: vec![acc],
                    location: None,
                },
            ],
        ),
        Stmt::Alloc(out, mul(v(n), Expr::i64(4)), None),
        Stmt::Set(limit, common::bin(BinOp::SQuot, PrimType::I64, v(n), sixteen())),
        common::tasks(
            1,
            t,
            v(limit),
            common::launch(),
            vec![Stmt::StoreLanes {
                to: unit(out, PrimType::F32, lanes, mul(v(t), sixteen())),
                value: v(acc),
                mask: None,
            }],
        ),
    ];
    let f = f.finish("main", body);
    let program = common::program(
        vec![f, g],
        vec![array_of(ScalarType::F32), EntryType::scalar(ScalarType::I64)],
        vec![array_of(ScalarType::F32)],
    );
    let xs: Vec<f32> = (0..16).map(|i| i as f32 + 0.5).collect();
    let wanted: Vec<f32> = (0..64).map(|i| (i % 16) as f32 * xs[i % 16] + xs[i % 16]).collect();
    let value = |xs: &[f32]| value::Value::from_slice(&[xs.len() as i64], xs).unwrap();
    let args = vec![value(&xs), value::Value::scalar(64i64).unwrap()];
    assert_eq!(common::run(&program, 2, args), Ok(vec![value(&wanted)]));
}

#[test]
fn registers_have_the_requested_width() {
    let lanes = 16;
    let mut f = Fun::default();
    let (xs, _) = f.array("xs");
    let x = f.var("x", VarType::Vector(PrimType::I32, lanes));
    let row = || unit(xs, PrimType::I32, lanes, Expr::i64(0));
    let body = vec![
        Stmt::LoadLanes { var: x, from: row(), mask: None },
        Stmt::StoreLanes { to: row(), value: common::bin(BinOp::Add, PrimType::I32, v(x), v(x)), mask: None },
    ];
    let program = common::program(vec![f.finish("main", body)], vec![array_of(ScalarType::I32)], vec![]);
    let unknown = llvm::machine("z80").unwrap_err().to_string();
    let (_, names) = unknown.split_once("known are ").unwrap();
    let mut widths = std::collections::BTreeSet::new();
    for cpu in names.split(", ") {
        let options = llvm::Options { cpu: cpu.to_owned(), ..llvm::Options::default() };
        let assembly = llvm::text(&verified(&program), &options, llvm::Output::Assembly).unwrap();
        let adds = |register| {
            let mut lines = assembly.lines();
            lines.any(|line| line.contains("paddd") && line.contains(register))
        };
        let found = match (adds("%zmm"), adds("%ymm")) {
            (true, _) => 64,
            (false, true) => 32,
            (false, false) => 16,
        };
        let said = llvm::machine(cpu).unwrap().bytes;
        assert_eq!(said, found, "{cpu}: {assembly}");
        widths.insert(said);
    }
    assert!(widths.contains(&64) && widths.contains(&16), "{widths:?}");
}

#[test]
fn text_form() {
    let mut f = Fun::default();
    let (xs, n) = f.array("xs");
    let (x, m) =
        (f.var("x", VarType::Vector(PrimType::F32, 16)), f.var("m", VarType::Vector(PrimType::Bool, 16)));
    let first = Expr::Splat(16, Box::new(v(n)));
    let below = Expr::compare(CmpOp::SLt, PrimType::I64, Expr::LaneIds(PrimType::I64, 16), first);
    let access =
        |at| LaneAccess { buffer: xs, elem: PrimType::F32, lanes: 16, at, masked_off: MaskedOff::Skip };
    let body = vec![
        Stmt::Set(m, below),
        Stmt::LoadLanes {
            var: x,
            from: access(LanePositions::SmallStride(add(v(n), v(n)), -1)),
            mask: Some(v(m)),
        },
        Stmt::StoreLanes {
            to: access(LanePositions::Gather(Expr::LaneIds(PrimType::I64, 16))),
            value: v(x),
            mask: None,
        },
    ];
    let program = common::program(vec![f.finish("main", body)], vec![array_of(ScalarType::F32)], vec![]);
    let text = imp::print(&program);
    let mut wanted = String::new();
    let _ = writeln!(wanted, "  m_3: 16 x bool = slt.i64(lanes.i64.16, splat.16(n_1))");
    let _ = writeln!(wanted, "  x_2: 16 x f32 = xs_0[16 x f32: (n_1 + n_1) .. near -1] mask m_3");
    let _ = writeln!(wanted, "  xs_0[16 x f32: each lanes.i64.16] = x_2");
    assert!(text.contains(&wanted), "{text}");
}

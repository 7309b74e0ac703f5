//! Every operator at every type on vectors of several lane counts, compiled,
//! against `prim::eval` on scalars: bit for bit but for the payload of NaNs, for
//! the processors that this machine can stand in for. What only vectors have
//! (lanes, masks as a whole, single lanes) against a few lines of Rust.

mod common;

use common::cases::{Case, cases, interesting, is_nan};
use common::vectors::{Random, array, export, unit};
use common::{Fun, add, array_of, at, entry_fn, jit, machines, mul, v};
use imp::{EntryType, Expr, FunId, LaneAccess, LanePositions, Program, Stmt, VarType};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarType};
use std::fmt::Write;

const LANES: &[u32] = &[1, 2, 3, 4, 8, 16, 32];

/// Without the ones that differ little, where time matters more.
const FEW_LANES: &[u32] = &[3, 16];

fn lanes_of(case: &Case, cpu: &str) -> &'static [u32] {
    let calls = prim::MathFun::ALL
        .iter()
        .any(|fun| case.name.split('.').next() == Some(fun.name()));
    match cpu {
        "native" if !calls => LANES,
        // Calls in each lane are the same code over and over.
        _ if calls => &[3],
        _ => FEW_LANES,
    }
}

/// Applies an operator to so many elements of arrays at a time.
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
        body.push(Stmt::LoadLanes {
            var,
            from: unit(buffer, ty, lanes, position()),
            mask: None,
        });
        args.push(v(var));
    }
    let constants = case.constants.iter();
    args.extend(constants.map(|x| Expr::Splat(lanes, Box::new(Expr::Const(*x)))));
    body.push(Stmt::Set(result, (case.expr)(args)));
    body.push(Stmt::StoreLanes {
        to: unit(out, case.result, lanes, position()),
        value: v(result),
        mask: None,
    });
    let count = common::bin(
        BinOp::SQuot,
        PrimType::I64,
        v(n),
        Expr::i64(i64::from(lanes)),
    );
    let name = format!("{}x{lanes}", case.name);
    let f = f.finish(
        &name,
        vec![common::seq(false, i, Expr::i64(0), count, body)],
    );
    export(program, f, &params);
}

/// Rows of operands: all pairs of interesting values, of triples every 7th, and
/// random bits; a whole number of 96.
fn operands(case: &Case, random: &mut Random) -> Vec<Vec<Scalar>> {
    let domains: Vec<Vec<Scalar>> = case.params.iter().map(|ty| interesting(*ty)).collect();
    let count: usize = domains.iter().map(Vec::len).product();
    let mut rows: Vec<Vec<Scalar>> = Vec::new();
    for at in (0..count).step_by(if case.params.len() > 2 { 7 } else { 1 }) {
        let mut rest = at;
        let pick = |values: &Vec<Scalar>| {
            let x = values[rest % values.len()];
            rest /= values.len();
            x
        };
        rows.push(domains.iter().map(pick).collect());
    }
    for _ in 0..500 {
        rows.push(case.params.iter().map(|ty| random.scalar(*ty)).collect());
    }
    while rows.len() % 96 != 0 {
        rows.push(rows[rows.len() % 7].clone());
    }
    rows
}

fn bytes(elems: impl Iterator<Item = Scalar>) -> Vec<u8> {
    elems
        .flat_map(|x| x.bits().to_le_bytes()[..x.ty().size() as usize].to_vec())
        .collect()
}

fn element(bytes: &[u8], ty: PrimType, index: usize) -> u64 {
    let size = ty.size() as usize;
    let mut bits = [0; 8];
    bits[..size].copy_from_slice(&bytes[index * size..(index + 1) * size]);
    u64::from_le_bytes(bits)
}

fn all_operators(cpu: &str) {
    let cases = cases();
    let mut program = Program {
        source_name: "vectors".into(),
        ..Program::default()
    };
    for case in &cases {
        for lanes in lanes_of(case, cpu) {
            add_case(&mut program, case, *lanes);
        }
    }
    let jit = jit(&program, cpu);
    let (mut failures, mut compared, mut random) = (Vec::new(), 0, Random(42));
    for case in &cases {
        let rows = operands(case, &mut random);
        let wanted: Vec<Option<Scalar>> = rows.iter().map(|row| (case.meaning)(row)).collect();
        let inputs: Vec<Vec<u8>> = (0..case.params.len())
            .map(|i| bytes(rows.iter().map(|row| row[i])))
            .collect();
        for lanes in lanes_of(case, cpu) {
            let code = entry_fn(&jit, &format!("{}x{lanes}", case.name));
            let mut out = vec![0xaau8; rows.len() * case.result.size() as usize];
            let n = rows.len() as u64;
            let mut words = vec![out.as_mut_ptr() as u64, n];
            for input in &inputs {
                words.extend([input.as_ptr() as u64, n]);
            }
            // SAFETY: the code does not look at its context; the words are as described.
            let status = unsafe {
                code(
                    std::ptr::dangling_mut(),
                    words.as_ptr(),
                    std::ptr::null_mut(),
                )
            };
            assert_eq!(status, 0);
            for (i, (args, wanted)) in rows.iter().zip(&wanted).enumerate() {
                let Some(wanted) = *wanted else { continue };
                compared += 1;
                let bits = element(&out, case.result, i);
                let got = Scalar::from_bits(case.result, bits);
                if got.bits() != bits || (got != wanted && !(is_nan(got) && is_nan(wanted))) {
                    failures.push(format!(
                        "{}x{lanes} {args:?} = {got:?} ({bits:x}), not {wanted:?}",
                        case.name
                    ));
                }
            }
        }
    }
    assert!(compared > 500_000, "only {compared} comparisons");
    let shown: Vec<_> = failures.iter().take(40).cloned().collect();
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        shown.join("\n")
    );
}

#[test]
fn operators() {
    for cpu in machines() {
        all_operators(cpu);
    }
}

/// `extent` lanes from an array of bytes as a mask, then what is made of it.
#[test]
fn masks_and_lanes() {
    let mut program = Program {
        source_name: "masks".into(),
        ..Program::default()
    };
    let widths: Vec<u32> = LANES.iter().copied().chain([5, 7, 64, 65, 128]).collect();
    for lanes in &widths {
        let lanes = *lanes;
        let mut f = Fun::default();
        let (out, _) = f.array("out");
        let (flags, _) = f.array("flags");
        let k = f.param("k", VarType::Scalar(PrimType::I64));
        let mask = f.var("m", VarType::Vector(PrimType::Bool, lanes));
        let numbers = f.var("n", VarType::Vector(PrimType::I64, lanes));
        let m = || Box::new(v(mask));
        let word = |x| {
            let (from, to) = (PrimType::Bool, PrimType::I64);
            Expr::Convert(prim::ConvOp::BToI, from, to, Box::new(x))
        };
        let masked = Expr::Select(
            PrimType::I64,
            m(),
            Box::new(Expr::Lanes(PrimType::I64, lanes)),
            Box::new(Expr::Splat(lanes, Box::new(v(k)))),
        );
        let inserted = Expr::Insert(
            m(),
            Box::new(v(k)),
            Box::new(Expr::Const(Scalar::Bool(true))),
        );
        let body = vec![
            Stmt::LoadLanes {
                var: mask,
                from: unit(flags, PrimType::Bool, lanes, Expr::i64(0)),
                mask: None,
            },
            Stmt::Store(at(out, PrimType::I64, Expr::i64(0)), word(Expr::Any(m()))),
            Stmt::Store(at(out, PrimType::I64, Expr::i64(1)), word(Expr::All(m()))),
            Stmt::Store(at(out, PrimType::I64, Expr::i64(2)), Expr::FirstLane(m())),
            Stmt::Store(
                at(out, PrimType::I64, Expr::i64(3)),
                word(Expr::Extract(m(), Box::new(v(k)))),
            ),
            Stmt::Set(mask, inserted),
            Stmt::Store(
                at(out, PrimType::I64, Expr::i64(4)),
                word(Expr::Extract(m(), Box::new(v(k)))),
            ),
            Stmt::Set(numbers, masked),
            Stmt::StoreLanes {
                to: unit(out, PrimType::I64, lanes, Expr::i64(5)),
                value: v(numbers),
                mask: None,
            },
        ];
        let f = f.finish(&format!("x{lanes}"), body);
        let params = [
            array(PrimType::I64),
            array(PrimType::Bool),
            EntryType::Scalar(ScalarType::I64),
        ];
        export(&mut program, f, &params);
    }
    for cpu in machines() {
        let jit = jit(&program, cpu);
        let mut random = Random(7);
        for lanes in &widths {
            let n = *lanes as usize;
            let code = entry_fn(&jit, &format!("x{lanes}"));
            for round in 0..60 {
                let mut flags: Vec<u8> = match round {
                    0 => vec![0; n],
                    1 => vec![1; n],
                    _ if round % 2 == 0 => {
                        (0..n).map(|_| (random.bits() >> 20 & 1) as u8).collect()
                    }
                    // A single lane that differs.
                    _ => {
                        let mut flags = vec![(round / 2 % 2) as u8; n];
                        flags[(random.bits() >> 9) as usize % n] ^= 1;
                        flags
                    }
                };
                let k = (random.bits() >> 9) as usize % n;
                let mut out = vec![0i64; 5 + n];
                let words = [
                    out.as_mut_ptr() as u64,
                    0,
                    flags.as_ptr() as u64,
                    0,
                    k as u64,
                ];
                // SAFETY: as above.
                let status = unsafe {
                    code(
                        std::ptr::dangling_mut(),
                        words.as_ptr(),
                        std::ptr::null_mut(),
                    )
                };
                assert_eq!(status, 0);
                let first = flags.iter().position(|x| *x == 1).unwrap_or(n);
                let mut wanted = vec![
                    i64::from(flags.contains(&1)),
                    i64::from(!flags.contains(&0)),
                    first as i64,
                    i64::from(flags[k]),
                    1,
                ];
                flags[k] = 1;
                let number = |(i, set): (usize, &u8)| if *set == 1 { i } else { k } as i64;
                wanted.extend(flags.iter().enumerate().map(number));
                assert_eq!(out, wanted, "{lanes} lanes on {cpu}");
            }
        }
    }
}

/// Vectors as parameters and results, in slots over a loop, in a task's
/// environment.
#[test]
fn vectors_travel() {
    let lanes = 16;
    let vector = VarType::Vector(PrimType::F32, lanes);
    let mut g = Fun::default();
    let (x, y) = (g.param("x", vector), g.param("y", vector));
    let (m, sum) = (
        g.param("m", VarType::Vector(PrimType::Bool, lanes)),
        g.var("s", vector),
    );
    g.results = vec![sum];
    let added = common::bin(BinOp::FAdd, PrimType::F32, v(x), v(y));
    let value = Expr::Select(
        PrimType::F32,
        Box::new(v(m)),
        Box::new(added),
        Box::new(v(x)),
    );
    let g = g.finish("sum", vec![Stmt::Set(sum, value)]);

    let mut f = Fun::default();
    let (xs, _) = f.array("xs");
    let n = f.param("n", VarType::Scalar(PrimType::I64));
    let out = f.owned("out");
    f.results = vec![out, n];
    let (x, acc, m) = (
        f.var("x", vector),
        f.var("acc", vector),
        f.var("m", VarType::Vector(PrimType::Bool, lanes)),
    );
    let (i, t, limit) = (f.int("i"), f.int("t"), f.int("limit"));
    let load = |position| Stmt::LoadLanes {
        var: x,
        from: unit(xs, PrimType::F32, lanes, position),
        mask: None,
    };
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
                    Expr::Compare(
                        CmpOp::SLt,
                        PrimType::I64,
                        Box::new(Expr::Splat(lanes, Box::new(v(i)))),
                        Box::new(Expr::Lanes(PrimType::I64, lanes)),
                    ),
                ),
                Stmt::Call {
                    fun: FunId(1),
                    args: [acc, x, m].map(|var| imp::Arg::Scalar(v(var))).to_vec(),
                    results: vec![acc],
                },
            ],
        ),
        Stmt::Alloc(out, mul(v(n), Expr::i64(4))),
        Stmt::Set(
            limit,
            common::bin(BinOp::SQuot, PrimType::I64, v(n), sixteen()),
        ),
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
        vec![
            array_of(ScalarType::F32),
            EntryType::Scalar(ScalarType::I64),
        ],
        vec![array_of(ScalarType::F32)],
    );
    let xs: Vec<f32> = (0..16).map(|i| i as f32 + 0.5).collect();
    let wanted: Vec<f32> = (0..64)
        .map(|i| (i % 16) as f32 * xs[i % 16] + xs[i % 16])
        .collect();
    let value = |xs: &[f32]| value::Value::from_slice(&[xs.len() as i64], xs).unwrap();
    let args = vec![value(&xs), value::Value::scalar(64i64).unwrap()];
    assert_eq!(common::run(&program, 2, args), Ok(vec![value(&wanted)]));
}

#[test]
fn text_form() {
    let mut f = Fun::default();
    let (xs, n) = f.array("xs");
    let (x, m) = (
        f.var("x", VarType::Vector(PrimType::F32, 16)),
        f.var("m", VarType::Vector(PrimType::Bool, 16)),
    );
    let first = Expr::Splat(16, Box::new(v(n)));
    let below = Expr::Compare(
        CmpOp::SLt,
        PrimType::I64,
        Box::new(Expr::Lanes(PrimType::I64, 16)),
        Box::new(first),
    );
    let access = |at| LaneAccess {
        buffer: xs,
        elem: PrimType::F32,
        lanes: 16,
        at,
    };
    let body = vec![
        Stmt::Set(m, below),
        Stmt::LoadLanes {
            var: x,
            from: access(LanePositions::Strided(add(v(n), v(n)), Expr::i64(2))),
            mask: Some(v(m)),
        },
        Stmt::StoreLanes {
            to: access(LanePositions::Each(Expr::Lanes(PrimType::I64, 16))),
            value: v(x),
            mask: None,
        },
    ];
    let program = common::program(
        vec![f.finish("main", body)],
        vec![array_of(ScalarType::F32)],
        vec![],
    );
    let text = imp::print(&program);
    let mut wanted = String::new();
    let _ = writeln!(
        wanted,
        "  m_3: 16 x bool = slt.i64(lanes.i64.16, splat.16(n_1))"
    );
    let _ = writeln!(
        wanted,
        "  x_2: 16 x f32 = xs_0[16 x f32: (n_1 + n_1) .. by 2] mask m_3"
    );
    let _ = writeln!(wanted, "  xs_0[16 x f32: each lanes.i64.16] = x_2");
    assert!(text.contains(&wanted), "{text}");
}

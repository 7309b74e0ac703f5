//! Tests masks, compiled, against a few lines of Rust: mask reductions, single lanes, and masks
//! live across the blocks of loops and conditionals, for the processors that the host can emulate.

use crate::common::vectors::{Random, array, export, run, unit};
use crate::common::{Fun, at, bin, entry_fn, jit, machines, v, verified};
use imp::{EntryType, Expr, Program, Stmt, VarType};
use llvm::Options;
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, ScalarOp, ScalarType};

/// A mask from an array of bytes, and its reductions and lanes.
#[test]
fn masks_and_lanes() {
    let mut program = Program { source_name: "masks".into(), ..Program::default() };
    let widths: Vec<u32> = vec![1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 65, 128];
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
            Expr::convert(ConvOp::BToI, from, to, x)
        };
        let masked = Expr::Scalar(ScalarOp::Select {
            ty: PrimType::I64,
            cond: m(),
            if_true: Box::new(Expr::LaneIds(PrimType::I64, lanes)),
            if_false: Box::new(Expr::Splat(lanes, Box::new(v(k)))),
        });
        let inserted = Expr::Insert(m(), Box::new(v(k)), Box::new(Expr::Const(Scalar::Bool(true))));
        let body = vec![
            Stmt::LoadLanes { var: mask, from: unit(flags, PrimType::Bool, lanes, Expr::i64(0)), mask: None },
            Stmt::Store(at(out, PrimType::I64, Expr::i64(0)), word(Expr::Any(m()))),
            Stmt::Store(at(out, PrimType::I64, Expr::i64(1)), word(Expr::All(m()))),
            Stmt::Store(at(out, PrimType::I64, Expr::i64(2)), Expr::FirstLane(m())),
            Stmt::Store(at(out, PrimType::I64, Expr::i64(3)), word(Expr::Extract(m(), Box::new(v(k))))),
            Stmt::Set(mask, inserted),
            Stmt::Store(at(out, PrimType::I64, Expr::i64(4)), word(Expr::Extract(m(), Box::new(v(k))))),
            Stmt::Set(numbers, masked),
            Stmt::StoreLanes {
                to: unit(out, PrimType::I64, lanes, Expr::i64(5)),
                value: v(numbers),
                mask: None,
            },
        ];
        let f = f.finish(&format!("x{lanes}"), body);
        let params = [array(PrimType::I64), array(PrimType::Bool), EntryType::scalar(ScalarType::I64)];
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
                    _ if round % 2 == 0 => (0..n).map(|_| (random.bits() >> 20 & 1) as u8).collect(),
                    // A single lane that differs.
                    _ => {
                        let mut flags = vec![(round / 2 % 2) as u8; n];
                        flags[(random.bits() >> 9) as usize % n] ^= 1;
                        flags
                    }
                };
                let k = (random.bits() >> 9) as usize % n;
                let mut out = vec![0i64; 5 + n];
                let words = [out.as_mut_ptr() as u64, 0, flags.as_ptr() as u64, 0, k as u64];
                // SAFETY: as above.
                unsafe { run(code, &words) };
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

/// Every lane counts its value down to 0 if its flag is set. A step adds 2 to the results of lanes
/// that count and began below 5, or neither, and 1 to the others' (with a branch around that where
/// there are no others).
fn add_countdown(program: &mut Program, ty: PrimType, lanes: u32) {
    let mut f = Fun::default();
    let ((out, _), (xs, _), (flags, _)) = (f.array("out"), f.array("xs"), f.array("flags"));
    let vector = |ty| VarType::Vector(ty, lanes);
    let (x, steps) = (f.var("x", vector(ty)), f.var("steps", vector(PrimType::I32)));
    let (m, low, twice) = (
        f.var("m", vector(PrimType::Bool)),
        f.var("low", vector(PrimType::Bool)),
        f.var("twice", vector(PrimType::Bool)),
    );
    let go = f.scalar("go", PrimType::Bool);
    let (minus, less) = if ty.is_float() { (BinOp::FSub, CmpOp::FLt) } else { (BinOp::Sub, CmpOp::SLt) };
    let splat = |x: Scalar| Expr::Splat(lanes, Box::new(Expr::Const(x)));
    let number = |n: i64| match ty {
        PrimType::F32 => splat(Scalar::F32(n as f32)),
        PrimType::F64 => splat(Scalar::F64(n as f64)),
        _ => splat(Scalar::int(ty, n)),
    };
    let below = |x, y| Expr::compare(less, ty, x, y);
    let mask = |op, x, y| bin(op, PrimType::Bool, x, y);
    let any = |m| Stmt::Set(go, Expr::Any(Box::new(v(m))));
    let load =
        |var, buffer, ty| Stmt::LoadLanes { var, from: unit(buffer, ty, lanes, Expr::i64(0)), mask: None };
    let more = |n| {
        let n = splat(Scalar::I32(n));
        bin(BinOp::Add, PrimType::I32, v(steps), n)
    };
    let select = |ty, m, x, y| Expr::select(ty, m, x, y);
    let body = vec![
        Stmt::Set(twice, mask(BinOp::Xor, v(m), v(low))),
        Stmt::If(
            Expr::Any(Box::new(v(twice))),
            vec![Stmt::Set(steps, select(PrimType::I32, v(twice), more(1), more(2)))],
            vec![Stmt::Set(steps, more(2))],
        ),
        Stmt::Set(x, select(ty, v(m), bin(minus, ty, v(x), number(1)), v(x))),
        Stmt::Set(m, mask(BinOp::And, v(m), below(number(0), v(x)))),
        any(m),
    ];
    let begin = vec![
        load(x, xs, ty),
        load(m, flags, PrimType::Bool),
        Stmt::Set(steps, splat(Scalar::I32(0))),
        Stmt::Set(low, below(v(x), number(5))),
        Stmt::Set(m, mask(BinOp::And, below(number(0), v(x)), v(m))),
        any(m),
        Stmt::While(go, body),
        Stmt::StoreLanes { to: unit(out, PrimType::I32, lanes, Expr::i64(0)), value: v(steps), mask: None },
    ];
    let params = [array(PrimType::I32), array(ty), array(PrimType::Bool)];
    export(program, f.finish(&format!("{ty}x{lanes}"), begin), &params);
}

fn countdowns() -> (Program, Vec<(PrimType, u32)>) {
    let mut program = Program { source_name: "countdown".into(), ..Program::default() };
    let mut all = Vec::new();
    for ty in [PrimType::I8, PrimType::I32, PrimType::I64, PrimType::F32, PrimType::F64] {
        for lanes in [3, 4, 8, 16, 32] {
            add_countdown(&mut program, ty, lanes);
            all.push((ty, lanes));
        }
    }
    (program, all)
}

#[test]
fn masks_through_blocks() {
    let (program, all) = countdowns();
    for cpu in machines() {
        let jit = jit(&program, cpu);
        let mut random = Random(3);
        for (ty, lanes) in &all {
            let n = *lanes as usize;
            let code = entry_fn(&jit, &format!("{ty}x{lanes}"));
            for _ in 0..20 {
                let mut xs: Vec<i64> = (0..n).map(|_| (random.bits() >> 9) as i64 % 12).collect();
                let flags: Vec<u8> = (0..n).map(|_| u8::from(random.bits() >> 9 & 3 != 0)).collect();
                let bytes: Vec<u8> = xs
                    .iter()
                    .flat_map(|x| {
                        let bits = match ty {
                            PrimType::F32 => u64::from((*x as f32).to_bits()),
                            PrimType::F64 => (*x as f64).to_bits(),
                            _ => *x as u64,
                        };
                        bits.to_le_bytes()[..ty.size() as usize].to_vec()
                    })
                    .collect();
                let mut out = vec![-1i32; n];
                let words = [out.as_mut_ptr() as u64, 0, bytes.as_ptr() as u64, 0, flags.as_ptr() as u64, 0];
                // SAFETY: the code does not access its context; the words are as described.
                unsafe { run(code, &words) };
                let low: Vec<bool> = xs.iter().map(|x| *x < 5).collect();
                let mut set: Vec<bool> = (0..n).map(|i| xs[i] > 0 && flags[i] == 1).collect();
                let mut wanted = vec![0; n];
                while set.contains(&true) {
                    for i in 0..n {
                        wanted[i] += if set[i] == low[i] { 2 } else { 1 };
                        xs[i] -= i64::from(set[i]);
                        set[i] = set[i] && xs[i] > 0;
                    }
                }
                assert_eq!(out, wanted, "{ty}, {lanes} lanes on {cpu}");
            }
        }
    }
}

#[test]
fn masks_are_widened_without_mask_registers() {
    let (program, _) = countdowns();
    let text = |cpu: &str| {
        let options = Options { cpu: cpu.to_owned(), ..Options::default() };
        let text = |output| llvm::text(&verified(&program), &options, output).unwrap();
        (text(llvm::Output::Ir), text(llvm::Output::Assembly))
    };
    let (avx2, _) = text("x86-64-v3");
    assert!(avx2.contains("phi <8 x i32>"), "{avx2}");
    assert!(!avx2.contains("x i1> ["), "{avx2}");
    let (avx512, assembly) = text("x86-64-v4");
    assert!(avx512.contains("phi <16 x i1>"), "{avx512}");
    assert!(assembly.contains("zmm"), "{assembly}");
}

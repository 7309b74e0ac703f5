//! Tests quotients of 64-bit integers in vectors against the processor's own, where they are products with a
//! reciprocal: operands near 0 and at the ends of that range, and exact quotients with their neighbours.

use crate::common::vectors::{Random, array, export, run, unit};
use crate::common::{self, Fun, entry_fn, jit, machines, mul, v};
use imp::{Expr, Program, Stmt, VarType};
use prim::{BinOp, PrimType};

/// Two registers.
const LANES: u32 = 16;

/// `out[i] = x[i] op y[i]`, `LANES` at a time.
fn program(op: BinOp) -> Program {
    let ty = PrimType::I64;
    let mut program = Program { source_name: "quotients".into(), ..Program::default() };
    let mut f = Fun::default();
    let (out, n) = f.array("out");
    let (xs, _) = f.array("x");
    let (ys, _) = f.array("y");
    let i = f.int("i");
    let [x, y] = ["x", "y"].map(|name| f.var(name, VarType::Vector(ty, LANES)));
    let position = || mul(v(i), Expr::i64(i64::from(LANES)));
    let load = |var, from| Stmt::LoadLanes { var, from: unit(from, ty, LANES, position()), mask: None };
    let body = vec![
        load(x, xs),
        load(y, ys),
        Stmt::Set(x, common::bin(op, ty, v(x), v(y))),
        Stmt::StoreLanes { to: unit(out, ty, LANES, position()), value: v(x), mask: None },
    ];
    let count = common::bin(BinOp::SQuot, ty, v(n), Expr::i64(i64::from(LANES)));
    let body = vec![common::seq(false, i, Expr::i64(0), count, body)];
    let f = f.finish("quotients", body);
    export(&mut program, f, &[array(ty), array(ty), array(ty)]);
    program
}

/// Pairs without a divisor 0; most lanes are within 2^50 of 0.
fn operands() -> Vec<(i64, i64)> {
    let near = 1i64 << 50;
    let mut pairs = Vec::new();
    let mut random = Random(11);
    let mut below = |most: i64| (random.scalar(PrimType::I64).bits() as i64).rem_euclid(most);
    for i in 0..200_000 {
        let y = 1 + below(1 << (i % 50));
        let quotient = below(near / y);
        // An exact quotient, and the dividends beside it.
        let x = (quotient * y + i % 3 - 1).min(near - 1);
        let (x, y) = if i % 5 == 0 { (below(near), y) } else { (x, y) };
        pairs.push((if i % 7 == 0 { -x } else { x }, if i % 11 == 0 { -y } else { y }));
    }
    for x in [near - 1, near, -near, -near - 1, 1 - near, i64::MAX, i64::MIN, 0, 1, -1] {
        for y in [near - 1, near, -near, 1 - near, i64::MAX, i64::MIN, 1, -1, 3] {
            // Alone among other lanes, and in all lanes.
            pairs.resize(pairs.len() + LANES as usize - 1, (1000, 7));
            pairs.resize(pairs.len() + LANES as usize + 1, (x, y));
        }
    }
    pairs.truncate(pairs.len() / LANES as usize * LANES as usize);
    pairs
}

#[test]
fn wide_quotients_are_exact() {
    let (xs, ys): (Vec<i64>, Vec<i64>) = operands().into_iter().unzip();
    let meaning = |op, x: i64, y: i64| {
        let (unsigned, floor) = ((x as u64, y as u64), x.wrapping_rem(y) != 0 && (x ^ y) < 0);
        match op {
            BinOp::SQuot => x.wrapping_div(y),
            BinOp::SRem => x.wrapping_rem(y),
            BinOp::SDiv => x.wrapping_div(y) - i64::from(floor),
            BinOp::SMod => x.wrapping_rem(y) + if floor { y } else { 0 },
            BinOp::UDiv => (unsigned.0 / unsigned.1) as i64,
            _ => (unsigned.0 % unsigned.1) as i64,
        }
    };
    for op in [BinOp::SQuot, BinOp::SRem, BinOp::SDiv, BinOp::SMod, BinOp::UDiv, BinOp::UMod] {
        for machine in machines() {
            let jit = jit(&program(op), machine);
            let code = entry_fn(&jit, "quotients");
            let mut out = vec![0i64; xs.len()];
            let n = xs.len() as u64;
            let [x, y] = [&xs, &ys].map(|array| array.as_ptr() as u64);
            let words = [out.as_mut_ptr() as u64, n, x, n, y, n];
            // SAFETY: the code does not access its context; the words are as described.
            unsafe { run(code, &words) };
            for ((x, y), got) in xs.iter().zip(&ys).zip(&out) {
                let wanted = meaning(op, *x, *y);
                assert_eq!(*got, wanted, "{x} {} {y} for {machine}", op.name());
            }
        }
    }
}

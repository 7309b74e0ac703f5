//! Tests quotients of singles by multiplications against the processor's own: bit for bit, for
//! the quotients that are the hardest to round, for operands at the ends of the range, and for many
//! others.

use crate::common::vectors::{Random, array, export, run, unit};
use crate::common::{self, Fun, entry_fn, jit, mul, v};
use imp::{Expr, Program, Stmt, VarType};
use prim::{BinOp, PrimType, Scalar};

/// Two registers.
const LANES: u32 = 2 * imp::ROOT_LANES;

/// `out[i] = x[i] / y[i]`, or `1 / y[i]`, `LANES` at a time.
fn program(reciprocals: bool) -> Program {
    let ty = PrimType::F32;
    let mut program = Program { source_name: "reciprocals".into(), ..Program::default() };
    let mut f = Fun::default();
    let (out, n) = f.array("out");
    let (xs, _) = f.array("x");
    let (ys, _) = f.array("y");
    let i = f.int("i");
    let [x, y] = ["x", "y"].map(|name| f.var(name, VarType::Vector(ty, LANES)));
    let position = || mul(v(i), Expr::i64(i64::from(LANES)));
    let load = |var, from| Stmt::LoadLanes { var, from: unit(from, ty, LANES, position()), mask: None };
    let one = Expr::Splat(LANES, Box::new(Expr::Const(Scalar::F32(1.0))));
    let dividend = if reciprocals { one } else { v(x) };
    let body = vec![
        load(x, xs),
        load(y, ys),
        Stmt::Set(x, Expr::NewtonQuotient(Box::new(dividend), Box::new(v(y)))),
        Stmt::StoreLanes { to: unit(out, ty, LANES, position()), value: v(x), mask: None },
    ];
    let lanes = Expr::i64(i64::from(LANES));
    let count = common::bin(BinOp::SQuot, PrimType::I64, v(n), lanes);
    let body = vec![common::seq(false, i, Expr::i64(0), count, body)];
    let f = f.finish("quotients", body);
    export(&mut program, f, &[array(ty), array(ty), array(ty)]);
    program
}

/// Pairs of fractions, as integers of 24 bits, whose quotients lie nearest to the middle of two
/// singles: X 2^(k + 1) is (2 M + 1) Y + N for a small N and an odd 2 M + 1 of 25 bits.
fn hard(divisors: impl Iterator<Item = u64>, pairs: &mut Vec<(f32, f32)>) {
    for y in divisors {
        let zeros = y.trailing_zeros();
        let odd = y >> zeros;
        let mut inverse = odd;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        }
        for (k, rest) in [23, 24].into_iter().flat_map(|k| (-6i64..=6).map(move |n| (k, n))) {
            if rest == 0 || zeros > 2 || rest % (1 << zeros) != 0 {
                continue;
            }
            let modulus = 1u64 << (k + 1 - zeros);
            let minus = (-(rest >> zeros)) as u64;
            let first = minus.wrapping_mul(inverse) % modulus;
            for middle in (first..1 << 25).step_by(modulus as usize) {
                let scaled = (middle * y) as i64 + rest;
                let x = scaled >> (k + 1);
                let whole = scaled % (1 << (k + 1)) == 0;
                if middle >= 1 << 24 && middle % 2 == 1 && whole && (1 << 23..1 << 24).contains(&x) {
                    pairs.push((x as f32, y as f32));
                }
            }
        }
    }
}

fn operands() -> Vec<(f32, f32)> {
    let mut pairs = Vec::new();
    hard((1 << 23..1 << 24).step_by(499), &mut pairs);
    hard((1 << 24) - 300..1 << 24, &mut pairs);
    hard(1 << 23..(1 << 23) + 300, &mut pairs);
    assert!(pairs.len() > 50_000, "{}", pairs.len());
    let scaled = |power: i32, by: i32| (f32::from_bits(((127 + power) as u32) << 23), by as f32);
    for i in 0..pairs.len() {
        let (x, y) = pairs[i];
        let (scale, sign) = scaled(i as i32 % 120 - 60, [1, -1][i % 2]);
        pairs.push((x * f32::exp2(-23.0) * scale * sign, y * f32::exp2(-23.0) / scale));
    }
    let special = [0.0, -0.0, f32::INFINITY, f32::NAN, 1e-45, 1e-39, f32::MAX, 1.999_999_9];
    let ends = [-126, -61, -60, -59, 59, 60, 61, 127].map(|power| f32::exp2(power as f32));
    let ends: Vec<f32> = special.into_iter().chain(ends).flat_map(|x| [x, -x]).collect();
    for x in &ends {
        for y in &ends {
            // A pair among lanes that are near 1.
            pairs.resize(pairs.len() + LANES as usize + 3, (3.0, 7.0));
            pairs.push((*x, *y));
            pairs.push((1.5, *y));
            pairs.push((*x, 1.5));
        }
    }
    let mut random = Random(7);
    for i in 0..400_000 {
        let [x, y] = [(); 2].map(|()| random.scalar(PrimType::I32).bits() as u32);
        let near = |bits: u32| f32::from_bits((bits >> 9) | (127 << 23));
        pairs.push(if i % 4 == 0 { (f32::from_bits(x), f32::from_bits(y)) } else { (near(x), near(y)) });
    }
    pairs.truncate(pairs.len() / LANES as usize * LANES as usize);
    pairs
}

#[test]
fn newton_quotients_are_rounded_correctly() {
    let (xs, ys): (Vec<f32>, Vec<f32>) = operands().into_iter().unzip();
    for reciprocals in [false, true] {
        let jit = jit(&program(reciprocals), "native");
        let code = entry_fn(&jit, "quotients");
        let mut out = vec![0.0f32; xs.len()];
        let n = xs.len() as u64;
        let [x, y] = [&xs, &ys].map(|array| array.as_ptr() as u64);
        let words = [out.as_mut_ptr() as u64, n, x, n, y, n];
        // SAFETY: the code does not access its context; the words are as described.
        unsafe { run(code, &words) };
        for ((x, y), got) in xs.iter().zip(&ys).zip(&out) {
            let x = if reciprocals { 1.0 } else { *x };
            let wanted = x / y;
            let same = got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan();
            assert!(same, "{x:e} / {y:e} = {got:e}, not {wanted:e}");
        }
    }
}

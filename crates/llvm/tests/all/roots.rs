//! Tests square roots divided between the divider and the multipliers against the processor's own:
//! bit for bit, for the arguments whose roots are the hardest to round, for those at the ends of
//! the range, and for many others.

use crate::common::vectors::{Random, array, export, run, unit};
use crate::common::{self, Fun, entry_fn, jit, mul, v};
use imp::{Expr, Program, Stmt, VarType};
use prim::{BinOp, PrimType};

const LANES: u32 = imp::ROOT_LANES;

/// `out[i] = sqrt x[i]`, `LANES` at a time.
fn program() -> Program {
    let ty = PrimType::F64;
    let mut program = Program { source_name: "roots".into(), ..Program::default() };
    let mut f = Fun::default();
    let (out, n) = f.array("out");
    let (xs, _) = f.array("x");
    let i = f.int("i");
    let x = f.var("x", VarType::Vector(ty, LANES));
    let position = || mul(v(i), Expr::i64(i64::from(LANES)));
    let body = vec![
        Stmt::LoadLanes { var: x, from: unit(xs, ty, LANES, position()), mask: None },
        Stmt::Set(x, Expr::SplitSqrt(Box::new(v(x)))),
        Stmt::StoreLanes { to: unit(out, ty, LANES, position()), value: v(x), mask: None },
    ];
    let lanes = Expr::i64(i64::from(LANES));
    let count = common::bin(BinOp::SQuot, PrimType::I64, v(n), lanes);
    let body = vec![common::seq(false, i, Expr::i64(0), count, body)];
    let f = f.finish("roots", body);
    export(&mut program, f, &[array(ty), array(ty)]);
    program
}

/// Doubles between 1 and 4 whose roots lie nearest to the middle of two doubles. As an integer that
/// middle is an odd z of 54 bits; as the double is a multiple of 2^54 in the scale of z^2, z^2
/// exceeds such a multiple by a small `c`, which is 1 modulo 8 as all odd squares are. Modulo 2^54
/// such a `c` has four roots.
fn hard() -> Vec<f64> {
    const MODULUS: i128 = 1 << 54;
    let mut found = Vec::new();
    for c in (-4095..4096i128).step_by(8) {
        assert_eq!(c.rem_euclid(8), 1);
        let mut z = 1i128;
        for bit in 3..54 {
            if (z * z - c).rem_euclid(1 << (bit + 1)) != 0 {
                z += 1 << (bit - 1);
            }
        }
        for z in [z, -z, z + (1 << 53), -z + (1 << 53)] {
            let z = z.rem_euclid(MODULUS);
            assert_eq!((z * z - c).rem_euclid(MODULUS), 0);
            let x = (z * z - c) / MODULUS;
            let exact = x < 1 << 53 || x % 2 == 0;
            if z >= 1 << 53 && x >= 1 << 52 && exact {
                found.push(x as f64 / (1u64 << 52) as f64);
            }
        }
    }
    assert!(found.len() > 1000, "{}", found.len());
    found
}

fn arguments() -> Vec<f64> {
    let mut xs = Vec::new();
    for x in hard() {
        for near in [-1i64, 0, 1] {
            let x = f64::from_bits(x.to_bits().wrapping_add_signed(near));
            for power in [-300, -128, -127, -1, 0, 1, 100, 127, 128, 400] {
                xs.push(x * f64::exp2(2.0 * f64::from(power)));
            }
        }
    }
    let special = [0.0, -0.0, -1.0, f64::INFINITY, f64::NAN, 5e-324, f64::MAX];
    let ends = [-257, -256, -255, 255, 256, 257].map(|power| f64::from(power).exp2());
    for x in special.into_iter().chain(ends) {
        for near in [-1i64, 0, 1] {
            // Such an argument among lanes that are near 1, and in all lanes.
            let at = xs.len() + 2 * LANES as usize;
            xs.resize(at, 2.0);
            xs[at - 1] = f64::from_bits(x.to_bits().wrapping_add_signed(near));
            xs.extend([x; LANES as usize]);
        }
    }
    let mut random = Random(7);
    let number = |random: &mut Random| random.scalar(PrimType::I64).bits();
    for _ in 0..400_000 {
        xs.push(f64::from_bits((number(&mut random) >> 11) | (0x3ff << 52)) * 1.5);
    }
    for _ in 0..100_000 {
        xs.push(f64::from_bits(number(&mut random)));
    }
    // Every argument occurs in each half of the lanes.
    let shifted = [1.0; LANES as usize / 2];
    let all: Vec<f64> = xs.iter().chain(&shifted).chain(&xs).copied().collect();
    all[..all.len() / LANES as usize * LANES as usize].to_vec()
}

#[test]
fn split_square_roots_are_rounded_correctly() {
    let xs = arguments();
    let jit = jit(&program(), "native");
    let code = entry_fn(&jit, "roots");
    let mut out = vec![0.0f64; xs.len()];
    let n = xs.len() as u64;
    let words = [out.as_mut_ptr() as u64, n, xs.as_ptr() as u64, n];
    // SAFETY: the code does not access its context; the words are as described.
    unsafe { run(code, &words) };
    for (x, got) in xs.iter().zip(&out) {
        let wanted = x.sqrt();
        let same = got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan();
        assert!(same, "sqrt {x:e} = {got:e}, not {wanted:e}");
    }
}

//! Tests minima and maxima of quiet floats against `prim`'s operators, bit for bit: zeros of both signs, infinities,
//! quiet NaNs with different bits, numbers of all sizes.

use crate::common::vectors::{Random, array, export, run, unit};
use crate::common::{self, Fun, entry_fn, jit, machines, mul, v};
use imp::{Expr, Program, Stmt, VarType};
use prim::{BinOp, PrimType, Scalar, eval};

const WIDTHS: [u32; 4] = [4, 8, 16, 32];
/// A multiple of all widths.
const LANES: u64 = 32;
const TYPES: [PrimType; 2] = [PrimType::F32, PrimType::F64];
const OPS: [BinOp; 2] = [BinOp::FMin, BinOp::FMax];

fn name(op: BinOp, lanes: u32) -> String {
    format!("{}{lanes}", op.name())
}

/// `out[i] = op (x[i] + -0.0) (y[i] + -0.0)` in vectors: the sums are the operands, and quiet.
fn program(ty: PrimType) -> Program {
    let mut program = Program { source_name: "ranges".into(), ..Program::default() };
    for (op, lanes) in OPS.into_iter().flat_map(|op| WIDTHS.map(|lanes| (op, lanes))) {
        let mut f = Fun::default();
        let (out, n) = f.array("out");
        let buffers = ["x", "y"].map(|name| f.array(name).0);
        let i = f.int("i");
        let vars = ["x", "y", "a", "b"].map(|name| f.var(name, VarType::Vector(ty, lanes)));
        let position = || mul(v(i), Expr::i64(i64::from(lanes)));
        let zero = if ty == PrimType::F32 { Scalar::F32(-0.0) } else { Scalar::F64(-0.0) };
        let zero = Expr::Splat(lanes, Box::new(Expr::Const(zero)));
        let mut body = Vec::new();
        for (at, buffer) in buffers.into_iter().enumerate() {
            body.push(Stmt::LoadLanes {
                var: vars[at],
                from: unit(buffer, ty, lanes, position()),
                mask: None,
            });
            body.push(Stmt::Set(vars[at + 2], Expr::binary(BinOp::FAdd, ty, v(vars[at]), zero.clone())));
        }
        let value = Expr::binary(op, ty, v(vars[2]), v(vars[3]));
        body.push(Stmt::StoreLanes { to: unit(out, ty, lanes, position()), value, mask: None });
        let count = common::bin(BinOp::SQuot, PrimType::I64, v(n), Expr::i64(i64::from(lanes)));
        let body = vec![common::seq(false, i, Expr::i64(0), count, body)];
        export(
            &mut program,
            f.finish(&name(op, lanes), body),
            &std::array::from_fn::<_, 3, _>(|_| array(ty)),
        );
    }
    program
}

/// Pairs of operands, a multiple of [`LANES`].
fn pairs(ty: PrimType) -> Vec<[Scalar; 2]> {
    let mut random = Random(7);
    let (sign, quiet, infinity): (u64, u64, u64) =
        if ty == PrimType::F32 { (1 << 31, 1 << 22, 0xff << 23) } else { (1 << 63, 1 << 51, 0x7ff << 52) };
    let positive = [0, 1, quiet, infinity - 1, infinity, infinity | quiet, infinity | quiet | 5];
    let special: Vec<u64> = positive.into_iter().flat_map(|bits| [bits, bits | sign]).collect();
    let mut all: Vec<[u64; 2]> = special.iter().flat_map(|x| special.iter().map(|y| [*x, *y])).collect();
    // No signalling NaNs: the first bit of the fraction is set in all NaNs.
    let any = |random: &mut Random| {
        let bits = random.scalar(ty).bits();
        if bits & infinity == infinity { bits | quiet } else { bits }
    };
    while all.len() < 100_000 || !(all.len() as u64).is_multiple_of(LANES) {
        let (x, y) = (any(&mut random), any(&mut random));
        all.push([x, y]);
    }
    all.into_iter().map(|pair| pair.map(|bits| Scalar::from_bits(ty, bits))).collect()
}

#[test]
fn minima_and_maxima_of_quiet_floats_have_the_same_bits() {
    for ty in TYPES {
        let (pairs, size, program) = (pairs(ty), ty.size() as usize, program(ty));
        let columns: [Vec<u8>; 2] = [0, 1]
            .map(|at| pairs.iter().flat_map(|pair| pair[at].bits().to_le_bytes()[..size].to_vec()).collect());
        for cpu in machines() {
            let jit = jit(&program, cpu);
            for (op, lanes) in OPS.into_iter().flat_map(|op| WIDTHS.map(|lanes| (op, lanes))) {
                let code = entry_fn(&jit, &name(op, lanes));
                let mut out = vec![0u8; pairs.len() * size];
                let n = pairs.len() as u64;
                let mut words = vec![out.as_mut_ptr() as u64, n];
                words.extend(columns.iter().flat_map(|column| [column.as_ptr() as u64, n]));
                // SAFETY: the code does not access its context; the words are as described.
                unsafe { run(code, &words) };
                for (got, [x, y]) in out.chunks(size).zip(&pairs) {
                    let mut bits = [0; 8];
                    bits[..size].copy_from_slice(got);
                    let (got, wanted) = (u64::from_le_bytes(bits), eval::binary(op, *x, *y));
                    let wanted = wanted.expect("the operator is defined for floats").bits();
                    assert_eq!(got, wanted, "{cpu}, {}: {x:?} {y:?}", name(op, lanes));
                }
            }
        }
    }
}

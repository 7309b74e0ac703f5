//! Tests compression of lanes, compiled, against a few lines of Rust, for the processors that the
//! host can emulate.

use crate::common::vectors::{Random, array, export, run, unit};
use crate::common::{Fun, at, entry_fn, jit, machines, v};
use imp::{Expr, Program, Stmt, VarType};
use prim::PrimType;

const TYPES: [PrimType; 8] = [
    PrimType::Bool,
    PrimType::I8,
    PrimType::I16,
    PrimType::I32,
    PrimType::I64,
    PrimType::F16,
    PrimType::F32,
    PrimType::F64,
];
const WIDTHS: [u32; 8] = [1, 2, 3, 4, 8, 16, 33, 64];

/// `out = compress(xs, flags)` and the number of set flags.
fn add_pack(program: &mut Program, ty: PrimType, lanes: u32) {
    let mut f = Fun::default();
    let ((out, _), (count, _)) = (f.array("out"), f.array("count"));
    let ((xs, _), (flags, _)) = (f.array("xs"), f.array("flags"));
    let x = f.var("x", VarType::Vector(ty, lanes));
    let mask = f.var("m", VarType::Vector(PrimType::Bool, lanes));
    let m = || Box::new(v(mask));
    let body = vec![
        Stmt::LoadLanes { var: mask, from: unit(flags, PrimType::Bool, lanes, Expr::i64(0)), mask: None },
        Stmt::LoadLanes { var: x, from: unit(xs, ty, lanes, Expr::i64(0)), mask: None },
        Stmt::StoreLanes {
            to: unit(out, ty, lanes, Expr::i64(0)),
            value: Expr::Pack(Box::new(v(x)), m()),
            mask: None,
        },
        Stmt::Store(at(count, PrimType::I64, Expr::i64(0)), Expr::Count(m())),
    ];
    let f = f.finish(&format!("pack_{ty}_{lanes}"), body);
    let params = [array(ty), array(PrimType::I64), array(ty), array(PrimType::Bool)];
    export(program, f, &params);
}

#[test]
fn packed_lanes() {
    let mut program = Program { source_name: "packs".into(), ..Program::default() };
    for ty in TYPES {
        for lanes in WIDTHS {
            add_pack(&mut program, ty, lanes);
        }
    }
    for cpu in machines() {
        let jit = jit(&program, cpu);
        let mut random = Random(11);
        for (ty, lanes) in TYPES.into_iter().flat_map(|ty| WIDTHS.map(|n| (ty, n))) {
            let code = entry_fn(&jit, &format!("pack_{ty}_{lanes}"));
            let (n, size) = (lanes as usize, ty.size() as usize);
            for round in 0..40 {
                let flag = |bits: u64| match round {
                    0 => 0,
                    1 => 1,
                    _ => (bits >> 20 & 1) as u8,
                };
                let flags: Vec<u8> = (0..n).map(|_| flag(random.bits())).collect();
                let mut xs = Vec::new();
                for _ in 0..n {
                    let bits = random.bits().to_le_bytes();
                    match ty {
                        PrimType::Bool => xs.push(bits[2] & 1),
                        _ => xs.extend(&bits[..size]),
                    }
                }
                let (mut out, mut count) = (vec![1u8; n * size], -1i64);
                let words = [
                    out.as_mut_ptr() as u64,
                    0,
                    &raw mut count as u64,
                    0,
                    xs.as_ptr() as u64,
                    0,
                    flags.as_ptr() as u64,
                    0,
                ];
                // SAFETY: the arrays have as many elements as the code has lanes.
                unsafe { run(code, &words) };
                let kept = xs.chunks(size).zip(&flags).filter(|(_, flag)| **flag == 1);
                let mut wanted: Vec<u8> = kept.flat_map(|(x, _)| x.iter().copied()).collect();
                let n_kept = (wanted.len() / size) as i64;
                wanted.resize(n * size, 0);
                assert_eq!((out, count), (wanted, n_kept), "{lanes} {ty} on {cpu}");
            }
        }
    }
}

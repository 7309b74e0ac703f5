//! Every operator against results that Python computed with unbounded integers and exact fractions
//! (see `tests/oracle/prim/make.py`).

use half::f16;
use prim::{BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, UnOp, eval, f16_from_f64};
use std::collections::BTreeSet;
use std::path::Path;

fn bits(word: &str) -> u64 {
    u64::from_str_radix(word, 16).unwrap()
}

fn ty(name: &str) -> PrimType {
    name.parse().unwrap()
}

#[test]
fn operators_have_the_expected_bits() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/prim/operators.txt");
    let mut seen = BTreeSet::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let name: Vec<&str> = words[1].split('.').collect();
        seen.insert((words[0].to_owned(), name[0].to_owned()));
        let operand = |i: usize| Scalar::from_bits(ty(name[1]), bits(words[i]));
        let last = words[words.len() - 1];
        if words[0] == "math" {
            let args: Vec<f64> = words[2..words.len() - 1].iter().map(|w| f64::from_bits(bits(w))).collect();
            check_math(line, MathFun::from_name(name[0]).unwrap(), &args, f64::from_bits(bits(last)));
            continue;
        }
        let (result, result_ty) = match words[0] {
            "binary" => {
                let op = BinOp::from_name(name[0]).unwrap();
                (eval::binary(op, operand(2), operand(3)), ty(name[1]))
            }
            "unary" => (eval::unary(UnOp::from_name(name[0]).unwrap(), operand(2)), ty(name[1])),
            "compare" => {
                let op = CmpOp::from_name(name[0]).unwrap();
                (eval::compare(op, operand(2), operand(3)).map(Scalar::Bool), PrimType::Bool)
            }
            _ => {
                let op = ConvOp::from_name(name[0]).unwrap();
                (eval::convert(op, operand(2), ty(name[2])), ty(name[2]))
            }
        };
        let expected = (last != "-").then(|| Scalar::from_bits(result_ty, bits(last)));
        assert_eq!(result, expected, "{line}");
    }
    // Operators on truth values are tested below; all others must be in the file.
    let all = (BinOp::ALL.iter().map(|op| ("binary", op.name())))
        .chain(UnOp::ALL.iter().map(|op| ("unary", op.name())))
        .chain(CmpOp::ALL.iter().map(|op| ("compare", op.name())))
        .chain(ConvOp::ALL.iter().map(|op| ("convert", op.name())))
        .chain(MathFun::ALL.iter().map(|op| ("math", op.name())));
    let missing: Vec<_> = all.filter(|(k, n)| !seen.contains(&((*k).to_owned(), (*n).to_owned()))).collect();
    assert_eq!(
        missing,
        [
            ("compare", "blt"),
            ("compare", "ble"),
            ("convert", "btoi"),
            ("convert", "itob"),
            ("convert", "btof"),
            ("math", "nextafter")
        ]
    );
}

fn check_math(line: &str, fun: MathFun, args: &[f64], expected: f64) {
    assert_eq!(fun.arity(), args.len(), "{line}");
    let close = |x: f64, ulp: f64| (x - expected).abs() <= ulp * expected.abs().max(1e-3);
    let doubles: Vec<Scalar> = args.iter().map(|&x| Scalar::F64(x)).collect();
    let singles: Vec<Scalar> = args.iter().map(|&x| Scalar::F32(x as f32)).collect();
    let halves: Vec<Scalar> = args.iter().map(|&x| Scalar::F16(f16_from_f64(x))).collect();
    match [doubles, singles, halves].map(|args| eval::math(fun, &args)) {
        [Some(Scalar::F64(x)), Some(Scalar::F32(y)), Some(Scalar::F16(z))] => {
            assert!(close(x, 1e-14), "{line}: {x} for {expected}");
            assert!(close(f64::from(y), 1e-6), "{line}: {y} for {expected}");
            assert!(close(z.to_f64(), 1e-3), "{line}: {z} for {expected}");
        }
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn operators_on_truth_values() {
    let b = Scalar::Bool;
    for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
        let binary = |op| eval::binary(op, b(x), b(y));
        assert_eq!(binary(BinOp::And), Some(b(x && y)));
        assert_eq!(binary(BinOp::Or), Some(b(x || y)));
        assert_eq!(binary(BinOp::Xor), Some(b(x != y)));
        assert_eq!(binary(BinOp::Add), None);
        assert_eq!(eval::compare(CmpOp::BLt, b(x), b(y)), Some(!x && y));
        assert_eq!(eval::compare(CmpOp::BLe, b(x), b(y)), Some(!x || y));
        assert_eq!(eval::compare(CmpOp::Eq, b(x), b(y)), Some(x == y));
    }
    assert_eq!(eval::unary(UnOp::Not, b(true)), Some(b(false)));
    let convert = eval::convert;
    assert_eq!(convert(ConvOp::BToI, b(true), PrimType::I16), Some(Scalar::I16(1)));
    assert_eq!(convert(ConvOp::IToB, Scalar::I8(-128), PrimType::Bool), Some(b(true)));
    assert_eq!(convert(ConvOp::BToF, b(true), PrimType::F16), Some(Scalar::F16(f16::ONE)));
    assert_eq!(convert(ConvOp::SExt, b(true), PrimType::I8), None);
}

#[test]
fn nextafter_steps_through_all_halves() {
    let next = |x: f16, y: f16| eval::math(MathFun::Nextafter, &[Scalar::F16(x), Scalar::F16(y)]);
    for bits in 0..0x7c00u16 {
        let (low, high) = (f16::from_bits(bits), f16::from_bits(bits + 1));
        assert_eq!(next(low, f16::INFINITY), Some(Scalar::F16(high)));
        assert_eq!(next(high, f16::NEG_INFINITY), Some(Scalar::F16(low)));
        assert_eq!(next(-low, f16::NEG_INFINITY), Some(Scalar::F16(-high)));
    }
}

#[test]
fn mixed_operands_have_no_value() {
    assert_eq!(eval::binary(BinOp::Add, Scalar::I8(1), Scalar::I16(1)), None);
    assert_eq!(eval::binary(BinOp::FAdd, Scalar::I8(1), Scalar::I8(1)), None);
    assert_eq!(eval::binary(BinOp::Add, Scalar::F32(1.0), Scalar::F32(1.0)), None);
    assert_eq!(eval::unary(UnOp::Clz, Scalar::F64(1.0)), None);
    assert_eq!(eval::compare(CmpOp::SLt, Scalar::F64(1.0), Scalar::F64(2.0)), None);
    assert_eq!(eval::math(MathFun::Exp, &[Scalar::F64(1.0), Scalar::F64(1.0)]), None);
    assert_eq!(eval::convert(ConvOp::ToBits, Scalar::F32(1.0), PrimType::I64), None);
    let fma = eval::fma(Scalar::F32(0.1), Scalar::F32(10.0), Scalar::F32(-1.0));
    assert_eq!(fma, Some(Scalar::F32(1.4901161e-8)));
}

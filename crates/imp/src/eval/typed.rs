//! Scalar operators at a type, as functions on bits: instances of [`prim::eval`] for each operator
//! and type.

use super::code::{Binary, Unary};
use prim::{BinOp, CmpOp, PrimType, Scalar, UnOp, eval};

/// The types in the order of their numbers in the instances.
const TYPES: [PrimType; 8] = [
    PrimType::I8,
    PrimType::I16,
    PrimType::I32,
    PrimType::I64,
    PrimType::F16,
    PrimType::F32,
    PrimType::F64,
    PrimType::Bool,
];

fn unary_at<const OP: usize, const TY: usize>(x: u64) -> u64 {
    eval::unary(UnOp::ALL[OP], Scalar::from_bits(TYPES[TY], x)).map_or(0, Scalar::bits)
}

fn binary_at<const OP: usize, const TY: usize>(x: u64, y: u64) -> Option<u64> {
    let (x, y) = (Scalar::from_bits(TYPES[TY], x), Scalar::from_bits(TYPES[TY], y));
    eval::binary(BinOp::ALL[OP], x, y).map(Scalar::bits)
}

fn compare_at<const OP: usize, const TY: usize>(x: u64, y: u64) -> Option<u64> {
    let (x, y) = (Scalar::from_bits(TYPES[TY], x), Scalar::from_bits(TYPES[TY], y));
    eval::compare(CmpOp::ALL[OP], x, y).map(u64::from)
}

/// The instance of a function for an operator and a type.
macro_rules! instance {
    ($at:ident, $ops:expr, $op:expr, $ty:expr, $($number:literal)*) => {
        match $op {
            $(op if Some(&op) == $ops.get($number) => by_type!($at, $number, $ty),)*
            _ => by_type!($at, 0, $ty),
        }
    };
}

macro_rules! by_type {
    ($at:ident, $op:literal, $ty:expr) => {
        match $ty {
            PrimType::I8 => $at::<$op, 0>,
            PrimType::I16 => $at::<$op, 1>,
            PrimType::I32 => $at::<$op, 2>,
            PrimType::I64 => $at::<$op, 3>,
            PrimType::F16 => $at::<$op, 4>,
            PrimType::F32 => $at::<$op, 5>,
            PrimType::F64 => $at::<$op, 6>,
            PrimType::Bool => $at::<$op, 7>,
        }
    };
}

/// The operator at a type of its domain.
pub(super) fn unary(op: UnOp, ty: PrimType) -> Option<Unary> {
    op.domain().contains(ty).then(|| -> Unary {
        instance!(unary_at, UnOp::ALL, op, ty, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    })
}

/// The operator at a type of its domain.
pub(super) fn binary(op: BinOp, ty: PrimType) -> Option<Binary> {
    op.domain().contains(ty).then(|| -> Binary {
        instance!(binary_at, BinOp::ALL, op, ty,
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26)
    })
}

/// The comparison at a type of its domain.
pub(super) fn compare(op: CmpOp, ty: PrimType) -> Option<Binary> {
    op.domain()
        .contains(ty)
        .then(|| -> Binary { instance!(compare_at, CmpOp::ALL, op, ty, 0 1 2 3 4 5 6 7 8) })
}

#[cfg(test)]
mod tests {
    use super::{TYPES, binary, compare, unary};
    use prim::{BinOp, CmpOp, Scalar, UnOp, eval};

    #[test]
    fn every_operator_has_its_instance_at_every_type() {
        let words = [0, 1, 2, 3, 0x7f, 0x80, 0x3c00, 0x3f80_0000, 0x4008_0000_0000_0000, u64::MAX];
        for ty in TYPES {
            let values = words.map(|word| Scalar::from_bits(ty, word));
            for op in UnOp::ALL {
                let of = |x| eval::unary(*op, x).map(Scalar::bits);
                for x in values {
                    assert_eq!(unary(*op, ty).map(|f| f(x.bits())), of(x), "{op:?} {x:?}");
                }
            }
            for (x, y) in values.into_iter().flat_map(|x| values.map(|y| (x, y))) {
                for op in BinOp::ALL {
                    let given = binary(*op, ty).and_then(|f| f(x.bits(), y.bits()));
                    assert_eq!(given, eval::binary(*op, x, y).map(Scalar::bits), "{op:?} {x:?} {y:?}");
                }
                for op in CmpOp::ALL {
                    let given = compare(*op, ty).and_then(|f| f(x.bits(), y.bits()));
                    assert_eq!(given, eval::compare(*op, x, y).map(u64::from), "{op:?} {x:?} {y:?}");
                }
            }
        }
    }
}

//! The properties that the table states, against the evaluator: a law holds for all values that are
//! tried, and an operator without it has a counterexample at every type.

use prim::laws::Law;
use prim::{BinClass, BinOp, CmpOp, ConvOp, PrimType, Scalar, UnOp, eval};

/// All values of types with at most `count`; edge values and `count` random ones of the others.
fn values(ty: PrimType, count: u32) -> Vec<Scalar> {
    let (mut bits, ones) = (Vec::new(), u64::MAX >> (64 - ty.bits()));
    match ty.bits() {
        8 if count >= 256 => bits.extend(0..=ones),
        _ => {
            let sign = 1 << (ty.bits() - 1);
            for edge in [0, sign, ones, u64::from(ty.bits())] {
                bits.extend((0..4).flat_map(|step| [edge.wrapping_add(step), edge.wrapping_sub(step)]));
            }
            let mut state = 0x9e37_79b9_7f4a_7c15u64;
            bits.extend((0..count).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.rotate_left(29) >> (state % 64)
            }));
        }
    }
    let mut values: Vec<Scalar> = bits.into_iter().map(|bits| Scalar::from_bits(ty, bits & ones)).collect();
    for x in [0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 1e4, f64::INFINITY, f64::NAN] {
        values.extend([x, -x].iter().filter_map(|&x| eval::convert(ConvOp::FConv, Scalar::F64(x), ty)));
    }
    values
}

fn is_nan(x: Scalar) -> bool {
    eval::compare(CmpOp::Eq, x, x) == Some(false)
}

/// Equal bits, or two NaNs.
fn same(x: Option<Scalar>, y: Option<Scalar>) -> bool {
    x == y || x.zip(y).is_some_and(|(x, y)| is_nan(x) && is_nan(y))
}

fn types(accepts: impl Fn(PrimType) -> bool) -> impl Iterator<Item = PrimType> {
    PrimType::ALL.iter().copied().filter(move |ty| accepts(*ty))
}

fn pairs(values: &[Scalar]) -> impl Iterator<Item = (Scalar, Scalar)> {
    values.iter().flat_map(|x| values.iter().map(|y| (*x, *y)))
}

/// Every binary operator at every type, with its values.
fn binary_operators(count: u32) -> impl Iterator<Item = (BinOp, PrimType, Vec<Scalar>)> {
    let typed = |op: &'static BinOp| types(|ty| op.domain().contains(ty)).map(|ty| (*op, ty));
    BinOp::ALL.iter().flat_map(typed).map(move |(op, ty)| (op, ty, values(ty, count)))
}

#[test]
fn commutativity_and_idempotence() {
    for (op, ty, values) in binary_operators(256) {
        let commutes = pairs(&values).all(|(x, y)| same(eval::binary(op, x, y), eval::binary(op, y, x)));
        assert_eq!(op.is_commutative(), commutes, "{op:?} {ty}");
        let idempotent = values.iter().all(|x| same(eval::binary(op, *x, *x), Some(*x)));
        assert_eq!(op.is_idempotent(), idempotent, "{op:?} {ty}");
    }
}

#[test]
fn associativity() {
    for (op, ty, values) in binary_operators(30) {
        let associates = pairs(&values).all(|(x, y)| {
            let left = eval::binary(op, x, y);
            values.iter().all(|z| {
                let right = eval::binary(op, y, *z).and_then(|yz| eval::binary(op, x, yz));
                same(left.and_then(|xy| eval::binary(op, xy, *z)), right)
            })
        });
        assert_eq!(op.is_associative(), associates, "{op:?} {ty}");
    }
}

#[test]
fn neutral_and_absorbing_elements() {
    for (op, ty, values) in binary_operators(256) {
        let right = |e: Scalar| values.iter().all(|x| same(eval::binary(op, *x, e), Some(*x)));
        let left = |e: Scalar| values.iter().all(|x| same(eval::binary(op, e, *x), Some(*x)));
        let absorbs = |e: Scalar| {
            let both = |x: &Scalar| [eval::binary(op, *x, e), eval::binary(op, e, *x)];
            values.iter().flat_map(both).all(|result| same(result, Some(e)))
        };
        for e in &values {
            let is = |element: Option<Scalar>| element.is_some() && same(element, Some(*e));
            assert_eq!(is(op.neutral(ty)), right(*e), "{op:?} {e:?}");
            assert_eq!(is(op.neutral(ty)) && op.is_commutative(), left(*e), "{op:?} {e:?}");
            assert_eq!(is(op.absorbing(ty)), absorbs(*e), "{op:?} {e:?}");
        }
        for law in op.laws() {
            if let Law::Neutral(e) | Law::Absorbing(e) = law {
                assert!(e.at(ty).is_some_and(|e| values.iter().any(|x| same(Some(*x), Some(e)))), "{op:?}");
            }
        }
    }
    for op in BinOp::ALL {
        for ty in types(|ty| !op.domain().contains(ty)) {
            assert_eq!((op.neutral(ty), op.absorbing(ty)), (None, None), "{op:?} {ty}");
        }
    }
}

#[test]
fn classes_of_binary_operators() {
    for (op, ty, values) in binary_operators(256) {
        assert_eq!(op.is_float(), ty.is_float(), "{op:?}");
        let partial = pairs(&values).any(|(x, y)| eval::binary(op, x, y).is_none());
        assert_eq!(op.is_division(), partial, "{op:?} {ty}");
        assert_eq!(op.is_checked(), partial || op == BinOp::Pow, "{op:?}");
        let chosen = |cmp, x, y| eval::compare(cmp, x, y).map(|first| if first { [x, y] } else { [y, x] });
        let (BinClass::Min(cmp) | BinClass::Max(cmp)) = op.class() else {
            let chooses = pairs(&values).all(|(x, y)| [Some(x), Some(y)].contains(&eval::binary(op, x, y)));
            assert!(!chooses || ty == PrimType::Bool, "{op:?} {ty}");
            continue;
        };
        // Zeros of two signs are equal, but ordered here.
        let equal = |x, y| x != y && eval::compare(CmpOp::Eq, x, y) == Some(true);
        for (x, y) in pairs(&values).filter(|&(x, y)| !is_nan(x) && !is_nan(y) && !equal(x, y)) {
            let place = usize::from(op.class() == BinClass::Max(cmp));
            let wanted = chosen(cmp, x, y).map(|ordered| ordered[place]);
            assert_eq!(eval::binary(op, x, y), wanted, "{op:?} {x:?} {y:?}");
        }
    }
}

#[test]
fn unary_operators_comparisons_and_conversions() {
    for op in UnOp::ALL {
        for ty in types(|ty| op.domain().contains(ty)) {
            let twice = |x: &Scalar| eval::unary(*op, *x).and_then(|y| eval::unary(*op, y));
            let restores = values(ty, 256).iter().all(|x| same(twice(x), Some(*x)));
            assert_eq!(op.is_involution(), restores, "{op:?} {ty}");
            assert_eq!(op.is_float(), ty.is_float(), "{op:?}");
        }
    }
    for op in CmpOp::ALL {
        for ty in types(|ty| op.domain().contains(ty)) {
            let values = values(ty, 256);
            let holds = |x: &&Scalar| eval::compare(*op, **x, **x) == Some(true);
            let reflexive = values.iter().filter(|x| !is_nan(**x)).all(|x| holds(&x));
            assert_eq!(op.is_reflexive(), reflexive, "{op:?} {ty}");
            let commutes = pairs(&values).all(|(x, y)| eval::compare(*op, x, y) == eval::compare(*op, y, x));
            assert_eq!(op.is_commutative(), commutes, "{op:?} {ty}");
        }
    }
    for op in ConvOp::ALL {
        for from in types(|_| true) {
            for to in types(|to| op.accepts(from, to)) {
                let converted = |x: &Scalar| eval::convert(*op, *x, to);
                let keeps = values(from, 256).iter().all(|x| same(converted(x), Some(*x)));
                assert_eq!(op.is_identity(from, to), keeps, "{op:?} {from} {to}");
                let bits = |x: &Scalar| converted(x).map(Scalar::bits) == Some(x.bits());
                let casts = from != to && from.size() == to.size() && values(from, 256).iter().all(bits);
                assert_eq!(op.is_bit_cast(), casts && from != PrimType::Bool, "{op:?} {from} {to}");
            }
        }
    }
}

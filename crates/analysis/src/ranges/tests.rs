//! Property test: every comparison that the graph decides is true, for random definitions and facts
//! that hold for random numbers.

use super::{Certs, Ranges, node};
use ir::Name;
use ir::syntax::{Atom, BasicOp};
use ir::types::Dim;
use prim::{BinOp, CmpOp, PrimType, Scalar, eval};
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

const OPS: [BinOp; 14] = [
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::SDiv,
    BinOp::UDiv,
    BinOp::SQuot,
    BinOp::SMod,
    BinOp::UMod,
    BinOp::SRem,
    BinOp::SMin,
    BinOp::SMax,
    BinOp::And,
    BinOp::AShr,
    BinOp::LShr,
];
const COMPARISONS: [CmpOp; 5] = [CmpOp::SLt, CmpOp::SLe, CmpOp::Eq, CmpOp::ULt, CmpOp::ULe];

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => -3i64..20,
        2 => 0i64..5000,
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
        1 => Just(1 << 62),
        1 => any::<i64>(),
    ]
}

/// A name or a constant.
#[derive(Clone, Debug)]
enum Operand {
    Name(usize),
    Constant(i64),
}

#[derive(Clone, Debug)]
enum Step {
    Define(usize, Operand, Operand),
    Assume(usize, Operand, Operand),
    Index(usize, usize),
    Shape(usize, usize),
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        4 => (0usize..32).prop_map(Operand::Name),
        1 => number().prop_map(Operand::Constant),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..OPS.len(), operand(), operand()).prop_map(|(op, x, y)| Step::Define(op, x, y)),
        3 => (0..COMPARISONS.len(), operand(), operand())
            .prop_map(|(op, x, y)| Step::Assume(op, x, y)),
        2 => (0usize..32, 0usize..32).prop_map(|(i, n)| Step::Index(i, n)),
        1 => (0usize..32, 0usize..32).prop_map(|(n, m)| Step::Shape(n, m)),
    ]
}

fn name(i: usize) -> Name {
    Name(u32::try_from(i).unwrap_or(0))
}

proptest! {
    #[test]
    fn proved_comparisons_are_true(
        first in proptest::collection::vec(number(), 3..6),
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let mut values = first;
        let mut ranges = Ranges::default();
        let none = Certs::new();
        for step in steps {
            let at = |operand: &Operand| match operand {
                Operand::Name(i) => {
                    let i = i % values.len();
                    (Atom::Var(name(i)), values[i])
                }
                Operand::Constant(value) => (Atom::i64(*value), *value),
            };
            match step {
                Step::Define(op, x, y) => {
                    let ((x, a), (y, b)) = (at(&x), at(&y));
                    let value = eval::binary(OPS[op], Scalar::I64(a), Scalar::I64(b));
                    if let Some(Scalar::I64(value)) = value {
                        let new = name(values.len());
                        let op = BasicOp::binary(OPS[op], PrimType::I64, x, y);
                        ranges.define(new, PrimType::I64, &op, &none);
                        values.push(value);
                    }
                }
                Step::Assume(op, x, y) => {
                    let ((x, a), (y, b)) = (at(&x), at(&y));
                    let truth = eval::compare(COMPARISONS[op], Scalar::I64(a), Scalar::I64(b));
                    if let Some(Scalar::Bool(truth)) = truth.map(Scalar::Bool) {
                        ranges.assume(COMPARISONS[op], x, y, truth, &none);
                    }
                }
                Step::Index(i, n) => {
                    let (i, n) = (i % values.len(), n % values.len());
                    if 0 <= values[i] && values[i] < values[n] {
                        ranges.index(name(i), Atom::Var(name(n)));
                    }
                }
                Step::Shape(n, m) => {
                    let (n, m) = (n % values.len(), m % values.len());
                    let elements = values[n].checked_mul(values[m]);
                    let small = elements.is_some_and(|elements| elements < 1 << 60);
                    if small && values[n] >= 0 && values[m] >= 0 {
                        let shape = [Dim::Var(name(n)), Dim::Var(name(m))];
                        ranges.shape(&shape, &none);
                        ranges.stored(&shape);
                    }
                }
            }
        }
        for i in 0..values.len() {
            for j in 0..values.len() {
                for op in COMPARISONS {
                    let (x, y) = (Atom::Var(name(i)), Atom::Var(name(j)));
                    if let Some((proved, _)) = ranges.compare(op, x, y) {
                        let truth = eval::compare(op, Scalar::I64(values[i]), Scalar::I64(values[j]));
                        prop_assert_eq!(Some(proved), truth, "{:?} {:?} {:?}", op, i, j);
                    }
                }
            }
        }
    }
}

/// Table entries are removed with their scope.
#[test]
fn facts_end_with_their_scope() {
    let (n, m, size) = (name(0), name(1), name(2));
    let product = BasicOp::binary(BinOp::Mul, PrimType::I64, Atom::Var(n), Atom::Var(m));
    let mut ranges = Ranges { depth: 1, ..Ranges::default() };
    ranges.shape(&[Dim::Var(n), Dim::Var(m)], &Certs::new());
    ranges.stored(&[Dim::Var(n), Dim::Var(m)]);
    ranges.define(size, PrimType::I64, &product, &Certs::new());
    let natural = |ranges: &Ranges| ranges.at_most(Atom::i64(0), Atom::Var(size), 0);
    assert!(natural(&ranges).is_some());
    let touched = std::mem::take(&mut ranges.touched);
    ranges.forget(&touched, 1);
    assert!(natural(&ranges).is_none());
    assert!(ranges.noted.is_empty() && ranges.products.non_wrapping.is_empty());
    assert!(ranges.products.of_factors.is_empty() && !ranges.below.contains_key(&(node(size) + 1)));
}

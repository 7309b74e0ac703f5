//! Rules for scalar operations: exact ones only, so that all results are bit-identical (float sums
//! keep their order; `x + 0.0` stays).

use super::{Certs, Def, Knowledge, Simplified, add_certs};
use ir::syntax::{Atom, BasicOp};
use prim::{BinClass, BinOp, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarOp, UnOp, eval};

fn atom(atom: Atom) -> Option<Simplified> {
    Some(Simplified::Atom(atom, Certs::new()))
}

fn constant(value: Scalar) -> Option<Simplified> {
    atom(Atom::Const(value))
}

fn truth(value: bool) -> Option<Simplified> {
    constant(Scalar::Bool(value))
}

fn op(op: BasicOp) -> Option<Simplified> {
    Some(Simplified::Op(op, Certs::new()))
}

fn is(atom: Atom, value: i64) -> bool {
    atom.constant().and_then(Scalar::as_i64) == Some(value)
}

fn is_true(atom: Atom) -> bool {
    atom == Atom::Const(Scalar::Bool(true))
}

fn is_false(atom: Atom) -> bool {
    atom == Atom::Const(Scalar::Bool(false))
}

fn is_float(atom: Atom, value: f64) -> bool {
    match atom {
        Atom::Const(Scalar::F16(x)) => x.to_f64().to_bits() == value.to_bits(),
        Atom::Const(Scalar::F32(x)) => f64::from(x).to_bits() == value.to_bits(),
        Atom::Const(Scalar::F64(x)) => x.to_bits() == value.to_bits(),
        Atom::Const(_) | Atom::Var(_) => false,
    }
}

fn int(ty: PrimType, value: i64) -> Atom {
    Atom::Const(Scalar::int(ty, value))
}

/// Returns true if the operands are not in canonical order: constants right, earlier names left.
fn out_of_order(x: Atom, y: Atom) -> bool {
    match (x, y) {
        (Atom::Const(_), Atom::Var(_)) => true,
        (Atom::Var(x), Atom::Var(y)) => y < x,
        _ => false,
    }
}

/// `pow` with an exponent that its definition tests for.
fn fold_math(fun: MathFun, ty: PrimType, args: &[Atom]) -> Option<Simplified> {
    match (fun, fun.has_definition(ty), args) {
        (MathFun::Pow, true, &[x, y]) if is_float(y, 2.0) => op(BasicOp::binary(BinOp::FMul, ty, x, x)),
        (MathFun::Pow, true, &[x, y]) if is_float(y, 1.0) => atom(x),
        _ => None,
    }
}

impl Knowledge<'_> {
    /// Applies the rules to a scalar operation.
    pub(super) fn fold_scalar(&self, scalar: &ScalarOp<Atom>) -> Option<Simplified> {
        if let Ok(known) = scalar.as_ref().try_map(|x| x.constant().ok_or(())) {
            return constant(known.value(|fun, ty, args| self.math.evaluate(fun, ty, args))?);
        }
        match scalar {
            ScalarOp::Unary(op, ty, x) => self.fold_unary(*op, *ty, *x),
            ScalarOp::Binary(op, ty, x, y) => self.fold_binary(*op, *ty, *x, *y),
            ScalarOp::Compare(op, ty, x, y) => self.fold_compare(*op, *ty, *x, *y),
            ScalarOp::Convert { op, from, to, arg } => self.fold_convert(*op, *from, *to, *arg),
            ScalarOp::Select { ty, cond, if_true, if_false } => {
                self.fold_select(*ty, *cond, *if_true, *if_false)
            }
            ScalarOp::Fma(..) => None,
            ScalarOp::Math(fun, ty, args) => fold_math(*fun, *ty, args),
        }
    }

    /// The definition of an operand, if it depends on no certificates: a rule's result built from
    /// its operands would lose them.
    fn unchecked_def(&self, x: Atom) -> Option<&Def> {
        let def = self.def_of(x)?;
        def.certs.is_empty().then_some(&**def)
    }

    fn unary_def(&self, wanted: UnOp, x: Atom) -> Option<Atom> {
        if let BasicOp::Scalar(ScalarOp::Unary(op, _, arg)) = &self.unchecked_def(x)?.op
            && *op == wanted
        {
            Some(*arg)
        } else {
            None
        }
    }

    fn binary_def(&self, wanted: BinOp, x: Atom) -> Option<(Atom, Atom)> {
        if let BasicOp::Scalar(ScalarOp::Binary(op, _, a, b)) = &self.unchecked_def(x)?.op
            && *op == wanted
        {
            Some((*a, *b))
        } else {
            None
        }
    }

    fn fold_unary(&self, un: UnOp, ty: PrimType, x: Atom) -> Option<Simplified> {
        if un.is_involution()
            && let Some(x) = self.unary_def(un, x)
        {
            return atom(x);
        }
        if un == UnOp::Abs {
            let (not_negative, certs) = self.ranges.compare(CmpOp::SLe, int(ty, 0), x)?;
            return not_negative.then_some(Simplified::Atom(x, certs));
        }
        if un != UnOp::Not {
            return None;
        }
        let BasicOp::Scalar(ScalarOp::Compare(cmp, ty, a, b)) = &self.unchecked_def(x)?.op else {
            return None;
        };
        let converse = match cmp {
            CmpOp::SLt => CmpOp::SLe,
            CmpOp::SLe => CmpOp::SLt,
            CmpOp::ULt => CmpOp::ULe,
            CmpOp::ULe => CmpOp::ULt,
            // With NaNs, not less is not the same as greater or equal.
            CmpOp::Eq | CmpOp::FLt | CmpOp::FLe | CmpOp::BLt | CmpOp::BLe => return None,
        };
        op(BasicOp::compare(converse, *ty, *b, *a))
    }

    fn fold_binary(&self, bin: BinOp, ty: PrimType, x: Atom, y: Atom) -> Option<Simplified> {
        if bin.is_commutative() && !ty.is_float() && out_of_order(x, y) {
            return op(BasicOp::binary(bin, ty, y, x));
        }
        if bin.is_idempotent() && x == y {
            return atom(x);
        }
        // The ranges of the operands show which one a minimum or maximum is.
        let ordered = matches!(bin.class(), BinClass::Min(_) | BinClass::Max(_));
        let neutral = bin.neutral(ty).map(Atom::Const).filter(|_| !ordered);
        if neutral == Some(y) {
            return atom(x);
        }
        if neutral == Some(x) && bin.is_commutative() {
            return atom(y);
        }
        if ty.is_float() {
            return None;
        }
        if !ordered && bin.absorbing(ty).map(Atom::Const) == Some(y) {
            return atom(y);
        }
        match bin.class() {
            BinClass::Sum if bin == BinOp::Add => self.fold_add(ty, x, y),
            BinClass::Sum => self.fold_sub(ty, x, y),
            BinClass::Product => {
                let c = y.constant()?;
                let (a, b) = self.binary_def(bin, x)?;
                let product = eval::binary(bin, b.constant()?, c)?;
                op(BasicOp::binary(bin, ty, a, Atom::Const(product)))
            }
            BinClass::Quotient if bin != BinOp::UDiv => {
                let certs = self.both_natural(ty, x, y)?;
                Some(Simplified::Op(BasicOp::binary(BinOp::UDiv, ty, x, y), certs))
            }
            BinClass::Remainder => {
                if is(y, 1) {
                    return atom(int(ty, 0));
                }
                if let Some((true, mut certs)) = self.ranges.compare(CmpOp::SLt, x, y)
                    && let Some((true, more)) = self.ranges.compare(CmpOp::SLe, int(ty, 0), x)
                {
                    add_certs(&mut certs, &more);
                    return Some(Simplified::Atom(x, certs));
                }
                if bin == BinOp::UMod {
                    return None;
                }
                let certs = self.both_natural(ty, x, y)?;
                Some(Simplified::Op(BasicOp::binary(BinOp::UMod, ty, x, y), certs))
            }
            BinClass::Min(CmpOp::SLe) | BinClass::Max(CmpOp::SLe) => {
                let (less, greater) = if bin == BinOp::SMin { (x, y) } else { (y, x) };
                if let Some((true, certs)) = self.ranges.compare(CmpOp::SLe, x, y) {
                    return Some(Simplified::Atom(less, certs));
                }
                let (true, certs) = self.ranges.compare(CmpOp::SLe, y, x)? else {
                    return None;
                };
                Some(Simplified::Atom(greater, certs))
            }
            BinClass::Bitwise if bin == BinOp::Xor && x == y => constant(Scalar::zero(ty)),
            BinClass::Bitwise if bin == BinOp::Xor && is_true(y) => op(BasicOp::unary(UnOp::Not, ty, x)),
            BinClass::Power if is(y, 2) => op(BasicOp::binary(BinOp::Mul, ty, x, x)),
            BinClass::Power if is(y, 0) => atom(int(ty, 1)),
            BinClass::Quotient
            | BinClass::Min(_)
            | BinClass::Max(_)
            | BinClass::Bitwise
            | BinClass::Power
            | BinClass::Shift => None,
        }
    }

    /// The certificates proving that neither operand is negative.
    fn both_natural(&self, ty: PrimType, x: Atom, y: Atom) -> Option<Certs> {
        let (true, mut certs) = self.ranges.compare(CmpOp::SLe, int(ty, 0), x)? else {
            return None;
        };
        let (true, more) = self.ranges.compare(CmpOp::SLe, int(ty, 0), y)? else {
            return None;
        };
        add_certs(&mut certs, &more);
        Some(certs)
    }

    fn fold_add(&self, ty: PrimType, x: Atom, y: Atom) -> Option<Simplified> {
        if let Atom::Const(c) = y {
            // (a + b) + c
            let (a, b) = self.binary_def(BinOp::Add, x)?;
            let sum = eval::binary(BinOp::Add, b.constant()?, c)?;
            return op(BasicOp::binary(BinOp::Add, ty, a, Atom::Const(sum)));
        }
        // (a - y) + y
        for (x, y) in [(x, y), (y, x)] {
            if let Some((a, b)) = self.binary_def(BinOp::Sub, x)
                && b == y
            {
                return atom(a);
            }
        }
        None
    }

    fn fold_sub(&self, ty: PrimType, x: Atom, y: Atom) -> Option<Simplified> {
        if x == y {
            return atom(int(ty, 0));
        }
        if let Atom::Const(c) = y {
            let minus = eval::unary(UnOp::Neg, c)?;
            return op(BasicOp::binary(BinOp::Add, ty, x, Atom::Const(minus)));
        }
        // (a + b) - a, (a + b) - b
        if let Some((a, b)) = self.binary_def(BinOp::Add, x) {
            if a == y {
                return atom(b);
            }
            if b == y {
                return atom(a);
            }
        }
        // a - (a - b), a - (a + b)
        if let Some((a, b)) = self.binary_def(BinOp::Sub, y)
            && a == x
        {
            return atom(b);
        }
        if let Some((a, b)) = self.binary_def(BinOp::Add, y) {
            if a == x {
                return op(BasicOp::unary(UnOp::Neg, ty, b));
            }
            if b == x {
                return op(BasicOp::unary(UnOp::Neg, ty, a));
            }
        }
        None
    }

    fn fold_compare(&self, cmp: CmpOp, ty: PrimType, x: Atom, y: Atom) -> Option<Simplified> {
        if ty.is_float() {
            return None;
        }
        if x == y {
            return truth(cmp.is_reflexive());
        }
        if cmp.is_commutative() && out_of_order(x, y) {
            return op(BasicOp::compare(cmp, ty, y, x));
        }
        if ty == PrimType::Bool {
            return if cmp == CmpOp::Eq && is_true(y) {
                atom(x)
            } else if cmp == CmpOp::Eq && is_false(y) {
                op(BasicOp::unary(UnOp::Not, ty, x))
            } else {
                None
            };
        }
        if let Some((value, certs)) = self.ranges.compare(cmp, x, y) {
            return Some(Simplified::Atom(Atom::Const(Scalar::Bool(value)), certs));
        }
        if cmp == CmpOp::Eq
            && let Atom::Const(c) = y
            && let Some((a, Atom::Const(b))) = self.binary_def(BinOp::Add, x)
        {
            let rest = eval::binary(BinOp::Sub, c, b)?;
            return op(BasicOp::compare(cmp, ty, a, Atom::Const(rest)));
        }
        None
    }

    fn fold_convert(&self, conv: ConvOp, from: PrimType, to: PrimType, x: Atom) -> Option<Simplified> {
        if conv.is_identity(from, to) {
            return atom(x);
        }
        let BasicOp::Scalar(ScalarOp::Convert { op: inner, from: first, to: _, arg }) =
            self.unchecked_def(x)?.op
        else {
            return None;
        };
        let convert = |op: ConvOp, arg: Atom| {
            let basic = BasicOp::convert(op, first, to, arg);
            Some(Simplified::Op(basic, Certs::new()))
        };
        match (conv, inner) {
            (ConvOp::ToBits, ConvOp::FromBits) | (ConvOp::FromBits, ConvOp::ToBits) => atom(arg),
            (ConvOp::IToB, ConvOp::BToI) => atom(arg),
            (ConvOp::FToB, ConvOp::BToF) => atom(arg),
            (ConvOp::SExt | ConvOp::ZExt, ConvOp::BToI) => convert(ConvOp::BToI, arg),
            (ConvOp::SToF, ConvOp::SExt) if from.bits() >= first.bits() => convert(ConvOp::SToF, arg),
            (ConvOp::UToF, ConvOp::ZExt) if from.bits() >= first.bits() => convert(ConvOp::UToF, arg),
            (ConvOp::SExt | ConvOp::ZExt, ConvOp::SExt | ConvOp::ZExt) => {
                // `first` to `from` to `to`.
                let widened = from.bits() > first.bits();
                if to.bits() <= from.bits() {
                    // The low bits are those of the first value, extended the first way.
                    convert(inner, arg)
                } else if widened && (conv == inner || inner == ConvOp::ZExt) {
                    convert(inner, arg)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    fn fold_select(&self, ty: PrimType, cond: Atom, yes: Atom, no: Atom) -> Option<Simplified> {
        if let Atom::Const(c) = cond {
            return atom(if c.as_bool()? { yes } else { no });
        }
        if yes == no {
            return atom(yes);
        }
        if let Some(other) = self.unary_def(UnOp::Not, cond) {
            return op(BasicOp::select(ty, other, no, yes));
        }
        if ty == PrimType::Bool {
            if is_true(yes) && is_false(no) {
                return atom(cond);
            }
            if is_false(yes) && is_true(no) {
                return op(BasicOp::unary(UnOp::Not, ty, cond));
            }
            if is_true(yes) || yes == cond {
                return op(BasicOp::binary(BinOp::Or, ty, cond, no));
            }
            if is_false(no) || no == cond {
                return op(BasicOp::binary(BinOp::And, ty, cond, yes));
            }
        }
        self.fold_extremum(ty, cond, yes, no)
    }

    /// `select (x < y) y x` is the greater of two integers, `select (x < y) x y` the lesser: one
    /// operator, which later stages know to be exact.
    fn fold_extremum(&self, ty: PrimType, cond: Atom, yes: Atom, no: Atom) -> Option<Simplified> {
        let BasicOp::Scalar(ScalarOp::Compare(cmp, _, x, y)) = self.unchecked_def(cond)?.op else {
            return None;
        };
        let (least, greatest) = match cmp {
            CmpOp::SLt | CmpOp::SLe => (BinOp::SMin, BinOp::SMax),
            CmpOp::ULt | CmpOp::ULe => (BinOp::UMin, BinOp::UMax),
            CmpOp::Eq | CmpOp::FLt | CmpOp::FLe | CmpOp::BLt | CmpOp::BLe => return None,
        };
        if (yes, no) == (y, x) {
            op(BasicOp::binary(greatest, ty, x, y))
        } else if (yes, no) == (x, y) {
            op(BasicOp::binary(least, ty, x, y))
        } else {
            None
        }
    }
}

//! Expressions.
//!
//! Integer variables are signed. Wrapping arithmetic is computed unsigned, in a type that C does
//! not promote, and converted back once for a whole chain of operators; element positions do not
//! overflow, so they are plain sums and products. Operators that C lacks, or does not define for
//! all operands, are functions of the prelude (`br_NAME_TYPE`).

use crate::dialect::{self, Dialect};
use crate::error::{Error, Res};
use crate::literal;
use imp::{Access, Expr, Space, Var, VarInfo, VarType};
use prim::{BinOp, CmpClass, CmpOp, ConvOp, MathFun, PrimType, Scalar, ScalarOp, UnOp};

/// The text of an expression, and its precedence.
pub struct Text {
    text: String,
    /// True if it can be an operand without parentheses.
    tight: bool,
}

impl Text {
    fn tight(text: impl Into<String>) -> Self {
        Self { text: text.into(), tight: true }
    }

    fn loose(text: String) -> Self {
        Self { text, tight: false }
    }

    /// The text for a context without neighbouring operators.
    pub fn unparenthesised(self) -> String {
        self.text
    }

    /// The text as an operand, in parentheses if necessary.
    pub fn operand(self) -> String {
        if self.tight { self.text } else { format!("({})", self.text) }
    }

    /// A cast to a type.
    fn cast(self, ty: &str) -> Self {
        Self::tight(format!("({ty}){}", self.operand()))
    }
}

/// Prints the expressions of a function.
pub struct Expressions<'a> {
    pub dialect: &'a Dialect,
    pub vars: &'a [VarInfo],
    pub names: &'a [String],
}

fn no_operator(name: &str, ty: PrimType) -> Error {
    Error::bug(format_args!("{name} is not defined for {ty}"))
}

impl<'a> Expressions<'a> {
    pub fn name(&self, var: Var) -> &'a str {
        &self.names[var.index()]
    }

    /// The type of a variable.
    pub fn var_type(&self, var: Var) -> VarType {
        self.vars[var.index()].ty
    }

    /// The C type of a variable.
    pub fn spelled(&self, var: Var) -> Res<String> {
        self.dialect.spelled(self.var_type(var))
    }

    /// The type of a scalar expression.
    pub fn type_of(&self, e: &Expr) -> Res<PrimType> {
        imp::walk::type_of(self.vars, e).ok_or_else(|| Error::bug("an operand is not a scalar"))
    }

    /// An expression for a context without neighbouring operators.
    pub fn whole(&self, e: &Expr) -> Res<String> {
        Ok(self.value(e)?.unparenthesised())
    }

    /// An expression as an operand.
    pub fn operand(&self, e: &Expr) -> Res<String> {
        Ok(self.value(e)?.operand())
    }

    /// The element of an access, as an lvalue.
    pub fn element(&self, access: &Access) -> Res<String> {
        let position = self.position(&access.offset, &access.dims)?;
        Ok(format!("{}[{position}]", self.elements(access.buffer, access.elem)?))
    }

    /// A buffer as a pointer to elements.
    pub fn elements(&self, buffer: Var, elem: PrimType) -> Res<String> {
        let (space, name) = (self.space(buffer), self.name(buffer));
        Ok(format!("(({space}{elem}_m *){name})"))
    }

    /// The space qualifier of a buffer's pointer type.
    pub fn space(&self, buffer: Var) -> &'static str {
        let space = self.var_type(buffer).space();
        space.map_or("", |space| self.dialect.space(space))
    }

    /// Returns true if a buffer lies in the shared memory of a block.
    pub fn is_shared(&self, buffer: Var) -> bool {
        self.var_type(buffer).space() == Some(Space::Shared)
    }

    /// `offset + sum(index * stride)`.
    pub fn position(&self, offset: &Expr, dims: &[(Expr, Expr)]) -> Res<String> {
        let is = |e: &Expr, n: i64| *e == Expr::i64(n);
        let mut terms = Vec::new();
        if !is(offset, 0) {
            terms.push(self.operand(offset)?);
        }
        for (index, stride) in dims {
            if is(index, 0) || is(stride, 0) {
                continue;
            }
            let index_text = self.operand(index)?;
            terms.push(match (index, stride) {
                (_, stride) if is(stride, 1) => index_text,
                (Expr::Const(_), Expr::Const(Scalar::I64(by))) => {
                    format!("{index_text} * {}", literal::wide(*by, self.dialect))
                }
                _ => format!("{index_text} * {}", self.operand(stride)?),
            });
        }
        Ok(if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") })
    }

    /// A scalar's word in a message: its bits.
    pub fn word(&self, e: &Expr) -> Res<String> {
        Ok(match self.type_of(e)? {
            PrimType::F32 => format!("br_bits_f32({})", self.whole(e)?),
            PrimType::F64 => format!("br_bits_f64({})", self.whole(e)?),
            PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 | PrimType::F16 | PrimType::Bool => {
                format!("(u64){}", self.operand(e)?)
            }
        })
    }

    fn value(&self, e: &Expr) -> Res<Text> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.value_here(e))
    }

    fn value_here(&self, e: &Expr) -> Res<Text> {
        match e {
            Expr::Const(x) => Ok(Text::tight(literal::scalar(*x, self.dialect))),
            Expr::Var(v) => Ok(Text::tight(self.name(*v))),
            Expr::Tunable(id) => Ok(Text::tight(format!("ctx->tunables[{}]", id.0))),
            Expr::LogsComparisons => Ok(Text::tight("ctx->logging")),
            Expr::Scalar(ScalarOp::Unary(op, ty, x)) => self.unary(*op, *ty, x),
            Expr::Scalar(ScalarOp::Binary(op, ty, x, y)) => self.binary(e, *op, *ty, (x, y)),
            Expr::Scalar(ScalarOp::Compare(op, ty, x, y)) => self.compare(*op, *ty, x, y),
            Expr::Scalar(ScalarOp::Convert { op, from, to, arg: x }) => self.convert(*op, *from, *to, x),
            Expr::Scalar(ScalarOp::Select { ty: _, cond: c, if_true: x, if_false: y }) => {
                Ok(Text::loose(format!("{} ? {} : {}", self.operand(c)?, self.operand(x)?, self.operand(y)?)))
            }
            Expr::Scalar(ScalarOp::Fma(ty, x, y, z)) => self.call(&format!("br_fma_{ty}"), &[x, y, z]),
            Expr::Scalar(ScalarOp::Math(fun, ty, args)) => self.math(*fun, *ty, args),
            imp::vector_expr!() => Err(Error::bug("the back end does not support vectors")),
        }
    }

    fn call(&self, name: &str, args: &[&Expr]) -> Res<Text> {
        let args: Res<Vec<String>> = args.iter().map(|arg| self.whole(arg)).collect();
        Ok(Text::tight(format!("{name}({})", args?.join(", "))))
    }

    /// A C operator between two operands.
    fn infix(&self, x: &Expr, op: &str, y: &Expr) -> Res<Text> {
        let (x, y) = (self.operand(x)?, self.operand(y)?);
        Ok(Text::loose(format!("{x} {op} {y}")))
    }

    /// The bits of an integer in the type of arithmetic; bits beyond the integer's own width are
    /// unspecified.
    fn bits(&self, e: &Expr, ty: PrimType) -> Res<Text> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.bits_here(e, ty))
    }

    fn bits_here(&self, e: &Expr, ty: PrimType) -> Res<Text> {
        let is_wide = ty == PrimType::I64;
        if let Expr::Const(x) = e {
            let n = x.as_i64().ok_or_else(|| Error::bug("a constant is not an integer"))?;
            return Ok(Text::tight(literal::bits(n, is_wide, self.dialect)));
        }
        if let Expr::Scalar(ScalarOp::Unary(UnOp::Neg, _, x)) = e {
            return Ok(Text::loose(format!("-{}", self.bits(x, ty)?.operand())));
        }
        if let Expr::Scalar(ScalarOp::Binary(BinOp::Shl, _, x, y)) = e
            && let Some(amount) = amount(y, ty)
        {
            let x = self.bits(x, ty)?.operand();
            return Ok(Text::loose(format!("{x} << {amount}")));
        }
        let Some((sign, x, y)) = sum(e) else {
            return Ok(self.value(e)?.cast(dialect::arithmetic(ty)));
        };
        let x = self.bits(x, ty)?.operand();
        // Adding a negative constant is printed as a subtraction.
        if let ("+", Expr::Const(y)) = (sign, y)
            && let Some(less) = y.as_i64().filter(|n| *n < 0 && *n > i64::MIN)
        {
            let less = literal::bits(-less, is_wide, self.dialect);
            return Ok(Text::loose(format!("{x} - {less}")));
        }
        let y = self.bits(y, ty)?.operand();
        Ok(Text::loose(format!("{x} {sign} {y}")))
    }

    /// An integer cast to the unsigned type of its own width.
    fn unsigned(&self, e: &Expr, ty: PrimType) -> Res<String> {
        Ok(self.value(e)?.cast(dialect::unsigned(ty)).operand())
    }

    fn unary(&self, op: UnOp, ty: PrimType, x: &Expr) -> Res<Text> {
        if !op.domain().contains(ty) {
            return Err(no_operator(op.name(), ty));
        }
        if ty == PrimType::F16 {
            let bits = self.operand(x)?;
            return Ok(match op {
                UnOp::FNeg => Text::loose(format!("{bits} ^ 0x8000")),
                UnOp::FAbs => Text::loose(format!("{bits} & 0x7fff")),
                prim::int_unary!() | prim::bits_unary!() | prim::float_unary!() => {
                    Text::tight(format!("br_half(br_{}_f32({}))", op.name(), self.half_to_single(x)?))
                }
            });
        }
        match op {
            UnOp::Not if ty == PrimType::Bool => Ok(Text::tight(format!("!{}", self.operand(x)?))),
            UnOp::Not => Ok(Text::tight(format!("~{}", self.operand(x)?))),
            UnOp::Neg => {
                let bits = Text::loose(format!("-{}", self.bits(x, ty)?.operand()));
                Ok(bits.cast(dialect::scalar(ty)))
            }
            UnOp::FExp2Eighths => self.call("br_exp2_eighths", &[x]),
            prim::int_unary!() | prim::float_unary!() => self.call(&format!("br_{}_{ty}", op.name()), &[x]),
        }
    }

    fn binary(&self, e: &Expr, op: BinOp, ty: PrimType, (x, y): (&Expr, &Expr)) -> Res<Text> {
        if !op.domain().contains(ty) {
            return Err(no_operator(op.name(), ty));
        }
        let spelled = match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul => {
                return Ok(self.bits(e, ty)?.cast(dialect::scalar(ty)));
            }
            BinOp::Shl if amount(y, ty).is_some() => {
                return Ok(self.bits(e, ty)?.cast(dialect::scalar(ty)));
            }
            BinOp::LShr if amount(y, ty).is_some() => {
                let (x, y) = (self.unsigned(x, ty)?, amount(y, ty).unwrap_or(0));
                return Ok(Text::loose(format!("{x} >> {y}")).cast(dialect::scalar(ty)));
            }
            BinOp::And => "&",
            BinOp::Or => "|",
            BinOp::Xor => "^",
            BinOp::FAdd => "+",
            BinOp::FSub => "-",
            BinOp::FMul => "*",
            BinOp::FDiv => "/",
            prim::int_binary!() | prim::float_binary!() => "",
        };
        if ty == PrimType::F16 {
            let (x, y) = (self.half_to_single(x)?, self.half_to_single(y)?);
            return Ok(Text::tight(match spelled {
                "" => format!("br_half(br_{}_f32({x}, {y}))", op.name()),
                _ => format!("br_half({x} {spelled} {y})"),
            }));
        }
        match (spelled, self.dialect.float_division) {
            ("", _) => self.call(&format!("br_{}_{ty}", op.name()), &[x, y]),
            ("/", Some(quotient)) => self.call(&format!("{quotient}_{ty}"), &[x, y]),
            _ => self.infix(x, spelled, y),
        }
    }

    /// A half as a single.
    fn half_to_single(&self, e: &Expr) -> Res<String> {
        Ok(format!("br_wide({})", self.whole(e)?))
    }

    fn compare(&self, op: CmpOp, ty: PrimType, x: &Expr, y: &Expr) -> Res<Text> {
        if !op.domain().contains(ty) {
            return Err(no_operator(op.name(), ty));
        }
        let sign = match op.class() {
            CmpClass::Equal => "==",
            CmpClass::Less => "<",
            CmpClass::LessEqual => "<=",
        };
        if ty == PrimType::F16 {
            let (x, y) = (self.half_to_single(x)?, self.half_to_single(y)?);
            return Ok(Text::loose(format!("{x} {sign} {y}")));
        }
        if matches!(op, CmpOp::ULt | CmpOp::ULe) {
            let (x, y) = (self.unsigned(x, ty)?, self.unsigned(y, ty)?);
            return Ok(Text::loose(format!("{x} {sign} {y}")));
        }
        self.infix(x, sign, y)
    }

    fn convert(&self, op: ConvOp, from: PrimType, to: PrimType, x: &Expr) -> Res<Text> {
        if !op.accepts(from, to) {
            return Err(no_operator(op.name(), from));
        }
        let half = to == PrimType::F16;
        let number = if half { "f32" } else { dialect::scalar(to) };
        let narrowed = |text: Text| {
            if half { Text::tight(format!("br_half({})", text.unparenthesised())) } else { text }
        };
        match op {
            ConvOp::SExt | ConvOp::BToI => Ok(self.value(x)?.cast(dialect::scalar(to))),
            ConvOp::ZExt => {
                let bits = self.value(x)?.cast(dialect::unsigned(from));
                Ok(bits.cast(dialect::scalar(to)))
            }
            ConvOp::SToF | ConvOp::BToF => Ok(narrowed(self.value(x)?.cast(number))),
            ConvOp::UToF => {
                let bits = self.value(x)?.cast(dialect::unsigned(from));
                Ok(narrowed(bits.cast(number)))
            }
            ConvOp::FToS | ConvOp::FToU => {
                let x = if from == PrimType::F16 { self.half_to_single(x)? } else { self.whole(x)? };
                Ok(Text::tight(format!("br_{}_{to}({x})", op.name())))
            }
            ConvOp::FConv => match (from, to) {
                _ if from == to => self.value(x),
                (PrimType::F64, PrimType::F16) => self.call("br_half_of_f64", &[x]),
                (_, PrimType::F16) => self.call("br_half", &[x]),
                (PrimType::F16, PrimType::F32) => Ok(Text::tight(self.half_to_single(x)?)),
                (PrimType::F16, _) => Ok(Text::tight(format!("(f64){}", self.half_to_single(x)?))),
                _ => Ok(self.value(x)?.cast(number)),
            },
            ConvOp::IToB => Ok(Text::loose(format!("{} != 0", self.operand(x)?))),
            ConvOp::FToB if from == PrimType::F16 => {
                Ok(Text::loose(format!("{} != 0", self.half_to_single(x)?)))
            }
            ConvOp::FToB => Ok(Text::loose(format!("{} != 0", self.operand(x)?))),
            ConvOp::ToBits if from == PrimType::F16 => Ok(self.value(x)?.cast("i16")),
            ConvOp::FromBits if half => Ok(self.value(x)?.cast("f16")),
            ConvOp::ToBits => {
                let bits = self.call(&format!("br_bits_{from}"), &[x])?;
                Ok(bits.cast(dialect::scalar(to)))
            }
            ConvOp::FromBits => {
                let bits = self.value(x)?.cast(dialect::unsigned(from)).unparenthesised();
                Ok(Text::tight(format!("br_{to}_from({bits})")))
            }
        }
    }

    /// Calls a library function whose results are the same in every C library.
    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "the other functions are not exact: the results of C's library may differ"
    )]
    fn math(&self, fun: MathFun, ty: PrimType, args: &[Box<Expr>]) -> Res<Text> {
        let args: Vec<&Expr> = args.iter().map(|arg| &**arg).collect();
        let suffix = if ty == PrimType::F32 { "f" } else { "" };
        match fun {
            MathFun::Copysign if ty != PrimType::F16 => self.call(&format!("copysign{suffix}"), &args),
            MathFun::Nextafter if ty != PrimType::F16 => self.call(&format!("nextafter{suffix}"), &args),
            _ => Err(Error::Unsupported(format!("the library function `{}` on {ty} in C", fun.name()))),
        }
    }
}

/// The operator and the operands of a sum, difference or product.
#[allow(clippy::wildcard_enum_match_arm, reason = "true for three operators, false for all others")]
fn sum(e: &Expr) -> Option<(&'static str, &Expr, &Expr)> {
    match e {
        Expr::Scalar(ScalarOp::Binary(BinOp::Add, _, x, y)) => Some(("+", x, y)),
        Expr::Scalar(ScalarOp::Binary(BinOp::Sub, _, x, y)) => Some(("-", x, y)),
        Expr::Scalar(ScalarOp::Binary(BinOp::Mul, _, x, y)) => Some(("*", x, y)),
        _ => None,
    }
}

/// The amount of a shift, if it is constant and less than the width.
fn amount(e: &Expr, ty: PrimType) -> Option<u32> {
    let Expr::Const(x) = e else {
        return None;
    };
    let n = u32::try_from(x.as_i64()?).ok()?;
    (n < ty.bits()).then_some(n)
}

//! Instructions on scalars or, lane by lane, on vectors, of which the operators are built. Operands
//! are all scalars or all vectors of the same number of lanes.

use super::Ops;
use crate::emit::call_value;
use crate::error::{Error, Res};
use crate::types::{Value, int};
use inkwell::basic_block::BasicBlock;
use inkwell::types::{BasicType, BasicTypeEnum, FloatType, IntType, VectorType};
use inkwell::{FloatPredicate, IntPredicate};

/// The number of lanes of a vector; `None` for scalars.
pub fn lanes_of(x: Value<'_>) -> Option<u32> {
    if let Value::VectorValue(x) = x { Some(x.get_type().get_size()) } else { None }
}

/// A constant with the shape of a value: a scalar, or the same in all lanes.
fn broadcast_constant<'c>(x: Value<'c>, constant: Value<'c>) -> Value<'c> {
    match lanes_of(x) {
        Some(lanes) => VectorType::const_vector(&vec![constant; lanes as usize]).into(),
        None => constant,
    }
}

/// The integer type of a value or of its lanes.
fn int_type(x: Value<'_>) -> Res<IntType<'_>> {
    if let BasicTypeEnum::IntType(ty) = elem_type(x) { Ok(ty) } else { Err(unfit("an integer")) }
}

/// The float type of a value or of its lanes.
fn float_type(x: Value<'_>) -> Res<FloatType<'_>> {
    if let BasicTypeEnum::FloatType(ty) = elem_type(x) { Ok(ty) } else { Err(unfit("a float")) }
}

/// The type of a value or of its lanes.
fn elem_type(x: Value<'_>) -> BasicTypeEnum<'_> {
    if let Value::VectorValue(x) = x { x.get_type().get_element_type() } else { x.get_type() }
}

/// An integer constant in the type of a value.
pub fn int_like(x: Value<'_>, constant: u64) -> Res<Value<'_>> {
    Ok(broadcast_constant(x, int_type(x)?.const_int(constant, false).into()))
}

/// The constant in the type of a value whose bits are all set.
pub fn ones_like(x: Value<'_>) -> Res<Value<'_>> {
    Ok(broadcast_constant(x, int_type(x)?.const_all_ones().into()))
}

/// A float constant in the type of a value.
pub fn float_like(x: Value<'_>, constant: f64) -> Res<Value<'_>> {
    Ok(broadcast_constant(x, float_type(x)?.const_float(constant).into()))
}

/// The width of an integer, or of the integer in each lane.
pub fn width(x: Value<'_>) -> Res<u32> {
    Ok(int_type(x)?.get_bit_width())
}

/// An integer type with the shape of a value.
fn shaped_int<'c>(x: Value<'c>, elem: IntType<'c>) -> BasicTypeEnum<'c> {
    lanes_of(x).map_or_else(|| elem.into(), |lanes| elem.vec_type(lanes).into())
}

/// A type with the shape of a value.
#[allow(clippy::wildcard_enum_match_arm, reason = "the enum is from LLVM and has many variants")]
fn with_shape_of<'c>(x: Value<'c>, elem: BasicTypeEnum<'c>) -> Res<BasicTypeEnum<'c>> {
    match elem {
        BasicTypeEnum::IntType(elem) => Ok(shaped_int(x, elem)),
        BasicTypeEnum::FloatType(elem) => {
            Ok(lanes_of(x).map_or_else(|| elem.into(), |lanes| elem.vec_type(lanes).into()))
        }
        _ => Err(unfit("a scalar")),
    }
}

fn unfit(wanted: &str) -> Error {
    Error::bug(format_args!("an operand is not {wanted}"))
}

/// Defines methods for instructions on integers, floats, or vectors of them.
macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident = $kind:ident $build:ident($($arg:ident),+ $(; $flag:literal)?);)*) => {
        impl<'c> Ops<'_, '_, 'c> {
            $(
                $(#[$doc])*
                pub(super) fn $name(&self, $($arg: Value<'c>),+) -> Res<Value<'c>> {
                    Ok(match ($($arg,)+) {
                        ($(Value::$kind($arg),)+) => {
                            self.builder.$build($($arg),+, $($flag,)? "")?.into()
                        }
                        ($(Value::VectorValue($arg),)+) => {
                            self.builder.$build($($arg),+, $($flag,)? "")?.into()
                        }
                        _ => return Err(unfit(stringify!($kind))),
                    })
                }
            )*
        }
    };
}

instructions! {
    add = IntValue build_int_add(x, y);
    sub = IntValue build_int_sub(x, y);
    mul = IntValue build_int_mul(x, y);
    signed_div = IntValue build_int_signed_div(x, y);
    signed_rem = IntValue build_int_signed_rem(x, y);
    unsigned_div = IntValue build_int_unsigned_div(x, y);
    unsigned_rem = IntValue build_int_unsigned_rem(x, y);
    and = IntValue build_and(x, y);
    or = IntValue build_or(x, y);
    xor = IntValue build_xor(x, y);
    not = IntValue build_not(x);
    neg = IntValue build_int_neg(x);
    left_shift = IntValue build_left_shift(x, y);
    right_shift = IntValue build_right_shift(x, y; false);
    signed_right_shift = IntValue build_right_shift(x, y; true);
    float_add = FloatValue build_float_add(x, y);
    float_sub = FloatValue build_float_sub(x, y);
    float_mul = FloatValue build_float_mul(x, y);
    float_div = FloatValue build_float_div(x, y);
    float_rem = FloatValue build_float_rem(x, y);
    float_neg = FloatValue build_float_neg(x);
}

impl<'c> Ops<'_, '_, 'c> {
    /// `yes` if the condition holds, else `no`, per lane for vectors.
    #[allow(clippy::wildcard_enum_match_arm, reason = "the enum is from LLVM and has many variants")]
    pub fn select(&self, c: Value<'c>, yes: Value<'c>, no: Value<'c>) -> Res<Value<'c>> {
        Ok(match c {
            Value::IntValue(c) => self.builder.build_select(c, yes, no, "")?,
            Value::VectorValue(c) => self.builder.build_select(c, yes, no, "")?,
            _ => return Err(unfit("a condition")),
        })
    }

    pub(super) fn int_compare(&self, predicate: IntPredicate, x: Value<'c>, y: Value<'c>) -> Res<Value<'c>> {
        let b = self.builder;
        Ok(match (x, y) {
            (Value::IntValue(x), Value::IntValue(y)) => b.build_int_compare(predicate, x, y, "")?.into(),
            (Value::VectorValue(x), Value::VectorValue(y)) => {
                b.build_int_compare(predicate, x, y, "")?.into()
            }
            _ => return Err(unfit("an integer")),
        })
    }

    pub(super) fn float_compare(
        &self,
        predicate: FloatPredicate,
        x: Value<'c>,
        y: Value<'c>,
    ) -> Res<Value<'c>> {
        let b = self.builder;
        Ok(match (x, y) {
            (Value::FloatValue(x), Value::FloatValue(y)) => {
                b.build_float_compare(predicate, x, y, "")?.into()
            }
            (Value::VectorValue(x), Value::VectorValue(y)) => {
                b.build_float_compare(predicate, x, y, "")?.into()
            }
            _ => return Err(unfit("a float")),
        })
    }

    /// Truncates or extends an integer to a type.
    pub(super) fn resize(&self, x: Value<'c>, to: IntType<'c>, signed: bool) -> Res<Value<'c>> {
        let b = self.builder;
        Ok(match (x, shaped_int(x, to)) {
            (Value::IntValue(x), BasicTypeEnum::IntType(to)) => {
                b.build_int_cast_sign_flag(x, to, signed, "")?.into()
            }
            (Value::VectorValue(x), BasicTypeEnum::VectorType(to)) => {
                b.build_int_cast_sign_flag(x, to, signed, "")?.into()
            }
            _ => return Err(unfit("an integer")),
        })
    }

    /// Converts a float to a wider or narrower type.
    pub(super) fn float_resize(&self, x: Value<'c>, to: FloatType<'c>) -> Res<Value<'c>> {
        let b = self.builder;
        Ok(match (x, with_shape_of(x, to.into())?) {
            (Value::FloatValue(x), BasicTypeEnum::FloatType(to)) => b.build_float_cast(x, to, "")?.into(),
            (Value::VectorValue(x), BasicTypeEnum::VectorType(to)) => b.build_float_cast(x, to, "")?.into(),
            _ => return Err(unfit("a float")),
        })
    }

    /// Converts an integer to the nearest float.
    pub(super) fn int_to_float(&self, x: Value<'c>, to: FloatType<'c>, signed: bool) -> Res<Value<'c>> {
        let b = self.builder;
        Ok(match (x, with_shape_of(x, to.into())?) {
            (Value::IntValue(x), BasicTypeEnum::FloatType(to)) if signed => {
                b.build_signed_int_to_float(x, to, "")?.into()
            }
            (Value::IntValue(x), BasicTypeEnum::FloatType(to)) => {
                b.build_unsigned_int_to_float(x, to, "")?.into()
            }
            (Value::VectorValue(x), BasicTypeEnum::VectorType(to)) if signed => {
                b.build_signed_int_to_float(x, to, "")?.into()
            }
            (Value::VectorValue(x), BasicTypeEnum::VectorType(to)) => {
                b.build_unsigned_int_to_float(x, to, "")?.into()
            }
            _ => return Err(unfit("an integer")),
        })
    }

    /// Truncates a float that is in range to an integer.
    pub(super) fn float_to_int(&self, x: Value<'c>, to: IntType<'c>, signed: bool) -> Res<Value<'c>> {
        let b = self.builder;
        Ok(match (x, shaped_int(x, to)) {
            (Value::FloatValue(x), BasicTypeEnum::IntType(to)) if signed => {
                b.build_float_to_signed_int(x, to, "")?.into()
            }
            (Value::FloatValue(x), BasicTypeEnum::IntType(to)) => {
                b.build_float_to_unsigned_int(x, to, "")?.into()
            }
            (Value::VectorValue(x), BasicTypeEnum::VectorType(to)) if signed => {
                b.build_float_to_signed_int(x, to, "")?.into()
            }
            (Value::VectorValue(x), BasicTypeEnum::VectorType(to)) => {
                b.build_float_to_unsigned_int(x, to, "")?.into()
            }
            _ => return Err(unfit("a float")),
        })
    }

    /// Reinterprets the bits, lane by lane, as another type.
    pub(super) fn bits_as(&self, x: Value<'c>, to: impl BasicType<'c>) -> Res<Value<'c>> {
        let to = with_shape_of(x, to.as_basic_type_enum())?;
        Ok(self.builder.build_bit_cast(x, to, "")?)
    }

    /// Calls an intrinsic that is overloaded by its first operand's type.
    pub(super) fn intrinsic(&self, name: &str, args: &[Value<'c>]) -> Res<Value<'c>> {
        let types: Vec<_> = args.iter().take(1).map(Value::get_type).collect();
        call_value(self.builder, self.emit.intrinsic(name, &types)?, args)
    }

    /// Branches on a condition that is likely true: the value of `usual` if it holds, else of
    /// `other`.
    pub(super) fn select_by_likely_branch(
        &self,
        cond: Value<'c>,
        name: &str,
        usual: impl FnOnce() -> Res<Value<'c>>,
        other: impl FnOnce() -> Res<Value<'c>>,
    ) -> Res<Value<'c>> {
        let b = self.builder;
        let (near, far, after) = (
            self.new_block(&format!("{name}.near"))?,
            self.new_block(&format!("{name}.far"))?,
            self.new_block(name)?,
        );
        let branch = b.build_conditional_branch(int(cond)?, near, far)?;
        self.emit.metadata.set_likely(branch)?;
        b.position_at_end(near);
        let usual = usual()?;
        b.build_unconditional_branch(after)?;
        b.position_at_end(far);
        let other = other()?;
        b.build_unconditional_branch(after)?;
        b.position_at_end(after);
        let phi = b.build_phi(usual.get_type(), name)?;
        phi.add_incoming(&[(&other, far), (&usual, near)]);
        Ok(phi.as_basic_value())
    }

    /// Appends a block to the current function.
    pub(super) fn new_block(&self, name: &str) -> Res<BasicBlock<'c>> {
        let function = self
            .builder
            .get_insert_block()
            .and_then(BasicBlock::get_parent)
            .ok_or_else(|| Error::bug("the builder is not in a function"))?;
        Ok(self.emit.context.append_basic_block(function, name))
    }
}

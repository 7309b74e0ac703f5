//! LLVM types of scalars and vectors; constants.
//!
//! In registers a `bool` is an `i1`, and an `f16` is its bits as an `i16` (so that every conversion
//! and rounding is explicit); in memory a `bool` is an `i8` that holds 0 or 1. Vectors follow the
//! same rules.

use crate::error::{Error, Res};
use imp::VarType;
use inkwell::AddressSpace;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::types::{BasicTypeEnum, FloatType, IntType, PointerType, VectorType};
use inkwell::values::{BasicValueEnum, IntValue, PointerValue, VectorValue};
use prim::{PrimType, Scalar};

/// A value in a register.
pub type Value<'c> = BasicValueEnum<'c>;

/// The frequently used types.
#[derive(Clone, Copy)]
pub struct Types<'c> {
    pub i1: IntType<'c>,
    pub i8: IntType<'c>,
    pub i16: IntType<'c>,
    pub i32: IntType<'c>,
    pub i64: IntType<'c>,
    pub half: FloatType<'c>,
    pub f32: FloatType<'c>,
    pub f64: FloatType<'c>,
    pub ptr: PointerType<'c>,
}

impl<'c> Types<'c> {
    pub fn new(context: &'c Context) -> Self {
        Self {
            i1: context.bool_type(),
            i8: context.i8_type(),
            i16: context.i16_type(),
            i32: context.i32_type(),
            i64: context.i64_type(),
            half: context.f16_type(),
            f32: context.f32_type(),
            f64: context.f64_type(),
            ptr: context.ptr_type(AddressSpace::default()),
        }
    }

    /// The type of an integer, of a float's bits, or of a `bool` in a register.
    pub fn int(&self, ty: PrimType) -> IntType<'c> {
        match ty {
            PrimType::I8 => self.i8,
            PrimType::I16 | PrimType::F16 => self.i16,
            PrimType::I32 | PrimType::F32 => self.i32,
            PrimType::I64 | PrimType::F64 => self.i64,
            PrimType::Bool => self.i1,
        }
    }

    /// The type in which floats of a type are computed.
    pub fn float(&self, ty: PrimType) -> FloatType<'c> {
        if ty == PrimType::F64 { self.f64 } else { self.f32 }
    }

    /// The type of a scalar in a register.
    pub fn register(&self, ty: PrimType) -> BasicTypeEnum<'c> {
        match ty {
            PrimType::F32 => self.f32.into(),
            PrimType::F64 => self.f64.into(),
            PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 | PrimType::F16 | PrimType::Bool => {
                self.int(ty).into()
            }
        }
    }

    /// The type of a scalar in memory.
    pub fn memory(&self, ty: PrimType) -> BasicTypeEnum<'c> {
        if ty == PrimType::Bool { self.i8.into() } else { self.register(ty) }
    }

    /// The type of a variable.
    pub fn var(&self, ty: VarType) -> BasicTypeEnum<'c> {
        match ty {
            VarType::Scalar(ty) => self.register(ty),
            VarType::Buffer(_) => self.ptr.into(),
            VarType::Vector(ty, lanes) => self.vector(ty, lanes).into(),
        }
    }

    /// The type of a vector in a register.
    pub fn vector(&self, ty: PrimType, lanes: u32) -> VectorType<'c> {
        match ty {
            PrimType::F32 => self.f32.vec_type(lanes),
            PrimType::F64 => self.f64.vec_type(lanes),
            PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 | PrimType::F16 | PrimType::Bool => {
                self.int(ty).vec_type(lanes)
            }
        }
    }

    /// The type of a vector in memory.
    pub fn memory_vector(&self, ty: PrimType, lanes: u32) -> VectorType<'c> {
        if ty == PrimType::Bool { self.i8.vec_type(lanes) } else { self.vector(ty, lanes) }
    }

    pub fn const_i64(&self, x: i64) -> IntValue<'c> {
        self.i64.const_int(x as u64, false)
    }

    pub fn constant(&self, builder: &Builder<'c>, x: Scalar) -> Res<Value<'c>> {
        let bits = self.int(x.ty()).const_int(x.bits(), false);
        Ok(match x {
            Scalar::F32(x) if !x.is_nan() => self.f32.const_float(f64::from(x)).into(),
            Scalar::F64(x) if !x.is_nan() => self.f64.const_float(x).into(),
            Scalar::F32(_) => builder.build_bit_cast(bits, self.f32, "")?,
            Scalar::F64(_) => builder.build_bit_cast(bits, self.f64, "")?,
            Scalar::I8(_)
            | Scalar::I16(_)
            | Scalar::I32(_)
            | Scalar::I64(_)
            | Scalar::F16(_)
            | Scalar::Bool(_) => bits.into(),
        })
    }
}

/// The value as an integer; fails if it is anything else.
pub fn int(value: Value<'_>) -> Res<IntValue<'_>> {
    value.try_into().map_err(|()| Error::bug("an LLVM value is not an integer"))
}

/// The value as a vector; fails if it is anything else.
pub fn vector(value: Value<'_>) -> Res<VectorValue<'_>> {
    value.try_into().map_err(|()| Error::bug("an LLVM value is not a vector"))
}

/// The value as a pointer; fails if it is anything else.
pub fn pointer(value: Value<'_>) -> Res<PointerValue<'_>> {
    value.try_into().map_err(|()| Error::bug("an LLVM value is not a pointer"))
}

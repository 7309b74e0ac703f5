//! Vector-only operations: lane numbers, mask reductions, single lanes, and calls of library
//! functions, which are made lane by lane.

use super::Ops;
use super::instructions::lanes_of;
use crate::emit::call_value;
use crate::error::{Error, Res};
use crate::types::{Value, int, vector};
use inkwell::IntPredicate;
use inkwell::types::{BasicTypeEnum, IntType, VectorType};
use inkwell::values::{IntValue, VectorValue};
use prim::{MathFun, PrimType};
use std::num::NonZeroU32;

impl<'c> Ops<'_, '_, 'c> {
    fn lane(&self, lane: u32) -> IntValue<'c> {
        self.emit.types.i32.const_int(u64::from(lane), false)
    }

    /// Broadcasts a scalar or an address to all lanes.
    #[allow(clippy::wildcard_enum_match_arm, reason = "the enum is from LLVM and has many variants")]
    pub fn splat(&self, x: Value<'c>, lanes: u32) -> Res<Value<'c>> {
        let ty = match x {
            Value::IntValue(x) if x.is_const() => {
                return Ok(VectorType::const_vector(&vec![x; lanes as usize]).into());
            }
            Value::FloatValue(x) if x.is_const() => {
                return Ok(VectorType::const_vector(&vec![x; lanes as usize]).into());
            }
            Value::IntValue(x) => x.get_type().vec_type(lanes),
            Value::FloatValue(x) => x.get_type().vec_type(lanes),
            Value::PointerValue(x) => x.get_type().vec_type(lanes),
            _ => return Err(Error::bug("the operand of a splat is not a scalar")),
        };
        let first = self.builder.build_insert_element(ty.get_poison(), x, self.lane(0), "")?;
        let indices = vec![Some(0); lanes as usize];
        Ok(self.shuffle(first, ty.get_poison(), &indices)?.into())
    }

    /// Shuffles two vectors: `indices` are lane numbers into their concatenation; `None` gives an
    /// undefined lane.
    pub fn shuffle(
        &self,
        x: VectorValue<'c>,
        y: VectorValue<'c>,
        indices: &[Option<u32>],
    ) -> Res<VectorValue<'c>> {
        let none = self.emit.types.i32.get_poison();
        let indices: Vec<_> =
            indices.iter().map(|index| index.map_or(none, |index| self.lane(index))).collect();
        let indices = VectorType::const_vector(&indices);
        Ok(self.builder.build_shuffle_vector(x, y, indices, "")?)
    }

    /// The vector 0, 1, 2, ...
    pub fn iota(&self, ty: PrimType, lanes: u32) -> Value<'c> {
        let ty = self.emit.types.int(ty);
        let numbers: Vec<_> = (0..u64::from(lanes)).map(|lane| ty.const_int(lane, false)).collect();
        VectorType::const_vector(&numbers).into()
    }

    /// A mask as an integer with a bit for each lane, the first lane's lowest.
    fn mask_bits(&self, mask: Value<'c>) -> Res<IntValue<'c>> {
        let ty = self.mask_type(mask)?;
        int(self.builder.build_bit_cast(mask, ty, "")?)
    }

    fn mask_type(&self, mask: Value<'c>) -> Res<IntType<'c>> {
        let lanes = lanes_of(mask).and_then(NonZeroU32::new);
        let lanes = lanes.ok_or_else(|| Error::bug("a mask is not a vector"))?;
        self.emit.context.custom_width_int_type(lanes).map_err(Error::bug)
    }

    /// Returns true if any lane of a mask is set.
    pub fn any(&self, mask: Value<'c>) -> Res<Value<'c>> {
        let bits = self.mask_bits(mask)?;
        let none = bits.get_type().const_zero();
        self.int_compare(IntPredicate::NE, bits.into(), none.into())
    }

    /// Returns true if all lanes of a mask are set.
    pub fn all(&self, mask: Value<'c>) -> Res<Value<'c>> {
        let bits = self.mask_bits(mask)?;
        let all = bits.get_type().const_all_ones();
        self.int_compare(IntPredicate::EQ, bits.into(), all.into())
    }

    /// The number of the first lane that is set; the number of lanes if none is.
    pub fn first_lane(&self, mask: Value<'c>) -> Res<Value<'c>> {
        let no = self.emit.types.i1.const_zero();
        let bits = self.mask_bits(mask)?;
        let first = self.intrinsic("llvm.cttz", &[bits.into(), no.into()])?;
        self.resize(first, self.emit.types.i64, false)
    }

    /// The number of lanes that are set.
    pub fn count(&self, mask: Value<'c>) -> Res<Value<'c>> {
        let bits = self.mask_bits(mask)?;
        let count = self.intrinsic("llvm.ctpop", &[bits.into()])?;
        self.resize(count, self.emit.types.i64, false)
    }

    /// Compresses the values of the set lanes to the front; the other lanes are 0.
    #[allow(clippy::wildcard_enum_match_arm, reason = "the enum is from LLVM and has many variants")]
    pub fn compress(&self, x: Value<'c>, mask: Value<'c>) -> Res<Value<'c>> {
        let lanes = lanes_of(x).ok_or_else(|| Error::bug("the operand of pack is not a vector"))?;
        let scalar = vector(x)?.get_type().get_element_type();
        let types = &self.emit.types;
        let own = match scalar {
            BasicTypeEnum::FloatType(ty) if ty == types.float(PrimType::F64) => types.i64,
            BasicTypeEnum::FloatType(_) => types.i32,
            BasicTypeEnum::IntType(ty) => ty,
            _ => return Err(Error::bug("the operand of pack is not a vector of numbers")),
        };
        // There is no instruction for narrower elements.
        let wide = if own == types.i64 { own } else { types.i32 };
        let numbers = self.bits_as(x, own)?;
        let numbers = self.resize(numbers, wide, false)?;
        let zero = wide.vec_type(lanes).const_zero().into();
        let fits = matches!(lanes * wide.get_bit_width(), 128 | 256 | 512);
        let packed = if lanes == 1 {
            // LLVM cannot scalarise the intrinsic for a single lane.
            self.builder.build_select(vector(mask)?, numbers, zero, "")?
        } else if self.emit.processor.has_masks() && fits {
            self.intrinsic("llvm.x86.avx512.mask.compress", &[numbers, zero, mask])?
        } else {
            self.intrinsic("llvm.experimental.vector.compress", &[numbers, mask, zero])?
        };
        self.bits_as(self.resize(packed, own, false)?, scalar)
    }

    pub fn extract(&self, x: Value<'c>, lane: IntValue<'c>) -> Res<Value<'c>> {
        Ok(self.builder.build_extract_element(vector(x)?, lane, "")?)
    }

    /// A vector with one lane replaced.
    pub fn insert(&self, x: Value<'c>, lane: IntValue<'c>, value: Value<'c>) -> Res<Value<'c>> {
        Ok(self.builder.build_insert_element(vector(x)?, value, lane, "")?.into())
    }

    /// Shifts a vector up by `by` lanes; the first lanes become `fill`.
    pub fn shift(&self, x: Value<'c>, by: u32, fill: Value<'c>) -> Res<Value<'c>> {
        let x = vector(x)?;
        let lanes = x.get_type().get_size();
        let fill = vector(self.splat(fill, lanes)?)?;
        let from: Vec<_> = (0..lanes)
            .map(|lane| if lane < by { lane } else { lanes + lane - by })
            .map(|lane| self.emit.types.i32.const_int(u64::from(lane), false))
            .collect();
        let from = VectorType::const_vector(&from);
        Ok(self.builder.build_shuffle_vector(fill, x, from, "")?.into())
    }

    /// Calls a library function, for vectors in each lane.
    pub fn math(&self, fun: MathFun, ty: PrimType, args: &[Value<'c>]) -> Res<Value<'c>> {
        let f = self.emit.math(fun, ty);
        let Some(lanes) = args.first().and_then(|arg| lanes_of(*arg)) else {
            return call_value(self.builder, f, args);
        };
        let mut results = self.emit.types.vector(ty, lanes).get_poison().into();
        for lane in (0..lanes).map(|lane| self.lane(lane)) {
            let args: Res<Vec<_>> = args.iter().map(|arg| self.extract(*arg, lane)).collect();
            let value = call_value(self.builder, f, &args?)?;
            results = self.insert(results, lane, value)?;
        }
        Ok(results)
    }
}

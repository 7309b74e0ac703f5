//! Powers 2^(j/8) for a 3-bit number j: a permutation of the table if one register holds all of it,
//! else loads.

use super::Ops;
use super::instructions::{int_like, lanes_of};
use crate::emit::call_value;
use crate::error::Res;
use crate::types::{Value, int, vector};
use inkwell::types::VectorType;
use inkwell::values::{IntValue, PointerValue};
use prim::PrimType;
use prim::eval::EXP2_EIGHTHS;

/// The lanes of a register that holds the table.
const LANES: u32 = EXP2_EIGHTHS.len() as u32;
/// The table's name in the module.
const TABLE: &str = "exp2.eighths";

impl<'c> Ops<'_, '_, 'c> {
    /// 2^(j/8), where j is the last three bits of a double, or of each lane.
    pub(super) fn exp2_eighths(&self, x: Value<'c>) -> Res<Value<'c>> {
        let number = self.bits_as(x, self.emit.types.i64)?;
        match lanes_of(x) {
            None => self.load_power(int(number)?),
            Some(lanes) if self.emit.processor.has_masks() && lanes > 1 => {
                self.permuted_powers(number, lanes)
            }
            Some(lanes) => {
                let ty = self.emit.types.float(PrimType::F64).vec_type(lanes);
                let mut powers: Value<'c> = ty.get_poison().into();
                for lane in 0..lanes {
                    let lane = self.emit.types.i32.const_int(u64::from(lane), false);
                    let power = self.load_power(int(self.extract(number, lane)?)?)?;
                    powers = self.insert(powers, lane, power)?;
                }
                Ok(powers)
            }
        }
    }

    /// The powers, one register at a time. The instruction reads only the last three bits of each
    /// lane.
    fn permuted_powers(&self, number: Value<'c>, lanes: u32) -> Res<Value<'c>> {
        let double = self.emit.types.float(PrimType::F64);
        let table = EXP2_EIGHTHS.map(|power| double.const_float(power));
        let table: Value<'c> = VectorType::const_vector(&table).into();
        let number = vector(number)?;
        let mut powers = double.vec_type(lanes).get_poison();
        for from in (0..lanes).step_by(LANES as usize) {
            let taken: Vec<_> = (from..from + LANES).map(|lane| (lane < lanes).then_some(lane)).collect();
            let part = self.shuffle(number, number.get_type().get_poison(), &taken)?;
            let permute = self.emit.intrinsic("llvm.x86.avx512.permvar.df.512", &[])?;
            let part = vector(call_value(self.builder, permute, &[table, part.into()])?)?;
            // Extends the register to the full number of lanes, then merges it into the result.
            let spread: Vec<_> =
                (0..lanes).map(|lane| lane.checked_sub(from).filter(|at| *at < LANES)).collect();
            let part = self.shuffle(part, part.get_type().get_poison(), &spread)?;
            let chosen: Vec<_> =
                (0..lanes).map(|lane| Some(if lane < from { lane } else { lanes + lane })).collect();
            powers = self.shuffle(powers, part, &chosen)?;
        }
        Ok(powers.into())
    }

    fn load_power(&self, number: IntValue<'c>) -> Res<Value<'c>> {
        let index = int(self.and(number.into(), int_like(number.into(), 7)?)?)?;
        let double = self.emit.types.float(PrimType::F64);
        // SAFETY: the table has eight entries.
        let entry = unsafe { self.builder.build_in_bounds_gep(double, self.powers(), &[index], "")? };
        Ok(self.builder.build_load(double, entry, "")?)
    }

    fn powers(&self) -> PointerValue<'c> {
        let global = self.emit.module.get_global(TABLE).unwrap_or_else(|| {
            let double = self.emit.types.float(PrimType::F64);
            let table = EXP2_EIGHTHS.map(|power| double.const_float(power));
            self.emit.constant(TABLE, double.const_array(&table), 64)
        });
        global.as_pointer_value()
    }
}

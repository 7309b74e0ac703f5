//! Minimum and maximum of quiet floats by one instruction per register, `vrangeps` and `vrangepd` (AVX-512). For
//! operands that are not signalling NaNs it is the operator of `prim`: -0.0 lies below 0.0, of a number and a NaN the
//! result is the number, of two NaNs the first (`tests/all/ranges.rs`).

use super::Ops;
use super::instructions::lanes_of;
use crate::emit::call_value;
use crate::error::Res;
use crate::types::{Value, vector};
use prim::{BinOp, PrimType};

/// The instruction's operand for the minimum and the maximum, with the sign of the result.
const MIN: u64 = 0b0100;
const MAX: u64 = 0b0101;
/// The operand for the current rounding mode.
const CURRENT: u64 = 4;

impl<'c> Ops<'_, '_, 'c> {
    /// The minimum or maximum of vectors of quiet floats; `None` if there is no instruction for it.
    pub fn quiet_range(&self, op: BinOp, ty: PrimType, x: Value<'c>, y: Value<'c>) -> Res<Option<Value<'c>>> {
        let (name, width) = if ty == PrimType::F32 {
            ("llvm.x86.avx512.mask.range.ps.512", 16)
        } else {
            ("llvm.x86.avx512.mask.range.pd.512", 8)
        };
        let (Some(lanes), true) = (lanes_of(x), self.emit.processor.has_masks()) else {
            return Ok(None);
        };
        if ty == PrimType::F16 || lanes % width != 0 {
            return Ok(None);
        }
        let function = self.emit.intrinsic(name, &[])?;
        let types = &self.emit.types;
        let which = types.i32.const_int(if op == BinOp::FMin { MIN } else { MAX }, false);
        let mask = if width == 16 { types.i16 } else { types.i8 }.const_all_ones();
        let rounding = types.i32.const_int(CURRENT, false);
        let (x, y) = (vector(x)?, vector(y)?);
        let mut result = x.get_type().get_poison();
        for from in (0..lanes).step_by(width as usize) {
            let part: Vec<_> = (from..from + width).map(Some).collect();
            let [a, b] = [x, y].map(|v| self.shuffle(v, v.get_type().get_poison(), &part));
            let none = self.emit.types.float(ty).vec_type(width).get_poison();
            let args = [a?.into(), b?.into(), which.into(), none.into(), mask.into(), rounding.into()];
            let range = vector(call_value(self.builder, function, &args)?)?;
            if lanes == width {
                return Ok(Some(range.into()));
            }
            // Extends the register to the full number of lanes, then merges it into the result.
            let spread: Vec<_> =
                (0..lanes).map(|lane| lane.checked_sub(from).filter(|at| *at < width)).collect();
            let range = self.shuffle(range, range.get_type().get_poison(), &spread)?;
            let chosen: Vec<_> =
                (0..lanes).map(|lane| Some(if lane < from { lane } else { lanes + lane })).collect();
            result = self.shuffle(result, range, &chosen)?;
        }
        Ok(Some(result.into()))
    }
}

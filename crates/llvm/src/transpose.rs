//! Transposes small squares of constant size in registers.
//!
//! ```text
//! copy to (strides 1, p), from (strides s, 1), extents n, n      p >= n constant
//!   row[i] = load n elements from line i
//!   for d = 1, 2, 4 .. n/2: rows i and i + d swap their off-diagonal blocks of side d
//!   store row[k] as line k of the target
//! ```

use crate::error::{Error, Res};
use crate::function::{FunctionEmitter, instruction_of};
use imp::{Expr, Region};
use inkwell::values::{IntValue, VectorValue};
use prim::PrimType;

impl<'p, 'c> FunctionEmitter<'_, 'p, 'c> {
    /// Copies a square through registers.
    pub fn transpose(&mut self, side: u32, to: &'p Region, from: &'p Region, elem: PrimType) -> Res<()> {
        let types = self.emit.types;
        let align = elem.size() as u32;
        let word = match elem.size() {
            1 => types.i8,
            2 => types.i16,
            4 => types.i32,
            _ => types.i64,
        };
        let vector = word.vec_type(side);
        let pitch =
            from.strides.first().ok_or_else(|| Error::bug("a transposed square has no source stride"))?;
        let pitch = self.int_expr(pitch)?;
        let start = self.int_expr(&from.offset)?;
        let buffer = self.buffer(from.buffer)?;
        let mut rows = Vec::with_capacity(side as usize);
        for i in 0..side {
            let i = types.const_i64(i64::from(i));
            let skipped = self.builder.build_int_mul(i, pitch, "")?;
            let position = self.builder.build_int_add(start, skipped, "")?;
            let address = self.element(buffer, elem, position)?;
            let row = self.builder.build_load(vector, address, "row")?;
            let load = instruction_of(row)?;
            load.set_alignment(align).map_err(Error::bug)?;
            self.independent(load, &[from.buffer])?;
            rows.push(row.into_vector_value());
        }
        let mut distance = 1;
        while distance < side {
            self.swap_blocks(&mut rows, side, distance)?;
            distance *= 2;
        }
        let start = self.int_expr(&to.offset)?;
        let Some(Expr::Const(pitch)) = to.strides.last() else {
            return Err(Error::bug("a transposed square has no destination stride"));
        };
        let pitch = pitch.as_i64().unwrap_or_default();
        let buffer = self.buffer(to.buffer)?;
        for (k, row) in rows.into_iter().enumerate() {
            let skipped = types.const_i64(k as i64 * pitch);
            let position = self.builder.build_int_add(start, skipped, "")?;
            let address = self.element(buffer, elem, position)?;
            let store = self.builder.build_store(address, row)?;
            store.set_alignment(align).map_err(Error::bug)?;
            self.independent(store, &[to.buffer])?;
        }
        Ok(())
    }

    /// Rows `i` and `i + d` (where `i & d` is 0) swap their off-diagonal blocks.
    fn swap_blocks(&self, rows: &mut [VectorValue<'c>], side: u32, d: u32) -> Res<()> {
        let i32_type = self.emit.types.i32;
        let mask = |lane: &dyn Fn(u32) -> u32| {
            let lanes: Vec<IntValue<'c>> =
                (0..side).map(|k| i32_type.const_int(u64::from(lane(k)), false)).collect();
            inkwell::types::VectorType::const_vector(&lanes)
        };
        let upper = mask(&|k| if k & d == 0 { k } else { side + k - d });
        let lower = mask(&|k| if k & d == 0 { k + d } else { side + k });
        for i in (0..side).filter(|i| i & d == 0) {
            let (i, j) = (i as usize, (i + d) as usize);
            let (a, b) = (rows[i], rows[j]);
            rows[i] = self.builder.build_shuffle_vector(a, b, upper, "")?;
            rows[j] = self.builder.build_shuffle_vector(a, b, lower, "")?;
        }
        Ok(())
    }
}

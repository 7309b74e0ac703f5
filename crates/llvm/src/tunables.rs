//! Tuning parameters: values that the context holds, and calls that log comparisons with them.

use crate::emit::call;
use crate::error::Res;
use crate::function::{FunctionEmitter, instruction_of};
use crate::types::{Value, int, pointer};
use imp::{Expr, TunableId};
use inkwell::IntPredicate;
use inkwell::values::PointerValue;

/// The index of the context's word with the address of the parameters' values.
const VALUES: i64 = 2;
/// The index of the context's word that is not 0 if comparisons are logged.
const LOG_COMPARISONS: i64 = 3;

impl<'c> FunctionEmitter<'_, '_, 'c> {
    /// Loads a parameter's value, which is constant while compiled code runs.
    pub fn tunable(&mut self, id: TunableId) -> Res<Value<'c>> {
        let types = self.emit.types;
        let address = self.context_word(VALUES)?;
        let values = self.builder.build_load(types.ptr, address, "tunables")?;
        self.emit.metadata.invariant(instruction_of(values)?)?;
        let index = types.const_i64(i64::from(id.0));
        // SAFETY: a context has as many values as the program has parameters.
        let address = unsafe {
            let values = pointer(values)?;
            self.builder.build_in_bounds_gep(types.i64, values, &[index], "")?
        };
        let value = self.builder.build_load(types.i64, address, "tunable")?;
        self.emit.metadata.invariant(instruction_of(value)?)?;
        Ok(value)
    }

    /// Returns true at run time if comparisons are logged; constant while compiled code runs.
    pub fn log_comparisons(&mut self) -> Res<Value<'c>> {
        let types = self.emit.types;
        let address = self.context_word(LOG_COMPARISONS)?;
        let word = self.builder.build_load(types.i64, address, "logging")?;
        self.emit.metadata.invariant(instruction_of(word)?)?;
        let zero = types.i64.const_zero();
        let wanted = self.builder.build_int_compare(IntPredicate::NE, int(word)?, zero, "")?;
        Ok(wanted.into())
    }

    /// Logs a comparison with the context.
    pub fn compared(&mut self, id: TunableId, size: &Expr) -> Res<()> {
        let size = self.expr(size)?;
        let id = self.emit.types.const_i64(i64::from(id.0));
        let args = [self.ctx.into(), id.into(), size];
        call(&self.builder, self.emit.runtime.log_comparison, &args)?;
        Ok(())
    }

    /// The address of a word of the context.
    pub fn context_word(&mut self, word: i64) -> Res<PointerValue<'c>> {
        let types = self.emit.types;
        let index = [types.const_i64(word)];
        // SAFETY: the runtime's `abi` specifies that contexts have this word.
        Ok(unsafe { self.builder.build_in_bounds_gep(types.i64, self.ctx, &index, "")? })
    }
}

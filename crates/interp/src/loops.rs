//! Loops.

use crate::failure::{Failure, Res};
use crate::machine::{Machine, index_of};
use crate::tree::{Form, Loop};
use crate::value::RunValue;
use prim::Scalar;

impl Machine<'_> {
    /// The value of a loop.
    pub(crate) fn run_loop(&mut self, inner: &Loop) -> Res<RunValue> {
        let mut value = self.eval(&inner.init)?;
        match &inner.form {
            Form::For(slot, ty, bound) => {
                let bound = index_of(self.scalar(bound)?, ty.is_signed());
                let mut i = 0;
                while i < bound {
                    self.enter(inner, value)?;
                    self.set(*slot, RunValue::Scalar(Scalar::int(ty.prim(), i)));
                    value = self.eval(&inner.body)?;
                    i += 1;
                }
            }
            Form::ForIn(param, array) => {
                let RunValue::Array(array) = self.eval(array)? else {
                    return Err(Failure::bug("a loop over a value that is not an array"));
                };
                for i in 0..array.len() {
                    self.enter(inner, value)?;
                    self.bind(param, array.row(i))?;
                    value = self.eval(&inner.body)?;
                }
            }
            Form::While(cond) => loop {
                self.enter(inner, value.clone())?;
                if !self.truth(cond)? {
                    break;
                }
                // From here on, only the parameters hold references to the values.
                drop(value);
                value = self.eval(&inner.body)?;
            },
        }
        self.unbind(&inner.sizes);
        Ok(value)
    }

    fn enter(&mut self, inner: &Loop, value: RunValue) -> Res<()> {
        self.step()?;
        self.unbind(&inner.reset_sizes);
        self.bind(&inner.param, value)?;
        self.zero_unbound_sizes(&inner.param.payload_sizes);
        Ok(())
    }
}

//! Printer and parser of the statements of device threads.
//!
//! ```text
//! barrier
//! barrier of 32
//! atomic old_1: i32 = add counts_2[i32: i_3] <- 1i32
//! atomic max best_4[i64: at 0] <- x_5
//! swap old_6: i32 = lock_7[i32: at 0] expected 0i32 to 1i32
//! signal state_8[i32: i_3] <- 2i32
//! await seen_9: i32 = state_8[i32: (i_3 - 1)]
//! ```

use super::parse::{FunctionParser, Result};
use super::print::Printer;
use crate::{AtomicUpdate, DeviceOp, Stmt};
use prim::BinOp;

impl Printer<'_> {
    pub(super) fn device_op(&self, op: &DeviceOp) -> String {
        match op {
            DeviceOp::Barrier => "barrier".to_owned(),
            DeviceOp::SubgroupBarrier(size) => format!("barrier of {size}"),
            DeviceOp::Update(update) => {
                let AtomicUpdate { old, at, op, value } = &**update;
                let old = old.map_or_else(String::new, |old| format!("{} = ", self.typed_var(old)));
                format!("atomic {old}{} {} <- {}", op.name(), self.access(at), self.expr(value))
            }
            DeviceOp::CompareExchange { old, at, expected, value } => format!(
                "swap {} = {} expected {} to {}",
                self.typed_var(*old),
                self.access(at),
                self.expr(expected),
                self.expr(value)
            ),
            DeviceOp::Signal { at, value } => {
                format!("signal {} <- {}", self.access(at), self.expr(value))
            }
            DeviceOp::Await { var, at } => {
                format!("await {} = {}", self.typed_var(*var), self.access(at))
            }
        }
    }
}

impl FunctionParser<'_, '_> {
    /// Parses the operands of `atomic`.
    pub(super) fn atomic(&mut self) -> Result<Stmt> {
        let old = self.take_var()?;
        if let Some(old) = old {
            self.type_of(old)?;
            self.p.punct("=")?;
        }
        let name = self.p.ident()?;
        let Some(op) = BinOp::from_name(name) else {
            return self.p.error(format!("`{name}` is not a binary operator"));
        };
        let at = self.one_element()?;
        self.p.punct("<-")?;
        let value = self.expr()?;
        Ok(Stmt::Device(DeviceOp::Update(Box::new(AtomicUpdate { old, at, op, value }))))
    }

    /// Parses the operands of `swap`.
    pub(super) fn swap(&mut self) -> Result<Stmt> {
        let old = self.typed_var()?;
        self.p.punct("=")?;
        let at = self.one_element()?;
        self.p.keyword("expected")?;
        let expected = self.expr()?;
        self.p.keyword("to")?;
        let value = self.expr()?;
        Ok(Stmt::Device(DeviceOp::CompareExchange { old, at, expected, value }))
    }

    /// Parses the operands of `signal`.
    pub(super) fn signal(&mut self) -> Result<Stmt> {
        let at = self.one_element()?;
        self.p.punct("<-")?;
        let value = self.expr()?;
        Ok(Stmt::Device(DeviceOp::Signal { at, value }))
    }

    /// Parses the operands of `await`.
    pub(super) fn await_(&mut self) -> Result<Stmt> {
        let var = self.typed_var()?;
        self.p.punct("=")?;
        let at = self.one_element()?;
        Ok(Stmt::Device(DeviceOp::Await { var, at }))
    }
}

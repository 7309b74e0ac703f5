//! Kernels with several iterations per thread, for iterations that are little more than a read and
//! a write.
//!
//! ```text
//! first thread index, step threads  if the last of its iterations is in bounds:
//!                                     <read> of each, step apart; <write> all
//!                                   else: for each that is in bounds { <read>; <write> }
//! ```
//!
//! A thread waits for memory between its read and its write: with several iterations per thread,
//! several reads are in flight. If there are few iterations, the step equals their number, so no
//! thread has more than one.

use crate::function::Gen;
use crate::operators::div_up;
use imp::build::{add, compare, mul, select};
use imp::{Expr, Stmt};
use ir::{PassError, Prov};
use prim::{CmpOp, PrimType};

impl Gen<'_, '_> {
    /// The number of iterations from which on threads get several: then the device is still filled
    /// with threads.
    pub(super) fn coarsening_threshold(&self) -> i64 {
        let device = self.layout();
        device.blocks * device.block * device.iterations_per_thread
    }

    /// A kernel with several of `n` iterations per thread if there are at least `many`
    /// ([`Gen::coarsening_threshold`]), otherwise with one: `write` stores the values that `read` computes.
    pub(super) fn coarsened<T>(
        &mut self,
        what: (&str, Prov),
        (n, many): (Expr, Expr),
        read: impl Fn(&mut Self, Expr) -> Result<T, PassError>,
        write: impl Fn(&mut Self, T) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        if !self.fuel.take() {
            return self.each_iteration(what, n, |g, iteration| {
                let made = read(g, iteration)?;
                write(g, made)
            });
        }
        let device = self.layout();
        let own = device.iterations_per_thread;
        let n = self.bind_value(n, PrimType::I64, "n");
        let parts = mul(div_up(n.clone(), own * device.block), Expr::i64(device.block));
        let is_many = compare(CmpOp::SLe, many, n.clone());
        let step = self.bind_value(select(&is_many, &parts, &n), PrimType::I64, "step");
        self.each_iteration(what, step.clone(), |g, first| {
            let iteration = |k: Expr| add(first.clone(), mul(k, step.clone()));
            let all = g.collect(|g| {
                let mut made = Vec::new();
                for k in 0..own {
                    let iteration = g.bind_value(iteration(Expr::i64(k)), PrimType::I64, "iteration");
                    made.push(read(g, iteration)?);
                }
                made.into_iter().try_for_each(|made| write(g, made))
            })?;
            let each = g.collect(|g| {
                g.for_seq("k", Expr::i64(0), Expr::i64(own), false, |g, k| {
                    let iteration = g.bind_value(iteration(Expr::Var(k)), PrimType::I64, "iteration");
                    let inside = compare(CmpOp::SLt, iteration.clone(), n.clone());
                    let body = g.collect(|g| {
                        let made = read(g, iteration)?;
                        write(g, made)
                    })?;
                    g.emit(Stmt::If(inside, body, Vec::new()));
                    Ok(())
                })
            })?;
            let last = iteration(Expr::i64(own - 1));
            g.emit(Stmt::If(compare(CmpOp::SLt, last, n.clone()), all, each));
            Ok(())
        })
    }
}

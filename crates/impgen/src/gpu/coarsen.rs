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

use crate::Result;
use crate::gpu::DeviceSchedule;
use crate::operators::div_up;
use crate::schedule::Generator;
use imp::build::{Operand, select};
use imp::{Expr, bind, emit, expr};
use ir::Prov;

impl Generator<'_, DeviceSchedule> {
    /// The number of iterations from which on threads get several: then the device is still filled
    /// with threads.
    pub(super) fn coarsening_threshold(&self) -> i64 {
        let device = self.schedule.layout;
        device.blocks * device.block * device.iterations_per_thread
    }

    /// A kernel with several of `n` iterations per thread if there are at least `many`
    /// ([`Generator::coarsening_threshold`]), otherwise with one: `write` stores the values that `read` computes.
    pub(super) fn coarsened<T>(
        &mut self,
        what: (&str, Prov),
        (n, many): (impl Into<Expr>, Operand),
        read: impl Fn(&mut Self, Operand) -> Result<T>,
        write: impl Fn(&mut Self, T) -> Result,
    ) -> Result {
        if !self.schedule.fuel.take() {
            return self.each_iteration(what, n, |g, iteration| {
                let made = read(g, iteration)?;
                write(g, made)
            });
        }
        let device = self.schedule.layout;
        let own = device.iterations_per_thread;
        let n = self.bind(n, "n");
        let parts = div_up(n, own * device.block) * device.block;
        let is_many = expr!(many <= n);
        bind!(step = self(select(&is_many, &parts, n)));
        self.each_iteration(what, step, |g, first| {
            let iteration = |k: Operand| first + k * step;
            let last = iteration((own - 1).into());
            emit!(if g(last < n) {
                let mut made = Vec::new();
                for k in 0..own {
                    bind!(iteration = g(iteration(k.into())));
                    made.push(read(g, iteration)?);
                }
                made.into_iter().try_for_each(|made| write(g, made))?;
            } else {
                emit!(for k in g(0..own) {
                    bind!(iteration = g(iteration(k.into())));
                    emit!(if g(iteration < n) {
                        let made = read(g, iteration)?;
                        write(g, made)?;
                    });
                });
            });
            Ok(())
        })
    }
}

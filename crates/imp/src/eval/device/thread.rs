//! One thread of a kernel, executed a statement at a time, so that threads can be interleaved.

use crate::eval::expr::Slot;
use crate::eval::frame::Frame;
use crate::eval::machine::Machine;
use crate::eval::{ErrorClass, EvalError, Result, bug};
use crate::{DeviceOp, For, LoopMode, Stmt, Var};
use prim::{PrimType, Scalar};

/// A thread.
pub(super) struct Thread<'p> {
    pub(super) number: i64,
    /// The index of its subgroup.
    pub(super) subgroup: i64,
    /// The number of subgroup barriers that it has passed.
    pub(super) subgroup_barriers: u32,
    /// The number of signals that it has sent.
    pub(super) signals: u32,
    pub(super) frame: Frame<'p>,
    lists: Vec<List<'p>>,
}

/// A list of statements that is being executed.
struct List<'p> {
    stmts: &'p [Stmt],
    /// The index of the next statement.
    at: usize,
    again: Continuation<'p>,
}

/// The continuation at the end of a list.
enum Continuation<'p> {
    Nothing,
    /// Repeats the list while the variable is true.
    While(Var),
    /// Starts the next iteration.
    For {
        f: &'p For,
        ty: PrimType,
        next: i64,
        end: i64,
    },
}

/// The outcome of a step.
pub(super) enum Step<'p> {
    /// It continues.
    On,
    /// It waits at a barrier.
    Waits(&'p Stmt),
    /// It awaits a signal, in the statement that it is at.
    Awaits,
    /// It has ended.
    Ends,
    /// A check has failed.
    Fails(Box<EvalError>),
}

impl<'p> Thread<'p> {
    /// A thread before its first statement.
    pub(super) fn new(number: i64, group: i64, frame: Frame<'p>, stmts: &'p [Stmt]) -> Self {
        let list = List { stmts, at: 0, again: Continuation::Nothing };
        Self { number, subgroup: group, subgroup_barriers: 0, signals: 0, frame, lists: vec![list] }
    }

    fn push(&mut self, stmts: &'p [Stmt], again: Continuation<'p>) {
        self.lists.push(List { stmts, at: 0, again });
    }

    /// Executes the next statement, or ends a list.
    pub(super) fn step(&mut self, machine: &mut Machine<'p>) -> Result<Step<'p>> {
        let Some(list) = self.lists.last_mut() else {
            return Ok(Step::Ends);
        };
        machine.charge(1)?;
        let Some(stmt) = list.stmts.get(list.at) else {
            self.end_of_list()?;
            return Ok(Step::On);
        };
        list.at += 1;
        match stmt {
            Stmt::If(cond, yes, no) => {
                let taken = if self.frame.values().bool(cond)? { yes } else { no };
                self.push(taken, Continuation::Nothing);
            }
            Stmt::While(cond, body) => {
                if self.holds(*cond)? {
                    self.push(body, Continuation::While(*cond));
                }
            }
            Stmt::For(f) => self.enter(f)?,
            Stmt::Device(DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_)) => {
                return Ok(Step::Waits(stmt));
            }
            Stmt::Device(DeviceOp::Await { var, at }) => {
                if !machine.try_await(&mut self.frame, *var, at)? {
                    list.at -= 1;
                    return Ok(Step::Awaits);
                }
            }
            crate::leaf_stmt!() => match machine.located_stmt(&mut self.frame, stmt) {
                Err(error) if error.class == ErrorClass::Failure => {
                    return Ok(Step::Fails(error));
                }
                result => result?,
            },
        }
        Ok(Step::On)
    }

    fn holds(&self, cond: Var) -> Result<bool> {
        Ok(self.frame.values().scalar_var(cond)? == Scalar::Bool(true))
    }

    fn enter(&mut self, f: &'p For) -> Result<()> {
        if !matches!(f.mode, LoopMode::Seq { .. } | LoopMode::Scheduled) {
            return bug("a thread has threads of its own");
        }
        let values = self.frame.values();
        let (from, to) = (values.scalar(&f.from)?, values.scalar(&f.to)?);
        let (Some(first), Some(end)) = (from.as_i64(), to.as_i64()) else {
            return bug("a loop's bounds are no integers");
        };
        if first < end {
            let ty = from.ty();
            self.frame.set(f.var, Slot::Scalar(Scalar::int(ty, first)))?;
            let next = first + 1;
            self.push(&f.body, Continuation::For { f, ty, next, end });
        }
        Ok(())
    }

    fn end_of_list(&mut self) -> Result<()> {
        let Some(list) = self.lists.last_mut() else {
            return Ok(());
        };
        match &mut list.again {
            Continuation::For { f, ty, next, end } if *next < *end => {
                let counter = Scalar::int(*ty, *next);
                *next += 1;
                list.at = 0;
                return self.frame.set(f.var, Slot::Scalar(counter));
            }
            Continuation::While(cond) => {
                let cond = *cond;
                if self.holds(cond)? {
                    if let Some(list) = self.lists.last_mut() {
                        list.at = 0;
                    }
                    return Ok(());
                }
            }
            Continuation::For { .. } | Continuation::Nothing => {}
        }
        self.lists.pop();
        Ok(())
    }
}

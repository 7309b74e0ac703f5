//! Renaming and substitution of variables in statements.

use crate::syntax::{
    Access, Arg, DeviceOp, Expr, For, LaneAccess, LanePositions, LoopMode, Region, SharedBuffer, Slices,
    Slots, Stmt, Var,
};
use crate::walk::each_part_mut;

/// Calls `f` on every occurrence of a variable in statements, also in nested ones and in the lists
/// of launches.
pub(crate) fn each_var_mut(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Var)) {
    Change { f, with: None }.stmts(stmts);
}

/// Substitutes an expression for a variable that the statements read and do not set.
pub(crate) fn replace(stmts: &mut [Stmt], var: Var, by: &Expr) {
    let mut change = Change { f: &mut |_| (), with: Some((var, by)) };
    change.stmts(stmts);
}

struct Change<'f> {
    f: &'f mut dyn FnMut(&mut Var),
    /// The variable and the expression to substitute for it.
    with: Option<(Var, &'f Expr)>,
}

impl Change<'_> {
    fn stmts(&mut self, stmts: &mut [Stmt]) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt);
            }
        });
    }

    fn set(&mut self, var: &mut Var) {
        (self.f)(var);
    }

    fn all(&mut self, vars: &mut [Var]) {
        vars.iter_mut().for_each(|var| self.set(var));
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Set(v, e) | Stmt::Alloc(v, e, _) => {
                self.set(v);
                self.expr(e);
            }
            Stmt::Load(v, from) => {
                self.set(v);
                self.access(from);
            }
            Stmt::Store(to, e) => {
                self.access(to);
                self.expr(e);
            }
            Stmt::LoadLanes { var, from, mask } => {
                self.set(var);
                self.lane_access(from);
                mask.iter_mut().for_each(|mask| self.expr(mask));
            }
            Stmt::StoreLanes { to, value, mask } => {
                self.lane_access(to);
                self.expr(value);
                mask.iter_mut().for_each(|mask| self.expr(mask));
            }
            Stmt::Frame { buffer, elem: _, count: _ } => self.set(buffer),
            Stmt::ConstData(v, _) | Stmt::ReadGlobal(v, _) | Stmt::WriteGlobal(_, v) | Stmt::Release(v) => {
                self.set(v);
            }
            Stmt::Share(v, w) | Stmt::Borrow(v, w) => {
                self.set(v);
                self.set(w);
            }
            Stmt::Slots(Slots::New(v, e, _)) => {
                self.set(v);
                self.expr(e);
            }
            Stmt::Slots(Slots::Put { slots, at, block: var } | Slots::Get { var, slots, at }) => {
                self.set(slots);
                self.expr(at);
                self.set(var);
            }
            Stmt::Copy { to, from, elem: _, extents, plan: _ } => {
                for Region { buffer, offset, strides } in [to, from] {
                    self.set(buffer);
                    self.expr(offset);
                    self.exprs(strides);
                }
                self.exprs(extents);
            }
            Stmt::If(cond, yes, no) => {
                self.expr(cond);
                self.stmts(yes);
                self.stmts(no);
            }
            Stmt::While(cond, body) => {
                self.set(cond);
                self.stmts(body);
            }
            Stmt::For(For { mode: how, var, from, to, body }) => {
                self.expr(from);
                self.expr(to);
                self.set(var);
                match how {
                    LoopMode::Seq { independent: _ } | LoopMode::Scheduled | LoopMode::Lanes(_) => {}
                    LoopMode::Threads(locals) => self.all(locals),
                    LoopMode::Tasks(launch) | LoopMode::Grid(launch) => {
                        self.expr(&mut launch.cost);
                        if let Some(Slices { count, end, merge_adjacent: _ }) = launch.slices.as_deref_mut() {
                            self.expr(count);
                            self.set(end);
                        }
                        for SharedBuffer { buffer, bytes } in &mut launch.shared_buffers {
                            self.set(buffer);
                            self.expr(bytes);
                        }
                        self.all(&mut launch.owned);
                        self.all(&mut launch.locals);
                        self.all(&mut launch.captures);
                        self.all(&mut launch.distinct);
                        self.all(&mut launch.scattered);
                    }
                }
                self.stmts(body);
            }
            Stmt::Call { fun: _, args, results, location: _ } => {
                for arg in args {
                    match arg {
                        Arg::Scalar(e) => self.expr(e),
                        Arg::Buffer(v) => self.set(v),
                    }
                }
                self.all(results);
            }
            Stmt::RecordComparison(_, size) => self.expr(size),
            Stmt::Device(DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_)) => {}
            Stmt::Device(DeviceOp::Update(update)) => {
                self.access(&mut update.at);
                self.expr(&mut update.value);
                update.old.iter_mut().for_each(|old| self.set(old));
            }
            Stmt::Device(DeviceOp::CompareExchange { old, at, expected, value }) => {
                self.set(old);
                self.access(at);
                self.expr(expected);
                self.expr(value);
            }
            Stmt::Device(DeviceOp::Signal { at, value }) => {
                self.access(at);
                self.expr(value);
            }
            Stmt::Device(DeviceOp::Await { var, at }) => {
                self.set(var);
                self.access(at);
            }
            Stmt::Check { cond, check: _, values } => {
                self.expr(cond);
                self.exprs(values);
            }
        }
    }

    fn access(&mut self, access: &mut Access) {
        self.set(&mut access.buffer);
        self.expr(&mut access.offset);
        for (index, stride) in &mut access.dims {
            self.expr(index);
            self.expr(stride);
        }
    }

    fn lane_access(&mut self, access: &mut LaneAccess) {
        self.set(&mut access.buffer);
        match &mut access.at {
            LanePositions::Unit(at) | LanePositions::SmallStride(at, _) | LanePositions::Gather(at) => {
                self.expr(at);
            }
            LanePositions::Strided(at, stride) => {
                self.expr(at);
                self.expr(stride);
            }
        }
    }

    fn exprs(&mut self, exprs: &mut [Expr]) {
        exprs.iter_mut().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, e: &mut Expr) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            if let Expr::Var(v) = e {
                match self.with {
                    Some((var, by)) if var == *v => *e = by.clone(),
                    _ => self.set(v),
                }
            } else {
                each_part_mut(e, &mut |part| self.expr(part));
            }
        });
    }
}

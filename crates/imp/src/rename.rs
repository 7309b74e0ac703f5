//! Renaming and substitution of variables in statements.

use crate::syntax::{
    Access, Arg, DeviceOp, Expr, For, LaneAccess, LanePositions, Launch, LoopMode, Region, Slots, Stmt, Var,
};
use crate::walk::each_part_mut;

/// Calls `f` on every occurrence of a variable in statements, also in nested ones and in the lists
/// of launches.
pub fn each_var_mut(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Var)) {
    Change { f, with: None }.stmts(stmts);
}

/// Substitutes an expression for a variable that the statements read and do not set.
pub fn replace(stmts: &mut [Stmt], var: Var, by: &Expr) {
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

    fn stmt(&mut self, stmt: &mut Stmt) {
        own_exprs_mut(stmt, &mut |e| self.expr(e));
        own_vars_mut(stmt, self.f);
        match stmt {
            Stmt::If(_, yes, no) => {
                self.stmts(yes);
                self.stmts(no);
            }
            Stmt::While(_, body) | Stmt::For(For { body, .. }) => self.stmts(body),
            crate::leaf_stmt!() => {}
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            if let Expr::Var(v) = e {
                match self.with {
                    Some((var, by)) if var == *v => *e = by.clone(),
                    _ => (self.f)(v),
                }
            } else {
                each_part_mut(e, &mut |part| self.expr(part));
            }
        });
    }
}

/// Calls `f` on the expressions of a statement, without those of its nested statements.
pub fn own_exprs_mut(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Expr)) {
    match stmt {
        Stmt::Set(_, e)
        | Stmt::Alloc(_, e, _)
        | Stmt::Slots(Slots::New(_, e, _) | Slots::Put { at: e, .. } | Slots::Get { at: e, .. })
        | Stmt::If(e, _, _)
        | Stmt::RecordComparison(_, e) => f(e),
        Stmt::Load(_, from) => access_exprs_mut(from, f),
        Stmt::Store(to, e) => {
            access_exprs_mut(to, f);
            f(e);
        }
        Stmt::LoadLanes { var: _, from, mask } => {
            lane_access_exprs_mut(from, f);
            mask.iter_mut().for_each(f);
        }
        Stmt::StoreLanes { to, value, mask } => {
            lane_access_exprs_mut(to, f);
            f(value);
            mask.iter_mut().for_each(f);
        }
        Stmt::Copy { to, from, elem: _, extents, plan: _ } => {
            for Region { buffer: _, offset, strides } in [to, from] {
                f(offset);
                strides.iter_mut().for_each(&mut *f);
            }
            extents.iter_mut().for_each(f);
        }
        Stmt::For(For { mode, var: _, from, to, body: _ }) => {
            f(from);
            f(to);
            if let Some(launch) = mode.launch_mut() {
                f(&mut launch.cost);
                launch.slices.iter_mut().for_each(|slices| f(&mut slices.count));
                launch.shared_buffers.iter_mut().for_each(|shared| f(&mut shared.bytes));
            }
        }
        Stmt::Call { fun: _, args, results: _, location: _ } => {
            for arg in args {
                if let Arg::Scalar(e) = arg {
                    f(e);
                }
            }
        }
        Stmt::Check { cond, check: _, values } => {
            f(cond);
            values.iter_mut().for_each(f);
        }
        Stmt::Device(DeviceOp::Update(update)) => {
            access_exprs_mut(&mut update.at, f);
            f(&mut update.value);
        }
        Stmt::Device(DeviceOp::CompareExchange { old: _, at, expected, value }) => {
            access_exprs_mut(at, f);
            f(expected);
            f(value);
        }
        Stmt::Device(DeviceOp::Signal { at, value }) => {
            access_exprs_mut(at, f);
            f(value);
        }
        Stmt::Device(DeviceOp::Await { var: _, at }) => access_exprs_mut(at, f),
        Stmt::Device(DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_))
        | Stmt::Frame { .. }
        | Stmt::ConstData(..)
        | Stmt::ReadGlobal(..)
        | Stmt::WriteGlobal(..)
        | Stmt::Release(_)
        | Stmt::Share(..)
        | Stmt::Borrow(..)
        | Stmt::While(..) => {}
    }
}

fn access_exprs_mut(access: &mut Access, f: &mut dyn FnMut(&mut Expr)) {
    f(&mut access.offset);
    for (index, stride) in &mut access.dims {
        f(index);
        f(stride);
    }
}

fn lane_access_exprs_mut(access: &mut LaneAccess, f: &mut dyn FnMut(&mut Expr)) {
    match &mut access.at {
        LanePositions::Unit(at) | LanePositions::SmallStride(at, _) | LanePositions::Gather(at) => f(at),
        LanePositions::Strided(at, stride) => {
            f(at);
            f(stride);
        }
    }
}

/// Calls `f` on the variables of a statement outside of expressions, without those of its nested
/// statements.
fn own_vars_mut(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Var)) {
    match stmt {
        Stmt::Set(v, _)
        | Stmt::Alloc(v, _, _)
        | Stmt::Frame { buffer: v, .. }
        | Stmt::ConstData(v, _)
        | Stmt::ReadGlobal(v, _)
        | Stmt::WriteGlobal(_, v)
        | Stmt::Release(v)
        | Stmt::While(v, _)
        | Stmt::Slots(Slots::New(v, _, _)) => f(v),
        Stmt::Load(v, Access { buffer, .. })
        | Stmt::LoadLanes { var: v, from: LaneAccess { buffer, .. }, .. } => {
            f(v);
            f(buffer);
        }
        Stmt::Store(Access { buffer, .. }, _) | Stmt::StoreLanes { to: LaneAccess { buffer, .. }, .. } => {
            f(buffer);
        }
        Stmt::Share(v, w) | Stmt::Borrow(v, w) => {
            f(v);
            f(w);
        }
        Stmt::Slots(Slots::Put { slots, at: _, block: var } | Slots::Get { var, slots, at: _ }) => {
            f(slots);
            f(var);
        }
        Stmt::Copy { to, from, .. } => {
            f(&mut to.buffer);
            f(&mut from.buffer);
        }
        Stmt::For(For { mode, var, .. }) => {
            f(var);
            mode_vars_mut(mode, f);
        }
        Stmt::Call { fun: _, args, results, location: _ } => {
            for arg in args {
                if let Arg::Buffer(v) = arg {
                    f(v);
                }
            }
            results.iter_mut().for_each(f);
        }
        Stmt::Device(DeviceOp::Update(update)) => {
            f(&mut update.at.buffer);
            update.old.iter_mut().for_each(f);
        }
        Stmt::Device(DeviceOp::CompareExchange { old: var, at, .. } | DeviceOp::Await { var, at }) => {
            f(var);
            f(&mut at.buffer);
        }
        Stmt::Device(DeviceOp::Signal { at, .. }) => f(&mut at.buffer),
        Stmt::Device(DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_))
        | Stmt::If(..)
        | Stmt::RecordComparison(..)
        | Stmt::Check { .. } => {}
    }
}

/// Calls `f` on the variables in the lists of a loop's mode.
pub fn mode_vars_mut(mode: &mut LoopMode, f: &mut dyn FnMut(&mut Var)) {
    match mode {
        LoopMode::Seq { independent: _ } | LoopMode::Scheduled | LoopMode::Lanes(_) => {}
        LoopMode::Threads(locals) => locals.iter_mut().for_each(f),
        LoopMode::Tasks(launch) | LoopMode::Grid(launch) => {
            launch.slices.iter_mut().for_each(|slices| f(&mut slices.end));
            launch.shared_buffers.iter_mut().for_each(|shared| f(&mut shared.buffer));
            let Launch { owned, locals, captures, distinct, scattered, .. } = launch;
            for list in [owned, locals, captures, distinct, scattered] {
                list.iter_mut().for_each(&mut *f);
            }
        }
    }
}

//! Variables of a function become those of another.

use crate::syntax::{
    Access, Arg, Expr, For, How, LaneAccess, LanePositions, Region, Stmt, Var, VarInfo,
};
use crate::walk::each_part_mut;
use rustc_hash::FxHashMap;

/// New variables for those that come up, in order.
pub(super) struct Renaming<'f> {
    from: &'f [VarInfo],
    new: FxHashMap<Var, Var>,
    old: Vec<Var>,
}

impl<'f> Renaming<'f> {
    /// From a function with these variables.
    pub(super) fn new(from: &'f [VarInfo]) -> Self {
        Self {
            from,
            new: FxHashMap::default(),
            old: Vec::new(),
        }
    }

    /// The old variables, by the numbers of the new ones.
    pub(super) fn old(&self) -> &[Var] {
        &self.old
    }

    /// The new function's variables.
    pub(super) fn into_vars(self) -> Vec<VarInfo> {
        let info = |var: &Var| self.from[var.index()].clone();
        self.old.iter().map(info).collect()
    }

    /// The new variable for an old one.
    pub(super) fn var(&mut self, var: Var) -> Var {
        *self.new.entry(var).or_insert_with(|| {
            self.old.push(var);
            Var(self.old.len() as u32 - 1)
        })
    }

    /// Renames all variables in statements.
    pub(super) fn stmts(&mut self, stmts: &mut [Stmt]) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt);
            }
        });
    }

    fn set(&mut self, var: &mut Var) {
        *var = self.var(*var);
    }

    fn all(&mut self, vars: &mut [Var]) {
        vars.iter_mut().for_each(|var| self.set(var));
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Set(v, e) | Stmt::Alloc(v, e) => {
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
            Stmt::Frame {
                buffer,
                elem: _,
                count: _,
            } => self.set(buffer),
            Stmt::ConstData(v, _)
            | Stmt::ReadGlobal(v, _)
            | Stmt::WriteGlobal(_, v)
            | Stmt::Release(v) => self.set(v),
            Stmt::Share(v, w) | Stmt::Borrow(v, w) => {
                self.set(v);
                self.set(w);
            }
            Stmt::Copy {
                to,
                from,
                elem: _,
                extents,
            } => {
                for Region {
                    buffer,
                    offset,
                    strides,
                } in [to, from]
                {
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
            Stmt::For(For {
                how,
                var,
                from,
                to,
                body,
            }) => {
                self.expr(from);
                self.expr(to);
                self.set(var);
                match how {
                    How::Seq { independent: _ } | How::Scheduled | How::Lanes(_) => {}
                    How::Tasks(launch) => {
                        self.expr(&mut launch.cost);
                        self.all(&mut launch.owned);
                        self.all(&mut launch.locals);
                        self.all(&mut launch.distinct);
                    }
                }
                self.stmts(body);
            }
            Stmt::Call {
                fun: _,
                args,
                results,
            } => {
                for arg in args {
                    match arg {
                        Arg::Scalar(e) => self.expr(e),
                        Arg::Buffer(v) => self.set(v),
                    }
                }
                self.all(results);
            }
            Stmt::Check {
                cond,
                check: _,
                values,
            } => {
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
            LanePositions::Unit(at) | LanePositions::Each(at) => self.expr(at),
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
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || match e {
            Expr::Var(v) => self.set(v),
            _ => each_part_mut(e, &mut |part| self.expr(part)),
        });
    }
}

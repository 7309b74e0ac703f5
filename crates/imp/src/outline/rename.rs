//! Statements under other variables, with all that is in them.

use crate::syntax::{
    Access, Arg, Expr, For, How, LaneAccess, LanePositions, Launch, Region, Stmt, Var,
};
use crate::walk::each_part_mut;

/// Gives every variable that statements name, at any depth, another name.
pub(super) fn rename(stmts: &mut [Stmt], new: &mut dyn FnMut(Var) -> Var) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            in_stmt(stmt, new);
        }
    });
}

fn in_stmt(stmt: &mut Stmt, new: &mut dyn FnMut(Var) -> Var) {
    match stmt {
        Stmt::Set(v, e) | Stmt::Alloc(v, e) => {
            in_expr(e, new);
            *v = new(*v);
        }
        Stmt::Load(v, access) => {
            in_access(access, new);
            *v = new(*v);
        }
        Stmt::Store(access, e) => {
            in_access(access, new);
            in_expr(e, new);
        }
        Stmt::LoadLanes { var, from, mask } => {
            in_lane_access(from, new);
            mask.iter_mut().for_each(|mask| in_expr(mask, new));
            *var = new(*var);
        }
        Stmt::StoreLanes { to, value, mask } => {
            in_lane_access(to, new);
            in_expr(value, new);
            mask.iter_mut().for_each(|mask| in_expr(mask, new));
        }
        Stmt::Frame {
            buffer: v,
            elem: _,
            count: _,
        }
        | Stmt::Release(v)
        | Stmt::ConstData(v, _)
        | Stmt::ReadGlobal(v, _)
        | Stmt::WriteGlobal(_, v) => *v = new(*v),
        Stmt::Share(v, w) | Stmt::Borrow(v, w) => {
            *v = new(*v);
            *w = new(*w);
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
                *buffer = new(*buffer);
                in_expr(offset, new);
                strides.iter_mut().for_each(|e| in_expr(e, new));
            }
            extents.iter_mut().for_each(|e| in_expr(e, new));
        }
        Stmt::If(cond, yes, no) => {
            in_expr(cond, new);
            rename(yes, new);
            rename(no, new);
        }
        Stmt::While(v, body) => {
            *v = new(*v);
            rename(body, new);
        }
        Stmt::For(For {
            how,
            var,
            from,
            to,
            body,
        }) => {
            *var = new(*var);
            in_expr(from, new);
            in_expr(to, new);
            if let How::Tasks(Launch {
                id: _,
                name: _,
                provenance: _,
                cost,
                owned,
                locals,
                distinct,
            }) = how
            {
                in_expr(cost, new);
                for list in [owned, locals, distinct] {
                    list.iter_mut().for_each(|v| *v = new(*v));
                }
            }
            rename(body, new);
        }
        Stmt::Call {
            fun: _,
            args,
            results,
        } => {
            for arg in args {
                match arg {
                    Arg::Scalar(e) => in_expr(e, new),
                    Arg::Buffer(v) => *v = new(*v),
                }
            }
            results.iter_mut().for_each(|v| *v = new(*v));
        }
        Stmt::Check {
            cond,
            check: _,
            values,
        } => {
            in_expr(cond, new);
            values.iter_mut().for_each(|e| in_expr(e, new));
        }
    }
}

fn in_access(access: &mut Access, new: &mut dyn FnMut(Var) -> Var) {
    let Access {
        buffer,
        elem: _,
        offset,
        dims,
    } = access;
    *buffer = new(*buffer);
    in_expr(offset, new);
    for (index, stride) in dims {
        in_expr(index, new);
        in_expr(stride, new);
    }
}

fn in_lane_access(access: &mut LaneAccess, new: &mut dyn FnMut(Var) -> Var) {
    access.buffer = new(access.buffer);
    match &mut access.at {
        LanePositions::Unit(at) | LanePositions::Each(at) => in_expr(at, new),
        LanePositions::Strided(at, stride) => {
            in_expr(at, new);
            in_expr(stride, new);
        }
    }
}

fn in_expr(expr: &mut Expr, new: &mut dyn FnMut(Var) -> Var) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || match expr {
        Expr::Var(v) => *v = new(*v),
        _ => each_part_mut(expr, &mut |part| in_expr(part, new)),
    });
}

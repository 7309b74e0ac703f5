//! Walks over statements: every statement, and which variables a loop's body
//! names and which of them are its own.

use imp::{Access, Arg, Expr, For, How, LaneAccess, LanePositions, Region, Stmt, Var};
use rustc_hash::FxHashSet;

/// Calls `f` on every statement, outer ones first.
pub fn each_stmt<'s>(stmts: &'s [Stmt], f: &mut dyn FnMut(&'s Stmt)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stmt in stmts {
            f(stmt);
            match stmt {
                Stmt::If(_, yes, no) => {
                    each_stmt(yes, f);
                    each_stmt(no, f);
                }
                Stmt::While(_, body) | Stmt::For(For { body, .. }) => each_stmt(body, f),
                _ => {}
            }
        }
    });
}

/// The variables that a loop's body names but that do not belong to it, in the
/// order in which they are named first.
pub fn captured(body: &[Stmt], own: &[&[Var]]) -> Vec<Var> {
    let mut bound: FxHashSet<Var> = own.iter().copied().flatten().copied().collect();
    let mut named = Vec::new();
    let mut seen = FxHashSet::default();
    each_stmt(body, &mut |stmt| {
        if let Stmt::For(f) = stmt {
            bound.insert(f.var);
            if let How::Tasks(launch) = &f.how {
                bound.extend(launch.owned.iter().chain(&launch.locals));
            }
        }
        names(stmt, &mut |var| {
            if seen.insert(var) {
                named.push(var);
            }
        });
    });
    named.retain(|var| !bound.contains(var));
    named
}

/// The variables that a statement names itself, without what is nested in it.
fn names(stmt: &Stmt, f: &mut dyn FnMut(Var)) {
    match stmt {
        Stmt::Set(v, e) | Stmt::Alloc(v, e) => {
            f(*v);
            in_expr(e, f);
        }
        Stmt::Load(v, access) => {
            f(*v);
            in_access(access, f);
        }
        Stmt::Store(access, e) => {
            in_access(access, f);
            in_expr(e, f);
        }
        Stmt::LoadLanes { var, from, mask } => {
            f(*var);
            in_lanes(from, mask.as_ref(), f);
        }
        Stmt::StoreLanes { to, value, mask } => {
            in_lanes(to, mask.as_ref(), f);
            in_expr(value, f);
        }
        Stmt::Frame { buffer: v, .. }
        | Stmt::Release(v)
        | Stmt::ConstData(v, _)
        | Stmt::ReadGlobal(v, _)
        | Stmt::WriteGlobal(_, v)
        | Stmt::While(v, _) => f(*v),
        Stmt::Share(v, w) | Stmt::Borrow(v, w) => {
            f(*v);
            f(*w);
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
                f(*buffer);
                in_expr(offset, f);
                in_exprs(strides, f);
            }
            in_exprs(extents, f);
        }
        Stmt::If(cond, _, _) => in_expr(cond, f),
        Stmt::For(For {
            how,
            var,
            from,
            to,
            body: _,
        }) => {
            f(*var);
            in_expr(from, f);
            in_expr(to, f);
            if let How::Tasks(launch) = how {
                in_expr(&launch.cost, f);
            }
        }
        Stmt::Call {
            fun: _,
            args,
            results,
        } => {
            for arg in args {
                match arg {
                    Arg::Scalar(e) => in_expr(e, f),
                    Arg::Buffer(v) => f(*v),
                }
            }
            for v in results {
                f(*v);
            }
        }
        Stmt::Check {
            cond,
            check: _,
            values,
        } => {
            in_expr(cond, f);
            in_exprs(values, f);
        }
    }
}

fn in_access(access: &Access, f: &mut dyn FnMut(Var)) {
    f(access.buffer);
    in_expr(&access.offset, f);
    for (index, stride) in &access.dims {
        in_expr(index, f);
        in_expr(stride, f);
    }
}

fn in_lanes(access: &LaneAccess, mask: Option<&Expr>, f: &mut dyn FnMut(Var)) {
    f(access.buffer);
    match &access.at {
        LanePositions::Unit(x) | LanePositions::Each(x) => in_expr(x, f),
        LanePositions::Strided(x, y) => {
            in_expr(x, f);
            in_expr(y, f);
        }
    }
    if let Some(mask) = mask {
        in_expr(mask, f);
    }
}

fn in_exprs(exprs: &[Expr], f: &mut dyn FnMut(Var)) {
    for expr in exprs {
        in_expr(expr, f);
    }
}

fn in_expr(expr: &Expr, f: &mut dyn FnMut(Var)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || match expr {
        Expr::Const(_) | Expr::Lanes(..) => {}
        Expr::Var(v) => f(*v),
        Expr::Unary(_, _, x)
        | Expr::Convert(_, _, _, x)
        | Expr::Splat(_, x)
        | Expr::Any(x)
        | Expr::All(x)
        | Expr::FirstLane(x) => in_expr(x, f),
        Expr::Binary(_, _, x, y)
        | Expr::Compare(_, _, x, y)
        | Expr::Extract(x, y)
        | Expr::Shift(x, _, y) => {
            in_expr(x, f);
            in_expr(y, f);
        }
        Expr::Select(_, x, y, z) | Expr::Fma(_, x, y, z) | Expr::Insert(x, y, z) => {
            in_expr(x, f);
            in_expr(y, f);
            in_expr(z, f);
        }
        Expr::Math(_, _, args) => in_exprs(args, f),
    });
}

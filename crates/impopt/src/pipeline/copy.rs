//! Renaming of variables in straight-line code.

use imp::walk::{Use, each_use};
use imp::{Access, Expr, LaneAccess, LanePositions, Stmt, Var};
use rustc_hash::FxHashMap;

/// The new variable for each old one.
pub(super) type Renamed = FxHashMap<Var, Var>;

/// A straight-line statement in which the variables that it reads are renamed by `names`, and the
/// variable that it sets by `set`.
pub(super) fn renamed(stmt: &Stmt, names: &Renamed, set: &Renamed) -> Stmt {
    let var = |v: &Var| set.get(v).copied().unwrap_or(*v);
    let mask = |mask: &Option<Expr>| mask.as_ref().map(|mask| expr(mask, names));
    match stmt {
        Stmt::Set(v, e) => Stmt::Set(var(v), expr(e, names)),
        Stmt::Load(v, from) => Stmt::Load(var(v), access(from, names)),
        Stmt::Store(to, e) => Stmt::Store(access(to, names), expr(e, names)),
        Stmt::LoadLanes { var: v, from, mask: m } => {
            Stmt::LoadLanes { var: var(v), from: lane_access(from, names), mask: mask(m) }
        }
        Stmt::StoreLanes { to, value, mask: m } => {
            Stmt::StoreLanes { to: lane_access(to, names), value: expr(value, names), mask: mask(m) }
        }
        imp::resource_stmt!()
        | imp::nested_stmt!()
        | Stmt::Copy { .. }
        | Stmt::Call { .. }
        | Stmt::Check { .. }
        | Stmt::Device(_) => stmt.clone(),
    }
}

fn access(access: &Access, names: &Renamed) -> Access {
    let dims = access.dims.iter();
    Access {
        buffer: access.buffer,
        elem: access.elem,
        offset: expr(&access.offset, names),
        dims: dims.map(|(index, stride)| (expr(index, names), expr(stride, names))).collect(),
    }
}

fn lane_access(access: &LaneAccess, names: &Renamed) -> LaneAccess {
    LaneAccess {
        at: match &access.at {
            LanePositions::Unit(at) => LanePositions::Unit(expr(at, names)),
            LanePositions::SmallStride(at, by) => LanePositions::SmallStride(expr(at, names), *by),
            LanePositions::Strided(at, by) => LanePositions::Strided(expr(at, names), expr(by, names)),
            LanePositions::Gather(at) => LanePositions::Gather(expr(at, names)),
        },
        ..access.clone()
    }
}

fn expr(e: &Expr, names: &Renamed) -> Expr {
    let mut renaming = e.clone();
    rename(&mut renaming, names);
    renaming
}

fn rename(e: &mut Expr, names: &Renamed) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        if let Expr::Var(v) = e {
            if let Some(new) = names.get(v) {
                *v = *new;
            }
        } else {
            imp::walk::each_part_mut(e, &mut |part| rename(part, names));
        }
    });
}

/// The statements with each variable set once: all definitions of a variable but the last get new
/// variables from `fresh`.
pub(super) fn set_once(stmts: &[Stmt], mut fresh: impl FnMut(Var) -> Var) -> Vec<Stmt> {
    let mut settings: FxHashMap<Var, usize> = FxHashMap::default();
    let each_set = |stmt: &Stmt, f: &mut dyn FnMut(Var)| {
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                f(var);
            }
        });
    };
    for stmt in stmts {
        each_set(stmt, &mut |var| *settings.entry(var).or_default() += 1);
    }
    let mut current = Renamed::default();
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        let mut own = Renamed::default();
        each_set(stmt, &mut |var| {
            let left = settings.entry(var).or_default();
            *left = left.saturating_sub(1);
            own.insert(var, if *left > 0 { fresh(var) } else { var });
        });
        out.push(renamed(stmt, &current, &own));
        current.extend(own);
    }
    out
}

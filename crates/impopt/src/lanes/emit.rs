//! Vector code for one loop.
//!
//! ```text
//! for i in lo .. hi lanes(w) { body }
//!     groups = max(hi - lo, 0) / w
//!     for g in 0 .. groups { i = lo + g * w; <body in all lanes> }
//!     rest = hi - lo - groups * w
//!     if 0 < rest { i = lo + groups * w; mask = lane < rest; <body under mask> }
//! ```
//!
//! Large bodies are emitted once:
//!
//! ```text
//!     for g in 0 .. (count + w - 1) / w { i = lo + g * w; mask = lane < min(count - g * w, w); <body under mask> }
//! ```
//!
//! Code of a region (see [`divergence`](super::divergence)) is only executed if some lane is active
//! there. So uniform values may be computed, loaded, checked and stored by scalar code there, too.

use super::branch_probability::LikelyConditions;
use super::divergence::{Position, Region};
use super::value::{LaneValue, Shape, Shapes};
use crate::weight::likely_weight;
use imp::build::{max, min};
use imp::def_use::DefUse;
use imp::expr;
use imp::walk::each_stmt;
use imp::{Expr, For, LoopMode, Stmt, Var, VarInfo, VarType};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar, ScalarOp, UnOp};
use std::sync::Arc;
use target::Machine;

/// Vector code of bodies whose likely code has this weight is emitted once: below, masks cost up to
/// a tenth of the time.
const SINGLE_COPY_WEIGHT: u64 = 600;

/// The active lanes of a piece of code.
#[derive(Clone, Copy)]
pub(super) struct Mask {
    /// The mask variable; all lanes are active if there is none.
    pub(super) lanes: Option<Var>,
    /// The innermost region; outside of regions, values of inactive lanes are never read.
    pub(super) region: Option<Region>,
}

/// The emitter of a loop.
pub(super) struct Emit<'s, 'a> {
    pub(super) shapes: &'s Shapes<'a>,
    pub(super) def_use: &'s DefUse,
    pub(super) machine: Machine,
    /// The number of inner loops around the current statement.
    pub(super) inside: u32,
    /// The current statement.
    pub(super) here: Position,
    /// The vectors that were set in all lanes, although some are inactive, as nothing has set them
    /// before.
    pub(super) first_sets: Vec<Var>,
    /// New variables; their numbers follow those of the function.
    pub(super) fresh: Vec<VarInfo>,
    pub(super) out: Vec<Stmt>,
}

/// The statements that replace the loop, and the new variables that they need.
pub(super) fn vector_loop(
    shapes: &Shapes<'_>,
    def_use: &DefUse,
    f: &For,
    at: u32,
    machine: Machine,
) -> (Vec<Stmt>, Vec<VarInfo>) {
    let mut emit = Emit {
        shapes,
        def_use,
        machine,
        inside: 0,
        here: Position { at, outer: at },
        first_sets: Vec::new(),
        fresh: Vec::new(),
        out: Vec::new(),
    };
    emit.groups(f, at);
    (emit.out, emit.fresh)
}

impl Emit<'_, '_> {
    pub(super) fn var(&mut self, ty: VarType, hint: &str) -> Var {
        let number = self.shapes.vars.len() + self.fresh.len();
        self.fresh.push(VarInfo { ty, hint: Arc::from(hint) });
        Var::new(number)
    }

    /// A fresh variable, set to a value.
    pub(super) fn bind(&mut self, value: Expr, ty: VarType, hint: &str) -> Var {
        let var = self.var(ty, hint);
        self.out.push(Stmt::Set(var, value));
        var
    }

    fn name_i64(&mut self, value: Expr, hint: &str) -> Expr {
        if matches!(value, Expr::Const(_) | Expr::Var(_)) {
            return value;
        }
        Expr::Var(self.bind(value, VarType::Scalar(PrimType::I64), hint))
    }

    pub(super) fn mask(&mut self, value: Expr, hint: &str) -> Var {
        self.bind(value, VarType::Vector(PrimType::Bool, self.lanes()), hint)
    }

    pub(super) fn lanes(&self) -> u32 {
        self.shapes.lanes
    }

    /// The statements that `f` emits.
    pub(super) fn collect(&mut self, f: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        let before = std::mem::take(&mut self.out);
        f(self);
        std::mem::replace(&mut self.out, before)
    }

    /// The statements that `f` emits for the body of a loop.
    pub(super) fn loop_body(&mut self, f: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        self.inside += 1;
        let stmts = self.collect(f);
        self.inside -= 1;
        stmts
    }

    fn groups(&mut self, f: &For, at: u32) {
        let lanes = i64::from(self.lanes());
        let lo = self.name_i64(f.from.clone(), "lo");
        let count = constant(f.to.clone() - lo.clone());
        let count = if let Expr::Const(Scalar::I64(n)) = count {
            Expr::i64(n.max(0))
        } else {
            self.name_i64(max(count, 0), "count")
        };
        let groups = constant(count.clone() / lanes);
        let rest = constant(count.clone() - groups.clone() * lanes);
        let has_both = groups != Expr::i64(0) && rest != Expr::i64(0);
        if has_both && masks_all_groups(&f.body) {
            let groups = constant((count.clone() + (lanes - 1)) / lanes);
            return self.group_loop(groups, |emit, done| {
                let rest = min(count - done.clone(), lanes);
                emit.masked_group(f, at, lo + done, rest);
            });
        }
        let groups = self.name_i64(groups, "groups");
        if groups != Expr::i64(0) {
            let all = Mask { lanes: None, region: None };
            self.group_loop(groups.clone(), |emit, done| {
                emit.out.push(Stmt::Set(f.var, lo.clone() + done));
                emit.block(&f.body, at + 1, at, all);
            });
        }
        let done = self.name_i64(groups * lanes, "done");
        let rest = constant(count - done.clone());
        if rest == Expr::i64(0) {
            return;
        }
        let rest = self.name_i64(rest, "rest");
        let tail = self.collect(|emit| emit.masked_group(f, at, lo + done, rest.clone()));
        let any = expr!(0 < rest);
        self.out.push(Stmt::If(any, tail, Vec::new()));
    }

    /// A loop over groups; `f` emits the body, given the number of iterations before the group.
    fn group_loop(&mut self, groups: Expr, f: impl FnOnce(&mut Self, Expr)) {
        let g = self.var(VarType::Scalar(PrimType::I64), "group");
        let lanes = i64::from(self.lanes());
        let body = self.collect(|emit| f(emit, g * lanes));
        self.out.push(Stmt::For(For {
            mode: LoopMode::Seq { independent: true },
            var: g,
            from: Expr::i64(0),
            to: groups,
            body,
        }));
    }

    /// A group of which only the first lanes are active.
    fn masked_group(&mut self, f: &For, at: u32, first: Expr, active: Expr) {
        self.out.push(Stmt::Set(f.var, first));
        // The number of lanes fits in an `i8`.
        let active = Expr::convert(ConvOp::SExt, PrimType::I64, PrimType::I8, active);
        let mask = Expr::compare(
            CmpOp::SLt,
            PrimType::I8,
            Expr::LaneIds(PrimType::I8, self.lanes()),
            Expr::Splat(self.lanes(), Box::new(active)),
        );
        let mask = Mask { lanes: Some(self.mask(mask, "mask")), region: None };
        self.block(&f.body, at + 1, at, mask);
    }

    /// Sets a variable to a value in the lanes of a mask.
    pub(super) fn assign(&mut self, var: Var, value: LaneValue, mask: Mask) {
        let value = match (self.shapes.shape(var), value) {
            (Shape::Uniform, LaneValue::Uniform(e)) => e,
            (Shape::Affine(_), LaneValue::Affine(_, base, _)) => base,
            (_, value) => {
                let value = self.shapes.vector(value);
                self.blended(var, value, mask)
            }
        };
        self.out.push(Stmt::Set(var, value));
    }

    /// A vector, blended with the variable's old value in inactive lanes if that may be read.
    fn blended(&mut self, var: Var, value: Expr, mask: Mask) -> Expr {
        if let Some(lanes) = mask.lanes.filter(|_| self.must_blend(var, mask)) {
            let ty = self.shapes.type_of(&Expr::Var(var));
            return Expr::select(ty, Expr::Var(lanes), value, Expr::Var(var));
        }
        self.record_first_set(var, mask);
        value
    }

    /// Returns true if setting a variable in the lanes of a mask has to keep the others' values.
    pub(super) fn must_blend(&self, var: Var, mask: Mask) -> bool {
        mask.region.is_some_and(|region| region.must_blend(var, self.here, self.def_use))
    }

    /// Records that a variable that needs no blending is set under a mask.
    pub(super) fn record_first_set(&mut self, var: Var, mask: Mask) {
        if mask.region.is_some() && self.def_use.dominating_def(var).is_none() {
            self.first_sets.push(var);
        }
    }

    /// The lanes of a mask for which a condition holds.
    pub(super) fn restrict(mask: Option<Var>, cond: Expr) -> Expr {
        match mask {
            None => cond,
            Some(lanes) => Expr::binary(BinOp::And, PrimType::Bool, Expr::Var(lanes), cond),
        }
    }
}

/// Returns true if the vector code of a body is emitted once, under a mask, for full groups and the
/// remainder: it is large, so that the masks of its accesses cost little, and two copies would take
/// twice the time to compile. Straight-line bodies have two copies: their loop is
/// [pipelined](crate::pipeline).
fn masks_all_groups(body: &[Stmt]) -> bool {
    let mut branches = false;
    each_stmt(body, &mut |stmt| branches |= matches!(stmt, Stmt::If(..) | Stmt::While(..) | Stmt::For(_)));
    let likely = LikelyConditions::of(body);
    branches && likely_weight(body, &|cond| likely.holds(cond)) >= SINGLE_COPY_WEIGHT
}

/// The negation of a condition, or of a mask.
pub(super) fn not(e: Expr) -> Expr {
    Expr::unary(UnOp::Not, PrimType::Bool, e)
}

/// A condition: any lane of a mask is set.
pub(super) fn any(mask: Var) -> Expr {
    Expr::Any(Box::new(Expr::Var(mask)))
}

/// Folds an operator on `i64` constants.
fn constant(e: Expr) -> Expr {
    let Expr::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)) = &e else {
        return e;
    };
    let (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) = (&**x, &**y) else {
        return e;
    };
    if *op == BinOp::Sub {
        Expr::i64(x.wrapping_sub(*y))
    } else if *op == BinOp::UDiv && *y > 0 && *x >= 0 {
        Expr::i64(x / y)
    } else {
        e
    }
}

//! Packing of lines: values that are elements of arrays whose lines lie along the fold.
//!
//! ```text
//! ys[j * s + k]      for the columns j and the iterations k: a line of ys for each column
//! ```
//!
//! They are packed by transposing squares in registers ([`imp::CopyPlan::InRegister`]).

use super::pack::STRIP;
use super::reuse::{Plan, Side};
use super::tile::{Depth, Tile};
use imp::build::Operand;
use imp::copy_plan::{MOST_IN_REGISTERS, constant};
use imp::rename::each_expr_var_mut;
use imp::walk::each_var;
use imp::{Access, Expr, Region, Stmt, Var, bind};
use prim::PrimType;
use rustc_hash::FxHashSet;

/// The lines that a side's value is loaded from.
pub(super) struct Lines {
    access: Access,
    /// The distance between neighbouring lines.
    stride: Expr,
    /// The extent of the squares.
    side: usize,
}

/// The lines of all values of a side, of which `width` are packed together, if all are loaded from lines by a fold
/// of one loop.
pub(super) fn lines(plan: &Plan<'_>, side: Side, width: i64) -> Option<Vec<Lines>> {
    let (counter, values) = match side {
        Side::Row => (plan.rows.var, &plan.row_values),
        Side::Column => (plan.columns.var, &plan.column_values),
    };
    let fold = &plan.nest.fold;
    if fold.inner.is_some() {
        return None;
    }
    let inside: FxHashSet<Var> =
        plan.nest.before.iter().chain(fold.stmts()).flat_map(super::reuse::sets).collect();
    let of = |&(value, ty): &(Var, PrimType)| {
        let mut loads = fold.stmts().filter_map(|stmt| {
            if let Stmt::Load(var, access) = stmt { (*var == value).then_some(access) } else { None }
        });
        let (Some(access), None) = (loads.next(), loads.next()) else {
            return None;
        };
        let stride = distance(access, counter, fold.head.var, &inside)?;
        let elements = plan.vector_bytes / ty.size() as u32;
        let side = elements.min(MOST_IN_REGISTERS).min(width.unsigned_abs() as u32) as usize;
        (access.elem == ty && side >= 2).then(|| Lines {
            access: access.clone(),
            stride: stride.clone(),
            side,
        })
    };
    values.iter().map(of).collect()
}

/// The distance of elements whose counters differ by one, if elements of neighbouring iterations of the fold are
/// neighbours, and nothing else varies.
fn distance<'a>(access: &'a Access, counter: Var, fold: Var, inside: &FxHashSet<Var>) -> Option<&'a Expr> {
    let varies = |expr: &Expr| mentions(expr, &|var| var == counter || var == fold || inside.contains(&var));
    let (mut along, mut across) = (0, None);
    for (index, stride) in &access.dims {
        if varies(stride) {
            return None;
        }
        if !varies(index) {
            continue;
        }
        if *index == Expr::Var(fold) && constant(stride) == Some(1) {
            along += 1;
        } else if *index == Expr::Var(counter) && across.is_none() {
            across = Some(stride);
        } else {
            return None;
        }
    }
    across.filter(|_| along == 1 && !varies(&access.offset))
}

impl Tile<'_, '_, '_, '_> {
    /// Packs the strip from position `done` on of `width` lines from `first` on.
    pub(super) fn squares(
        &mut self,
        side: Side,
        of: Depth,
        lines: &[Lines],
        (first, panel, done, width): (Operand, Operand, Operand, i64),
    ) {
        let blocks = match side {
            Side::Row => self.row_blocks.clone(),
            Side::Column => self.column_blocks.clone(),
        };
        for (line, block) in lines.iter().zip(blocks) {
            for at in (0..STRIP).step_by(line.side) {
                for across in (0..width).step_by(line.side) {
                    let g = &mut *self.g;
                    bind!(line_at = g(first + across));
                    bind!(position = g(done + at));
                    let from = self.line_from(side, line, line_at, of.first + position);
                    let g = &mut *self.g;
                    bind!(to = g((panel * of.pitch + position) * width + across));
                    let to = Region {
                        buffer: block,
                        offset: to.into(),
                        strides: vec![Expr::i64(1), Expr::i64(width)],
                    };
                    let extents = vec![Expr::i64(line.side as i64); 2];
                    g.emit(Stmt::copy(to, from, line.access.elem, extents));
                }
            }
        }
    }

    /// Neighbouring lines from these indices of the side's loop and of the fold on.
    fn line_from(&mut self, side: Side, line: &Lines, index: Operand, position: Expr) -> Region {
        let plan = self.plan;
        let head = match side {
            Side::Row => plan.rows,
            Side::Column => plan.columns,
        };
        let mut names = self.outer.clone();
        let g = &mut *self.g;
        for (counter, at) in [(head, index.into()), (&plan.nest.fold.head, position)] {
            let var = g.like(counter.var, &mut names);
            g.emit(Stmt::Set(var, counter.from.clone() + at));
        }
        let mut offset = line.access.offset.clone();
        for (index, stride) in &line.access.dims {
            offset = offset + index.clone() * stride.clone();
        }
        let mut exprs = [offset, line.stride.clone()];
        for expr in &mut exprs {
            each_expr_var_mut(expr, &mut |var| *var = names.get(var).copied().unwrap_or(*var));
        }
        let [offset, stride] = exprs;
        Region { buffer: line.access.buffer, offset, strides: vec![stride, Expr::i64(1)] }
    }
}

fn mentions(expr: &Expr, is: &dyn Fn(Var) -> bool) -> bool {
    let mut found = false;
    each_var(expr, &mut |var, _| found |= is(var));
    found
}

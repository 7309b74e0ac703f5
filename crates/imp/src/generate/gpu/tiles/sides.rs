//! Blocks of points: how they lie, and which of their points a thread has.
//!
//! A side of a block lies along a dimension. Along the innermost one, threads side by side
//! have points side by side, so that results go to memory in lines: a thread's points are as
//! far apart as there are threads. Along the other one a thread's points are neighbours, so that
//! it takes the elements of a turn from the scratchpad together.

use super::reads::By;
use super::{up, yes};
use crate::generate::expr::{add, and, binary, compare, div, min, mul, sub};
use crate::generate::function::Gen;
use crate::generate::operators::div_up;
use crate::syntax::{Expr, Stmt, Var};
use ir::name::Name;
use ir::syntax::Param;
use ir::types::Dim;
use ir::{Mems, PassError};
use prim::{BinOp, CmpOp, PrimType};

/// How the points of a block lie.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Threads along the outer dimension and along the innermost one.
    pub(super) threads: (i64, i64),
    /// Points of a side of what a thread computes.
    pub(super) points: i64,
    /// Turns of a tile.
    pub(super) depth: i64,
}

impl Shape {
    pub(super) const fn height(self) -> i64 {
        self.threads.0 * self.points
    }

    pub(super) const fn width(self) -> i64 {
        self.threads.1 * self.points
    }

    /// How long the sides of a block are, the outer one first; of one side, the innermost
    /// dimension's.
    pub(super) fn lengths(self, sides: usize) -> impl DoubleEndedIterator<Item = i64> + ExactSizeIterator {
        [self.height(), self.width()].into_iter().skip(2 - sides.min(2))
    }

    /// In how many rounds the threads of a block, so many, load a tile.
    pub(super) const fn rounds(self, by: By, block: i64) -> i64 {
        let (length, _) = self.line(by);
        up(self.depth * length, block)
    }

    /// How many elements of a turn a tile has, and how far apart turns lie: those that a
    /// thread takes of a row together do not lie across lines.
    pub(super) const fn line(self, by: By) -> (i64, i64) {
        match by {
            By::Row => (self.height(), self.height() + self.points),
            By::Column => (self.width(), self.width() + 1),
            By::Turn => (1, 1),
        }
    }
}

impl Side {
    /// Where a thread's points lie, by their number.
    pub(super) fn place(&self, number: i64) -> Expr {
        add(mul(self.own.clone(), Expr::i64(self.near)), Expr::i64(number * self.apart))
    }
}

/// A dimension of a block of points.
pub(super) struct Side {
    pub(super) index: Name,
    /// Its size.
    pub(super) size: Expr,
    /// How many blocks lie along it.
    pub(super) blocks: Expr,
    /// The block's first index.
    pub(super) first: Expr,
    /// The thread's place among those along the side.
    own: Expr,
    /// How far apart neighbouring threads' first points are, and a thread's points.
    near: i64,
    apart: i64,
    /// The indices of the thread's points, and the points whose place they take.
    pub(super) points: Vec<(Expr, Var)>,
}

/// A point of a thread: where it lies, and the variables that names stand for.
pub(super) struct Point {
    /// For each side, the outer one first, which of the thread's indices it has.
    pub(super) places: Vec<usize>,
    pub(super) vars: Vec<(Name, Var)>,
}

impl Point {
    /// Whether it is one of the space.
    pub(super) fn is_inside(&self, sides: &[Side]) -> Expr {
        let mut inside = yes();
        for (side, &place) in sides.iter().zip(&self.places) {
            let (index, _) = side.points[place].clone();
            inside = and(inside, compare(CmpOp::SLt, index, side.size.clone()));
        }
        inside
    }
}

impl Gen<'_, '_> {
    /// Blocks over the innermost dimensions of a space, one or two.
    pub(super) fn sides(&mut self, inner: &[(Name, Dim)], shape: Shape) -> Result<Vec<Side>, PassError> {
        let mut sides = Vec::with_capacity(inner.len());
        for (number, ((index, dim), length)) in inner.iter().zip(shape.lengths(inner.len())).enumerate() {
            let (near, apart) =
                if number + 1 == inner.len() { (1, shape.threads.1) } else { (shape.points, 1) };
            let size = self.dim(*dim)?;
            let along = div_up(size.clone(), length);
            sides.push(Side {
                index: *index,
                size,
                blocks: self.name_value(along, PrimType::I64, "along"),
                first: Expr::i64(0),
                own: Expr::i64(0),
                near,
                apart,
                points: Vec::new(),
            });
        }
        Ok(sides)
    }

    /// Where a block begins along its sides; what is left of its number counts the others.
    pub(super) fn first_indices(&mut self, sides: &mut [Side], shape: Shape, block: Var) -> Expr {
        let mut rest = Expr::Var(block);
        let lengths = shape.lengths(sides.len());
        for (side, length) in sides.iter_mut().zip(lengths).rev() {
            let number = binary(BinOp::UMod, rest.clone(), side.blocks.clone());
            let first = mul(number, Expr::i64(length));
            side.first = self.name_value(first, PrimType::I64, "first");
            rest = div(rest, side.blocks.clone());
            rest = self.name_value(rest, PrimType::I64, "rest");
        }
        rest
    }

    /// Where a thread stands in its block, and the indices of its points.
    pub(super) fn thread_indices(&mut self, sides: &mut [Side], thread: &Expr, shape: Shape) {
        let (_, columns) = shape.threads;
        let owns = if sides.len() == 1 {
            vec![thread.clone()]
        } else {
            let row = div(thread.clone(), Expr::i64(columns));
            let column = binary(BinOp::UMod, thread.clone(), Expr::i64(columns));
            vec![row, column]
        };
        for (side, own) in sides.iter_mut().zip(owns) {
            side.own = self.name_value(own, PrimType::I64, "own");
            let hint = self.function.names.hint(side.index).clone();
            let last = sub(side.size.clone(), Expr::i64(1));
            for number in 0..shape.points {
                let index = add(side.first.clone(), side.place(number));
                let index = self.name_value(index, PrimType::I64, "index");
                let var = self.scalar(PrimType::I64, &hint);
                self.emit(Stmt::Set(var, min(index.clone(), last.clone())));
                side.points.push((index, var));
            }
        }
    }

    /// Names stand for a point's variables.
    pub(super) fn enter(&mut self, point: &Point) {
        for &(name, var) in &point.vars {
            self.set_var(name, var);
        }
    }

    /// What has been bound stands for these variables at a point.
    pub(super) fn leave(&self, point: &mut Point, pat: &[Param<Mems>]) {
        for param in pat {
            if let Ok(var) = self.var(param.name) {
                point.vars.push((param.name, var));
            }
        }
    }
}

/// A thread's points, with the indices that they have.
pub(super) fn points(sides: &[Side]) -> Vec<Point> {
    let mut points = vec![Point { places: Vec::new(), vars: Vec::new() }];
    for side in sides {
        let mut more = Vec::with_capacity(points.len() * side.points.len());
        for point in &points {
            for (place, &(_, var)) in side.points.iter().enumerate() {
                let (mut places, mut vars) = (point.places.clone(), point.vars.clone());
                places.push(place);
                vars.push((side.index, var));
                more.push(Point { places, vars });
            }
        }
        points = more;
    }
    points
}

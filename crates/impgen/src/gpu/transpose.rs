//! Copies between device arrays that are not contiguous on both sides.
//!
//! Neighbouring threads copy elements that are neighbours in the target. If these are not
//! neighbours in the source, but the elements along another dimension are, the copy transposes the
//! two dimensions, in square tiles through shared memory; all other dimensions count matrices:
//!
//! ```text
//! block of a square   square[y, x] = from[.. y .. x ..]   x along the source
//!                     barrier
//!                     to[.. y .. x ..] = square[x, y]     x along the target
//! ```
//!
//! So both sides are accessed in rows. The rows of a tile are padded by one element: then the
//! elements of a column are in different banks.
//!
//! Matrices thinner than half a tile are copied element by element, with the thin dimension
//! innermost: then the wide side is contiguous, and neighbouring threads touch only a few rows of
//! the other side. The host chooses at run time.

use crate::function::Gen;
use crate::operators::{div_up, element_of_buffer};
use imp::build::{add, and, binary, compare, div, mul, select, sub};
use imp::copy_plan::constant;
use imp::{Access, Expr, MemoryId, Region, Stmt, Var, VarType};
use ir::syntax::Atom;
use ir::{PassError, Prov};
use prim::{BinOp, CmpOp, PrimType};

/// A dimension of a copy: its extent, and its strides on both sides.
#[derive(Clone, PartialEq)]
struct Dim {
    n: Expr,
    to: Expr,
    from: Expr,
}

/// The source and target of a copy.
#[derive(Clone, Copy)]
struct CopyOperands<'c> {
    to: &'c Region,
    from: &'c Region,
    elem: PrimType,
}

/// Two dimensions that a copy transposes.
struct Matrix<'d> {
    /// Contiguous in the target.
    across: &'d Dim,
    /// Contiguous in the source.
    down: &'d Dim,
    /// The other dimensions.
    outer: &'d [Dim],
}

impl Gen<'_, '_> {
    /// Copies elements between regions of device memory, by kernels.
    pub(super) fn copy_by_kernels(
        &mut self,
        to: &Region,
        from: &Region,
        elem: PrimType,
        extents: &[Expr],
    ) -> Result<(), PassError> {
        let sides = CopyOperands { to, from, elem };
        let strides = to.strides.iter().zip(&from.strides);
        let dims = extents.iter().zip(strides).map(|(n, (to, from))| Dim {
            n: n.clone(),
            to: to.clone(),
            from: from.clone(),
        });
        let mut dims: Vec<Dim> = dims.collect();
        let one = Expr::i64(1);
        let unit = |stride: fn(&Dim) -> &Expr| {
            let is_unit = |dim: &Dim| *stride(dim) == one && dim.n != one;
            dims.iter().rposition(is_unit)
        };
        let (across, down) = (unit(|dim| &dim.to), unit(|dim| &dim.from));
        let Some(inner) = across.or(down) else {
            return self.copy_elements(sides, &dims);
        };
        let across = dims.remove(inner);
        let Some(down) = down.filter(|down| *down != inner) else {
            dims.push(across);
            return self.copy_elements(sides, &dims);
        };
        let down = dims.remove(down - usize::from(down > inner));
        let matrix = Matrix { across: &across, down: &down, outer: &dims };
        let least = self.layout().tiles.square / 2;
        let is_thin = [&across, &down].iter().any(|dim| {
            let n = constant(&dim.n);
            n.is_some_and(|n| n < least)
        });
        if is_thin || !self.fuel.take() {
            return self.copy_thin_matrix(sides, &matrix);
        }
        let squares = self.collect(|g| g.copy_tiles(sides, &matrix))?;
        if [&across, &down].iter().all(|d| constant(&d.n).is_some()) {
            squares.into_iter().for_each(|stmt| self.emit(stmt));
            return Ok(());
        }
        let thin = self.collect(|g| g.copy_thin_matrix(sides, &matrix))?;
        let wide = |dim: &Dim| compare(CmpOp::SLe, Expr::i64(least), dim.n.clone());
        let wide = and(wide(&across), wide(&down));
        self.emit(Stmt::If(wide, squares, thin));
        Ok(())
    }

    /// Fills an array of the device with a scalar, or with an array for each of the outer indices.
    pub(crate) fn replicate_by_kernels(
        &mut self,
        to: &Region,
        (elem, shape): (PrimType, &[ir::types::Dim]),
        value: Atom,
        prov: Prov,
    ) -> Result<(), PassError> {
        let mut extents = Vec::with_capacity(shape.len());
        for &dim in shape {
            extents.push(self.dim(dim)?);
        }
        if let Atom::Var(array) = value
            && let Ok((_, block, lmad)) = self.location(array)
        {
            let mut from = self.region(block, &lmad)?;
            let outer = extents.len() - from.strides.len();
            let own = std::mem::take(&mut from.strides);
            from.strides = std::iter::repeat_n(Expr::i64(0), outer).chain(own).collect();
            return self.copy(to.clone(), from, elem, extents);
        }
        let value = self.atom(value)?;
        let mut dims: Vec<(Expr, Expr)> = extents.into_iter().zip(to.strides.clone()).collect();
        if let Some(inner) = dims.iter().rposition(|(_, stride)| *stride == Expr::i64(1)) {
            let across = dims.remove(inner);
            dims.push(across);
        }
        let (extents, strides): (Vec<Expr>, Vec<Expr>) = dims.into_iter().unzip();
        let n = extents.iter().cloned().fold(Expr::i64(1), mul);
        let access = |g: &mut Self, index: Expr| {
            let indices = g.delinearised(extents.iter(), index).into_iter();
            Ok(Access {
                buffer: to.buffer,
                elem,
                offset: to.offset.clone(),
                dims: indices.zip(strides.iter().cloned()).collect(),
            })
        };
        let many = Expr::i64(self.coarsening_threshold());
        self.coarsened(("replicate", prov), (n, many), access, |g, access| {
            g.emit(Stmt::Store(access, value.clone()));
            Ok(())
        })
    }

    /// Copies element by element, with several per thread; neighbouring threads are along the last
    /// dimension.
    fn copy_elements(&mut self, sides: CopyOperands<'_>, dims: &[Dim]) -> Result<(), PassError> {
        let along = |region: &Region, stride: fn(&Dim) -> &Expr| Region {
            strides: dims.iter().map(|dim| stride(dim).clone()).collect(),
            ..region.clone()
        };
        let to = along(sides.to, |dim| &dim.to);
        let from = along(sides.from, |dim| &dim.from);
        let extents: Vec<Expr> = dims.iter().map(|dim| dim.n.clone()).collect();
        let n = extents.iter().cloned().fold(Expr::i64(1), mul);
        let read = |g: &mut Self, index: Expr| Ok(g.read_element((&to, &from), sides.elem, &extents, index));
        let many = Expr::i64(self.coarsening_threshold());
        self.coarsened(("copy", Prov::NONE), (n, many), read, |g, (access, value)| {
            g.emit(Stmt::Store(access, Expr::Var(value)));
            Ok(())
        })
    }

    /// Delinearises a number over extents; the last index varies fastest.
    pub(super) fn delinearised<'e>(
        &mut self,
        extents: impl DoubleEndedIterator<Item = &'e Expr> + ExactSizeIterator,
        number: Expr,
    ) -> Vec<Expr> {
        let mut indices = Vec::with_capacity(extents.len());
        let mut rest = number;
        for (k, extent) in extents.enumerate().rev() {
            if k == 0 {
                indices.push(rest.clone());
            } else {
                let outer = div(rest.clone(), extent.clone());
                let outer = self.bind_value(outer, PrimType::I64, "rest");
                indices.push(sub(rest, mul(outer.clone(), extent.clone())));
                rest = outer;
            }
        }
        indices.reverse();
        indices
    }

    /// Copies element by element, with the shorter dimension of a matrix innermost.
    fn copy_thin_matrix(&mut self, sides: CopyOperands<'_>, matrix: &Matrix<'_>) -> Result<(), PassError> {
        let Matrix { across, down, outer } = matrix;
        let mut dims = outer.to_vec();
        if let (Some(n), Some(m)) = (constant(&across.n), constant(&down.n)) {
            let (long, thin) = if n < m { (down, across) } else { (across, down) };
            dims.extend([Dim::clone(long), Dim::clone(thin)]);
            return self.copy_elements(sides, &dims);
        }
        let is_thin = compare(CmpOp::SLt, across.n.clone(), down.n.clone());
        let is_thin = self.bind_value(is_thin, PrimType::Bool, "is_thin");
        let mut either = |yes: &Dim, no: &Dim| Dim {
            n: self.either(&is_thin, &yes.n, &no.n),
            to: self.either(&is_thin, &yes.to, &no.to),
            from: self.either(&is_thin, &yes.from, &no.from),
        };
        let (long, thin) = (either(down, across), either(across, down));
        dims.extend([long, thin]);
        self.copy_elements(sides, &dims)
    }

    fn either(&mut self, cond: &Expr, yes: &Expr, no: &Expr) -> Expr {
        if yes == no {
            return yes.clone();
        }
        self.bind_value(select(cond, yes, no), PrimType::I64, "along")
    }

    /// Copies in square tiles, one thread block for each.
    fn copy_tiles(&mut self, sides: CopyOperands<'_>, matrix: &Matrix<'_>) -> Result<(), PassError> {
        let CopyOperands { to, from, elem } = sides;
        let Matrix { across, down, outer } = matrix;
        let device = self.layout();
        let side = device.tiles.square;
        let lines = (device.block / side).max(1);
        let [columns, rows] = [across, down].map(|dim| {
            let squares = div_up(dim.n.clone(), side);
            self.bind_value(squares, PrimType::I64, "squares")
        });
        let matrices = outer.iter().fold(Expr::i64(1), |n, dim| mul(n, dim.n.clone()));
        let blocks = mul(mul(matrices, rows.clone()), columns.clone());
        let blocks = self.bind_value(blocks, PrimType::I64, "blocks");
        self.kernel(("copy.transpose", Prov::NONE), blocks, |g, block| {
            let first = |g: &mut Self, number: Expr| {
                let first = mul(number, Expr::i64(side));
                g.bind_value(first, PrimType::I64, "first")
            };
            let column = binary(BinOp::UMod, Expr::Var(block), columns.clone());
            let first_across = first(g, column);
            let rest = div(Expr::Var(block), columns);
            let rest = g.bind_value(rest, PrimType::I64, "rest");
            let row = binary(BinOp::UMod, rest.clone(), rows.clone());
            let first_down = first(g, row);
            let number = g.bind_value(div(rest, rows), PrimType::I64, "matrix");
            let indices = g.delinearised(outer.iter().map(|dim| &dim.n), number);
            let (mut to_base, mut from_base) = (to.offset.clone(), from.offset.clone());
            for (index, dim) in indices.iter().zip(outer.iter()) {
                to_base = add(to_base, mul(index.clone(), dim.to.clone()));
                from_base = add(from_base, mul(index.clone(), dim.from.clone()));
            }
            let to_base = g.bind_value(to_base, PrimType::I64, "to_base");
            let from_base = g.bind_value(from_base, PrimType::I64, "from_base");
            let square = g.shared_tile("square", elem, side * (side + 1));
            g.threads(|g, thread| {
                let x = binary(BinOp::UMod, thread.clone(), Expr::i64(side));
                let x = g.bind_value(x, PrimType::I64, "x");
                let line = g.bind_value(div(thread, Expr::i64(side)), PrimType::I64, "line");
                // Copies the thread's elements between the array and the tile.
                let pass = |g: &mut Self, reads: bool| {
                    g.for_seq("iteration", Expr::i64(0), Expr::i64(side / lines), false, |g, step| {
                        let y = add(line.clone(), mul(Expr::Var(step), Expr::i64(lines)));
                        let y = g.bind_value(y, PrimType::I64, "y");
                        let (a, d) = if reads { (&y, &x) } else { (&x, &y) };
                        let a = add(first_across.clone(), a.clone());
                        let a = g.bind_value(a, PrimType::I64, "across");
                        let d = add(first_down.clone(), d.clone());
                        let d = g.bind_value(d, PrimType::I64, "down");
                        let inside = and(
                            compare(CmpOp::SLt, a.clone(), across.n.clone()),
                            compare(CmpOp::SLt, d.clone(), down.n.clone()),
                        );
                        let pitch = Expr::i64(side + 1);
                        let (high, low) = if reads { (y, &x) } else { (x.clone(), &y) };
                        let in_square = element_of_buffer(square, elem, add(mul(high, pitch), low.clone()));
                        let in_array = |buffer, base: &Expr, by: [&Expr; 2]| Access {
                            buffer,
                            elem,
                            offset: base.clone(),
                            dims: vec![(a, by[0].clone()), (d, by[1].clone())],
                        };
                        let moved = g.collect(|g| {
                            let value = g.scalar(elem, "value");
                            let (source, target) = if reads {
                                let by = [&across.from, &down.from];
                                (in_array(from.buffer, &from_base, by), in_square)
                            } else {
                                let by = [&across.to, &down.to];
                                (in_square, in_array(to.buffer, &to_base, by))
                            };
                            g.emit(Stmt::Load(value, source));
                            g.emit(Stmt::Store(target, Expr::Var(value)));
                            Ok(())
                        })?;
                        g.emit(Stmt::If(inside, moved, Vec::new()));
                        Ok(())
                    })
                };
                pass(g, true)?;
                g.barrier();
                pass(g, false)
            })
        })
    }

    /// Allocates an array of the current thread block.
    pub(super) fn shared_tile(&mut self, hint: &str, elem: PrimType, count: i64) -> Var {
        let buffer = self.value(VarType::Buffer(MemoryId::Shared), hint);
        self.emit(Stmt::Frame { buffer, elem, count: count.unsigned_abs() });
        buffer
    }
}

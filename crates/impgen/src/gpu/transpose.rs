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

use crate::Result;
use crate::basic::Replicate;
use crate::copies::ArrayCopy;
use crate::gpu::DeviceSchedule;
use crate::operators::{div_up, element_of_buffer};
use crate::schedule::Generator;
use imp::build::{Operand, product, select};
use imp::{Access, Expr, MemoryId, Region, Stmt, bind, emit};
use ir::Prov;
use ir::syntax::Atom;
use prim::PrimType;

/// A dimension of a copy: its extent, and its strides on both sides.
#[derive(Clone, PartialEq)]
struct Dim {
    n: Operand,
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

impl Generator<'_, DeviceSchedule> {
    /// Copies elements between regions of device memory, by kernels.
    pub(super) fn copy_by_kernels(
        &mut self,
        to: &Region,
        from: &Region,
        elem: PrimType,
        extents: &[Operand],
    ) -> Result {
        let sides = CopyOperands { to, from, elem };
        let strides = to.strides.iter().zip(&from.strides);
        let dims = extents.iter().zip(strides);
        let mut dims: Vec<Dim> =
            dims.map(|(&n, (to, from))| Dim { n, to: to.clone(), from: from.clone() }).collect();
        let unit = |stride: fn(&Dim) -> &Expr| {
            dims.iter().rposition(|dim| *stride(dim) == Expr::i64(1) && dim.n != 1.into())
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
        let least = self.schedule.layout.tiles.square / 2;
        let is_thin = [&across, &down].iter().any(|dim| dim.n.as_i64().is_some_and(|n| n < least));
        if is_thin || !self.schedule.fuel.take() {
            return self.copy_thin_matrix(sides, &matrix);
        }
        let squares = self.collect(|g| g.copy_tiles(sides, &matrix))?;
        if [&across, &down].iter().all(|dim| dim.n.as_i64().is_some()) {
            self.emit_all(squares);
            return Ok(());
        }
        emit!(if self(least <= across.n && least <= down.n) {
            self.emit_all(squares);
        } else {
            self.copy_thin_matrix(sides, &matrix)?;
        });
        Ok(())
    }

    /// Fills an array of the device with a scalar, or with an array for each of the outer indices.
    pub(crate) fn replicate_by_kernels(&mut self, array: &Replicate<'_>, value: Atom, prov: Prov) -> Result {
        let (to, elem) = (self.region(array.block, array.lmad)?, array.elem);
        let extents = self.extents(array.shape)?;
        if let Atom::Var(array) = value
            && let Ok((_, block, lmad)) = self.location(array)
        {
            let mut from = self.region(block, &lmad)?;
            let outer = extents.len() - from.strides.len();
            let own = std::mem::take(&mut from.strides);
            from.strides = std::iter::repeat_n(Expr::i64(0), outer).chain(own).collect();
            return self.copy(ArrayCopy { to, from, elem, extents });
        }
        let value = self.atom(value)?;
        let mut dims: Vec<(Operand, Expr)> = extents.into_iter().zip(to.strides.clone()).collect();
        if let Some(inner) = dims.iter().rposition(|(_, stride)| *stride == Expr::i64(1)) {
            let across = dims.remove(inner);
            dims.push(across);
        }
        let (extents, strides): (Vec<Operand>, Vec<Expr>) = dims.into_iter().unzip();
        let n = product(&extents);
        let access = |g: &mut Self, index: Operand| {
            let indices = g.delinearised(&extents, index).into_iter();
            Ok(Access {
                buffer: to.buffer,
                elem,
                offset: to.offset.clone(),
                dims: indices.zip(strides.iter().cloned()).collect(),
            })
        };
        let many = self.coarsening_threshold().into();
        self.coarsened(("replicate", prov), (n, many), access, |g, access| {
            g.emit(Stmt::Store(access, value.into()));
            Ok(())
        })
    }

    /// Copies element by element, with several per thread; neighbouring threads are along the last
    /// dimension.
    fn copy_elements(&mut self, sides: CopyOperands<'_>, dims: &[Dim]) -> Result {
        let along = |region: &Region, stride: fn(&Dim) -> &Expr| Region {
            strides: dims.iter().map(|dim| stride(dim).clone()).collect(),
            ..region.clone()
        };
        let to = along(sides.to, |dim| &dim.to);
        let from = along(sides.from, |dim| &dim.from);
        let extents: Vec<Operand> = dims.iter().map(|dim| dim.n).collect();
        let n = product(&extents);
        let read =
            |g: &mut Self, index: Operand| Ok(g.read_element((&to, &from), sides.elem, &extents, index));
        let many = self.coarsening_threshold().into();
        self.coarsened(("copy", Prov::NONE), (n, many), read, |g, (access, value)| {
            g.emit(Stmt::Store(access, value.into()));
            Ok(())
        })
    }

    /// Delinearises a number over extents; the last index varies fastest.
    pub(super) fn delinearised(&mut self, extents: &[Operand], number: Operand) -> Vec<Expr> {
        let mut indices = Vec::with_capacity(extents.len());
        let mut rest = number;
        for (k, &extent) in extents.iter().enumerate().rev() {
            if k == 0 {
                indices.push(rest.into());
            } else {
                let outer = self.bind(rest / extent, "rest");
                indices.push(rest - outer * extent);
                rest = outer;
            }
        }
        indices.reverse();
        indices
    }

    /// Copies element by element, with the shorter dimension of a matrix innermost.
    fn copy_thin_matrix(&mut self, sides: CopyOperands<'_>, matrix: &Matrix<'_>) -> Result {
        let Matrix { across, down, outer } = matrix;
        let mut dims = outer.to_vec();
        if let (Some(n), Some(m)) = (across.n.as_i64(), down.n.as_i64()) {
            let (long, thin) = if n < m { (down, across) } else { (across, down) };
            dims.extend([Dim::clone(long), Dim::clone(thin)]);
            return self.copy_elements(sides, &dims);
        }
        bind!(is_thin = self(across.n < down.n));
        let mut either = |yes: &Dim, no: &Dim| Dim {
            n: if yes.n == no.n { yes.n } else { self.bind(select(is_thin, yes.n, no.n), "along") },
            to: self.either(is_thin, &yes.to, &no.to),
            from: self.either(is_thin, &yes.from, &no.from),
        };
        let (long, thin) = (either(down, across), either(across, down));
        dims.extend([long, thin]);
        self.copy_elements(sides, &dims)
    }

    fn either(&mut self, cond: Operand, yes: &Expr, no: &Expr) -> Expr {
        if yes == no { yes.clone() } else { self.bind(select(cond, yes, no), "along").into() }
    }

    /// Copies in square tiles, one thread block for each.
    fn copy_tiles(&mut self, sides: CopyOperands<'_>, matrix: &Matrix<'_>) -> Result {
        let CopyOperands { to, from, elem } = sides;
        let Matrix { across, down, outer } = matrix;
        let device = self.schedule.layout;
        let side = device.tiles.square;
        let lines = (device.block / side).max(1);
        let [columns, rows] = [across, down].map(|dim| {
            bind!(squares = self(div_up(dim.n, side)));
            squares
        });
        let extents: Vec<Operand> = outer.iter().map(|dim| dim.n).collect();
        bind!(blocks = self(product(&extents) * rows * columns));
        self.kernel(("copy.transpose", Prov::NONE), blocks, |g, block| {
            let first_across = g.bind(block % columns * side, "first");
            bind!(rest = g(block / columns));
            let first_down = g.bind(rest % rows * side, "first");
            bind!(matrix = g(rest / rows));
            let indices = g.delinearised(&extents, matrix);
            let (mut to_base, mut from_base) = (to.offset.clone(), from.offset.clone());
            for (index, dim) in indices.iter().zip(outer.iter()) {
                to_base = to_base + index * &dim.to;
                from_base = from_base + index * &dim.from;
            }
            bind!(to_base = g(to_base));
            bind!(from_base = g(from_base));
            let square = g.frame_array(MemoryId::Shared, "square", elem, side * (side + 1));
            g.threads(|g, thread| {
                bind!(x = g(thread % side));
                bind!(line = g(thread / side));
                // Copies the thread's elements between the array and the tile.
                let pass = |g: &mut Self, reads: bool| {
                    emit!(for iteration in g(0..side / lines) {
                        bind!(y = g(line + iteration * lines));
                        let (a, d) = if reads { (y, x) } else { (x, y) };
                        let a = g.bind(first_across + a, "across");
                        let d = g.bind(first_down + d, "down");
                        let (high, low) = if reads { (y, x) } else { (x, y) };
                        let in_square = element_of_buffer(square, elem, high * (side + 1) + low);
                        let in_array = |buffer, base: Operand, by: [&Expr; 2]| Access {
                            buffer,
                            elem,
                            offset: base.into(),
                            dims: vec![(a.into(), by[0].clone()), (d.into(), by[1].clone())],
                        };
                        emit!(if g(a < across.n && d < down.n) {
                            let value = g.scalar(elem, "value");
                            let (source, target) = if reads {
                                (in_array(from.buffer, from_base, [&across.from, &down.from]), in_square)
                            } else {
                                (in_square, in_array(to.buffer, to_base, [&across.to, &down.to]))
                            };
                            g.emit(Stmt::Load(value, source));
                            g.emit(Stmt::Store(target, value.into()));
                        });
                    });
                    Ok(())
                };
                pass(g, true)?;
                g.barrier();
                pass(g, false)
            })
        })
    }
}

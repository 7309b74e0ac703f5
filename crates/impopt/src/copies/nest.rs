//! The bodies of copy functions ([`strided`](super::strided)).
//!
//! Two innermost dimensions are merged where one loop covers both. A row that is contiguous on both
//! sides is a `memcpy`, other rows are copied element by element. Outer dimensions are sequential
//! loops; with tiles, of three or more dimensions one that is contiguous on a side where the
//! innermost is not is first moved next to the innermost.

use super::strided::{CopyFunctions, Key};
use super::tiles;
use imp::build::{add, and, compare, mul, select};
use imp::{Access, Arg, CopyPlan, Expr, For, LoopMode, Region, Stmt, Var, VarInfo, VarType};
use prim::{BinOp, CmpOp, PrimType, UnOp};

/// One dimension: the extent, and the strides on both sides, in elements.
#[derive(Clone)]
pub(super) struct Dim {
    pub(super) n: Expr,
    pub(super) to: Expr,
    pub(super) from: Expr,
}

/// A position in the destination block and one in the source block.
#[derive(Clone)]
pub(super) struct Positions {
    pub(super) to: Expr,
    pub(super) from: Expr,
}

impl Positions {
    /// The positions `steps` further along a dimension.
    pub(super) fn along(&self, dim: &Dim, steps: &Expr) -> Self {
        Self {
            to: add(self.to.clone(), mul(steps.clone(), dim.to.clone())),
            from: add(self.from.clone(), mul(steps.clone(), dim.from.clone())),
        }
    }
}

/// A function under construction.
pub(super) struct Copier<'m> {
    key: Key,
    made: &'m mut CopyFunctions,
    pub(super) to: Var,
    pub(super) from: Var,
    vars: Vec<VarInfo>,
    out: Vec<Stmt>,
}

/// The parameters, variables and statements of a function.
pub(super) fn body(key: Key, made: &mut CopyFunctions) -> (Vec<Var>, Vec<VarInfo>, Vec<Stmt>) {
    let mut c = Copier { key, made, to: Var(0), from: Var(1), vars: Vec::new(), out: Vec::new() };
    c.var("to", VarType::HOST);
    c.var("from", VarType::HOST);
    let mut words = |hint: &str, count: usize| -> Vec<Expr> {
        let int = VarType::Scalar(PrimType::I64);
        (0..count).map(|_| Expr::Var(c.var(hint, int))).collect()
    };
    let (to, from) = (words("to_at", 1), words("from_at", 1));
    let sizes = words("n", key.rank);
    let strides = words("to_by", key.rank).into_iter().zip(words("from_by", key.rank));
    let at = Positions {
        to: to.into_iter().fold(Expr::i64(0), add),
        from: from.into_iter().fold(Expr::i64(0), add),
    };
    let dims = sizes.into_iter().zip(strides);
    let dims: Vec<Dim> = dims.map(|(n, (to, from))| Dim { n, to, from }).collect();
    let params = (0..c.vars.len()).map(Var::new).collect();
    match &dims[..] {
        [] => c.element(&at),
        [dim] => c.row(&at, dim),
        [outer @ .., next, last] => c.nest(&at, (outer, next, last)),
    }
    (params, c.vars, c.out)
}

fn is(x: &Expr, y: i64) -> Expr {
    compare(CmpOp::Eq, x.clone(), Expr::i64(y))
}

/// A condition: the stride is 1.
pub(super) fn is_one(x: &Expr) -> Expr {
    is(x, 1)
}

/// The disjunction of two conditions.
pub(super) fn or(x: Expr, y: Expr) -> Expr {
    Expr::binary(BinOp::Or, PrimType::Bool, x, y)
}

fn not(x: Expr) -> Expr {
    Expr::unary(UnOp::Not, PrimType::Bool, x)
}

impl Copier<'_> {
    /// The type of the elements.
    pub(super) const fn elem(&self) -> PrimType {
        self.key.elem
    }

    pub(super) fn var(&mut self, hint: &str, ty: VarType) -> Var {
        self.vars.push(VarInfo { ty, hint: hint.into() });
        Var::new(self.vars.len() - 1)
    }

    pub(super) fn emit(&mut self, stmt: Stmt) {
        self.out.push(stmt);
    }

    /// A variable set to a value, so that it is computed once.
    pub(super) fn name(&mut self, hint: &str, ty: PrimType, value: Expr) -> Expr {
        let var = self.var(hint, VarType::Scalar(ty));
        self.emit(Stmt::Set(var, value));
        Expr::Var(var)
    }

    pub(super) fn int(&mut self, hint: &str, value: Expr) -> Expr {
        self.name(hint, PrimType::I64, value)
    }

    pub(super) fn collect(&mut self, f: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        let before = std::mem::take(&mut self.out);
        f(self);
        std::mem::replace(&mut self.out, before)
    }

    pub(super) fn either(&mut self, cond: Expr, yes: impl FnOnce(&mut Self), no: impl FnOnce(&mut Self)) {
        let (yes, no) = (self.collect(yes), self.collect(no));
        self.emit(Stmt::If(cond, yes, no));
    }

    /// A loop over `0 .. n`, with iterations in any order if they are independent.
    pub(super) fn each(&mut self, n: Expr, independent: bool, f: impl FnOnce(&mut Self, Expr)) {
        let var = self.var("i", VarType::Scalar(PrimType::I64));
        let body = self.collect(|c| f(c, Expr::Var(var)));
        self.emit(Stmt::For(For {
            mode: LoopMode::Seq { independent },
            var,
            from: Expr::i64(0),
            to: n,
            body,
        }));
    }

    fn access(&self, buffer: Var, at: &Expr, dims: Vec<(Expr, Expr)>) -> Access {
        Access { buffer, elem: self.key.elem, offset: at.clone(), dims }
    }

    /// Copies one element.
    fn element(&mut self, at: &Positions) {
        let x = self.load(self.from, &at.from, Vec::new());
        self.store(&at.to, Vec::new(), x);
    }

    pub(super) fn load(&mut self, buffer: Var, at: &Expr, dims: Vec<(Expr, Expr)>) -> Expr {
        let x = self.var("x", VarType::Scalar(self.key.elem));
        self.emit(Stmt::Load(x, self.access(buffer, at, dims)));
        Expr::Var(x)
    }

    pub(super) fn store(&mut self, at: &Expr, dims: Vec<(Expr, Expr)>, x: Expr) {
        self.emit(Stmt::Store(self.access(self.to, at, dims), x));
    }

    /// Copies one dimension, element by element.
    pub(super) fn copy_row(&mut self, at: &Positions, dim: &Dim) {
        let region = |buffer, offset: &Expr, stride: &Expr| Region {
            buffer,
            offset: offset.clone(),
            strides: vec![stride.clone()],
        };
        self.emit(Stmt::Copy {
            to: region(self.to, &at.to, &dim.to),
            from: region(self.from, &at.from, &dim.from),
            elem: self.key.elem,
            extents: vec![dim.n.clone()],
            plan: CopyPlan::Elements,
        });
    }

    /// Copies a row that is contiguous on both sides.
    pub(super) fn memory(&mut self, to: (Var, Expr), from: (Var, Expr), n: Expr) {
        let region = |(buffer, offset)| Region { buffer, offset, strides: vec![Expr::i64(1)] };
        self.emit(Stmt::Copy {
            to: region(to),
            from: region(from),
            elem: self.key.elem,
            extents: vec![n],
            plan: CopyPlan::Memory,
        });
    }

    fn row(&mut self, at: &Positions, dim: &Dim) {
        let one = Expr::i64(1);
        let (to_unit, from_unit) = (is_one(&dim.to), is_one(&dim.from));
        let repeated = and(is(&dim.from, 0), to_unit.clone());
        self.either(
            and(to_unit, from_unit),
            |c| {
                let (to, from) = ((c.to, at.to.clone()), (c.from, at.from.clone()));
                c.memory(to, from, dim.n.clone());
            },
            |c| {
                c.either(
                    and(repeated, compare(CmpOp::SLt, Expr::i64(0), dim.n.clone())),
                    |c| {
                        let x = c.load(c.from, &at.from, Vec::new());
                        c.each(dim.n.clone(), true, |c, i| {
                            c.store(&at.to, vec![(i, one)], x);
                        });
                    },
                    |c| c.copy_row(at, dim),
                );
            },
        );
    }

    /// Calls the copy function for these dimensions.
    fn inner(&mut self, at: Positions, dims: &[Dim]) {
        let key = self.key;
        let fun =
            self.made.function(Key { rank: dims.len(), tile: key.tile.filter(|_| dims.len() > 1), ..key });
        let mut args = vec![Arg::Buffer(self.to), Arg::Buffer(self.from)];
        let mut words = vec![at.to, at.from];
        words.extend(dims.iter().map(|dim| dim.n.clone()));
        words.extend(dims.iter().map(|dim| dim.to.clone()));
        words.extend(dims.iter().map(|dim| dim.from.clone()));
        args.extend(words.into_iter().map(Arg::Scalar));
        self.emit(Stmt::Call { fun, args, results: Vec::new(), location: None });
    }

    fn nest(&mut self, at: &Positions, (outer, next, last): (&[Dim], &Dim, &Dim)) {
        // One loop over both: the outer stride spans the inner dimension, or the inner dimension
        // has one element, whose stride does not matter.
        let spans = |outer: &Expr, inner: &Expr| {
            compare(CmpOp::Eq, outer.clone(), mul(inner.clone(), last.n.clone()))
        };
        let both = and(spans(&next.to, &last.to), spans(&next.from, &last.from));
        let single = self.name("single", PrimType::Bool, is_one(&last.n));
        self.either(
            or(both, single.clone()),
            |c| {
                let joined = Dim {
                    n: mul(next.n.clone(), last.n.clone()),
                    to: select(&single, &next.to, &last.to),
                    from: select(&single, &next.from, &last.from),
                };
                let dims: Vec<Dim> = outer.iter().cloned().chain([joined]).collect();
                c.inner(at.clone(), &dims);
            },
            |c| match outer {
                [] => c.copy_plane(at, next, last),
                [first, between @ ..] => {
                    c.outer_loop(at, (first, between, next, last));
                }
            },
        );
    }

    /// Emits the loop over the outermost of three or more dimensions.
    fn outer_loop(&mut self, at: &Positions, (first, between, next, last): (&Dim, &[Dim], &Dim, &Dim)) {
        let mut outer: Vec<Dim> = std::iter::once(first).chain(between).cloned().collect();
        let mut next = next.clone();
        if self.key.tile.is_some() {
            let lacks_to = self.name("lacks_to", PrimType::Bool, not(is_one(&last.to)));
            let lacks_from = self.name("lacks_from", PrimType::Bool, not(is_one(&last.from)));
            for dim in &mut outer {
                let wanted =
                    or(and(lacks_from.clone(), is_one(&dim.from)), and(lacks_to.clone(), is_one(&dim.to)));
                let wanted = self.name("wanted", PrimType::Bool, wanted);
                let before = dim.clone();
                *dim = self.select(&wanted, &next, &before);
                next = self.select(&wanted, &before, &next);
            }
        }
        let Some((first, between)) = outer.split_first() else {
            return;
        };
        let mut rest = between.to_vec();
        rest.extend([next, last.clone()]);
        self.each(first.n.clone(), false, |c, i| {
            c.inner(at.along(first, &i), &rest);
        });
    }

    /// Selects one of two dimensions.
    pub(super) fn select(&mut self, cond: &Expr, yes: &Dim, no: &Dim) -> Dim {
        Dim {
            n: self.int("n", select(cond, &yes.n, &no.n)),
            to: self.int("to_by", select(cond, &yes.to, &no.to)),
            from: self.int("from_by", select(cond, &yes.from, &no.from)),
        }
    }

    /// Copies two dimensions: row by row, or in tiles where the sides differ in which one is
    /// contiguous.
    fn copy_plane(&mut self, at: &Positions, rows: &Dim, columns: &Dim) {
        let row_by_row = |c: &mut Self| {
            c.each(rows.n.clone(), false, |c, i| {
                c.inner(at.along(rows, &i), std::slice::from_ref(columns));
            });
        };
        let Some(tile) = self.key.tile else {
            row_by_row(self);
            return;
        };
        let gathers = and(is_one(&columns.to), is_one(&rows.from));
        let gathers = self.name("gathers", PrimType::Bool, gathers);
        let scatters = and(is_one(&columns.from), is_one(&rows.to));
        self.either(
            or(gathers.clone(), scatters),
            |c| {
                // The order is free: make the columns contiguous in the destination.
                let long = Dim { from: Expr::i64(1), ..c.select(&gathers, rows, columns) };
                let wide = Dim { to: Expr::i64(1), ..c.select(&gathers, columns, rows) };
                tiles::tiles(c, at, (&long, &wide), tile);
            },
            row_by_row,
        );
    }
}

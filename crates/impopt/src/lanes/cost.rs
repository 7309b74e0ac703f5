//! The cost model: cycles of a current processor; rough, but the same everywhere, so that decisions
//! do not depend on the machine that the compiler runs on.

use super::branch_probability::LikelyConditions;
use super::critical_path;
use super::strides::IterationStrides;
use super::value::{LaneValue, Shape, Shapes, Stride};
use imp::walk::{divides, type_of};
use imp::{Access, Arg, Expr, For, Region, Stmt, VarInfo};
use prim::{BinOp, PrimType, Scalar, ScalarOp};
use target::Machine;
use target::throughput::{self, BRANCH, CALL, DIVERGENCE, NESTED_DIVERGENCE, Throughput};

/// The assumed trip count of a `while` loop.
const WHILE_TRIPS: f64 = target::WHILE_TRIPS as f64;
/// Branches of a conditional up to this cost are executed under a mask without a jump.
const FLAT: f64 = 16.0;

/// The weight of a branch that is hardly ever taken.
const UNLIKELY_WEIGHT: f64 = 1.0 / 16.0;

/// The trip count of a loop, or an assumed one.
pub(super) fn trips(f: &For) -> f64 {
    match (&f.from, &f.to) {
        (Expr::Const(Scalar::I64(from)), Expr::Const(Scalar::I64(to))) => {
            to.saturating_sub(*from).clamp(0, 1 << 40) as f64
        }
        _ => target::TRIPS as f64,
    }
}

/// The shape of an expression over all lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LaneKind {
    Uniform,
    Affine,
    Varying,
}

/// The costs of a body, scalar without `shapes`.
pub(super) struct Costs<'s, 'a> {
    pub(super) shapes: Option<&'s Shapes<'a>>,
    pub(super) machine: Machine,
    /// Conditions that nearly always hold.
    likely: Option<&'s LikelyConditions>,
    /// The cost of vector operations on elements of 1, 2, 4 and 8 bytes.
    pub(super) weights: [f64; 4],
    /// True if there is an inner loop.
    pub(super) loops: bool,
    /// The number of divergent conditionals.
    pub(super) divergent_branches: usize,
    /// True if there are accesses that are not contiguous.
    pub(super) gathers: bool,
    /// True if there are fused multiply-adds.
    pub(super) fused: bool,
    /// The number of divergent loops so far.
    divergent_loops: u32,
    /// The product of the enclosing loops' trip counts.
    scale: f64,
    /// The strides of variables in the innermost loop, if they count.
    strides: Option<IterationStrides>,
}

impl<'s, 'a> Costs<'s, 'a> {
    pub(super) fn vector(shapes: &'s Shapes<'a>, machine: Machine) -> Self {
        Self {
            shapes: Some(shapes),
            machine,
            likely: None,
            weights: [0.0; 4],
            loops: false,
            divergent_branches: 0,
            gathers: false,
            fused: false,
            divergent_loops: 0,
            scale: 1.0,
            strides: None,
        }
    }

    pub(super) fn scalar(machine: Machine) -> Self {
        Self {
            shapes: None,
            machine,
            likely: None,
            weights: [0.0; 4],
            loops: false,
            divergent_branches: 0,
            gathers: false,
            fused: false,
            divergent_loops: 0,
            scale: 1.0,
            strides: None,
        }
    }

    /// The same with branch probabilities.
    pub(super) const fn with_probabilities(mut self, likely: &'s LikelyConditions) -> Self {
        self.likely = Some(likely);
        self
    }

    fn lanes(&self) -> f64 {
        self.shapes.map_or(1.0, |shapes| f64::from(shapes.lanes))
    }

    fn registers(&self, ty: PrimType) -> f64 {
        let bytes = self.lanes() * ty.size() as f64;
        (bytes / f64::from(self.machine.bytes)).ceil().max(1.0)
    }

    fn weigh(&mut self, ty: PrimType, cost: f64) {
        if ty != PrimType::Bool {
            self.weights[ty.size().trailing_zeros().min(3) as usize] += cost * self.scale;
        }
    }

    fn pay(&mut self, kind: LaneKind, ty: PrimType, price: Throughput) -> f64 {
        match kind {
            LaneKind::Uniform | LaneKind::Affine => price.scalar,
            LaneKind::Varying => {
                let cost = price.register * self.registers(ty) + price.lane * self.lanes();
                self.weigh(ty, cost / self.lanes());
                cost
            }
        }
    }

    /// The cost of an expression.
    pub(super) fn expr(&mut self, expr: &Expr) -> f64 {
        self.priced(expr).0
    }

    fn priced(&mut self, expr: &Expr) -> (f64, LaneKind) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.priced_here(expr))
    }

    fn priced_here(&mut self, expr: &Expr) -> (f64, LaneKind) {
        match expr {
            Expr::Const(_) | Expr::Tunable(_) | Expr::LogsComparisons => (0.0, LaneKind::Uniform),
            Expr::Var(v) => {
                let kind = match self.shapes.map(|shapes| shapes.shape(*v)) {
                    None | Some(Shape::Uniform) => LaneKind::Uniform,
                    Some(Shape::Affine(_)) => LaneKind::Affine,
                    Some(Shape::Varying) => LaneKind::Varying,
                };
                (0.0, kind)
            }
            Expr::Scalar(op) => {
                let (ty, price) = self.price(op);
                let affine = match op {
                    ScalarOp::Binary(op, ..) => {
                        matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl)
                    }
                    ScalarOp::Convert { op: _, from, to, arg: _ } => {
                        from.is_int() && to.is_int() && to.size() <= from.size()
                    }
                    ScalarOp::Unary(..)
                    | ScalarOp::Compare(..)
                    | ScalarOp::Select { .. }
                    | ScalarOp::Fma(..)
                    | ScalarOp::Math(..) => false,
                };
                self.fused |= matches!(op, ScalarOp::Fma(..));
                let (mut cost, mut kind) = (0.0, LaneKind::Uniform);
                op.each_operand(|x| {
                    let (more, other) = self.priced(x);
                    cost += more;
                    kind = kind.max(other);
                });
                if kind == LaneKind::Affine && !affine {
                    kind = LaneKind::Varying;
                }
                (cost + self.pay(kind, ty, price), kind)
            }
            imp::vector_expr!() => (1.0, LaneKind::Varying),
        }
    }

    /// The type whose lanes an operation computes on, and its throughput.
    fn price(&self, op: &ScalarOp<Box<Expr>>) -> (PrimType, Throughput) {
        let uarch = self.machine.uarch;
        match op {
            ScalarOp::Unary(op, ty, _) => (*ty, throughput::unary(*op, *ty, uarch)),
            ScalarOp::Binary(op, ty, _, y) if op.is_division() && matches!(&**y, Expr::Const(_)) => {
                (*ty, throughput::BY_CONSTANT)
            }
            ScalarOp::Binary(op, ty, _, _) => (*ty, throughput::binary(*op, *ty, uarch)),
            ScalarOp::Convert { op: _, from, to, arg: _ } => {
                let wide = if from.size() > to.size() { *from } else { *to };
                let to_integer = from.is_float() && to.is_int();
                (wide, if to_integer { throughput::TO_INTEGER } else { throughput::PLAIN })
            }
            ScalarOp::Compare(_, ty, _, _) | ScalarOp::Select { ty, .. } => (*ty, throughput::PLAIN),
            ScalarOp::Fma(ty, ..) => (*ty, throughput::fma(*ty, self.machine)),
            ScalarOp::Math(_, ty, _) => (*ty, throughput::MATH),
        }
    }

    fn access(&mut self, access: &Access, store: bool) -> f64 {
        let mut cost = self.expr(&access.offset);
        for (index, stride) in &access.dims {
            cost += self.expr(index) + self.expr(stride) * 0.5;
        }
        let position = self.shapes.map(|shapes| shapes.position(access));
        let along = self.strides.as_ref().is_some_and(|strides| strides.moves_along_row(access));
        let each = match (along, store) {
            // With stores as cheap as loads, prefix sums of short rows would run in lanes, which
            // takes longer (`bench/run.py nests --case 1000000x10`).
            (true, false) => 1.2,
            (true, true) => 3.0,
            // Far apart, each lane has cache lines of its own.
            (false, false) => 3.0,
            (false, true) => 4.0,
        };
        let cost_here = match position {
            None | Some(LaneValue::Uniform(_)) => return cost + 1.0,
            Some(LaneValue::Affine(_, _, Stride::Const(1))) => {
                let part = if store { 1.5 } else { 1.0 };
                part * self.registers(access.elem)
            }
            Some(LaneValue::Affine(_, _, Stride::Const(-4..=4))) => {
                self.gathers = true;
                0.4 * each * self.lanes()
            }
            Some(LaneValue::Affine(..)) => {
                self.gathers = true;
                each * self.lanes()
            }
            Some(LaneValue::Vector(_)) if along => {
                self.gathers = true;
                each * self.lanes() + 2.0
            }
            Some(LaneValue::Vector(_)) => {
                self.gathers = true;
                0.6 * each * self.lanes() + 2.0
            }
        };
        self.weigh(access.elem, cost_here / self.lanes());
        cost += cost_here;
        cost
    }

    /// The cost of a statement; `inner` returns the cost of nested lists.
    pub(super) fn stmt(&mut self, stmt: &Stmt, inner: &mut dyn FnMut(&mut Self, &[Stmt]) -> f64) -> f64 {
        match stmt {
            Stmt::Set(v, e) => {
                if let Some(strides) = &mut self.strides {
                    strides.set(*v, Some(e));
                }
                self.expr(e)
            }
            Stmt::Load(v, access) => {
                if let Some(strides) = &mut self.strides {
                    strides.set(*v, None);
                }
                self.access(access, false)
            }
            Stmt::Store(access, e) => self.access(access, true) + self.expr(e),
            // Hardly ever executed.
            Stmt::If(Expr::LogsComparisons, ..) | Stmt::RecordComparison(..) => 0.0,
            Stmt::If(cond, yes, no) => {
                let (cost, kind) = self.priced(cond);
                let likely = self.likely.is_some_and(|likely| likely.holds(cond));
                let yes = inner(self, yes);
                let rarely = if likely { UNLIKELY_WEIGHT } else { 1.0 };
                let no = self.scaled(rarely, |costs| inner(costs, no)) * rarely;
                match kind {
                    // Both branches are executed.
                    LaneKind::Varying | LaneKind::Affine => {
                        self.divergent_branches += 1;
                        cost + yes + no + 3.0
                    }
                    LaneKind::Uniform if likely => cost + yes + no + 1.0,
                    LaneKind::Uniform if self.shapes.is_some() => cost + 0.5 * (yes + no) + 1.0,
                    LaneKind::Uniform => cost + 0.5 * (yes + no) + BRANCH * 0.5,
                }
            }
            Stmt::While(cond, body) => {
                self.loops = true;
                let kind = self.priced(&Expr::Var(*cond)).1;
                let body = self.within(None, WHILE_TRIPS, |costs| inner(costs, body));
                match (kind, self.shapes) {
                    (LaneKind::Uniform, None) => WHILE_TRIPS * (body + 1.0) + 2.0 * BRANCH,
                    (LaneKind::Uniform, Some(_)) => WHILE_TRIPS * (body + 1.0),
                    _ => {
                        self.divergent_loops += 1;
                        WHILE_TRIPS * DIVERGENCE * (body + 3.0)
                    }
                }
            }
            Stmt::For(f) => {
                self.loops = true;
                let (from, from_kind) = self.priced(&f.from);
                let (to, to_kind) = self.priced(&f.to);
                let before = self.divergent_loops;
                let strides = Some(IterationStrides::of(f.var));
                let body = self.within(strides, trips(f), |costs| inner(costs, &f.body));
                let uniform = from_kind.max(to_kind) == LaneKind::Uniform;
                let more = if uniform {
                    body + 1.0
                } else {
                    // Nested divergent loops: rows of different lengths, whose elements differ too.
                    let nested = self.divergent_loops > before;
                    self.divergent_loops += 1;
                    (if nested { NESTED_DIVERGENCE } else { DIVERGENCE }) * (body + 3.0)
                };
                from + to + trips(f) * more
            }
            Stmt::Call { fun: _, args, .. } => {
                let args: f64 = args
                    .iter()
                    .map(|arg| match arg {
                        Arg::Scalar(e) => self.expr(e),
                        Arg::Buffer(_) => 0.0,
                    })
                    .sum();
                args + CALL * self.lanes()
            }
            Stmt::Check { cond, check: _, values: _ } => self.expr(cond) + 1.0,
            Stmt::Copy { to, from, elem, extents, plan: _ } => {
                let private = |end: &Region| {
                    let shapes = self.shapes?;
                    shapes.private.contains_key(&end.buffer).then_some(())
                };
                if private(to).or(private(from)).is_none() {
                    return CALL * self.lanes();
                }
                let mut element = |end: &Region, store| {
                    let dims = end.strides.iter().map(|by| (Expr::i64(0), by.clone()));
                    let access = Access {
                        buffer: end.buffer,
                        elem: *elem,
                        offset: end.offset.clone(),
                        dims: dims.collect(),
                    };
                    self.access(&access, store)
                };
                let each = element(from, false) + element(to, true) + 1.0;
                each * (target::TRIPS as f64).powi(extents.len() as i32)
            }
            Stmt::LoadLanes { .. }
            | Stmt::StoreLanes { .. }
            | Stmt::Alloc(..)
            | Stmt::Frame { .. }
            | Stmt::Share(..)
            | Stmt::Borrow(..)
            | Stmt::Release(_)
            | Stmt::Slots(_)
            | Stmt::ConstData(..)
            | Stmt::ReadGlobal(..)
            | Stmt::Device(_)
            | Stmt::BeginNest
            | Stmt::EndNest { .. }
            | Stmt::WriteGlobal(..) => 1.0,
        }
    }

    /// Runs `f` for the body of a loop with a trip count.
    fn within(
        &mut self,
        strides: Option<IterationStrides>,
        times: f64,
        f: impl FnOnce(&mut Self) -> f64,
    ) -> f64 {
        let around = std::mem::replace(&mut self.strides, strides);
        let cost = self.scaled(times, f);
        self.strides = around;
        cost
    }

    /// Runs `f` with the weights scaled by a trip count.
    fn scaled(&mut self, times: f64, f: impl FnOnce(&mut Self) -> f64) -> f64 {
        let scale = self.scale;
        self.scale = scale * times;
        let cost = f(self);
        self.scale = scale;
        cost
    }

    /// The cost of statements with one iteration of every loop in them.
    fn one_iteration(&mut self, stmts: &[Stmt]) -> f64 {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            stmts
                .iter()
                .map(|stmt| {
                    if let Stmt::While(_, body) = stmt {
                        self.one_iteration(body)
                    } else if let Stmt::For(f) = stmt {
                        self.iteration(f)
                    } else {
                        self.stmt(stmt, &mut |costs, stmts| costs.one_iteration(stmts))
                    }
                })
                .sum()
        })
    }

    /// The cost of an iteration of a loop, with one iteration of every inner loop.
    fn iteration(&mut self, f: &For) -> f64 {
        self.within(Some(IterationStrides::of(f.var)), 1.0, |costs| costs.one_iteration(&f.body))
    }

    /// The cost of one iteration of the most expensive loop, 0 if there is none, and its
    /// loop-carried path if it is an innermost one.
    pub(super) fn rounds(&mut self, stmts: &[Stmt]) -> (f64, Option<(f64, usize)>) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut most = (0.0, None);
            for stmt in stmts {
                let found = match stmt {
                    Stmt::While(cond, body) => {
                        (self.one_iteration(body), critical_path::carried_path(body, Some(*cond)))
                    }
                    Stmt::For(f) => (self.iteration(f), critical_path::carried_path(&f.body, None)),
                    Stmt::If(_, yes, no) => {
                        let (yes, no) = (self.rounds(yes), self.rounds(no));
                        if yes.0 >= no.0 { yes } else { no }
                    }
                    imp::leaf_stmt!() => continue,
                };
                if found.0 > most.0 {
                    most = found;
                }
            }
            most
        })
    }

    /// The cost of statements with their nested ones.
    pub(super) fn block(&mut self, stmts: &[Stmt]) -> f64 {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            stmts.iter().map(|stmt| self.stmt(stmt, &mut |costs, stmts| costs.block(stmts))).sum()
        })
    }
}

/// Returns true if a branch of a divergent conditional is so short, and so harmless when no lane is
/// active, that it needs no jump around it.
pub(super) fn is_flat(shapes: &Shapes<'_>, arm: &[Stmt], machine: Machine) -> bool {
    // With registers of this size every operation counts once.
    let machine = Machine { bytes: 1 << 16, ..machine };
    harmless(shapes, arm) && Costs::vector(shapes, machine).block(arm) <= FLAT
}

fn harmless(shapes: &Shapes<'_>, stmts: &[Stmt]) -> bool {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        stmts.iter().all(|stmt| match stmt {
            Stmt::Set(_, e) => !divides(e),
            Stmt::Load(_, access) => !shapes.position(access).is_uniform(),
            Stmt::Store(access, e) => {
                !divides(e) && (!shapes.position(access).is_uniform() || !shapes.value(e).is_uniform())
            }
            Stmt::If(cond, yes, no) => !divides(cond) && harmless(shapes, yes) && harmless(shapes, no),
            imp::leaf_stmt!() | imp::nested_stmt!() => false,
        })
    })
}

/// The size of the widest element that code loads, stores or computes with.
pub(super) fn widest(vars: &[VarInfo], stmts: &[Stmt]) -> u64 {
    stmts
        .iter()
        .map(|stmt| match stmt {
            Stmt::Set(v, e) => {
                let ty = type_of(vars, &Expr::Var(*v)).or_else(|| type_of(vars, e));
                ty.filter(|ty| ty.is_float()).map_or(1, PrimType::size)
            }
            Stmt::Load(_, access) | Stmt::Store(access, _) => access.elem.size(),
            Stmt::If(_, yes, no) => widest(vars, yes).max(widest(vars, no)),
            imp::leaf_stmt!() | imp::nested_stmt!() => 1,
        })
        .max()
        .unwrap_or(1)
}

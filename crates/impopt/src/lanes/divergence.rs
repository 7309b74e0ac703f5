//! Divergence analysis: the variables of a loop's body that differ from lane to lane.
//!
//! Control flow is structured, so this is a walk to a fixpoint: a variable varies if it is set to a
//! varying value, or if it is set where not all lanes are active (a *region*: a branch of a
//! divergent conditional, the body of a divergent loop) and an inactive lane may read it later. In
//! exactly these cases setting it has to keep the values of the inactive lanes.

use super::value::{Shape, Shapes, Stride};
use imp::def_use::DefUse;
use imp::{Arg, For, LoopMode, Stmt, Var};
use ir::remark::NotVectorisedReason;

/// A part of the body in which only some lanes are active.
#[derive(Clone, Copy, Debug)]
pub(super) enum Region {
    /// A branch of a conditional: these statements.
    Arm {
        /// The number of the first statement.
        from: u32,
        /// The number after the last one.
        to: u32,
    },
    /// The body of a loop.
    Loop {
        /// The number after the loop.
        end: u32,
        /// The number of the innermost loop around it.
        outer: u32,
    },
}

/// A statement's number, and that of the innermost loop around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) at: u32,
    pub(super) outer: u32,
}

impl Region {
    /// Returns true if setting a variable here has to keep the values of inactive lanes. Its first
    /// definition in an iteration of the innermost loop has not: nothing has set it before.
    pub(super) fn must_blend(self, var: Var, here: Position, def_use: &DefUse) -> bool {
        match (self, def_use.dominating_def(var)) {
            (_, None) => !def_use.is_local(var, here.at, def_use.end(here.outer)),
            (Self::Arm { from, to }, Some(first)) => !(from..to).contains(&first),
            (Self::Loop { end, outer }, Some(first)) => first <= outer || def_use.is_used_after(var, end),
        }
    }
}

/// The number of passes over a body after which the analysis gives up.
const MAX_ROUNDS: usize = 24;

struct Walk<'s, 'a> {
    shapes: &'s mut Shapes<'a>,
    def_use: &'s DefUse,
    changed: bool,
    problem: Option<NotVectorisedReason>,
}

/// Infers the shapes of all variables of the loop with number `at`.
pub(super) fn analyse(
    shapes: &mut Shapes<'_>,
    def_use: &DefUse,
    f: &For,
    at: u32,
) -> Result<(), NotVectorisedReason> {
    let counter = Shape::Affine(Stride::Const(1));
    shapes.known.insert(f.var, counter);
    for _ in 0..MAX_ROUNDS {
        let mut walk = Walk { shapes, def_use, changed: false, problem: None };
        walk.block(&f.body, at + 1, None, at);
        if let Some(problem) = walk.problem {
            return Err(problem);
        }
        if !walk.changed {
            return Ok(());
        }
    }
    Err(NotVectorisedReason::DependencesTooComplex)
}

impl Walk<'_, '_> {
    fn assign(&mut self, var: Var, shape: Shape, region: Option<Region>, here: Position) {
        let blends = region.is_some_and(|region| region.must_blend(var, here, self.def_use));
        let is_buffer = self.shapes.vars.get(var.index()).is_some_and(|info| info.ty.is_buffer());
        if is_buffer {
            if blends {
                self.problem = Some(NotVectorisedReason::Buffers);
            }
            return;
        }
        let shape = if blends { Shape::Varying } else { shape };
        self.raise(var, shape);
    }

    fn raise(&mut self, var: Var, shape: Shape) {
        let known = self.shapes.known.get(&var);
        let joined = match known {
            // Reads so far have taken it for uniform.
            None => {
                self.changed = true;
                shape
            }
            Some(known) if *known == shape => return,
            Some(Shape::Varying) => return,
            Some(_) => {
                self.changed = true;
                Shape::Varying
            }
        };
        self.shapes.known.insert(var, joined);
    }

    fn block(&mut self, stmts: &[Stmt], mut at: u32, region: Option<Region>, outer: u32) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt, at, region, outer);
                at = self.def_use.end(at);
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt, at: u32, region: Option<Region>, outer: u32) {
        let here = Position { at, outer };
        match stmt {
            Stmt::Set(v, e) => {
                let shape = self.shapes.value(e).shape(self.shapes);
                self.assign(*v, shape, region, here);
            }
            Stmt::Load(v, access) => {
                // Lanes read their own private arrays, at any position.
                let private = self.shapes.private.contains_key(&access.buffer);
                let shape = if !private && self.shapes.position(access).is_uniform() {
                    Shape::Uniform
                } else {
                    Shape::Varying
                };
                self.assign(*v, shape, region, here);
            }
            Stmt::Frame { buffer: v, .. }
            | Stmt::Borrow(v, _)
            | Stmt::ConstData(v, _)
            | Stmt::ReadGlobal(v, _) => self.assign(*v, Shape::Uniform, region, here),
            Stmt::If(cond, yes, no) => {
                let uniform = self.shapes.value(cond).is_uniform();
                let other = self.def_use.else_start(at);
                let end = self.def_use.end(at);
                let arm = |from, to| {
                    if uniform { region } else { Some(Region::Arm { from, to }) }
                };
                self.block(yes, at + 1, arm(at + 1, other), outer);
                self.block(no, other, arm(other, end), outer);
            }
            Stmt::While(cond, body) => {
                let uniform = self.shapes.shape(*cond) == Shape::Uniform;
                let region = self.loop_region(uniform, at, region, outer);
                self.block(body, at + 1, region, at);
            }
            Stmt::For(f) => self.for_loop(f, at, region, outer),
            Stmt::Call { fun: _, args, results, location: _ } => {
                let uniform = args.iter().all(|arg| match arg {
                    Arg::Scalar(e) => self.shapes.value(e).is_uniform(),
                    Arg::Buffer(_) => true,
                });
                let shape = if uniform { Shape::Uniform } else { Shape::Varying };
                for result in results {
                    self.assign(*result, shape.clone(), region, here);
                }
            }
            Stmt::Store(..)
            | Stmt::LoadLanes { .. }
            | Stmt::StoreLanes { .. }
            | Stmt::Alloc(..)
            | Stmt::Share(..)
            | Stmt::Release(_)
            | Stmt::Slots(_)
            | Stmt::Copy { .. }
            | Stmt::Check { .. }
            | Stmt::RecordComparison(..)
            | Stmt::BeginNest
            | Stmt::EndNest { .. }
            | Stmt::Device(_)
            | Stmt::WriteGlobal(..) => {}
        }
    }

    fn loop_region(&self, uniform: bool, at: u32, region: Option<Region>, outer: u32) -> Option<Region> {
        if uniform {
            return region;
        }
        let end = self.def_use.end(at);
        Some(Region::Loop { end, outer })
    }

    fn for_loop(&mut self, f: &For, at: u32, region: Option<Region>, outer: u32) {
        debug_assert!(
            !matches!(f.mode, LoopMode::Tasks(_)),
            "a loop of tasks is not a candidate for vectorisation"
        );
        let from = self.shapes.value(&f.from);
        let uniform = from.is_uniform() && self.shapes.value(&f.to).is_uniform();
        // The counter is incremented in all lanes, active or not.
        let shape = from.shape(self.shapes);
        self.raise(f.var, shape);
        let region = self.loop_region(uniform, at, region, outer);
        self.block(&f.body, at + 1, region, at);
    }
}

//! Vector code for the statements of a body.

use super::divergence::{Position, Region};
use super::emit::{Emit, Mask, any, not};
use super::positions::{is_unit, load_positions, store_positions};
use super::value::{LaneValue, Shape};
use imp::{
    Access, Arg, CheckId, Expr, For, FunId, LaneAccess, LanePositions, LoopMode, MaskedOff, Region as Extent,
    Stmt, Var, VarType,
};
use prim::{BinOp, CmpOp, PrimType, Scalar};

impl Emit<'_, '_> {
    /// Emits statements, the first with number `at`, in the innermost loop `outer`.
    pub(super) fn block(&mut self, stmts: &[Stmt], mut at: u32, outer: u32, mask: Mask) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt, at, outer, mask);
                at = self.def_use.end(at);
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt, at: u32, outer: u32, mask: Mask) {
        self.here = Position { at, outer };
        match stmt {
            Stmt::Set(v, e) => {
                let value = self.shapes.value(e);
                self.assign(*v, value, mask);
            }
            Stmt::Load(v, access) => self.load(*v, access, mask),
            Stmt::Store(access, e) => self.store(access, e, mask),
            Stmt::Frame {
                buffer,
                elem,
                count,
            } => self.out.push(Stmt::Frame {
                buffer: *buffer,
                elem: *elem,
                count: count * u64::from(self.lanes()),
            }),
            Stmt::Alloc(buffer, bytes, check) => {
                let bytes = self.of_all_lanes(bytes);
                self.out.push(Stmt::Alloc(*buffer, bytes, *check));
            }
            Stmt::If(cond, yes, no) => self.conditional(cond, yes, no, at, outer, mask),
            Stmt::While(cond, body) => self.while_loop(*cond, body, at, outer, mask),
            Stmt::For(f) => self.for_loop(f, at, outer, mask),
            Stmt::Check {
                cond,
                check,
                values,
            } => self.check(cond, *check, values, mask),
            Stmt::RecordComparison(tunable, size) => {
                let size = self.as_lanes(size);
                if size.1 {
                    self.out.push(Stmt::RecordComparison(*tunable, size.0));
                    return;
                }
                self.each_lane(mask, |emit, lane| {
                    let size = extract_lane(size, &lane);
                    emit.out.push(Stmt::RecordComparison(*tunable, size));
                });
            }
            Stmt::Call {
                fun,
                args,
                results,
                location,
            } => self.call(*fun, args, (results, *location), mask),
            Stmt::Copy {
                to,
                from,
                elem,
                extents,
                plan: _,
            } => self.copy(to, from, *elem, extents, mask),
            Stmt::ReadGlobal(v, global) if self.shapes.shape(*v) == Shape::Varying => {
                let ty = self.shapes.type_of(&Expr::Var(*v));
                let scalar = self.var(VarType::Scalar(ty), "global");
                self.out.push(Stmt::ReadGlobal(scalar, *global));
                self.assign(*v, LaneValue::Uniform(Expr::Var(scalar)), mask);
            }
            Stmt::Borrow(..)
            | Stmt::ConstData(..)
            | Stmt::ReadGlobal(..)
            | Stmt::Release(_)
            // The following statements are not in loops that can run in lanes.
            | Stmt::Share(..)
            | Stmt::Slots(_)
            | Stmt::Device(_)
            | Stmt::WriteGlobal(..)
            | Stmt::LoadLanes { .. }
            | Stmt::StoreLanes { .. }
            | Stmt::BeginNest
            | Stmt::EndNest { .. } => self.out.push(stmt.clone()),
        }
    }

    /// The size of one block for all lanes' blocks; a size beyond any memory remains so.
    fn of_all_lanes(&mut self, bytes: &Expr) -> Expr {
        let lanes = i64::from(self.lanes());
        let bytes = self.as_lanes(bytes).0;
        let i64_of = |op, x, y| Expr::binary(op, PrimType::I64, x, y);
        let least = i64_of(BinOp::SMax, bytes, Expr::i64(-1));
        let bounded = i64_of(BinOp::SMin, least, Expr::i64(i64::MAX / lanes));
        i64_of(BinOp::Mul, bounded, Expr::i64(lanes))
    }

    /// The access of all lanes to their elements, masked or not.
    fn lane_access(&self, access: &Access, at: LanePositions, masked: bool) -> LaneAccess {
        let mut lanes = LaneAccess {
            buffer: access.buffer,
            elem: access.elem,
            lanes: self.lanes(),
            at,
            masked_off: MaskedOff::Skip,
        };
        if masked && !lanes.is_contiguous() && !self.machine.masked_gathers(access.elem.size()) {
            lanes.masked_off = MaskedOff::Dummy;
        }
        lanes
    }

    fn load(&mut self, var: Var, access: &Access, mask: Mask) {
        let position = self.shapes.position(access);
        if position.is_uniform() {
            if self.shapes.shape(var) == Shape::Uniform {
                self.out.push(Stmt::Load(var, access.clone()));
                return;
            }
            let scalar = self.var(VarType::Scalar(access.elem), "x");
            self.out.push(Stmt::Load(scalar, access.clone()));
            self.assign(var, LaneValue::Uniform(Expr::Var(scalar)), mask);
            return;
        }
        let kept = self.must_blend(var, mask);
        let into = if kept { self.var(VarType::Vector(access.elem, self.lanes()), "x") } else { var };
        self.load_lanes(into, access, position, mask);
        if kept {
            self.assign(var, LaneValue::Vector(Expr::Var(into)), mask);
        } else {
            self.record_first_set(var, mask);
        }
    }

    /// Loads each lane's element from a varying position.
    fn load_lanes(&mut self, into: Var, access: &Access, position: LaneValue, mask: Mask) {
        // Inactive lanes may read their own arrays at the same position.
        let private = self.shapes.private.contains_key(&access.buffer);
        let there = mask.lanes.filter(|_| !(private && is_unit(&position)));
        let masked = there.is_some();
        // In a loop, an address register per lane would exceed the registers.
        let gathers = self.inside > 0 && self.machine.masked_gathers(access.elem.size());
        let at = load_positions(self.shapes, position, masked, gathers);
        self.out.push(Stmt::LoadLanes {
            var: into,
            from: self.lane_access(access, at, masked),
            mask: there.map(Expr::Var),
        });
    }

    fn store(&mut self, access: &Access, value: &Expr, mask: Mask) {
        let value = self.shapes.value(value);
        let position = self.shapes.position(access);
        if let (LaneValue::Uniform(_), LaneValue::Uniform(e)) = (&position, &value) {
            self.out.push(Stmt::Store(access.clone(), e.clone()));
            return;
        }
        self.store_lanes(access, position, value, mask);
    }

    /// Stores each lane's element.
    fn store_lanes(&mut self, access: &Access, position: LaneValue, value: LaneValue, mask: Mask) {
        // Outside of regions, elements of inactive lanes are never read.
        let private = self.shapes.private.contains_key(&access.buffer);
        let everywhere = private && mask.region.is_none() && is_unit(&position);
        let there = mask.lanes.filter(|_| !everywhere);
        let masked = there.is_some();
        let at = store_positions(self.shapes, position, masked);
        self.out.push(Stmt::StoreLanes {
            to: self.lane_access(access, at, masked),
            value: self.shapes.vector(value),
            mask: there.map(Expr::Var),
        });
    }

    fn conditional(&mut self, cond: &Expr, yes: &[Stmt], no: &[Stmt], at: u32, outer: u32, mask: Mask) {
        let (other, end) = (self.def_use.else_start(at), self.def_use.end(at));
        let cond = match self.shapes.value(cond) {
            LaneValue::Uniform(cond) => {
                let yes = self.collect(|emit| emit.block(yes, at + 1, outer, mask));
                let no = self.collect(|emit| emit.block(no, other, outer, mask));
                self.out.push(Stmt::If(cond, yes, no));
                return;
            }
            cond @ (LaneValue::Affine(..) | LaneValue::Vector(_)) => self.shapes.vector(cond),
        };
        let holds = self.mask(cond, "holds");
        for (arm, from, to, there) in
            [(yes, at + 1, other, Expr::Var(holds)), (no, other, end, not(Expr::Var(holds)))]
        {
            if arm.is_empty() {
                continue;
            }
            let there = match (mask.lanes, there) {
                (None, Expr::Var(_)) => holds,
                (lanes, there) => self.mask(Self::restrict(lanes, there), "there"),
            };
            let mask = Mask { lanes: Some(there), region: Some(Region::Arm { from, to }) };
            if super::cost::is_flat(self.shapes, arm, self.machine) {
                self.block(arm, from, outer, mask);
            } else {
                let first = self.first_sets.len();
                let arm = self.collect(|emit| emit.block(arm, from, outer, mask));
                self.set_before(first, to);
                self.out.push(Stmt::If(any(there), arm, Vec::new()));
            }
        }
    }

    /// Sets the vectors that are first set in an arm which no lane may enter, and named from the
    /// statement `after` on: so no value of an earlier iteration reaches their reads in inactive lanes.
    fn set_before(&mut self, first: usize, after: u32) {
        let mut vars = self.first_sets.split_off(first);
        vars.retain(|var| self.def_use.is_used_after(*var, after));
        vars.iter().for_each(|var| self.set_zero(*var));
        self.first_sets.append(&mut vars);
    }

    fn set_zero(&mut self, var: Var) {
        let zero = Scalar::from_bits(self.shapes.type_of(&Expr::Var(var)), 0);
        self.out.push(Stmt::Set(var, Expr::Splat(self.lanes(), Box::new(Expr::Const(zero)))));
    }

    fn while_loop(&mut self, cond: Var, body: &[Stmt], at: u32, outer: u32, mask: Mask) {
        if self.shapes.shape(cond) == Shape::Uniform {
            let body = self.loop_body(|emit| emit.block(body, at + 1, at, mask));
            self.out.push(Stmt::While(cond, body));
            return;
        }
        let go = |_: &Self| Expr::Var(cond);
        self.while_any(mask, at, outer, go, |emit, mask| {
            emit.block(body, at + 1, at, mask);
        });
    }

    /// Runs a body while any lane of the mask is active.
    fn while_any(
        &mut self,
        mask: Mask,
        at: u32,
        outer: u32,
        go: impl Fn(&Self) -> Expr,
        body: impl FnOnce(&mut Self, Mask),
    ) {
        let live = self.mask(Self::restrict(mask.lanes, go(self)), "live");
        let more = self.bind(any(live), VarType::Scalar(PrimType::Bool), "more");
        let end = self.def_use.end(at);
        let inside = Mask { lanes: Some(live), region: Some(Region::Loop { end, outer }) };
        let stmts = self.loop_body(|emit| {
            body(emit, inside);
            let next = Self::restrict(Some(live), go(emit));
            emit.out.push(Stmt::Set(live, next));
            emit.out.push(Stmt::Set(more, any(live)));
        });
        self.out.push(Stmt::While(more, stmts));
    }

    fn for_loop(&mut self, f: &For, at: u32, outer: u32, mask: Mask) {
        let (from, to) = (self.shapes.value(&f.from), self.shapes.value(&f.to));
        let (from, to) = match (from, to) {
            (LaneValue::Uniform(from), LaneValue::Uniform(to)) => {
                let body = self.loop_body(|emit| emit.block(&f.body, at + 1, at, mask));
                let how = match &f.mode {
                    LoopMode::Lanes(_) => LoopMode::Seq { independent: true },
                    how @ (LoopMode::Seq { .. }
                    | LoopMode::Scheduled
                    | LoopMode::Tasks(_)
                    | LoopMode::Grid(_)
                    | LoopMode::Threads(_)) => how.clone(),
                };
                self.out.push(Stmt::For(For { mode: how, var: f.var, from, to, body }));
                return;
            }
            bounds => bounds,
        };
        let ty = self.shapes.type_of(&f.from);
        let bound = self.shapes.vector(to);
        let bound = self.bind(bound, VarType::Vector(ty, self.lanes()), "bound");
        // Inactive lanes neither affect nor read the counter.
        let everywhere = Mask { lanes: mask.lanes, region: None };
        self.assign(f.var, from, everywhere);
        let counter = Expr::Var(f.var);
        let go = |emit: &Self| {
            let i = emit.shapes.vector(emit.shapes.value(&counter));
            Expr::compare(CmpOp::SLt, ty, i, Expr::Var(bound))
        };
        self.while_any(mask, at, outer, go, |emit, inside| {
            emit.block(&f.body, at + 1, at, inside);
            let one = Expr::Const(Scalar::from_bits(ty, 1));
            let next = Expr::binary(BinOp::Add, ty, counter.clone(), one);
            let next = emit.shapes.value(&next);
            emit.assign(f.var, next, everywhere);
        });
    }

    /// Finds the failing lanes first, and fails with the values of the first one: no access that
    /// the check protects comes before.
    fn check(&mut self, cond: &Expr, check: CheckId, values: &[Expr], mask: Mask) {
        let cond = match self.shapes.value(cond) {
            LaneValue::Uniform(cond) if values.iter().all(|v| self.shapes.value(v).is_uniform()) => {
                self.out.push(Stmt::Check { cond, check, values: values.to_vec() });
                return;
            }
            cond @ (LaneValue::Uniform(_) | LaneValue::Affine(..) | LaneValue::Vector(_)) => {
                self.shapes.vector(cond)
            }
        };
        let bad = self.mask(Self::restrict(mask.lanes, not(cond)), "bad");
        let first = Expr::FirstLane(Box::new(Expr::Var(bad)));
        let values = values
            .iter()
            .map(|value| match self.shapes.value(value) {
                LaneValue::Uniform(e) => e,
                value @ (LaneValue::Affine(..) | LaneValue::Vector(_)) => {
                    let value = self.shapes.vector(value);
                    Expr::Extract(Box::new(value), Box::new(first.clone()))
                }
            })
            .collect();
        self.out.push(Stmt::Check { cond: not(any(bad)), check, values });
    }

    /// Runs `f` for each lane of the mask, sequentially.
    fn each_lane(&mut self, mask: Mask, f: impl FnOnce(&mut Self, Expr)) {
        let lane = self.var(VarType::Scalar(PrimType::I64), "lane");
        let at = Expr::Var(lane);
        let mut body = self.collect(|emit| f(emit, at.clone()));
        if let Some(lanes) = mask.lanes {
            let there = Expr::Extract(Box::new(Expr::Var(lanes)), Box::new(at));
            body = vec![Stmt::If(there, body, Vec::new())];
        }
        self.out.push(Stmt::For(For {
            mode: LoopMode::Seq { independent: false },
            var: lane,
            from: Expr::i64(0),
            to: Expr::i64(i64::from(self.lanes())),
            body,
        }));
    }

    /// A value from which single lanes can be extracted; the flag is true if it is uniform.
    fn as_lanes(&mut self, e: &Expr) -> (Expr, bool) {
        let ty = self.shapes.type_of(e);
        match self.shapes.value(e) {
            LaneValue::Uniform(e) => (e, true),
            value @ (LaneValue::Affine(..) | LaneValue::Vector(_)) => {
                let value = self.shapes.vector(value);
                let var = self.bind(value, VarType::Vector(ty, self.lanes()), "each");
                (Expr::Var(var), false)
            }
        }
    }

    fn call(&mut self, fun: FunId, args: &[Arg], (results, location): (&[Var], Option<CheckId>), mask: Mask) {
        let uniform = args.iter().all(|arg| match arg {
            Arg::Scalar(e) => self.shapes.value(e).is_uniform(),
            Arg::Buffer(_) => true,
        });
        if uniform {
            let mut scalars = Vec::with_capacity(results.len());
            for result in results {
                scalars.push(match self.shapes.shape(*result) {
                    Shape::Uniform => *result,
                    Shape::Affine(_) | Shape::Varying => {
                        let ty = self.shapes.type_of(&Expr::Var(*result));
                        self.var(VarType::Scalar(ty), "result")
                    }
                });
            }
            self.out.push(Stmt::Call { fun, args: args.to_vec(), results: scalars.clone(), location });
            for (result, scalar) in results.iter().zip(scalars) {
                if *result != scalar {
                    self.assign(*result, LaneValue::Uniform(Expr::Var(scalar)), mask);
                }
            }
            return;
        }
        let spread: Vec<Result<(Expr, bool), Var>> = args
            .iter()
            .map(|arg| match arg {
                Arg::Scalar(e) => Ok(self.as_lanes(e)),
                Arg::Buffer(v) => Err(*v),
            })
            .collect();
        for result in results {
            if !self.must_blend(*result, mask) {
                self.set_zero(*result);
            }
        }
        self.each_lane(mask, |emit, lane| {
            let args = spread
                .into_iter()
                .map(|arg| match arg {
                    Ok(arg) => Arg::Scalar(extract_lane(arg, &lane)),
                    Err(buffer) => Arg::Buffer(buffer),
                })
                .collect();
            let scalars: Vec<Var> = results
                .iter()
                .map(|v| {
                    let ty = emit.shapes.type_of(&Expr::Var(*v));
                    emit.var(VarType::Scalar(ty), "result")
                })
                .collect();
            emit.out.push(Stmt::Call { fun, args, results: scalars.clone(), location });
            for (result, scalar) in results.iter().zip(scalars) {
                let value = Expr::Insert(
                    Box::new(Expr::Var(*result)),
                    Box::new(lane.clone()),
                    Box::new(Expr::Var(scalar)),
                );
                emit.out.push(Stmt::Set(*result, value));
            }
        });
    }

    fn copy(&mut self, to: &Extent, from: &Extent, elem: PrimType, extents: &[Expr], mask: Mask) {
        if [to, from].map(|end| self.shapes.private.contains_key(&end.buffer)) != [false, false] {
            self.copy_elements(to, from, elem, extents, mask);
            return;
        }
        let mut spread =
            |exprs: &[Expr]| -> Vec<(Expr, bool)> { exprs.iter().map(|e| self.as_lanes(e)).collect() };
        let parts = [
            spread(std::slice::from_ref(&to.offset)),
            spread(&to.strides),
            spread(std::slice::from_ref(&from.offset)),
            spread(&from.strides),
            spread(extents),
        ];
        if parts.iter().flatten().all(|(_, uniform)| *uniform) {
            let (to, from) = (to.clone(), from.clone());
            self.out.push(Stmt::copy(to, from, elem, extents.to_vec()));
            return;
        }
        self.each_lane(mask, |emit, lane| {
            let [to_offset, to_strides, from_offset, from_strides, extents] =
                parts.map(|part| -> Vec<Expr> { part.into_iter().map(|e| extract_lane(e, &lane)).collect() });
            let region = |buffer, offset: Vec<Expr>, strides| Extent {
                buffer,
                offset: offset.into_iter().next().unwrap_or(Expr::i64(0)),
                strides,
            };
            let to = region(to.buffer, to_offset, to_strides);
            let from = region(from.buffer, from_offset, from_strides);
            emit.out.push(Stmt::copy(to, from, elem, extents));
        });
    }

    /// A copy that reads or writes private arrays: element by element, all lanes at once. Its
    /// extents are uniform.
    fn copy_elements(&mut self, to: &Extent, from: &Extent, elem: PrimType, extents: &[Expr], mask: Mask) {
        let counters: Vec<Var> =
            (extents.iter()).map(|_| self.var(VarType::Scalar(PrimType::I64), "k")).collect();
        let access = |end: &Extent| Access {
            buffer: end.buffer,
            elem,
            offset: end.offset.clone(),
            dims: (counters.iter().map(|k| Expr::Var(*k))).zip(end.strides.iter().cloned()).collect(),
        };
        let (source, target) = (access(from), access(to));
        let mut body = self.collect(|emit| {
            let position = emit.shapes.position(&source);
            let value = if position.is_uniform() {
                let scalar = emit.var(VarType::Scalar(elem), "x");
                emit.out.push(Stmt::Load(scalar, source.clone()));
                LaneValue::Uniform(Expr::Var(scalar))
            } else {
                let vector = emit.var(VarType::Vector(elem, emit.lanes()), "x");
                emit.load_lanes(vector, &source, position, mask);
                LaneValue::Vector(Expr::Var(vector))
            };
            let position = emit.shapes.position(&target);
            emit.store_lanes(&target, position, value, mask);
        });
        for (var, extent) in counters.into_iter().zip(extents).rev() {
            body = vec![Stmt::For(For {
                mode: LoopMode::Seq { independent: false },
                var,
                from: Expr::i64(0),
                to: self.as_lanes(extent).0,
                body,
            })];
        }
        self.out.extend(body);
    }
}

/// A lane of a spread value.
fn extract_lane((value, uniform): (Expr, bool), lane: &Expr) -> Expr {
    if uniform { value } else { Expr::Extract(Box::new(value), Box::new(lane.clone())) }
}

//! Checks one function: variables, statements and calls (items 1 to 6, 8, 10 and 11 of the list in
//! [`verify`](super)); its expressions and loops, in [`expr`] and [`loops`].

mod expr;
mod loops;

use super::{Tables, VerifyError};
use crate::captures;
use crate::copy_plan;
use crate::walk::each_stmt;
use crate::{
    Access, Arg, CheckId, CopyPlan, DeviceOp, Expr, FunId, Function, LaneAccess, LanePositions,
    MAX_SMALL_STRIDE, MAX_TILE, MaskedOff, NEST_COUNTS, Region, Slots, Stmt, Tile, TunableId, Var, VarType,
};
use prim::PrimType;

/// A check of one function. A *frame* is the function (number 0) or one of its task loops.
pub(super) struct FunctionCheck<'t, 'a> {
    tables: &'t mut Tables<'a>,
    id: FunId,
    function: &'a Function,
    /// The frame that each variable belongs to at this point of the walk.
    frame_of: Vec<u32>,
    /// True for each variable that is in a list of owned variables.
    owned: Vec<bool>,
    /// True for each variable that is the counter of a loop around this point.
    counter: Vec<bool>,
    /// The number of the last list of distinct variables that each variable was in.
    stamp: Vec<u32>,
    stamps: u32,
    /// True for each frame so far that is around this point.
    open: Vec<bool>,
    /// The innermost frame.
    frame: u32,
    /// The captures of the task loops and kernels that are still to come.
    captures: std::vec::IntoIter<Vec<Var>>,
}

impl<'t, 'a> FunctionCheck<'t, 'a> {
    /// A check that has not yet run.
    pub(super) fn new(tables: &'t mut Tables<'a>, id: FunId, function: &'a Function) -> Self {
        let n = function.vars.len();
        Self {
            tables,
            id,
            function,
            frame_of: vec![0; n],
            owned: vec![false; n],
            counter: vec![false; n],
            stamp: vec![0; n],
            stamps: 0,
            open: vec![true],
            frame: 0,
            captures: captures::of(&function.body).into_iter(),
        }
    }

    fn error(&mut self, message: impl Into<String>) {
        self.tables
            .errors
            .push(VerifyError { function: self.function.name.clone(), message: message.into() });
    }

    fn name(&self, var: Var) -> String {
        let hint = self.function.vars.get(var.index()).map_or("?", |info| &*info.hint);
        format!("{hint}_{}", var.0)
    }

    /// Checks the function.
    pub(super) fn run(&mut self) {
        let function = self.function;
        for info in &function.vars {
            if let VarType::Vector(_, lanes) = info.ty {
                self.lanes(lanes);
            }
        }
        self.distinct(&function.params, "parameters");
        self.distinct(&function.results, "results");
        self.own(&function.owned);
        each_stmt(&function.body, &mut |stmt| {
            if let Stmt::For(f) = stmt
                && let Some(launch) = f.mode.launch()
            {
                self.own(&launch.owned);
            }
        });
        for param in &function.params {
            if self.owned.get(param.index()) == Some(&true) {
                self.error(format!("parameter {} is an owned variable", self.name(*param)));
            }
        }
        self.distinct(&function.distinct, "distinct buffers");
        for var in &function.distinct {
            if !self.var_type(*var).is_some_and(VarType::is_buffer) {
                self.error(format!("{} is distinct and not a buffer", self.name(*var)));
            }
        }
        self.distinct(&function.owned, "owned variables");
        for result in &function.results {
            let is_buffer = matches!(self.var_type(*result), Some(VarType::Buffer(_)));
            // The last stamp is that of the function's own list.
            if is_buffer && self.stamp.get(result.index()) != Some(&self.stamps) {
                self.error(format!("result {} is not an owned variable", self.name(*result)));
            }
        }
        self.block(&function.body);
    }

    /// Checks that no variable is in a list twice.
    fn distinct(&mut self, vars: &[Var], what: &str) {
        self.stamps += 1;
        for var in vars {
            match self.stamp.get_mut(var.index()) {
                None => self.error(format!("variable {} does not exist", var.0)),
                Some(stamp) if *stamp == self.stamps => {
                    self.error(format!("{} occurs twice in the {what}", self.name(*var)));
                }
                Some(stamp) => *stamp = self.stamps,
            }
        }
    }

    fn own(&mut self, vars: &[Var]) {
        for var in vars {
            match self.function.vars.get(var.index()).map(|info| info.ty) {
                None => self.error(format!("owned variable {} does not exist", var.0)),
                Some(VarType::Scalar(_) | VarType::Vector(..)) => {
                    self.error(format!("owned variable {} is not a buffer", self.name(*var)));
                }
                Some(VarType::Buffer(_)) if self.owned[var.index()] => {
                    self.error(format!("{} has two owners", self.name(*var)));
                }
                Some(VarType::Buffer(_)) => self.owned[var.index()] = true,
            }
        }
    }

    /// Checks that the check with the source span of a failure exists.
    fn location(&mut self, location: Option<CheckId>) {
        if let Some(location) = location
            && self.tables.formats.get(location.index()).is_none()
        {
            self.error(format!("check#{} does not exist", location.0));
        }
    }

    /// Checks that a tuning parameter exists.
    fn tunable(&mut self, id: TunableId) {
        if id.index() >= self.tables.program.tunables.len() {
            self.error(format!("tunable#{} does not exist", id.0));
        }
    }

    fn var_type(&self, var: Var) -> Option<VarType> {
        self.function.vars.get(var.index()).map(|info| info.ty)
    }

    /// Checks a named variable: it exists and belongs to an enclosing frame. Returns its type.
    fn read(&mut self, var: Var) -> Option<VarType> {
        let Some(ty) = self.var_type(var) else {
            self.error(format!("variable {} does not exist", var.0));
            return None;
        };
        let home = self.frame_of[var.index()] as usize;
        if self.open.get(home) != Some(&true) {
            self.error(format!("{} is used outside the loop it belongs to", self.name(var)));
        }
        Some(ty)
    }

    fn read_buffer(&mut self, var: Var) {
        if self.read(var).is_some_and(|ty| !ty.is_buffer()) {
            self.error(format!("{} is not a buffer", self.name(var)));
        }
    }

    fn write(&mut self, var: Var) -> Option<VarType> {
        let ty = self.read(var)?;
        if self.frame_of[var.index()] != self.frame {
            self.error(format!("{} is set inside a loop it does not belong to", self.name(var)));
        }
        if self.counter[var.index()] {
            self.error(format!("{} is set, but is a loop's counter", self.name(var)));
        }
        Some(ty)
    }

    /// Checks that a scalar or vector variable may be set to a value, whose type may be unknown.
    fn write_value(&mut self, var: Var, value: Option<VarType>) {
        match (self.write(var), value) {
            (Some(VarType::Buffer(_)), _) => {
                self.error(format!("{} is a buffer", self.name(var)));
            }
            (Some(ty), Some(value)) if ty != value => {
                self.error(format!("{} is set to a value of type {value}", self.name(var)));
            }
            _ => {}
        }
    }

    fn write_buffer(&mut self, var: Var, owned: bool) {
        match self.write(var) {
            Some(VarType::Scalar(_) | VarType::Vector(..)) => {
                self.error(format!("{} is not a buffer", self.name(var)));
            }
            Some(VarType::Buffer(_)) if self.owned[var.index()] != owned => {
                let is = if owned { "not " } else { "" };
                self.error(format!("{} is {is}an owned variable", self.name(var)));
            }
            _ => {}
        }
    }

    fn block(&mut self, stmts: &'a [Stmt]) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt);
            }
        });
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Set(v, e) => {
                let ty = self.expr(e);
                self.write_value(*v, ty);
            }
            Stmt::Load(v, access) => {
                self.access(access);
                self.write_value(*v, Some(VarType::Scalar(access.elem)));
            }
            Stmt::Store(access, e) => {
                self.access(access);
                self.typed(e, access.elem);
            }
            Stmt::LoadLanes { var, from, mask } => {
                self.lane_access(from, mask.as_ref(), false);
                self.write_value(*var, Some(VarType::Vector(from.elem, from.lanes)));
            }
            Stmt::StoreLanes { to, value, mask } => {
                self.lane_access(to, mask.as_ref(), true);
                self.expect_type(value, VarType::Vector(to.elem, to.lanes));
            }
            Stmt::Alloc(v, bytes, location) => {
                self.typed(bytes, PrimType::I64);
                self.location(*location);
                self.write_buffer(*v, true);
            }
            Stmt::Slots(Slots::New(v, count, location)) => {
                self.typed(count, PrimType::I64);
                self.location(*location);
                self.write_buffer(*v, true);
            }
            Stmt::Slots(Slots::Put { slots, at, block }) => {
                self.read_buffer(*slots);
                self.typed(at, PrimType::I64);
                self.write_buffer(*block, true);
            }
            Stmt::Slots(Slots::Get { var, slots, at }) => {
                self.read_buffer(*slots);
                self.typed(at, PrimType::I64);
                self.write_buffer(*var, false);
            }
            Stmt::Frame { buffer, elem: _, count: _ } => self.write_buffer(*buffer, false),
            Stmt::Share(v, w) => {
                self.read_buffer(*w);
                self.write_buffer(*v, true);
            }
            Stmt::Borrow(v, w) => {
                self.read_buffer(*w);
                self.write_buffer(*v, false);
            }
            Stmt::Release(v) => self.write_buffer(*v, true),
            Stmt::Copy { to, from, elem: _, extents, plan } => {
                for region in [to, from] {
                    self.region(region, extents.len());
                }
                self.all_i64(extents);
                self.plan(to, from, extents, *plan);
            }
            Stmt::ConstData(v, data) => {
                self.write_buffer(*v, false);
                if data.index() >= self.tables.program.data.len() {
                    self.error(format!("data#{} does not exist", data.0));
                }
            }
            Stmt::If(cond, yes, no) => {
                self.typed(cond, PrimType::Bool);
                self.block(yes);
                self.block(no);
            }
            Stmt::While(cond, body) => {
                self.typed_var(*cond, PrimType::Bool);
                self.block(body);
            }
            Stmt::For(f) => self.for_loop(f),
            Stmt::Call { fun, args, results, location } => {
                self.call(*fun, args, results);
                if location.is_some_and(|check| self.tables.formats.len() <= check.index()) {
                    self.error("the source span of a call does not exist");
                }
            }
            Stmt::RecordComparison(tunable, size) => {
                self.tunable(*tunable);
                self.typed(size, PrimType::I64);
            }
            Stmt::BeginNest => {}
            Stmt::EndNest { nest, counts } => {
                if self.tables.formats.len() <= nest.index() {
                    self.error("the name of a nest does not exist");
                }
                if counts.len() != NEST_COUNTS {
                    self.error("a nest has a wrong number of counts");
                }
                counts.iter().for_each(|count| self.typed(count, PrimType::I64));
            }
            Stmt::Check { cond, check, values } => {
                self.typed(cond, PrimType::Bool);
                let types: Vec<_> = values.iter().map(|v| self.expr(v)).collect();
                match self.tables.formats.get(check.index()) {
                    None => self.error(format!("check#{} does not exist", check.0)),
                    Some(Ok(wanted))
                        if !types.iter().copied().eq(wanted.iter().map(|t| Some(VarType::Scalar(*t)))) =>
                    {
                        self.error(format!("the values of check#{} do not match its format", check.0));
                    }
                    Some(_) => {}
                }
            }
            Stmt::ReadGlobal(v, global) => match self.tables.program.globals.get(global.index()) {
                None => self.error(format!("global#{} does not exist", global.0)),
                Some(ty) if ty.is_buffer() => {
                    self.write_buffer(*v, false);
                    if self.var_type(*v) != Some(*ty) {
                        self.error(format!("global#{} is in another memory space", global.0));
                    }
                }
                Some(ty) => self.write_value(*v, Some(*ty)),
            },
            Stmt::Device(op) => self.device_op(op),
            Stmt::WriteGlobal(global, v) => {
                let ty = self.read(*v);
                let wanted = self.tables.program.globals.get(global.index()).copied();
                if wanted.is_none() || (ty.is_some() && ty != wanted) {
                    self.error(format!("global#{} does not have the type of {}", global.0, self.name(*v)));
                }
                if self.tables.program.init != Some(self.id) || self.frame != 0 {
                    self.error("a global variable is written outside the initialiser");
                }
            }
        }
    }

    fn device_op(&mut self, op: &DeviceOp) {
        match op {
            DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_) => {}
            DeviceOp::Update(update) => {
                self.access(&update.at);
                self.typed(&update.value, update.at.elem);
                if let Some(old) = update.old {
                    self.write_value(old, Some(VarType::Scalar(update.at.elem)));
                }
            }
            DeviceOp::CompareExchange { old, at, expected, value } => {
                self.access(at);
                self.typed(expected, at.elem);
                self.typed(value, at.elem);
                self.write_value(*old, Some(VarType::Scalar(at.elem)));
            }
            DeviceOp::Signal { at, value } => {
                self.access(at);
                self.typed(value, at.elem);
            }
            DeviceOp::Await { var, at } => {
                self.access(at);
                self.write_value(*var, Some(VarType::Scalar(at.elem)));
            }
        }
    }

    fn call(&mut self, fun: FunId, args: &[Arg], results: &[Var]) {
        let args: Vec<_> = args
            .iter()
            .map(|arg| match arg {
                Arg::Scalar(e) => self.expr(e),
                Arg::Buffer(v) => {
                    self.read_buffer(*v);
                    self.var_type(*v)
                }
            })
            .collect();
        for result in results {
            match self.var_type(*result) {
                Some(VarType::Buffer(_)) => self.write_buffer(*result, true),
                Some(ty) => self.write_value(*result, Some(ty)),
                None => {}
            }
        }
        self.distinct(results, "results of a call");
        let program = self.tables.program;
        let Some(callee) = program.functions.get(fun.index()) else {
            self.error(format!("function {} does not exist", fun.0));
            return;
        };
        if program.init == Some(fun) {
            self.error("the initialiser is called");
        }
        let types = |vars: &[Var]| -> Vec<Option<VarType>> {
            vars.iter().map(|v| callee.vars.get(v.index()).map(|info| info.ty)).collect()
        };
        let given: Vec<_> = results.iter().map(|v| self.var_type(*v)).collect();
        if types(&callee.params) != args {
            self.error(format!("the arguments do not match the parameters of {}", callee.name));
        }
        if types(&callee.results) != given {
            self.error(format!("the variables do not match the results of {}", callee.name));
        }
    }

    fn access(&mut self, access: &Access) {
        let Access { buffer, elem: _, offset, dims } = access;
        self.read_buffer(*buffer);
        self.typed(offset, PrimType::I64);
        for (index, stride) in dims {
            self.typed(index, PrimType::I64);
            self.typed(stride, PrimType::I64);
        }
    }

    fn lane_access(&mut self, access: &LaneAccess, mask: Option<&Expr>, stores: bool) {
        let LaneAccess { buffer, elem: _, lanes, at, masked_off: off } = access;
        self.read_buffer(*buffer);
        self.lanes(*lanes);
        match at {
            LanePositions::Unit(position) => self.typed(position, PrimType::I64),
            LanePositions::SmallStride(position, stride) => {
                self.typed(position, PrimType::I64);
                let gaps = mask.is_none() && !stores;
                let near = *stride == -1
                    || gaps && *stride != 1 && (1..=MAX_SMALL_STRIDE).contains(&stride.unsigned_abs());
                if !near {
                    self.error(format!("{stride} is not a small stride"));
                }
            }
            LanePositions::Strided(position, stride) => {
                self.typed(position, PrimType::I64);
                self.typed(stride, PrimType::I64);
                if mask.is_some() {
                    self.error("a strided access has a mask");
                }
            }
            LanePositions::Gather(positions) => {
                self.expect_type(positions, VarType::Vector(PrimType::I64, *lanes));
            }
        }
        if *off == MaskedOff::Dummy && (mask.is_none() || access.is_contiguous()) {
            self.error("an access whose lanes are all active has dummy locations");
        }
        if let Some(mask) = mask {
            self.expect_type(mask, VarType::Vector(PrimType::Bool, *lanes));
        }
    }

    fn region(&mut self, region: &Region, rank: usize) {
        let Region { buffer, offset, strides } = region;
        self.read_buffer(*buffer);
        self.typed(offset, PrimType::I64);
        self.all_i64(strides);
        if strides.len() != rank {
            self.error(format!("a copy of rank {rank} has {} strides on one side", strides.len()));
        }
    }

    /// Checks that a plan is possible for the copy.
    fn plan(&mut self, to: &Region, from: &Region, extents: &[Expr], plan: CopyPlan) {
        let fits = match plan {
            CopyPlan::Memory => copy_plan::is_row(to, from, extents),
            CopyPlan::InRegister(side) => copy_plan::square(to, from, extents) == Some(side),
            CopyPlan::Elements => extents.len() == 1,
            CopyPlan::Dynamic(None) => true,
            CopyPlan::Dynamic(Some(Tile { extent: side, pitch })) => {
                (2..=MAX_TILE).contains(&side) && (side..=MAX_TILE).contains(&pitch)
            }
        };
        if !fits {
            self.error(format!("the copy does not allow the plan {plan:?}"));
        }
    }

    fn all_i64(&mut self, exprs: &[Expr]) {
        for expr in exprs {
            self.typed(expr, PrimType::I64);
        }
    }

    fn typed_var(&mut self, var: Var, wanted: PrimType) {
        if self.read(var).is_some_and(|ty| ty != VarType::Scalar(wanted)) {
            self.error(format!("{} is not of type {wanted}", self.name(var)));
        }
    }
}

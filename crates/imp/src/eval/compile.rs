//! Compiles functions and kernels to flat code.
//!
//! This module lays out registers; [`stmt`], [`access`], [`expr`] and [`control`] compile
//! statements, accesses, expressions and control flow. An ill-typed statement, which the verifier
//! refuses, becomes an instruction that fails.
//!
//! **Unset variables.** Instructions require that their operands have values. So a use of a
//! variable follows an `Op::Require`, unless the variable has a value on every path to it: the
//! facts of [`facts`] tell.

mod access;
mod control;
mod expr;
mod facts;
mod stmt;

use super::carried::Carried;
use super::code::{LaneOp, LargeOp, Op, Reg, Slot};
use super::unit::{Part, Unit};
use crate::{Arg, DeviceOp, Function, Program, Stmt, Var, VarType};
use facts::Facts;
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};
use target::memories::Allocation;

/// The constants of an evaluation.
pub(super) struct Constants<'a> {
    pub(super) tunables: &'a [i64],
    pub(super) logs_comparisons: bool,
}

/// The size of `count` elements in bytes.
pub(super) fn bytes_of(elem: PrimType, count: u64) -> i64 {
    i64::try_from(u128::from(elem.size()) * u128::from(count)).unwrap_or(i64::MAX)
}

/// Compiles a function.
pub(super) fn function<'p>(
    program: &'p Program,
    function: &'p Function,
    constants: &Constants<'_>,
) -> Unit<'p> {
    let mut carried = Carried::default();
    let mut compiler = Compiler::new(program, function, constants, &mut carried, Executor::Host);
    let owned: Vec<Reg> = function.owned.iter().filter_map(|var| compiler.owned(*var)).collect();
    let params: Vec<Part> = function.params.iter().filter_map(|var| compiler.part(*var).ok()).collect();
    compiler.facts.assume(params.iter().filter(|part| part.is_buffer).map(|part| part.var));
    compiler.block(&function.body, 0);
    compiler.emit(Op::Return);
    let results: Vec<Part> = function.results.iter().filter_map(|var| compiler.part(*var).ok()).collect();
    let returned: FxHashSet<Reg> = results.iter().map(|part| part.reg).collect();
    let mut unit = compiler.unit;
    unit.owned = owned.into_iter().filter(|reg| !returned.contains(reg)).collect();
    unit.params = params.iter().map(|part| (part.reg, part.count)).collect();
    unit.results = results;
    unit
}

/// A statement that cannot be compiled: an instruction that fails stands in its place.
#[derive(Debug)]
struct Stop;

type Compiled<T> = Result<T, Stop>;

/// The executor of the code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Executor {
    /// The host, or a thread in a call.
    Host,
    /// A thread block, for its threads together.
    Block,
    /// A thread.
    Thread,
}

struct Compiler<'p, 'c> {
    program: &'p Program,
    constants: &'c Constants<'c>,
    carried: &'c mut Carried,
    unit: Unit<'p>,
    executor: Executor,
    /// The variables that have registers.
    parts: FxHashMap<Var, Part>,
    constant_registers: FxHashMap<u64, Reg>,
    /// The vectors of constants, by the first word, the difference of the others, and the length.
    constant_vectors: FxHashMap<(u64, u64, u32), Reg>,
    /// The temporaries that are not in use, by their numbers of registers, and those in use.
    free: FxHashMap<u32, Vec<Reg>>,
    used: Vec<(Reg, u32)>,
    facts: Facts,
    /// The variables of a kernel's blocks or threads that the executor may set.
    own: FxHashSet<Var>,
    /// All variables of a kernel's blocks and threads.
    inner: FxHashSet<Var>,
    /// The variables that a kernel reads from the host.
    captures: Vec<Part>,
    /// The index of the current statement.
    stmt: u32,
    /// The first instruction of a thread's last statement that accesses memory of others.
    start: u32,
}

impl<'p, 'c> Compiler<'p, 'c> {
    fn new(
        program: &'p Program,
        function: &'p Function,
        constants: &'c Constants<'c>,
        carried: &'c mut Carried,
        executor: Executor,
    ) -> Self {
        Self {
            program,
            constants,
            carried,
            unit: Unit {
                function,
                code: Vec::new(),
                origin: Vec::new(),
                lane_ops: Vec::new(),
                large_ops: Vec::new(),
                stmts: Vec::new(),
                template: Vec::new(),
                params: Vec::new(),
                results: Vec::new(),
                owned: Vec::new(),
                failures: Vec::new(),
                lanes: Vec::new(),
                copies: Vec::new(),
                extents: Vec::new(),
                calls: Vec::new(),
                checks: Vec::new(),
                atomics: Vec::new(),
                loops: Vec::new(),
                kernels: Vec::new(),
            },
            executor,
            parts: FxHashMap::default(),
            constant_registers: FxHashMap::default(),
            constant_vectors: FxHashMap::default(),
            free: FxHashMap::default(),
            used: Vec::new(),
            facts: Facts::default(),
            own: FxHashSet::default(),
            inner: FxHashSet::default(),
            captures: Vec::new(),
            stmt: u32::MAX,
            start: 0,
        }
    }

    fn emit(&mut self, op: Op) {
        self.unit.code.push(op);
        self.unit.origin.push(self.stmt);
    }

    fn emit_lanes(&mut self, op: LaneOp) {
        self.emit(Op::Lanes(self.unit.lane_ops.len() as u32));
        self.unit.lane_ops.push(op);
    }

    fn emit_large(&mut self, op: LargeOp) {
        self.emit(Op::Large(self.unit.large_ops.len() as u32));
        self.unit.large_ops.push(op);
    }

    /// The index of the next instruction.
    fn here(&self) -> u32 {
        self.unit.code.len() as u32
    }

    fn fail<T>(&mut self, message: impl Into<String>) -> Compiled<T> {
        let at = self.unit.failures.len() as u32;
        self.unit.failures.push(message.into());
        self.emit(Op::Fail(at));
        Err(Stop)
    }

    // Registers.

    fn registers(&mut self, slot: Slot, count: u32) -> Reg {
        let reg = self.unit.template.len();
        self.unit.template.resize(reg + count as usize, slot);
        reg as Reg
    }

    fn constant(&mut self, word: u64) -> Reg {
        if let Some(reg) = self.constant_registers.get(&word) {
            return *reg;
        }
        let reg = self.registers(Slot::set(word), 1);
        self.constant_registers.insert(word, reg);
        reg
    }

    /// A vector of these words: the first one, and each further one with the difference added.
    fn constant_vector(&mut self, first: u64, step: u64, lanes: u32) -> Reg {
        if let Some(reg) = self.constant_vectors.get(&(first, step, lanes)) {
            return *reg;
        }
        let reg = self.registers(Slot::set(first), lanes);
        for lane in 0..lanes {
            let word = first.wrapping_add(step.wrapping_mul(u64::from(lane)));
            self.unit.template[(reg + lane) as usize] = Slot::set(word);
        }
        self.constant_vectors.insert((first, step, lanes), reg);
        reg
    }

    /// A temporary, until the statement ends.
    fn temp(&mut self, count: u32) -> Reg {
        let free = self.free.get_mut(&count).and_then(Vec::pop);
        let reg = free.unwrap_or_else(|| self.registers(Slot::set(0), count));
        self.used.push((reg, count));
        reg
    }

    /// A temporary that no other statement uses.
    fn own_temp(&mut self) -> Reg {
        self.registers(Slot::set(0), 1)
    }

    fn free_temps(&mut self) {
        for (reg, count) in self.used.drain(..) {
            self.free.entry(count).or_default().push(reg);
        }
    }

    fn ty(&mut self, var: Var) -> Compiled<VarType> {
        match self.unit.function.vars.get(var.index()) {
            Some(info) => Ok(info.ty),
            None => self.fail(format!("variable {} does not exist", var.0)),
        }
    }

    /// The registers of a variable.
    fn part(&mut self, var: Var) -> Compiled<Part> {
        if let Some(part) = self.parts.get(&var) {
            return Ok(*part);
        }
        let ty = self.ty(var)?;
        let count = ty.lanes().unwrap_or(1);
        let reg = self.registers(Slot::UNSET, count);
        let is_vector = ty.lanes().is_some();
        let part = Part { var, reg, count, is_buffer: ty.is_buffer(), is_vector };
        self.parts.insert(var, part);
        if self.executor != Executor::Host && !self.inner.contains(&var) {
            self.captures.push(part);
        }
        Ok(part)
    }

    /// The register of an owned variable, which is null at first.
    fn owned(&mut self, var: Var) -> Option<Reg> {
        let part = self.part(var).ok()?;
        self.unit.template[part.reg as usize] = Slot::NULL;
        Some(part.reg)
    }

    /// The registers of a variable that is set.
    fn target(&mut self, var: Var) -> Compiled<Part> {
        let part = self.part(var)?;
        if self.executor != Executor::Host && !self.own.contains(&var) {
            let message = format!("variable {} is set by a block or a thread, and is not its own", var.0);
            return self.fail(message);
        }
        Ok(part)
    }

    /// The register of a scalar variable that is set.
    fn scalar_target(&mut self, var: Var) -> Compiled<(Reg, PrimType)> {
        let part = self.target(var)?;
        match self.ty(var)? {
            VarType::Scalar(ty) => Ok((part.reg, ty)),
            VarType::Buffer(_) | VarType::Vector(..) => self.fail("a scalar is needed"),
        }
    }

    fn buffer_target(&mut self, var: Var) -> Compiled<Reg> {
        let part = self.target(var)?;
        if part.is_buffer { Ok(part.reg) } else { self.fail("a buffer is needed") }
    }

    /// The register of a buffer variable, which has a block.
    fn pointer(&mut self, var: Var) -> Compiled<Reg> {
        let part = self.part(var)?;
        if !part.is_buffer {
            return self.fail("a buffer is needed");
        }
        self.require(part);
        Ok(part.reg)
    }

    fn require(&mut self, part: Part) {
        if !part.is_vector && self.facts.learn(part.var) {
            self.emit(Op::Require { a: part.reg, var: part.var });
        }
    }

    // Statements.

    /// Compiles statements, with `more` steps before them.
    fn block(&mut self, stmts: &'p [Stmt], more: u32) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let outer = self.stmt;
            let steps = stmts.len() as u32 + more;
            if steps > 0 {
                self.emit(Op::Step(steps));
            }
            for stmt in stmts {
                self.stmt = self.unit.stmts.len() as u32;
                self.unit.stmts.push(stmt);
                if self.executor == Executor::Thread && self.is_observable(stmt) {
                    self.start = self.here();
                    self.emit(Op::Yield);
                }
                // Where it cannot be compiled, an instruction fails.
                let _ = self.stmt(stmt);
                self.free_temps();
            }
            self.stmt = outer;
        });
    }

    /// Returns true if other threads may observe what a statement of a thread does, or it may
    /// observe what they do.
    fn is_observable(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Load(_, access) | Stmt::Store(access, _) => {
                self.unit.memory(access.buffer).allocation != Allocation::Frame
            }
            Stmt::Device(op) => !matches!(op, DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_)),
            Stmt::Call { args, .. } => args.iter().any(|arg| matches!(arg, Arg::Buffer(_))),
            Stmt::LoadLanes { .. } | Stmt::StoreLanes { .. } | Stmt::Copy { .. } => true,
            crate::resource_stmt!() | crate::nested_stmt!() | Stmt::Set(..) | Stmt::Check { .. } => false,
        }
    }
}

//! Checks the rules for devices (items 12 to 15 of the list in [`verify`](super)): the memory that
//! the host and threads access, the parts of a kernel, and the functions that kernels call.

use super::uniform::divergent_barriers;
use super::{Tables, VerifyError};
use crate::captures::captured;
use crate::device::{RELAXED_TYPE, RELEASE_TYPE};
use crate::walk::{each_stmt, each_var};
use crate::{
    Access, CopyPlan, DeviceOp, Expr, For, FunId, Function, Launch, LoopMode, MemoryId, Slots, Stmt, Var,
    VarType,
};
use prim::PrimType;
use target::device::{MAX_SUBGROUP, SHARED_MEMORY_BYTES, is_atomic, is_word};
use target::levels::LevelId;
use target::memories::Allocation;

/// The executor of code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Executor {
    /// The host, outside of tasks or in one.
    Host { in_task: bool },
    /// A thread of a device.
    Thread,
    /// A function that a thread has called.
    Callee,
}

impl Executor {
    const fn is_host(self) -> bool {
        matches!(self, Self::Host { .. })
    }

    /// The level whose memories it accesses.
    const fn level(self) -> LevelId {
        if self.is_host() { LevelId::Tasks } else { LevelId::Block }
    }
}

fn is_on_heap(memory: MemoryId) -> bool {
    memory.allocation == Allocation::Heap
}

fn is_shared(memory: MemoryId) -> bool {
    memory.allocation == Allocation::Launch
}

impl Tables<'_> {
    /// Checks all functions, and once more the functions that kernels call.
    pub(super) fn kernels(&mut self) {
        let functions = &self.program.functions;
        let mut called = vec![false; functions.len()];
        let mut open = Vec::new();
        for function in functions {
            let mut walk = Walk::new(function);
            walk.block(&function.body, Executor::Host { in_task: false });
            open.append(&mut walk.calls);
            self.errors.append(&mut walk.errors);
        }
        while let Some(FunId(at)) = open.pop() {
            let at = at as usize;
            let (Some(function), Some(seen @ false)) = (functions.get(at), called.get_mut(at)) else {
                continue;
            };
            *seen = true;
            let mut walk = Walk::new(function);
            if function.recursive {
                walk.error("a kernel calls a recursive function");
            }
            walk.block(&function.body, Executor::Callee);
            open.append(&mut walk.calls);
            self.errors.append(&mut walk.errors);
        }
        for (at, ty) in self.program.globals.iter().enumerate() {
            if ty.memory().is_some_and(|memory| !is_on_heap(memory)) {
                self.error(format!("global#{at} is in memory that only threads access"));
            }
        }
    }
}

struct Walk<'a> {
    function: &'a Function,
    /// The functions that kernels call.
    calls: Vec<FunId>,
    errors: Vec<VerifyError>,
}

impl<'a> Walk<'a> {
    const fn new(function: &'a Function) -> Self {
        Self { function, calls: Vec::new(), errors: Vec::new() }
    }

    fn error(&mut self, message: impl Into<String>) {
        self.errors.push(VerifyError { function: self.function.name.clone(), message: message.into() });
    }

    fn name(&self, var: Var) -> String {
        let info = self.function.vars.get(var.index());
        format!("{}_{}", info.map_or("?", |info| &*info.hint), var.0)
    }

    fn memory(&self, var: Var) -> Option<MemoryId> {
        self.function.vars.get(var.index())?.ty.memory()
    }

    /// Checks an access to the elements of a buffer.
    fn check_access(&mut self, var: Var, executor: Executor) {
        let Some(memory) = self.memory(var) else { return };
        if !memory.is_reachable_from(executor.level()) {
            let executor = if executor.is_host() { "the host" } else { "a thread" };
            let (name, memory) = (self.name(var), memory.name);
            self.error(format!("{executor} accesses {name}, which is in memory `{memory}`"));
        }
    }

    /// Checks that a new block of a buffer may be in the memory of its type.
    fn check_memory(&mut self, var: Var, allowed: impl FnOnce(MemoryId) -> bool, how: &str) {
        let Some(memory) = self.memory(var) else { return };
        if !allowed(memory) {
            let (name, memory) = (self.name(var), memory.name);
            self.error(format!("{name} is {how} in memory `{memory}`"));
        }
    }

    fn check_same_memory(&mut self, v: Var, w: Var) {
        if let (Some(one), Some(other)) = (self.memory(v), self.memory(w))
            && one != other
        {
            let (v, w) = (self.name(v), self.name(w));
            self.error(format!("{v} and {w} are in different memory spaces"));
        }
    }

    /// Checks that the host executes the statement.
    fn host_alone(&mut self, executor: Executor, what: &str) {
        if !executor.is_host() {
            self.error(format!("a kernel {what}"));
        }
    }

    fn block(&mut self, stmts: &'a [Stmt], executor: Executor) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            for stmt in stmts {
                self.stmt(stmt, executor);
            }
        });
    }

    fn stmt(&mut self, stmt: &'a Stmt, executor: Executor) {
        match stmt {
            Stmt::Set(_, value) => self.value(value, executor),
            Stmt::Load(_, access) => self.check_access(access.buffer, executor),
            Stmt::Store(access, value) => {
                self.value(value, executor);
                self.check_access(access.buffer, executor);
            }
            Stmt::LoadLanes { from: access, .. } | Stmt::StoreLanes { to: access, .. } => {
                self.host_alone(executor, "uses vectors");
                self.check_access(access.buffer, executor);
            }
            Stmt::Alloc(var, _, _) => {
                self.host_alone(executor, "allocates memory");
                self.check_memory(*var, is_on_heap, "allocated");
            }
            Stmt::Slots(slots) => {
                self.host_alone(executor, "uses slots");
                let (Slots::New(var, _, _) | Slots::Put { slots: var, .. } | Slots::Get { slots: var, .. }) =
                    slots;
                self.check_access(*var, Executor::Host { in_task: false });
            }
            Stmt::Frame { buffer, .. } => {
                let own = if executor.is_host() { MemoryId::Host } else { MemoryId::Private };
                self.check_memory(*buffer, |memory| memory == own, "an array of the frame");
            }
            Stmt::Share(v, w) => {
                self.host_alone(executor, "shares a block");
                self.check_same_memory(*v, *w);
            }
            Stmt::Borrow(v, w) => self.check_same_memory(*v, *w),
            Stmt::Release(_) => self.host_alone(executor, "releases a block"),
            Stmt::Copy { to, from, plan, .. } => {
                self.copy(to.buffer, from.buffer, *plan, executor);
            }
            Stmt::ConstData(var, _) => {
                self.host_alone(executor, "reads constant data");
                self.check_memory(*var, MemoryId::is_host, "constant data");
            }
            Stmt::If(cond, yes, no) => {
                self.value(cond, executor);
                self.block(yes, executor);
                self.block(no, executor);
            }
            Stmt::While(_, body) => self.block(body, executor),
            Stmt::For(f) => self.for_loop(f, executor),
            Stmt::Call { fun, results, .. } => {
                if !executor.is_host() {
                    self.calls.push(*fun);
                    if let Some(var) = results.iter().find(|var| self.memory(**var).is_some()) {
                        let name = self.name(*var);
                        self.error(format!("a kernel calls a function that returns the block {name}"));
                    }
                }
            }
            Stmt::Check { cond, .. } => self.value(cond, executor),
            Stmt::BeginNest | Stmt::EndNest { .. } => self.host_alone(executor, "is profiled"),
            Stmt::RecordComparison(..) => self.host_alone(executor, "records comparisons"),
            Stmt::ReadGlobal(..) | Stmt::WriteGlobal(..) => {
                self.host_alone(executor, "accesses global variables");
            }
            Stmt::Device(op) => self.device_op(op, executor),
        }
    }

    /// Checks that threads read no tuning parameters of the context.
    fn value(&mut self, expr: &Expr, executor: Executor) {
        if !executor.is_host() && reads_context(expr) {
            self.error("a kernel reads a tuning parameter from the context");
        }
    }

    fn copy(&mut self, to: Var, from: Var, plan: CopyPlan, executor: Executor) {
        if !executor.is_host() {
            self.check_access(to, executor);
            self.check_access(from, executor);
            if matches!(plan, CopyPlan::InRegister(_)) {
                self.error("a kernel copies through vector registers");
            }
            return;
        }
        for var in [to, from] {
            self.check_memory(var, is_on_heap, "copied by the host");
        }
        let remote = [to, from].into_iter().filter_map(|var| self.memory(var)).any(MemoryId::is_remote);
        if remote && plan != CopyPlan::Memory {
            self.error("the host copies a region that is not contiguous to or from a device");
        }
    }

    fn device_op(&mut self, op: &DeviceOp, executor: Executor) {
        if executor.is_host() {
            self.error("the host executes a statement of device threads");
            return;
        }
        match op {
            DeviceOp::Barrier => {
                if executor == Executor::Callee {
                    self.error("a barrier is in a function");
                }
            }
            DeviceOp::SubgroupBarrier(size) => {
                if executor == Executor::Callee {
                    self.error("a barrier is in a function");
                }
                if !size.is_power_of_two() || i64::from(*size) > MAX_SUBGROUP {
                    self.error(format!("{size} is not a subgroup size"));
                }
            }
            DeviceOp::Update(update) => {
                self.shared(&update.at);
                if !is_atomic(update.op, update.at.elem) {
                    let (op, elem) = (update.op.name(), update.at.elem);
                    self.error(format!("{op}.{elem} is not atomic"));
                }
            }
            DeviceOp::CompareExchange { at, .. } => {
                self.shared(at);
                if !is_word(at.elem) {
                    self.error(format!("compare-and-swap of {} is not atomic", at.elem));
                }
            }
            DeviceOp::Signal { at, .. } | DeviceOp::Await { at, .. } => {
                if executor == Executor::Callee {
                    self.error("a signal is in a function");
                }
                self.check_memory(at.buffer, MemoryId::is_remote, "used for signals");
                if at.elem != RELEASE_TYPE && at.elem != RELAXED_TYPE {
                    self.error(format!("a signal cannot have type {}", at.elem));
                }
            }
        }
    }

    /// Checks an element that several threads access.
    fn shared(&mut self, access: &Access) {
        let shared = |memory: MemoryId| !memory.is_host() && memory.allocation != Allocation::Frame;
        self.check_memory(access.buffer, shared, "updated atomically");
    }

    fn for_loop(&mut self, f: &'a For, executor: Executor) {
        match (&f.mode, executor) {
            (LoopMode::Seq { .. } | LoopMode::Scheduled, _) => self.block(&f.body, executor),
            (LoopMode::Lanes(_), Executor::Host { .. }) => self.block(&f.body, executor),
            (LoopMode::Tasks(launch), Executor::Host { .. }) => {
                if !launch.shared_buffers.is_empty() {
                    self.error("a task loop has arrays in shared memory");
                }
                self.block(&f.body, Executor::Host { in_task: true });
            }
            (LoopMode::Grid(launch), Executor::Host { in_task: false }) => self.kernel(f, launch),
            (LoopMode::Grid(_), Executor::Host { in_task: true }) => {
                self.error("a kernel is launched by a task");
            }
            (LoopMode::Threads(_), Executor::Host { .. }) => {
                self.error("a loop over threads is outside of a kernel");
            }
            (LoopMode::Lanes(_) | LoopMode::Tasks(_) | LoopMode::Grid(_) | LoopMode::Threads(_), _) => {
                self.error("a device thread contains a loop of tasks, lanes, blocks or threads");
            }
        }
    }

    fn kernel(&mut self, f: &'a For, launch: &Launch) {
        if !launch.owned.is_empty() || launch.slices.is_some() {
            self.error("a kernel owns blocks or takes slices");
        }
        for shared in &launch.shared_buffers {
            self.check_memory(shared.buffer, is_shared, "a shared-memory array");
            if !launch.locals.contains(&shared.buffer) {
                let name = self.name(shared.buffer);
                self.error(format!("{name} is not local to the thread block"));
            }
        }
        self.counts(f);
        let Some((Stmt::For(threads), common)) = f.body.split_last() else {
            self.error("a kernel has no statements");
            return;
        };
        let LoopMode::Threads(_) = &threads.mode else {
            self.error("the last statement of a kernel is not the loop over its threads");
            return;
        };
        let mut bytes = 0u64;
        for stmt in common {
            if let Stmt::Set(_, value) = stmt {
                self.value(value, Executor::Thread);
            } else if let Stmt::Frame { buffer, elem, count } = stmt {
                self.check_memory(*buffer, is_shared, "a shared-memory array");
                bytes = bytes.saturating_add(elem.size().saturating_mul(*count));
            } else {
                self.error("a statement of a thread block is outside of its loop over threads");
            }
        }
        if bytes > SHARED_MEMORY_BYTES {
            self.error(format!(
                "a block needs {bytes} bytes of shared memory, but the limit is {SHARED_MEMORY_BYTES}"
            ));
        }
        self.counts(threads);
        each_var(&threads.to, &mut |var, _| {
            if !captured(launch, var) {
                let name = self.name(var);
                self.error(format!("the number of threads depends on {name}, which the host does not know"));
            }
        });
        self.block(&threads.body, Executor::Thread);
        for _ in 0..divergent_barriers(self.function, threads) {
            self.error("a barrier is in divergent code");
        }
    }

    /// Checks that blocks or threads are counted from 0.
    fn counts(&mut self, f: &For) {
        let info = self.function.vars.get(f.var.index());
        let is_i64 = info.is_none_or(|info| info.ty == VarType::Scalar(PrimType::I64));
        if f.from != Expr::i64(0) || !is_i64 {
            let name = self.name(f.var);
            self.error(format!("{name} is not an i64 that counts from 0"));
        }
        self.value(&f.to, Executor::Thread);
    }
}

/// Returns true if an expression reads the context: a tuning parameter, or if comparisons are
/// logged.
fn reads_context(expr: &Expr) -> bool {
    let mut found = matches!(expr, Expr::Tunable(_) | Expr::LogsComparisons);
    crate::walk::each_operand(expr, &mut |part| found |= reads_context(part));
    found
}

/// Returns true if a program has kernels.
pub fn has_kernels(program: &crate::Program) -> bool {
    program.functions.iter().any(|function| {
        let mut found = false;
        each_stmt(&function.body, &mut |stmt| {
            found |= matches!(stmt, Stmt::For(f) if f.mode.is_kernel());
        });
        found
    })
}

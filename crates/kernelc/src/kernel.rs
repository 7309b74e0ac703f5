//! Kernels: signatures, threads, device operations, and failure handling.
//!
//! A kernel takes the block in which failures are recorded, then what its launch captures, and
//! returns at once if an earlier kernel has failed. Shared memory is declared first.
//!
//! **Failure.** A thread whose check fails records the failure, unless one is recorded already, and
//! takes no further part. Without barriers, it returns. With barriers, it skips the code up to each
//! barrier: the code between barriers is split into *segments*, which only threads enter that have
//! not failed, and all threads reach every barrier. A failing thread records in shared memory how
//! many barriers it has passed; a thread that has passed one more knows after that barrier that the
//! block ends. No thread can mistake a later failure for an earlier one, though others may fail
//! while it reads.
//!
//! Where threads may fail, subgroup barriers become barriers of the whole block, so that all
//! threads learn of failures.
//!
//! A thread that awaits a signal of another block also polls for failures, and takes no further
//! part after one: a block that has failed may never signal.
//!
//! Threads that have failed do not compute the values that determine whether further barriers are
//! reached: a condition, the bound of a loop. So if a segment computes such a value, all threads
//! wait at a barrier before they use it, and a block that ends does not enter. Loops test this in
//! their conditions: PoCL 3.1 miscompiles loops with barriers inside of a conditional when it
//! optimises. It also miscompiles kernels with barriers that may return before these, unless all
//! threads reach a barrier at the end.

use crate::dialect;
use crate::error::{Error, Res};
use crate::function::{Leaves, Printer, TranslationUnit, declarator};
use crate::names;
use crate::scope;
use imp::device::{AtomicUpdate, DeviceOp, RELEASE_TYPE};
use imp::kernels::{Kernel, can_fail};
use imp::walk::{Use, each_stmt, each_use as named};
use imp::{Access, CheckId, Expr, For, LoopMode, SharedBuffer, Stmt, Var, VarType};
use prim::{BinOp, PrimType};
use rustc_hash::FxHashSet;
use std::fmt::Write as _;

impl TranslationUnit<'_> {
    /// Returns a kernel's whole text, under a name.
    pub fn kernel(&self, kernel: &Kernel<'_>, name: &str, any_fails: bool) -> Res<String> {
        let Kernel { function, grid, launch } = *kernel;
        let threads =
            kernel.threads().ok_or_else(|| Error::bug("the number of threads of a block is not known"))?;
        if grid.from != Expr::i64(0) {
            return Err(Error::bug("the blocks of a kernel are not counted from 0"));
        }
        let vars = names::variables(function);
        let mut others: FxHashSet<Var> = launch.captures.iter().copied().collect();
        others.insert(grid.var);
        each_stmt(&grid.body, &mut |stmt| {
            if let Stmt::Frame { buffer, .. } = stmt {
                others.insert(*buffer);
            }
        });
        others.extend(launch.shared_buffers.iter().map(|shared| shared.buffer));
        let scopes = scope::of(&grid.body, function.vars.len(), &others);
        let mut writer = Printer::new(self, (function, &vars), scopes);
        let mut head = format!("BR_KERNEL({threads})\nvoid {name}({}", self.dialect.context_param);
        for var in &launch.captures {
            let ty = match writer.exprs.var_type(*var) {
                // `bool` is not a valid type for kernel parameters in OpenCL C.
                VarType::Scalar(PrimType::Bool) => "u8".to_owned(),
                ty @ (VarType::Scalar(_) | VarType::Buffer(_) | VarType::Vector(..)) => {
                    self.dialect.spelled(ty)?
                }
            };
            // Writing to a string cannot fail.
            let _ = write!(head, ", {}{}", declarator(&ty), writer.exprs.name(*var));
        }
        for SharedBuffer { buffer, .. } in &launch.shared_buffers {
            let _ = write!(head, ", BR_DYNAMIC_SHARED({}_storage)", writer.exprs.name(*buffer));
        }
        head.push(')');
        writer.kernel_can_fail = can_fail(&grid.body);
        let waits = has_barrier(&grid.body);
        let stops = writer.kernel_can_fail && waits;
        writer.leaves = Leaves::Kernel;
        let block = writer.name(grid.var);
        let ty = declarator(&writer.exprs.spelled(grid.var)?);
        writer.line(format!("{ty}{block} = BR_BLOCK;"));
        for SharedBuffer { buffer, .. } in &launch.shared_buffers {
            let (name, ty) = (writer.name(*buffer), writer.exprs.spelled(*buffer)?);
            writer.line(format!("{ty}{name} = ({ty})BR_DYNAMIC_SHARED_AT({name}_storage);"));
        }
        writer.statements(&grid.body)?;
        if waits && (stops || any_fails) {
            writer.line("BR_END");
        }
        let body = writer.written();
        writer.declare_frames()?;
        if stops {
            writer.line("BR_STOPPING");
        } else if any_fails {
            writer.line("BR_UNLESS_FAILED");
        }
        let top = writer.written();
        Ok(format!("{head} {{\n{top}{body}}}\n"))
    }
}

impl<'a> Printer<'a, '_> {
    /// The threads of a block: prints the code of one of them.
    pub fn threads(&mut self, f: &'a For) -> Res<()> {
        if self.unit.dialect.address_spaces.is_none() {
            return Err(Error::Unsupported("device kernels in portable C".to_owned()));
        }
        let name = self.name(f.var);
        let ty = declarator(&self.exprs.spelled(f.var)?);
        let declared = if self.scopes.outer.contains(&f.var) { "" } else { &ty };
        self.line(format!("{declared}{name} = BR_THREAD;"));
        if can_fail(&f.body) && has_barrier(&f.body) {
            let mut set = FxHashSet::default();
            each_stmt(&f.body, &mut |stmt| {
                if !matches!(stmt, Stmt::For(_)) {
                    named(stmt, &mut |var, how| {
                        if how == Use::Sets {
                            set.insert(var);
                        }
                    });
                }
            });
            let mut failing = Failing { set, before: false, since: false, labels: 0 };
            return self.segments(&f.body, &mut failing);
        }
        self.statements(&f.body)
    }

    /// Prints statements that contain barriers, as segments.
    fn segments(&mut self, stmts: &'a [Stmt], failing: &mut Failing) -> Res<()> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            // Declared before the segments, as each segment is a C block of its own.
            for (_, var) in self.declare_variables() {
                let declaration = self.declaration(var)?;
                self.line(format!("{declaration};"));
            }
            let mut rest = stmts;
            while let Some((stmt, others)) = rest.split_first() {
                if has_barrier(std::slice::from_ref(stmt)) {
                    self.barrier_stmt(stmt, failing)?;
                    rest = others;
                    continue;
                }
                let is_last = |stmt: &Stmt| has_barrier(std::slice::from_ref(stmt));
                let end = rest.iter().position(is_last).unwrap_or(rest.len());
                let (segment_stmts, others) = rest.split_at(end);
                self.segment(segment_stmts, failing)?;
                rest = others;
            }
            Ok(())
        })
    }

    /// Prints statements without barriers, for threads that have not failed.
    fn segment(&mut self, stmts: &'a [Stmt], failing: &mut Failing) -> Res<()> {
        let fails = self.leaves_in(stmts);
        // Jumps must not bypass declarations of their own block, so the segment gets a block.
        if failing.before {
            self.begin_block("if (br_goes_on) {");
        } else if fails {
            self.begin_block("{");
        }
        if fails {
            failing.labels += 1;
            self.leaves = Leaves::Segment(failing.labels);
        }
        for stmt in stmts {
            self.stmt(stmt, false)?;
        }
        if failing.before || fails {
            self.end_block("}");
        }
        if fails {
            failing.before = true;
            failing.since = true;
            self.line(format!("next{}:;", failing.labels));
        }
        Ok(())
    }

    /// Prints a barrier, or a statement that contains one.
    fn barrier_stmt(&mut self, stmt: &'a Stmt, failing: &mut Failing) -> Res<()> {
        if matches!(stmt, Stmt::Device(DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_))) {
            self.barrier_with_failure_test(failing);
            return Ok(());
        }
        let is_while = matches!(stmt, Stmt::While(..));
        let needs_test = failing.before && (is_while || !failing.is_uniform_after_failure(stmt));
        if needs_test && failing.since {
            self.barrier_with_failure_test(failing);
        }
        let since = failing.since;
        // A later iteration starts after failures in an earlier one.
        if let Stmt::For(For { body, .. }) | Stmt::While(_, body) = stmt
            && self.leaves_in(body)
        {
            (failing.before, failing.since) = (true, true);
        }
        self.control_flow(stmt, needs_test, failing)?;
        // The body may have run no iteration, and hence no barrier.
        failing.since |= since;
        Ok(())
    }

    /// Prints a statement that contains barriers, whose condition or bound is the same for all
    /// threads; if `tested`, blocks that end do not enter it.
    fn control_flow(&mut self, stmt: &'a Stmt, tested: bool, failing: &mut Failing) -> Res<()> {
        match stmt {
            Stmt::If(cond, yes, no) => {
                if tested {
                    self.begin_block("if (br_goes_on) {");
                }
                let cond = self.exprs.whole(cond)?;
                self.begin_block(format!("if ({cond}) {{"));
                let (before, since) = (failing.before, failing.since);
                self.segments(yes, failing)?;
                let after = (failing.before, failing.since);
                (failing.before, failing.since) = (before, since);
                if !no.is_empty() {
                    self.end_block("} else {");
                    self.indent();
                }
                self.segments(no, failing)?;
                failing.before |= after.0;
                failing.since |= after.1;
                self.end_block("}");
                if tested {
                    self.end_block("}");
                }
                Ok(())
            }
            Stmt::For(f) if matches!(f.mode, LoopMode::Seq { .. } | LoopMode::Scheduled) => {
                let only_if = tested.then_some("br_goes_on");
                self.counting(f, only_if, |writer| writer.segments(&f.body, failing))
            }
            Stmt::While(cond, body) => {
                let cond = self.name(*cond);
                self.begin_block(if failing.before {
                    format!("while (br_goes_on && {cond}) {{")
                } else {
                    format!("while ({cond}) {{")
                });
                self.segments(body, failing)?;
                if failing.before {
                    self.barrier_with_failure_test(failing);
                }
                self.end_block("}");
                Ok(())
            }
            Stmt::For(_) => {
                Err(Error::bug("a device thread contains a loop of tasks, lanes, blocks or threads"))
            }
            // None of these contains a barrier.
            imp::leaf_stmt!() => self.stmt(stmt, false),
        }
    }

    /// Returns true if a thread may stop in these statements of the kernel.
    fn leaves_in(&self, stmts: &[Stmt]) -> bool {
        can_fail(stmts) || self.kernel_can_fail && awaits(stmts)
    }

    fn barrier_with_failure_test(&mut self, failing: &mut Failing) {
        self.line(if failing.before { "BR_BARRIER_OR_STOP" } else { "BR_BARRIER" });
        failing.since = false;
    }

    /// Prints a check in a kernel or in a function that kernels call.
    pub fn check_in_kernel(&mut self, cond: &Expr, check: CheckId, words: &[String]) -> Res<()> {
        let mut noted = String::new();
        for (i, word) in words.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(noted, " ctx->values[{i}] = {word};");
        }
        let first = format!("br_is_first(ctx, {})", check.0 + 1);
        let said = if noted.is_empty() { format!("{first};") } else { format!("if ({first}) {{{noted} }}") };
        let cond = self.exprs.operand(cond)?;
        self.fail_if(&format!("!{cond}"), &said);
        Ok(())
    }

    /// Prints a device operation.
    pub fn device_op(&mut self, op: &DeviceOp) -> Res<()> {
        if self.unit.dialect.address_spaces.is_none() {
            return Err(Error::bug("a statement of device threads is in portable C"));
        }
        match op {
            DeviceOp::Barrier => {
                self.line("BR_BARRIER");
                Ok(())
            }
            DeviceOp::SubgroupBarrier(_) => {
                self.line("BR_GROUP_BARRIER");
                Ok(())
            }
            DeviceOp::Update(update) => self.update(update),
            DeviceOp::CompareExchange { old, at, expected, value } => {
                let address = self.atomic_address(at, dialect::unsigned(at.elem))?;
                let (expected, value) = (self.exprs.word(expected)?, self.exprs.word(value)?);
                let word = dialect::unsigned(at.elem);
                let was = format!("br_atomic_swap_{word}({address}, {expected}, {value})");
                let was = match at.elem {
                    elem @ (PrimType::F32 | PrimType::F64) => format!("br_{elem}_from({was})"),
                    elem @ (PrimType::I8
                    | PrimType::I16
                    | PrimType::I32
                    | PrimType::I64
                    | PrimType::F16
                    | PrimType::Bool) => format!("({}){was}", dialect::scalar(elem)),
                };
                let old = self.name(*old);
                self.line(format!("{old} = {was};"));
                Ok(())
            }
            DeviceOp::Signal { at, value } => {
                let address = self.atomic_address(at, dialect::scalar(at.elem))?;
                let value = self.exprs.whole(value)?;
                let how = if at.elem == RELEASE_TYPE { "signal" } else { "publish" };
                self.line(format!("br_{how}({address}, {value});"));
                Ok(())
            }
            DeviceOp::Await { var, at } => {
                let address = self.atomic_address(at, dialect::scalar(at.elem))?;
                let seen = format!("({} = br_seen({address})) == 0", self.name(*var));
                if self.kernel_can_fail {
                    self.begin_block(format!("while ({seen}) {{"));
                    self.fail_if("ctx->check != 0", "");
                    self.end_block("}");
                } else {
                    self.line(format!("while ({seen});"));
                }
                if at.elem == RELEASE_TYPE {
                    self.line("BR_FENCE");
                }
                Ok(())
            }
        }
    }

    fn update(&mut self, update: &AtomicUpdate) -> Res<()> {
        let AtomicUpdate { old, at, op, value } = update;
        let signed = matches!(op, BinOp::SMin | BinOp::SMax | BinOp::Add);
        let operand = if signed { dialect::scalar(at.elem) } else { dialect::unsigned(at.elem) };
        let address = self.atomic_address(at, operand)?;
        let value = self.exprs.operand(value)?;
        let call = format!("br_atomic_{}_{operand}({address}, ({operand}){value})", op.name());
        match old {
            Some(old) => {
                let (old, ty) = (self.name(*old), dialect::scalar(at.elem));
                self.line(format!("{old} = ({ty}){call};"));
            }
            None => self.line(format!("{call};")),
        }
        Ok(())
    }

    /// The address of an element that is accessed atomically.
    fn atomic_address(&self, at: &Access, ty: &str) -> Res<String> {
        let space = self.exprs.space(at.buffer);
        Ok(format!("(volatile {space}{ty} *)&{}", self.exprs.element(at)?))
    }
}

/// Facts about failures in a kernel whose threads wait at barriers.
struct Failing {
    /// The variables that segments set.
    set: FxHashSet<Var>,
    /// True if an earlier check may have failed.
    before: bool,
    /// True if a check since the last barrier may have failed.
    since: bool,
    /// The number of labels so far.
    labels: usize,
}

impl Failing {
    /// Returns true if threads that have failed know the values that determine control flow here,
    /// too.
    fn is_uniform_after_failure(&self, stmt: &Stmt) -> bool {
        let mut known = true;
        named(stmt, &mut |var, how| {
            known &= how == Use::Sets || !self.set.contains(&var);
        });
        known
    }
}

/// Returns true if statements contain a barrier.
fn has_barrier(stmts: &[Stmt]) -> bool {
    let mut found = false;
    each_stmt(stmts, &mut |stmt| {
        found |= matches!(stmt, Stmt::Device(DeviceOp::Barrier | DeviceOp::SubgroupBarrier(_)));
    });
    found
}

/// Returns true if statements await signals.
fn awaits(stmts: &[Stmt]) -> bool {
    let mut found = false;
    each_stmt(stmts, &mut |stmt| {
        found |= matches!(stmt, Stmt::Device(DeviceOp::Await { .. }));
    });
    found
}

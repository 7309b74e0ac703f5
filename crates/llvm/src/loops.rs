//! Loops that run on the calling thread.
//!
//! A counting loop becomes `head: i < to ? body : after`, with the counter as a phi; LLVM rotates
//! it. An independent loop gets an access group of its own. No loop is marked `mustprogress`: LLVM
//! infers that counting loops terminate, and an infinite loop inside one must not be undefined
//! behaviour.
//!
//! A sequential loop that may run long, as it contains a loop or has no known number of iterations,
//! fails when the call is cancelled.

use crate::error::{Error, Res};
use crate::function::{FunctionEmitter, instruction_of};
use crate::types::{int, pointer};
use imp::{Expr, For, LoopMode, Stmt, Var, VarType};
use inkwell::values::IntValue;
use inkwell::{AtomicOrdering, IntPredicate};

/// The index of the context's word with the address of the flag of cancelled calls.
const CANCELLATION: i64 = 4;

/// The number of scheduled statements that LLVM may still reorder: some freedom helps register
/// allocation.
const SCHEDULE_WINDOW: usize = 16;

/// The facts about a counting loop that LLVM gets.
#[derive(Clone, Copy)]
pub struct LoopForm {
    /// The accesses of different iterations are independent.
    pub independent: bool,
    /// Copies of the body may pay off.
    pub unrolls: bool,
}

impl Default for LoopForm {
    fn default() -> Self {
        Self { independent: false, unrolls: true }
    }
}

/// Returns true if statements contain a loop that is not known to be short: then copies of them cost code and gain
/// nothing.
pub fn has_long_loop(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        if let Stmt::For(f) = stmt {
            !matches!((&f.from, &f.to), (Expr::Const(_), Expr::Const(_)))
        } else {
            matches!(stmt, Stmt::While(..))
        }
    })
}

impl<'p, 'c> FunctionEmitter<'_, 'p, 'c> {
    /// Emits a counting loop of any kind.
    pub fn for_loop(&mut self, f: &'p For) -> Res<()> {
        match &f.mode {
            LoopMode::Seq { independent } => {
                let (from, to) = (self.int_expr(&f.from)?, self.int_expr(&f.to)?);
                let is_long = f.body.iter().any(|stmt| matches!(stmt, Stmt::For(_) | Stmt::While(..)));
                let form = LoopForm { independent: *independent, unrolls: !has_long_loop(&f.body) };
                self.counted(from, to, form, |frame, i| {
                    frame.set(f.var, i)?;
                    frame.block(&f.body)?;
                    if is_long && !independent { frame.fail_if_cancelled() } else { Ok(()) }
                })
            }
            LoopMode::Scheduled => {
                let (from, to) = (self.int_expr(&f.from)?, self.int_expr(&f.to)?);
                self.counted(from, to, LoopForm::default(), |frame, i| {
                    frame.set(f.var, i)?;
                    frame.emit_scheduled(&f.body)
                })
            }
            LoopMode::Tasks(launch) => self.task_loop(f, launch),
            LoopMode::Grid(launch) => self.launch(f, launch),
            LoopMode::Threads(_) => Err(Error::bug("a loop over threads is outside of a kernel")),
            LoopMode::Lanes(_) => Err(Error::bug("a loop in lanes has not been vectorised")),
        }
    }

    /// Runs `body` for each of `from..to`, signed.
    pub fn counted(
        &mut self,
        from: IntValue<'c>,
        to: IntValue<'c>,
        form: LoopForm,
        body: impl FnOnce(&mut Self, IntValue<'c>) -> Res<()>,
    ) -> Res<()> {
        let ty = from.get_type();
        let before = self.current()?;
        let (head, inside, after) =
            (self.new_block("loop"), self.new_block("loop.body"), self.new_block("loop.after"));
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let counter = self.builder.build_phi(ty, "i")?;
        let i = int(counter.as_basic_value())?;
        let more = self.builder.build_int_compare(IntPredicate::SLT, i, to, "")?;
        self.builder.build_conditional_branch(more, inside, after)?;
        self.builder.position_at_end(inside);
        let group = if form.independent { Some(self.emit.metadata.new_group()?) } else { None };
        self.access_groups.extend(group);
        body(self, i)?;
        if group.is_some() {
            self.access_groups.pop();
        }
        let next = self.builder.build_int_nsw_add(i, ty.const_int(1, false), "")?;
        let last = self.current()?;
        let back = self.builder.build_unconditional_branch(head)?;
        self.emit.metadata.describe_loop(back, group, form.unrolls)?;
        counter.add_incoming(&[(&from, before), (&next, last)]);
        self.builder.position_at_end(after);
        Ok(())
    }

    /// Emits statements in an order that must be kept. LLVM's own scheduler would move dependent
    /// instructions together again; it moves nothing across labels, and an annotation is a label
    /// without code.
    fn emit_scheduled(&mut self, body: &'p [Stmt]) -> Res<()> {
        let annotation = self.emit.intrinsic("llvm.codeview.annotation", &[])?;
        let text = self.emit.context.metadata_string("scheduled");
        let node = self.emit.context.metadata_node(&[text.into()]);
        for part in body.chunks(SCHEDULE_WINDOW) {
            self.block(part)?;
            self.builder.build_call(annotation, &[node.into()], "")?;
        }
        Ok(())
    }

    /// The block at the insertion point.
    pub fn current(&self) -> Res<inkwell::basic_block::BasicBlock<'c>> {
        self.builder.get_insert_block().ok_or_else(|| Error::bug("the builder is not in a block"))
    }

    /// Emits a loop that runs while a variable is true.
    pub fn while_loop(&mut self, cond: Var, body: &'p [Stmt]) -> Res<()> {
        if !matches!(self.var_type(cond), VarType::Scalar(prim::PrimType::Bool)) {
            return Err(Error::bug("the condition of a loop is not a bool"));
        }
        let (head, inside, after) =
            (self.new_block("while"), self.new_block("while.body"), self.new_block("while.after"));
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let holds = int(self.get(cond)?)?;
        self.builder.build_conditional_branch(holds, inside, after)?;
        self.builder.position_at_end(inside);
        self.block(body)?;
        self.fail_if_cancelled()?;
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(after);
        Ok(())
    }

    /// Fails if another thread has cancelled the call.
    fn fail_if_cancelled(&mut self) -> Res<()> {
        if !self.notices_cancellation {
            return Ok(());
        }
        let types = self.emit.types;
        let address = self.context_word(CANCELLATION)?;
        let flag = self.builder.build_load(types.ptr, address, "cancellation")?;
        self.emit.metadata.invariant(instruction_of(flag)?)?;
        let flag = self.builder.build_load(types.i32, pointer(flag)?, "cancelled")?;
        // Not hoisted out of the loop.
        let load = instruction_of(flag)?;
        load.set_atomic_ordering(AtomicOrdering::Monotonic).map_err(Error::bug)?;
        self.fail_unless_ok(int(flag)?)
    }
}

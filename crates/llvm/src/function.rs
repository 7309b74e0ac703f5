//! The frame of a function: variables, entry, exits.
//!
//! A variable that is set once before all reads is the value itself. Any other is a stack slot in the
//! entry block (`mem2reg` promotes them to registers), created on first use. Owned variables are null at first. There is one failure block; it and the end of
//! the body release owned blocks. Owned blocks are also stored in an array of the frame, for the
//! failure block and for frames with many blocks: if the failure block read the variables from
//! registers, each operation that can fail would add an incoming value to a phi for each variable.
//!
//! A task's body is an LLVM function of its own; the same code emits it with other exits (see
//! [`tasks`](crate::tasks)).

use crate::emit::{Emit, call, call_value, var_type};
use crate::error::{Error, Res};
use crate::ops::Ops;
use crate::quiet::{is_quiet, quiet_vars};
use crate::types::{Value, int, pointer};
use imp::{Expr, Function, Stmt, Var, VarType};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::types::BasicType;
use inkwell::values::{
    AsValueRef, BasicValue, FunctionValue, InstructionValue, IntValue, MetadataValue, PointerValue,
};
use prim::{BinOp, PrimType, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// As many blocks are released by one call: inline tests are faster, and more code.
const RELEASED_TOGETHER: usize = 4;

/// The maximum number of alias scopes; more are not worth their lists at each access.
const MAX_SCOPES: usize = 16;

/// Alias scopes of the buffers that are distinct in the body being emitted.
#[derive(Default)]
pub struct AliasScopes<'c> {
    pub own: FxHashMap<Var, usize>,
    pub all: Vec<MetadataValue<'c>>,
}

/// Emits the body of a function, or of one of its task loops.
pub struct FunctionEmitter<'e, 'p, 'c> {
    pub emit: &'e Emit<'p, 'c>,
    pub function: &'p Function,
    pub value: FunctionValue<'c>,
    pub builder: Builder<'c>,
    pub ctx: PointerValue<'c>,
    /// The block to which failures branch.
    pub fail: BasicBlock<'c>,
    /// Facts on the function's variables.
    pub facts: &'e VarFacts,
    /// Access groups of the enclosing independent loops.
    pub access_groups: Vec<MetadataValue<'c>>,
    pub scopes: AliasScopes<'c>,
    /// Arrays for the values of failing checks, by length.
    pub check_values: FxHashMap<usize, PointerValue<'c>>,
    /// True if loops with long iterations, and loops of unknown length, notice that the call is
    /// cancelled; false in tasks, between whose chunks the runtime notices it.
    pub notices_cancellation: bool,
    /// The stack slot to which masked-off lanes store.
    pub masked_store_slot: Option<PointerValue<'c>>,
    entry: BasicBlock<'c>,
    slots: FxHashMap<Var, PointerValue<'c>>,
    /// The values of the variables that are set once.
    values: FxHashMap<Var, Value<'c>>,
    owned: Owned<'c>,
}

/// Facts on the variables of a function, which its task loops share.
pub struct VarFacts {
    /// Buffer variables that denote frame arrays, which loop iterations may share.
    frame_arrays: FxHashSet<Var>,
    /// True for the variables that are set once before all reads ([`imp::set_once`]), by index.
    set_once: Vec<bool>,
    /// True for the variables that are never signalling NaNs, by index.
    quiet: Vec<bool>,
}

impl VarFacts {
    /// The facts on a function's variables.
    pub fn new(function: &Function) -> Self {
        Self {
            frame_arrays: frame_array_vars(&function.body),
            set_once: imp::set_once(function),
            quiet: quiet_vars(function),
        }
    }
}

/// The array of owned blocks, and each variable's index in it.
#[derive(Default)]
struct Owned<'c> {
    array: Option<PointerValue<'c>>,
    position: FxHashMap<Var, u64>,
}

/// Emits the code of a function, declaring it if necessary.
pub fn function(emit: &Emit<'_, '_>, function: &Function, id: usize) -> Res<()> {
    let value = emit.function(id)?;
    let mut frame = FunctionEmitter::new(emit, function, value, emit.plan.facts(id, function))?;
    for (i, param) in function.params.iter().enumerate() {
        let arg = value.get_nth_param(i as u32 + 1);
        frame.set(*param, arg.ok_or_else(|| Error::bug("a parameter is missing"))?)?;
    }
    frame.create_owned_array(&function.owned)?;
    frame.clear_owned(&function.owned)?;
    frame.separate(&function.distinct);
    if function.recursive {
        frame.check_stack(emit.plan.frames(id))?;
    }
    frame.block(&function.body)?;
    let others: Vec<Var> = function.owned.iter().filter(|v| !function.results.contains(v)).copied().collect();
    frame.release_frame(&others, &function.results)?;
    frame.return_results()?;
    frame.builder.position_at_end(frame.fail);
    frame.release_owned()?;
    frame.return_failure()?;
    frame.finish()
}

/// The buffer variables that denote frame arrays, directly or by borrowing.
fn frame_array_vars(stmts: &[Stmt]) -> FxHashSet<Var> {
    let (mut framed, mut borrows) = (Vec::new(), FxHashMap::<Var, Vec<Var>>::default());
    imp::walk::each_stmt(stmts, &mut |stmt| {
        if let Stmt::Frame { buffer, .. } = stmt {
            framed.push(*buffer);
        } else if let Stmt::Borrow(to, from) = stmt {
            borrows.entry(*from).or_default().push(*to);
        }
    });
    let mut found = FxHashSet::default();
    while let Some(var) = framed.pop() {
        if found.insert(var) {
            framed.extend(borrows.remove(&var).unwrap_or_default());
        }
    }
    found
}

impl<'e, 'p, 'c> FunctionEmitter<'e, 'p, 'c> {
    /// Creates a frame with its entry block, ready for the body.
    pub fn new(
        emit: &'e Emit<'p, 'c>,
        function: &'p Function,
        value: FunctionValue<'c>,
        facts: &'e VarFacts,
    ) -> Res<Self> {
        let entry = emit.context.append_basic_block(value, "entry");
        let body = emit.context.append_basic_block(value, "body");
        let fail = emit.context.append_basic_block(value, "fail");
        let builder = emit.context.create_builder();
        builder.position_at_end(body);
        let ctx = value.get_nth_param(0).ok_or_else(|| Error::bug("the context is missing"))?;
        Ok(Self {
            emit,
            function,
            value,
            builder,
            ctx: pointer(ctx)?,
            fail,
            facts,
            access_groups: Vec::new(),
            scopes: AliasScopes::default(),
            check_values: FxHashMap::default(),
            notices_cancellation: true,
            masked_store_slot: None,
            entry,
            slots: FxHashMap::default(),
            values: FxHashMap::default(),
            owned: Owned::default(),
        })
    }

    /// Ends the entry block, which has all slots by now, with a branch to the body.
    pub fn finish(&self) -> Res<()> {
        let builder = self.emit.context.create_builder();
        builder.position_at_end(self.entry);
        let body = self.entry.get_next_basic_block();
        builder.build_unconditional_branch(body.ok_or_else(|| Error::bug("a function has no body"))?)?;
        Ok(())
    }

    /// Gives distinct buffers alias scopes of their own.
    pub fn separate(&mut self, distinct: &[Var]) {
        let distinct = distinct.get(..MAX_SCOPES).unwrap_or(distinct);
        if distinct.is_empty() {
            return;
        }
        self.scopes.all = self.emit.metadata.scopes(distinct.len());
        self.scopes.own = distinct.iter().enumerate().map(|(i, var)| (*var, i)).collect();
    }

    /// Emits operators at the builder's insertion point.
    pub fn ops(&self) -> Ops<'_, 'p, 'c> {
        Ops { emit: self.emit, builder: &self.builder }
    }

    /// Appends a block to the function.
    pub fn new_block(&self, name: &str) -> BasicBlock<'c> {
        self.emit.context.append_basic_block(self.value, name)
    }

    /// Allocates memory in the stack frame, once, in the entry block.
    pub fn stack_slot(&self, ty: impl BasicType<'c>, align: u32) -> Res<PointerValue<'c>> {
        let builder = self.emit.context.create_builder();
        builder.position_at_end(self.entry);
        let slot = builder.build_alloca(ty, "")?;
        if align > 0
            && let Some(instruction) = slot.as_instruction()
        {
            instruction.set_alignment(align).map_err(Error::bug)?;
        }
        Ok(slot)
    }

    /// The type of a variable.
    pub fn var_type(&self, var: Var) -> VarType {
        var_type(self.function, var)
    }

    /// The stack slot of a variable.
    pub fn slot(&mut self, var: Var) -> Res<PointerValue<'c>> {
        if let Some(slot) = self.slots.get(&var) {
            return Ok(*slot);
        }
        let slot = self.stack_slot(self.emit.types.var(self.var_type(var)), 0)?;
        self.slots.insert(var, slot);
        Ok(slot)
    }

    /// The value of a variable.
    pub fn get(&mut self, var: Var) -> Res<Value<'c>> {
        if let Some(value) = self.values.get(&var) {
            return Ok(*value);
        }
        let ty = self.emit.types.var(self.var_type(var));
        let slot = self.slot(var)?;
        Ok(self.builder.build_load(ty, slot, "")?)
    }

    /// Loads the pointer to a variable's buffer.
    pub fn buffer(&mut self, var: Var) -> Res<PointerValue<'c>> {
        pointer(self.get(var)?)
    }

    /// Assigns a value to a variable.
    pub fn set(&mut self, var: Var, value: impl BasicValue<'c>) -> Res<()> {
        if self.facts.set_once.get(var.index()) == Some(&true) {
            self.values.insert(var, value.as_basic_value_enum());
            return Ok(());
        }
        let slot = self.slot(var)?;
        self.builder.build_store(slot, value)?;
        Ok(())
    }

    /// Creates the array of owned blocks; the entry block fills it with nulls.
    pub fn create_owned_array(&mut self, owned: &[Var]) -> Res<()> {
        if owned.is_empty() {
            return Ok(());
        }
        let ty = self.emit.types.ptr.array_type(owned.len() as u32);
        let array = self.stack_slot(ty, 0)?;
        let builder = self.emit.context.create_builder();
        builder.position_at_end(self.entry);
        let (zero, bytes) = (self.emit.types.i8.const_zero(), 8 * owned.len() as i64);
        let bytes = self.emit.types.const_i64(bytes);
        builder.build_memset(array, 8, zero, bytes).map_err(Error::bug)?;
        self.owned =
            Owned { array: Some(array), position: (0..).zip(owned).map(|(i, var)| (*var, i)).collect() };
        Ok(())
    }

    /// Sets owned variables to null without releasing what they hold.
    pub fn clear_owned(&mut self, owned: &[Var]) -> Res<()> {
        owned.iter().try_for_each(|var| self.store_owned(*var, self.emit.types.ptr.const_null()))
    }

    /// Assigns a block to an owned variable and records it for the failure block.
    pub fn store_owned(&mut self, var: Var, block: PointerValue<'c>) -> Res<()> {
        self.set(var, block)?;
        self.record_owned(var, block)
    }

    /// Records the block of an owned variable for the failure block and the end of the frame.
    fn record_owned(&self, var: Var, block: PointerValue<'c>) -> Res<()> {
        let position = self.owned.position.get(&var).copied();
        if let (Some(array), Some(position)) = (self.owned.array, position) {
            let position = self.emit.types.const_i64(position as i64);
            // SAFETY: the array has as many elements as there are positions.
            let address =
                unsafe { self.builder.build_in_bounds_gep(self.emit.types.ptr, array, &[position], "")? };
            self.builder.build_store(address, block)?;
        }
        Ok(())
    }

    /// Releases all owned blocks, in the failure block.
    pub fn release_owned(&self) -> Res<()> {
        let Some(array) = self.owned.array else {
            return Ok(());
        };
        let count = self.emit.types.const_i64(self.owned.position.len() as i64);
        let args = [self.ctx.into(), array.into(), count.into()];
        call(&self.builder, self.emit.runtime.release_refs, &args)?;
        Ok(())
    }

    /// Releases the blocks of these variables, whose values are stale afterwards.
    pub fn release_all(&mut self, owned: &[Var]) -> Res<()> {
        owned.iter().try_for_each(|var| {
            let old = self.buffer(*var)?;
            self.release(old)
        })
    }

    /// Releases the owned blocks of a frame that ends but for those of `kept`.
    pub fn release_frame(&mut self, owned: &[Var], kept: &[Var]) -> Res<()> {
        if owned.len() < RELEASED_TOGETHER {
            return self.release_all(owned);
        }
        for var in kept {
            self.record_owned(*var, self.emit.types.ptr.const_null())?;
        }
        self.release_owned()
    }

    /// Releases a reference, unless it is null.
    pub fn release(&self, block: PointerValue<'c>) -> Res<()> {
        let (give, after) = (self.new_block("release"), self.new_block("released"));
        let some = self.builder.build_is_not_null(block, "")?;
        self.builder.build_conditional_branch(some, give, after)?;
        self.builder.position_at_end(give);
        call(&self.builder, self.emit.runtime.release_ref, &[self.ctx.into(), block.into()])?;
        self.builder.build_unconditional_branch(after)?;
        self.builder.position_at_end(after);
        Ok(())
    }

    /// Assigns a reference to an owned variable and releases the one that it held.
    pub fn replace_owned(&mut self, var: Var, block: PointerValue<'c>) -> Res<()> {
        let old = self.buffer(var)?;
        self.store_owned(var, block)?;
        self.release(old)
    }

    /// Branches to the failure block unless `good` holds.
    pub fn fail_unless(&mut self, good: IntValue<'c>) -> Res<()> {
        let next = self.new_block("good");
        let branch = self.builder.build_conditional_branch(good, next, self.fail)?;
        self.emit.metadata.set_likely(branch)?;
        self.builder.position_at_end(next);
        Ok(())
    }

    /// Branches to the failure block unless a status is 0.
    pub fn fail_unless_ok(&mut self, status: IntValue<'c>) -> Res<()> {
        let zero = status.get_type().const_zero();
        let good = self.builder.build_int_compare(IntPredicate::EQ, status, zero, "")?;
        self.fail_unless(good)
    }

    /// Fails if less than `bytes` of stack are left: compares with the limit in the context's
    /// second word first, and asks the runtime if that is exceeded.
    fn check_stack(&mut self, bytes: u64) -> Res<()> {
        let (types, b) = (&self.emit.types, &self.builder);
        let frame_address = self.emit.intrinsic("llvm.frameaddress", &[types.ptr.into()])?;
        let here = call_value(b, frame_address, &[types.i32.const_zero().into()])?;
        let here = b.build_ptr_to_int(pointer(here)?, types.i64, "")?;
        let bytes = types.const_i64(i64::try_from(bytes).unwrap_or(i64::MAX));
        // SAFETY: a context begins with at least two words.
        let limit = unsafe { b.build_in_bounds_gep(types.i64, self.ctx, &[types.const_i64(1)], "")? };
        let limit = int(b.build_load(types.i64, limit, "")?)?;
        let (slow, fine) = (self.new_block("stack.low"), self.new_block("stack.fine"));
        // User-space addresses are non-negative as signed numbers, and `lowest` may be negative.
        let lowest = b.build_int_sub(here, bytes, "")?;
        let enough = b.build_int_compare(IntPredicate::SGT, lowest, limit, "")?;
        let branch = b.build_conditional_branch(enough, fine, slow)?;
        self.emit.metadata.set_likely(branch)?;
        b.position_at_end(slow);
        let status = call_value(b, self.emit.runtime.stack_check, &[self.ctx.into(), bytes.into()])?;
        self.fail_unless_ok(int(status)?)?;
        self.builder.build_unconditional_branch(fine)?;
        self.builder.position_at_end(fine);
        Ok(())
    }

    /// Adds an access that touches only these buffers to the access groups of the enclosing loops,
    /// unless a buffer is a frame array, which iterations share.
    pub fn independent(&self, access: InstructionValue<'c>, buffers: &[Var]) -> Res<()> {
        if buffers.iter().any(|var| self.facts.frame_arrays.contains(var)) {
            return Ok(());
        }
        self.emit.metadata.add_to_access_groups(access, &self.access_groups)
    }

    /// Attaches access groups and alias scopes to a load or store of a buffer's element.
    pub fn annotate(&self, access: InstructionValue<'c>, buffer: Var) -> Res<()> {
        self.independent(access, &[buffer])?;
        self.scoped(access, buffer)
    }

    /// Attaches alias scopes to a load or store of a buffer's element.
    pub fn scoped(&self, access: InstructionValue<'c>, buffer: Var) -> Res<()> {
        let own = self.scopes.own.get(&buffer).copied();
        let others: Vec<MetadataValue<'c>> = self
            .scopes
            .all
            .iter()
            .enumerate()
            .filter(|(i, _)| Some(*i) != own)
            .map(|(_, scope)| *scope)
            .collect();
        let own = own.and_then(|i| self.scopes.all.get(i).copied());
        self.emit.metadata.set_alias_scope(access, own, &others)
    }

    /// Emits an expression.
    pub fn expr(&mut self, expr: &Expr) -> Res<Value<'c>> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.expr_here(expr))
    }

    /// Emits an integer or boolean expression.
    pub fn int_expr(&mut self, expr: &Expr) -> Res<IntValue<'c>> {
        int(self.expr(expr)?)
    }

    fn expr_here(&mut self, expr: &Expr) -> Res<Value<'c>> {
        match expr {
            Expr::Const(x) => self.ops().constant(*x),
            Expr::Var(v) => self.get(*v),
            Expr::SplitSqrt(x) => {
                let x = self.expr(x)?;
                self.ops().split_sqrt(x)
            }
            Expr::NewtonQuotient(x, y) => {
                let (x, y) = (self.expr(x)?, self.expr(y)?);
                self.ops().newton_division(x, y)
            }
            Expr::Scalar(ScalarOp::Binary(BinOp::Pow, ty, x, y))
                if small_power(y).is_some() && ty.is_int() =>
            {
                let x = self.expr(x)?;
                let exponent = small_power(y).unwrap_or_default();
                self.ops().constant_power(x, exponent)
            }
            Expr::Scalar(ScalarOp::Binary(op @ (BinOp::FMin | BinOp::FMax), ty, x, y))
                if is_quiet(x, &self.facts.quiet) && is_quiet(y, &self.facts.quiet) =>
            {
                let (x, y) = (self.expr(x)?, self.expr(y)?);
                match self.ops().quiet_range(*op, *ty, x, y)? {
                    Some(value) => Ok(value),
                    None => self.ops().binary(*op, *ty, x, y),
                }
            }
            Expr::Scalar(op) => {
                let op = op.as_ref().try_map(|x| self.expr(x))?;
                self.ops().scalar(&op)
            }
            Expr::Splat(lanes, x) => {
                let x = self.expr(x)?;
                self.ops().splat(x, *lanes)
            }
            Expr::Tunable(id) => self.tunable(*id),
            Expr::LogsComparisons => self.log_comparisons(),
            Expr::LaneIds(ty, lanes) => Ok(self.ops().iota(*ty, *lanes)),
            Expr::Any(mask) => {
                let mask = self.expr(mask)?;
                self.ops().any(mask)
            }
            Expr::All(mask) => {
                let mask = self.expr(mask)?;
                self.ops().all(mask)
            }
            Expr::FirstLane(mask) => {
                let mask = self.expr(mask)?;
                self.ops().first_lane(mask)
            }
            Expr::Count(mask) => {
                let mask = self.expr(mask)?;
                self.ops().count(mask)
            }
            Expr::Pack(x, mask) => {
                let (x, mask) = (self.expr(x)?, self.expr(mask)?);
                self.ops().compress(x, mask)
            }
            Expr::Extract(x, lane) => {
                let (x, lane) = (self.expr(x)?, self.int_expr(lane)?);
                self.ops().extract(x, lane)
            }
            Expr::Insert(x, lane, value) => {
                let (x, lane) = (self.expr(x)?, self.int_expr(lane)?);
                let value = self.expr(value)?;
                self.ops().insert(x, lane, value)
            }
            Expr::Shift(x, by, value) => {
                let (x, value) = (self.expr(x)?, self.expr(value)?);
                self.ops().shift(x, *by, value)
            }
        }
    }

    /// A scalar as a word: its bits, zero-extended.
    pub fn word(&self, value: Value<'c>, ty: PrimType) -> Res<IntValue<'c>> {
        let bits = self.builder.build_bit_cast(value, self.emit.types.int(ty), "")?;
        Ok(self.builder.build_int_z_extend_or_bit_cast(int(bits)?, self.emit.types.i64, "")?)
    }
}

/// The exponent, if it is a constant from 0 to 64.
fn small_power(exponent: &Expr) -> Option<u32> {
    if let Expr::Splat(_, x) = exponent {
        return small_power(x);
    }
    u32::try_from(exponent.as_const()?.as_i64()?).ok().filter(|n| *n <= 64)
}

/// The instruction that defines a value; fails if there is none.
pub fn instruction_of(value: Value<'_>) -> Res<InstructionValue<'_>> {
    debug_assert!(!value.as_value_ref().is_null());
    value.as_instruction_value().ok_or_else(|| Error::bug("a value is not an instruction"))
}

//! Statements: memory, calls, checks, conditionals, globals. Loops and copies have files of their
//! own.

use crate::emit::{call, call_instruction, call_value};
use crate::error::{Error, Res};
use crate::function::{FunctionEmitter, instruction_of};
use crate::types::{Value, pointer};
use imp::{Access, Arg, CheckId, Expr, FunId, GlobalId, Slots, Stmt, Var, VarType};
use inkwell::IntPredicate;
use inkwell::types::BasicType;
use inkwell::values::{FunctionValue, IntValue, PointerValue};
use prim::{ConvOp, PrimType};

impl<'p, 'c> FunctionEmitter<'_, 'p, 'c> {
    /// Emits statements in sequence.
    pub fn block(&mut self, stmts: &'p [Stmt]) -> Res<()> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || stmts.iter().try_for_each(|stmt| self.stmt(stmt)))
    }

    fn stmt(&mut self, stmt: &'p Stmt) -> Res<()> {
        match stmt {
            Stmt::Set(v, e) => {
                let value = self.expr(e)?;
                self.set(*v, value)
            }
            Stmt::Load(v, access) => self.load(*v, access),
            Stmt::Store(access, e) => self.store(access, e),
            Stmt::LoadLanes { var, from, mask } => self.load_lanes(*var, from, mask.as_ref()),
            Stmt::StoreLanes { to, value, mask } => self.store_lanes(to, value, mask.as_ref()),
            Stmt::Alloc(v, bytes, location) => self.alloc(*v, bytes, *location),
            Stmt::Frame { buffer, elem, count } => self.frame_array(*buffer, *elem, *count),
            Stmt::Share(v, w) => {
                let block = self.buffer(*w)?;
                call(&self.builder, self.emit.runtime.add_ref, &[block.into()])?;
                self.replace_owned(*v, block)
            }
            Stmt::Borrow(v, w) => {
                let block = self.buffer(*w)?;
                self.set(*v, block)
            }
            Stmt::Release(v) => self.replace_owned(*v, self.emit.types.ptr.const_null()),
            Stmt::Slots(slots) => self.slots(slots),
            Stmt::Copy { to, from, elem, extents, plan } => self.copy((to, from), *elem, extents, *plan),
            Stmt::ConstData(v, data) => self.set(*v, self.emit.data(*data)),
            Stmt::If(cond, yes, no) => self.conditional(cond, yes, no),
            Stmt::While(cond, body) => self.while_loop(*cond, body),
            Stmt::For(f) => self.for_loop(f),
            Stmt::Call { fun, args, results, location } => self.call(*fun, args, results, *location),
            Stmt::RecordComparison(id, size) => self.compared(*id, size),
            Stmt::BeginNest => {
                call(&self.builder, self.emit.runtime.begin_nest, &[self.ctx.into()])?;
                Ok(())
            }
            Stmt::EndNest { nest, counts } => {
                let words = self.words(counts)?;
                let args = [self.ctx.into(), self.emit.check(*nest).into(), words.into()];
                call(&self.builder, self.emit.runtime.end_nest, &args)?;
                Ok(())
            }
            Stmt::Check { cond, check, values } => self.check(cond, *check, values),
            Stmt::ReadGlobal(v, global) => self.read_global(*v, *global),
            Stmt::WriteGlobal(global, v) => self.write_global(*global, *v),
            Stmt::Device(_) => Err(Error::bug("a statement of device threads is on a CPU")),
        }
    }

    /// `offset + sum(index * stride)`. All intermediate values are positions inside the block, so
    /// none of them overflows.
    fn position(&mut self, offset: &Expr, dims: &[(Expr, Expr)]) -> Res<IntValue<'c>> {
        let mut position = self.int_expr(offset)?;
        for (index, stride) in dims {
            let index = self.int_expr(index)?;
            let step = if *stride == Expr::i64(1) {
                index
            } else {
                let stride = self.int_expr(stride)?;
                self.builder.build_int_nsw_mul(index, stride, "")?
            };
            position = self.builder.build_int_nsw_add(position, step, "")?;
        }
        Ok(position)
    }

    /// The address of an element.
    pub fn element(
        &self,
        buffer: PointerValue<'c>,
        elem: PrimType,
        position: IntValue<'c>,
    ) -> Res<PointerValue<'c>> {
        let ty = self.emit.types.memory(elem);
        // SAFETY: the program's producer guarantees that accesses stay in their block.
        Ok(unsafe { self.builder.build_in_bounds_gep(ty, buffer, &[position], "")? })
    }

    fn address(&mut self, access: &Access) -> Res<PointerValue<'c>> {
        let position = self.position(&access.offset, &access.dims)?;
        let buffer = self.buffer(access.buffer)?;
        self.element(buffer, access.elem, position)
    }

    fn load(&mut self, var: Var, access: &Access) -> Res<()> {
        let (elem, address) = (access.elem, self.address(access)?);
        let value = self.builder.build_load(self.emit.types.memory(elem), address, "")?;
        let load = instruction_of(value)?;
        load.set_alignment(elem.size() as u32).map_err(Error::bug)?;
        self.annotate(load, access.buffer)?;
        let value = self.loaded(value, elem)?;
        self.set(var, value)
    }

    fn store(&mut self, access: &Access, e: &Expr) -> Res<()> {
        let value = self.expr(e)?;
        let value = self.stored(value, access.elem)?;
        let address = self.address(access)?;
        let store = self.builder.build_store(address, value)?;
        store.set_alignment(access.elem.size() as u32).map_err(Error::bug)?;
        self.annotate(store, access.buffer)
    }

    /// Converts a value from its type in memory to its type in registers.
    pub fn loaded(&self, value: Value<'c>, ty: PrimType) -> Res<Value<'c>> {
        if ty != PrimType::Bool {
            return Ok(value);
        }
        self.ops().convert(ConvOp::IToB, PrimType::I8, PrimType::Bool, value)
    }

    /// Converts a value from its type in registers to its type in memory.
    pub fn stored(&self, value: Value<'c>, ty: PrimType) -> Res<Value<'c>> {
        if ty != PrimType::Bool {
            return Ok(value);
        }
        self.ops().convert(ConvOp::BToI, PrimType::Bool, PrimType::I8, value)
    }

    fn alloc(&mut self, var: Var, bytes: &Expr, location: Option<CheckId>) -> Res<()> {
        let make =
            if self.is_device_buffer(var) { self.emit.runtime.device_alloc } else { self.emit.runtime.alloc };
        self.new_owned(var, make, bytes, location)
    }

    /// Assigns a new block to an owned variable, or fails; `location` is the check whose location is
    /// reported.
    fn new_owned(
        &mut self,
        var: Var,
        make: FunctionValue<'c>,
        size: &Expr,
        location: Option<CheckId>,
    ) -> Res<()> {
        let size = self.expr(size)?;
        let location = match location {
            Some(check) => self.emit.check(check),
            None => self.emit.types.ptr.const_null(),
        };
        let args = [self.ctx.into(), size, location.into()];
        let block = pointer(call_value(&self.builder, make, &args)?)?;
        let good = self.builder.build_is_not_null(block, "")?;
        self.fail_unless(good)?;
        self.replace_owned(var, block)
    }

    fn slots(&mut self, slots: &Slots) -> Res<()> {
        match slots {
            Slots::New(v, count, location) => self.new_owned(*v, self.emit.runtime.slots, count, *location),
            Slots::Put { slots, at, block } => {
                let (slot, kept) = (self.slot_address(*slots, at)?, self.buffer(*block)?);
                self.builder.build_store(slot, kept)?;
                self.store_owned(*block, self.emit.types.ptr.const_null())
            }
            Slots::Get { var, slots, at } => {
                let slot = self.slot_address(*slots, at)?;
                let ptr = self.emit.types.ptr;
                let block = self.builder.build_load(ptr, slot, "kept")?;
                self.set(*var, pointer(block)?)
            }
        }
    }

    /// The address of a slot in a block of slots.
    fn slot_address(&mut self, slots: Var, at: &Expr) -> Res<PointerValue<'c>> {
        let at = self.int_expr(at)?;
        let slots = self.buffer(slots)?;
        let ptr = self.emit.types.ptr;
        // SAFETY: the program's producer guarantees that there is such a slot.
        Ok(unsafe { self.builder.build_in_bounds_gep(ptr, slots, &[at], "")? })
    }

    fn frame_array(&mut self, var: Var, elem: PrimType, count: u64) -> Res<()> {
        let count = u32::try_from(count)
            .map_err(|_| Error::bug(format_args!("a frame cannot have {count} elements")))?;
        let array = self.emit.types.memory(elem).array_type(count);
        let address = self.stack_slot(array, 64)?;
        self.set(var, address)
    }

    fn conditional(&mut self, cond: &Expr, yes: &'p [Stmt], no: &'p [Stmt]) -> Res<()> {
        let cond = self.int_expr(cond)?;
        let (then, after) = (self.new_block("then"), self.new_block("after"));
        let other = if no.is_empty() { after } else { self.new_block("else") };
        self.builder.build_conditional_branch(cond, then, other)?;
        for (block, stmts) in [(then, yes), (other, no)] {
            if block != after {
                self.builder.position_at_end(block);
                self.block(stmts)?;
                self.builder.build_unconditional_branch(after)?;
            }
        }
        self.builder.position_at_end(after);
        Ok(())
    }

    fn call(&mut self, fun: FunId, args: &[Arg], results: &[Var], location: Option<CheckId>) -> Res<()> {
        let callee = self.emit.function(fun.index())?;
        let mut values: Vec<Value<'c>> = vec![self.ctx.into()];
        let mut buffers = Vec::new();
        for arg in args {
            values.push(match arg {
                Arg::Scalar(e) => self.expr(e)?,
                Arg::Buffer(v) => {
                    buffers.push(*v);
                    self.get(*v)?
                }
            });
        }
        let emit = self.emit;
        let function = &emit.program.functions[fun.index()];
        let called =
            emit.call_function(&self.builder, function, callee, values, |all| self.stack_slot(all, 0))?;
        self.independent(call_instruction(called.site), &buffers)?;
        match location {
            Some(location) => self.fail_called_from(called.status, location)?,
            None => self.fail_unless_ok(called.status)?,
        }
        for (i, result) in results.iter().enumerate() {
            let value = called.result(&self.builder, i)?;
            match self.var_type(*result) {
                VarType::Scalar(_) | VarType::Vector(..) => self.set(*result, value)?,
                VarType::Buffer(_) => self.replace_owned(*result, pointer(value)?)?,
            }
        }
        Ok(())
    }

    /// Fails if a call failed, and adds the call's location to the backtrace.
    fn fail_called_from(&mut self, status: IntValue<'c>, location: CheckId) -> Res<()> {
        let zero = status.get_type().const_zero();
        let (good, bad) = (self.new_block("called"), self.new_block("call.failed"));
        let ok = self.builder.build_int_compare(IntPredicate::EQ, status, zero, "")?;
        let branch = self.builder.build_conditional_branch(ok, good, bad)?;
        self.emit.metadata.set_likely(branch)?;
        self.builder.position_at_end(bad);
        let desc = self.emit.check(location);
        let args = [self.ctx.into(), desc.into()];
        call(&self.builder, self.emit.runtime.record_call, &args)?;
        self.builder.build_unconditional_branch(self.fail)?;
        self.builder.position_at_end(good);
        Ok(())
    }

    /// Emits a branch to a cold block that records the check's message and fails.
    fn check(&mut self, cond: &Expr, check: CheckId, values: &[Expr]) -> Res<()> {
        let cond = self.int_expr(cond)?;
        let (good, bad) = (self.new_block("checked"), self.new_block("check.failed"));
        let branch = self.builder.build_conditional_branch(cond, good, bad)?;
        self.emit.metadata.set_likely(branch)?;
        self.builder.position_at_end(bad);
        let words = self.words(values)?;
        let desc = self.emit.check(check);
        let args = [self.ctx.into(), desc.into(), words.into()];
        call(&self.builder, self.emit.runtime.fail, &args)?;
        self.builder.build_unconditional_branch(self.fail)?;
        self.builder.position_at_end(good);
        Ok(())
    }

    /// The address of the values as words, null without any.
    fn words(&mut self, values: &[Expr]) -> Res<PointerValue<'c>> {
        let types = self.emit.types;
        let words = match self.check_values.get(&values.len()) {
            Some(words) => *words,
            None if values.is_empty() => types.ptr.const_null(),
            None => {
                let words = self.stack_slot(types.i64.array_type(values.len() as u32), 0)?;
                self.check_values.insert(values.len(), words);
                words
            }
        };
        for (i, value) in values.iter().enumerate() {
            let ty = imp::walk::type_of(&self.function.vars, value)
                .ok_or_else(|| Error::bug("a value of a check is a buffer"))?;
            let value = self.expr(value)?;
            let word = self.word(value, ty)?;
            let index = types.const_i64(i as i64);
            // SAFETY: the array has as many words as there are values.
            let slot = unsafe { self.builder.build_in_bounds_gep(types.i64, words, &[index], "")? };
            self.builder.build_store(slot, word)?;
        }
        Ok(words)
    }

    /// The address of a global: the context's first word points to all of them.
    fn global(&mut self, global: GlobalId) -> Res<PointerValue<'c>> {
        let types = self.emit.types;
        let globals = self.builder.build_load(types.ptr, self.ctx, "globals")?;
        self.emit.metadata.invariant(instruction_of(globals)?)?;
        let index = types.const_i64(i64::from(global.0));
        // SAFETY: a context has as many words as the program has globals.
        Ok(unsafe { self.builder.build_in_bounds_gep(types.i64, pointer(globals)?, &[index], "")? })
    }

    fn read_global(&mut self, var: Var, global: GlobalId) -> Res<()> {
        let (address, ty) = (self.global(global)?, self.var_type(var));
        let memory = match ty {
            VarType::Scalar(ty) => self.emit.types.memory(ty),
            VarType::Buffer(_) | VarType::Vector(..) => self.emit.types.var(ty),
        };
        let value = self.builder.build_load(memory, address, "")?;
        let value = match ty {
            VarType::Scalar(ty) => self.loaded(value, ty)?,
            VarType::Buffer(_) => {
                self.emit.metadata.set_buffer_alignment(instruction_of(value)?)?;
                value
            }
            VarType::Vector(..) => return Err(Error::bug("a global is a vector")),
        };
        self.set(var, value)
    }

    fn write_global(&mut self, global: GlobalId, var: Var) -> Res<()> {
        let (address, value) = (self.global(global)?, self.get(var)?);
        match self.var_type(var) {
            VarType::Scalar(ty) => {
                let word = self.word(value, ty)?;
                self.builder.build_store(address, word)?;
            }
            VarType::Buffer(_) => {
                call(&self.builder, self.emit.runtime.add_ref, &[value])?;
                self.builder.build_store(address, value)?;
            }
            VarType::Vector(..) => return Err(Error::bug("a global is a vector")),
        }
        Ok(())
    }
}

//! Task loops: the body becomes a function over a range of iterations that the runtime calls, on
//! any thread.
//!
//! The captured variables are copied into an environment in the caller's frame and read from there
//! once per call. Where tasks take chunks of the loop's range, the iterations are the chunks; if
//! the launch is marked `few`, each call merges its chunks into one iteration. Each iteration
//! starts with its owned variables null and releases what they hold, whether it fails or not.
//! Buffers that no other variable aliases get alias scopes of their own.

use crate::emit::{Emit, call_value, var_type};
use crate::error::{Error, Res};
use crate::function::{FunctionEmitter, VarFacts, instruction_of};
use crate::loops::{LoopForm, has_long_loop};
use crate::types::{int, pointer};
use imp::{For, Function, Launch, LoopMode, Slices, VarType};
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::types::{BasicTypeEnum, IntType, StructType};
use inkwell::values::{FunctionValue, IntValue};
use prim::{BinOp, PrimType};

impl<'p, 'c> FunctionEmitter<'_, 'p, 'c> {
    /// Emits a task loop: environment, task function and the call of the runtime.
    pub fn task_loop(&mut self, f: &'p For, launch: &'p Launch) -> Res<()> {
        let types = self.emit.types;
        let (from, to) = (self.int_expr(&f.from)?, self.int_expr(&f.to)?);
        let some = self.builder.build_int_compare(IntPredicate::SLT, from, to, "")?;
        let (wide_from, wide_to) = (self.wide(from)?, self.wide(to)?);
        let count = self.builder.build_int_sub(wide_to, wide_from, "")?;
        let (mut fields, count) = match &launch.slices {
            None => (vec![wide_from.into()], count.into()),
            Some(slices) => (Vec::new(), self.expr(&slices.count)?),
        };
        let zero = types.i64.const_zero();
        let count = self.ops().select(some.into(), count, zero.into())?;

        let task = Task::new(self.emit, self.function, f, launch)?;
        let env = self.stack_slot(task.env, 0)?;
        for var in &launch.captures {
            fields.push(self.get(*var)?);
        }
        for (i, value) in fields.into_iter().enumerate() {
            let field = self.builder.build_struct_gep(task.env, env, i as u32, "")?;
            self.builder.build_store(field, value)?;
        }

        let cost = self.expr(&launch.cost)?;
        let value = match self.emit.plan.task(launch) {
            Some(part) if part != self.emit.part => task.declare(self.emit, true),
            _ => task.define(self.emit, self.facts)?,
        };
        let code = value.as_global_value().as_pointer_value();
        let args = [self.ctx.into(), code.into(), env.into(), count, cost];
        let runtime = &self.emit.runtime;
        let share = match launch.slices.as_deref() {
            Some(slices) if slices.merge_adjacent => runtime.tasks_coarse,
            Some(_) | None => runtime.tasks,
        };
        let status = call_value(&self.builder, share, &args)?;
        self.fail_unless_ok(int(status)?)
    }

    fn wide(&self, x: IntValue<'c>) -> Res<IntValue<'c>> {
        Ok(self.builder.build_int_s_extend_or_bit_cast(x, self.emit.types.i64, "")?)
    }

    /// Sets the loop's counters for iteration `k`, or for chunk `k`; without chunks the range
    /// begins with `first`.
    fn set_iteration(
        &mut self,
        f: &For,
        first: Option<IntValue<'c>>,
        k: IntValue<'c>,
        counter: IntType<'c>,
    ) -> Res<()> {
        let Some(slices) = f.slices() else {
            let i = match first {
                Some(first) => self.builder.build_int_nsw_add(first, k, "")?,
                None => k,
            };
            let i = self.builder.build_int_truncate_or_bit_cast(i, counter, "")?;
            return self.set(f.var, i);
        };
        let next = self.builder.build_int_nsw_add(k, self.emit.types.const_i64(1), "")?;
        self.set_chunk_bounds(f, slices, (k, next))
    }

    /// Sets the loop's bounds to the chunks `low..high`.
    fn set_chunk_bounds(
        &mut self,
        f: &For,
        slices: &Slices,
        (low, high): (IntValue<'c>, IntValue<'c>),
    ) -> Res<()> {
        for (var, k) in [(f.var, low), (slices.end, high)] {
            let (n, count) = (self.int_expr(&f.to)?, self.expr(&slices.count)?);
            let all = self.builder.build_int_mul(k, n, "")?;
            // LLVM recognises loops over the chunk only if the division cannot be by 0.
            let bound = (self.ops()).binary(BinOp::UDiv, PrimType::I64, all.into(), count)?;
            self.set(var, bound)?;
        }
        Ok(())
    }

    /// Emits one iteration, with its owned variables; the counters are set already.
    fn task_body(&mut self, f: &'p For, launch: &'p Launch) -> Res<()> {
        self.clear_owned(&launch.owned)?;
        self.block(&f.body)?;
        self.release_frame(&launch.owned, &[])
    }
}

/// The code of a task loop.
struct Task<'p, 'c> {
    function: &'p Function,
    loop_: &'p For,
    launch: &'p Launch,
    /// The environment: [`Task::head`] numbers, then the captured variables.
    env: StructType<'c>,
}

/// Emits a task function that is compiled in another part than the function around its loop.
pub fn outlined<'p>(emit: &Emit<'p, '_>, function: &'p Function, facts: &VarFacts, f: &'p For) -> Res<()> {
    if let LoopMode::Tasks(launch) = &f.mode {
        Task::new(emit, function, f, launch)?.define(emit, facts)?;
    }
    Ok(())
}

impl<'p, 'c> Task<'p, 'c> {
    fn new(emit: &Emit<'p, 'c>, function: &'p Function, loop_: &'p For, launch: &'p Launch) -> Res<Self> {
        let types = emit.types;
        let head = Self::header_fields(launch);
        let mut fields: Vec<BasicTypeEnum<'c>> = vec![types.i64.into(); head];
        for var in &launch.captures {
            fields.push(types.var(var_type(function, *var)));
        }
        let env = emit.context.struct_type(&fields, false);
        Ok(Self { function, loop_, launch, env })
    }

    /// The number of integers at the start of the environment: 1, the range's first value, or 0
    /// where tasks take chunks.
    const fn header_fields(launch: &Launch) -> usize {
        if launch.slices.is_some() { 0 } else { 1 }
    }

    /// Declares the task function; `across` is true if its code or its launch is in another part.
    fn declare(&self, emit: &Emit<'p, 'c>, across: bool) -> FunctionValue<'c> {
        let (ptr, i64) = (emit.types.ptr.into(), emit.types.i64.into());
        let Launch { id, name, .. } = self.launch;
        let name = format!("task.{id}.{name}{}", emit.suffix);
        let params = [ptr, ptr, i64, i64];
        if across {
            emit.external_helper(&name, &params, emit.types.i32)
        } else {
            emit.helper(&name, &params, emit.types.i32)
        }
    }

    /// Defines the task function.
    fn define(&self, emit: &Emit<'p, 'c>, facts: &VarFacts) -> Res<FunctionValue<'c>> {
        let Self { function, loop_: f, launch, env: env_type } = *self;
        let types = emit.types;
        let value = self.declare(emit, emit.plan.task(launch).is_some());
        emit.attribute(value, AttributeLoc::Param(0), "nonnull", 0);
        for attribute in ["noalias", "readonly", "nonnull"] {
            emit.attribute(value, AttributeLoc::Param(1), attribute, 0);
        }
        let param = |i| value.get_nth_param(i).ok_or_else(|| Error::bug("a task's parameter is missing"));
        let (env, low, high) = (pointer(param(1)?)?, int(param(2)?)?, int(param(3)?)?);
        let VarType::Scalar(counter) = var_type(function, f.var) else {
            return Err(Error::bug("a loop's counter is not a scalar"));
        };
        let counter = types.int(counter);

        let mut task = FunctionEmitter::new(emit, function, value, facts)?;
        task.notices_cancellation = false;
        let load = |task: &FunctionEmitter<'_, 'p, 'c>, at: usize, ty: BasicTypeEnum<'c>| {
            let field = task.builder.build_struct_gep(env_type, env, at as u32, "")?;
            let loaded = task.builder.build_load(ty, field, "")?;
            emit.metadata.invariant(instruction_of(loaded)?)?;
            Ok::<_, Error>(loaded)
        };
        let head = Self::header_fields(launch);
        let first = match head {
            0 => None,
            _ => Some(int(load(&task, 0, types.i64.into())?)?),
        };
        for (i, var) in launch.captures.iter().enumerate() {
            let ty = task.var_type(*var);
            let loaded = load(&task, head + i, types.var(ty))?;
            if ty.is_buffer() {
                emit.metadata.set_buffer_alignment(instruction_of(loaded)?)?;
            }
            task.set(*var, loaded)?;
        }
        task.create_owned_array(&launch.owned)?;
        task.separate(&launch.distinct);
        let slices = launch.slices.as_deref();
        if let Some(slices) = slices.filter(|slices| slices.merge_adjacent) {
            task.set_chunk_bounds(f, slices, (low, high))?;
            task.task_body(f, launch)?;
        } else {
            let form = LoopForm { independent: true, unrolls: !has_long_loop(&f.body) };
            task.counted(low, high, form, |task, k| {
                task.set_iteration(f, first, k, counter)?;
                task.task_body(f, launch)
            })?;
        }
        task.builder.build_return(Some(&types.i32.const_zero()))?;
        task.builder.position_at_end(task.fail);
        task.release_owned()?;
        task.builder.build_return(Some(&types.i32.const_int(1, false)))?;
        task.finish()?;
        Ok(value)
    }
}

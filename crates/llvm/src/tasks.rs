//! Loops of tasks: the body becomes a function over a range of iterations that
//! the runtime calls, on any thread.
//!
//! What the body reads from around it is copied into an environment in the
//! caller's frame and read from there once per range. Each iteration starts with
//! its owned variables null and gives back what they hold, whether it fails or
//! not. Buffers that no other variable denotes get scopes of their own.

use crate::emit::call_value;
use crate::error::{Error, Res};
use crate::function::{Frame, instruction_of};
use crate::types::{int, pointer};
use crate::walk::captured;
use imp::{For, Launch, Var, VarType};
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::types::{BasicTypeEnum, IntType, StructType};
use inkwell::values::{FunctionValue, IntValue};

/// More scopes than this are not worth their lists at each access.
const MAX_SCOPES: usize = 16;

impl<'p, 'c> Frame<'_, 'p, 'c> {
    /// A loop of tasks.
    pub fn task_loop(&mut self, f: &'p For, launch: &'p Launch) -> Res<()> {
        let types = self.emit.types;
        let (from, to) = (self.int_expr(&f.from)?, self.int_expr(&f.to)?);
        let some = self
            .builder
            .build_int_compare(IntPredicate::SLT, from, to, "")?;
        let (wide_from, wide_to) = (self.wide(from)?, self.wide(to)?);
        let count = self.builder.build_int_sub(wide_to, wide_from, "")?;
        let zero = types.i64.const_zero();
        let count = self.ops().select(some.into(), count.into(), zero.into())?;

        // The environment: the first iteration's number, then what is captured.
        let names = captured(&f.body, &[&launch.owned, &launch.locals, &[f.var]]);
        let mut fields: Vec<BasicTypeEnum<'c>> = vec![types.i64.into()];
        for var in &names {
            fields.push(types.var(self.var_type(*var)?));
        }
        let env_type = self.emit.context.struct_type(&fields, false);
        let env = self.stack_slot(env_type, 0)?;
        self.builder.build_store(env, wide_from)?;
        for (i, var) in names.iter().enumerate() {
            let value = self.get(*var)?;
            let field = self
                .builder
                .build_struct_gep(env_type, env, i as u32 + 1, "")?;
            self.builder.build_store(field, value)?;
        }

        let cost = self.expr(&launch.cost)?;
        let task = self.task_function(f, launch, &names, env_type, from.get_type())?;
        let code = task.as_global_value().as_pointer_value();
        let args = [self.ctx.into(), code.into(), env.into(), count, cost];
        let status = call_value(&self.builder, self.emit.runtime.tasks, &args)?;
        self.fail_unless_ok(int(status)?)
    }

    fn wide(&self, x: IntValue<'c>) -> Res<IntValue<'c>> {
        Ok(self
            .builder
            .build_int_s_extend_or_bit_cast(x, self.emit.types.i64, "")?)
    }

    fn task_function(
        &self,
        f: &'p For,
        launch: &'p Launch,
        names: &[Var],
        env_type: StructType<'c>,
        counter: IntType<'c>,
    ) -> Res<FunctionValue<'c>> {
        let (emit, types) = (self.emit, self.emit.types);
        let (ptr, i64) = (types.ptr.into(), types.i64.into());
        let name = format!("task.{}.{}", launch.id, launch.name);
        let value = emit.helper(&name, &[ptr, ptr, i64, i64], types.i32);
        emit.attribute(value, AttributeLoc::Param(0), "nonnull", 0);
        for attribute in ["noalias", "readonly", "nonnull"] {
            emit.attribute(value, AttributeLoc::Param(1), attribute, 0);
        }
        let param = |i| {
            value
                .get_nth_param(i)
                .ok_or_else(|| Error::bug("a task's parameter is missing"))
        };
        let (env, low, high) = (pointer(param(1)?)?, int(param(2)?)?, int(param(3)?)?);

        let mut task = Frame::new(emit, self.function, value, self.framed)?;
        let first = task.builder.build_load(types.i64, env, "first")?;
        emit.metadata.invariant(instruction_of(first)?)?;
        for (i, var) in names.iter().enumerate() {
            let ty = task.var_type(*var)?;
            let field = task
                .builder
                .build_struct_gep(env_type, env, i as u32 + 1, "")?;
            let loaded = task.builder.build_load(types.var(ty), field, "")?;
            let load = instruction_of(loaded)?;
            emit.metadata.invariant(load)?;
            if ty == VarType::Buffer {
                emit.metadata.aligned(load)?;
            }
            task.set(*var, loaded)?;
        }
        task.scopes(&launch.distinct);
        let first = int(first)?;
        task.counted(low, high, true, |task, k| {
            let i = task.builder.build_int_nsw_add(first, k, "")?;
            let i = task
                .builder
                .build_int_truncate_or_bit_cast(i, counter, "")?;
            task.set(f.var, i)?;
            task.forget(&launch.owned)?;
            task.block(&f.body)?;
            task.release_all(&launch.owned)
        })?;
        task.builder.build_return(Some(&types.i32.const_zero()))?;
        task.builder.position_at_end(task.fail);
        task.release_all(&launch.owned)?;
        task.builder
            .build_return(Some(&types.i32.const_int(1, false)))?;
        task.finish()?;
        Ok(value)
    }

    fn scopes(&mut self, distinct: &[Var]) {
        let distinct = distinct.get(..MAX_SCOPES).unwrap_or(distinct);
        if distinct.is_empty() {
            return;
        }
        self.scopes.all = self.emit.metadata.scopes(distinct.len());
        self.scopes.own = distinct
            .iter()
            .enumerate()
            .map(|(i, var)| (*var, i))
            .collect();
    }
}

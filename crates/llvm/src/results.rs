//! The calling convention of generated functions: a status, and the results.
//!
//! Up to `MOST_IN_REGISTERS` results are returned in one structure with the status. More are stored
//! to memory that the caller passes after the other arguments: large structures as values take LLVM
//! more than quadratic time.

use crate::emit::{Emit, call, var_type};
use crate::error::{Error, Res};
use crate::function::FunctionEmitter;
use crate::types::{Value, int};
use imp::{Function, VarType};
use inkwell::builder::Builder;
use inkwell::types::{FunctionType, StructType};
use inkwell::values::{CallSiteValue, FunctionValue, IntValue, PointerValue, StructValue};
use prim::Scalar;

/// The maximum number of results that are returned with the status.
const MOST_IN_REGISTERS: usize = 16;

/// The form in which a function returns its results.
pub enum Results<'c> {
    /// No results: the function returns the status alone.
    None,
    /// The function returns the status and the results.
    Registers(StructType<'c>),
    /// The function returns the status; its last parameter points to memory for the results.
    Memory(StructType<'c>),
}

/// A completed call; its results may be read only where the status is 0.
pub struct CallResults<'c> {
    pub site: CallSiteValue<'c>,
    pub status: IntValue<'c>,
    fields: Fields<'c>,
}

enum Fields<'c> {
    None,
    Registers(StructValue<'c>),
    Memory(StructType<'c>, PointerValue<'c>),
}

impl<'c> Emit<'_, 'c> {
    /// The form in which a function returns its results.
    pub fn results(&self, function: &Function) -> Res<Results<'c>> {
        let in_registers = function.results.len() <= MOST_IN_REGISTERS;
        let mut fields = Vec::new();
        if in_registers {
            fields.push(self.types.i32.into());
        }
        for result in &function.results {
            fields.push(self.types.var(var_type(function, *result)));
        }
        let all = self.context.struct_type(&fields, false);
        Ok(match function.results.len() {
            0 => Results::None,
            _ if in_registers => Results::Registers(all),
            _ => Results::Memory(all),
        })
    }

    /// The LLVM type of a function; the context is the first parameter.
    pub fn function_type(&self, function: &Function) -> Res<FunctionType<'c>> {
        let mut params = vec![self.types.ptr.into()];
        for param in &function.params {
            params.push(self.types.var(var_type(function, *param)).into());
        }
        Ok(match self.results(function)? {
            Results::None => self.types.i32.fn_type(&params, false),
            Results::Registers(all) => all.fn_type(&params, false),
            Results::Memory(_) => {
                params.push(self.types.ptr.into());
                self.types.i32.fn_type(&params, false)
            }
        })
    }

    /// Calls a function of the module; `slot` allocates memory for results in the caller's frame.
    pub fn call_function(
        &self,
        builder: &Builder<'c>,
        function: &Function,
        callee: FunctionValue<'c>,
        mut args: Vec<Value<'c>>,
        slot: impl FnOnce(StructType<'c>) -> Res<PointerValue<'c>>,
    ) -> Res<CallResults<'c>> {
        let results = self.results(function)?;
        let mut address = None;
        if let Results::Memory(all) = results {
            let to = slot(all)?;
            args.push(to.into());
            address = Some(to);
        }
        let site = call(builder, callee, &args)?;
        let value = site.try_as_basic_value().basic();
        let value = value.ok_or_else(|| Error::bug("a function returns no status"))?;
        let (status, fields) = match (results, address) {
            (Results::Registers(_), _) => {
                let all = value.into_struct_value();
                let status = builder.build_extract_value(all, 0, "")?;
                (status, Fields::Registers(all))
            }
            (Results::Memory(all), Some(address)) => (value, Fields::Memory(all, address)),
            (Results::None | Results::Memory(_), _) => (value, Fields::None),
        };
        Ok(CallResults { site, status: int(status)?, fields })
    }
}

impl<'c> CallResults<'c> {
    /// Reads a result; the status must be known to be 0 at this point.
    pub fn result(&self, builder: &Builder<'c>, index: usize) -> Res<Value<'c>> {
        let index = index as u32;
        match &self.fields {
            Fields::None => Err(Error::bug("a function has no results")),
            Fields::Registers(all) => Ok(builder.build_extract_value(*all, index + 1, "")?),
            Fields::Memory(all, address) => {
                let missing = || Error::bug("a result is missing");
                let ty = all.get_field_type_at_index(index).ok_or_else(missing)?;
                let address = builder.build_struct_gep(*all, *address, index, "")?;
                Ok(builder.build_load(ty, address, "")?)
            }
        }
    }
}

impl FunctionEmitter<'_, '_, '_> {
    /// Returns the values of the function's results with status 0.
    pub fn return_results(&mut self) -> Res<()> {
        let ok = self.emit.types.i32.const_zero();
        let function = self.function;
        match self.emit.results(function)? {
            Results::None => {
                self.builder.build_return(Some(&ok))?;
            }
            Results::Registers(_) => {
                let mut values = vec![ok.into()];
                for result in &function.results {
                    values.push(self.get(*result)?);
                }
                self.builder.build_aggregate_return(&values)?;
            }
            Results::Memory(all) => {
                let to = self.value.get_last_param();
                let to = to.ok_or_else(|| Error::bug("a function has no pointer for its results"))?;
                for (i, result) in function.results.iter().enumerate() {
                    let value = self.get(*result)?;
                    let to = to.into_pointer_value();
                    let address = self.builder.build_struct_gep(all, to, i as u32, "")?;
                    self.builder.build_store(address, value)?;
                }
                self.builder.build_return(Some(&ok))?;
            }
        }
        Ok(())
    }

    /// Returns status 1; results in registers are zeros.
    pub fn return_failure(&self) -> Res<()> {
        let failed = self.emit.types.i32.const_int(1, false);
        let Results::Registers(_) = self.emit.results(self.function)? else {
            self.builder.build_return(Some(&failed))?;
            return Ok(());
        };
        let mut values: Vec<Value<'_>> = vec![failed.into()];
        for result in &self.function.results {
            values.push(match self.var_type(*result) {
                VarType::Scalar(ty) => self.ops().constant(Scalar::zero(ty))?,
                VarType::Buffer(_) => self.emit.types.ptr.const_null().into(),
                VarType::Vector(ty, lanes) => self.emit.types.vector(ty, lanes).const_zero().into(),
            });
        }
        self.builder.build_aggregate_return(&values)?;
        Ok(())
    }
}

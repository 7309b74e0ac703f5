//! Functions that the module exports: entry points, the initialiser and finaliser of globals,
//! `main`. The runtime's `abi` describes the words of their arguments and results.

use crate::emit::{Emit, call, call_value, var_type};
use crate::error::{Error, Res};
use crate::types::{Value, int, pointer};
use imp::{Entry, FunId, VarType};
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::builder::Builder;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{FunctionValue, PointerValue};
use prim::PrimType;

/// Parameters of an entry function: context, words of the arguments, words of the results.
const ENTRY_PARAMS: usize = 3;

/// The symbol of an entry point's code.
pub fn entry_symbol(name: &str) -> String {
    format!("entry_{name}")
}

fn export<'c>(emit: &Emit<'_, 'c>, name: &str, params: usize) -> (FunctionValue<'c>, Builder<'c>) {
    let params = vec![emit.types.ptr.into(); params];
    let f = emit.module.add_function(name, emit.types.i32.fn_type(&params, false), None);
    emit.attribute(f, AttributeLoc::Function, "nounwind", 0);
    let builder = emit.context.create_builder();
    builder.position_at_end(emit.context.append_basic_block(f, "entry"));
    (f, builder)
}

fn param(f: FunctionValue<'_>, i: u32) -> Res<PointerValue<'_>> {
    pointer(f.get_nth_param(i).ok_or_else(|| Error::bug("a parameter of an entry point is missing"))?)
}

/// The address of a word in an array of words.
fn word_at<'c>(
    emit: &Emit<'_, 'c>,
    b: &Builder<'c>,
    words: PointerValue<'c>,
    index: usize,
) -> Res<PointerValue<'c>> {
    let index = emit.types.const_i64(index as i64);
    // SAFETY: callers pass as many words as the entry's description says.
    Ok(unsafe { b.build_in_bounds_gep(emit.types.i64, words, &[index], "")? })
}

/// Declares the exported code of an entry point that another part defines.
pub fn entry_elsewhere<'c>(emit: &Emit<'_, 'c>, entry: &Entry) -> FunctionValue<'c> {
    let params = [emit.types.ptr.into(); ENTRY_PARAMS];
    let ty = emit.types.i32.fn_type(&params, false);
    let name = entry_symbol(&entry.signature.name) + emit.suffix;
    emit.module.add_function(&name, ty, None)
}

/// Defines the exported code of an entry point: unpacks words, calls the function, packs words.
pub fn entry<'c>(emit: &Emit<'_, 'c>, entry: &Entry) -> Res<FunctionValue<'c>> {
    let id = entry.fun.index();
    let function = &emit.program.functions[id];
    let callee = emit.function(id)?;
    let name = entry_symbol(&entry.signature.name) + emit.suffix;
    let (f, b) = export(emit, &name, ENTRY_PARAMS);
    let (ctx, args, results) = (param(f, 0)?, param(f, 1)?, param(f, 2)?);
    let mut values: Vec<Value<'c>> = vec![ctx.into()];
    for (i, var) in function.params.iter().enumerate() {
        let address = word_at(emit, &b, args, i)?;
        values.push(match var_type(function, *var) {
            VarType::Scalar(PrimType::Bool) => {
                let word = int(b.build_load(emit.types.i64, address, "")?)?;
                let zero = emit.types.i64.const_zero();
                b.build_int_compare(IntPredicate::NE, word, zero, "")?.into()
            }
            // Little-endian: the value's bytes come first in its word.
            ty @ (VarType::Scalar(_) | VarType::Buffer(_) | VarType::Vector(..)) => {
                b.build_load(emit.types.var(ty), address, "")?
            }
        });
    }
    let called =
        emit.call_function(&b, function, callee, values, |all| Ok(b.build_alloca(all, "results")?))?;
    let good = emit.context.append_basic_block(f, "good");
    let done = emit.context.append_basic_block(f, "done");
    let zero = emit.types.i32.const_zero();
    let ok = b.build_int_compare(IntPredicate::EQ, called.status, zero, "")?;
    b.build_conditional_branch(ok, good, done)?;
    b.position_at_end(good);
    for (i, var) in function.results.iter().enumerate() {
        let value = called.result(&b, i)?;
        let word = match var_type(function, *var) {
            VarType::Scalar(ty) => {
                let bits = int(b.build_bit_cast(value, emit.types.int(ty), "")?)?;
                b.build_int_z_extend_or_bit_cast(bits, emit.types.i64, "")?.into()
            }
            VarType::Buffer(_) => value,
            VarType::Vector(..) => return Err(Error::bug("an entry point returns a vector")),
        };
        b.build_store(word_at(emit, &b, results, i)?, word)?;
    }
    b.build_unconditional_branch(done)?;
    b.position_at_end(done);
    b.build_return(Some(&called.status))?;
    Ok(f)
}

/// Defines the initialiser of the globals; on failure it releases the blocks that it stored.
pub fn init<'c>(emit: &Emit<'_, 'c>, id: FunId) -> Res<FunctionValue<'c>> {
    let callee = emit.function(id.index())?;
    let (f, b) = export(emit, &format!("bindrune_init{}", emit.suffix), 1);
    let ctx = param(f, 0)?;
    let status = int(call_value(&b, callee, &[ctx.into()])?)?;
    let (bad, done) = (emit.context.append_basic_block(f, "bad"), emit.context.append_basic_block(f, "done"));
    let ok = b.build_int_compare(IntPredicate::EQ, status, emit.types.i32.const_zero(), "")?;
    b.build_conditional_branch(ok, done, bad)?;
    b.position_at_end(bad);
    release_globals(emit, &b, ctx)?;
    b.build_unconditional_branch(done)?;
    b.position_at_end(done);
    b.build_return(Some(&status))?;
    Ok(f)
}

/// Defines the finaliser, which releases the blocks in the globals.
pub fn fini<'c>(emit: &Emit<'_, 'c>) -> Res<FunctionValue<'c>> {
    let ty = emit.context.void_type().fn_type(&[emit.types.ptr.into()], false);
    let f = emit.module.add_function(&format!("bindrune_fini{}", emit.suffix), ty, None);
    emit.attribute(f, AttributeLoc::Function, "nounwind", 0);
    let b = emit.context.create_builder();
    b.position_at_end(emit.context.append_basic_block(f, "entry"));
    release_globals(emit, &b, param(f, 0)?)?;
    b.build_return(None)?;
    Ok(f)
}

fn release_globals<'c>(emit: &Emit<'_, 'c>, b: &Builder<'c>, ctx: PointerValue<'c>) -> Res<()> {
    let globals = pointer(b.build_load(emit.types.ptr, ctx, "")?)?;
    for (i, ty) in emit.program.globals.iter().enumerate() {
        if ty.is_buffer() {
            let address = word_at(emit, b, globals, i)?;
            let block = b.build_load(emit.types.ptr, address, "")?;
            call(b, emit.runtime.release_ref, &[ctx.into(), block])?;
            b.build_store(address, emit.types.ptr.const_null())?;
        }
    }
    Ok(())
}

/// Defines `main`, which calls the runtime function `start` with its own arguments and `more`.
pub fn main<'c>(emit: &Emit<'_, 'c>, start: &str, more: &[Value<'c>]) -> Res<()> {
    let (types, b) = (&emit.types, emit.context.create_builder());
    let (int_type, ptr) = (types.i32.into(), types.ptr.into());
    let mut params: Vec<BasicMetadataTypeEnum<'c>> = vec![int_type, ptr];
    for value in more {
        params.push(value.get_type().into());
    }
    let ty = types.i32.fn_type(&params, false);
    let start = emit.module.add_function(start, ty, None);
    let main = emit.module.add_function("main", types.i32.fn_type(&[int_type, ptr], false), None);
    b.position_at_end(emit.context.append_basic_block(main, "entry"));
    let mut args = main.get_params();
    args.extend(more);
    let status = call_value(&b, start, &args)?;
    b.build_return(Some(&status))?;
    Ok(())
}

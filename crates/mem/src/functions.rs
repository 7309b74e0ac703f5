//! Memory of functions: each array parameter and result is accompanied by its block.

use crate::alloc::{Ctx, row_major_in};
use crate::callees::Callees;
use analysis::must_alias::MustAlias;
use ir::mem::{Block, Lmad, MemAnn};
use ir::name::{FunId, Name};
use ir::remark::{CopyReason, RemarkKind};
use ir::syntax::{Atom, BasicOp, Body, Exp, FunParam, FunResult, Function, Program};
use ir::types::{Dim, Type};
use ir::{Context, Mems, PassError, Prov, Segs};
use target::memories::MemoryId;

/// Assigns memory to every array of a program; see the crate's header.
///
/// # Errors
/// None except for bugs.
pub fn allocate(program: Program<Segs>, context: &mut Context) -> Result<Program<Mems>, PassError> {
    let callees = Callees::of(&program);
    let functions = program.functions.into_iter().enumerate().collect();
    let functions = context.each(functions, |(at, function), own| {
        allocate_function(function, callees.get(FunId::new(at)).home, &callees, own)
    })?;
    Ok(Program {
        levels: program.levels,
        files: program.files,
        opaques: program.opaques,
        entries: program.entries,
        functions,
        math: program.math,
    })
}

/// Converts the parameters, adding a block before each array. Also returns the new position of each
/// parameter.
fn parameters(ctx: &mut Ctx<'_>, params: Vec<FunParam<Segs>>) -> (Vec<FunParam<Mems>>, Vec<u32>) {
    let mut position = Vec::with_capacity(params.len());
    let mut converted = Vec::with_capacity(params.len());
    for FunParam { param, consumed } in params {
        let mut ann = MemAnn::None;
        if param.ty.is_array() {
            let hint = format!("{}_mem", ctx.names.hint(param.name));
            let block = ctx.fresh(&hint, Type::Mem(ctx.home_memory), MemAnn::None);
            ann = row_major_in(block.name, &param.ty);
            converted.push(FunParam { param: block, consumed: false });
        }
        position.push(converted.len() as u32);
        let param = ctx.bind(param.name, param.ty, ann);
        converted.push(FunParam { param, consumed });
    }
    (converted, position)
}

fn allocate_function(
    function: Function<Segs>,
    home: MemoryId,
    callees: &Callees,
    context: &mut Context,
) -> Result<Function<Mems>, PassError> {
    let Function { name, kind, version, attrs, params, ret, body, tunables, names, provs } = function;
    let roots = MustAlias::new(&body, names.len());
    let options = context.options.clone();
    let own = (&*options, home);
    let mut ctx = Ctx::new(names, callees, roots, &mut context.fuel, own);
    ctx.capacity.tunables = tunables;
    let (converted, position) = parameters(&mut ctx, params);
    let mut body = ctx.body(body, &[])?;
    let mut result = Vec::with_capacity(body.result.len());
    let mut results = Vec::with_capacity(ret.len());
    let mut moved: Vec<u32> = Vec::with_capacity(ret.len());
    for (atom, FunResult { ty, aliases, ann: () }) in std::mem::take(&mut body.result).into_iter().zip(ret) {
        let ty = renumber(&ty, &moved);
        let aliases: Vec<u32> =
            aliases.into_iter().filter_map(|at| position.get(at as usize).copied()).collect();
        let mut ann = MemAnn::None;
        if let (true, Atom::Var(array)) = (ty.is_array(), atom) {
            let (array, block) = ctx.row_major_home(array, Prov::NONE, CopyReason::Result, &mut body.stms)?;
            let lmad = Lmad::row_major(ty.shape());
            ann = MemAnn::In { block: Block::Ext(results.len() as u32), lmad };
            results.push(FunResult { ty: Type::Mem(home), aliases: Vec::new(), ann: MemAnn::None });
            result.extend([Atom::Var(block), Atom::Var(array)]);
        } else {
            result.push(atom);
        }
        moved.push(results.len() as u32);
        results.push(FunResult { ty, aliases, ann });
    }
    body.result = result;
    ctx.add_fallbacks(&mut body);
    let decided = ctx.copies();
    let tunables = std::mem::take(&mut ctx.capacity.tunables);
    let names = ctx.names;
    for (array, mut prov, why) in decided {
        if prov == Prov::NONE {
            prov = creator_prov(&body, array);
        }
        let array = names.hint(array).clone();
        context.remark(&name.0, provs.stack(prov), RemarkKind::Copied { array, why });
    }
    Ok(Function { name, kind, version, attrs, params: converted, ret: results, body, tunables, names, provs })
}

/// The provenance of a body's result: that of the statement that creates it, not of one that
/// renames it.
fn creator_prov(body: &Body<Mems>, mut array: Name) -> Prov {
    let mut prov = Prov::NONE;
    for stm in body.stms.iter().rev() {
        if stm.pat.iter().any(|param| param.name == array) {
            prov = stm.aux.prov;
            match stm.exp {
                Exp::Basic(BasicOp::Atom(Atom::Var(other))) => array = other,
                Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {
                    return prov;
                }
            }
        }
    }
    prov
}

/// The type with each [`Dim::Ext`] at its result's new position.
fn renumber(ty: &Type, moved: &[u32]) -> Type {
    match ty {
        Type::Array { elem, shape } => Type::array(
            *elem,
            shape.iter().map(|&dim| match dim {
                Dim::Ext(at) => Dim::Ext(moved.get(at as usize).copied().unwrap_or(at)),
                Dim::Const(_) | Dim::Var(_) => dim,
            }),
        ),
        Type::Prim(_) | Type::Acc { .. } | Type::Cert | Type::Mem(_) => ty.clone(),
    }
}

//! Entry points and the initialiser: wrappers with parameters and results in the order of the
//! entry-point ABI. On a device, arrays of entry points lie in its memory; the caller copies them.

use super::{Callee, ProgramContext, result_types, var_type};
use crate::Result;
use imp::{Arg, CodePlacement, EntryValue, Expr, FunId, Function, OpaqueTypes, Stmt, Var, VarInfo, VarType};
use ir::{Mems, PassError};
use std::sync::Arc;

/// Generates the function of an entry point, whose parameters and results are in the order of the
/// ABI.
pub(crate) fn generate(
    entry: &ir::syntax::EntryPoint,
    program: &ir::Program<Mems>,
    functions: &[Function],
) -> Result<Function> {
    let bug = || PassError::bug(format!("entry point {} does not match its function", entry.signature.name));
    let callee = program.function(entry.fun);
    let target = &functions[entry.fun.index()];
    let opaques = &program.opaques;
    let mut wrapper = Function {
        name: format!("entry {}", entry.signature.name).into(),
        params: Vec::new(),
        results: Vec::new(),
        owned: Vec::new(),
        distinct: Vec::new(),
        vars: Vec::new(),
        body: Vec::new(),
        code: CodePlacement::OneModule,
        recursive: false,
    };
    let types = target.params.iter().map(|v| target.vars[v.index()].clone());
    let vars: Vec<Var> = types.map(|info| new_var(&mut wrapper, info)).collect();
    wrapper.params = abi_order(opaques, &entry.signature.params, &vars).ok_or_else(bug)?;
    let types: Vec<VarType> = callee.ret.iter().filter_map(|r| var_type(&r.ty)).collect();
    let results_vars: Vec<Var> =
        types.into_iter().map(|ty| new_var(&mut wrapper, VarInfo { ty, hint: "result".into() })).collect();
    wrapper.results = abi_order(opaques, [&entry.signature.result], &results_vars).ok_or_else(bug)?;
    wrapper.owned = buffers(&wrapper, &results_vars);
    let args = vars
        .iter()
        .map(|&var| match wrapper.vars[var.index()].ty {
            VarType::Scalar(_) | VarType::Vector(..) => Arg::Scalar(Expr::Var(var)),
            VarType::Buffer(_) => Arg::Buffer(var),
        })
        .collect();
    wrapper.body = vec![Stmt::Call { fun: entry.fun, args, results: results_vars, location: None }];
    Ok(wrapper)
}

fn buffers(function: &Function, vars: &[Var]) -> Vec<Var> {
    let is_buffer = |var: &Var| function.vars[var.index()].ty.is_buffer();
    vars.iter().copied().filter(is_buffer).collect()
}

fn new_var(function: &mut Function, info: VarInfo) -> Var {
    function.vars.push(info);
    Var::new(function.vars.len() - 1)
}

/// The variables in the order of the ABI: the core IR has an array's sizes before its block, the
/// ABI has them after it.
fn abi_order<'v>(
    opaques: &OpaqueTypes,
    values: impl IntoIterator<Item = &'v EntryValue>,
    vars: &[Var],
) -> Option<Vec<Var>> {
    let (mut rest, mut out) = (vars, Vec::with_capacity(vars.len()));
    for (leaf, _) in opaques.flatten_values(values) {
        let (own, others) = rest.split_at_checked(leaf.n_words())?;
        let (value, sizes) = own.split_last()?;
        out.push(*value);
        out.extend(sizes);
        rest = others;
    }
    rest.is_empty().then_some(out)
}

/// The function that computes the constants in definition order, if there are any.
pub(crate) fn initialiser(program: &ir::Program<Mems>, shared: &ProgramContext<'_>) -> Option<Function> {
    let mut init = Function {
        name: Arc::from("init"),
        params: Vec::new(),
        results: Vec::new(),
        owned: Vec::new(),
        distinct: Vec::new(),
        vars: Vec::new(),
        body: Vec::new(),
        code: CodePlacement::OneModule,
        recursive: false,
    };
    for (at, (function, callee)) in program.functions.iter().zip(&shared.callees).enumerate() {
        let Callee::Constant(globals) = callee else {
            continue;
        };
        let fun = FunId::new(at);
        let results: Vec<Var> = result_types(function)
            .map(|ty| new_var(&mut init, VarInfo { ty, hint: function.name.0.clone() }))
            .collect();
        let owned = buffers(&init, &results);
        init.owned.extend(owned);
        init.body.push(Stmt::Call { fun, args: Vec::new(), results: results.clone(), location: None });
        for (&global, var) in globals.iter().zip(results) {
            init.body.push(Stmt::WriteGlobal(global, var));
        }
    }
    (!init.body.is_empty()).then_some(init)
}

//! Entry points of programs for a device: arrays of the host's are copied to the device
//! before, and those that come out to the host after.

use super::{new_var, result_types};
use crate::syntax::{
    Arg, EntryValue, Expr, FunId, Function, OpaqueTypes, Region, Stmt, Var, VarInfo, VarType,
};
use ir::Mems;
use prim::PrimType;
use std::sync::Arc;

/// The function that takes and gives an entry's words and calls another one; `vars` are
/// like that one's parameters.
pub(super) fn wrap(
    mut wrapper: Function,
    fun: FunId,
    opaques: &OpaqueTypes,
    (params, results): (&[EntryValue], &[EntryValue]),
    (vars, callee): (&[Var], &ir::syntax::Function<Mems>),
) -> Option<Function> {
    let w = &mut wrapper;
    let mut rest = vars;
    for (leaf, _) in opaques.spread(params) {
        let (own, others) = rest.split_at_checked(leaf.n_values())?;
        rest = others;
        let (&value, sizes) = own.split_last()?;
        if leaf.rank == 0 {
            w.params.push(value);
            continue;
        }
        let host = new_var(w, info(VarType::HOST, "host"));
        w.params.push(host);
        w.params.extend(sizes);
        w.owned.push(value);
        moved(w, (value, host), leaf.elem.prim(), sizes);
    }
    if !rest.is_empty() {
        return None;
    }
    let types: Vec<VarType> = result_types(callee).collect();
    let given = types.into_iter().map(|ty| new_var(w, info(ty, "result")));
    let given: Vec<Var> = given.collect();
    w.owned.extend(super::buffers(w, &given));
    let args = vars.iter().map(|&var| {
        if w.vars[var.index()].ty.is_buffer() {
            Arg::Buffer(var)
        } else {
            Arg::Scalar(Expr::Var(var))
        }
    });
    let call = Stmt::Call {
        fun,
        args: args.collect(),
        results: given.clone(),
        place: None,
    };
    w.body.push(call);
    let mut rest = given.as_slice();
    for (leaf, _) in opaques.spread(results) {
        let (own, others) = rest.split_at_checked(leaf.n_values())?;
        rest = others;
        let (&value, sizes) = own.split_last()?;
        if leaf.rank == 0 {
            w.results.push(value);
            continue;
        }
        let host = new_var(w, info(VarType::HOST, "host"));
        w.results.push(host);
        w.results.extend(sizes);
        w.owned.push(host);
        moved(w, (host, value), leaf.elem.prim(), sizes);
        w.body.push(Stmt::Release(value));
    }
    rest.is_empty().then_some(wrapper)
}

fn info(ty: VarType, hint: &str) -> VarInfo {
    VarInfo {
        ty,
        hint: Arc::from(hint),
    }
}

/// A new block gets the elements of another one, of an array of these sizes.
fn moved(w: &mut Function, (to, from): (Var, Var), elem: PrimType, sizes: &[Var]) {
    let sizes = sizes.iter().map(|size| Expr::Var(*size));
    let count = sizes.fold(Expr::i64(1), super::mul);
    let bytes = super::mul(count.clone(), Expr::i64(elem.size() as i64));
    let all = |buffer| Region {
        buffer,
        offset: Expr::i64(0),
        strides: vec![Expr::i64(1)],
    };
    w.body.push(Stmt::Alloc(to, bytes, None));
    w.body
        .push(Stmt::copy(all(to), all(from), elem, vec![count]));
}

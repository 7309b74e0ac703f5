//! Flat maps as loops: a loop that appends to arrays, which are reallocated when they are full.
//!
//! ```text
//! loop (used, capacity, buffer[capacity]) = (0, 0, []) for i < n do
//!   let (k, part[k]) = f xs[i]
//!   let need = used + k
//!   let (capacity', buffer'[capacity']) =
//!     if need <= capacity then (capacity, buffer)
//!     else (max need (2 * capacity), buffer in a longer array)
//!   in (need, capacity', buffer' with [used:need] <- part)
//! ```

use super::combinators::{bind_rows, bound};
use super::scratch;
use crate::seg::is_concatenated;
use crate::syntax::{Atom, Aux, BasicOp, Exp, Lambda, LoopForm, LoopParam, Param};
use crate::types::{Dim, Type};
use crate::{Builder, Name, PassError, Soacs};
use prim::{BinOp, CmpOp, PrimType};

/// Appends a flat map as a loop.
///
/// # Errors
/// The width is existential, or the flat map has no size.
pub fn flat_map(
    b: &mut Builder<'_, Soacs>,
    (pat, aux): (Vec<Param<Soacs>>, Aux),
    (width, inputs, lambda): (Dim, &[Name], Lambda<Soacs>),
) -> Result<(), PassError> {
    let no_size = || PassError::bug("a flat map has no size");
    let Lambda { params: row_params, body, ret } = lambda;
    let (&size, values) = body.result.split_first().ok_or_else(no_size)?;
    let count = Dim::from_atom(size).ok_or_else(no_size)?;
    let bound = bound(width)?;
    let [used_param, capacity_param] = ["used", "capacity"].map(|hint| b.param(hint, Type::I64));
    let (used, capacity) = (used_param.name, capacity_param.name);
    let plain = |param| LoopParam { param, init: Atom::i64(0), consumed: false };
    let mut params = vec![plain(used_param), plain(capacity_param)];
    for ty in &ret[1..] {
        let (ty, empty) = if is_concatenated(ty) {
            (with_outer_size(ty, Dim::Var(capacity)), with_outer_size(ty, Dim::Const(0)))
        } else {
            (ty.array_of(width), ty.array_of(width))
        };
        let init = scratch(b, &empty).into();
        params.push(LoopParam { param: b.param("buffer", ty), init, consumed: true });
    }
    let index = b.param("i", Type::I64).name;
    let body = b.body(|b| {
        bind_rows(b, row_params, inputs, index);
        b.extend(body.stms);
        let sum = BasicOp::binary(BinOp::Add, PrimType::I64, used, size);
        let need = b.let_basic("need", sum);
        let buffers = params.iter().skip(2).map(|p| p.param.name).zip(&ret[1..]);
        let growing = buffers.clone().filter(|(_, ty)| is_concatenated(ty)).map(|(array, _)| array);
        let growing: Vec<Name> = growing.collect();
        let mut grown = reallocate(b, (used, capacity, need), &growing).into_iter();
        let mut result = vec![need.into()];
        result.extend(grown.next().map(Atom::Var));
        for ((own, ty), &value) in buffers.zip(values) {
            let (array, slice) = if is_concatenated(ty) {
                let array = grown.next().unwrap_or(own);
                (array, b.rows_slice(array, used.into(), count))
            } else {
                (own, b.row_slice(own, &[index.into()]))
            };
            result.push(b.let_basic("buffer", BasicOp::Update { array, slice, value }).into());
        }
        result
    });

    let mut views = Vec::new();
    let mut pat = pat.into_iter();
    let total = pat.next().ok_or_else(no_size)?;
    let size = Dim::Var(total.name);
    let capacity = b.param("capacity", Type::I64);
    let all = Dim::Var(capacity.name);
    let mut pattern = vec![total, capacity];
    for (param, ty) in pat.zip(&ret[1..]) {
        if !is_concatenated(ty) {
            pattern.push(param);
            continue;
        }
        let whole = b.param("buffer", with_outer_size(ty, all));
        let slice = b.rows_slice(whole.name, Atom::i64(0), size);
        views.push((param, BasicOp::Index { array: whole.name, slice }));
        pattern.push(whole);
    }
    let form = LoopForm::For { var: index, ty: PrimType::I64, bound };
    b.let_with(pattern, aux, Exp::Loop { params, form, body });
    for (param, view) in views {
        b.let_pat(vec![param], Exp::Basic(view));
    }
    Ok(())
}

/// Appends a branch that makes the capacity at least `need`; returns the capacity and the arrays.
fn reallocate(
    b: &mut Builder<'_, Soacs>,
    (used, capacity, need): (Name, Name, Name),
    arrays: &[Name],
) -> Vec<Name> {
    // The comparison is unsigned, so that sums that wrap are too large as well.
    let fits = BasicOp::compare(CmpOp::ULe, PrimType::I64, need, capacity);
    let cond = b.let_basic("fits", fits).into();
    let then_body = b.body(|_| [&capacity].into_iter().chain(arrays).map(|name| Atom::Var(*name)).collect());
    let else_body = b.body(|b| {
        let twice = BasicOp::binary(BinOp::Mul, PrimType::I64, capacity, Atom::i64(2));
        let twice = b.let_basic("twice", twice);
        let most = BasicOp::binary(BinOp::UMax, PrimType::I64, need, twice);
        let more = b.let_basic("capacity", most);
        let longer = arrays.iter().map(|&array| {
            let ty = with_outer_size(&b.type_of(array.into()), Dim::Var(more));
            let longer = scratch(b, &ty);
            let slice = b.rows_slice(array, Atom::i64(0), Dim::Var(used));
            let value = b.let_basic("before", BasicOp::Index { array, slice: slice.clone() }).into();
            b.let_basic("buffer", BasicOp::Update { array: longer, slice, value }).into()
        });
        let longer: Vec<Atom> = longer.collect();
        std::iter::once(more.into()).chain(longer).collect()
    });
    let longer =
        arrays.iter().map(|&array| ("buffer", with_outer_size(&b.type_of(array.into()), Dim::Ext(0))));
    let types: Vec<(&str, Type)> = std::iter::once(("capacity", Type::I64)).chain(longer).collect();
    b.bind_all(types, Exp::If { cond, then_body, else_body })
}

/// The array type with another outer size.
fn with_outer_size(ty: &Type, size: Dim) -> Type {
    ty.row().map_or_else(|| ty.clone(), |row| row.array_of(size))
}

//! Sequential flat maps: a loop that appends to arrays, which are reallocated when they are full.
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

use crate::context::Let;
use crate::names::{Names, basic, part_slice, rows_slice};
use crate::sequential::{bind_rows, bound, scratch};
use crate::{Mapped, Pat, Result, Stms, bug};
use ir::name::Name;
use ir::seg::is_concatenated;
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::{Prov, Soacs};
use prim::{BinOp, CmpOp, PrimType};

/// Appends a flat map as a loop.
pub(crate) fn flat_map_loop(
    names: &mut Names<'_>,
    Let { pat, aux }: Let,
    (width, inputs, lambda): Mapped<'_>,
    out: &mut Stms<Soacs>,
) -> Result {
    let prov = aux.prov;
    let Lambda { params: row_params, body, ret } = lambda;
    let used = names.fresh("used", Type::I64);
    let capacity_param = names.fresh("capacity", Type::I64);
    let (at, capacity) = (used.name, capacity_param.name);
    let plain = |param| LoopParam { param, init: Atom::i64(0), consumed: false };
    let mut params = vec![plain(used), plain(capacity_param)];
    for ty in &ret[1..] {
        let (ty, empty) = if is_concatenated(ty) {
            (with_outer_size(ty, Dim::Var(capacity)), with_outer_size(ty, Dim::Const(0)))
        } else {
            (ty.array_of(width), ty.array_of(width))
        };
        let init = scratch(names, &empty, prov, out)?.into();
        params.push(LoopParam { param: names.fresh("buffer", ty), init, consumed: true });
    }

    let mut stms = Vec::new();
    let index = names.fresh("i", Type::I64).name;
    bind_rows(names, row_params, inputs, index, prov, &mut stms)?;
    stms.extend(body.stms);
    let no_size = bug("a flat map has no size");
    let mut values = body.result.into_iter();
    let size = values.next().ok_or_else(no_size)?;
    let sum = BasicOp::binary(BinOp::Add, PrimType::I64, at, size);
    let need = names.bind_fresh(("need", Type::I64), sum, prov, &mut stms).into();
    let arrays = params.iter().skip(2).zip(&ret[1..]);
    let growing: Pat = arrays.filter(|(_, ty)| is_concatenated(ty)).map(|(p, _)| p.param.clone()).collect();
    let mut grown = reallocate(names, (at, capacity, need), &growing, prov, &mut stms)?.into_iter();
    let mut result = vec![need];
    result.extend(grown.next().map(|capacity| Atom::Var(capacity.name)));
    for ((param, ty), value) in params[2..].iter().zip(&ret[1..]).zip(values) {
        let (Param { name: array, ty, .. }, slice) = if is_concatenated(ty) {
            let array = grown.next();
            let array = array.ok_or_else(bug("a concatenated result has no array to append to"))?;
            let slice = rows(&array.ty, at.into(), size)?;
            (array, slice)
        } else {
            (param.param.clone(), part_slice(&param.param.ty, &[index.into()]))
        };
        let update = BasicOp::Update { array, slice, value };
        result.push(names.bind_fresh(("buffer", ty), update, prov, &mut stms).into());
    }

    let mut views = Vec::new();
    let mut pat = pat.into_iter();
    let total = pat.next().ok_or_else(no_size)?;
    let size = total.name;
    let capacity_param = names.fresh("capacity", Type::I64);
    let capacity = capacity_param.name;
    let mut pattern = vec![total, capacity_param];
    for (param, ty) in pat.zip(&ret[1..]) {
        if !is_concatenated(ty) {
            pattern.push(param);
            continue;
        }
        let whole = names.fresh("buffer", with_outer_size(ty, Dim::Var(capacity)));
        let slice = rows(&whole.ty, Atom::i64(0), size.into())?;
        views.push(basic(param, BasicOp::Index { array: whole.name, slice }, prov));
        pattern.push(whole);
    }
    let form = LoopForm::For { var: index, ty: PrimType::I64, bound: bound(width)? };
    let exp = Exp::Loop { params, form, body: Body { stms, result } };
    out.push(Stm { pat: pattern, aux, exp });
    out.extend(views);
    Ok(())
}

/// Appends a branch that makes the capacity at least `need`; returns the capacity and the arrays.
fn reallocate(
    names: &mut Names<'_>,
    (used, capacity, need): (Name, Name, Atom),
    arrays: &[Param<Soacs>],
    prov: Prov,
    out: &mut Stms<Soacs>,
) -> Result<Pat> {
    // The comparison is unsigned, so that sums that wrap are too large as well.
    let fits = BasicOp::compare(CmpOp::ULe, PrimType::I64, need, capacity);
    let cond = names.bind_fresh(("fits", Type::BOOL), fits, prov, out).into();
    let then_body = Body {
        stms: Vec::new(),
        result: [capacity].into_iter().chain(arrays.iter().map(|p| p.name)).map(Atom::Var).collect(),
    };
    let mut stms = Vec::new();
    let more = names.build(prov, &mut stms, |b| {
        let twice = BasicOp::binary(BinOp::Mul, PrimType::I64, capacity, Atom::i64(2));
        let twice = b.let_basic("twice", twice);
        b.let_basic("capacity", BasicOp::binary(BinOp::UMax, PrimType::I64, need, twice))
    });
    let mut result = vec![Atom::Var(more)];
    for array in arrays {
        let longer = with_outer_size(&array.ty, Dim::Var(more));
        let fresh = scratch(names, &longer, prov, &mut stms)?;
        let slice = rows(&array.ty, Atom::i64(0), used.into())?;
        let before = BasicOp::Index { array: array.name, slice: slice.clone() };
        let ty = with_outer_size(&array.ty, Dim::Var(used));
        let value = names.bind_fresh(("before", ty), before, prov, &mut stms).into();
        let update = BasicOp::Update { array: fresh, slice, value };
        result.push(names.bind_fresh(("buffer", longer), update, prov, &mut stms).into());
    }
    let else_body = Body { stms, result };
    let new_capacity = names.fresh("capacity", Type::I64);
    let size = Dim::Var(new_capacity.name);
    let mut pat = vec![new_capacity];
    for array in arrays {
        pat.push(names.fresh("buffer", with_outer_size(&array.ty, size)));
    }
    out.push(Stm { pat: pat.clone(), aux: Aux::at(prov), exp: Exp::If { cond, then_body, else_body } });
    Ok(pat)
}

/// The array type with another outer size.
fn with_outer_size(ty: &Type, size: Dim) -> Type {
    ty.row().map_or_else(|| ty.clone(), |row| row.array_of(size))
}

/// The slice that selects `count` rows from `start` on.
fn rows(ty: &Type, start: Atom, count: Atom) -> Result<Vec<DimIndex>> {
    let count = Dim::from_atom(count).ok_or_else(bug("a size is not an i64"))?;
    Ok(rows_slice(ty, start, count))
}

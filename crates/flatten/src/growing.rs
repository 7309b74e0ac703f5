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

use crate::context::{Ctx, row_slice, rows_slice};
use crate::sequential::{bind, bind_rows, bound, scratch};
use ir::name::Name;
use ir::seg::is_concatenated;
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::{PassError, Soacs};
use prim::{BinOp, CmpOp, PrimType};

/// The width, inputs and function of a flat map.
type FlatMap = (Dim, Vec<Name>, Lambda<Soacs>);

/// Appends a flat map as a loop.
pub(crate) fn flat_map_loop(
    ctx: &mut Ctx<'_>,
    pat: Vec<Param<Soacs>>,
    aux: &Aux,
    (width, inputs, lambda): FlatMap,
    out: &mut Vec<Stm<Soacs>>,
) -> Result<(), PassError> {
    let Lambda { params: row_params, body, ret } = lambda;
    let used = ctx.fresh("used", Type::I64);
    let capacity_param = ctx.fresh("capacity", Type::I64);
    let (at, capacity) = (used.name, capacity_param.name);
    let mut params = vec![plain(used), plain(capacity_param)];
    for ty in &ret[1..] {
        let (ty, empty) = if is_concatenated(ty) {
            (with_outer_size(ty, Dim::Var(capacity)), with_outer_size(ty, Dim::Const(0)))
        } else {
            (ty.array_of(width), ty.array_of(width))
        };
        let init = scratch(ctx, &empty, aux, out)?.into();
        params.push(LoopParam { param: ctx.fresh("buffer", ty), init, consumed: true });
    }

    let mut stms = Vec::new();
    let index = ctx.fresh::<Soacs>("i", Type::I64).name;
    bind_rows(ctx, row_params, &inputs, index, aux, &mut stms)?;
    stms.extend(body.stms);
    let mut values = body.result.into_iter();
    let Some(size) = values.next() else {
        return Err(PassError::bug("a flat map has no size"));
    };
    let sum = BasicOp::binary(BinOp::Add, PrimType::I64, at, size);
    let need = bind(ctx, "need", Type::I64, sum, aux, &mut stms);
    let arrays = params.iter().skip(2).zip(&ret[1..]);
    let growing = arrays.filter(|(_, ty)| is_concatenated(ty));
    let growing: Vec<Param<Soacs>> = growing.map(|(p, _)| p.param.clone()).collect();
    let grown = reallocate(ctx, (at, capacity, need), &growing, aux, &mut stms)?;
    let mut result = vec![need];
    let mut grown = grown.into_iter();
    result.extend(grown.next().map(|capacity| Atom::Var(capacity.name)));
    for ((param, ty), value) in params[2..].iter().zip(&ret[1..]).zip(values) {
        let (array, slice) = if is_concatenated(ty) {
            let array = grown.next();
            let array =
                array.ok_or_else(|| PassError::bug("a concatenated result has no array to append to"))?;
            let slice = rows(&array.ty, at.into(), size)?;
            (array, slice)
        } else {
            let slice = row_slice(&param.param.ty, index.into());
            (param.param.clone(), slice)
        };
        let update = BasicOp::Update { array: array.name, slice, value };
        result.push(bind(ctx, "buffer", array.ty, update, aux, &mut stms));
    }

    let mut pattern = Vec::with_capacity(pat.len() + 1);
    let mut views = Vec::new();
    let mut pat = pat.into_iter();
    let Some(total) = pat.next() else {
        return Err(PassError::bug("a flat map has no size"));
    };
    let size = total.name;
    let capacity_param = ctx.fresh("capacity", Type::I64);
    let capacity = capacity_param.name;
    pattern.extend([total, capacity_param]);
    for (param, ty) in pat.zip(&ret[1..]) {
        if !is_concatenated(ty) {
            pattern.push(param);
            continue;
        }
        let whole = ctx.fresh("buffer", with_outer_size(ty, Dim::Var(capacity)));
        let slice = rows(&whole.ty, Atom::i64(0), size.into())?;
        let array = whole.name;
        pattern.push(whole);
        views.push(Stm {
            pat: vec![param],
            aux: Aux::at(aux.prov),
            exp: Exp::Basic(BasicOp::Index { array, slice }),
        });
    }
    out.push(Stm {
        pat: pattern,
        aux: aux.clone(),
        exp: Exp::Loop {
            params,
            form: LoopForm::For { var: index, ty: PrimType::I64, bound: bound(width)? },
            body: Body { stms, result },
        },
    });
    out.extend(views);
    Ok(())
}

/// Appends a branch that makes the capacity at least `need`; returns the capacity and the arrays.
fn reallocate(
    ctx: &mut Ctx<'_>,
    (used, capacity, need): (Name, Name, Atom),
    arrays: &[Param<Soacs>],
    aux: &Aux,
    out: &mut Vec<Stm<Soacs>>,
) -> Result<Vec<Param<Soacs>>, PassError> {
    // The comparison is unsigned, so that sums that wrap are too large as well.
    let fits = BasicOp::compare(CmpOp::ULe, PrimType::I64, need, capacity);
    let fits = bind(ctx, "fits", Type::BOOL, fits, aux, out);
    let then_body = Body {
        stms: Vec::new(),
        result: [capacity].into_iter().chain(arrays.iter().map(|p| p.name)).map(Atom::Var).collect(),
    };
    let mut stms = Vec::new();
    let twice = BasicOp::binary(BinOp::Mul, PrimType::I64, capacity, Atom::i64(2));
    let twice = bind(ctx, "twice", Type::I64, twice, aux, &mut stms);
    let more = BasicOp::binary(BinOp::UMax, PrimType::I64, need, twice);
    let more = bind(ctx, "capacity", Type::I64, more, aux, &mut stms);
    let size = Dim::from_atom(more).ok_or_else(|| PassError::bug("a size is not an i64"))?;
    let mut result = vec![more];
    for array in arrays {
        let longer = with_outer_size(&array.ty, size);
        let fresh = scratch(ctx, &longer, aux, &mut stms)?;
        let slice = rows(&array.ty, Atom::i64(0), used.into())?;
        let before = BasicOp::Index { array: array.name, slice: slice.clone() };
        let before = bind(ctx, "before", with_outer_size(&array.ty, Dim::Var(used)), before, aux, &mut stms);
        let update = BasicOp::Update { array: fresh, slice, value: before };
        result.push(bind(ctx, "buffer", longer, update, aux, &mut stms));
    }
    let else_body = Body { stms, result };
    let new_capacity = ctx.fresh("capacity", Type::I64);
    let size = Dim::Var(new_capacity.name);
    let mut pat = vec![new_capacity];
    for array in arrays {
        pat.push(ctx.fresh("buffer", with_outer_size(&array.ty, size)));
    }
    out.push(Stm {
        pat: pat.clone(),
        aux: Aux::at(aux.prov),
        exp: Exp::If { cond: fits, then_body, else_body },
    });
    Ok(pat)
}

fn plain(param: Param<Soacs>) -> LoopParam<Soacs> {
    LoopParam { param, init: Atom::i64(0), consumed: false }
}

/// The array type with another outer size.
fn with_outer_size(ty: &Type, size: Dim) -> Type {
    ty.row().map_or_else(|| ty.clone(), |row| row.array_of(size))
}

/// The slice that selects `count` rows from `start` on.
fn rows(ty: &Type, start: Atom, count: Atom) -> Result<Vec<DimIndex>, PassError> {
    let count = Dim::from_atom(count).ok_or_else(|| PassError::bug("a size is not an i64"))?;
    Ok(rows_slice(ty, start, count))
}

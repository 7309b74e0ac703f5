//! Joined dimensions: a nest of maps whose result is read flattened becomes one map.
//!
//! ```text
//! let ys = map n (i <- iota n) ->              let zs = map (n * 9) (k <- iota (n * 9)) ->
//!            map 9 (j <- iota 9) -> f i j  =>             let (i, j) = (k / 9, k % 9)
//! let zs = reshape [n * 9] ys                             in f i j
//! ```
//!
//! The map then fuses with the reader of `zs`. The inner widths are constants, so the divisions are
//! products and shifts. Rows may also be views: their elements are read one by one.

use super::nest::{Nest, Read, fresh};
use super::views::whole_dims;
use ir::soac::Screma;
use ir::syntax::{Atom, Aux, BasicOp, DimIndex, Exp, Param, Stm};
use ir::types::{Dim, Type};
use ir::{Name, TypeEnv};
use ir::{NameTable, Prov, Soacs};
use prim::{BinOp, PrimType, ScalarOp};

/// The indices of the joined levels, computed from the index of the joined one.
pub(super) struct Delinearised {
    /// The index of each level.
    pub(super) indices: Vec<Atom>,
    /// The statements that compute them.
    pub(super) stms: Vec<Stm<Soacs>>,
    /// The read of the joined level's index.
    pub(super) read: Read,
    /// The statement that binds the array that is read.
    pub(super) iota: Stm<Soacs>,
}

/// Computes the indices of levels with these widths, of which all but the first are constants, from an index
/// below `total`.
pub(super) fn delinearised(
    parts: &[Dim],
    total: Dim,
    aux: &Aux,
    names: &mut NameTable,
    types: &mut TypeEnv,
) -> Delinearised {
    let ty = Type::Prim(PrimType::I64);
    let array = fresh("iota", ty.array_of(total), names, types);
    let index = fresh("k", ty.clone(), names, types);
    let read = Read { param: index.clone(), array: array.name, levels: vec![0] };
    let own = Aux { certs: aux.certs.clone(), ..Aux::at(aux.prov) };
    let iota = Stm { pat: vec![array], aux: own, exp: Exp::Basic(BasicOp::indices(total)) };
    let mut stms = Vec::new();
    let mut rest = Atom::Var(index.name);
    let mut indices = Vec::with_capacity(parts.len());
    for part in parts[1..].iter().rev() {
        let width = part.atom().unwrap_or(Atom::i64(1));
        let mut divided = |op: BinOp, hint: &str| {
            let param = fresh(hint, ty.clone(), names, types);
            let value = Atom::Var(param.name);
            let exp = Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, PrimType::I64, rest, width)));
            stms.push(Stm { pat: vec![param], aux: Aux::at(aux.prov), exp });
            value
        };
        indices.push(divided(BinOp::UMod, "at"));
        rest = divided(BinOp::UDiv, "row");
    }
    indices.push(rest);
    indices.reverse();
    Delinearised { indices, stms, read, iota }
}

/// The value of a read that some of the joined levels index, in the innermost body.
pub(super) fn element(
    read: Read,
    counted: Option<(Atom, Atom)>,
    indices: &[Atom],
    (names, types): (&mut NameTable, &mut TypeEnv),
    aux: &Aux,
) -> Vec<Stm<Soacs>> {
    let at = |exp| Stm { pat: vec![read.param.clone()], aux: Aux::at(aux.prov), exp };
    if let (Some((start, stride)), [level]) = (counted, read.levels.as_slice()) {
        let scalar = |op, x, y| Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)));
        let scaled = fresh("scaled", Type::Prim(PrimType::I64), names, types);
        let product = scalar(BinOp::Mul, indices[*level], stride);
        let sum = at(scalar(BinOp::Add, start, Atom::Var(scaled.name)));
        return vec![Stm { pat: vec![scaled], aux: Aux::at(aux.prov), exp: product }, sum];
    }
    let own = read.levels.iter().map(|level| DimIndex::Fix(indices[*level]));
    let rest = types.type_of(read.array).shape()[read.levels.len()..].to_vec();
    let slice = own.chain(whole_dims(&rest)).collect();
    vec![at(Exp::Basic(BasicOp::Index { array: read.array, slice }))]
}

impl Nest {
    /// Returns true if a map's rows are views with enough dimensions for a nest of this depth.
    pub(super) fn has_views(screma: &Screma, depth: usize) -> bool {
        let body = &screma.map.body;
        let is_view = |stm: &Stm<Soacs>| {
            let view =
                |op: &BasicOp| matches!(op, ir::view_op!() | BasicOp::Index { .. } | BasicOp::Scalar(_));
            matches!(&stm.exp, Exp::Basic(op) if view(op))
        };
        let rows = matches!((body.result.as_slice(), screma.map.ret.as_slice()), ([Atom::Var(_)], [ret]) if ret.rank() + 1 >= depth);
        rows && screma.scan_reduce.is_map() && body.stms.iter().all(is_view) && Self::of(screma, 1).is_some()
    }

    /// Returns a map [whose rows are views](Self::has_views) as a nest of this depth. `before` gets the arrays of the
    /// rows' indices.
    pub(super) fn of_views(
        screma: &Screma,
        (depth, prov): (usize, Prov),
        names: &mut NameTable,
        types: &mut TypeEnv,
        before: &mut Vec<Stm<Soacs>>,
    ) -> Option<Self> {
        let body = &screma.map.body;
        let ([Atom::Var(row)], [ret]) = (body.result.as_slice(), screma.map.ret.as_slice()) else {
            return None;
        };
        let dims = ret.shape().get(..depth.checked_sub(1)?)?.to_vec();
        let mut nest = Self::of(screma, 1)?;
        let mut indices = Vec::with_capacity(dims.len());
        for (at, dim) in dims.iter().enumerate() {
            let array = fresh("iota", Type::Prim(PrimType::I64).array_of(*dim), names, types);
            let index = fresh("i", Type::Prim(PrimType::I64), names, types);
            indices.push(DimIndex::Fix(Atom::Var(index.name)));
            nest.reads.push(Read { param: index, array: array.name, levels: vec![at + 1] });
            before.push(Stm {
                pat: vec![array],
                aux: Aux::at(prov),
                exp: Exp::Basic(BasicOp::indices(*dim)),
            });
        }
        nest.levels.extend(dims.iter().copied());
        let elem = element_type(ret, dims.len());
        let value: Param<Soacs> = fresh("x", elem.clone(), names, types);
        let slice = indices.into_iter().chain(whole_dims(&ret.shape()[dims.len()..])).collect();
        let exp = Exp::Basic(BasicOp::Index { array: *row, slice });
        nest.body.result = vec![Atom::Var(value.name)];
        nest.body.stms.push(Stm { pat: vec![value], aux: Aux::at(prov), exp });
        nest.set_inner(vec![Aux::at(prov); dims.len()], elem);
        Some(nest)
    }
}

/// The type of an array's rows below a number of dimensions.
fn element_type(ty: &Type, levels: usize) -> Type {
    (0..levels).fold(ty.clone(), |ty, _| ty.row().unwrap_or(ty))
}

/// The array of a statement that binds `iota`s, by name.
pub(super) fn iota_in(stms: &[Stm<Soacs>], array: Name) -> Option<(Atom, Atom)> {
    stms.iter().find_map(|stm| match (&stm.exp, stm.pat.as_slice()) {
        (Exp::Basic(BasicOp::Iota { ty: PrimType::I64, start, stride, .. }), [param])
            if param.name == array =>
        {
            Some((*start, *stride))
        }
        _ => None,
    })
}

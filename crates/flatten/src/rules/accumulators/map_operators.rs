//! Accumulators whose operators are maps: interchanges accumulator and map (rule G4).

use super::array_operators::Build;
use crate::names::basic;
use crate::{Pat, Stms};
use ir::operator_map::operator_map;
use ir::soac::{AccInput, Operator, Screma, Soac};
use ir::syntax::{BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{VisitMut, with_stack};
use ir::{Atom, Name, Prov, Soacs};
use rustc_hash::FxHashMap;

/// Adds a dimension to the index of each accumulator whose operator is a map, for each map that is
/// nested in it; `replicates` has the scalars that arrays repeat.
pub(super) fn interchange(
    b: &mut Build<'_>,
    inputs: &mut [AccInput<Soacs>],
    lambda: &mut Lambda<Soacs>,
    replicates: &FxHashMap<Name, Atom>,
) {
    for (i, input) in inputs.iter_mut().enumerate() {
        while let Some((inner, op)) = inner_operator(b, input, replicates) {
            input.shape.push(inner);
            let elems = op.op.ret.clone();
            input.op = Some(op);
            let mut more = AddDimension { token: lambda.params[i].name, inner, elems, b };
            more.lambda(lambda);
        }
    }
}

/// The width of the map that an accumulator's operator is, and the operator inside it.
fn inner_operator(
    b: &mut Build<'_>,
    input: &AccInput<Soacs>,
    replicates: &FxHashMap<Name, Atom>,
) -> Option<(Dim, Operator<Soacs>)> {
    let op = input.op.as_ref()?;
    let (inner, positions) = operator_map(op)?;
    let scalars = (op.neutral.iter()).map(|ne| replicates.get(&ne.var()?).copied());
    let scalars = scalars.collect::<Option<Vec<Atom>>>()?;
    let op = op.refreshed(b.names);
    let [stm] = <[Stm<Soacs>; 1]>::try_from(op.op.body.stms).ok()?;
    let Exp::Op(Soac::Screma(Screma { map, .. })) = stm.exp else {
        return None;
    };
    let rows = map.ret.clone();
    let params: Pat = (rows.iter().chain(&rows)).map(|ty| b.param("x", ty.clone())).collect();
    b.types.add_params(&map.params);
    b.types.add_body(&map.body);
    let bound = map.params.into_iter().zip(&positions);
    let bound = bound.map(|(param, &at)| basic(param, BasicOp::Atom(params[at].name.into()), Prov::NONE));
    let mut stms: Stms<Soacs> = bound.collect();
    stms.extend(map.body.stms);
    // Elements that are still arrays need arrays as neutral elements.
    let neutral = (rows.iter().zip(scalars))
        .map(|(row, scalar)| match row {
            Type::Array { shape, .. } => b.replicate("ne", shape, scalar).into(),
            Type::Prim(_) | Type::Acc { .. } | Type::Cert | Type::Mem(_) => scalar,
        })
        .collect();
    let body = Body { stms, result: map.body.result };
    let op = Lambda { params, body, ret: rows };
    let comm = input.op.as_ref().is_some_and(|op| op.comm);
    Some((inner, Operator { op, neutral, comm }))
}

/// Adds a dimension to an accumulator, in all types and updates.
struct AddDimension<'a, 'b> {
    token: Name,
    inner: Dim,
    /// Types of its elements afterwards.
    elems: Vec<Type>,
    b: &'a mut Build<'b>,
}

impl VisitMut<Soacs> for AddDimension<'_, '_> {
    fn ty(&mut self, ty: &mut Type) {
        if let Type::Acc { token, shape, elems } = ty
            && *token == self.token
        {
            shape.push(self.inner);
            elems.clone_from(&self.elems);
        }
    }

    fn param(&mut self, param: &mut Param<Soacs>) {
        self.walk_param(param);
        self.b.types.set(param.name, param.ty.clone());
    }

    fn body(&mut self, body: &mut Body<Soacs>) {
        let stms = std::mem::take(&mut body.stms);
        with_stack(|| {
            for mut stm in stms {
                self.stm(&mut stm);
                if let Some(indices) = self.update_to_map(&mut stm) {
                    body.stms.push(indices);
                }
                body.stms.push(stm);
            }
        });
    }
}

impl AddDimension<'_, '_> {
    /// Replaces an update by a map of updates; returns the statement that binds its indices.
    fn update_to_map(&mut self, stm: &mut Stm<Soacs>) -> Option<Stm<Soacs>> {
        let Exp::Basic(BasicOp::UpdateAcc { acc, index, values }) = &stm.exp else {
            return None;
        };
        let [Param { ty, .. }] = stm.pat.as_slice() else {
            return None;
        };
        if !matches!(ty, Type::Acc { token, .. } if *token == self.token) {
            return None;
        }
        let at = self.b.param("j", Type::I64);
        let rows: Pat = (self.elems.iter()).map(|ty| self.b.param("v", ty.clone())).collect();
        let (own, next) = (self.b.param("acc", ty.clone()), self.b.param("acc", ty.clone()));
        let mut index = index.clone();
        index.push(at.name.into());
        let update = Stm {
            pat: vec![next.clone()],
            aux: stm.aux.clone(),
            exp: Exp::Basic(BasicOp::UpdateAcc {
                acc: own.name,
                index,
                values: rows.iter().map(|row| row.name.into()).collect(),
            }),
        };
        let indices = self.b.param("js", Type::I64.array_of(self.inner));
        let inputs = (std::iter::once(indices.name))
            .chain(values.iter().filter_map(|value| value.var()))
            .chain([*acc])
            .collect();
        let map = Lambda {
            params: std::iter::once(at).chain(rows).chain([own]).collect(),
            body: Body { stms: vec![update], result: vec![next.name.into()] },
            ret: vec![ty.clone()],
        };
        stm.exp = Exp::Op(Soac::Screma(Screma::map(self.inner, inputs, map)));
        Some(basic(indices, BasicOp::indices(self.inner), stm.aux.prov))
    }
}

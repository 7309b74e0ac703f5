//! Reverse mode: maps whose iterations return arrays of different sizes. Each iteration runs again,
//! with the part of the concatenation's adjoint that begins at the sum of the sizes before.

use crate::state::{Ad, Result};
use ir::Name;
use ir::soac::{Screma, Soac, Soacs};
use ir::syntax::{Atom, Body, DimIndex, Lambda, Param};
use ir::types::{Dim, Type};
use ir::walk::free_names_lambda;
use prim::{BinOp, PrimType};

impl Ad<'_> {
    pub(super) fn reverse_flat_map(
        &mut self,
        (width, inputs, lambda): (Dim, &[Name], &Lambda<Soacs>),
        _: &[Param<Soacs>],
        adjoints: &[Option<Atom>],
    ) -> Result {
        let sized = self.copy_lambda(lambda);
        let body = Body { stms: sized.body.stms, result: vec![sized.body.result[0]] };
        let map = Lambda { params: sized.params, body, ret: vec![Type::I64] };
        let sizes = self.b.let_op("sizes", Soac::Screma(Screma::map(width, inputs.to_vec(), map)))[0];
        let op = self.addition(&[Type::I64]);
        let ends = self.b.scan("ends", width, &[sizes], op)[0];
        let starts = self.b.map("starts", width, &[ends, sizes], |b, x| {
            vec![b.binary(BinOp::Sub, PrimType::I64, x[0].into(), x[1].into()).into()]
        })[0];
        let is = self.b.iota(width);
        let own = self.copy_lambda(lambda);
        let mut rows: Vec<(Name, Param<Soacs>)> =
            inputs.iter().copied().zip(own.params.iter().cloned()).collect();
        let start = self.b.param("start", Type::I64);
        let at = self.b.param("i", Type::I64);
        rows.push((starts, start.clone()));
        rows.push((is, at.clone()));
        let free = free_names_lambda(&own);
        let given: Vec<Option<Atom>> = adjoints.to_vec();
        self.reverse_rows(width, &rows, &free, &[], |ad, _| {
            for stm in &own.body.stms {
                ad.forward_sweep(stm)?;
            }
            let size = own.body.result[0];
            let mut seeds = vec![None];
            for (ty, adjoint) in own.ret.iter().zip(&given).skip(1) {
                let Some(Atom::Var(adjoint)) = adjoint else {
                    seeds.push(None);
                    continue;
                };
                let concatenated = ty.shape().first() == Some(&Dim::Ext(0));
                let mut slice = ad.whole(*adjoint);
                slice[0] = if concatenated {
                    let count = Dim::from_atom(size).unwrap_or(Dim::Const(0));
                    DimIndex::Slice { start: start.name.into(), count, stride: Atom::i64(1) }
                } else {
                    DimIndex::Fix(at.name.into())
                };
                seeds.push(Some(ad.read(*adjoint, &slice)));
            }
            ad.return_sweep(&own.body, &seeds)
        })
    }
}

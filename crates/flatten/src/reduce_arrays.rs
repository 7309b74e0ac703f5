//! Rule G4 of incremental flattening: a reduction whose operator is a map is
//! interchanged with it.
//!
//! ```text
//! reduce (map f) nes xss   ==>   map (\ne col -> reduce f ne col) nes (transpose xss)
//! ```
//!
//! Afterwards the operator works on scalars (or on smaller arrays, and the rule
//! applies again). Needs: the screma maps nothing itself and only reduces.

use crate::convert::Ctx;
use ir::folds::Folds;
use ir::interchange::{element_operator, operator_map};
use ir::name::Name;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::Dim;
use ir::{PassError, Prov, Soacs};
use smallvec::SmallVec;

/// What became of a screma.
pub(crate) enum Outcome {
    /// Statements, then one map per reduction.
    Interchanged(Vec<Stm<Soacs>>, Vec<Interchanged>),
    /// The rule does not apply.
    Unchanged(Box<Screma>),
}

/// A map of reductions and how many of the results are its.
pub(crate) struct Interchanged {
    pub(crate) screma: Screma,
    pub(crate) results: usize,
}

/// Applies the rule to each reduction of a screma.
pub(crate) fn interchange(ctx: &mut Ctx<'_>, s: Screma) -> Result<Outcome, PassError> {
    let plain = s.folds.scans.is_empty()
        && s.folds.post.is_none()
        && s.map.body.stms.is_empty()
        && s.map.body.result.len() == s.folds.n_reduced();
    let Some(arrays) = plain.then(|| mapped_inputs(&s)).flatten() else {
        return Ok(Outcome::Unchanged(Box::new(s)));
    };
    if !s.folds.reduces.iter().all(|r| operator_map(r).is_some()) || !ctx.fuel.take() {
        return Ok(Outcome::Unchanged(Box::new(s)));
    }
    let mut before = Vec::new();
    let mut soacs = Vec::new();
    let mut arrays = arrays.into_iter();
    for reduce in s.folds.reduces {
        let k = reduce.neutral.len();
        let own: Vec<Name> = arrays.by_ref().take(k).collect();
        let screma = one(ctx, s.width, &own, reduce, &mut before)?;
        soacs.push(Interchanged { screma, results: k });
    }
    Ok(Outcome::Interchanged(before, soacs))
}

/// The input array behind each result of an identity map.
fn mapped_inputs(s: &Screma) -> Option<Vec<Name>> {
    s.map
        .body
        .result
        .iter()
        .map(|atom| {
            let name = atom.var()?;
            let at = s.map.params.iter().position(|p| p.name == name)?;
            Some(s.inputs[at])
        })
        .collect()
}

fn one(
    ctx: &mut Ctx<'_>,
    outer: Dim,
    arrays: &[Name],
    reduce: Operator<Soacs>,
    before: &mut Vec<Stm<Soacs>>,
) -> Result<Screma, PassError> {
    let bug = || PassError::bug("an operator changed its form");
    let (inner, _) = operator_map(&reduce).ok_or_else(bug)?;
    let scalar_op = element_operator(&reduce, &mut |hint, ty| ctx.fresh_soac(hint, ty));
    let scalar_op = scalar_op.ok_or_else(bug)?;
    let Operator {
        op: _,
        neutral,
        comm,
    } = reduce;
    let rows = scalar_op.ret.clone();

    let mut inputs = Vec::new();
    let mut params = Vec::new();
    for (ne, row) in neutral.iter().zip(&rows) {
        inputs.push(ne.var().ok_or_else(bug)?);
        params.push(ctx.fresh_soac("ne", row.clone()));
    }
    let ne_params: Vec<Atom> = params.iter().map(|p| Atom::Var(p.name)).collect();
    let mut columns = Vec::new();
    for (&array, row) in arrays.iter().zip(&rows) {
        let ty = ctx.type_of(array)?;
        let mut perm: SmallVec<[usize; 3]> = (0..ty.rank()).collect();
        perm.swap(0, 1);
        let column_ty = row.array_of(outer);
        let transposed = ctx.fresh_soac("columns", column_ty.array_of(inner));
        inputs.push(transposed.name);
        let exp = Exp::Basic(BasicOp::Rearrange { perm, array });
        before.push(Stm {
            pat: vec![transposed],
            aux: Aux::at(Prov::NONE),
            exp,
        });
        let column = ctx.fresh_soac("column", column_ty);
        columns.push(column.name);
        params.push(column);
    }
    let elements: Vec<Param<Soacs>> = rows
        .iter()
        .map(|ty| ctx.fresh_soac("x", ty.clone()))
        .collect();
    let identity = Lambda {
        body: Body {
            stms: Vec::new(),
            result: elements.iter().map(|p| p.name.into()).collect(),
        },
        params: elements,
        ret: rows.clone(),
    };
    let results: Vec<Param<Soacs>> = rows
        .iter()
        .map(|ty| ctx.fresh_soac("r", ty.clone()))
        .collect();
    let result = results.iter().map(|p| p.name.into()).collect();
    let inner_reduce = Soac::Screma(Screma {
        width: outer,
        inputs: columns,
        map: identity,
        folds: Folds::reduce(vec![Operator {
            op: scalar_op,
            neutral: ne_params,
            comm,
        }]),
    });
    let stm = Stm {
        pat: results,
        aux: Aux::at(Prov::NONE),
        exp: Exp::Op(inner_reduce),
    };
    let map = Lambda {
        params,
        body: Body {
            stms: vec![stm],
            result,
        },
        ret: rows,
    };
    Ok(Screma {
        width: inner,
        inputs,
        map,
        folds: Folds::default(),
    })
}

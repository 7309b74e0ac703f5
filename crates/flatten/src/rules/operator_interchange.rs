//! Rule G4: interchanges a reduction or scan with the map that is its operator.
//!
//! ```text
//! reduce (map f) nes xss   ==>   map (\ne col -> reduce f ne col) nes (transpose xss)
//! scan (map f) nes xss     ==>   transpose (map (\ne col -> scan f ne col) nes (transpose xss))
//! ```
//!
//! Afterwards the operator works on scalars (or on smaller arrays, and the rule applies again). If
//! the screma has a map of its own, that is computed first. If an operator is no map, the screma
//! becomes a loop whose body is parallel.

use super::chunks::{self, Chunks, chunks};
use super::distribute::distribute;
use super::scan_reduce::{identity_screma, results, scan_reduce, screma, split};
use super::versions;
use crate::context::{Ctx, atoms};
use crate::nest::Nest;
use crate::position::Position;
use ir::name::Name;
use ir::operator_map::{element_operator, operator_map};
use ir::scan_reduce::ScanReduce;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, Attr, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::{PassError, Prov, Segs, Soacs};
use smallvec::SmallVec;

/// Appends the statements that replace a screma with operators on arrays.
pub(super) fn array_operators(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let by_chunks = |ctx: &mut Ctx<'_>, s, pat, out: &mut Vec<Stm<Segs>>| {
        chunks(ctx, nest, at, (pat, &aux), s, out, |ctx, pat, s, out| {
            // There are few of them.
            let mut aux = aux.clone();
            aux.attrs.add(Attr::SequentialInner);
            columns(ctx, nest, at, pat, aux, s, out)
        })
    };
    match (chunks::wanted(ctx, nest, at, &s), s.width.atom()) {
        (Chunks::Only, _) => by_chunks(ctx, s, pat, out),
        (Chunks::Some, Some(width)) => {
            let guard = chunks::guard(ctx, width);
            let copy = ctx.copy_screma(&s);
            let body = ctx.body_of(&pat, |ctx, own, stms| by_chunks(ctx, copy, own, stms))?;
            let mut few = aux.clone();
            if s.scan_reduce.operators().all(|op| op.op.ret.iter().all(|ty| ty.rank() == 1)) {
                // So few rows are reduced sequentially in less time than a chunk takes.
                few.attrs.add(Attr::SequentialInner);
            }
            let rest = ctx.body_of(&pat, |ctx, own, stms| columns(ctx, nest, at, own, few, s, stms))?;
            let candidates = [(Some(guard), body), (None, rest)];
            let candidates = candidates.map(|(guard, body)| versions::VersionWithGuard { guard, body });
            versions::choose(ctx, candidates.into(), pat, &aux, out)
        }
        (Chunks::Some | Chunks::No, _) => columns(ctx, nest, at, pat, aux, s, out),
    }
}

/// Appends the statements that replace a screma with operators on arrays, by columns where
/// possible.
fn columns(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    pat: Vec<Param<Soacs>>,
    aux: Aux,
    s: Screma,
    out: &mut Vec<Stm<Segs>>,
) -> Result<(), PassError> {
    let body = match g4(ctx, &aux, s)? {
        Outcome::Changed(body) => body,
        Outcome::Same(s) if !s.map.body.stms.is_empty() => split(ctx, &aux, *s),
        // Threads reduce or scan arrays of their own.
        Outcome::Same(s) if allows_array_operators(ctx, nest, &s) => {
            return scan_reduce(ctx, nest, at, pat, aux, *s, out);
        }
        Outcome::Same(s) => {
            return ctx.sequential(nest, at, pat, aux, Soac::Screma(*s), out);
        }
    };
    distribute(ctx, nest, at, body, pat, &aux, out)
}

/// Returns true if segops may reduce or scan arrays: on a machine whose levels do not contain
/// themselves, with neutral elements that are known outside the nest.
fn allows_array_operators(ctx: &Ctx<'_>, nest: &Nest<'_>, s: &Screma) -> bool {
    let known = |ne: Atom| !ne.var().is_some_and(|name| nest.is_variant(name));
    !ctx.stack.nests() && s.scan_reduce.neutral().all(known)
}

/// The result of applying the rule to a screma.
enum Outcome {
    Changed(Body<Soacs>),
    /// The rule does not apply.
    Same(Box<Screma>),
}

/// The operation along the columns.
#[derive(Clone, Copy, PartialEq)]
enum Along {
    Reduce,
    Scan,
}

/// Applies the rule to each operator of a screma that has no map and no post lambda.
fn g4(ctx: &mut Ctx<'_>, aux: &Aux, s: Screma) -> Result<Outcome, PassError> {
    let plain = s.scan_reduce.post.is_none()
        && s.map.body.stms.is_empty()
        && s.map.body.result.len() == s.scan_reduce.n_accumulated();
    let Some(arrays) = plain.then(|| s.forwarded_inputs().collect::<Option<Vec<Name>>>()).flatten() else {
        return Ok(Outcome::Same(Box::new(s)));
    };
    if !s.scan_reduce.operators().all(|r| operator_map(r).is_some()) || !ctx.fuel.take() {
        return Ok(Outcome::Same(Box::new(s)));
    }
    let mut stms = Vec::new();
    let mut arrays = arrays.into_iter();
    let (mut scanned, mut reduced) = (Vec::new(), Vec::new());
    let ScanReduce { scans, reduces, .. } = s.scan_reduce;
    let scans = scans.into_iter().map(|op| (Along::Scan, op));
    let reduces = reduces.into_iter().map(|op| (Along::Reduce, op));
    for (along, operator) in scans.chain(reduces) {
        let k = operator.neutral.len();
        let own: Vec<Name> = arrays.by_ref().take(k).collect();
        let columns = map_over_columns(ctx, s.width, &own, (along, operator), &mut stms)?;
        let pat = results(ctx, &columns);
        stms.push(screma(pat.clone(), aux, columns));
        for param in pat {
            if along == Along::Reduce {
                reduced.push(Atom::Var(param.name));
                continue;
            }
            let rows = transposed(ctx, &param);
            scanned.push(Atom::Var(rows.name));
            stms.push(basic(rows, transpose(&param)));
        }
    }
    let result = [reduced, scanned].concat();
    Ok(Outcome::Changed(Body { stms, result }))
}

/// The map over columns that replaces an operator on rows.
fn map_over_columns(
    ctx: &mut Ctx<'_>,
    outer: Dim,
    arrays: &[Name],
    (along, operator): (Along, Operator<Soacs>),
    before: &mut Vec<Stm<Soacs>>,
) -> Result<Screma, PassError> {
    let bug = || PassError::bug("an operator does not have the form it was checked for");
    let (inner, _) = operator_map(&operator).ok_or_else(bug)?;
    let element = element_operator(&operator, &mut |hint, ty| ctx.fresh(hint, ty));
    let element = element.ok_or_else(bug)?;
    let elements = element.ret.clone();
    let (mut inputs, mut params, mut neutral) = (Vec::new(), Vec::new(), Vec::new());
    for (ne, ty) in operator.neutral.iter().zip(&elements) {
        let array = ne.var().ok_or_else(bug)?;
        if let Some(known) = repeated(ctx, array, ty, before) {
            neutral.push(known);
            continue;
        }
        let param: Param<Soacs> = ctx.fresh("ne", ty.clone());
        neutral.push(Atom::Var(param.name));
        inputs.push(array);
        params.push(param);
    }
    let mut columns = Vec::new();
    for (&array, ty) in arrays.iter().zip(&elements) {
        let rows = ctx.type_of(array)?;
        let whole = Param { name: array, ty: rows, ann: () };
        let transposed = transposed(ctx, &whole);
        inputs.push(transposed.name);
        before.push(basic(transposed, transpose(&whole)));
        let column = ctx.fresh("column", ty.array_of(outer));
        columns.push(column.name);
        params.push(column);
    }
    let operators = vec![Operator { op: element, neutral, comm: operator.comm }];
    let scan_reduce = match along {
        Along::Reduce => ScanReduce::reduce(operators),
        Along::Scan => ScanReduce::scan(operators),
    };
    let combined = identity_screma(ctx, outer, columns, &elements, scan_reduce);
    let pat = results(ctx, &combined);
    let map = Lambda {
        params,
        ret: pat.iter().map(|param| param.ty.clone()).collect(),
        body: Body { result: atoms(&pat), stms: vec![screma(pat, &Aux::at(Prov::NONE), combined)] },
    };
    Ok(Screma::map(inner, inputs, map))
}

/// The row of an array that is known to repeat one value.
fn repeated(ctx: &mut Ctx<'_>, array: Name, row: &Type, before: &mut Vec<Stm<Soacs>>) -> Option<Atom> {
    let (shape, value) = ctx.replicates.get(&array).cloned()?;
    if shape.len() == 1 {
        return Some(value);
    }
    let param: Param<Soacs> = ctx.fresh("ne", row.clone());
    let name = param.name;
    let shape: ir::types::Shape = shape.into_iter().skip(1).collect();
    ctx.replicates.insert(name, (shape.clone(), value));
    before.push(basic(param, BasicOp::Replicate { shape, value }));
    Some(name.into())
}

/// A fresh name for a matrix with rows and columns interchanged.
fn transposed(ctx: &mut Ctx<'_>, param: &Param<Soacs>) -> Param<Soacs> {
    let ty = match &param.ty {
        Type::Array { elem, shape } => {
            let mut shape = shape.clone();
            if shape.len() > 1 {
                shape.swap(0, 1);
            }
            Type::array(*elem, shape)
        }
        ty @ (Type::Prim(_) | Type::Acc { .. } | Type::Cert | Type::Mem(_)) => ty.clone(),
    };
    ctx.fresh("columns", ty)
}

fn transpose(param: &Param<Soacs>) -> BasicOp {
    let mut perm: SmallVec<[usize; 3]> = (0..param.ty.rank()).collect();
    if perm.len() > 1 {
        perm.swap(0, 1);
    }
    BasicOp::Rearrange { perm, array: param.name }
}

fn basic(param: Param<Soacs>, op: BasicOp) -> Stm<Soacs> {
    Stm { pat: vec![param], aux: Aux::at(Prov::NONE), exp: Exp::Basic(op) }
}

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
use crate::context::{Ctx, Let};
use crate::names::{Names, atoms};
use crate::scope::Scope;
use crate::{Result, Stms, bug};
use ir::name::Name;
use ir::operator_map::{element_operator, operator_map};
use ir::scan_reduce::ScanReduce;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, Attr, Aux, BasicOp, Body, Lambda};
use ir::types::{Dim, Shape};
use ir::{Prov, Soacs};
use smallvec::SmallVec;

/// Appends the statements that replace a screma with operators on arrays.
pub(super) fn array_operators(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, s: Screma) -> Result {
    let by_chunks = |ctx: &mut Ctx<'_>, s, to: Let| {
        chunks(ctx, scope, to, s, |ctx, mut to, s| {
            // There are few of them.
            to.aux.attrs.add(Attr::SequentialInner);
            columns(ctx, scope, to, s)
        })
    };
    match (chunks::wanted(ctx, scope, &s), s.width.atom()) {
        (Chunks::Only, _) => by_chunks(ctx, s, to),
        (Chunks::Some, Some(width)) => {
            let guard = chunks::guard(ctx, width);
            let copy = ctx.names.copy_screma(&s);
            let body = ctx.body_of(&to, |ctx, to| by_chunks(ctx, copy, to))?;
            let rest = ctx.body_of(&to, |ctx, mut to| {
                if s.scan_reduce.operators().all(|op| op.op.ret.iter().all(|ty| ty.rank() == 1)) {
                    // So few rows are reduced sequentially in less time than a chunk takes.
                    to.aux.attrs.add(Attr::SequentialInner);
                }
                columns(ctx, scope, to, s)
            })?;
            versions::either(ctx, (guard, body), rest, to)
        }
        (Chunks::Some | Chunks::No, _) => columns(ctx, scope, to, s),
    }
}

/// Appends a screma with operators on arrays, by columns where possible.
fn columns(ctx: &mut Ctx<'_>, scope: Scope<'_>, to: Let, s: Screma) -> Result {
    let body = match g4(ctx, &to.aux, s)? {
        Outcome::Changed(body) => body,
        Outcome::Same(s) if !s.map.body.stms.is_empty() => split(&mut ctx.names, &to.aux, *s),
        // Threads reduce or scan arrays of their own.
        Outcome::Same(s) if allows_array_operators(ctx, scope, &s) => {
            return scan_reduce(ctx, scope, to, *s);
        }
        Outcome::Same(s) => return ctx.sequential(scope, to, Soac::Screma(*s)),
    };
    distribute(ctx, scope, body, to)
}

/// Returns true if segops may reduce or scan arrays: on a machine whose levels do not contain
/// themselves, with neutral elements that are known outside the nest.
fn allows_array_operators(ctx: &Ctx<'_>, scope: Scope<'_>, s: &Screma) -> bool {
    let known = |ne: Atom| !ne.var().is_some_and(|name| scope.nest.is_variant(name));
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
fn g4(ctx: &mut Ctx<'_>, aux: &Aux, s: Screma) -> Result<Outcome> {
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
        let columns = map_over_columns(&mut ctx.names, s.width, &own, (along, operator), &mut stms)?;
        let pat = results(&mut ctx.names, &columns);
        stms.push(screma(pat.clone(), aux, columns));
        for param in pat {
            if along == Along::Reduce {
                reduced.push(Atom::Var(param.name));
                continue;
            }
            scanned.push(Atom::Var(transposed(&mut ctx.names, param.name, &mut stms)));
        }
    }
    let result = [reduced, scanned].concat();
    Ok(Outcome::Changed(Body { stms, result }))
}

/// The map over columns that replaces an operator on rows.
fn map_over_columns(
    names: &mut Names<'_>,
    outer: Dim,
    arrays: &[Name],
    (along, operator): (Along, Operator<Soacs>),
    before: &mut Stms<Soacs>,
) -> Result<Screma> {
    let bug = bug("an operator does not have the form it was checked for");
    let (inner, _) = operator_map(&operator).ok_or_else(bug)?;
    let element = element_operator(&operator, &mut |hint, ty| names.fresh(hint, ty)).ok_or_else(bug)?;
    let elements = element.ret.clone();
    let (mut inputs, mut params, mut neutral) = (Vec::new(), Vec::new(), Vec::new());
    for (ne, ty) in operator.neutral.iter().zip(&elements) {
        let array = ne.var().ok_or_else(bug)?;
        if let Some(known) = repeated(names, array, before) {
            neutral.push(known);
            continue;
        }
        let param = names.fresh("ne", ty.clone());
        neutral.push(Atom::Var(param.name));
        inputs.push(array);
        params.push(param);
    }
    let mut columns = Vec::new();
    for (&array, ty) in arrays.iter().zip(&elements) {
        inputs.push(transposed(names, array, before));
        let column = names.fresh("column", ty.array_of(outer));
        columns.push(column.name);
        params.push(column);
    }
    let operators = vec![Operator { op: element, neutral, comm: operator.comm }];
    let scan_reduce = match along {
        Along::Reduce => ScanReduce::reduce(operators),
        Along::Scan => ScanReduce::scan(operators),
    };
    let combined = identity_screma(names, outer, columns, &elements, scan_reduce);
    let pat = results(names, &combined);
    let map = Lambda {
        params,
        ret: pat.iter().map(|param| param.ty.clone()).collect(),
        body: Body { result: atoms(&pat), stms: vec![screma(pat, &Aux::at(Prov::NONE), combined)] },
    };
    Ok(Screma::map(inner, inputs, map))
}

/// The row of an array that is known to repeat one value.
fn repeated(names: &mut Names<'_>, array: Name, before: &mut Stms<Soacs>) -> Option<Atom> {
    let (shape, value) = names.replicates.get(&array).cloned()?;
    if shape.len() == 1 {
        return Some(value);
    }
    let shape: Shape = shape.into_iter().skip(1).collect();
    let name = names.build(Prov::NONE, before, |b| b.replicate("ne", &shape, value));
    names.replicates.insert(name, (shape, value));
    Some(name.into())
}

/// Appends a matrix with rows and columns interchanged.
fn transposed(names: &mut Names<'_>, array: Name, out: &mut Stms<Soacs>) -> Name {
    names.build(Prov::NONE, out, |b| {
        let mut perm: SmallVec<[usize; 3]> = (0..b.type_of(array.into()).rank()).collect();
        if perm.len() > 1 {
            perm.swap(0, 1);
        }
        b.let_basic("columns", BasicOp::Rearrange { perm, array })
    })
}

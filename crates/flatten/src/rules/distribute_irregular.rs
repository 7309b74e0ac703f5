//! Irregular nests: combinators whose width varies across iterations, where tasks cannot contain
//! tasks.
//!
//! ```text
//! Σ ⊢ map (\x -> e) xs      =>  Σ*, x ∈ xs ⊢ e
//! Σ ⊢ scan op f xs          =>  segscan Σ*, of flags and values: a set flag restarts
//! Σ ⊢ redomap op f ds xs    =>  the same, and in Σ the last value of each segment
//!     where Σ* is one dimension over the elements of the segments of all iterations of Σ
//! ```
//!
//! Segments are stored consecutively in one array (with a vector of lengths, a vector of starts,
//! and a vector with the iteration of each element; flattening with segment descriptors, after
//! Blelloch). In Σ a segment is a slice of that array, so sequential code reads it like any other
//! view.

use super::distribute::{Distribution, Results};
use super::parallelism::{self, NestBindings};
use super::scan_reduce::{rows, scan_and_reduce, split};
use super::{accumulators, irregular_loops, map};
use crate::context::{Ctx, Let};
use crate::manifest::{SegopBody, SegopKind};
use crate::names::{Names, atoms, basic};
use crate::nest::{self, Nest, Segments};
use crate::{Pat, Result, bug};
use analysis::exact::scalar_operator;
use ir::name::Name;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::{PassError, Prov, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar};

/// Returns true if values of a type are segments: at most the outermost size varies.
pub(super) fn is_segment(bound: NestBindings<'_>, stm: &Stm<Soacs>, ty: &Type) -> bool {
    let own = |dim: &Dim| matches!(dim, Dim::Var(name) if stm.pat.iter().any(|p| p.name == *name));
    let Type::Array { shape, .. } = ty else {
        return false;
    };
    !(shape.iter().skip(1)).any(|dim| bound.varies(*dim) || own(dim))
}

/// Returns true if a statement is a combinator, a call of a function with lifted versions, or a
/// loop or `withacc` with inner parallelism, whose arrays are segments.
pub(super) fn is_parallel(bound: NestBindings<'_>, stm: &Stm<Soacs>) -> bool {
    match &stm.exp {
        Exp::Op(Soac::Screma(s)) => is_combinator(bound, stm, s),
        Exp::Loop { params, form, body } => irregular_loops::is_parallel(bound, stm, (params, *form, body)),
        Exp::Apply { fun, .. } => bound.callees.signature(*fun).is_some(),
        Exp::Op(Soac::WithAcc { inputs, lambda }) => {
            bound.irregular && accumulators::is_parallel(bound, stm, (inputs, lambda))
        }
        Exp::Basic(_) | Exp::If { .. } | Exp::Op(_) => false,
    }
}

fn is_combinator(bound: NestBindings<'_>, stm: &Stm<Soacs>, s: &Screma) -> bool {
    let Dim::Var(width) = s.width else {
        return false;
    };
    let row = |ty: &Type| {
        let scalar = bound.is_regular_result(stm, ty);
        scalar || is_segment(bound, stm, ty) && ty.shape().first() == Some(&s.width)
    };
    bound.is_variant(width)
        && stm.pat.iter().all(|param| row(&param.ty))
        && s.scan_reduce.operators().all(|operator| {
            operator.is_scalar()
                && !bound.lambda_varies(&operator.op)
                && (!operator.neutral.iter().any(|ne| bound.atom_varies(*ne))
                    || neutral(&operator.op).is_some())
        })
}

/// Returns true if a statement copies or concatenates segments, and is needed as a whole (`wanted`).
pub(super) fn is_operation(bound: NestBindings<'_>, stm: &Stm<Soacs>, wanted: bool) -> bool {
    let ([param], Exp::Basic(op)) = (stm.pat.as_slice(), &stm.exp) else {
        return false;
    };
    let known =
        matches!(op, BasicOp::Opaque(Atom::Var(_)) | BasicOp::Copy(_) | BasicOp::Concat { dim: 0, .. });
    let varies = !bound.is_regular(&param.ty);
    bound.irregular && wanted && known && varies && is_segment(bound, stm, &param.ty)
}

/// The neutral element of an operator that is a single operation of a known kind.
pub(super) fn neutral(op: &Lambda<Soacs>) -> Option<Vec<Atom>> {
    let (op, ty) = scalar_operator(op)?;
    let known = matches!(op, BinOp::Add | BinOp::Mul | BinOp::Or | BinOp::Xor);
    Some(vec![Atom::Const(op.neutral(ty).filter(|_| known)?)])
}

impl Distribution<'_, '_> {
    /// Appends the statements that replace an irregular statement.
    pub(super) fn irregular(
        &mut self,
        ctx: &mut Ctx<'_>,
        results: Results,
        aux: Aux,
        exp: Exp<Soacs>,
    ) -> Result {
        let s = match exp {
            Exp::Op(Soac::Screma(s)) => s,
            Exp::Loop { params, form, body } => {
                return self.loop_over_nest(ctx, results, aux, (params, form, body));
            }
            Exp::Basic(op) => return self.operation(ctx, results, aux, op),
            Exp::Apply { fun, args } => return self.call(ctx, results, aux.prov, (fun, args)),
            Exp::Op(Soac::WithAcc { inputs, lambda }) => {
                return self.segment_accs(ctx, results, aux, (inputs, lambda));
            }
            Exp::If { .. } | Exp::Op(_) => {
                return Err(PassError::bug("the statement is not an irregular combinator"));
            }
        };
        let both = !s.scan_reduce.scans.is_empty() && !s.scan_reduce.reduces.is_empty();
        if both {
            let body = scan_and_reduce(&mut ctx.names, &aux, s);
            return self.each_statement(ctx, body, &results);
        }
        let width = s.width.atom().ok_or_else(bug("a width is existential"))?;
        if s.scan_reduce.is_map() {
            return self.map(ctx, (width, s), results, aux);
        }
        if parallelism::has_parallelism(&s.map.body) || s.scan_reduce.post.is_some() {
            let body = split(&mut ctx.names, &aux, s);
            return self.each_statement(ctx, body, &results);
        }
        self.scan(ctx, (width, s), results, aux)
    }

    /// Appends irregular combinators one after the other, with these results.
    fn each_statement(&mut self, ctx: &mut Ctx<'_>, body: Body<Soacs>, results: &Results) -> Result {
        for Stm { pat, aux, exp } in body.stms {
            let mut own: Results = pat.into_iter().map(|param| (param, None)).collect();
            for (result, known) in body.result.iter().zip(results) {
                if let Some(at) = own.iter().position(|(param, _)| *result == Atom::Var(param.name)) {
                    own[at] = known.clone();
                }
            }
            self.irregular(ctx, own, aux, exp)?;
        }
        Ok(())
    }

    /// Appends a nest over all elements of the segments, with the results of a map.
    fn map(&mut self, ctx: &mut Ctx<'_>, (width, s): (Atom, Screma), own: Results, aux: Aux) -> Result {
        let segments = self.segments(ctx, width, aux.prov)?;
        let results = rows(&mut ctx.names, "elements", &s.map.ret, Some(Dim::Var(segments.total)));
        let results = result_names(results, &own);
        let (aux, checks) = self.certs(aux, &s.inputs);
        let checked = self.nest.child(checks.clone());
        let (mut nest, inner_index) = checked.with_segments(&mut ctx.names, segments);
        self.elements(&ctx.names, &mut nest, (&s.map.params, &s.inputs), (segments, inner_index))?;
        let to = Let { pat: results.clone(), aux };
        map::over_body(
            ctx,
            self.scope().over(&nest).with_prov(to.aux.prov),
            to,
            SegopBody::map(s.map.body, s.map.ret),
        )?;
        for ((param, _), array) in own.into_iter().zip(results) {
            self.bind_segment(param, (array.name, width, segments), &checks);
        }
        Ok(())
    }

    /// Binds parameters to elements of segments.
    fn elements(
        &self,
        names: &Names<'_>,
        nest: &mut Nest<'_>,
        (params, inputs): (&[Param<Soacs>], &[Name]),
        (segments, inner_index): (Segments, Name),
    ) -> Result {
        for (param, &input) in params.iter().zip(inputs) {
            match self.segment_arrays.get(&input) {
                Some((array, ids)) if *ids == segments.iterations => {
                    nest.bind_element(param.clone(), *array);
                }
                Some(_) | None => nest.bind_op(param.clone(), nest::row(names, input, inner_index.into())?),
            }
        }
        Ok(())
    }

    /// Appends a scan of all segments; a reduction's results are the last elements.
    fn scan(&mut self, ctx: &mut Ctx<'_>, (width, s): (Atom, Screma), own: Results, aux: Aux) -> Result {
        let segments = self.segments(ctx, width, aux.prov)?;
        let reduces = s.scan_reduce.scans.is_empty();
        let Screma { width: _, inputs, map, scan_reduce } = s;
        let operators = if reduces { scan_reduce.reduces } else { scan_reduce.scans };
        let (aux, checks) = self.certs(aux, &inputs);
        let checked = self.nest.child(checks.clone());
        let (mut nest, inner_index) = checked.with_segments(&mut ctx.names, segments);
        self.elements(&ctx.names, &mut nest, (&map.params, &inputs), (segments, inner_index))?;
        // Each operator has its own flag before its values.
        let Lambda { mut body, ret, .. } = map;
        let first = ctx.names.fresh("first", Type::BOOL);
        let flag = Atom::Var(first.name);
        let is_first = BasicOp::compare(CmpOp::Eq, PrimType::I64, inner_index, Atom::i64(0));
        body.stms.push(basic(first, is_first, aux.prov));
        let (mut result, mut types) = (Vec::new(), Vec::new());
        let (mut values, mut left) = (body.result.iter().copied(), ret.iter().cloned());
        for operator in &operators {
            let n = operator.neutral.len();
            result.push(flag);
            types.push(Type::BOOL);
            result.extend(values.by_ref().take(n));
            types.extend(left.by_ref().take(n));
        }
        let n_scanned = result.len();
        result.extend(values);
        types.extend(left);
        body.result = result;
        let neutrals: Vec<Vec<Atom>> = operators.iter().map(|op| op.neutral.clone()).collect();
        let flagged = operators.into_iter();
        let flagged = flagged.map(|operator| flagged_operator(&mut ctx.names, &self.nest, operator));
        let kind = SegopKind::ScanReduce(ScanReduce::scan(flagged.collect()));
        let mut arrays = rows(&mut ctx.names, "scanned", &types, Some(Dim::Var(segments.total)));
        let mapped = arrays.split_off(n_scanned);
        let last = own.len().saturating_sub(mapped.len());
        arrays.extend(result_names(mapped, &own[last..]));
        let to = Let { pat: arrays.clone(), aux };
        let prov = to.aux.prov;
        map::g2(ctx, self.scope().over(&nest), to, SegopBody { body, ret: types, kind })?;
        let (scanned, mapped) = arrays.split_at(n_scanned);
        let (mut own, mut scanned) = (own.into_iter(), scanned.iter());
        let mut totals: Vec<(Param<Soacs>, Option<Param<Soacs>>, Name, Atom)> = Vec::new();
        for neutral in neutrals {
            scanned.next();
            // The neutral elements are first in the `zip`, so that it takes no array beyond the
            // operator's own.
            let arrays = neutral.into_iter().zip(scanned.by_ref());
            for ((ne, array), (param, all)) in arrays.zip(own.by_ref()) {
                if reduces {
                    totals.push((param, all, array.name, ne));
                } else {
                    self.bind_segment(param, (array.name, width, segments), &checks);
                }
            }
        }
        for ((param, _), array) in own.zip(mapped) {
            self.bind_segment(param, (array.name, width, segments), &checks);
        }
        if totals.is_empty() {
            return Ok(());
        }
        self.last_elements(ctx, (width, segments, &checks), totals, prov)
    }

    /// Appends the last elements of segments, or the neutral elements for empty ones.
    fn last_elements(
        &mut self,
        ctx: &mut Ctx<'_>,
        (width, segments, checks): (Atom, Segments, &[Name]),
        totals: Vec<(Param<Soacs>, Option<Param<Soacs>>, Name, Atom)>,
        prov: Prov,
    ) -> Result {
        let mut builder = ctx.names.builder::<Soacs>(prov);
        builder.certs = checks.iter().copied().collect();
        let some = builder.compare(CmpOp::SLt, PrimType::I64, Atom::i64(0), width);
        let types: Vec<Type> = totals.iter().map(|(param, ..)| param.ty.clone()).collect();
        let names = builder.if_(
            "total",
            some.into(),
            types.clone(),
            |b| {
                let end = b.add_i64(segments.start.into(), width);
                let last = b.add_i64(end, Atom::i64(-1));
                totals.iter().map(|(_, _, array, _)| b.index("last", *array, &[last]).into()).collect()
            },
            |_| totals.iter().map(|(.., ne)| *ne).collect(),
        );
        let body = builder.finish(names.into_iter().map(Atom::Var).collect());
        let all = |(param, all, ..): &(Param<Soacs>, Option<Param<Soacs>>, Name, Atom)| {
            let fresh = || ctx.names.fresh("totals", self.nest.expand(&param.ty));
            all.clone().unwrap_or_else(fresh)
        };
        let pat: Pat = totals.iter().map(all).collect();
        self.in_nest(ctx, body, types, pat.clone())?;
        for ((param, ..), all) in totals.into_iter().zip(pat) {
            self.nest.bind_element(param, all.name);
        }
        Ok(())
    }
}

/// The arrays of elements; accumulators among them have the names in `own`.
fn result_names(mut arrays: Pat, own: &[(Param<Soacs>, Option<Param<Soacs>>)]) -> Pat {
    let from = own.len().saturating_sub(arrays.len());
    for (array, (_, all)) in arrays.iter_mut().zip(own.iter().skip(from)) {
        if let (Type::Acc { .. }, Some(all)) = (&array.ty, all) {
            array.clone_from(all);
        }
    }
    arrays
}

/// An operator on values with a flag, which restarts where the flag is set.
fn flagged_operator(names: &mut Names<'_>, nest: &Nest<'_>, operator: Operator<Soacs>) -> Operator<Soacs> {
    let Operator { op, neutral: own, comm: _ } = operator;
    let varies = own.iter().filter_map(|ne| ne.var()).any(|ne| nest.is_variant(ne));
    let neutral = neutral(&op).filter(|_| varies).unwrap_or(own);
    let n = op.ret.len();
    let Lambda { params, body, ret } = op;
    let (left, right) = params.split_at(n);
    let left_flag = names.fresh("f", Type::BOOL);
    let right_flag = names.fresh("f", Type::BOOL);
    let mut builder = names.builder::<Soacs>(Prov::NONE);
    let either = builder.binary(BinOp::Or, PrimType::Bool, left_flag.name.into(), right_flag.name.into());
    let exp = Exp::If {
        cond: right_flag.name.into(),
        then_body: Body { stms: Vec::new(), result: atoms(right) },
        else_body: body,
    };
    let names = builder.bind_all(ret.iter().map(|ty| ("r", ty.clone())), exp);
    let result = std::iter::once(either).chain(names).map(Atom::Var).collect();
    let body = builder.finish(result);
    let before = std::iter::once(&left_flag).chain(left);
    let after = std::iter::once(&right_flag).chain(right);
    Operator {
        op: Lambda {
            params: before.chain(after).cloned().collect(),
            body,
            ret: std::iter::once(Type::BOOL).chain(ret).collect(),
        },
        neutral: std::iter::once(Atom::Const(Scalar::Bool(false))).chain(neutral).collect(),
        comm: false,
    }
}

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

use super::distribute::Distribution;
use super::parallelism::{self, NestBindings};
use super::scan_reduce::{rows, scan_and_reduce, split};
use super::{accumulators, irregular_loops, versions};
use crate::context::{Ctx, atoms, row_slice};
use crate::manifest::{SegopBody, SegopKind};
use crate::nest::{Nest, Segments};
use crate::position::Position;
use analysis::exact::scalar_operator;
use ir::name::Name;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::{PassError, Segs, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarOp};

/// Returns true if nests are distributed into irregular statements at a position: outside all
/// segops, where these cannot contain segops of their level.
pub(super) fn is_allowed_at(ctx: &Ctx<'_>, at: Position) -> bool {
    let deep = ctx.mode.is_full_depth() && !ctx.sequentialise_irregular;
    deep && at.enclosing.is_none() && at.level.is_some() && !ctx.stack.nests()
}

/// Returns true if values of a type are segments: at most the outermost size varies across
/// iterations.
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
        Exp::Apply { fun, .. } => bound.lifts.contains(fun),
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
        let scalar = bound.is_regular(ty) && !bound.has_own_size(stm, ty);
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

/// Returns true if a statement copies or concatenates segments, and the resulting segment is needed
/// as a whole (`wanted`).
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
    /// Appends the statements that replace an irregular statement; `own` has patterns for those of
    /// its results that do not vary in size.
    pub(super) fn irregular(
        &mut self,
        ctx: &mut Ctx<'_>,
        stm: Stm<Soacs>,
        own: Vec<Option<Param<Soacs>>>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let Stm { pat, aux, exp } = stm;
        let s = match exp {
            Exp::Op(Soac::Screma(s)) => s,
            Exp::Loop { params, form, body } => {
                return self.loop_over_nest(ctx, (pat, own), aux, (params, form, body), out);
            }
            Exp::Basic(op) => return self.operation(ctx, pat, aux, op, out),
            Exp::Apply { fun, args } => return self.call(ctx, (pat, own), &aux, (fun, args), out),
            Exp::Op(Soac::WithAcc { inputs, lambda }) => {
                return self.segment_accs(ctx, pat, aux, (inputs, lambda), out);
            }
            Exp::If { .. } | Exp::Op(_) => {
                return Err(PassError::bug("the statement is not an irregular combinator"));
            }
        };
        let Dim::Var(width) = s.width else {
            return Err(PassError::bug("the width of an irregular combinator is a constant"));
        };
        let own: Vec<_> = pat.into_iter().zip(own).collect();
        let both = !s.scan_reduce.scans.is_empty() && !s.scan_reduce.reduces.is_empty();
        if both {
            let body = scan_and_reduce(ctx, &aux, s);
            return self.each_statement(ctx, body, own, out);
        }
        if s.scan_reduce.is_map() {
            return self.map(ctx, (width, s), own, aux, out);
        }
        if parallelism::has_parallelism(&s.map.body) || s.scan_reduce.post.is_some() {
            let body = split(ctx, &aux, s);
            return self.each_statement(ctx, body, own, out);
        }
        self.scan_or_reduce(ctx, (width, s), own, aux, out)
    }

    /// Appends irregular combinators one after the other, with these results.
    fn each_statement(
        &mut self,
        ctx: &mut Ctx<'_>,
        body: Body<Soacs>,
        own: Vec<(Param<Soacs>, Option<Param<Soacs>>)>,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        for mut stm in body.stms {
            let mut patterns = vec![None; stm.pat.len()];
            for (result, (param, all)) in body.result.iter().zip(&own) {
                let at = stm.pat.iter().position(|p| *result == Atom::Var(p.name));
                if let Some(at) = at {
                    stm.pat[at] = param.clone();
                    patterns[at].clone_from(all);
                }
            }
            self.irregular(ctx, stm, patterns, out)?;
        }
        Ok(())
    }

    /// Appends a nest over all elements of the segments, with the results of a map.
    fn map(
        &mut self,
        ctx: &mut Ctx<'_>,
        (width, s): (Name, Screma),
        own: Vec<(Param<Soacs>, Option<Param<Soacs>>)>,
        aux: Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let segments = self.segments(ctx, width.into(), &aux, out)?;
        let total = Some(Dim::Var(segments.total));
        let results = rows(ctx, "elements", &s.map.ret, total);
        let results = result_names(results, &own);
        let (aux, checks) = self.certs(aux, &s.inputs);
        let checked = self.nest.child(checks.clone());
        let (mut nest, inner_index) = checked.with_segments(ctx, segments);
        self.elements(ctx, &mut nest, (&s.map.params, &s.inputs), (segments, inner_index))?;
        let (body, ret) = (s.map.body, s.map.ret);
        versions::g3(ctx, &nest, self.at, results.clone(), aux, (body, ret), out)?;
        for ((param, _), array) in own.into_iter().zip(results) {
            self.bind_segment(param, (array.name, width.into(), segments), &checks);
        }
        Ok(())
    }

    /// Splits a statement's certificates: the ones from outside the nest, which it keeps, and the
    /// nest-variant ones, including the certificates of its inputs. The latter hold for empty
    /// segments, too, which have no element that makes the checks.
    pub(super) fn certs(&self, aux: Aux, inputs: &[Name]) -> (Aux, Vec<Name>) {
        let more = self.nest.certs_of(inputs);
        let more = more.into_iter().filter(|cert| !aux.certs.contains(cert));
        let all: Vec<Name> = aux.certs.iter().copied().chain(more).collect();
        let (variant, known): (Vec<Name>, Vec<Name>) =
            all.into_iter().partition(|cert| self.nest.is_variant(*cert));
        let aux = Aux { certs: known.into_iter().collect(), ..aux };
        (aux, variant)
    }

    /// Binds parameters to elements of segments.
    fn elements(
        &self,
        ctx: &Ctx<'_>,
        nest: &mut Nest<'_>,
        (params, inputs): (&[Param<Soacs>], &[Name]),
        (segments, inner_index): (Segments, Name),
    ) -> Result<(), PassError> {
        for (param, &input) in params.iter().zip(inputs) {
            if let Some((array, _)) =
                (self.segment_arrays.get(&input)).filter(|(_, ids)| *ids == segments.iterations)
            {
                nest.bind_element(param.clone(), *array);
                continue;
            }
            let op = match ctx.type_of(input)? {
                ty @ Type::Array { .. } => {
                    BasicOp::Index { array: input, slice: row_slice(&ty, inner_index.into()) }
                }
                Type::Prim(_) | Type::Acc { .. } | Type::Cert | Type::Mem(_) => BasicOp::Atom(input.into()),
            };
            nest.bind_op(param.clone(), op);
        }
        Ok(())
    }

    /// Appends a scan of all segments; a reduction's results are the last elements.
    fn scan_or_reduce(
        &mut self,
        ctx: &mut Ctx<'_>,
        (width, s): (Name, Screma),
        own: Vec<(Param<Soacs>, Option<Param<Soacs>>)>,
        aux: Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let segments = self.segments(ctx, width.into(), &aux, out)?;
        let reduces = s.scan_reduce.scans.is_empty();
        let Screma { width: _, inputs, map, scan_reduce } = s;
        let operators = if reduces { scan_reduce.reduces } else { scan_reduce.scans };
        let (aux, checks) = self.certs(aux, &inputs);
        let checked = self.nest.child(checks.clone());
        let (mut nest, inner_index) = checked.with_segments(ctx, segments);
        self.elements(ctx, &mut nest, (&map.params, &inputs), (segments, inner_index))?;
        // Each operator has its own flag before its values.
        let Lambda { mut body, ret, .. } = map;
        let first: Param<Soacs> = ctx.fresh("first", Type::BOOL);
        let flag = Atom::Var(first.name);
        let is_first = BasicOp::compare(CmpOp::Eq, PrimType::I64, inner_index, Atom::i64(0));
        body.stms.push(Stm { pat: vec![first], aux: Aux::at(aux.prov), exp: Exp::Basic(is_first) });
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
        let flagged = flagged.map(|operator| flagged_operator(ctx, &self.nest, operator));
        let kind = SegopKind::ScanReduce(ScanReduce::scan(flagged.collect()));
        let total = Some(Dim::Var(segments.total));
        let mut arrays = rows(ctx, "scanned", &types, total);
        let mapped = arrays.split_off(n_scanned);
        let last = own.len().saturating_sub(mapped.len());
        arrays.extend(result_names(mapped, &own[last..]));
        let segop_body = SegopBody { body, ret: types, kind };
        versions::g2(ctx, &nest, self.at, arrays.clone(), aux.clone(), segop_body, out)?;
        let (scanned, mapped) = arrays.split_at(n_scanned);
        let mut own = own.into_iter();
        let mut scanned = scanned.iter();
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
                    self.bind_segment(param, (array.name, width.into(), segments), &checks);
                }
            }
        }
        for ((param, _), array) in own.zip(mapped) {
            self.bind_segment(param, (array.name, width.into(), segments), &checks);
        }
        if totals.is_empty() {
            return Ok(());
        }
        self.last_elements(ctx, (width, segments, &checks), totals, &aux, out)
    }

    /// Appends the last elements of segments, or the neutral elements for empty ones.
    fn last_elements(
        &mut self,
        ctx: &mut Ctx<'_>,
        (width, segments, checks): (Name, Segments, &[Name]),
        totals: Vec<(Param<Soacs>, Option<Param<Soacs>>, Name, Atom)>,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Result<(), PassError> {
        let mut builder = ctx.builder::<Soacs>(aux);
        builder.certs = checks.iter().copied().collect();
        let some = builder.compare(CmpOp::SLt, PrimType::I64, Atom::i64(0), width.into());
        let types: Vec<Type> = totals.iter().map(|(param, ..)| param.ty.clone()).collect();
        let then_body = builder.body(|b| {
            let end = b.add_i64(segments.start.into(), width.into());
            let last = b.add_i64(end, Atom::i64(-1));
            let last = totals.iter().map(|(_, _, array, _)| b.index("last", *array, &[last]).into());
            last.collect()
        });
        let else_body = Body { stms: Vec::new(), result: totals.iter().map(|(.., ne)| *ne).collect() };
        let exp = Exp::If { cond: some.into(), then_body, else_body };
        let names = builder.bind_all(types.iter().map(|ty| ("total", ty.clone())), exp);
        let body = builder.finish(names.into_iter().map(Atom::Var).collect());
        let pat: Vec<Param<Soacs>> = (totals.iter())
            .map(|(param, all, ..)| match all {
                Some(all) => all.clone(),
                None => {
                    let ty = self.nest.expand(&param.ty);
                    ctx.fresh("totals", ty)
                }
            })
            .collect();
        self.in_nest(ctx, body, types, pat.clone(), out)?;
        for ((param, ..), all) in totals.into_iter().zip(pat) {
            self.nest.bind_element(param, all.name);
        }
        Ok(())
    }
}

/// The arrays of elements; accumulators among them have the names in `own`.
fn result_names(
    mut arrays: Vec<Param<Soacs>>,
    own: &[(Param<Soacs>, Option<Param<Soacs>>)],
) -> Vec<Param<Soacs>> {
    let from = own.len().saturating_sub(arrays.len());
    for (array, (_, all)) in arrays.iter_mut().zip(own.iter().skip(from)) {
        if let (Type::Acc { .. }, Some(all)) = (&array.ty, all) {
            array.clone_from(all);
        }
    }
    arrays
}

/// An operator on values with a flag, which restarts where the flag is set.
fn flagged_operator(ctx: &mut Ctx<'_>, nest: &Nest<'_>, operator: Operator<Soacs>) -> Operator<Soacs> {
    let Operator { op, neutral: own, comm: _ } = operator;
    let varies = own.iter().filter_map(|ne| ne.var()).any(|ne| nest.is_variant(ne));
    let neutral = neutral(&op).filter(|_| varies).unwrap_or(own);
    let n = op.ret.len();
    let Lambda { params, body, ret } = op;
    let (left, right) = params.split_at(n);
    let left_flag: Param<Soacs> = ctx.fresh("f", Type::BOOL);
    let right_flag: Param<Soacs> = ctx.fresh("f", Type::BOOL);
    let aux = Aux::at(ir::Prov::NONE);
    let mut builder = ctx.builder::<Soacs>(&aux);
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

//! Array updates in nests: histograms whose arrays get the nest's dimensions before their own,
//! updates by segments, and bodies that update an array of the nest in place.

use super::distribute::{Distribution, bind};
use super::{distribute_irregular, versions};
use crate::context::Ctx;
use crate::manifest::SegopBody;
use crate::nest::Nest;
use crate::position::Position;
use ir::soac::{AccInput, HistOp, Operator, Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, Level, Param, ReshapeKind, Stm};
use ir::types::{Shape, Type};
use ir::walk::{Substitution, consumed_by, free_names_exp, substitute_stm, with_stack};
use ir::{Builder, Name, PassError, Segs, Soacs};
use prim::ScalarOp;
use rustc_hash::FxHashSet;

impl Distribution<'_, '_> {
    /// Rewrites a statement into others that a nest can be distributed into: an update, by a
    /// segment, of an array whose shape is the same in all iterations; scans and reductions with
    /// nest-variant initial values; literals and copies of arrays whose rows are segments.
    pub(super) fn rewrite(&self, ctx: &mut Ctx<'_>, stm: Stm<Soacs>) -> Result<Vec<Stm<Soacs>>, PassError> {
        let more = |name: Name| self.is_pending(name);
        let bound = self.bound(&more);
        if !self.allow_irregular {
            return Ok(vec![stm]);
        }
        match (&stm.exp, stm.pat.as_slice()) {
            (Exp::Basic(BasicOp::Update { array, slice, value: Atom::Var(value) }), [param]) => {
                let varies = |at: &DimIndex| match at {
                    DimIndex::Slice { count, .. } => bound.varies(*count),
                    DimIndex::Fix(_) => false,
                };
                if !slice.iter().any(varies) || !bound.is_regular(&param.ty) {
                    return Ok(vec![stm]);
                }
                let mut aux = stm.aux.clone();
                let (value, certs) = self.before_coercion(ctx, *value)?;
                let more = certs.iter().filter(|cert| !stm.aux.certs.contains(cert));
                aux.certs.extend(more.copied());
                let exp = scatter(ctx, (*array, value, slice), &param.ty, &aux)?;
                Ok(vec![Stm { exp, aux, ..stm }])
            }
            (Exp::Op(Soac::Screma(s)), _) if !bound.varies(s.width) && s.scan_reduce.post.is_none() => {
                let varies = |operator: &Operator<Soacs>| {
                    operator.neutral.iter().any(|ne| bound.atom_varies(*ne))
                        && distribute_irregular::neutral(&operator.op).is_some()
                };
                if s.scan_reduce.operators().any(varies) {
                    Ok(start_from_neutral(ctx, stm, &varies))
                } else {
                    Ok(vec![stm])
                }
            }
            (Exp::Basic(_), _) => Ok(self.in_rows(ctx, &stm)?.unwrap_or_else(|| vec![stm])),
            _ => Ok(vec![stm]),
        }
    }

    /// The array before a coercion, if its shape is the same in all iterations, and the
    /// certificates of the coercion; else the array itself.
    fn before_coercion(&self, ctx: &Ctx<'_>, name: Name) -> Result<(Name, Vec<Name>), PassError> {
        let more = |name: Name| self.is_pending(name);
        if let Some(stm) = self.binder(name)
            && let Exp::Basic(BasicOp::Reshape { kind: ReshapeKind::Coerce, array, .. }) = &stm.exp
            && self.bound(&more).is_regular(&ctx.type_of(*array)?)
        {
            return Ok((*array, stm.aux.certs.to_vec()));
        }
        Ok((name, Vec::new()))
    }
}

/// A scan or reduction that starts from the neutral elements of its operators, and the statements
/// that combine its results with the initial values.
fn start_from_neutral(
    ctx: &mut Ctx<'_>,
    mut stm: Stm<Soacs>,
    varies: &dyn Fn(&Operator<Soacs>) -> bool,
) -> Vec<Stm<Soacs>> {
    let Exp::Op(Soac::Screma(s)) = &mut stm.exp else {
        return vec![stm];
    };
    let width = s.width;
    let n_reduced = s.scan_reduce.n_reduced();
    let reduced = 0..n_reduced;
    let scanned = n_reduced..n_reduced + s.scan_reduce.n_scanned();
    let mut after = Vec::new();
    for (operators, positions, scans) in
        [(&mut s.scan_reduce.reduces, reduced, false), (&mut s.scan_reduce.scans, scanned, true)]
    {
        let mut positions = positions;
        for operator in operators {
            let own: Vec<usize> = positions.by_ref().take(operator.neutral.len()).collect();
            let (true, Some(neutral), [at]) =
                (varies(operator), distribute_irregular::neutral(&operator.op), own.as_slice())
            else {
                continue;
            };
            let begin = std::mem::replace(&mut operator.neutral, neutral);
            let result = stm.pat[*at].clone();
            let folded: Param<Soacs> = ctx.fresh("folded", result.ty.clone());
            let from = Atom::Var(folded.name);
            stm.pat[*at] = folded;
            let op = operator.op.clone();
            let exp = if scans {
                let mut map = ctx.copy_lambda(&op);
                let [x, y] = map.params.as_slice() else {
                    continue;
                };
                let (x, y) = (x.clone(), y.clone());
                map.body.stms.insert(
                    0,
                    Stm {
                        pat: vec![x],
                        aux: Aux::at(stm.aux.prov),
                        exp: Exp::Basic(BasicOp::Atom(begin[0])),
                    },
                );
                map.params = vec![y];
                let inputs = from.var().into_iter().collect();
                Exp::Op(Soac::Screma(Screma::map(width, inputs, map)))
            } else {
                let Some(Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, ty, ..)))) =
                    op.body.stms.first().map(|stm| &stm.exp)
                else {
                    continue;
                };
                Exp::Basic(BasicOp::binary(*op, *ty, begin[0], from))
            };
            after.push(Stm { pat: vec![result], aux: Aux::at(stm.aux.prov), exp });
        }
    }
    after.insert(0, stm);
    after
}

/// The parameters of a `withacc` for arrays with these elements: the token, and the accumulator.
pub(crate) fn accumulator<L: Level<Ann = ()>>(
    builder: &mut Builder<'_, L>,
    elems: Vec<Type>,
    shape: &Shape,
) -> [Param<L>; 2] {
    let token = builder.param("token", Type::Cert);
    let ty = Type::Acc { token: token.name, shape: shape.clone(), elems };
    let acc = builder.param("acc", ty);
    [token, acc]
}

/// An update as a scatter.
fn scatter(
    ctx: &mut Ctx<'_>,
    (array, value, slice): (Name, Name, &[DimIndex]),
    ty: &Type,
    aux: &Aux,
) -> Result<Exp<Soacs>, PassError> {
    let Type::Array { elem, shape } = ty else {
        return Err(PassError::bug("the updated value is not an array"));
    };
    let mut builder = ctx.builder::<Soacs>(aux);
    let [token, acc] = accumulator(&mut builder, vec![Type::Prim(*elem)], shape);
    let ty = acc.ty.clone();
    let done = scattered(&mut builder, (value, acc.name), slice, &mut Vec::new());
    let body = builder.finish(vec![done.into()]);
    let lambda = Lambda { params: vec![token, acc], body, ret: vec![ty] };
    let inputs = vec![AccInput { shape: shape.clone(), arrays: vec![array], op: None }];
    Ok(Exp::Op(Soac::WithAcc { inputs, lambda }))
}

/// Writes an array to the elements of a slice; returns the accumulator.
fn scattered(
    builder: &mut Builder<'_, Soacs>,
    (value, acc): (Name, Name),
    slice: &[DimIndex],
    index: &mut Vec<Atom>,
) -> Name {
    let mut slice = slice;
    while let [DimIndex::Fix(at), rest @ ..] = slice {
        index.push(*at);
        slice = rest;
    }
    let [DimIndex::Slice { start, count, stride }, rest @ ..] = slice else {
        let update =
            BasicOp::UpdateAcc { acc, index: index.iter().copied().collect(), values: vec![value.into()] };
        return builder.let_basic("acc", update);
    };
    // The value's own size may be the same in all iterations.
    let ty = builder.type_of(value.into());
    let count = ty.shape().first().copied().unwrap_or(*count);
    let iota = builder.iota(count);
    let index = index.clone();
    let done = builder.map("acc", count, &[iota, value, acc], |b, names| {
        let &[i, row, acc] = names else {
            return Vec::new();
        };
        let step = b.mul_i64(i.into(), *stride);
        let at = b.add_i64(*start, step);
        let mut index = index;
        index.push(at);
        vec![scattered(b, (row, acc), rest, &mut index).into()]
    });
    done.first().copied().unwrap_or(acc)
}

/// The array over all dimensions of a nest with a value for each iteration; appended if there is
/// none.
pub(super) fn array_of(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    value: Atom,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<Name, PassError> {
    let ty = match value {
        Atom::Var(name) => ctx.type_of(name)?,
        Atom::Const(value) => Type::Prim(value.ty()),
    };
    if let Some(array) = value.var().and_then(|name| nest.array_of(name)) {
        return Ok(array);
    }
    let value = value.var().and_then(|name| nest.constant(name)).unwrap_or(value);
    let expanded = nest.expand(&ty);
    let param: Param<Soacs> = ctx.fresh("expanded", expanded);
    let array = param.name;
    if value.var().is_some_and(|name| nest.is_variant(name)) {
        let body = Body { stms: Vec::new(), result: vec![value] };
        let segop_body = SegopBody::map(body, vec![ty]);
        let aux = Aux::at(aux.prov);
        versions::g2(ctx, nest, at, vec![param], aux, segop_body, out)?;
    } else {
        let shape = nest.widths().collect();
        bind(ctx, param, BasicOp::Replicate { shape, value }, aux, out);
    }
    Ok(array)
}

/// Histograms whose destinations are the arrays of all iterations.
pub(super) fn destinations(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    at: Position,
    ops: Vec<HistOp<Soacs>>,
    aux: &Aux,
    out: &mut Vec<Stm<Segs>>,
) -> Result<Vec<HistOp<Soacs>>, PassError> {
    if nest.is_empty() {
        return Ok(ops);
    }
    let mut all = Vec::with_capacity(ops.len());
    for HistOp { shape, destinations, op } in ops {
        let destinations = destinations.into_iter();
        let destinations = destinations.map(|dest| array_of(ctx, nest, at, dest.into(), aux, out));
        all.push(HistOp { shape, destinations: destinations.collect::<Result<_, _>>()?, op });
    }
    Ok(all)
}

/// A body that copies the arrays of the nest that it consumes, since other iterations use them,
/// too.
pub(crate) fn copy_consumed(
    ctx: &mut Ctx<'_>,
    nest: &Nest<'_>,
    mut body: Body<Soacs>,
) -> Result<Body<Soacs>, PassError> {
    let mut owner = CopyConsumed { nest, views: FxHashSet::default(), ctx };
    owner.body(&mut body)?;
    Ok(body)
}

/// The array that an operation's result may be a view of.
pub(super) fn viewed(op: &BasicOp) -> Option<Name> {
    if let BasicOp::Index { array, .. }
    | BasicOp::FlatIndex { array, .. }
    | BasicOp::Rearrange { array, .. }
    | BasicOp::Reshape { array, .. }
    | BasicOp::Atom(Atom::Var(array))
    | BasicOp::Opaque(Atom::Var(array)) = op
    {
        Some(*array)
    } else {
        None
    }
}

struct CopyConsumed<'a, 'n, 'c> {
    nest: &'a Nest<'n>,
    /// Names in the body that may alias arrays of the nest.
    views: FxHashSet<Name>,
    ctx: &'a mut Ctx<'c>,
}

impl CopyConsumed<'_, '_, '_> {
    fn is_view(&self, name: Name) -> bool {
        self.views.contains(&name) || self.nest.is_variant(name)
    }

    fn body(&mut self, body: &mut Body<Soacs>) -> Result<(), PassError> {
        let mut copies = Substitution::default();
        let mut all = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            substitute_stm(&mut stm, &copies);
            let consumed = consumed_by(&stm.exp, |fun, i| self.ctx.consumes(fun, i));
            let mut own = Substitution::default();
            for name in consumed {
                let ty = self.ctx.type_of(name)?;
                if !ty.is_array() || !self.is_view(name) {
                    continue;
                }
                let param: Param<Soacs> = self.ctx.fresh("copy", ty);
                own.insert(name, param.name.into());
                all.push(Stm {
                    pat: vec![param],
                    aux: Aux::at(stm.aux.prov),
                    exp: Exp::Basic(BasicOp::Copy(name)),
                });
            }
            substitute_stm(&mut stm, &own);
            copies.extend(own);
            self.note(&stm);
            if let Exp::If { then_body, else_body, .. } = &mut stm.exp {
                for branch in [then_body, else_body] {
                    with_stack(|| self.body(branch))?;
                }
            }
            all.push(stm);
        }
        body.stms = all;
        for atom in &mut body.result {
            if let Some(copy) = atom.var().and_then(|name| copies.get(&name)) {
                *atom = *copy;
            }
        }
        Ok(())
    }

    /// Records the results of a statement that may alias arrays of the nest.
    fn note(&mut self, stm: &Stm<Soacs>) {
        let arrays = stm.pat.iter().filter(|param| param.ty.is_array());
        let arrays: Vec<Name> = arrays.map(|param| param.name).collect();
        if arrays.is_empty() {
            return;
        }
        let may = match &stm.exp {
            Exp::Basic(op) => viewed(op).is_some_and(|array| self.is_view(array)),
            Exp::Op(_) => false,
            exp @ (Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. }) => {
                let free = free_names_exp(exp);
                free.into_iter()
                    .any(|name| self.is_view(name) && self.ctx.types.get(name).is_some_and(Type::is_array))
            }
        };
        if may {
            self.views.extend(arrays);
        }
    }
}

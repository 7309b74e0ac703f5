//! Array updates in nests: histograms whose arrays get the nest's dimensions before their own,
//! updates by segments, and bodies that update an array of the nest in place.

use super::distribute::Distribution;
use super::{distribute_irregular, map};
use crate::context::{Ctx, Let};
use crate::manifest::{SegopBody, SegopKind};
use crate::names::{Names, accumulator, basic};
use crate::nest::Nest;
use crate::scope::Scope;
use crate::{Mapped, Result, Stms};
use ir::scan_reduce::ScanReduce;
use ir::soac::{AccInput, HistOp, Operator, Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, ReshapeKind, Stm};
use ir::types::Type;
use ir::walk::{Substitution, consumed_by, free_names_exp, substitute_stm, with_stack};
use ir::{Builder, Name, PassError, Prov, Soacs};
use prim::ScalarOp;
use rustc_hash::FxHashSet;

impl Distribution<'_, '_> {
    /// Rewrites a statement into others that a nest can be distributed into: an update, by a
    /// segment, of an array whose shape is the same in all iterations; scans and reductions with
    /// nest-variant initial values; literals and copies of arrays whose rows are segments.
    pub(super) fn rewrite(&self, ctx: &mut Ctx<'_>, stm: Stm<Soacs>) -> Result<Stms<Soacs>> {
        let bound = self.bound();
        let varies = |at: &DimIndex| matches!(at, DimIndex::Slice { count, .. } if bound.varies(*count));
        let starts = |operator: &Operator<Soacs>| {
            operator.neutral.iter().any(|ne| bound.atom_varies(*ne))
                && distribute_irregular::neutral(&operator.op).is_some()
        };
        let rewritten = match (&stm.exp, stm.pat.as_slice()) {
            _ if !self.allow_irregular => None,
            (Exp::Basic(BasicOp::Update { array, slice, value: Atom::Var(value) }), [param])
                if slice.iter().any(varies) && bound.is_regular(&param.ty) =>
            {
                let mut aux = stm.aux.clone();
                let (value, certs) = self.before_coercion(ctx, *value)?;
                aux.certs.extend(certs.into_iter().filter(|cert| !stm.aux.certs.contains(cert)));
                let exp = scatter(&mut ctx.names, (*array, value, slice), &param.ty, aux.prov)?;
                return Ok(vec![Stm { exp, aux, ..stm }]);
            }
            (Exp::Op(Soac::Screma(s)), _)
                if !bound.varies(s.width)
                    && s.scan_reduce.post.is_none()
                    && s.scan_reduce.operators().any(starts) =>
            {
                return Ok(start_from_neutral(&mut ctx.names, stm, &starts));
            }
            (Exp::Basic(_), _) => self.in_rows(ctx, &stm),
            _ => None,
        };
        Ok(rewritten.unwrap_or_else(|| vec![stm]))
    }

    /// The array before a coercion, if it is regular, and the coercion's certificates; else itself.
    fn before_coercion(&self, ctx: &Ctx<'_>, name: Name) -> Result<(Name, Vec<Name>)> {
        if let Some(stm) = self.binder(name)
            && let Exp::Basic(BasicOp::Reshape { kind: ReshapeKind::Coerce, array, .. }) = &stm.exp
            && self.bound().is_regular(&ctx.names.type_of(*array)?)
        {
            return Ok((*array, stm.aux.certs.to_vec()));
        }
        Ok((name, Vec::new()))
    }
}

/// A scan or reduction from the neutral elements, and statements that add the initial values.
fn start_from_neutral(
    names: &mut Names<'_>,
    mut stm: Stm<Soacs>,
    varies: &dyn Fn(&Operator<Soacs>) -> bool,
) -> Stms<Soacs> {
    let Exp::Op(Soac::Screma(s)) = &mut stm.exp else {
        return vec![stm];
    };
    let width = s.width;
    let mut after = Vec::new();
    let ScanReduce { scans, reduces, .. } = &mut s.scan_reduce;
    let reduces = reduces.iter_mut().map(|operator| (operator, false));
    let mut positions = 0..stm.pat.len();
    for (operator, scans) in reduces.chain(scans.iter_mut().map(|operator| (operator, true))) {
        let own: Vec<usize> = positions.by_ref().take(operator.neutral.len()).collect();
        let (true, Some(neutral), [at]) =
            (varies(operator), distribute_irregular::neutral(&operator.op), own.as_slice())
        else {
            continue;
        };
        let begin = std::mem::replace(&mut operator.neutral, neutral)[0];
        let ty = stm.pat[*at].ty.clone();
        let folded = names.fresh("folded", ty);
        let from = folded.name;
        let result = std::mem::replace(&mut stm.pat[*at], folded);
        let exp = if scans {
            let mut map = names.copy_lambda(&operator.op);
            let first = map.params.remove(0);
            map.body.stms.insert(0, basic(first, BasicOp::Atom(begin), stm.aux.prov));
            Exp::Op(Soac::Screma(Screma::map(width, vec![from], map)))
        } else if let Some(Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, ty, ..)))) =
            operator.op.body.stms.first().map(|stm| &stm.exp)
        {
            Exp::Basic(BasicOp::binary(*op, *ty, begin, from))
        } else {
            continue;
        };
        after.push(Stm { pat: vec![result], aux: Aux::at(stm.aux.prov), exp });
    }
    after.insert(0, stm);
    after
}

/// An update as a scatter.
fn scatter(
    names: &mut Names<'_>,
    (array, value, slice): (Name, Name, &[DimIndex]),
    ty: &Type,
    prov: Prov,
) -> Result<Exp<Soacs>> {
    let Type::Array { elem, shape } = ty else {
        return Err(PassError::bug("the updated value is not an array"));
    };
    let mut builder = names.builder::<Soacs>(prov);
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

/// The array over a nest that has a value for each iteration; appended if there is none.
pub(super) fn array_of(ctx: &mut Ctx<'_>, scope: Scope<'_>, value: Atom) -> Result<Name> {
    let (nest, prov) = (scope.nest, scope.prov);
    let ty = ctx.names.atom_type(value)?;
    if let Some(array) = value.var().and_then(|name| nest.array_of(name)) {
        return Ok(array);
    }
    let value = value.var().and_then(|name| nest.constant(name)).unwrap_or(value);
    let expanded = nest.expand(&ty);
    if !value.var().is_some_and(|name| nest.is_variant(name)) {
        let op = BasicOp::Replicate { shape: nest.widths().collect(), value };
        return Ok(ctx.bind_fresh(("expanded", expanded), op, prov));
    }
    let param = ctx.names.fresh("expanded", expanded);
    let array = param.name;
    let segop_body = SegopBody::map(Body { stms: Vec::new(), result: vec![value] }, vec![ty]);
    map::g2(ctx, scope, Let::at(prov, vec![param]), segop_body)?;
    Ok(array)
}

/// Appends the segop of histograms of scalars; their destinations are the arrays of all iterations.
pub(super) fn histogram(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    to: Let,
    (width, inputs, map): Mapped<'_>,
    mut ops: Vec<HistOp<Soacs>>,
) -> Result {
    if !scope.nest.is_empty() {
        for dest in ops.iter_mut().flat_map(|op| &mut op.destinations) {
            *dest = array_of(ctx, scope, (*dest).into())?;
        }
    }
    let nest = scope.nest.with_map(&mut ctx.names, width, &map.params, inputs)?;
    map::g2(ctx, scope.over(&nest), to, SegopBody::of(map, SegopKind::Hist(ops)))
}

/// Copies the arrays of the nest that a body consumes, since other iterations use them, too.
pub(crate) fn copy_consumed(ctx: &mut Ctx<'_>, nest: &Nest<'_>, body: &mut Body<Soacs>) -> Result {
    CopyConsumed { nest, views: FxHashSet::default(), ctx }.body(body)
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

    fn body(&mut self, body: &mut Body<Soacs>) -> Result {
        let mut copies = Substitution::default();
        let mut all = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            substitute_stm(&mut stm, &copies);
            let consumed = consumed_by(&stm.exp, |fun, i| self.ctx.callees.consumes(fun, i));
            let mut own = Substitution::default();
            for name in consumed {
                let ty = self.ctx.names.type_of(name)?;
                if !ty.is_array() || !self.is_view(name) {
                    continue;
                }
                let param = self.ctx.names.fresh("copy", ty);
                own.insert(name, param.name.into());
                all.push(basic(param, BasicOp::Copy(name), stm.aux.prov));
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
                free.into_iter().any(|name| {
                    self.is_view(name) && self.ctx.names.types.get(name).is_some_and(Type::is_array)
                })
            }
        };
        if may {
            self.views.extend(arrays);
        }
    }
}

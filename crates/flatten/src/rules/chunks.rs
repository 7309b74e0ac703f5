//! Reductions and scans of arrays by chunks of rows, where a task may process several rows
//! sequentially.
//!
//! ```text
//! reduce op ne xss  =>  if n >= suff_outer_par
//!                       then let ts = segmap (c < k) { reduce op ne (rows c) }
//!                            in reduce op ne ts
//!                       else rule G4
//! scan op ne xss    =>  if n >= suff_outer_par
//!                       then let ts = segmap (c < k) { reduce op ne (rows (c - 1)) }
//!                            let ss = scan op ne ts
//!                            in segmap (c < k) { scan op ss[c] (rows c) }, in one dimension
//!                       else rule G4
//! where rows c = xss[c * per :+ min per (n - c * per)], rows (-1) = []
//! ```
//!
//! A chunk reads its rows once (a scan twice), in the order of memory, and updates an accumulator
//! of its own in place, whereas rule G4 reads columns. The partition of the rows depends only on
//! their number, and so do the results. The chunks' results are reduced or scanned by G4, or
//! sequentially where the operator is no map. A fused map is computed first and stored: the
//! iterations of a separate map may be vectorised, the rows of a chunk may not.

use super::scan_reduce::{identity_screma, results, rows, screma};
use super::{map, versions};
use crate::Result;
use crate::context::{Ctx, Let};
use crate::manifest::SegopBody;
use crate::names::{Names, atoms, reshape};
use crate::scope::Scope;
use ir::name::Name;
use ir::scan_reduce::ScanReduce;
use ir::sequential;
use ir::soac::Screma;
use ir::syntax::{Atom, Aux, BasicOp, Body, Param};
use ir::tunable::Rule;
use ir::types::{Dim, Type};
use ir::{Builder, Flatten, PassError, Prov, Segs, Soacs};
use prim::{BinOp, PrimType};

/// The largest number of chunks: their results are reduced or scanned once more.
const MAX_CHUNKS: i64 = 256;

/// The least number of rows of a chunk, which take longer than combining its result.
const MIN_ROWS: i64 = 16;

/// The default number of rows from which on chunks are used.
const DEFAULT_ROWS: i64 = 32 * MIN_ROWS;

/// The versions with and without chunks.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Chunks {
    No,
    Some,
    Only,
}

/// The versions of a screma with operators on arrays that this rule applies to.
pub(super) fn wanted(ctx: &Ctx<'_>, scope: Scope<'_>, s: &Screma) -> Chunks {
    let scan_reduce = &s.scan_reduce;
    let one = scan_reduce.scans.is_empty() != scan_reduce.reduces.is_empty();
    let maps = !s.map.body.stms.is_empty() || s.map.ret.len() > scan_reduce.n_accumulated();
    let only = scan_reduce.post.is_none() && !maps;
    let arrays = s.inputs.iter().all(|&input| ctx.names.types.type_of(input).is_array());
    let alone = scope.nest.is_empty() && scope.at.enclosing.is_none();
    if !(one && only && arrays && alone && scope.level_nests(ctx.stack)) {
        return Chunks::No;
    }
    match (ctx.mode, s.width) {
        (Flatten::Full, _) => Chunks::No,
        (Flatten::Incremental, Dim::Const(n)) if n < DEFAULT_ROWS => Chunks::No,
        (Flatten::Incremental, Dim::Var(_)) => Chunks::Some,
        (Flatten::None | Flatten::Moderate | Flatten::Incremental, _) => Chunks::Only,
    }
}

/// The guard of the version with chunks.
pub(super) fn guard(ctx: &mut Ctx<'_>, width: Atom) -> versions::Guard {
    versions::Guard {
        before: Vec::new(),
        enough: (width, ctx.guards.threshold(Rule::OuterParallelism, DEFAULT_ROWS)),
        little: None,
    }
}

/// The partition of rows into chunks.
#[derive(Clone, Copy)]
struct RowPartition {
    /// The number of rows.
    width: Atom,
    /// The number of rows of each chunk but the last.
    per: Atom,
    /// The number of chunks.
    count: Dim,
}

/// Appends a reduction or scan by chunks; `merge` appends that of the chunks' results.
pub(super) fn chunks(
    ctx: &mut Ctx<'_>,
    scope: Scope<'_>,
    to: Let,
    mut s: Screma,
    merge: impl FnOnce(&mut Ctx<'_>, Let, Screma) -> Result,
) -> Result {
    let Let { pat, aux } = to;
    let width = sequential::bound(s.width)?;
    let parts = ctx.build(aux.prov, |b| RowPartition::of(b, width));
    let over = scope.nest.with_map(&mut ctx.names, parts.count, &[], &[])?;
    let Some(chunk) = over.indices().last() else {
        return Err(PassError::bug("a nest has no dimensions"));
    };
    let map = |ctx: &mut Ctx<'_>, pat, body, ret| {
        let to = Let { pat, aux: aux.clone() };
        map::g2(ctx, scope.over(&over), to, SegopBody::map(body, ret))
    };
    let scan = !s.scan_reduce.scans.is_empty();
    let rest = ctx.names.copy_scan_reduce(&s.scan_reduce);
    let second_pass = scan.then(|| ctx.names.copy_screma(&s));
    if scan {
        s.scan_reduce = ScanReduce::reduce(std::mem::take(&mut s.scan_reduce.scans));
    }
    let types: Vec<Type> = s.scan_reduce.reduced_types().cloned().collect();
    let body = parts.reduction(&mut ctx.names, &aux, s, chunk, scan);
    let totals = rows(&mut ctx.names, "totals", &types, Some(parts.count));
    let names = totals.iter().map(|param| param.name).collect();
    map(ctx, totals, body, types.clone())?;
    let rest = identity_screma(&mut ctx.names, parts.count, names, &types, rest);
    let Some(s) = second_pass else {
        return merge(ctx, Let { pat, aux }, rest);
    };
    let starts = rows(&mut ctx.names, "starts", &types, Some(parts.count));
    let names: Vec<Name> = starts.iter().map(|param| param.name).collect();
    merge(ctx, Let { pat: starts, aux: aux.clone() }, rest)?;
    let (body, ret) = parts.scan(&mut ctx.names, &aux, s, chunk, &names)?;
    let chunks = rows(&mut ctx.names, "chunks", &ret, Some(parts.count));
    let names: Vec<Name> = chunks.iter().map(|param| param.name).collect();
    map(ctx, chunks, body, ret)?;
    for ((param, row), chunks) in pat.into_iter().zip(types).zip(names) {
        parts.concat_chunks(ctx, aux.prov, param, (&row, chunks));
    }
    Ok(())
}

impl RowPartition {
    fn of(builder: &mut Builder<'_, Segs>, width: Atom) -> Self {
        let even_share = quotient(builder, width, Atom::i64(MAX_CHUNKS));
        let least = Atom::i64(MIN_ROWS);
        let per = builder.binary(BinOp::SMax, PrimType::I64, even_share, least).into();
        let count = quotient(builder, width, per);
        Self { width, per, count: Builder::<Segs>::dim(count) }
    }

    /// Restricts a screma to `count` rows from `first` on.
    fn rows(self, builder: &mut Builder<'_, Soacs>, (first, count): (Atom, Atom), s: &mut Screma) {
        let count = Builder::<Soacs>::dim(count);
        for input in &mut s.inputs {
            let array = *input;
            let slice = builder.rows_slice(array, first, count);
            *input = builder.let_basic("rows", BasicOp::Index { array, slice });
        }
        s.width = count;
    }

    /// The first row and the number of rows of a chunk.
    fn extent(self, builder: &mut Builder<'_, Soacs>, chunk: Atom) -> (Atom, Atom) {
        let first = builder.mul_i64(chunk, self.per);
        let left = builder.sub_i64(self.width, first);
        let count = builder.binary(BinOp::SMin, PrimType::I64, self.per, left);
        (first, count.into())
    }

    /// The reduction of a chunk's rows, or of those of the previous chunk if `before` is set.
    fn reduction(
        self,
        names: &mut Names<'_>,
        aux: &Aux,
        mut s: Screma,
        chunk: Atom,
        before: bool,
    ) -> Body<Soacs> {
        let mut stms = Vec::new();
        names.build(aux.prov, &mut stms, |b| {
            let extent = if before {
                let one = b.binary(BinOp::SMin, PrimType::I64, chunk, Atom::i64(1));
                let previous = b.sub_i64(chunk, one.into());
                let first = b.mul_i64(previous, self.per);
                (first, b.mul_i64(one.into(), self.per))
            } else {
                self.extent(b, chunk)
            };
            self.rows(b, extent, &mut s);
        });
        let totals = results(names, &s);
        let result = atoms(&totals);
        stms.push(screma(totals, aux, s));
        Body { stms, result }
    }

    /// The scan of a chunk's rows from the result of those before, in arrays for a full chunk.
    fn scan(
        self,
        names: &mut Names<'_>,
        aux: &Aux,
        mut s: Screma,
        chunk: Atom,
        starts: &[Name],
    ) -> Result<(Body<Soacs>, Vec<Type>)> {
        let mut stms = Vec::new();
        let extent = names.build(aux.prov, &mut stms, |b| {
            let extent = self.extent(b, chunk);
            self.rows(b, extent, &mut s);
            let mut starts = starts.iter();
            for operator in &mut s.scan_reduce.scans {
                for (neutral, &array) in operator.neutral.iter_mut().zip(&mut starts) {
                    *neutral = b.index("start", array, &[chunk]).into();
                }
            }
            extent
        });
        s.width = Builder::<Soacs>::dim(self.per);
        let pat = results(names, &s);
        let result = atoms(&pat);
        let ret = pat.iter().map(|param| param.ty.clone()).collect();
        let to = (pat, aux.clone());
        names.build(aux.prov, &mut stms, |b| sequential::screma(b, to, s, Some(extent.1)))?;
        Ok((Body { stms, result }, ret))
    }

    /// Binds the rows of all chunks as one dimension, without the unused part of the last chunk.
    fn concat_chunks(self, ctx: &mut Ctx<'_>, prov: Prov, param: Param<Soacs>, (row, array): (&Type, Name)) {
        let op = ctx.build(prov, |b| {
            let all = b.product(&[self.count, Builder::<Segs>::dim(self.per)]);
            let whole = row.array_of(Builder::<Segs>::dim(all));
            let array = b.let_basic("reshaped", reshape(whole.shape(), array));
            let slice = b.rows_slice(array, Atom::i64(0), Builder::<Segs>::dim(self.width));
            BasicOp::Index { array, slice }
        });
        ctx.bind(param, op, prov);
    }
}

/// A quotient of sizes, rounded up; array sizes are too small for an overflow.
fn quotient(builder: &mut Builder<'_, Segs>, x: Atom, by: Atom) -> Atom {
    let more = builder.sub_i64(by, Atom::i64(1));
    let sum = builder.add_i64(x, more);
    builder.binary(BinOp::SQuot, PrimType::I64, sum, by).into()
}

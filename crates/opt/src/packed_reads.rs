//! Packed reads: elements of an array that are not contiguous, and that a combinator reads many times, are copied next
//! to each other first.
//!
//! ```text
//!                                          let use = 2 m <= n && 1 <= c && ..
//! let ys = map n (i <- iota n) {           let ys = if use then {
//!   let k = i % m                            let packed = if c == 1 then xs[0 : m]
//!   let x = xs[k * c]                =>                   else map m (k <- iota m) { in (xs[k * c]) }
//!   ..                                       in map n (i <- iota n) { let k = i % m; let x = packed[k] .. }
//! }                                        } else map n (i <- iota n) { let k = i % m; let x = xs[k * c] .. }
//! ```
//!
//! Vector lanes gather elements at a stride one by one, whatever its value. A long stride costs a cache line per
//! element, and a power of two puts all these lines into a few sets of a cache: the roots of unity of a Fourier
//! transform are read like this. The index `k` is a remainder, masked, or the counter of a combinator or loop inside
//! of the outer combinator, each below an invariant `m`. The condition also says that all packed elements exist, so
//! that the copy reads nothing outside of `xs`, whatever the combinator reads.
//!
//! Runs after fusion, which would fuse the copy into its readers again. Needs unique names. Guarantees that all
//! values and checks stay.

mod candidates;

use analysis::signatures::Signatures;
use candidates::{Bound, Candidates, Factor, Strided};
use ir::build::Builder;
use ir::remark::RemarkKind;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Function, Stm};
use ir::types::Type;
use ir::walk::{Substitution, VisitMut, refresh_body, sub_bodies_mut, with_stack};
use ir::{Context, Fuel, Name, NameTable, PassError, Prov, Soacs, TypeEnv};
use prim::{BinOp, CmpOp, PrimType, Scalar};
use rustc_hash::FxHashMap;

/// How often each element must be read by lanes, and by a combinator or loop inside, which may be sequential.
const REUSE: i64 = 2;
const REUSE_INSIDE: i64 = 4;

/// Packs reads wherever that may pay.
pub(crate) fn pack(
    mut function: Function<Soacs>,
    _: &Signatures,
    context: &mut Context,
) -> Result<Function<Soacs>, PassError> {
    let candidates = candidates::find(&function);
    if candidates.is_empty() {
        return Ok(function);
    }
    let mut types = TypeEnv::of_function(&function);
    let mut pass = PackedReads {
        candidates,
        names: &mut function.names,
        types: &mut types,
        fuel: &mut context.fuel,
        made: Vec::new(),
    };
    pass.in_body(&mut function.body);
    for prov in pass.made {
        let spans = function.provs.stack(prov);
        context.remark(&function.name.0, spans, RemarkKind::Packed);
    }
    Ok(function)
}

struct PackedReads<'a> {
    candidates: FxHashMap<Name, Candidates>,
    names: &'a mut NameTable,
    types: &'a mut TypeEnv,
    fuel: &'a mut Fuel,
    /// The provenance of packed combinators.
    made: Vec<Prov>,
}

/// A multiple of an index, with the values of its bound and its factor outside of the combinator.
struct Values {
    strided: Strided,
    bound: Atom,
    factor: Atom,
}

impl PackedReads<'_> {
    fn in_body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| {
            let mut out = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                if matches!(stm.exp, Exp::If { .. } | Exp::Loop { .. }) {
                    sub_bodies_mut(&mut stm.exp, |body| self.in_body(body));
                }
                let found = stm.pat.first().and_then(|first| self.candidates.remove(&first.name));
                match (found, &stm.exp) {
                    (Some(found), Exp::Op(Soac::Screma(screma))) if self.fuel.take() => {
                        self.made.push(stm.aux.prov);
                        out.extend(self.packed(&stm, screma, &found));
                    }
                    _ => out.push(stm),
                }
            }
            body.stms = out;
        });
    }

    /// The statements that replace a combinator.
    fn packed(&mut self, stm: &Stm<Soacs>, screma: &Screma, found: &Candidates) -> Vec<Stm<Soacs>> {
        let Some(n) = screma.width.atom() else {
            return vec![stm.clone()];
        };
        let mut b = Builder::new(self.names, self.types);
        b.prov = stm.aux.prov;
        let values = values(&mut b, n, found);
        let condition = condition(&mut b, n, found, &values);
        let then_body = b.body(|b| {
            let packed = copies(b, found, &values);
            let mut inner = stm.clone();
            Replace { found, packed: &packed }.walk_stm(&mut inner);
            results(b, inner)
        });
        let else_body = b.body(|b| results(b, stm.clone()));
        let mut aux = Aux::at(stm.aux.prov);
        aux.certs.clone_from(&stm.aux.certs);
        b.let_with(stm.pat.clone(), aux, Exp::If { cond: condition, then_body, else_body });
        b.take_stms()
    }
}

/// Appends a copy of a statement with fresh names; returns its results.
fn results(b: &mut Builder<'_, Soacs>, stm: Stm<Soacs>) -> Vec<Atom> {
    let result = stm.pat.iter().map(|param| param.name.into()).collect();
    let body = Body { stms: vec![stm], result };
    let copy = refresh_body(&body, b.names, &mut Substitution::default());
    b.extend(copy.stms);
    copy.result
}

/// The values of bounds and factors. Values that the combinator computes are 0 if it has no iteration.
fn values(b: &mut Builder<'_, Soacs>, n: Atom, found: &Candidates) -> Vec<(Name, Values)> {
    let mut indices: Vec<(Name, Strided)> = found.strided.iter().map(|(name, it)| (*name, *it)).collect();
    indices.sort_unstable_by_key(|(name, _)| *name);
    let operands = |(_, strided): &(Name, Strided)| [strided.bound.operand(), strided.factor.operand()];
    let mut operands: Vec<Atom> = indices.iter().flat_map(operands).collect();
    if !found.invariant.is_empty() {
        let some = b.compare(CmpOp::SLt, PrimType::I64, Atom::i64(0), n).into();
        let types = vec![Type::Prim(PrimType::I64); operands.len()];
        let zeros = vec![Atom::i64(0); operands.len()];
        let body = Body { stms: found.invariant.clone(), result: operands };
        let computed = |b: &mut Builder<'_, Soacs>| {
            let copy = refresh_body(&body, b.names, &mut Substitution::default());
            b.extend(copy.stms);
            copy.result
        };
        operands = b.if_("operand", some, types, computed, |_| zeros).into_iter().map(Atom::Var).collect();
    }
    let mut out = Vec::with_capacity(indices.len());
    for ((name, strided), operands) in indices.into_iter().zip(operands.chunks_exact(2)) {
        let bound = match strided.bound {
            Bound::Below(_) | Bound::Counts(_) => operands[0],
            Bound::Masked(_) => b.add_i64(operands[0], Atom::i64(1)),
        };
        let factor = match strided.factor {
            Factor::Times(_) => operands[1],
            Factor::Shifted(_) => b.binary(BinOp::Shl, PrimType::I64, Atom::i64(1), operands[1]).into(),
        };
        out.push((name, Values { strided, bound, factor }));
    }
    out
}

/// The condition under which all packed elements exist and packing pays.
fn condition(b: &mut Builder<'_, Soacs>, n: Atom, found: &Candidates, values: &[(Name, Values)]) -> Atom {
    let mut all: Atom = Atom::Const(Scalar::Bool(true));
    let i64 = PrimType::I64;
    let mut and = |b: &mut Builder<'_, Soacs>, op, x, y| {
        let holds = b.compare(op, i64, x, y).into();
        all = b.binary(BinOp::And, PrimType::Bool, all, holds).into();
    };
    let often = b.binary(BinOp::SDiv, i64, n, Atom::i64(REUSE)).into();
    for (_, Values { strided, bound, factor }) in values {
        and(b, CmpOp::SLe, Atom::i64(2), *bound);
        and(b, CmpOp::SLe, Atom::i64(1), *factor);
        match strided.bound {
            Bound::Counts(_) => and(b, CmpOp::SLe, Atom::i64(REUSE_INSIDE), n),
            Bound::Below(_) | Bound::Masked(_) => and(b, CmpOp::SLe, *bound, often),
        }
    }
    for (array, index) in &found.reads {
        let Some((_, Values { bound, factor, .. })) = values.iter().find(|(name, _)| name == index) else {
            continue;
        };
        let size = b.types.type_of(*array).shape().first().and_then(|dim| dim.atom()).unwrap_or(Atom::i64(0));
        // The last packed element exists: (bound - 1) * factor <= size - 1.
        let (last, steps) = (b.sub_i64(size, Atom::i64(1)), b.sub_i64(*bound, Atom::i64(1)));
        let steps = b.binary(BinOp::SMax, i64, steps, Atom::i64(1)).into();
        let largest = b.binary(BinOp::SQuot, i64, last, steps).into();
        and(b, CmpOp::SLe, *factor, largest);
    }
    all
}

/// Emits the copies of all arrays; returns them, each with the array and the index that it replaces.
fn copies(
    b: &mut Builder<'_, Soacs>,
    found: &Candidates,
    values: &[(Name, Values)],
) -> FxHashMap<(Name, Name), Name> {
    let mut packed = FxHashMap::default();
    for (index, Values { bound, factor, .. }) in values {
        let width = Builder::<Soacs>::dim(*bound);
        let arrays: Vec<Name> =
            found.reads.iter().filter(|(_, of)| of == index).map(|(array, _)| *array).collect();
        let types =
            arrays.iter().filter_map(|array| Some(b.types.type_of(*array).row()?.array_of(width))).collect();
        let is_dense = b.compare(CmpOp::Eq, PrimType::I64, *factor, Atom::i64(1)).into();
        let first_elements = |b: &mut Builder<'_, Soacs>| {
            let part = |array: &Name| {
                let slice = b.rows_slice(*array, Atom::i64(0), width);
                b.let_basic("packed", BasicOp::Index { array: *array, slice }).into()
            };
            arrays.iter().map(part).collect()
        };
        let elements = |b: &mut Builder<'_, Soacs>| {
            let iota = b.iota(width);
            let lambda = b.lambda([("k", Type::Prim(PrimType::I64))], |b, params| {
                let at = b.mul_i64(params[0].into(), *factor);
                arrays.iter().map(|array| b.index("x", *array, &[at]).into()).collect()
            });
            let copies = b.let_op("packed", Soac::Screma(Screma::map(width, vec![iota], lambda)));
            copies.into_iter().map(Atom::Var).collect()
        };
        let copies = b.if_("packed", is_dense, types, first_elements, elements);
        packed.extend(arrays.into_iter().map(|array| (array, *index)).zip(copies));
    }
    packed
}

/// Reads packed arrays instead of the original ones.
struct Replace<'f> {
    found: &'f Candidates,
    packed: &'f FxHashMap<(Name, Name), Name>,
}

impl VisitMut<Soacs> for Replace<'_> {
    fn stm(&mut self, stm: &mut Stm<Soacs>) {
        if let Exp::Basic(BasicOp::Index { array, slice }) = &mut stm.exp
            && let [DimIndex::Fix(Atom::Var(at))] = slice.as_mut_slice()
            && let Some(packed) = self.packed.get(&(*array, *at))
        {
            *array = *packed;
            *at = self.found.strided[at].index;
        }
        with_stack(|| self.walk_stm(stm));
    }
}

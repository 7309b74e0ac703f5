//! Composition of iterations: a loop that updates a whole matrix in each iteration runs several
//! iterations at once, without storing the matrices in between.
//!
//! ```text
//! loop (xss = start) for k < n do          loop (xss = start) for g < n / 2 do
//!   let p = xss[k]                           let p = xss[2g]
//!   map n (i) -> map m (x <- xss[i], ..)     let q = map m (..) -> f 2g xss[2g + 1, ..] p[..]
//!     f k x p[..]                      =>    map n (i) -> map m (x <- xss[i], ..)
//!                                              f (2g + 1) (f 2g x p[..]) q[..]
//!                                          loop (xss = ..) for k < n % 2 do ..
//! ```
//!
//! Such loops wait for memory; afterwards each element is read and written once for several
//! iterations. The body is unrolled. The matrix between two copies of it is the result of one map
//! whose rows are maps ([`normal`]), so its elements can be computed wherever they are read
//! ([`rows`]). The next update may read all of it, once, and is fused; all other reads must be of
//! rows, columns and elements, which are recomputed ([`forward`]). A recomputed element has the same
//! operations, so the pass runs after `fma`.
//!
//! Checks in updates are made before them ([`checks`]), all others stay. Rows and columns are
//! computed before the combinators that read them, perhaps needlessly; their indices are therefore
//! clamped. Small matrices take the loop over the remaining iterations ([`MIN_SIZE`], [`MIN_BYTES`]),
//! so no dimension is empty in the main loop.
//!
//! For CPUs; only loops outside of combinators. Needs: fusion done, no dead code. Guarantees that
//! all values are unchanged. So loops that add and whose elements are products are composed only if
//! `fma-2` does not contract the product of one iteration with the sum of the next.

mod checks;
mod forward;
mod normal;
mod rows;

use crate::iotas::iotas;
use crate::{fuse, simplify};
use analysis::alias::Aliases;
use analysis::signatures::Signatures;
use forward::Forward;
use ir::build::Builder;
use ir::remark::RemarkKind;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, LoopForm, LoopParam, Param, Stm};
use ir::types::Dim;
use ir::walk::{Substitution, refresh_body, sub_bodies, sub_bodies_mut, substitute_body, with_stack};
use ir::{Context, Fuel, Name, NameTable, PassError, Prov, Soacs, TypeEnv};
use normal::MatrixLoop;
use prim::{BinOp, CmpOp, PrimType, Scalar};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The numbers of iterations that are composed, by preference.
const FACTORS: [u32; 2] = [4, 2];
/// The least number of rows and of columns; with fewer, rows and columns cost as much as the matrix.
const MIN_SIZE: i64 = 32;
/// The least size of a matrix with expensive updates in bytes: no gain within the L2 cache (shortest
/// paths between 256 vertices: 0.75 ms instead of 0.57; 360: 2.1 instead of 2.6; one thread).
const MIN_BYTES: i64 = 1 << 19;
/// The largest number of statements of several composed iterations.
const MAX_COMPOSED: usize = 800;

/// Composes iterations of the loops of a function, and simplifies and fuses the results.
pub(crate) fn compose(
    mut function: Function<Soacs>,
    signatures: &Signatures,
    context: &mut Context,
) -> Result<Function<Soacs>, PassError> {
    let options = Arc::clone(&context.options);
    if !options.stack.nests() || !options.fuse || !has_candidate(&function.body) {
        return Ok(function);
    }
    let types = TypeEnv::of_function(&function);
    let mut pass = Composer {
        iotas: iotas(&function),
        aliases: Aliases::of(&function, &types, signatures),
        types,
        signatures,
        contracts: !options.strict_fp,
        names: &mut function.names,
        fuel: &mut context.fuel,
        made: Vec::new(),
    };
    if !pass.body(&mut function.body) {
        return Ok(function);
    }
    for (result, iterations, prov) in pass.made {
        let result = Arc::from(format!("{}_{}", function.names.hint(result), result.index()));
        let spans = function.provs.stack(prov);
        context.remark(&function.name.0, spans, RemarkKind::Composed { result, iterations });
    }
    let function = simplify::simplify(function, signatures, context)?;
    fuse::fuse(function, signatures, context)
}

/// Returns true if a body contains a loop outside of combinators that carries a matrix.
fn has_candidate(body: &Body<Soacs>) -> bool {
    with_stack(|| {
        body.stms.iter().any(|stm| {
            let mut found = matches!(&stm.exp, Exp::Loop { params, form: LoopForm::For { .. }, .. }
                if params.iter().any(|p| p.param.ty.rank() == 2));
            if matches!(stm.exp, Exp::If { .. } | Exp::Loop { .. }) {
                sub_bodies(&stm.exp, |body| found |= has_candidate(body));
            }
            found
        })
    })
}

struct Composer<'a> {
    /// The arrays of the integers from 0.
    iotas: FxHashSet<Name>,
    aliases: Aliases,
    types: TypeEnv,
    signatures: &'a Signatures,
    /// True if products are contracted with sums.
    contracts: bool,
    names: &'a mut NameTable,
    fuel: &'a mut Fuel,
    /// The first results of loops that were composed, with the number of iterations.
    made: Vec<(Name, u32, Prov)>,
}

impl Composer<'_> {
    /// Composes iterations of the loops of a body. Returns true if any were composed.
    fn body(&mut self, body: &mut Body<Soacs>) -> bool {
        with_stack(|| {
            let mut changed = false;
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                let mut inner = false;
                if matches!(stm.exp, Exp::If { .. } | Exp::Loop { .. }) {
                    sub_bodies_mut(&mut stm.exp, |body| inner |= self.body(body));
                }
                // Names of a loop that was changed have unknown aliases.
                let composed = if inner { None } else { self.composed(&stm) };
                changed |= inner || composed.is_some();
                match composed {
                    Some(made) => stms.extend(made),
                    None => stms.push(stm),
                }
            }
            body.stms = stms;
            changed
        })
    }

    /// Returns the statements that replace a loop.
    fn composed(&mut self, stm: &Stm<Soacs>) -> Option<Vec<Stm<Soacs>>> {
        if self.fuel.is_exhausted() {
            return None;
        }
        let whole = self.matrix_loop(stm)?;
        let trips = whole.bound.constant().and_then(Scalar::as_i64).unwrap_or(i64::MAX);
        let mut factors = FACTORS.into_iter().filter(|factor| i64::from(*factor) <= trips);
        let (factor, body, group, params) = factors.find_map(|factor| self.composed_body(&whole, factor))?;
        if !self.fuel.take() {
            return None;
        }
        let mut b = Builder::new(self.names, &mut self.types);
        b.prov = stm.aux.prov;
        let int = |x| Atom::Const(Scalar::int(whole.ty, x));
        let mut large = Atom::Const(Scalar::Bool(true));
        for ty in &whole.types {
            let mut least: Vec<(Atom, i64)> = Vec::new();
            least.extend(ty.shape().iter().filter_map(|dim| Some((dim.atom()?, MIN_SIZE))));
            if let (true, Some(elem)) = (whole.is_compute_bound, ty.elem()) {
                let bytes = i64::try_from(elem.size()).unwrap_or(1);
                least.push((b.product(ty.shape()), MIN_BYTES / bytes));
            }
            for (size, least) in least {
                let enough = b.compare(CmpOp::SLe, PrimType::I64, Atom::i64(least), size).into();
                large = b.binary(BinOp::And, PrimType::Bool, large, enough).into();
            }
        }
        let trips = b.binary(BinOp::SMax, whole.ty, whole.bound, int(0)).into();
        let groups = b.binary(BinOp::SQuot, whole.ty, trips, int(factor.into())).into();
        let groups: Atom = b.select(whole.ty, large, groups, int(0)).into();
        let done = b.binary(BinOp::Mul, whole.ty, groups, int(factor.into())).into();
        let left = b.binary(BinOp::Sub, whole.ty, trips, done).into();
        let mut out = b.take_stms();
        let pat: Vec<Param<Soacs>> = stm.pat.iter().map(|param| self.fresh(param)).collect();
        let between: Vec<Atom> = pat.iter().map(|param| param.name.into()).collect();
        let form = LoopForm::For { var: group, ty: whole.ty, bound: groups };
        out.push(Stm { pat, aux: stm.aux.clone(), exp: Exp::Loop { params, form, body } });
        let remark = stm.pat.first().map(|param| (param.name, factor, stm.aux.prov));
        self.made.extend(remark);
        out.push(self.remaining(stm, &whole, [done, left], &between));
        Some(out)
    }

    /// Builds the loop over the iterations that are left.
    fn remaining(
        &mut self,
        stm: &Stm<Soacs>,
        whole: &MatrixLoop,
        [done, left]: [Atom; 2],
        values: &[Atom],
    ) -> Stm<Soacs> {
        let mut stm = stm.clone();
        if let Exp::Loop { params, form, body } = &mut stm.exp {
            for (param, value) in params.iter_mut().zip(values) {
                param.init = *value;
            }
            let counter = self.names.fresh_like(whole.var);
            *form = LoopForm::For { var: counter, ty: whole.ty, bound: left };
            let mut b = Builder::new(self.names, &mut self.types);
            b.prov = stm.aux.prov;
            let iteration = b.binary(BinOp::Add, whole.ty, done, counter.into());
            let mut stms = b.take_stms();
            substitute_body(body, &Substitution::from_iter([(whole.var, iteration.into())]));
            stms.append(&mut body.stms);
            body.stms = stms;
        }
        stm
    }

    /// Builds the body of the loop over groups of iterations. Also returns the number of iterations,
    /// the loop's counter and its parameters.
    fn composed_body(
        &mut self,
        whole: &MatrixLoop,
        factor: u32,
    ) -> Option<(u32, Body<Soacs>, Name, Vec<LoopParam<Soacs>>)> {
        let group = self.names.fresh("group");
        let params: Vec<LoopParam<Soacs>> = (whole.params.iter())
            .map(|param| LoopParam { param: self.fresh(&param.param), ..param.clone() })
            .collect();
        let mut values: Vec<Atom> = params.iter().map(|param| param.param.name.into()).collect();
        let mut forward = Forward::new(self);
        for k in 0..factor {
            let iteration = forward.iteration(group, whole, factor, k);
            let mut map = Substitution::from_iter([(whole.var, iteration)]);
            map.extend(whole.params.iter().map(|param| param.param.name).zip(values.iter().copied()));
            let copy = refresh_body(&whole.body, forward.composer.names, &mut map);
            forward.composer.types.add_body(&copy);
            let updated = |at: &usize| Some((copy.result[*at].var()?, values[*at].var()?));
            let updates: Option<Vec<(Name, Name)>> = whole.matrices.iter().map(updated).collect();
            let updates = updates?;
            for stm in copy.stms {
                let result = stm.pat.first().map(|param| param.name);
                let update = updates.iter().find(|(to, _)| Some(*to) == result);
                forward.statement(stm, update.map(|(_, from)| *from))?;
            }
            values = copy.result;
            let results: Vec<Name> = updates.into_iter().map(|(to, _)| to).collect();
            forward.next_iteration(&results)?;
            if !forward.is_at_most(MAX_COMPOSED) {
                return None;
            }
        }
        let body = Body { stms: forward.out, result: values };
        Some((factor, body, group, params))
    }

    fn fresh(&mut self, param: &Param<Soacs>) -> Param<Soacs> {
        let name = self.names.fresh_like(param.name);
        self.types.set(name, param.ty.clone());
        Param { name, ..param.clone() }
    }
}

/// The slice of a row of a matrix with this number of columns.
fn row_slice(row: Atom, columns: Dim) -> Vec<ir::syntax::DimIndex> {
    use ir::syntax::DimIndex;
    let all = DimIndex::Slice { start: Atom::i64(0), count: columns, stride: Atom::i64(1) };
    vec![DimIndex::Fix(row), all]
}

fn basic(param: Param<Soacs>, aux: Aux, op: BasicOp) -> Stm<Soacs> {
    Stm { pat: vec![param], aux, exp: Exp::Basic(op) }
}

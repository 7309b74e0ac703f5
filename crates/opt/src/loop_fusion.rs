//! Sequential loop fusion: two consecutive loops become one if the second reads, in iteration `i`,
//! the element that the first wrote in iteration `i`.
//!
//! ```text
//! let (ys, _) =                                    let (ys, _, r) =
//!   loop (*out = scratch, acc = 0) for i < n do      loop (*out = scratch, acc = 0, sum = 0)
//!     let y = f(acc, xs[i])                            for i < n do
//!     let out' = out with [i] = y                        let y = f(acc, xs[i])
//!     in (out', y)                           =>          let out' = out with [i] = y
//! let r =                                                let s = add sum y
//!   loop (sum = 0) for k < n do                          in (out', y, s)
//!     let s = add sum ys[k]
//!     in (s)
//! ```
//!
//! A scan whose results are reduced becomes two loops when it runs sequentially. Combinators cannot
//! be fused that way, as a scan's results exist only after the whole scan. The simplifier then
//! finds an array that is never read, and removes it with its memory.
//!
//! The second loop carries only scalars, does little work and cannot fail, so no failure moves
//! forward. The first loop carries a scalar too: a loop with independent iterations is
//! vectorised instead. Needs nothing. Guarantees that all values are unchanged.

use crate::simplify::add_certs;
use crate::sink::is_arithmetic;
use analysis::signatures::Signatures;
use analysis::{cost, thresholds, uses};
use ir::attrs::Attrs;
use ir::prov::ProvTable;
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Function, LoopForm, LoopParam, Stm};
use ir::types::Type;
use ir::walk::{Substitution, VisitMut, substitute_body, used_names, with_stack};
use ir::{Context, Fuel, Name, PassError, Segs};
use rustc_hash::FxHashMap;

/// A loop with more parameters absorbs no further loop, which bounds the time spent on it.
const MAX_PARAMS: usize = 32;

/// Fuses consecutive sequential loops.
pub(crate) fn fuse_loops(
    mut function: Function<Segs>,
    _: &Signatures,
    context: &mut Context,
) -> Result<Function<Segs>, PassError> {
    let mut pass = LoopFusion { provs: &mut function.provs, fuel: &mut context.fuel };
    VisitMut::<Segs>::body(&mut pass, &mut function.body);
    Ok(function)
}

struct LoopFusion<'a> {
    provs: &'a mut ProvTable,
    fuel: &'a mut Fuel,
}

impl VisitMut<Segs> for LoopFusion<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            self.walk_body(body);
            let mut stms: Vec<Stm<Segs>> = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                if let Some((at, made)) = fusable_loop(&stms, &stm)
                    && self.fuel.take()
                    && fuse_into(&mut stms[at], &mut stm, &made, self.provs)
                {
                    stm = stms.remove(at);
                }
                stms.push(stm);
            }
            body.stms = stms;
        });
    }
}

/// Finds the loop that a statement can be fused with: only views and arithmetic that use none of
/// its results may be in between. Also returns the value that this loop writes in each
/// iteration, by array.
fn fusable_loop(before: &[Stm<Segs>], stm: &Stm<Segs>) -> Option<(usize, Substitution)> {
    let second = as_for_loop(stm)?;
    if !may_follow(&second) {
        return None;
    }
    let at = before.iter().rposition(|stm| !can_move_before(stm))?;
    let first = as_for_loop(&before[at])?;
    let results: FxHashMap<Name, usize> =
        (before[at].pat.iter().enumerate()).map(|(i, param)| (param.name, i)).collect();
    let uses = |stm: &Stm<Segs>| {
        let mut count = 0;
        used_names(&stm.exp, |name| {
            count += usize::from(results.contains_key(&name));
        });
        count
    };
    let can_fuse = first.range == second.range
        && first.params.len() <= MAX_PARAMS
        && first.params.iter().any(|p| p.param.ty.is_prim())
        && before[at + 1..].iter().all(|stm| uses(stm) == 0);
    if !can_fuse {
        return None;
    }
    let mut made = Substitution::default();
    let mut reads = 0;
    let stms = second.body.stms.iter();
    for array in stms.filter_map(|stm| reads_at_counter(stm, second.counter)) {
        let Some(result) = results.get(&array) else {
            continue;
        };
        reads += 1;
        made.insert(array, first.written_value(*result)?);
    }
    (reads > 0 && uses(stm) == reads).then_some((at, made))
}

/// Returns true if a statement that does not use a loop's results may move before the loop: it
/// computes a scalar or a view and has no certificates.
fn can_move_before(stm: &Stm<Segs>) -> bool {
    let views = |op: &BasicOp| matches!(op, BasicOp::Index { .. } | BasicOp::Rearrange { .. });
    let plain = matches!(&stm.exp, Exp::Basic(op) if is_arithmetic(op) || views(op));
    plain && stm.aux.certs.is_empty()
}

/// A `for` loop.
struct ForLoop<'a> {
    counter: Name,
    /// The counter's type and bound.
    range: (prim::PrimType, Atom),
    params: &'a [LoopParam<Segs>],
    body: &'a Body<Segs>,
}

fn as_for_loop(stm: &Stm<Segs>) -> Option<ForLoop<'_>> {
    match &stm.exp {
        Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body } => {
            Some(ForLoop { counter: *var, range: (*ty, *bound), params, body })
        }
        Exp::Loop { .. } | Exp::Basic(_) | Exp::If { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    }
}

/// Returns true if a loop carries only scalars, does little work per iteration and cannot fail.
fn may_follow(second: &ForLoop<'_>) -> bool {
    let is_scalar =
        |stm: &Stm<Segs>| stm.pat.iter().all(|param| param.ty.is_prim()) && matches!(stm.exp, Exp::Basic(_));
    second.params.iter().all(|p| p.param.ty.is_prim())
        && second.body.stms.iter().all(is_scalar)
        && cost::body(second.body).total() <= thresholds::SECOND_LOOP
}

impl ForLoop<'_> {
    /// Returns the value that each iteration writes at its own index of an array, if the loop uses
    /// the array in no other way.
    fn written_value(&self, result: usize) -> Option<Atom> {
        let (array, next) = (&self.params[result].param, self.body.result[result]);
        let scalars = matches!(&array.ty, Type::Array { .. }) && array.ty.rank() == 1;
        if !scalars {
            return None;
        }
        let own = [DimIndex::Fix(self.counter.into())];
        let write = self.body.stms.iter().find_map(|stm| match &stm.exp {
            Exp::Basic(BasicOp::Update { array: to, slice, value })
                if *to == array.name && slice[..] == own =>
            {
                Some((stm.pat[0].name, *value))
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
        });
        let (written, value) = write.filter(|(written, _)| next == Atom::Var(*written))?;
        let uses = uses::in_body(self.body);
        [array.name, written].iter().all(|name| uses.get(name) == Some(&1)).then_some(value)
    }
}

/// Returns the array whose element at the counter's index the statement reads.
fn reads_at_counter(stm: &Stm<Segs>, counter: Name) -> Option<Name> {
    match &stm.exp {
        Exp::Basic(BasicOp::Index { array, slice }) if slice[..] == [DimIndex::Fix(counter.into())] => {
            Some(*array)
        }
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    }
}

/// Moves the second loop into the first. Returns false if one of them is no `for` loop.
fn fuse_into(
    first: &mut Stm<Segs>,
    second: &mut Stm<Segs>,
    made: &Substitution,
    provs: &mut ProvTable,
) -> bool {
    let (
        Exp::Loop { params, form: LoopForm::For { var, .. }, body },
        Exp::Loop { params: more, form: LoopForm::For { var: counter, .. }, body: then },
    ) = (&mut first.exp, &mut second.exp)
    else {
        return false;
    };
    for stm in &mut then.stms {
        if let Some(value) = reads_at_counter(stm, *counter).and_then(|array| made.get(&array)) {
            stm.exp = Exp::Basic(BasicOp::Atom(*value));
        }
    }
    substitute_body(then, &Substitution::from_iter([(*counter, (*var).into())]));
    params.append(more);
    body.stms.append(&mut then.stms);
    body.result.append(&mut then.result);
    first.pat.append(&mut second.pat);
    first.aux.prov = provs.merge(first.aux.prov, second.aux.prov);
    first.aux.attrs = Attrs::fused(&first.aux.attrs, &second.aux.attrs);
    add_certs(&mut first.aux.certs, &second.aux.certs);
    true
}

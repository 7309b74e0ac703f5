//! Sinking: values used by one branch arm alone are computed in that arm, for machines whose
//! threads wait longer for memory than for branches.
//!
//! ```text
//! let x = xs[i]                          let r = if c then { in (0) } else {
//! let y = fadd x 1                  =>     let x = xs[i]
//! let r = select c 0 y                     let y = fadd x 1  in (y) }
//! ```
//!
//! Reads of elements sink, with the arithmetic on them that has no other use, into arms of
//! branches and into selections, which become branches where an arm receives a read. Checks stay in
//! place, as do reads of arrays that may be consumed in between. Needs nothing. Guarantees that
//! nothing is computed twice.

use analysis::signatures::Signatures;
use analysis::uses::{self, Uses};
use ir::seg::SegOp;
use ir::syntax::{BasicOp, Body, DimIndex, Exp, Function, Stm};
use ir::types::Type;
use ir::walk::{VisitMut, binders, used_names, with_stack};
use ir::{Context, Fuel, Name, PassError, Segs};
use prim::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// Sinks reads into branch arms, on machines whose stack of levels does not nest.
pub(crate) fn sink(
    mut function: Function<Segs>,
    _: &Signatures,
    context: &mut Context,
) -> Result<Function<Segs>, PassError> {
    if context.options.stack.nests() {
        return Ok(function);
    }
    let mut pass = Sink { uses: Uses::of(&function), bound_in_segop: None, fuel: &mut context.fuel };
    VisitMut::<Segs>::body(&mut pass, &mut function.body);
    Ok(function)
}

struct Sink<'a> {
    /// The number of uses of each name in the function.
    uses: Uses,
    /// The names bound in the enclosing segop, if there is one. A segop consumes no other names.
    bound_in_segop: Option<FxHashSet<Name>>,
    fuel: &'a mut Fuel,
}

impl VisitMut<Segs> for Sink<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            self.in_body(body);
            self.walk_body(body);
        });
    }

    fn exp(&mut self, exp: &mut Exp<Segs>) {
        let before = self.bound_in_segop.clone();
        if let Exp::Op(SegOp::Seg(seg)) = exp {
            self.bound_in_segop = Some(binders(&seg.body).into_iter().collect());
        }
        self.walk_exp(exp);
        self.bound_in_segop = before;
    }
}

/// Returns true if the statement may consume an array.
fn may_consume(stm: &Stm<Segs>) -> bool {
    match &stm.exp {
        Exp::Basic(op) => {
            matches!(op, ir::update_op!())
        }
        Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => true,
    }
}

fn is_read(stm: &Stm<Segs>) -> bool {
    matches!(&stm.exp, Exp::Basic(BasicOp::Index { slice, .. })
        if slice.iter().all(|at| matches!(at, DimIndex::Fix(_))))
}

/// Returns true if an operation is arithmetic on scalars, which cannot fail.
pub(crate) fn is_arithmetic(op: &BasicOp) -> bool {
    matches!(op, BasicOp::Scalar(_) | BasicOp::Atom(_))
}

/// Returns true if a statement can sink: a read of an element, or arithmetic.
fn sinks(stm: &Stm<Segs>) -> bool {
    let arithmetic = matches!(&stm.exp, Exp::Basic(op) if is_arithmetic(op));
    let scalar = matches!(stm.pat.as_slice(), [param] if param.ty.is_prim());
    scalar && (is_read(stm) || arithmetic)
}

impl Sink<'_> {
    fn in_body(&mut self, body: &mut Body<Segs>) {
        let mut stms: Vec<Option<Stm<Segs>>> = std::mem::take(&mut body.stms).into_iter().map(Some).collect();
        for at in (0..stms.len()).rev() {
            let Some(mut stm) = stms[at].take() else {
                continue;
            };
            self.sink_into_arms(&mut stm, &mut stms, at);
            stms[at] = Some(stm);
        }
        body.stms = stms.into_iter().flatten().collect();
    }

    /// Moves values that one arm of the statement alone uses into that arm.
    fn sink_into_arms(&mut self, stm: &mut Stm<Segs>, stms: &mut [Option<Stm<Segs>>], at: usize) {
        match &mut stm.exp {
            Exp::If { then_body, else_body, .. } => {
                for arm in [then_body, else_body] {
                    let taken = self.take_sinkable(uses::in_body(arm), stms, at);
                    arm.stms.splice(0..0, taken);
                }
            }
            Exp::Basic(BasicOp::Scalar(ScalarOp::Select { cond, if_true, if_false, .. })) => {
                let (cond, values) = (*cond, [*if_true, *if_false]);
                if values[0] == values[1] || values.contains(&cond) {
                    return;
                }
                let mut arms = Vec::with_capacity(2);
                for value in values {
                    let count = value.var().map(|name| (name, 1)).into_iter().collect();
                    arms.push(Body { stms: self.take_sinkable(count, stms, at), result: vec![value] });
                }
                let Ok([then_body, else_body]) = <[Body<Segs>; 2]>::try_from(arms) else {
                    return;
                };
                if then_body.stms.is_empty() && else_body.stms.is_empty() {
                    return;
                }
                stm.exp = Exp::If { cond, then_body, else_body };
            }
            Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {}
        }
    }

    /// Returns true if the statement reads no array that the enclosing segop may consume.
    fn is_unconsumed(&self, stm: &Stm<Segs>) -> bool {
        let Exp::Basic(BasicOp::Index { array, .. }) = &stm.exp else {
            return true;
        };
        (self.bound_in_segop.as_ref()).is_some_and(|own| !own.contains(array))
    }

    /// Removes and returns the statements before `at` that only the arm uses, in execution order,
    /// if one of them is a read. `count` holds the arm's number of uses of each name.
    fn take_sinkable(
        &mut self,
        mut count: FxHashMap<Name, u32>,
        stms: &mut [Option<Stm<Segs>>],
        at: usize,
    ) -> Vec<Stm<Segs>> {
        let mut found = Vec::new();
        let (mut reads, mut consumed) = (false, false);
        for i in (0..at).rev() {
            let Some(stm) = &stms[i] else {
                continue;
            };
            consumed |= may_consume(stm);
            if consumed && !self.is_unconsumed(stm) {
                continue;
            }
            let [param] = stm.pat.as_slice() else {
                continue;
            };
            let own = count.get(&param.name).copied();
            if own.is_none()
                || own != self.uses.get(param.name)
                || !sinks(stm)
                || !matches!(param.ty, Type::Prim(_))
            {
                continue;
            }
            reads |= is_read(stm);
            let mut used = |name| *count.entry(name).or_default() += 1;
            used_names(&stm.exp, &mut used);
            stm.aux.certs.iter().copied().for_each(used);
            found.push(i);
        }
        if !reads || !self.fuel.take() {
            return Vec::new();
        }
        found.reverse();
        found.into_iter().filter_map(|i| stms[i].take()).collect()
    }
}

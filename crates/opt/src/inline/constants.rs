//! Hoists calls of constants that are not inlined out of loops and lambdas, and merges equal calls.
//!
//! A call hides its result from simplification, and a loop with calls in it cannot be vectorised. A
//! constant that is small, terminates and cannot fail may be computed speculatively. Its call is
//! therefore moved before the outermost loop or combinator around it, within the nearest arm of a
//! conditional, and replaces the other calls below.
//!
//! Needs the bodies of the called functions first, callees before callers. Guarantees the same
//! values.

use super::Function;
use analysis::total::is_total;
use ir::syntax::{Atom, BasicOp, Body, Exp, FunKind, Level, LoopForm, Stm};
use ir::types::Dim;
use ir::walk::{Substitution, Visit, VisitMut, substitute_body};
use ir::{Fuel, FunId, Name};
use prim::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest number of elements of an array in such a constant.
const ELEMENTS: u64 = 1 << 16;

/// The constants that may be computed speculatively. Functions are added callees first.
#[derive(Default)]
pub(super) struct Speculable(FxHashSet<FunId>);

impl Speculable {
    /// Adds the function if it is such a constant.
    pub(super) fn learn<L: Level>(&mut self, fun: FunId, function: &Function<L>) {
        let mut quiet = IsSpeculable { sure: self, result: function.kind == FunKind::Constant };
        Visit::<L>::body(&mut quiet, &function.body);
        if quiet.result {
            self.0.insert(fun);
        }
    }

    /// Hoists and merges the calls of these constants in a function.
    pub(super) fn hoist<L: Level>(&self, function: &mut Function<L>, fuel: &mut Fuel) {
        if self.0.is_empty() {
            return;
        }
        let mut hoist = Hoist {
            sure: self,
            fuel,
            accepts_calls: true,
            called: FxHashMap::default(),
            order: Vec::new(),
            hoisted: Vec::new(),
            replacements: Substitution::default(),
        };
        VisitMut::<L>::body(&mut hoist, &mut function.body);
        substitute_body(&mut function.body, &hoist.replacements);
    }
}

/// Checks that a body cannot fail, accesses no array out of bounds, terminates and computes no
/// large array.
struct IsSpeculable<'a> {
    sure: &'a Speculable,
    result: bool,
}

impl<L: Level> Visit<L> for IsSpeculable<'_> {
    fn stm(&mut self, stm: &Stm<L>) {
        self.result &= stm.pat.iter().all(|param| {
            let sizes = param.ty.shape().iter().map(|dim| match dim {
                Dim::Const(n) => u64::try_from(*n).ok(),
                Dim::Var(_) | Dim::Ext(_) => None,
            });
            let elements = sizes.into_iter().try_fold(1u64, |all, n| all.checked_mul(n?));
            elements.is_some_and(|elements| elements <= ELEMENTS)
        });
        self.result &= match &stm.exp {
            Exp::Basic(op @ BasicOp::Scalar(ScalarOp::Binary(..))) => is_total(op),
            Exp::Basic(
                BasicOp::Assert { .. }
                | BasicOp::Index { .. }
                | BasicOp::FlatIndex { .. }
                | BasicOp::Update { .. }
                | BasicOp::FlatUpdate { .. },
            )
            | Exp::Loop { form: LoopForm::While { .. }, .. } => false,
            Exp::Apply { fun, .. } => self.sure.0.contains(fun),
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Op(_) => true,
        };
        if self.result {
            self.walk_stm(stm);
        }
    }
}

struct Hoist<'a, L: Level> {
    sure: &'a Speculable,
    fuel: &'a mut Fuel,
    /// True if calls may be placed in the next body.
    accepts_calls: bool,
    /// The results of the calls in scope, by function.
    called: FxHashMap<FunId, Vec<Name>>,
    /// The functions in `called`, in the order of the calls.
    order: Vec<FunId>,
    /// Calls to place before the current statement of the nearest body that accepts them.
    hoisted: Vec<Stm<L>>,
    /// Replacements for the results of removed calls.
    replacements: Substitution,
}

impl<L: Level> Hoist<'_, L> {
    /// Returns true if a statement calls a constant that may be computed speculatively.
    fn is_speculable(&self, stm: &Stm<L>) -> bool {
        let certain = stm.aux.certs.is_empty();
        matches!(&stm.exp, Exp::Apply { fun, .. } if certain && self.sure.0.contains(fun))
    }

    /// Processes a call of a constant: replaced by a call in scope, hoisted, or kept (returned).
    fn call(&mut self, stm: Stm<L>, lands: bool) -> Option<Stm<L>> {
        let Exp::Apply { fun, .. } = stm.exp else {
            return Some(stm);
        };
        let own = stm.pat.iter().map(|param| param.name);
        if let Some(known) = self.called.get(&fun)
            && self.fuel.take()
        {
            self.replacements.extend(own.zip(known.iter().copied().map(Atom::Var)));
            return None;
        }
        let leaves = !lands && self.fuel.take();
        if lands || leaves {
            self.called.insert(fun, own.collect());
            self.order.push(fun);
        }
        if leaves {
            self.hoisted.push(stm);
            return None;
        }
        Some(stm)
    }

    /// Processes an arm of a conditional, which accepts hoisted calls.
    fn arm(&mut self, arm: &mut Body<L>) {
        let leaving = std::mem::take(&mut self.hoisted);
        let around = self.order.len();
        self.accepts_calls = true;
        self.body(arm);
        for fun in self.order.drain(around..) {
            self.called.remove(&fun);
        }
        self.hoisted = leaving;
    }
}

impl<L: Level> VisitMut<L> for Hoist<'_, L> {
    fn exp(&mut self, exp: &mut Exp<L>) {
        if let Exp::If { cond: _, then_body, else_body } = exp {
            self.arm(then_body);
            self.arm(else_body);
        } else {
            self.walk_exp(exp);
        }
    }

    fn body(&mut self, body: &mut Body<L>) {
        ir::walk::with_stack(|| {
            let lands = std::mem::replace(&mut self.accepts_calls, false);
            let stms = std::mem::take(&mut body.stms);
            let mut out = Vec::with_capacity(stms.len());
            for mut stm in stms {
                if self.is_speculable(&stm) {
                    out.extend(self.call(stm, lands));
                    continue;
                }
                self.exp(&mut stm.exp);
                if lands {
                    out.append(&mut self.hoisted);
                }
                out.push(stm);
            }
            body.stms = out;
        });
    }
}

//! Loop-invariant code motion: of basic operations, of divisions by values known to be positive, and
//! of loop-invariant combinators.
//!
//! A combinator is hoisted out of bodies that certainly run; out of other bodies only if it cannot
//! fail and reads an array that exists in any case. A map that is as cheap to compute as to read
//! stays, where it may fuse. Arrays that are consumed or are results stay as well: each iteration
//! needs a new one.

use crate::level::OptLevel;
use crate::simplify::Simplifier;
use crate::simplify::knowledge::ScopeKind;
use crate::simplify::sharing::cse;
use analysis::{cost, thresholds, total};
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Exp, Param, Stm};
use ir::types::Type;
use ir::walk::Visit;
use ir::{Name, Prov, Soacs};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarOp};

/// No combinator is hoisted out of a body at a greater depth.
pub(crate) const MAX_DEPTH: usize = 32;
/// The largest number of views through which an array's definition is traced.
const VIEWS: usize = 4;

impl<L: OptLevel> Simplifier<'_, L> {
    /// The scope that an operation can be hoisted to: outwards through loops and lambdas as long as
    /// its operands are in scope and it may run there.
    pub(crate) fn hoist_depth(&self, param: &Param<L>, aux: &Aux, op: &BasicOp) -> usize {
        let current = self.known.current();
        if current == 0 {
            return current;
        }
        let mut mobility = cse::mobility(op);
        if let BasicOp::Scalar(ScalarOp::Binary(op, _, _, y)) = op
            && mobility == cse::Mobility::Pinned
            && self.known.never_fails(*op, *y)
        {
            mobility = cse::Mobility::Free;
        }
        if mobility == cse::Mobility::Pinned
            || (cse::makes_array(op) && self.known.aliases.consumed(param.name))
        {
            return current;
        }
        let mut least = 0;
        cse::each_name::<L>(param, op, |name| least = least.max(self.known.depth_of(name)));
        for cert in &aux.certs {
            least = least.max(self.known.depth_of(*cert));
        }
        let mut depth = current;
        while depth > least {
            let ScopeKind::Inner { runs } = self.known.kinds[depth] else {
                break;
            };
            let may = match mobility {
                cse::Mobility::Free => true,
                cse::Mobility::Array => {
                    param.ty.shape().iter().all(|dim| self.known.size_known(*dim, depth - 1))
                }
                cse::Mobility::Check => runs,
                cse::Mobility::Pinned => false,
            };
            if !may {
                break;
            }
            depth -= 1;
        }
        depth
    }

    /// `x / y` with operands bound further out, where `y` is known to be positive: `x / max(y, 1)`
    /// can be computed where that is not known.
    pub(crate) fn hoistable_division(&mut self, aux: &Aux, op: &mut BasicOp) {
        let BasicOp::Scalar(ScalarOp::Binary(divide, ty, x, Atom::Var(y))) = *op else {
            return;
        };
        let here = self.known.current();
        let certs = aux.certs.iter().map(|cert| self.known.depth_of(*cert));
        let least = certs.max().unwrap_or(0).max(self.known.depth_of_atom(x)).max(self.known.depth_of(y));
        let leaves = |kind: &ScopeKind| matches!(kind, ScopeKind::Inner { .. });
        if least == here
            || !ty.is_int()
            || self.known.never_fails(divide, Atom::Var(y))
            || !self.known.kinds[least + 1..].iter().all(leaves)
        {
            return;
        }
        if !self.known.at_least(ty, Atom::Var(y), 1) || !self.rewrite() {
            return;
        }
        // Emitted where the divisor is bound, as simplification in the current scope would remove
        // it.
        let y_or_one = self.divisor(ty, Atom::Var(y), aux.prov, least);
        *op = BasicOp::binary(divide, ty, x, y_or_one);
    }

    /// Emits, in an outer scope, a substitute for a divisor that is known to be non-zero here but
    /// may be 0 there.
    pub(crate) fn divisor(&mut self, ty: PrimType, y: Atom, prov: Prov, depth: usize) -> Atom {
        let number = |value| Atom::Const(Scalar::int(ty, value));
        if self.known.at_least(ty, y, 1) {
            let most = BasicOp::binary(BinOp::SMax, ty, y, number(1));
            return self.emit_in_outer("positive", prov, most, depth);
        }
        let none = BasicOp::compare(CmpOp::Eq, ty, y, number(0));
        let choice = BasicOp::select(ty, self.emit_in_outer("none", prov, none, depth), number(1), y);
        self.emit_in_outer("divisor", prov, choice, depth)
    }
}

impl Simplifier<'_, Soacs> {
    /// Emits a combinator, outside of the bodies in which it is invariant.
    pub(crate) fn push_hoisted(&mut self, pat: Vec<Param<Soacs>>, aux: Aux, screma: Screma) {
        let inputs = screma.inputs.clone();
        let exp = Exp::Op(Soac::Screma(screma));
        let depth = self.target_depth(&pat, &aux, &inputs, &exp);
        if depth < self.known.current() && !is_recomputed(&exp) && self.rewrite() {
            self.push_at(depth, pat, aux, exp);
        } else {
            self.push(pat, aux, exp);
        }
    }

    /// The scope that a combinator can be hoisted to.
    fn target_depth(&self, pat: &[Param<Soacs>], aux: &Aux, inputs: &[Name], exp: &Exp<Soacs>) -> usize {
        let current = self.known.current();
        if current == 0 || current > MAX_DEPTH {
            return current;
        }
        let mut least = 0;
        for name in inputs.iter().chain(&aux.certs) {
            least = least.max(self.known.depth_of(*name));
        }
        let shared = |param: &Param<Soacs>| {
            let aliases = &self.known.aliases;
            !param.ty.is_array() || !(aliases.consumed(param.name) || aliases.is_result(param.name))
        };
        if least == current
            || !matches!(self.known.kinds[current], ScopeKind::Inner { .. })
            || !pat.iter().all(shared)
        {
            return current;
        }
        let mut mentions = Mentions { s: self, least, total: aux.certs.is_empty() && self.in_memory(inputs) };
        for param in pat {
            Visit::<Soacs>::ty(&mut mentions, &param.ty);
        }
        mentions.exp(exp);
        let (least, total) = (mentions.least, mentions.total);
        let (mut depth, mut best) = (current, current);
        while depth > least {
            match self.known.kinds[depth] {
                ScopeKind::Inner { runs } if runs || total => {}
                ScopeKind::Inner { .. } | ScopeKind::Branch | ScopeKind::Root => break,
            }
            depth -= 1;
            if !self.scopes[depth + 1].runs_exactly_as_outer {
                best = depth;
            }
        }
        best
    }

    /// Returns true if one of the arrays is in memory, so that traversing it costs no more than
    /// creating it did, even if the body never runs. An iota may have any size.
    fn in_memory(&self, inputs: &[Name]) -> bool {
        let made = |input: &Name| {
            let mut array = *input;
            for _ in 0..VIEWS {
                match self.known.def(array).map(|def| &def.op) {
                    None => return true,
                    Some(
                        BasicOp::Reshape { array: viewed, .. }
                        | BasicOp::Rearrange { array: viewed, .. }
                        | BasicOp::Index { array: viewed, .. },
                    ) => array = *viewed,
                    Some(_) => return false,
                }
            }
            false
        };
        inputs.iter().any(made)
    }
}

/// Returns true if the combinator is a map that is computed where its result is read.
fn is_recomputed(exp: &Exp<Soacs>) -> bool {
    let Exp::Op(Soac::Screma(Screma { map, scan_reduce, .. })) = exp else {
        return false;
    };
    let is_checked = |stm: &Stm<Soacs>| matches!(&stm.exp, Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, ..))) if op.is_checked());
    let cost = cost::body(&map.body);
    scan_reduce.is_map()
        && cost.is_bounded()
        && cost.total() <= thresholds::RECOMPUTED
        && !map.body.stms.iter().any(is_checked)
}

/// The dependencies of a combinator; true if it may run speculatively.
struct Mentions<'a, 'b> {
    s: &'a Simplifier<'b, Soacs>,
    /// The innermost scope that binds one of its operands.
    least: usize,
    total: bool,
}

impl Visit<Soacs> for Mentions<'_, '_> {
    fn name(&mut self, name: &Name) {
        let depth = self.s.known.depth_of(*name);
        let current = self.s.known.current();
        let acc = matches!(self.s.known.types.get(*name), Some(Type::Acc { .. }));
        if depth <= current {
            self.least = self.least.max(if acc { current } else { depth });
        }
    }

    fn stm(&mut self, stm: &Stm<Soacs>) {
        self.total &= match &stm.exp {
            Exp::Basic(op) => cannot_fail(self.s, op),
            Exp::Op(Soac::Screma(screma)) => stm.aux.certs.is_empty() && self.s.in_memory(&screma.inputs),
            Exp::If { .. } => true,
            Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
        };
        self.walk_stm(stm);
    }
}

/// Returns true if a scalar operation is defined for all possible operands here.
fn cannot_fail(s: &Simplifier<'_, Soacs>, op: &BasicOp) -> bool {
    total::is_total(op)
        || matches!(op, BasicOp::Scalar(ScalarOp::Binary(op, ty, _, y))
            if s.known.never_fails(*op, *y) && !total::is_integer_power(*op, *ty))
}

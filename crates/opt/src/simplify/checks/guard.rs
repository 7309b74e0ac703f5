//! Hoists checks out of loops, lambdas and branches that may not run: the hoisted condition is
//! `the body does not run, or the condition holds`.
//!
//! Each scope records when its body runs: if certain sizes are positive, if a truth value holds, or
//! unknown. A check whose operands are in scope further out is moved there, with a disjunct for
//! each scope that it leaves. Inside, where the body runs, the condition is known to hold; a later
//! walk infers that again (`conditions`).
//!
//! Guarantees: a program fails in exactly the same cases as before.

use crate::level::OptLevel;
use crate::simplify::checks::conditions::Guard;
use crate::simplify::knowledge::{Def, ScopeKind};
use crate::simplify::sharing::cse;
use crate::simplify::{Certs, Simplifier, add_certs};
use analysis::total;
use ir::Prov;
use ir::remark::RemarkKind;
use ir::syntax::{Atom, Aux, BasicOp, MsgPart, Param};
use ir::types::Type;
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarOp, UnOp};

/// The largest number of scopes with a guard that a check may leave.
const MANY: usize = 4;
/// The largest depth of operations through which a check's condition and message values are traced.
const LEVELS: u32 = 6;

impl<L: OptLevel> Simplifier<'_, L> {
    /// The scope that a check can be hoisted to with guards, and the guards of the scopes that it
    /// leaves, outermost first.
    fn guarded_depth(&self, aux: &Aux, op: &BasicOp) -> Option<(usize, Vec<Guard>)> {
        let BasicOp::Assert { cond, msg } = op else {
            return None;
        };
        let mut least = self.reach(*cond, LEVELS);
        for part in msg {
            if let MsgPart::Value(_, value) = part {
                least = least.max(self.reach(*value, LEVELS));
            }
        }
        for cert in &aux.certs {
            least = least.max(self.known.depth_of(*cert));
        }
        let (depth, guards) = self.hoist_depth_with_guards(least, &|_| 0)?;
        (!guards.is_empty()).then_some((depth, guards))
    }

    /// The outermost scope to which a check can be hoisted, and the guards of the scopes that it
    /// leaves, outermost first. Its operands are in scope from depth `least` on; to leave the scope
    /// at a depth, it also needs names up to the depth given by `more`.
    pub(crate) fn hoist_depth_with_guards(
        &self,
        least: usize,
        more: &dyn Fn(usize) -> usize,
    ) -> Option<(usize, Vec<Guard>)> {
        let (mut guards, mut needed, mut best) = (Vec::new(), 0, None);
        for depth in (least + 1..=self.known.current()).rev() {
            let (scope, kind) = (&self.scopes[depth], self.known.kinds[depth]);
            needed = needed.max(more(depth));
            if kind != (ScopeKind::Inner { runs: true }) {
                match &scope.guard {
                    Guard::Unknown => break,
                    Guard::Positive(sizes) => {
                        for (_, size) in sizes {
                            needed = needed.max(self.known.depth_of_atom(*size));
                        }
                    }
                    Guard::Holds(cond, _) => needed = needed.max(self.known.depth_of_atom(*cond)),
                }
                guards.push(scope.guard.clone());
                if guards.len() > MANY {
                    break;
                }
            }
            if needed < depth && kind != ScopeKind::Branch {
                best = Some((depth - 1, guards.len()));
            }
        }
        let (depth, crossed) = best?;
        guards.truncate(crossed);
        guards.reverse();
        Some((depth, guards))
    }

    /// Emits a check before bodies that may not run, if guards allow a scope further out than
    /// `plain`. Returns the scope that it was emitted to.
    pub(crate) fn emit_guarded(
        &mut self,
        param: &Param<L>,
        aux: &Aux,
        op: &BasicOp,
        plain: usize,
    ) -> Option<usize> {
        let BasicOp::Assert { cond, msg } = op else {
            return None;
        };
        let (depth, guards) = self.guarded_depth(aux, op)?;
        if depth >= plain || !self.rewrite() {
            return None;
        }
        self.decide(aux, op, RemarkKind::CheckHoisted);
        let mut aux = aux.clone();
        let all = self.recompute_in_outer(*cond, aux.prov, &mut aux.certs, depth);
        let all = self.unless_guarded(all, &guards, aux.prov, depth);
        let mut msg = msg.clone();
        for part in &mut msg {
            if let MsgPart::Value(_, value) = part {
                *value = self.recompute_in_outer(*value, aux.prov, &mut aux.certs, depth);
            }
        }
        let op = BasicOp::Assert { cond: all, msg };
        // The condition is learnt in the current scope, where the guards are false.
        self.emit_at(depth, param.clone(), aux, op);
        Some(depth)
    }

    /// Emits, in an outer scope, a truth value that is `all` unless one of the guards fails.
    pub(crate) fn unless_guarded(
        &mut self,
        mut all: Atom,
        guards: &[Guard],
        prov: Prov,
        depth: usize,
    ) -> Atom {
        for guard in guards.iter().rev() {
            match guard {
                // No check leaves such a scope.
                Guard::Unknown => {}
                Guard::Positive(sizes) => {
                    for (ty, size) in sizes.iter().rev() {
                        if matches!(size, Atom::Const(n) if n.as_i64() > Some(0)) {
                            continue;
                        }
                        let zero = Atom::Const(Scalar::int(*ty, 0));
                        let empty = BasicOp::compare(CmpOp::SLe, *ty, *size, zero);
                        let empty = self.emit_in_outer("empty", prov, empty, depth);
                        all = self.or(empty, all, prov, depth);
                    }
                }
                Guard::Holds(cond, truth) => {
                    let other = if *truth {
                        let not = BasicOp::unary(UnOp::Not, PrimType::Bool, *cond);
                        self.emit_in_outer("other", prov, not, depth)
                    } else {
                        *cond
                    };
                    all = self.or(other, all, prov, depth);
                }
            }
        }
        all
    }

    /// The operation and operands that a truth value or an integer is computed from, and the depth
    /// of its certificates.
    fn parts_of(&self, value: Atom) -> Option<(BasicOp, [Option<Atom>; 2], usize)> {
        let def = self.known.def_of(value)?;
        let checks = def.certs.iter().map(|cert| self.known.depth_of(*cert)).max();
        let op = def.op.clone();
        let parts = if let BasicOp::Scalar(
            ScalarOp::Compare(_, _, x, y) | ScalarOp::Binary(BinOp::And | BinOp::Or, PrimType::Bool, x, y),
        ) = &op
        {
            [Some(*x), Some(*y)]
        } else if let BasicOp::Scalar(ScalarOp::Unary(UnOp::Not, PrimType::Bool, x)) = &op {
            [Some(*x), None]
        } else if let BasicOp::Scalar(ScalarOp::Binary(_, ty, x, y)) = &op
            && ty.is_int()
        {
            [Some(*x), Some(*y)]
        } else {
            return None;
        };
        Some((op, parts, checks.unwrap_or(0)))
    }

    /// The outermost scope in which a value can be computed.
    fn reach(&self, value: Atom, fuel: u32) -> usize {
        let known = self.known.depth_of_atom(value);
        match self.parts_of(value) {
            Some((_, parts, checks)) if fuel > 0 && known > 0 => {
                let parts = parts.into_iter().flatten();
                let most = parts.map(|part| self.reach(part, fuel - 1)).max();
                most.map_or(known, |most| most.max(checks).min(known))
            }
            _ => known,
        }
    }

    /// Recomputes a value in an outer scope that it reaches. A divisor may be 0 there although a
    /// check before the division excludes that. From here on the value is an alias of the outer
    /// one. Certificates of its operands are added to `certs`.
    fn recompute_in_outer(&mut self, value: Atom, prov: Prov, certs: &mut Certs, depth: usize) -> Atom {
        if self.known.depth_of_atom(value) <= depth {
            return value;
        }
        let (Some((mut op, _, _)), Some(name)) = (self.parts_of(value), value.var()) else {
            return value;
        };
        let mut own = self.known.def(name).map_or_else(Certs::new, |d| d.certs.clone());
        if let BasicOp::Scalar(op) = &mut op {
            for x in op.operands_mut() {
                *x = self.recompute_in_outer(*x, prov, &mut own, depth);
            }
        }
        if let BasicOp::Scalar(ScalarOp::Binary(division, ty, _, y)) = &mut op
            && !total::never_fails(*division, *y)
        {
            *y = self.divisor(*ty, *y, prov, depth);
        }
        let lifted = self.emit_in_outer("ok", prov, op, depth);
        if self.known.type_of(name) != Type::BOOL {
            self.alias_to(name, lifted, &own);
        }
        add_certs(certs, &own);
        lifted
    }

    pub(crate) fn or(&mut self, x: Atom, y: Atom, prov: Prov, depth: usize) -> Atom {
        let op = BasicOp::binary(BinOp::Or, PrimType::Bool, x, y);
        self.emit_in_outer("or", prov, op, depth)
    }

    /// Emits an operation on truth values or sizes in an outer scope, or reuses an equal one. Rules
    /// are not applied, as they would use facts of the current scope; the next walk applies them.
    pub(crate) fn emit_in_outer(&mut self, hint: &str, prov: Prov, op: BasicOp, depth: usize) -> Atom {
        self.left.to_simplify = true;
        let hash = cse::hash(&op);
        let known = hash.and_then(|hash| {
            let candidates = self.cse.get(&hash)?;
            candidates.iter().copied().find(|name| {
                let same = |def: &std::rc::Rc<Def>| def.certs.is_empty() && cse::equal(&def.op, &op);
                self.known.depth_of(*name) <= depth && self.known.def(*name).is_some_and(same)
            })
        });
        if let Some(name) = known {
            return Atom::Var(name);
        }
        let name = self.names.fresh(hint);
        let param = self.unbound(name, &op);
        self.emit_at(depth, param, Aux::at(prov), op);
        if let Some(hash) = hash {
            self.cse.entry(hash).or_default().push(name);
            self.scopes[depth].cse.push((hash, name));
        }
        Atom::Var(name)
    }
}

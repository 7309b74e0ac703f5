//! The guards of versions: comparisons of sizes with tuning parameters.

use crate::context::Ctx;
use crate::scope::Scope;
use ir::name::{Name, Prov};
use ir::syntax::{Atom, BasicOp, Param};
use ir::tunable::{Class, Rule, TunableId, TunableTable};
use ir::types::Type;
use prim::{BinOp, CmpOp, PrimType, Scalar};
use target::chunks::MIN_COLUMNS;

/// The tuning parameters of a function, and the guards of the segops that are being made.
#[derive(Default)]
pub(crate) struct Guards {
    pub(crate) tunables: TunableTable,
    /// Those of enclosing segops first: each segop has those from its [`Scope::first_guard`] on.
    pub(crate) of_segops: Vec<Guard>,
}

/// A guard: it holds if a size is at least a parameter.
#[derive(Clone, Copy)]
pub(crate) struct Guard {
    cond: Name,
    size: Name,
    tunable: TunableId,
    /// True if a scan or reduction has both versions, behind its own comparison.
    pub(crate) has_both_versions: bool,
}

impl Guard {
    fn compare(self, ctx: &mut Ctx<'_>, prov: Prov) {
        let param = Param { name: self.cond, ty: Type::BOOL, ann: () };
        ctx.bind(param, BasicOp::SizeAtLeast { size: self.size.into(), tunable: self.tunable }, prov);
    }
}

impl Guards {
    /// Adds a threshold parameter.
    pub(crate) fn threshold(&mut self, rule: Rule, default: i64) -> TunableId {
        self.tunables.add(rule, Class::Threshold, default)
    }
}

impl Ctx<'_> {
    /// Returns a condition that holds if a size is at least a new parameter of the rule, whose
    /// default is `least`. It is computed before the segop that is being made if the size is known
    /// there, else appended. Before a segop there is one condition for each size and rule,
    /// whose default is the smallest `least`.
    pub(crate) fn guard(&mut self, scope: Scope<'_>, (size, rule, least): (Name, Rule, i64)) -> Atom {
        let Guards { tunables, of_segops } = &mut self.guards;
        let first = scope.first_guard.filter(|_| scope.is_known_before_segop(&self.names, size));
        let known = first.map_or(&[][..], |first| &of_segops[first..]);
        for guard in known.iter().filter(|guard| guard.size == size) {
            let tunable = tunables.get_mut(guard.tunable);
            if let Some(tunable) = tunable.filter(|tunable| tunable.rule == rule) {
                tunable.default = tunable.default.min(least);
                return guard.cond.into();
            }
        }
        let cond = self.names.table.fresh("long");
        let tunable = self.guards.threshold(rule, least);
        let guard = Guard { cond, size, tunable, has_both_versions: false };
        if first.is_some() {
            self.guards.of_segops.push(guard);
        } else {
            guard.compare(self, scope.prov);
        }
        cond.into()
    }

    /// Records that a scan or reduction has both versions behind a guard of the segop.
    pub(crate) fn note_both_versions(&mut self, cond: Atom) {
        for guard in self.guards.of_segops.iter_mut().filter(|guard| Atom::Var(guard.cond) == cond) {
            guard.has_both_versions = true;
        }
    }

    /// Appends the guards' comparisons; returns the condition that any of them holds.
    pub(crate) fn any_guard(&mut self, guards: &[Guard], prov: Prov) -> Atom {
        let mut any = Atom::Const(Scalar::Bool(false));
        for guard in guards {
            guard.compare(self, prov);
            any = match any {
                Atom::Const(_) => guard.cond.into(),
                Atom::Var(_) => {
                    let op = BasicOp::binary(BinOp::Or, PrimType::Bool, any, guard.cond);
                    self.bind_fresh(("long", Type::BOOL), op, prov).into()
                }
            };
        }
        any
    }

    /// Appends the condition that a condition holds (the constant `false`: no condition was needed), and
    /// that none of these sizes is wide enough for tiles.
    pub(crate) fn unless_wide(&mut self, cond: Atom, sizes: &[Name], prov: Prov) -> Atom {
        let mut all = cond;
        for size in sizes {
            let op = BasicOp::compare(CmpOp::SLt, PrimType::I64, *size, Atom::i64(MIN_COLUMNS));
            let narrow = self.bind_fresh(("narrow", Type::BOOL), op, prov);
            all = match all {
                Atom::Const(_) => narrow.into(),
                Atom::Var(_) => {
                    let op = BasicOp::binary(BinOp::And, PrimType::Bool, all, narrow);
                    self.bind_fresh(("narrow", Type::BOOL), op, prov).into()
                }
            };
        }
        all
    }
}

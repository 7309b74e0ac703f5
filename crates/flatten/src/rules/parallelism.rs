//! Parallelism of bodies, and its regularity: sizes, bounds and operators that are invariant in a
//! nest.

use super::distribute_irregular;
use super::pending::Pending;
use crate::context::Ctx;
use crate::functions::Callees;
use crate::nest::Nest;
use crate::scope::Scope;
use analysis::{cost, thresholds};
use ir::operator_map::operator_map;
use ir::scan_reduce::ScanReduce;
use ir::soac::{Operator, Screma, Soac};
use ir::syntax::{Atom, Attr, BasicOp, Body, Exp, Lambda, LoopForm, Stm};
use ir::types::{Dim, Type};
use ir::walk::{free_names_lambda, sub_bodies, with_stack};
use ir::{Name, Soacs};
use rustc_hash::FxHashSet;

/// Returns true if a body has a combinator without the attribute `sequential`.
pub(super) fn has_parallelism(body: &Body<Soacs>) -> bool {
    any(body, &|_| true)
}

/// Returns true if all combinators in a body are redomaps, or inside redomaps.
pub(super) fn only_redomaps(body: &Body<Soacs>) -> bool {
    !any(body, &|soac| !is_redomap(soac))
}

fn is_redomap(soac: &Soac) -> bool {
    let Soac::Screma(Screma { map, scan_reduce, .. }) = soac else {
        return false;
    };
    scan_reduce.scans.is_empty() && !scan_reduce.reduces.is_empty() && !map.body.stms.is_empty()
}

fn any(body: &Body<Soacs>, test: &dyn Fn(&Soac) -> bool) -> bool {
    with_stack(|| {
        body.stms.iter().any(|stm| {
            if stm.aux.attrs.has(&Attr::Sequential) {
                return false;
            }
            match &stm.exp {
                Exp::Op(Soac::WithAcc { lambda, .. }) => any(&lambda.body, test),
                Exp::Op(soac) if test(soac) => true,
                Exp::Op(soac) if is_redomap(soac) => false,
                Exp::Basic(_) | Exp::Apply { .. } => false,
                exp @ (Exp::If { .. } | Exp::Loop { .. } | Exp::Op(_)) => {
                    let mut found = false;
                    sub_bodies(exp, |body| found = found || any(body, test));
                    found
                }
            }
        })
    })
}

/// The names bound in a nest, and those about to be.
#[derive(Clone, Copy)]
pub(super) struct NestBindings<'a> {
    pub(super) nest: &'a Nest<'a>,
    /// Statements that are not in the nest yet.
    pub(super) pending: Option<&'a Pending>,
    /// True for further names.
    pub(super) more: &'a dyn Fn(Name) -> bool,
    /// True if a nest may be distributed into irregular statements.
    pub(super) irregular: bool,
    pub(super) callees: &'a Callees,
}

impl<'a> NestBindings<'a> {
    /// Those of a scope's nest, and more.
    pub(super) fn of(ctx: &'a Ctx<'_>, scope: Scope<'a>, more: &'a dyn Fn(Name) -> bool) -> Self {
        let irregular = ctx.allows_irregular(scope);
        Self { nest: scope.nest, pending: None, more, irregular, callees: ctx.callees }
    }

    pub(super) fn is_variant(self, name: Name) -> bool {
        let waits = || self.pending.is_some_and(|pending| pending.bound.contains_key(&name));
        self.nest.is_variant(name) || waits() || (self.more)(name)
    }

    pub(super) fn varies(self, dim: Dim) -> bool {
        match dim {
            Dim::Const(_) => false,
            Dim::Var(name) => self.is_variant(name),
            Dim::Ext(_) => true,
        }
    }

    /// Returns true if a type has a size that the statement itself binds.
    pub(super) fn has_own_size(self, stm: &Stm<Soacs>, ty: &Type) -> bool {
        has_size(ty, |name| stm.pat.iter().any(|param| param.name == name))
    }

    /// Returns true if a type has a size that varies.
    pub(super) fn has_variant_size(self, ty: &Type) -> bool {
        ty.shape().iter().any(|dim| self.varies(*dim))
    }

    /// Returns true if such results have one shape in all iterations, known before the statement.
    pub(super) fn is_regular_result(self, stm: &Stm<Soacs>, ty: &Type) -> bool {
        self.is_regular(ty) && !self.has_own_size(stm, ty)
    }

    pub(super) fn atom_varies(self, atom: Atom) -> bool {
        matches!(atom, Atom::Var(name) if self.is_variant(name))
    }

    /// Returns true if values of this type have the same shape in all iterations.
    pub(super) fn is_regular(self, ty: &Type) -> bool {
        match ty {
            Type::Prim(_) | Type::Acc { .. } => true,
            Type::Array { .. } => !self.has_variant_size(ty),
            Type::Cert | Type::Mem(_) => false,
        }
    }

    pub(super) fn lambda_varies(self, lambda: &Lambda<Soacs>) -> bool {
        free_names_lambda(lambda).into_iter().any(|name| self.is_variant(name))
    }

    pub(super) fn operator_varies(self, operator: &Operator<Soacs>) -> bool {
        self.lambda_varies(&operator.op) || operator.neutral.iter().any(|ne| self.atom_varies(*ne))
    }

    /// Returns true if operators are nest-variant and no rule for irregular nests applies to them.
    fn scan_reduce_varies(self, scan_reduce: &ScanReduce<Soacs>) -> bool {
        scan_reduce.operators().any(|operator| {
            self.lambda_varies(&operator.op)
                || operator.neutral.iter().any(|ne| self.atom_varies(*ne))
                    && !(self.irregular
                        && scan_reduce.post.is_none()
                        && (distribute_irregular::neutral(&operator.op).is_some()
                            || operator_map(operator).is_some()))
        })
    }

    /// Returns true if a nest is distributed into a statement.
    pub(super) fn is_parallel(self, stm: &Stm<Soacs>) -> bool {
        self.is_regular_parallel(stm)
            || self.irregular
                && !stm.aux.attrs.has(&Attr::Sequential)
                && distribute_irregular::is_parallel(self, stm)
    }

    /// Returns true if a nest is distributed into a statement of the same shape in all iterations.
    pub(super) fn is_regular_parallel(self, stm: &Stm<Soacs>) -> bool {
        let regular = stm.pat.iter().all(|param| self.is_regular_result(stm, &param.ty));
        if !regular || stm.aux.attrs.has(&Attr::Sequential) {
            return false;
        }
        match &stm.exp {
            Exp::Op(Soac::Screma(Screma { width, inputs: _, map: _, scan_reduce })) => {
                !self.varies(*width) && !self.scan_reduce_varies(scan_reduce)
            }
            Exp::Op(Soac::Hist { width, ops, .. }) => {
                !self.varies(*width)
                    && ops.iter().all(|op| {
                        op.op.is_scalar()
                            && !op.shape.iter().any(|dim| self.varies(*dim))
                            && !self.operator_varies(&op.op)
                    })
            }
            Exp::Op(Soac::WithAcc { inputs, lambda }) => {
                has_parallelism(&lambda.body)
                    && inputs.iter().all(|input| {
                        let varies = |op: &Operator<Soacs>| self.operator_varies(op);
                        !input.shape.iter().any(|dim| self.varies(*dim))
                            && !input.op.as_ref().is_some_and(varies)
                    })
            }
            Exp::Op(Soac::Stream { .. } | Soac::FlatMap { .. } | ir::derivative_op!()) => false,
            Exp::Loop { params, form, body } => {
                let bounded = match form {
                    LoopForm::For { bound, .. } => !self.atom_varies(*bound),
                    LoopForm::While { .. } => false,
                };
                let own = |name: Name| params.iter().any(|p| p.param.name == name);
                let regular = |ty: &Type| self.is_regular(ty) && !has_size(ty, own);
                bounded && params.iter().all(|p| regular(&p.param.ty)) && self.exploits(body)
            }
            Exp::If { cond, then_body, else_body } => {
                !self.atom_varies(*cond) && (self.exploits(then_body) || self.exploits(else_body))
            }
            Exp::Basic(_) | Exp::Apply { .. } => false,
        }
    }

    /// Returns true if a nest is distributed into any statement of a body.
    pub(super) fn exploits(self, body: &Body<Soacs>) -> bool {
        with_stack(|| {
            let mut bound: FxHashSet<Name> = FxHashSet::default();
            for stm in &body.stms {
                let more = |name: Name| bound.contains(&name) || (self.more)(name);
                if (NestBindings { more: &more, ..self }).is_parallel(stm) {
                    return true;
                }
                bound.extend(stm.pat.iter().map(|param| param.name));
            }
            false
        })
    }
}

/// Returns true if a type has a size that is such a name.
fn has_size(ty: &Type, is: impl Fn(Name) -> bool) -> bool {
    ty.shape().iter().any(|dim| matches!(dim, Dim::Var(name) if is(*name)))
}

/// Returns true if a statement is recomputed in each iteration that needs it: an operation on
/// scalars, a view, a check, or an array whose elements readers compute.
pub(super) fn is_recomputed(stm: &Stm<Soacs>) -> bool {
    let Exp::Basic(op) = &stm.exp else {
        return false;
    };
    let is_known =
        matches!(op, BasicOp::Iota { .. } | BasicOp::Replicate { .. } | BasicOp::ConstArray { .. });
    let is_view = matches!(op, BasicOp::Index { .. } | ir::view_op!() | BasicOp::Assert { .. });
    let is_scalar = op.is_scalar() && !matches!(op, BasicOp::SizeAtLeast { .. });
    is_known || is_view || is_scalar && cost::basic(op) <= thresholds::DISTRIBUTED
}

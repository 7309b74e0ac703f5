//! The state of flattening one function: its names, the guards of its versions, the decisions so
//! far. What changes from statement to statement is in the [`Scope`].

use crate::functions::{Callees, Version};
use crate::guards::Guards;
use crate::names::{Names, atoms};
use crate::rules::Lift;
use crate::scope::{Position, Scope};
use crate::{Pat, Result, Stms};
use ir::name::{FunId, Name, Prov, SrcLoc};
use ir::remark::{Execution, OperationKind, RemarkKind, Sequential};
use ir::syntax::{Attr, Aux, BasicOp, Body, Exp, Param, Stm};
use ir::types::Type;
use ir::{Builder, Flatten, Fuel, Segs, Soacs};
use rustc_hash::FxHashMap;
use target::levels::Stack;

/// The state of flattening one function.
pub(crate) struct Ctx<'a> {
    pub(crate) names: Names<'a>,
    pub(crate) guards: Guards,
    /// The statements so far of the body that is being made.
    pub(crate) out: Stms,
    pub(crate) callees: &'a Callees,
    /// The versions of functions that are called, with the ids by which calls name them.
    pub(crate) called: FxHashMap<Version, FunId>,
    pub(crate) stack: Stack,
    pub(crate) mode: Flatten,
    /// The number of optional choices that may still be made.
    pub(crate) fuel: &'a mut Fuel,
    /// The decisions so far; `None` if no remarks are requested.
    pub(crate) decided: Option<Vec<(Prov, RemarkKind)>>,
}

/// A statement without its expression; the pattern has the results for all iterations of a nest.
#[derive(Clone)]
pub(crate) struct Let {
    pub(crate) pat: Pat,
    pub(crate) aux: Aux,
}

impl Let {
    /// Without certificates and attributes.
    pub(crate) fn at(prov: Prov, pat: Pat) -> Self {
        Self { pat, aux: Aux::at(prov) }
    }

    /// The same, with fresh names.
    pub(crate) fn fresh(&self, names: &mut Names<'_>, hint: &str) -> Self {
        let pat = self.pat.iter().map(|param| names.fresh(hint, param.ty.clone())).collect();
        Self { pat, aux: self.aux.clone() }
    }

    /// The statement with an expression.
    pub(crate) fn bind(self, names: &mut Names<'_>, exp: Exp<Segs>) -> Stm<Segs> {
        Stm { pat: names.params(self.pat), aux: self.aux, exp }
    }
}

impl Ctx<'_> {
    /// Returns the version of a function to call from a position, and records the call.
    pub(crate) fn call_version(&mut self, fun: FunId, at: Position) -> FunId {
        self.call(self.callees.version(fun, at, self.stack))
    }

    /// Returns the lifted version of a function, and records the call.
    pub(crate) fn call_lifted(&mut self, fun: FunId, lift: Lift) -> FunId {
        self.call(Callees::lift(fun, lift, self.stack))
    }

    fn call(&mut self, version: Version) -> FunId {
        let next = FunId::new(self.called.len());
        *self.called.entry(version).or_insert(next)
    }

    /// Returns true if nests are distributed into irregular statements: outside all segops, where
    /// these cannot contain segops of their level.
    pub(crate) fn allows_irregular(&self, scope: Scope<'_>) -> bool {
        let deep = self.mode.is_full_depth() && !scope.sequentialise_irregular;
        deep && scope.at.enclosing.is_none() && scope.at.level.is_some() && !self.stack.nests()
    }

    /// Records how a combinator runs, if remarks are requested.
    pub(crate) fn remark(&mut self, prov: Prov, what: OperationKind, how: impl FnOnce(&Self) -> Execution) {
        self.add_remark(prov, |ctx| RemarkKind::Executes {
            what,
            how: how(ctx),
            parts: ctx.names.provs.stacks(prov),
        });
    }

    /// Records a decision about a statement, if remarks are requested.
    pub(crate) fn add_remark(&mut self, prov: Prov, kind: impl FnOnce(&Self) -> RemarkKind) {
        if self.decided.is_some() {
            let kind = kind(self);
            self.decided.get_or_insert_default().push((prov, kind));
        }
    }

    /// Records that a combinator becomes a sequential loop.
    pub(crate) fn remark_loop(&mut self, scope: Scope<'_>, aux: &Aux, what: OperationKind) {
        self.remark(aux.prov, what, |ctx| {
            let requested = scope.sequential || !ctx.stack.is_parallel();
            Execution::Loop(if requested || aux.attrs.has(&Attr::SequentialOuter) {
                Sequential::Attribute
            } else if scope.at.enclosing.is_some() {
                Sequential::Inside(ctx.outermost(scope))
            } else {
                Sequential::ArrayOperator
            })
        });
    }

    /// The source locations of the outermost combinator that encloses a statement.
    pub(crate) fn outermost(&self, scope: Scope<'_>) -> Vec<SrcLoc> {
        self.names.provs.stack(scope.outermost)
    }

    /// Appends a statement.
    pub(crate) fn emit(&mut self, to: Let, exp: Exp<Segs>) {
        let stm = to.bind(&mut self.names, exp);
        self.out.push(stm);
    }

    /// Appends the statements that `make` builds, with this provenance.
    pub(crate) fn build<T>(&mut self, prov: Prov, make: impl FnOnce(&mut Builder<'_, Segs>) -> T) -> T {
        self.names.build(prov, &mut self.out, make)
    }

    /// Appends a basic operation.
    pub(crate) fn bind(&mut self, param: Param<Soacs>, op: BasicOp, prov: Prov) {
        self.emit(Let::at(prov, vec![param]), Exp::Basic(op));
    }

    /// Appends a basic operation, whose result is a fresh name of this type.
    pub(crate) fn bind_fresh(&mut self, result: (&str, Type), op: BasicOp, prov: Prov) -> Name {
        self.names.bind_fresh(result, op, prov, &mut self.out)
    }

    /// The statements that `make` appends.
    pub(crate) fn collect<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> (T, Stms) {
        let before = std::mem::take(&mut self.out);
        let made = make(self);
        (made, std::mem::replace(&mut self.out, before))
    }

    /// The statements that `make` appends, as a body whose results are fresh names like those of `to`.
    pub(crate) fn body_of(
        &mut self,
        to: &Let,
        make: impl FnOnce(&mut Self, Let) -> Result,
    ) -> Result<Body<Segs>> {
        let own = Let { pat: self.names.fresh_pattern(&to.pat), aux: to.aux.clone() };
        self.body_with(own, make)
    }

    /// Returns the statements that `make` appends as a body with these results.
    pub(crate) fn body_with(
        &mut self,
        own: Let,
        make: impl FnOnce(&mut Self, Let) -> Result,
    ) -> Result<Body<Segs>> {
        let result = atoms(&own.pat);
        let (made, stms) = self.collect(|ctx| make(ctx, own));
        made?;
        Ok(Body { stms, result })
    }
}

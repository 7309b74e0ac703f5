//! The versions of a nest, and the choice between them.
//!
//! ```text
//! if size >= threshold [or other size < other threshold] then version else (the next ..)
//! ```

use crate::context::{Ctx, Let};
use crate::scope::Scope;
use crate::{Result, Stms, bug};
use ir::syntax::{Atom, BasicOp, Body, Exp};
use ir::tunable::{Rule, TunableId};
use ir::{Builder, Name, Prov, Segs};
use prim::{PrimType, Scalar};
use target::levels::LevelId;

/// A version of a nest.
pub(super) struct Candidate {
    /// `None` for the version that is taken if no other is.
    pub(super) guard: Option<Guard>,
    pub(super) body: Body<Segs>,
}

/// The condition for taking a version.
pub(super) struct Guard {
    /// The statements that compute the sizes.
    pub(super) before: Stms,
    /// `Par` and the parameter that it has to reach.
    pub(super) enough: (Atom, TunableId),
    /// Also taken if this size is below its parameter: then the next version has too little work.
    pub(super) little: Option<(Atom, TunableId)>,
}

/// A new parameter of a rule for a version at a level.
pub(super) fn threshold(ctx: &mut Ctx<'_>, rule: Rule, level: LevelId) -> TunableId {
    ctx.guards.threshold(rule, level.threshold)
}

/// Returns true if another choice between versions may be nested in those around.
pub(super) fn may_choose(ctx: &Ctx<'_>, scope: Scope<'_>) -> bool {
    scope.choices < ctx.stack.max_nested_choices()
}

/// Records that a nest has no versions, as the limit of nested choices is reached.
pub(super) fn note_limit(ctx: &mut Ctx<'_>, prov: Prov) {
    let most = ctx.stack.max_nested_choices();
    ctx.add_remark(prov, |_| ir::remark::RemarkKind::ChoicesTooDeep { most });
}

/// Appends the choice between two versions.
pub(super) fn either(
    ctx: &mut Ctx<'_>,
    (guard, body): (Guard, Body<Segs>),
    rest: Body<Segs>,
    to: Let,
) -> Result {
    let first = Candidate { guard: Some(guard), body };
    choose(ctx, vec![first, Candidate { guard: None, body: rest }], to)
}

/// Appends the choice between versions: the first whose guard holds, or the last.
pub(super) fn choose(ctx: &mut Ctx<'_>, mut candidates: Vec<Candidate>, to: Let) -> Result {
    let last = candidates.pop().ok_or_else(bug("a nest has no versions"))?;
    let mut rest = last.body;
    let mut candidates = candidates.into_iter();
    let to = Let::at(to.aux.prov, to.pat);
    let Some(first) = candidates.next() else {
        ctx.out.extend(rest.stms);
        for (param, result) in to.pat.into_iter().zip(rest.result) {
            ctx.bind(param, BasicOp::Atom(result), to.aux.prov);
        }
        return Ok(());
    };
    for candidate in candidates.rev() {
        rest = ctx.body_of(&to, |ctx, to| choice(ctx, candidate, rest, to))?;
    }
    choice(ctx, first, rest, to)
}

/// Appends the choice between a version and the rest.
fn choice(ctx: &mut Ctx<'_>, Candidate { guard, body }: Candidate, else_body: Body<Segs>, to: Let) -> Result {
    let guard = guard.ok_or_else(bug("a version other than the last has no guard"))?;
    let cond = ctx.build(to.aux.prov, |b| guard.condition(b)).into();
    ctx.emit(to, Exp::If { cond, then_body: body, else_body });
    Ok(())
}

impl Guard {
    /// The name of the condition, whose statements are appended.
    fn condition(self, b: &mut Builder<'_, Segs>) -> Name {
        b.extend(self.before);
        let (size, tunable) = self.enough;
        let enough = b.let_basic("enough", BasicOp::SizeAtLeast { size, tunable });
        let Some((size, tunable)) = self.little else {
            return enough;
        };
        let much = b.let_basic("much", BasicOp::SizeAtLeast { size, tunable });
        let op = BasicOp::select(PrimType::Bool, much, enough, Atom::Const(Scalar::Bool(true)));
        b.let_basic("outer", op)
    }
}

//! The pass `prune-versions`: versions that cannot win are taken away.
//!
//! Before: all versions that the rules of flattening make, each behind a comparison of
//! a size with a parameter, the last behind none. After: fewer, with the same meaning.
//! Each removal is a decision with its reason:
//!
//! | version | goes if |
//! |---|---|
//! | any | it has the same operations as the rest |
//! | a nest with all in it in order | its points are too few for the level, as is known at once |
//! | a nest with all in it in order | the rest has nothing that comes apart from it: one more map, or one fold in a deeper nest |
//! | a nest with parallelism at the level below | that is one segop, or of a size known to be below the level's width |
//! //!
//! What goes into the counts are segops, those in loops ten times, and the dearer of
//! branches: one segop alone needs no second way to run it.

use ir::decision::{Kind, Pruned};
use ir::seg::{Seg, SegKind, SegOp};
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Stm};
use ir::tunable::Rule;
use ir::types::Dim;
use ir::walk::{Substitution, refresh_body, sub_bodies, with_stack};
use ir::{Context, Name, Program, Segs};
use rustc_hash::FxHashMap;
use target::levels::Stack;

/// Takes versions away that cannot win.
pub fn prune_versions(program: Program<Segs>, context: &mut Context) -> Program<Segs> {
    let Program {
        stack,
        files,
        opaques,
        entries,
        functions,
    } = program;
    let functions = context.over(functions, |mut function, own| {
        let mut pruner = Pruner {
            stack,
            function: &mut function,
            context: own,
        };
        pruner.function();
        function
    });
    Program {
        stack,
        files,
        opaques,
        entries,
        functions,
    }
}

struct Pruner<'a> {
    stack: Stack,
    function: &'a mut Function<Segs>,
    context: &'a mut Context,
}

/// A choice: what is compared, and the rule whose parameter it is compared with.
#[derive(Clone, Copy)]
struct Choice {
    size: Atom,
    rule: Rule,
}

impl Pruner<'_> {
    fn function(&mut self) {
        let empty = Body {
            stms: Vec::new(),
            result: Vec::new(),
        };
        let mut body = std::mem::replace(&mut self.function.body, empty);
        self.body(&mut body);
        self.function.body = body;
    }

    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            let mut choices: FxHashMap<Name, Choice> = FxHashMap::default();
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                bodies_mut(&mut stm.exp, &mut |body| self.body(body));
                if let (Exp::Basic(BasicOp::SizeAtLeast { size, tunable }), [param]) =
                    (&stm.exp, stm.pat.as_slice())
                    && let Some(tunable) = self.function.tunables.get(tunable.index())
                {
                    let rule = tunable.rule;
                    choices.insert(param.name, Choice { size: *size, rule });
                }
                self.choice(stm, &choices, &mut stms);
            }
            body.stms = stms;
        });
    }

    /// Appends a statement, or the version that is left of it.
    fn choice(
        &mut self,
        stm: Stm<Segs>,
        choices: &FxHashMap<Name, Choice>,
        out: &mut Vec<Stm<Segs>>,
    ) {
        let Stm { pat, aux, exp } = stm;
        let (cond, then_body, else_body) = match exp {
            Exp::If {
                cond,
                then_body,
                else_body,
            } => (cond, then_body, else_body),
            exp @ (Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_)) => {
                out.push(Stm { pat, aux, exp });
                return;
            }
        };
        let choice = cond.var().and_then(|name| choices.get(&name).copied());
        let gone = choice.and_then(|choice| self.cannot_win(choice, &then_body, &else_body));
        let Some(why) = gone.filter(|_| self.context.fuel.take()) else {
            let exp = Exp::If {
                cond,
                then_body,
                else_body,
            };
            out.push(Stm { pat, aux, exp });
            return;
        };
        let kept = else_body;
        if let Some(Choice { rule, .. }) = choice.filter(|_| self.context.options.account) {
            let places = self.function.provs.stack(aux.prov);
            let kind = Kind::VersionGone { rule, why };
            self.context.decide(&self.function.name.0, places, kind);
        }
        out.extend(kept.stms);
        for (param, result) in pat.into_iter().zip(kept.result) {
            out.push(Stm {
                pat: vec![param],
                aux: ir::syntax::Aux::at(aux.prov),
                exp: Exp::Basic(BasicOp::Atom(result)),
            });
        }
    }

    /// Why a version cannot win against the rest, if so.
    fn cannot_win(
        &mut self,
        choice: Choice,
        version: &Body<Segs>,
        rest: &Body<Segs>,
    ) -> Option<Pruned> {
        let seg = nest(version)?;
        if self.same(version, rest) {
            return Some(Pruned::Same);
        }
        let level = seg.level;
        match choice.rule {
            Rule::OuterParallelism => {
                let width = self.stack.level(level).map_or(1, |level| level.width);
                let known = choice.size.constant().and_then(prim::Scalar::as_i64);
                if known.is_some_and(|points| points < width) {
                    return Some(Pruned::FewPoints);
                }
                let flattest = flattest(rest);
                let folds = !is_map(seg);
                let rank = seg.space.dims.len();
                // Of a fold itself there are always two ways if there is more in it.
                if !folds
                    && self.stack.for_maps(level) != Some(level)
                    && comes_apart(flattest, rank) <= 1
                {
                    return Some(Pruned::NothingApart);
                }
                None
            }
            Rule::InnerParallelism => {
                let inner = self.stack.for_maps(level)?;
                let width = self.stack.level(inner).map_or(1, |level| level.width);
                if shared(&seg.body, inner, width) <= 1 {
                    return Some(Pruned::LittleInside);
                }
                None
            }
            Rule::LanesShare => None,
        }
    }

    /// Whether two bodies do the same.
    fn same(&mut self, one: &Body<Segs>, other: &Body<Segs>) -> bool {
        if size(one) != size(other) {
            return false;
        }
        // With the same names in the same places they are equal or not.
        let mut names = self.function.names.clone();
        let mut again = self.function.names.clone();
        let one = refresh_body(one, &mut names, &mut Substitution::default());
        let other = refresh_body(other, &mut again, &mut Substitution::default());
        one == other
    }
}

/// How many statements there are.
fn size(body: &Body<Segs>) -> usize {
    with_stack(|| {
        let mut count = body.stms.len();
        for stm in &body.stms {
            sub_bodies(&stm.exp, |body| count += size(body));
        }
        count
    })
}

/// Calls `f` with the bodies of statements, but for operators'.
fn bodies_mut(exp: &mut Exp<Segs>, f: &mut dyn FnMut(&mut Body<Segs>)) {
    match exp {
        Exp::If {
            then_body,
            else_body,
            ..
        } => {
            f(then_body);
            f(else_body);
        }
        Exp::Loop { body, .. } => f(body),
        Exp::Op(SegOp::Seg(seg)) => f(&mut seg.body),
        Exp::Op(SegOp::WithAcc { lambda, .. }) => f(&mut lambda.body),
        Exp::Basic(_) | Exp::Apply { .. } => {}
    }
}

/// The segop that a version is.
fn nest(version: &Body<Segs>) -> Option<&Seg<Segs>> {
    let mut segs = version.stms.iter().filter_map(|stm| match &stm.exp {
        Exp::Op(SegOp::Seg(seg)) => Some(seg),
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    });
    let seg = segs.next()?;
    segs.next().is_none().then_some(seg)
}

/// The last of the versions that a body begins with a choice between.
fn flattest(body: &Body<Segs>) -> &Body<Segs> {
    let compared = |cond: Atom| {
        body.stms.iter().any(|stm| {
            matches!(stm.exp, Exp::Basic(BasicOp::SizeAtLeast { .. }))
                && stm.pat.iter().any(|param| Atom::Var(param.name) == cond)
        })
    };
    let last = body.stms.iter().find_map(|stm| match &stm.exp {
        Exp::If {
            cond, else_body, ..
        } if compared(*cond) => Some(else_body),
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    });
    let single = body.stms.iter().all(|stm| match &stm.exp {
        Exp::Basic(_) => true,
        Exp::If { cond, .. } => compared(*cond),
        Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
    });
    match last.filter(|_| single) {
        Some(rest) => flattest(rest),
        None => body,
    }
}

fn is_map(seg: &Seg<Segs>) -> bool {
    matches!(&seg.kind, SegKind::Folds(folds) if folds.is_map())
}

/// How much there is in a body that a nest of this rank would have in order, and that
/// is apart here.
fn comes_apart(body: &Body<Segs>, rank: usize) -> u32 {
    with_stack(|| {
        let body = flattest(body);
        let each = body.stms.iter().map(|stm| match &stm.exp {
            Exp::Basic(_) | Exp::Apply { .. } => 0,
            Exp::If {
                then_body,
                else_body,
                ..
            } => {
                let both = [then_body, else_body].map(|body| comes_apart(body, rank));
                both[0].max(both[1]).saturating_mul(2)
            }
            Exp::Loop { body, .. } => comes_apart(body, rank).saturating_mul(10),
            Exp::Op(SegOp::WithAcc { lambda, .. }) => comes_apart(&lambda.body, rank),
            Exp::Op(SegOp::Seg(seg)) => match &seg.kind {
                SegKind::Folds(folds) if folds.is_map() => 0,
                // Reductions of what is computed where it is reduced may be tiled.
                SegKind::Folds(folds) => {
                    let computes = seg.body.stms.iter().any(|stm| {
                        !matches!(
                            stm.exp,
                            Exp::Basic(BasicOp::Index { .. } | BasicOp::Atom(_))
                        )
                    });
                    let own = seg.space.dims.len() == rank + 1;
                    1 + u32::from(own && computes && folds.scans.is_empty())
                }
                SegKind::Hist(_) => 0,
            },
        });
        each.fold(0, u32::saturating_add)
    })
}

/// How much there is at a level in a body.
fn shared(body: &Body<Segs>, level: u8, width: i64) -> u32 {
    with_stack(|| {
        let each = body.stms.iter().map(|stm| match &stm.exp {
            Exp::Basic(_) | Exp::Apply { .. } => 0,
            Exp::If {
                then_body,
                else_body,
                ..
            } => shared(then_body, level, width).max(shared(else_body, level, width)),
            Exp::Loop { body, .. } => shared(body, level, width).saturating_mul(10),
            Exp::Op(SegOp::WithAcc { lambda, .. }) => shared(&lambda.body, level, width),
            Exp::Op(SegOp::Seg(seg)) => {
                let small = |(_, dim): &(Name, Dim)| matches!(dim, Dim::Const(n) if *n < width);
                u32::from(seg.level == level && !seg.space.dims.iter().all(small))
            }
        });
        each.fold(0, u32::saturating_add)
    })
}

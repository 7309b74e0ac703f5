//! Drops versions that contain segops refused as kernels, where the other version has none.

use crate::legality::{Refused, refusal_in};
use ir::forest::{keep_branch, or_not};
use ir::name::{FunName, ProvTable};
use ir::remark::{Pruned, RemarkKind};
use ir::seg::SegOp;
use ir::syntax::{BasicOp, Body, Exp, Function, Stm};
use ir::tunable::{Rule, Tunable};
use ir::walk::{sub_bodies_mut, with_stack};
use ir::{Context, Name, Segs};
use rustc_hash::FxHashMap;

/// Drops the refused version of each choice whose other version is not refused.
pub(super) fn drop_refused(function: &mut Function<Segs>, refused: &Refused, context: &mut Context) {
    let mut choices = Choices {
        refused,
        name: &function.name,
        tunables: &function.tunables,
        provs: &function.provs,
        rules: FxHashMap::default(),
        context,
    };
    choices.body(&mut function.body);
}

struct Choices<'a> {
    refused: &'a Refused,
    name: &'a FunName,
    tunables: &'a [Tunable],
    provs: &'a ProvTable,
    /// The rules of the conditions bound so far.
    rules: FxHashMap<Name, Rule>,
    context: &'a mut Context,
}

impl Choices<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                if !matches!(stm.exp, Exp::Op(SegOp::Seg(_))) {
                    sub_bodies_mut(&mut stm.exp, |body| self.body(body));
                }
                if let (Exp::Basic(op), [param]) = (&stm.exp, stm.pat.as_slice()) {
                    let rule = if let BasicOp::SizeAtLeast { tunable, .. } = op {
                        self.tunables.get(tunable.index()).map(|it| it.rule)
                    } else {
                        or_not(op).and_then(|(first, _)| self.rules.get(&first).copied())
                    };
                    self.rules.extend(rule.map(|rule| (param.name, rule)));
                }
                self.choice(stm, &mut stms);
            }
            body.stms = stms;
        });
    }

    /// Appends a statement, or the remaining version of it.
    fn choice(&mut self, stm: Stm<Segs>, out: &mut Vec<Stm<Segs>>) {
        let goes = match &stm.exp {
            Exp::If { cond, then_body, else_body } => {
                let rule = cond.var().and_then(|name| self.rules.get(&name).copied());
                let refused_in = [then_body, else_body].map(|body| refusal_in(body, self.refused).is_some());
                match (rule, refused_in) {
                    (Some(rule), [true, false]) => Some((true, rule)),
                    (Some(_), [false, true]) => Some((false, Rule::InnerParallelism)),
                    _ => None,
                }
            }
            Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
        };
        let Some((first, rule)) = goes else {
            out.push(stm);
            return;
        };
        if self.context.options.remarks {
            let spans = self.provs.stack(stm.aux.prov);
            let why = Pruned::NotOffloadable;
            self.context.remark(&self.name.0, spans, RemarkKind::VersionPruned { rule, why });
        }
        keep_branch(stm, !first, out);
    }
}

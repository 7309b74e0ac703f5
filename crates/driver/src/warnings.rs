//! Warnings about missed optimisations, where the program's attributes request them: checks that
//! remain under `#[warn(safety_checks)]`, loops that remain under `#[unroll]`.
//!
//! Needs the program as the optimiser leaves it, before memory.

use crate::error::span_of;
use ir::syntax::{Attr, BasicOp, Exp, LoopForm, MsgPart, Stm};
use ir::walk::Visit;
use ir::{Program, Prov, Segs};
use std::collections::BTreeSet;
use syntax::diag::Diagnostic;
use syntax::span::SourceMap;

/// The warnings, once for each source location.
pub(crate) fn missed_optimisations(program: &Program<Segs>, sources: &SourceMap) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut reported = BTreeSet::new();
    for function in &program.functions {
        let mut remaining = Collector::default();
        Visit::<Segs>::body(&mut remaining, &function.body);
        for (diagnostic, prov) in remaining.found {
            let stack = function.provs.stack(prov);
            let mut spans = stack.iter().filter_map(|&loc| span_of(loc, &program.files, sources));
            let mut diagnostic = match spans.next() {
                Some(span) => diagnostic.at(span, ""),
                None => diagnostic,
            };
            if !reported.insert((diagnostic.id, stack.clone())) {
                continue;
            }
            for span in spans {
                diagnostic = diagnostic.also(span, "from here");
            }
            out.push(diagnostic);
        }
    }
    out
}

#[derive(Default)]
struct Collector {
    found: Vec<(Diagnostic, Prov)>,
}

impl Visit<Segs> for Collector {
    fn stm(&mut self, stm: &Stm<Segs>) {
        let attrs = &stm.aux.attrs;
        match &stm.exp {
            Exp::Basic(BasicOp::Assert { msg, .. }) if attrs.has(&Attr::WarnChecks) => {
                self.found.push((check(msg), stm.aux.prov));
            }
            Exp::Loop { form, .. } if attrs.has(&Attr::Unroll) => {
                self.found.push((unrolled(form), stm.aux.prov));
            }
            _ => {}
        }
        self.walk_stm(stm);
    }
}

fn check(msg: &[MsgPart]) -> Diagnostic {
    let parts: String = msg
        .iter()
        .map(|part| match part {
            MsgPart::Text(text) => text,
            MsgPart::Value(..) => "..",
        })
        .collect();
    Diagnostic::warning("safety-check", "Safety check required at run time")
        .note(format!("it fails with: {parts}"))
        .hint("an enclosing condition that implies the check, or sizes in types, may make it unnecessary")
}

fn unrolled(form: &LoopForm) -> Diagnostic {
    let why = match form {
        LoopForm::For { bound, .. } if bound.constant().is_some() => {
            "unrolling would produce too many statements"
        }
        LoopForm::For { .. } | LoopForm::While { .. } => "its trip count is not known at compile time",
    };
    Diagnostic::warning("unroll", format!("This loop is not unrolled despite `#[unroll]`: {why}"))
}

//! Binding sites of variables for messages, found by a search through the typed tree.

use check::tast::{Bind, Def, Exp, ExpKind, LoopForm, Pat, PatKind, Program, VarId};
use syntax::span::Span;

/// The span of the binding of a variable: its definition, a pattern, the function that has it as a
/// size parameter, or the innermost expression that has it as an existential size.
pub fn binding_site(program: &Program, var: VarId) -> Option<Span> {
    program.defs.iter().find_map(|def| in_def(def, var))
}

fn in_def(def: &Def, var: VarId) -> Option<Span> {
    if def.var == var || def.size_params.contains(&var) {
        return Some(def.span);
    }
    let param = def.params.iter().find_map(|pat| in_pat(pat, var));
    param.or_else(|| in_exp(&def.body, var)).or_else(|| {
        let brought = def.ret.existential_sizes.contains(&var);
        brought.then_some(def.body.span)
    })
}

fn in_pat(pat: &Pat, var: VarId) -> Option<Span> {
    match &pat.kind {
        PatKind::Var(bound) => (*bound == var).then_some(pat.span),
        PatKind::Wildcard | PatKind::Lit(..) => None,
        PatKind::Tuple(pats) | PatKind::Constr(_, pats) => pats.iter().find_map(|pat| in_pat(pat, var)),
        PatKind::Record(pats) => pats.iter().find_map(|(_, pat)| in_pat(pat, var)),
        PatKind::Attr(_, pat) => in_pat(pat, var),
    }
}

fn in_exp(exp: &Exp, var: VarId) -> Option<Span> {
    stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || {
        let mut found = in_node(exp, var);
        check::children(exp, &mut |part| {
            if found.is_none() {
                found = in_exp(part, var);
            }
        });
        found.or_else(|| exp.existential_sizes.contains(&var).then_some(exp.span))
    })
}

/// The span of a binding in the expression itself, not in its subexpressions.
fn in_node(exp: &Exp, var: VarId) -> Option<Span> {
    match &exp.kind {
        ExpKind::Lambda(lambda) => lambda.params.iter().find_map(|pat| in_pat(pat, var)),
        ExpKind::Let { binds, .. } => binds.iter().find_map(|bind| match bind {
            Bind::Pat { sizes, pat, .. } => {
                let size = sizes.contains(&var).then_some(pat.span);
                size.or_else(|| in_pat(pat, var))
            }
            Bind::Fun(def) => in_def(def, var),
        }),
        ExpKind::Loop { sizes, pat, form, .. } => {
            let size = sizes.contains(&var).then_some(pat.span);
            size.or_else(|| in_pat(pat, var)).or_else(|| match form {
                LoopForm::For(counter, bound) => (*counter == var).then_some(bound.span),
                LoopForm::ForIn(pat, _) => in_pat(pat, var),
                LoopForm::While(_) => None,
            })
        }
        ExpKind::Match { cases, .. } => cases.iter().find_map(|case| in_pat(&case.pat, var)),
        _ => None,
    }
}

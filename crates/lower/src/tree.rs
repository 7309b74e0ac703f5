//! Questions about expressions that do not need their values.

use crate::value::Env;
use crate::{Lower, Weight};
use check::tast::{Bind, Def, Exp, ExpKind, Index, LoopForm};
use std::rc::Rc;
use std::sync::Arc;

/// Beyond this many nodes a definition's size does not matter any more.
const LARGE: usize = 400;

impl Lower<'_> {
    /// How large a definition is and whether it mentions itself.
    pub(crate) fn weight(&mut self, def: &Arc<Def>) -> Weight {
        *self.weights.entry(def.var).or_insert_with(|| {
            let mut weight = Weight {
                nodes: 0,
                recursive: false,
            };
            each(&def.body, &mut |exp| {
                weight.nodes += 1;
                weight.recursive |= matches!(&exp.kind, ExpKind::Var { id, .. } if *id == def.var);
                true
            });
            weight.nodes = weight.nodes.min(LARGE);
            weight
        })
    }

    /// Whether all variables of an expression without bindings have values.
    pub(crate) fn in_scope(&self, exp: &Exp, env: &Rc<Env>) -> bool {
        let mut all = true;
        each(exp, &mut |exp| {
            if let ExpKind::Var { id, .. } = &exp.kind {
                all &= env.get(*id).is_some() || self.defs.contains_key(id);
            }
            all
        });
        all
    }
}

/// Calls `f` with each node, until it returns `false`.
fn each<'a>(exp: &'a Exp, f: &mut dyn FnMut(&'a Exp) -> bool) {
    let mut todo: Vec<&Exp> = vec![exp];
    while let Some(exp) = todo.pop() {
        if !f(exp) {
            break;
        }
        match &exp.kind {
            ExpKind::Lit(..)
            | ExpKind::String(_)
            | ExpKind::Var { .. }
            | ExpKind::Intrinsic { .. }
            | ExpKind::Operator(_)
            | ExpKind::Hole => {}
            ExpKind::Tuple(exps) | ExpKind::Array(exps) | ExpKind::Constr(_, exps) => {
                todo.extend(exps);
            }
            ExpKind::Record(fields) => todo.extend(fields.iter().map(|(_, exp)| exp)),
            ExpKind::Project(exp, _) | ExpKind::Coerce(exp) | ExpKind::Attr(_, exp) => {
                todo.push(exp);
            }
            ExpKind::RecordUpdate { record, value, .. } => todo.extend([&**record, &**value]),
            ExpKind::Range {
                start, second, end, ..
            } => {
                todo.extend([&**start, &**end]);
                todo.extend(second.as_deref());
            }
            ExpKind::Index { array, indices } => {
                todo.push(array);
                push_indices(indices, &mut todo);
            }
            ExpKind::Update {
                array,
                indices,
                value,
            } => {
                todo.extend([&**array, &**value]);
                push_indices(indices, &mut todo);
            }
            ExpKind::Apply { fun, args } => {
                todo.push(fun);
                todo.extend(args);
            }
            ExpKind::Lambda(lambda) => todo.push(&lambda.body),
            ExpKind::Let { binds, body } => {
                todo.push(body);
                todo.extend(binds.iter().map(|bind| match bind {
                    Bind::Pat { rhs, .. } => rhs,
                    Bind::Fun(def) => &def.body,
                }));
            }
            ExpKind::If {
                cond,
                then,
                otherwise,
            } => todo.extend([&**cond, &**then, &**otherwise]),
            ExpKind::Loop {
                init, form, body, ..
            } => {
                todo.extend([&**init, &**body]);
                match form {
                    LoopForm::For(_, exp) | LoopForm::ForIn(_, exp) | LoopForm::While(exp) => {
                        todo.push(exp);
                    }
                }
            }
            ExpKind::Match { scrutinee, cases } => {
                todo.push(scrutinee);
                todo.extend(cases.iter().map(|case| &case.body));
            }
            ExpKind::And(x, y) | ExpKind::Or(x, y) => todo.extend([&**x, &**y]),
            ExpKind::Assert { cond, exp, .. } => todo.extend([&**cond, &**exp]),
        }
    }
}

fn push_indices<'a>(indices: &'a [Index], todo: &mut Vec<&'a Exp>) {
    for index in indices {
        match index {
            Index::At(exp) => todo.push(exp),
            Index::Slice { from, to, step } => {
                todo.extend(from.iter().chain(to).chain(step));
            }
        }
    }
}

//! Queries on expressions that do not need their values.

use crate::value::Env;
use crate::{DefinitionSize, Lower};
use check::tast::{Bind, Def, Exp, ExpKind};
use std::rc::Rc;
use std::sync::Arc;

/// The largest node count of a definition that is recorded.
const MAX_NODES: usize = 400;

impl Lower<'_> {
    /// The size of a definition; true if it mentions itself.
    pub(crate) fn definition_size(&mut self, def: &Arc<Def>) -> DefinitionSize {
        *self.weights.entry(def.var).or_insert_with(|| {
            let mut weight = DefinitionSize { nodes: 0, recursive: false };
            each(&def.body, &mut |exp| {
                weight.nodes += 1;
                weight.recursive |= matches!(&exp.kind, ExpKind::Var { id, .. } if *id == def.var);
                true
            });
            weight.nodes = weight.nodes.min(MAX_NODES);
            weight
        })
    }

    /// Returns true if all variables of an expression without bindings have values.
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
        check::children(exp, &mut |child| todo.push(child));
        if let ExpKind::Let { binds, body: _ } = &exp.kind {
            todo.extend(binds.iter().filter_map(|bind| match bind {
                Bind::Pat { .. } => None,
                Bind::Fun(def) => Some(&def.body),
            }));
        }
    }
}

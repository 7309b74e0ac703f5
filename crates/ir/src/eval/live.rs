//! Last uses: the points at which the evaluator drops arrays.
//!
//! For each array bound in a body (or as a parameter of it): the statement of that body that uses
//! it last, or that it is a result of the body, used there only once.

use crate::name::Name;
use crate::syntax::{Body, Function, Level, Param, Stm};
use crate::types::Type;
use crate::typing::TypeEnv;
use crate::walk::Visit;
use smallvec::SmallVec;

/// Last uses in a function.
#[derive(Default)]
pub(super) struct Live {
    /// Arrays that are dropped after a statement, by the first name that it binds.
    pub(super) after: Vec<SmallVec<[Name; 2]>>,
    /// True if the name's value may be moved out at the end of its body.
    pub(super) movable: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq)]
enum Last {
    Never,
    Statement(Name),
    Result,
    ResultTwice,
}

struct Uses<'t> {
    types: &'t TypeEnv,
    last: Vec<Last>,
    /// True if a body nested in the name's own returns it: at the end of that body the name must
    /// keep its value.
    returned_inside: Vec<bool>,
    /// Index in `statements` of the body to which a name belongs.
    depth: Vec<usize>,
    /// For each enclosing body, the first name that the current statement binds; `None` in its
    /// results.
    statements: Vec<Option<Name>>,
}

impl Uses<'_> {
    fn bind(&mut self, name: Name, depth: usize) {
        self.depth[name.index()] = depth;
    }
}

impl<L: Level> Visit<L> for Uses<'_> {
    fn binder(&mut self, name: &Name) {
        // Parameters belong to the body that follows.
        self.bind(*name, self.statements.len());
    }

    fn ty(&mut self, _: &Type) {}

    fn ann(&mut self, _: &L::Ann) {}

    fn param(&mut self, param: &Param<L>) {
        self.bind(param.name, self.statements.len());
    }

    fn name(&mut self, name: &Name) {
        if !matches!(self.types.get(*name), Some(Type::Array { .. })) {
            return;
        }
        let depth = self.depth[name.index()];
        if depth + 1 < self.statements.len() && self.statements.last() == Some(&None) {
            self.returned_inside[name.index()] = true;
        }
        let last = &mut self.last[name.index()];
        *last = match self.statements.get(depth) {
            Some(Some(statement)) => Last::Statement(*statement),
            Some(None)
                if depth + 1 == self.statements.len()
                    && !matches!(*last, Last::Result | Last::ResultTwice) =>
            {
                Last::Result
            }
            Some(None) | None => Last::ResultTwice,
        };
    }

    fn body(&mut self, body: &Body<L>) {
        self.statements.push(None);
        self.walk_body(body);
        self.statements.pop();
    }

    fn stm(&mut self, stm: &Stm<L>) {
        let depth = self.statements.len() - 1;
        self.statements[depth] = stm.pat.first().map(|param| param.name);
        self.exp(&stm.exp);
        for param in &stm.pat {
            self.bind(param.name, depth);
            // Until a use is found, its own statement is its last use.
            if let (Some(first), Some(Type::Array { .. })) = (stm.pat.first(), self.types.get(param.name)) {
                self.last[param.name.index()] = Last::Statement(first.name);
            }
        }
        self.statements[depth] = None;
    }
}

pub(super) fn analyse<L: Level>(function: &Function<L>) -> Live {
    let n = function.names.len();
    let types = TypeEnv::of_function(function);
    let mut uses = Uses {
        types: &types,
        last: vec![Last::Never; n],
        returned_inside: vec![false; n],
        depth: vec![0; n],
        statements: Vec::new(),
    };
    Visit::<L>::walk_function(&mut uses, function);
    let mut live = Live { after: vec![SmallVec::new(); n], movable: vec![false; n] };
    for (i, last) in uses.last.iter().enumerate() {
        match last {
            Last::Statement(first) => live.after[first.index()].push(Name::new(i)),
            Last::Result => live.movable[i] = !uses.returned_inside[i],
            Last::Never | Last::ResultTwice => {}
        }
    }
    live
}

//! Dead-code elimination: removes all code that no result of the function depends on.
//!
//! One walk builds the dependency graph (a name depends on the operands of its binding; a result of
//! a loop on its parameter, which depends on its initial and next values; a component of a
//! reduction on its operator's results; and so on), one search from the function's results marks
//! the live nodes, and one walk sweeps. Dead cycles therefore disappear too, as do unused loop
//! parameters, results of branches, and inputs and results of combinators, with the checks that
//! only they needed. Linear in the size of the function.
//!
//! Needs: a well-scoped function. Guarantees: a well-scoped function with the same meaning; names
//! are unchanged.

mod accs;
mod ops;

use crate::level::OptLevel;
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Lambda, Level, LoopForm, Param, Stm};
use ir::types::Type;
use ir::walk::{Visit, with_stack};
use ir::{Fuel, Name};
use rustc_hash::FxHashMap;

/// The dependency graph. Its nodes are the names, and further ones for statements and parts of
/// operations.
pub struct Graph {
    next: u32,
    edges: Vec<(u32, u32)>,
    /// The components of accumulators, by their tokens.
    components: FxHashMap<Name, Vec<u32>>,
}

impl Graph {
    /// Adds a node that stands for no name.
    pub(crate) fn node(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Adds a dependency of `from` on `to`.
    pub(crate) fn need(&mut self, from: u32, to: u32) {
        self.edges.push((from, to));
    }

    pub(crate) fn need_name(&mut self, from: u32, name: Name) {
        self.need(from, name.0);
    }

    pub(crate) fn need_atom(&mut self, from: u32, atom: Atom) {
        if let Atom::Var(name) = atom {
            self.need(from, name.0);
        }
    }

    pub(crate) fn need_type(&mut self, from: u32, ty: &Type) {
        Visit::<ir::Soacs>::ty(&mut Dependencies { graph: self, from }, ty);
    }

    pub(crate) fn need_types(&mut self, from: u32, types: &[Type]) {
        for ty in types {
            self.need_type(from, ty);
        }
    }

    /// Makes a bound name depend on the names in its type and annotation, and on the statement that
    /// binds it.
    pub(crate) fn binding<L: Level>(&mut self, param: &Param<L>, stm: u32) {
        let from = param.name.0;
        if from != stm {
            self.need(from, stm);
        }
        let mut needs = Dependencies { graph: self, from };
        Visit::<L>::ty(&mut needs, &param.ty);
        Visit::<L>::ann(&mut needs, &param.ann);
    }

    /// Adds the dependencies inside a body. Those of its results are added by the caller.
    pub(crate) fn body<L: OptLevel>(&mut self, body: &Body<L>) {
        with_stack(|| {
            for stm in &body.stms {
                self.stm(stm);
            }
        });
    }

    /// Adds a lambda none of whose parts can be removed.
    pub(crate) fn whole_lambda<L: OptLevel>(&mut self, lambda: &Lambda<L>, stm: u32) {
        for param in &lambda.params {
            self.binding(param, stm);
        }
        self.need_types(stm, &lambda.ret);
        for result in &lambda.body.result {
            self.need_atom(stm, *result);
        }
        self.body(&lambda.body);
    }

    fn stm<L: OptLevel>(&mut self, stm: &Stm<L>) {
        let Stm { pat, aux, exp } = stm;
        let node = match (exp, pat.as_slice()) {
            (Exp::Basic(_) | Exp::Apply { .. }, [only]) => only.name.0,
            _ => self.node(),
        };
        for param in pat {
            self.binding(param, node);
        }
        for cert in &aux.certs {
            self.need_name(node, *cert);
        }
        match exp {
            Exp::Basic(BasicOp::UpdateAcc { acc, index, values }) => {
                if let [param] = pat.as_slice() {
                    accs::update(param, *acc, index, values, self);
                }
            }
            Exp::Basic(op) => Visit::<L>::basic(&mut Dependencies { graph: self, from: node }, op),
            Exp::Apply { fun: _, args } => {
                for arg in args {
                    self.need_atom(node, *arg);
                }
            }
            Exp::If { cond, then_body, else_body } => {
                self.need_atom(node, *cond);
                for body in [then_body, else_body] {
                    for (param, result) in pat.iter().zip(&body.result) {
                        self.need_atom(param.name.0, *result);
                    }
                    self.body(body);
                }
            }
            Exp::Loop { params, form, body } => {
                match form {
                    LoopForm::For { var: _, ty: _, bound } => self.need_atom(node, *bound),
                    LoopForm::While { cond } => self.need_name(node, *cond),
                }
                for ((param, bound), result) in params.iter().zip(pat).zip(&body.result) {
                    let own = param.param.name.0;
                    self.binding(&param.param, node);
                    self.need(bound.name.0, own);
                    self.need_atom(own, param.init);
                    self.need_atom(own, *result);
                }
                self.body(body);
            }
            Exp::Op(op) => L::dependencies(op, pat, node, self),
        }
    }
}

struct Dependencies<'a> {
    graph: &'a mut Graph,
    from: u32,
}

impl<L: Level> Visit<L> for Dependencies<'_> {
    fn name(&mut self, name: &Name) {
        self.graph.need(self.from, name.0);
    }
}

/// The set of live nodes.
pub struct Live(Vec<bool>);

impl Live {
    fn of<L: OptLevel>(function: &Function<L>) -> Self {
        let mut graph =
            Graph { next: function.names.len() as u32, edges: Vec::new(), components: FxHashMap::default() };
        let root = graph.node();
        for result in &function.body.result {
            graph.need_atom(root, *result);
        }
        graph.body(&function.body);
        Self(reachable(&graph, root))
    }

    /// Returns true if the name is live.
    pub(crate) fn name(&self, name: Name) -> bool {
        self.0[name.index()]
    }

    pub(crate) fn any_live<L: Level>(&self, pat: &[Param<L>]) -> bool {
        pat.iter().any(|param| self.name(param.name))
    }

    /// Removes dead code from a body. Its dead results are removed by the caller.
    pub(crate) fn sweep<L: OptLevel>(&self, body: &mut Body<L>) {
        with_stack(|| {
            body.stms.retain_mut(|stm| {
                let keep = self.any_live(&stm.pat);
                if keep {
                    self.sweep_stm(stm);
                }
                keep
            });
        });
    }

    fn sweep_stm<L: OptLevel>(&self, stm: &mut Stm<L>) {
        let Stm { pat, aux: _, exp } = stm;
        match exp {
            Exp::Basic(_) | Exp::Apply { .. } => {}
            Exp::If { cond: _, then_body, else_body } => {
                let keep: Vec<bool> = pat.iter().map(|param| self.name(param.name)).collect();
                retain(pat, &keep);
                for body in [then_body, else_body] {
                    retain(&mut body.result, &keep);
                    self.sweep(body);
                }
            }
            Exp::Loop { params, form: _, body } => {
                let keep: Vec<bool> = params.iter().map(|param| self.name(param.param.name)).collect();
                retain(pat, &keep);
                retain(params, &keep);
                retain(&mut body.result, &keep);
                self.sweep(body);
            }
            Exp::Op(op) => L::sweep(op, pat, self),
        }
    }
}

/// Keeps the elements whose flag is set.
pub(crate) fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut at = 0;
    items.retain(|_| {
        at += 1;
        keep[at - 1]
    });
}

fn reachable(graph: &Graph, root: u32) -> Vec<bool> {
    let n = graph.next as usize;
    let mut starts = vec![0u32; n + 1];
    for (from, _) in &graph.edges {
        starts[*from as usize + 1] += 1;
    }
    for i in 0..n {
        starts[i + 1] += starts[i];
    }
    let mut fill = starts.clone();
    let mut targets = vec![0u32; graph.edges.len()];
    for (from, to) in &graph.edges {
        let at = &mut fill[*from as usize];
        targets[*at as usize] = *to;
        *at += 1;
    }
    let mut seen = vec![false; n];
    let mut pending = vec![root];
    seen[root as usize] = true;
    while let Some(node) = pending.pop() {
        let range = starts[node as usize] as usize..starts[node as usize + 1] as usize;
        for &to in &targets[range] {
            if !seen[to as usize] {
                seen[to as usize] = true;
                pending.push(to);
            }
        }
    }
    seen
}

/// Removes dead code from a function; the whole removal counts as one rewrite.
pub(crate) fn remove<L: OptLevel>(function: &mut Function<L>, fuel: &mut Fuel) {
    if fuel.take() {
        let live = Live::of(function);
        live.sweep(&mut function.body);
    }
}

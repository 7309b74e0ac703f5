//! The tape of a reverse-mode derivative: every operation on the scalars that depend on its
//! variables, with its derivatives, in the order of evaluation.

use crate::derivative::active::{Change, Level};
use crate::derivative::leaves::{self, Structure};
use crate::derivative::rules::Linear;
use crate::failure::{Failure, Res};
use crate::machine::Machine;
use crate::value::{RunType, RunValue};
use std::rc::Rc;
use syntax::span::Span;

/// A tape. Its nodes are scalars, the variables first.
#[derive(Debug)]
pub struct Tape {
    variables: usize,
    /// For each node, the end of its part of `edges`.
    ends: Vec<usize>,
    edges: Vec<Edge>,
    calls: Vec<Call>,
}

/// The dependence of a node on an earlier one.
#[derive(Debug)]
pub struct Edge {
    /// The earlier node.
    pub from: usize,
    /// The derivative.
    pub linear: Linear,
}

/// A call of a function with a derivative of its own.
#[derive(Debug)]
pub struct Call {
    /// The argument.
    pub arg: RunValue,
    /// The result, without this derivative.
    pub result: RunValue,
    /// The function from the result and its adjoint to the argument's adjoint.
    pub adjoint: RunValue,
    /// The argument's type.
    pub ty: Rc<RunType>,
    /// The call's source span.
    pub span: Span,
    /// The node that stands for the call; the nodes of the result's scalars, without edges, follow
    /// it.
    node: usize,
}

impl Tape {
    /// A tape with this number of variables.
    pub fn new(variables: usize) -> Self {
        Self { variables, ends: vec![0; variables], edges: Vec::new(), calls: Vec::new() }
    }

    /// Appends a node.
    pub fn push(&mut self, edges: impl IntoIterator<Item = Edge>) -> usize {
        self.edges.extend(edges);
        self.ends.push(self.edges.len());
        self.ends.len() - 1
    }

    /// Appends the node of a call.
    pub fn push_call(
        &mut self,
        arg: RunValue,
        result: RunValue,
        adjoint: RunValue,
        ty: Rc<RunType>,
        span: Span,
    ) {
        let node = self.push([]);
        self.calls.push(Call { arg, result, adjoint, ty, span, node });
    }

    fn edges_of(&self, node: usize) -> &[Edge] {
        let start = node.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.edges[start..self.ends[node]]
    }
}

/// The adjoints of a tape's nodes, as far as they are known.
struct Adjoints(Vec<Option<RunValue>>);

impl Adjoints {
    fn take(&mut self, node: usize) -> Option<RunValue> {
        self.0.get_mut(node).and_then(Option::take)
    }

    fn add(&mut self, machine: &mut Machine<'_>, node: usize, adjoint: RunValue) -> Res<()> {
        let sum = match self.take(node) {
            Some(before) => machine.sum(&before, &adjoint)?,
            None => adjoint,
        };
        match self.0.get_mut(node) {
            Some(slot) => *slot = Some(sum),
            None => return Err(Failure::bug("a node that is not on the tape")),
        }
        Ok(())
    }
}

impl Machine<'_> {
    /// The adjoints of a tape's variables, where they are not 0, from those of results. The
    /// derivative has ended.
    pub fn adjoints(
        &mut self,
        tape: &Tape,
        level: Level,
        results: impl Iterator<Item = (usize, RunValue)>,
    ) -> Res<Vec<Option<RunValue>>> {
        let mut adjoints = Adjoints(vec![None; tape.ends.len()]);
        for (node, adjoint) in results {
            adjoints.add(self, node, adjoint)?;
        }
        let mut calls = tape.calls.iter().rev().peekable();
        for node in (tape.variables..tape.ends.len()).rev() {
            self.step()?;
            let edges = tape.edges_of(node);
            if let Some(call) = calls.next_if(|call| call.node == node) {
                self.call_adjoint(call, level, &mut adjoints)?;
            } else if !edges.is_empty()
                && let Some(adjoint) = adjoints.take(node)
            {
                for edge in edges {
                    let adjoint = self.backward(&edge.linear, &adjoint)?;
                    adjoints.add(self, edge.from, adjoint)?;
                }
            }
        }
        adjoints.0.truncate(tape.variables);
        Ok(adjoints.0)
    }

    /// Adds to the adjoints of a call's argument.
    fn call_adjoint(&mut self, call: &Call, level: Level, adjoints: &mut Adjoints) -> Res<()> {
        let mut node = call.node;
        let of_result = leaves::map(&call.result, &mut |leaf| {
            node += 1;
            adjoints.take(node).unwrap_or_else(|| leaves::zero(leaf))
        })?;
        let of_arg = self.apply2(&call.adjoint, call.result.clone(), of_result)?;
        // The function may have captured values of this derivative.
        let of_arg = leaves::below(&of_arg, level)?;
        let structure = Structure { ty: &call.ty, span: call.span };
        structure.zip(&call.arg, &[of_arg], &mut |leaf, mut adjoint| {
            if let (Some(Change::Node(node)), Some(adjoint)) = (leaf.change(level), adjoint.pop()) {
                adjoints.add(self, *node, adjoint)?;
            }
            Ok(RunValue::Unbound)
        })?;
        Ok(())
    }
}

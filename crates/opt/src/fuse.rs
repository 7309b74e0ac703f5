//! Fusion: combinators become one if one reads the other's results, or if both read the same array.
//!
//! ```text
//! let ys = map w (x <- xs) -> f x
//! let z  = reduce w (y <- ys) op 0        let z = redomap w (x <- xs) -> f x
//!                                                 op 0
//! ```
//!
//! Each body is a dependency graph ([`graph`]). A fusion merges two nodes if no path leads from one
//! to the other through a third. Nothing is computed twice, except where recomputation is cheaper:
//! both combinators are replaced, and results of the producer with other uses become results of the
//! fused combinator. The kinds of fusion, each with its conditions in a module:
//!
//! - a producer into a consumer that reads its results element by element, in the map lambda or,
//!   after a scan, in the `post` lambda ([`merge`]);
//! - a producer into a `withacc` in which only one combinator reads it, and two `withacc`s or two
//!   histograms over the same elements ([`accs`]);
//! - two combinators that read the same array: horizontal fusion ([`horizontal`]);
//! - a producer that is read through a view, or at the map's own index, after the view is moved to
//!   the producer's inputs ([`views`]), or after the reads became inputs ([`own_index`]);
//! - recomputation: an array that would be stored for several readers, which cannot be merged, is
//!   recomputed in each reader where that is cheaper ([`recompute`]);
//! - interchange of a reduction of arrays to a map of reductions ([`reduce_interchange`]);
//! - interchange of a loop of maps to a map of loops ([`loop_interchange`]);
//! - a reduction that returns the last element of a scan, where that is read too
//!   ([`last_elements`]).
//!
//! Bodies are fused innermost first. A fusion brings contents of two lambdas together, which the
//! next walk fuses after simplification. The walks are repeated until nothing fuses; each has fewer
//! combinators. Horizontal fusion, and fusion of maps with later reductions over the same inputs,
//! wait until nothing else fuses: until then these combinators might still be fused into a later
//! scan.
//!
//! Needs: no dead code. Guarantees: each fusion takes one unit of fuel.

mod accs;
mod graph;
mod horizontal;
mod indexed_readers;
mod join;
mod last_elements;
mod loop_interchange;
mod merge;
mod nest;
mod own_index;
mod recompute;
mod reduce_interchange;
mod view_change;
mod views;

use crate::simplify;
use analysis::affine::{Values, Widths};
use analysis::alias::Aliases;
use analysis::signatures::Signatures;
use analysis::uses::Uses;
use graph::{Graph, Needs, inputs};
use indexed_readers::IndexedReaders;
use indexmap::IndexMap;
use ir::remark::{FusionOperand, NotFusedReason, RemarkKind};
use ir::soac::Soac;
use ir::syntax::{BasicOp, Body, Exp, Function, Lambda, Stm};
use ir::walk::{VisitMut, consumed_by, with_stack};
use ir::{Context, Fuel, Name, NameTable, PassError, Prov, ProvTable, Soacs, TypeEnv, remark};
use merge::Position;
pub use merge::is_nest_with_sums;
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::sync::Arc;

/// Fuses the combinators of a function, and simplifies the results.
pub(crate) fn fuse(
    mut function: Function<Soacs>,
    signatures: &Signatures,
    context: &mut Context,
) -> Result<Function<Soacs>, PassError> {
    if !context.options.fuse {
        return Ok(function);
    }
    let mut phase = Phase::Vertical;
    let mut needs_full_simplify = false;
    let (mut outcomes, mut history) = (Outcomes::default(), History::default());
    let mut stored = context.options.remarks.then(IndexedReaders::default);
    loop {
        if walk(&mut function, signatures, context, phase, &mut outcomes, &mut history, &mut stored) {
            needs_full_simplify = simplify::one_round(&mut function, signatures, context);
        } else if phase == Phase::Vertical {
            phase = Phase::Horizontal;
        } else if needs_full_simplify {
            function = simplify::simplify(function, signatures, context)?;
            needs_full_simplify = false;
        } else {
            break;
        }
    }
    let named = |name: Name| Arc::from(format!("{}_{}", function.names.hint(name), name.index()));
    for (name, prov) in history.interchanged {
        let spans = function.provs.stack(prov);
        context.remark(&function.name.0, spans, RemarkKind::LoopInterchanged(named(name)));
    }
    let stored = stored.map(IndexedReaders::outcomes).unwrap_or_default();
    for (first, second, outcome) in outcomes.into_values().chain(stored) {
        let operand_of = |(name, what, prov): Combinator| FusionOperand {
            name: name.map_or_else(|| Arc::from("?"), named),
            what,
            spans: function.provs.stack(prov),
        };
        let (first, second) = (operand_of(first), operand_of(second));
        let spans = first.spans.clone();
        let kind = match outcome {
            Outcome::Fused => RemarkKind::Fused { producer: first, consumer: second },
            Outcome::Recomputed => RemarkKind::Recomputed { producer: first, consumer: second },
            Outcome::Horizontal => RemarkKind::FusedHorizontally { first, second },
            Outcome::NotFused(why) => RemarkKind::NotFused { producer: first, consumer: second, why },
        };
        context.remark(&function.name.0, spans, kind);
    }
    Ok(function)
}

/// The phases of fusion. Each includes the fusions of the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Vertical fusion: producers into consumers.
    Vertical,
    /// Horizontal fusion, and recomputation of arrays with several readers once nothing else fuses.
    Horizontal,
}

/// One walk over the function. Returns true if anything fused.
fn walk(
    function: &mut Function<Soacs>,
    signatures: &Signatures,
    context: &mut Context,
    phase: Phase,
    outcomes: &mut Outcomes,
    history: &mut History,
    stored: &mut Option<IndexedReaders>,
) -> bool {
    let types = TypeEnv::of_function(function);
    let aliases = Aliases::of(function, &types, signatures);
    let marks = vec![(0, 0); function.names.len()];
    let mut fuser = Fuser {
        rounding: accs::rounding_tokens(function),
        iotas: crate::iotas::iotas(function),
        integers: Values::of_body(Widths::Exact, &function.body),
        uses: Uses::of(function),
        names: &mut function.names,
        provs: &mut function.provs,
        types,
        aliases,
        signatures,
        open: Vec::new(),
        marks,
        visited: 0,
        fuel: &mut context.fuel,
        phase,
        stored,
        outcomes,
        history,
        fused: false,
        versions: !context.options.stack.nests(),
        lambdas: 0,
    };
    fuser.fuse_body(&mut function.body);
    let fused = fuser.fused;
    if let Some(stored) = stored {
        stored.first_walk_done = true;
    }
    fused
}

/// Combinators and loops whose form fusion has changed.
#[derive(Default)]
struct History {
    /// Loops that became maps of loops: the first bound name and the provenance.
    interchanged: Vec<(Name, Prov)>,
    /// Maps that were given the dimensions of the nest that they read, by their first bound name:
    /// once, as their readers may flatten them again.
    unflattened: FxHashSet<Name>,
}

struct Fuser<'a> {
    /// The number of uses of each name in the whole function.
    uses: Uses,
    names: &'a mut NameTable,
    provs: &'a mut ProvTable,
    types: TypeEnv,
    aliases: Aliases,
    signatures: &'a Signatures,
    /// The statements being visited, outermost first.
    open: Vec<Open>,
    /// The tokens of accumulators with an operator that rounds.
    rounding: FxHashSet<Name>,
    /// The arrays of consecutive numbers from 0 on.
    iotas: FxHashSet<Name>,
    /// The function's integers before the walk.
    integers: Values,
    /// For each name, the ids of the visited statements that used it last and that bound it.
    marks: Vec<(u32, u32)>,
    /// The number of statements visited.
    visited: u32,
    fuel: &'a mut Fuel,
    phase: Phase,
    /// The readers that index arrays freely, if remarks are requested.
    stored: &'a mut Option<IndexedReaders>,
    /// The outcome for each pair of combinators considered.
    outcomes: &'a mut Outcomes,
    /// Combinators and loops of other forms than in the source, over all walks.
    history: &'a mut History,
    fused: bool,
    /// True if loops in maps are not interchanged, as flattening makes versions of both forms.
    versions: bool,
    /// The number of enclosing lambdas.
    lambdas: u32,
}

/// A statement being visited.
struct Open {
    id: u32,
    needs: Needs,
}

/// The outcome for two combinators, in the last walk that considered them.
#[derive(Clone, Copy)]
enum Outcome {
    /// The producer was fused into its consumer.
    Fused,
    /// The producer's result is recomputed in the consumer.
    Recomputed,
    /// Fused horizontally.
    Horizontal,
    /// Not fused.
    NotFused(NotFusedReason),
}

/// One of two combinators: its first result, its classification and its provenance.
type Combinator = (Option<Name>, remark::OperationKind, Prov);

type Outcomes = IndexMap<(Option<Name>, Option<Name>), (Combinator, Combinator, Outcome), FxBuildHasher>;

/// Collects the dependencies of a statement, and fuses the bodies in it.
impl VisitMut<Soacs> for Fuser<'_> {
    fn name(&mut self, name: &mut Name) {
        self.used(*name);
    }

    fn binder(&mut self, name: &mut Name) {
        self.bound(*name);
    }

    fn exp(&mut self, exp: &mut Exp<Soacs>) {
        self.walk_exp(exp);
        if let Some(mut open) = self.open.pop() {
            let consumed = consumed_by(exp, |fun, i| self.signatures.consumes(fun, i));
            open.needs.consumed.extend(consumed);
            self.open.push(open);
        }
    }

    fn lambda(&mut self, lambda: &mut Lambda<Soacs>) {
        self.lambdas += 1;
        self.walk_lambda(lambda);
        self.lambdas -= 1;
    }

    fn body(&mut self, body: &mut Body<Soacs>) {
        self.fuse_body(body);
    }
}

impl Fuser<'_> {
    /// Fuses the combinators of a body.
    fn fuse_body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| {
            for stm in &mut body.stms {
                if !(self.versions && self.lambdas > 0) {
                    self.interchange_loop(stm);
                }
            }
            let partner = |stm: &&Stm<Soacs>| is_candidate(stm) || is_slice(stm);
            if body.stms.iter().filter(partner).count() < 2 {
                self.walk_body(body);
                return;
            }
            let mut stms: Vec<(Stm<Soacs>, Needs)> = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                let needs = self.needs(&mut stm);
                stms.push((stm, needs));
            }
            if !self.open.is_empty() {
                for (stm, needs) in &stms {
                    for name in inputs(&stm.exp).iter().chain(&needs.inside) {
                        self.used(*name);
                    }
                    for param in &stm.pat {
                        self.bound(param.name);
                    }
                    if let Some(open) = self.open.last_mut() {
                        open.needs.consumed.extend(&needs.consumed);
                    }
                }
                for name in body.result.iter().filter_map(|r| r.var()) {
                    self.used(name);
                }
            }
            body.stms = self.fuse_graph(stms);
        });
    }

    /// Returns the dependencies of a statement, after fusing the bodies in it.
    fn needs(&mut self, stm: &mut Stm<Soacs>) -> Needs {
        self.visited += 1;
        let id = self.visited;
        self.open.push(Open { id, needs: Needs::default() });
        // Inputs are not dependencies of the inside.
        let held = inputs_mut(&mut stm.exp).map(std::mem::take);
        self.stm(stm);
        if let (Some(inputs), Some(held)) = (inputs_mut(&mut stm.exp), held) {
            *inputs = held;
        }
        let open = self.open.pop();
        let mut needs = open.map(|open| open.needs).unwrap_or_default();
        let marks = &self.marks;
        needs.inside.retain(|name| marks[name.index()].1 != id);
        needs
    }

    /// Records that the current statement uses a name.
    fn used(&mut self, name: Name) {
        let Some(open) = self.open.last_mut() else {
            return;
        };
        let used = &mut self.marks[name.index()].0;
        if *used != open.id {
            *used = open.id;
            open.needs.inside.push(name);
        }
    }

    /// Records that the current statement binds a name.
    fn bound(&mut self, name: Name) {
        if let Some(open) = self.open.last() {
            self.marks[name.index()].1 = open.id;
        }
    }

    fn fuse_graph(&mut self, stms: Vec<(Stm<Soacs>, Needs)>) -> Vec<Stm<Soacs>> {
        let uses = &self.uses;
        // An array created here for a single use has no other names.
        let alone = |graph: &Graph, name: Name| {
            uses.count(name) == 1
                && graph.binder(name).and_then(|id| graph.stm(id)).is_some_and(creates_array)
        };
        let mut graph = Graph::new(stms, &self.types, &self.aliases, alone);
        if self.phase == Phase::Horizontal {
            self.fuse_horizontally(&mut graph);
        } else {
            self.record_first(&graph);
        }
        for id in graph.nodes() {
            if graph.is_whole(id) {
                self.vertical(&mut graph, id);
            }
        }
        if !self.fused {
            self.slices(&mut graph);
            self.split_last_elements(&mut graph);
        }
        if self.phase == Phase::Horizontal && !self.fused {
            self.recompute(&mut graph);
            if !self.fused {
                self.record_last(&graph);
            }
        }
        graph.into_stms()
    }

    /// Fuses producers into a consumer as long as there are any.
    fn vertical(&mut self, graph: &mut Graph, consumer: usize) {
        self.forward_own_index_reads(graph, consumer);
        while self.sink_into_withacc(graph, consumer)
            || self.fuse_producer(graph, consumer)
            || self.push_view_to_inputs(graph, consumer)
            || self.unflatten_map(graph, consumer)
            || self.interchange(graph, consumer)
        {
            self.fused = true;
        }
    }

    /// Fuses one producer into the consumer that reads it. Returns false if there is none.
    fn fuse_producer(&mut self, graph: &mut Graph, consumer: usize) -> bool {
        let Some(stm) = graph.stm(consumer) else {
            return false;
        };
        let mut tried: FxHashSet<usize> = FxHashSet::default();
        let mut found: Option<(usize, Position)> = None;
        for input in inputs(&stm.exp) {
            let Some(id) = graph.binder(*input) else {
                continue;
            };
            let Some(producer) = graph.stm(id) else {
                continue;
            };
            let is_screma = matches!(producer.exp, Exp::Op(Soac::Screma(_)));
            if !is_screma || id == consumer || !tried.insert(id) {
                continue;
            }
            if self.phase == Phase::Vertical && merge::fuses_map_into_reduction(producer, stm) {
                continue;
            }
            let way = self.way(graph, id, consumer);
            let pair = (Self::describe(producer), Self::describe(stm));
            let outcome = way.map_or_else(Outcome::NotFused, |_| Outcome::Fused);
            self.record_outcome(pair, outcome);
            if let Ok(way) = way {
                found = Some((id, way));
                break;
            }
        }
        let Some((producer, way)) = found else {
            return false;
        };
        self.merge(graph, producer, consumer, way)
    }

    /// The way to fuse a producer into a consumer.
    fn way(&mut self, graph: &Graph, producer: usize, consumer: usize) -> Result<Position, NotFusedReason> {
        let (Some(first), Some(second)) = (graph.stm(producer), graph.stm(consumer)) else {
            return Err(NotFusedReason::ReadsOtherElements);
        };
        let inside = &graph.needs(consumer).inside;
        if let Some(at) = first.pat.iter().position(|p| inside.contains(&p.name)) {
            let reduced = merge::reduced(first) > at;
            return Err(if reduced {
                NotFusedReason::ReadsReduction
            } else {
                NotFusedReason::ReadsOtherElements
            });
        }
        let read = inputs(&second.exp);
        let way = merge::possible(first, second, &|name| self.is_kept(name, read))?;
        self.may_reorder(first, second)?;
        self.may_merge(graph, producer, consumer)?;
        Ok(way)
    }

    /// Checks that no other node forbids merging two nodes; takes fuel.
    fn may_merge(&mut self, graph: &Graph, first: usize, second: usize) -> Result<(), NotFusedReason> {
        if graph.collide(first, second) {
            return Err(NotFusedReason::Overwritten);
        }
        if !graph.no_path_through_others(first, second) {
            return Err(NotFusedReason::DependencyPath);
        }
        if !self.fuel.take() {
            return Err(NotFusedReason::Fuel);
        }
        Ok(())
    }

    /// A statement's description for remarks. Its name is that of its first result.
    fn describe(stm: &Stm<Soacs>) -> Combinator {
        let name = stm.pat.first().map(|param| param.name);
        let what = match &stm.exp {
            Exp::Op(soac) => remark::OperationKind::of(soac),
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } => {
                remark::OperationKind::Other
            }
        };
        (name, what, stm.aux.prov)
    }

    /// Records the outcome for two combinators.
    fn record_outcome(&mut self, (first, second): (Combinator, Combinator), outcome: Outcome) {
        let pair = (first.0, second.0);
        self.outcomes.insert(pair, (first, second, outcome));
    }

    /// The number of times an array occurs among the inputs.
    fn among(name: Name, inputs: &[Name]) -> u32 {
        inputs.iter().filter(|input| **input == name).count() as u32
    }

    /// Returns true if a producer's result has uses other than these inputs.
    fn is_kept(&self, name: Name, inputs: &[Name]) -> bool {
        self.uses.count(name) > Self::among(name, inputs)
    }

    /// Merges two combinators in a way that is possible.
    fn merge(&mut self, graph: &mut Graph, first: usize, second: usize, way: Position) -> bool {
        let (Some(producer), Some(mut consumer)) = (graph.take(first).pop(), graph.take(second).pop()) else {
            return false;
        };
        consumer.aux.prov = self.provs.merge(producer.aux.prov, consumer.aux.prov);
        let read = inputs(&consumer.exp).to_vec();
        let results: Vec<Name> = producer.pat.iter().map(|param| param.name).collect();
        let uses = &self.uses;
        let kept = |name: Name| uses.count(name) > Self::among(name, &read);
        let fused = merge::merge(way, producer, consumer, &kept, self.names, &mut self.types);
        // The inputs are no longer uses.
        for name in results {
            self.uses.remove(name, Self::among(name, &read));
        }
        graph.merge(first, second, vec![fused]);
        true
    }
}

/// Returns true if the statement can fuse with others.
fn is_candidate(stm: &Stm<Soacs>) -> bool {
    matches!(stm.exp, Exp::Op(Soac::Screma(_) | Soac::Hist { .. } | Soac::WithAcc { .. }))
}

/// Returns true if the statement indexes an array and its results are arrays.
fn is_slice(stm: &Stm<Soacs>) -> bool {
    let slice = matches!(stm.exp, Exp::Basic(BasicOp::Index { .. }));
    slice && stm.pat.iter().all(|param| param.ty.is_array())
}

/// The inputs of a combinator, mutably.
fn inputs_mut(exp: &mut Exp<Soacs>) -> Option<&mut Vec<Name>> {
    use ir::soac::Screma;
    match exp {
        Exp::Op(Soac::Screma(Screma { inputs, .. }) | Soac::Hist { inputs, .. }) => Some(inputs),
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    }
}

/// Returns true if a statement creates an array.
fn creates_array(stm: &Stm<Soacs>) -> bool {
    matches!(stm.exp, Exp::Basic(BasicOp::Replicate { .. } | BasicOp::Scratch { .. } | BasicOp::Copy(_)))
}

//! Fusion: combinators that feed each other, or read the same, become one.
//!
//! ```text
//! let ys = map w (x <- xs) -> f x
//! let z  = reduce w (y <- ys) op 0        let z = redomap w (x <- xs) -> f x
//!                                                 op 0
//! ```
//!
//! Each body is a dependency graph ([`graph`]); a fusion makes two of its nodes one
//! where no path leads between them through a third. Nothing is computed twice but what
//! is cheaper so: the two are gone, and results of the producer that others use come out
//! of the fused combinator. The ways, each with its conditions in its own module:
//!
//! - a producer into the consumer that reads its results element by element, in the
//!   map lambda or, after a scan, in the `post` lambda ([`merge`]);
//! - a producer into a `withacc`, where one combinator in there alone reads it, and
//!   two `withacc`s or two histograms over the same elements ([`accs`]);
//! - two combinators that read the same array, side by side ([`beside`]);
//! - a producer that is read through a view, or at the own index, after the view went
//!   to what the producer reads ([`views`]), or the reads became inputs ([`own`]);
//! - what would be stored for several readers, which cannot become one, is computed
//!   again in each where that is cheaper ([`again`]);
//! - a reduction of arrays, which becomes a map of reductions ([`interchange`]);
//! - a loop of maps, which becomes a map of loops ([`loops`]);
//! - where the last element of a scan is read too, a reduction gives it ([`totals`]).
//!
//! Bodies are fused innermost first. A fusion brings what lies in two lambdas together,
//! which the next walk finds, after simplification; walks go on until there is nothing
//! left to fuse, as each has fewer combinators. Combinators go side by side, and maps
//! to reductions before them, when nothing else fuses any more: before that they might
//! still go to a scan after them.
//!
//! Needs: no dead code. Guarantees: each fusion takes one unit of fuel.

mod accs;
mod again;
mod beside;
mod change;
mod graph;
mod interchange;
mod loops;
mod merge;
mod nest;
mod own;
mod stored;
mod totals;
mod views;

use crate::alias::Aliases;
use crate::passes::Signatures;
use crate::simplify;
use graph::{Graph, Needs, inputs};
use indexmap::IndexMap;
use ir::decision::{Apart, Kind, Party};
use ir::soac::Soac;
use ir::syntax::{BasicOp, Body, Exp, Function, Lambda, Stm};
use ir::walk::{Visit, VisitMut, consumed_by, with_stack};
use ir::{Context, Fuel, Name, NameTable, PassError, Prov, ProvTable, Soacs, TypeEnv, decision};
use merge::Way;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::sync::Arc;
use stored::Stored;

/// Fuses what can be in a function, and simplifies what that makes.
pub(crate) fn fuse(
    mut function: Function<Soacs>,
    signatures: &Signatures,
    context: &mut Context,
) -> Result<Function<Soacs>, PassError> {
    if !context.options.fuse {
        return Ok(function);
    }
    let mut phase = Phase::Through;
    let mut loose = false;
    let (mut fates, mut turned) = (Fates::default(), Vec::new());
    let mut stored = context.options.account.then(Stored::default);
    loop {
        if walk(&mut function, signatures, context, phase, &mut fates, &mut turned, &mut stored) {
            simplify::once(&mut function, signatures, context);
            loose = true;
        } else if phase == Phase::Through {
            phase = Phase::Beside;
        } else if loose {
            function = simplify::simplify(function, signatures, context)?;
            loose = false;
        } else {
            break;
        }
    }
    let named = |name: Name| Arc::from(format!("{}_{}", function.names.hint(name), name.index()));
    for (name, prov) in turned {
        let places = function.provs.stack(prov);
        context.decide(&function.name.0, places, Kind::TurnedInside(named(name)));
    }
    let stored = stored.map(Stored::fates).unwrap_or_default();
    for (first, second, fate) in fates.into_values().chain(stored) {
        let party = |(name, what, prov): Side| Party {
            name: name.map_or_else(|| Arc::from("?"), named),
            what,
            places: function.provs.stack(prov),
        };
        let (first, second) = (party(first), party(second));
        let places = first.places.clone();
        let kind = match fate {
            Fate::Fused => Kind::Fused { producer: first, consumer: second },
            Fate::Again => Kind::Again { producer: first, consumer: second },
            Fate::Together => Kind::Together { first, second },
            Fate::Apart(why) => Kind::Apart { producer: first, consumer: second, why },
        };
        context.decide(&function.name.0, places, kind);
    }
    Ok(function)
}

/// What is done, each beside what was done before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Producers go into consumers.
    Through,
    /// Combinators go side by side, and where nothing fuses any more, what would be
    /// stored for several is computed again.
    Beside,
}

/// One walk; whether something was fused.
fn walk(
    function: &mut Function<Soacs>,
    signatures: &Signatures,
    context: &mut Context,
    phase: Phase,
    fates: &mut Fates,
    turned: &mut Vec<(Name, Prov)>,
    stored: &mut Option<Stored>,
) -> bool {
    let types = TypeEnv::of_function(function);
    let aliases = Aliases::of(function, &types, signatures);
    let uses = Uses::of(function);
    let marks = vec![(0, 0); function.names.len()];
    let mut fuser = Fuser {
        rounding: accs::rounding(function),
        less: totals::one_less(function),
        uses: uses.0,
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
        fates,
        turned,
        fused: false,
        versions: !context.options.stack.nests(),
        lambdas: 0,
    };
    fuser.fuse_body(&mut function.body);
    let fused = fuser.fused;
    if let Some(stored) = stored {
        stored.begun = true;
    }
    fused
}

/// How often each name is used.
struct Uses(Vec<u32>);

impl Uses {
    fn of(function: &Function<Soacs>) -> Self {
        let mut uses = Self(vec![0; function.names.len()]);
        Visit::<Soacs>::body(&mut uses, &function.body);
        uses
    }
}

impl Visit<Soacs> for Uses {
    fn name(&mut self, name: &Name) {
        self.0[name.index()] += 1;
    }
}

struct Fuser<'a> {
    /// How often each name is used in the whole function.
    uses: Vec<u32>,
    names: &'a mut NameTable,
    provs: &'a mut ProvTable,
    types: TypeEnv,
    aliases: Aliases,
    signatures: &'a Signatures,
    /// The statements that are being visited, outermost first.
    open: Vec<Open>,
    /// The tokens of accumulators whose values meet by an operator that rounds.
    rounding: FxHashSet<Name>,
    /// Names that are one less than others.
    less: FxHashMap<Name, Name>,
    /// For each name the statement that was visited when it was used last, and when it
    /// was bound.
    marks: Vec<(u32, u32)>,
    /// How many statements were visited by themselves.
    visited: u32,
    fuel: &'a mut Fuel,
    phase: Phase,
    /// What reads elements of its choice, where somebody wants to know.
    stored: &'a mut Option<Stored>,
    /// For each pair that was looked at, what became of it.
    fates: &'a mut Fates,
    /// Loops that became maps of loops: what they bind first, and where they come from.
    turned: &'a mut Vec<(Name, Prov)>,
    fused: bool,
    /// Whether loops in maps are left to flattening, which makes versions of them.
    versions: bool,
    /// How many lambdas there are around.
    lambdas: u32,
}

/// A statement that is being visited.
struct Open {
    id: u32,
    needs: Needs,
}

/// What became of two combinators, in the last walk that saw them.
#[derive(Clone, Copy)]
enum Fate {
    /// The one went into the other, which reads it.
    Fused,
    /// The one's result is computed again in the other.
    Again,
    /// They went side by side.
    Together,
    /// They stay apart.
    Apart(Apart),
}

/// One of two combinators: its first result, what it is, where it comes from.
type Side = (Option<Name>, decision::Operation, Prov);

type Fates = IndexMap<(Option<Name>, Option<Name>), (Side, Side, Fate), FxBuildHasher>;

/// Collects what a statement needs, and fuses the bodies in it.
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
    /// Fuses what is in a body.
    fn fuse_body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| {
            for stm in &mut body.stms {
                if !(self.versions && self.lambdas > 0) {
                    self.turn_inside(stm);
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

    /// What a statement needs; the bodies in it are fused.
    fn needs(&mut self, stm: &mut Stm<Soacs>) -> Needs {
        self.visited += 1;
        let id = self.visited;
        self.open.push(Open { id, needs: Needs::default() });
        // Inputs are no needs of the inside.
        let held = inputs_mut(&mut stm.exp).map(std::mem::take);
        self.stm(stm);
        if let (Some(place), Some(held)) = (inputs_mut(&mut stm.exp), held) {
            *place = held;
        }
        let open = self.open.pop();
        let mut needs = open.map(|open| open.needs).unwrap_or_default();
        let marks = &self.marks;
        needs.inside.retain(|name| marks[name.index()].1 != id);
        needs
    }

    /// Notes that the statement at hand uses a name.
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

    /// Notes that the statement at hand binds a name.
    fn bound(&mut self, name: Name) {
        if let Some(open) = self.open.last() {
            self.marks[name.index()].1 = open.id;
        }
    }

    fn fuse_graph(&mut self, stms: Vec<(Stm<Soacs>, Needs)>) -> Vec<Stm<Soacs>> {
        let uses = &self.uses;
        // An array that was made here for one use alone has no other names.
        let alone = |graph: &Graph, name: Name| {
            uses[name.index()] == 1 && graph.binder(name).and_then(|id| graph.stm(id)).is_some_and(makes)
        };
        let mut graph = Graph::new(stms, &self.types, &self.aliases, alone);
        if self.phase == Phase::Beside {
            self.side_by_side(&mut graph);
        } else {
            self.note_read(&graph);
        }
        for id in graph.nodes() {
            if graph.is_whole(id) {
                self.vertical(&mut graph, id);
            }
        }
        if !self.fused {
            self.slices(&mut graph);
            self.totals(&mut graph);
        }
        if self.phase == Phase::Beside && !self.fused {
            self.compute_again(&mut graph);
            if !self.fused {
                self.note_stored(&graph);
            }
        }
        graph.into_stms()
    }

    /// Fuses producers into a consumer as long as there are any.
    fn vertical(&mut self, graph: &mut Graph, consumer: usize) {
        self.own_index(graph, consumer);
        while self.sink(graph, consumer)
            || self.take_producer(graph, consumer)
            || self.pull(graph, consumer)
            || self.push(graph, consumer)
            || self.interchange(graph, consumer)
        {
            self.fused = true;
        }
    }

    /// Fuses one producer into the consumer that reads it; false if there is none.
    fn take_producer(&mut self, graph: &mut Graph, consumer: usize) -> bool {
        let Some(stm) = graph.stm(consumer) else {
            return false;
        };
        let mut tried: FxHashSet<usize> = FxHashSet::default();
        let mut found: Option<(usize, Way)> = None;
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
            if self.phase == Phase::Through && merge::is_beside(producer, stm) {
                continue;
            }
            let way = self.way(graph, id, consumer);
            let pair = (Self::side(producer), Self::side(stm));
            let fate = way.map_or_else(Fate::Apart, |_| Fate::Fused);
            self.note_fate(pair, fate);
            if let Ok(way) = way {
                found = Some((id, way));
                break;
            }
        }
        let Some((producer, way)) = found else {
            return false;
        };
        self.unite(graph, producer, consumer, way)
    }

    /// How a producer goes into a consumer.
    fn way(&mut self, graph: &Graph, producer: usize, consumer: usize) -> Result<Way, Apart> {
        let (Some(first), Some(second)) = (graph.stm(producer), graph.stm(consumer)) else {
            return Err(Apart::ReadOtherwise);
        };
        let inside = &graph.needs(consumer).inside;
        if let Some(at) = first.pat.iter().position(|p| inside.contains(&p.name)) {
            let reduced = merge::reduced(first) > at;
            return Err(if reduced { Apart::Reduced } else { Apart::ReadOtherwise });
        }
        let read = inputs(&second.exp);
        let way = merge::possible(first, second, &|name| self.is_kept(name, read))?;
        self.may_reorder(first, second)?;
        self.may_unite(graph, producer, consumer)?;
        Ok(way)
    }

    /// Whether two nodes may become one, as far as the others go; takes fuel.
    fn may_unite(&mut self, graph: &Graph, first: usize, second: usize) -> Result<(), Apart> {
        if graph.collide(first, second) {
            return Err(Apart::Overwritten);
        }
        if !graph.apart_from_others(first, second) {
            return Err(Apart::Between);
        }
        if !self.fuel.take() {
            return Err(Apart::Fuel);
        }
        Ok(())
    }

    /// What a statement is in decisions; its name is its first result's.
    fn side(stm: &Stm<Soacs>) -> Side {
        let name = stm.pat.first().map(|param| param.name);
        let what = match &stm.exp {
            Exp::Op(soac) => decision::Operation::of(soac),
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } => {
                decision::Operation::Other
            }
        };
        (name, what, stm.aux.prov)
    }

    /// Notes what became of two combinators.
    fn note_fate(&mut self, (first, second): (Side, Side), fate: Fate) {
        let pair = (first.0, second.0);
        self.fates.insert(pair, (first, second, fate));
    }

    /// How often an array is among the inputs.
    fn among(name: Name, inputs: &[Name]) -> u32 {
        inputs.iter().filter(|input| **input == name).count() as u32
    }

    /// Whether a producer's result is used beside these inputs.
    fn is_kept(&self, name: Name, inputs: &[Name]) -> bool {
        self.uses[name.index()] > Self::among(name, inputs)
    }

    /// Makes two combinators one, in a way that is possible.
    fn unite(&mut self, graph: &mut Graph, first: usize, second: usize, way: Way) -> bool {
        let (Some(producer), Some(mut consumer)) = (graph.take(first).pop(), graph.take(second).pop()) else {
            return false;
        };
        consumer.aux.prov = self.provs.join(producer.aux.prov, consumer.aux.prov);
        let read = inputs(&consumer.exp).to_vec();
        let results: Vec<Name> = producer.pat.iter().map(|param| param.name).collect();
        let uses = &self.uses;
        let kept = |name: Name| uses[name.index()] > Self::among(name, &read);
        let fused = merge::merge(way, producer, consumer, &kept, self.names, &mut self.types);
        // The inputs are no uses any more.
        for name in results {
            self.uses[name.index()] -= Self::among(name, &read);
        }
        self.uses.resize(self.names.len(), 1);
        graph.unite(first, second, vec![fused]);
        true
    }
}

/// Whether the statement may fuse with others.
fn is_candidate(stm: &Stm<Soacs>) -> bool {
    matches!(stm.exp, Exp::Op(Soac::Screma(_) | Soac::Hist { .. } | Soac::WithAcc { .. }))
}

/// Whether the statement gives a slice of an array.
fn is_slice(stm: &Stm<Soacs>) -> bool {
    let slice = matches!(stm.exp, Exp::Basic(BasicOp::Index { .. }));
    slice && stm.pat.iter().all(|param| param.ty.is_array())
}

/// The inputs of a combinator, to change them.
fn inputs_mut(exp: &mut Exp<Soacs>) -> Option<&mut Vec<Name>> {
    use ir::soac::Screma;
    match exp {
        Exp::Op(Soac::Screma(Screma { inputs, .. }) | Soac::Hist { inputs, .. }) => Some(inputs),
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => None,
    }
}

/// Whether a statement makes a new array.
fn makes(stm: &Stm<Soacs>) -> bool {
    matches!(stm.exp, Exp::Basic(BasicOp::Replicate { .. } | BasicOp::Scratch { .. } | BasicOp::Copy(_)))
}

//! Fusion: combinators that feed each other become one.
//!
//! ```text
//! let ys = map w (x <- xs) -> f x
//! let z  = reduce w (y <- ys) op 0        let z = redomap w (x <- xs) -> f x
//!                                                 op 0
//! ```
//!
//! A producer is fused into a consumer of the same body and width that reads
//! its results elementwise, at the consumer's place. Nothing is computed twice:
//! the producer is gone, and results of it that others use come out of the
//! fused combinator. So it must be that
//!
//! - nobody has used a result of the producer before, and the consumer uses
//!   them as inputs only;
//! - nothing that the producer reads was consumed since, nor is by the consumer;
//! - the fused combinator has not both scans and reductions (which would fall
//!   apart again): what follows a scan elementwise goes to its `post` lambda;
//! - the producer passes no accumulators on.
//!
//! A map or scan that only a combinator inside a `withacc` reads moves in there
//! first.
//! Where the last element of such a scan is read too, [`totals`] has a reduction
//! give it.
//!
//! Bodies are visited innermost first, statements in order, so that a chain of
//! any length fuses in one walk; what lies in the lambdas of both fuses in the
//! next. Maps that could go to a reduction before them, which maps out what they
//! read, wait until they have gone to no scan after them. [`merge`] makes the
//! fused combinators.
//!
//! Needs: no dead code. Guarantees: each fusion takes one unit of fuel.

mod merge;
mod totals;

use crate::alias::Aliases;
use crate::passes::Signatures;
use crate::simplify;
use indexmap::IndexMap;
use ir::decision::{Apart, Kind};
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Stm};
use ir::types::Type;
use ir::walk::{Operation, Visit, VisitMut, free_names_exp, with_stack};
use ir::{Context, Fuel, Name, NameTable, PassError, Prov, ProvTable, Soacs, TypeEnv};
use merge::Way;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::sync::Arc;

/// How often a function is walked at most: a fusion brings combinators inside
/// the two lambdas together, which the next walk finds.
const MAX_ROUNDS: usize = 8;

/// Fuses what can be in a function, and simplifies what that makes.
pub(crate) fn fuse(
    mut function: Function<Soacs>,
    signatures: &Signatures,
    context: &mut Context,
) -> Result<Function<Soacs>, PassError> {
    let mut beside = false;
    let mut fates = Fates::default();
    for _ in 0..MAX_ROUNDS {
        if walk(&mut function, signatures, context, beside, &mut fates)
            || totals::totals(&mut function, &mut context.fuel)
        {
            function = simplify::simplify(function, signatures, context)?;
        } else if beside {
            break;
        } else {
            beside = true;
        }
    }
    for ((producer, consumer), (why, prov)) in fates {
        let kind = match why {
            None => Kind::Fused { producer, consumer },
            Some(why) => Kind::Apart {
                producer,
                consumer,
                why,
            },
        };
        context.decide(&function.name.0, function.provs.stack(prov), kind);
    }
    Ok(function)
}

/// One walk; whether something was fused. `beside` says whether reductions take
/// maps beside them in.
fn walk(
    function: &mut Function<Soacs>,
    signatures: &Signatures,
    context: &mut Context,
    beside: bool,
    fates: &mut Fates,
) -> bool {
    let types = TypeEnv::of_function(function);
    let aliases = Aliases::of(function, &types, signatures);
    let uses = Uses::of(function);
    let mut fuser = Fuser {
        seen: vec![0; uses.0.len()],
        uses: uses.0,
        names: &mut function.names,
        provs: &mut function.provs,
        types,
        aliases,
        signatures,
        consumed: 0,
        last_consumed: FxHashMap::default(),
        made: FxHashSet::default(),
        fuel: &mut context.fuel,
        beside,
        fates,
        fused: false,
    };
    fuser.fuse_body(&mut function.body);
    fuser.fused
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
    /// How often it was used up to here.
    seen: Vec<u32>,
    names: &'a mut NameTable,
    provs: &'a mut ProvTable,
    types: TypeEnv,
    aliases: Aliases,
    signatures: &'a Signatures,
    /// How many classes have been consumed up to here.
    consumed: usize,
    /// For each class that was, how many had been after it was the last time.
    last_consumed: FxHashMap<usize, usize>,
    /// Arrays that were made anew.
    made: FxHashSet<Name>,
    fuel: &'a mut Fuel,
    /// Whether maps go to reductions over the same arrays.
    beside: bool,
    /// For each pair that was looked at, why it stays apart, if it does.
    fates: &'a mut Fates,
    fused: bool,
}

/// For a producer and a consumer why they stay apart, nothing if they do not; the
/// last walk's word counts.
type Fates = IndexMap<(Arc<str>, Arc<str>), (Option<Apart>, Prov), FxBuildHasher>;

/// A statement that may be a producer.
struct Placed {
    stm: Option<Stm<Soacs>>,
    /// How much had been consumed after it.
    consumed: usize,
}

impl VisitMut<Soacs> for Fuser<'_> {
    fn name(&mut self, name: &mut Name) {
        self.seen[name.index()] += 1;
    }

    fn body(&mut self, body: &mut Body<Soacs>) {
        self.fuse_body(body);
    }
}

impl Fuser<'_> {
    fn fuse_body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| {
            let stms = std::mem::take(&mut body.stms);
            let mut placed: Vec<Placed> = Vec::with_capacity(stms.len());
            let mut producers: FxHashMap<Name, usize> = FxHashMap::default();
            for mut stm in stms {
                self.sink(&mut stm, &mut placed, &producers);
                self.stm(&mut stm);
                self.consume(&stm.exp);
                while let Some((i, way)) = self.producer_for(&stm, &placed, &producers) {
                    let Some(producer) = placed[i].stm.take() else {
                        break;
                    };
                    stm = self.merge(way, producer, stm);
                    self.fused = true;
                }
                if makes(&stm.exp) {
                    self.made.extend(stm.pat.iter().map(|param| param.name));
                }
                if matches!(stm.exp, Exp::Op(Soac::Screma(_))) {
                    for param in &stm.pat {
                        producers.insert(param.name, placed.len());
                    }
                }
                placed.push(Placed {
                    stm: Some(stm),
                    consumed: self.consumed,
                });
            }
            for atom in &mut body.result {
                VisitMut::<Soacs>::atom(self, atom);
            }
            body.stms = placed.into_iter().filter_map(|placed| placed.stm).collect();
        });
    }

    /// Notes what an expression itself consumes.
    fn consume(&mut self, exp: &Exp<Soacs>) {
        let mut names: Vec<Name> = Vec::new();
        match exp {
            // An accumulator's arrays were consumed by its `withacc`: nothing beside
            // it denotes them.
            Exp::Basic(BasicOp::Update { array, .. } | BasicOp::FlatUpdate { array, .. }) => {
                names.push(*array);
            }
            Exp::Basic(_) | Exp::If { .. } => {}
            Exp::Loop { params, .. } => {
                let consumed = params.iter().filter(|p| p.consumed);
                names.extend(consumed.filter_map(|p| p.init.var()));
            }
            Exp::Apply { fun, args } => {
                let signature = self.signatures.get(fun);
                for (i, arg) in args.iter().enumerate() {
                    let consumed =
                        signature.is_none_or(|signature| signature.consumed.get(i) != Some(&false));
                    if let (true, Atom::Var(name)) = (consumed, arg) {
                        names.push(*name);
                    }
                }
            }
            Exp::Op(op) => names = op.consumed(),
        }
        for name in names {
            self.consumed += 1;
            let class = self.aliases.class(name);
            self.last_consumed.insert(class, self.consumed);
        }
    }

    /// Whether nothing that the statement reads was consumed since, or is in `more`.
    fn unharmed(&self, stm: &Stm<Soacs>, since: usize, more: &[Name]) -> bool {
        if self.consumed <= since && more.is_empty() {
            return true;
        }
        let more: FxHashSet<usize> = more.iter().map(|name| self.aliases.class(*name)).collect();
        free_names_exp(&stm.exp)
            .into_iter()
            .filter(|name| self.types.get(*name).is_some_and(Type::is_array))
            .map(|name| self.aliases.class(name))
            .all(|class| {
                let last = self.last_consumed.get(&class);
                !more.contains(&class) && last.is_none_or(|last| *last <= since)
            })
    }

    /// A statement that can be fused into this one, which was visited already.
    fn producer_for(
        &mut self,
        stm: &Stm<Soacs>,
        placed: &[Placed],
        producers: &FxHashMap<Name, usize>,
    ) -> Option<(usize, Way)> {
        let Exp::Op(Soac::Screma(Screma { inputs, .. }) | Soac::Hist { inputs, .. }) = &stm.exp
        else {
            return None;
        };
        let mut tried: Vec<usize> = Vec::new();
        for input in inputs {
            let Some(&i) = producers.get(input) else {
                continue;
            };
            if tried.contains(&i) {
                continue;
            }
            tried.push(i);
            let Some(producer) = &placed[i].stm else {
                continue;
            };
            if !self.beside && merge::is_beside(producer, stm) {
                continue;
            }
            let way = self.way(producer, stm, inputs, placed[i].consumed);
            let pair = (self.hint(producer), self.hint(stm));
            match way {
                Ok(way) => {
                    self.fates.insert(pair, (None, stm.aux.prov));
                    return Some((i, way));
                }
                Err(why) => {
                    self.fates.insert(pair, (Some(why), stm.aux.prov));
                }
            }
        }
        None
    }

    /// How a producer goes into a consumer, since which so much was consumed.
    fn way(
        &mut self,
        producer: &Stm<Soacs>,
        consumer: &Stm<Soacs>,
        inputs: &[Name],
        since: usize,
    ) -> Result<Way, Apart> {
        if !self.reads_elementwise(producer, inputs) {
            return Err(Apart::ReadOtherwise);
        }
        let way = merge::possible(producer, consumer, &|name| self.is_kept(name, inputs))?;
        if !self.unharmed(producer, since, &[]) {
            return Err(Apart::Overwritten);
        }
        if !self.fuel.take() {
            return Err(Apart::Fuel);
        }
        Ok(way)
    }

    /// What a statement is called in decisions: its first result.
    fn hint(&self, stm: &Stm<Soacs>) -> Arc<str> {
        let first = stm.pat.first().map(|param| param.name);
        first.map_or_else(
            || Arc::from("?"),
            |name| Arc::from(format!("{}_{}", self.names.hint(name), name.index())),
        )
    }

    /// How often an array is among the inputs.
    fn among(name: Name, inputs: &[Name]) -> u32 {
        inputs.iter().filter(|input| **input == name).count() as u32
    }

    /// Whether all uses so far of the producer's results are these inputs.
    fn reads_elementwise(&self, producer: &Stm<Soacs>, inputs: &[Name]) -> bool {
        producer
            .pat
            .iter()
            .all(|param| self.seen[param.name.index()] == Self::among(param.name, inputs))
    }

    /// Whether a producer's result is used beside these inputs.
    fn is_kept(&self, name: Name, inputs: &[Name]) -> bool {
        self.uses[name.index()] > Self::among(name, inputs)
    }

    fn merge(&mut self, way: Way, producer: Stm<Soacs>, mut consumer: Stm<Soacs>) -> Stm<Soacs> {
        consumer.aux.prov = self.provs.join(producer.aux.prov, consumer.aux.prov);
        let inputs =
            if let Exp::Op(Soac::Screma(Screma { inputs, .. }) | Soac::Hist { inputs, .. }) =
                &consumer.exp
            {
                inputs.clone()
            } else {
                Vec::new()
            };
        let results: Vec<Name> = producer.pat.iter().map(|param| param.name).collect();
        let uses = &self.uses;
        let kept = |name: Name| uses[name.index()] > Self::among(name, &inputs);
        let fused = merge::merge(way, producer, consumer, &kept, self.names, &mut self.types);
        // The inputs are no uses any more.
        for name in results {
            let gone = Self::among(name, &inputs);
            self.uses[name.index()] -= gone;
            self.seen[name.index()] -= gone;
        }
        self.uses.resize(self.names.len(), 1);
        self.seen.resize(self.names.len(), 1);
        fused
    }

    /// Moves maps and scans that only combinators inside a `withacc` read into it.
    fn sink(
        &mut self,
        stm: &mut Stm<Soacs>,
        placed: &mut [Placed],
        producers: &FxHashMap<Name, usize>,
    ) {
        let Exp::Op(Soac::WithAcc { inputs, lambda }) = &mut stm.exp else {
            return;
        };
        // An array that was made here for the `withacc` alone has no other names.
        let dests: Vec<Name> = inputs
            .iter()
            .flat_map(|input| input.arrays.iter().copied())
            .filter(|dest| self.uses[dest.index()] != 1 || !self.made.contains(dest))
            .collect();
        let mut moved: Vec<(usize, usize)> = Vec::new();
        for (at, inner) in lambda.body.stms.iter().enumerate() {
            let Exp::Op(Soac::Screma(Screma { inputs, .. })) = &inner.exp else {
                continue;
            };
            for input in inputs {
                let Some(&i) = producers.get(input) else {
                    continue;
                };
                let Some(producer) = &placed[i].stm else {
                    continue;
                };
                if moved.iter().any(|(other, _)| *other == i) {
                    continue;
                }
                let alone = producer
                    .pat
                    .iter()
                    .all(|param| self.uses[param.name.index()] == Self::among(param.name, inputs));
                if alone
                    && merge::maps_or_scans(producer)
                    && merge::possible(producer, inner, &|_| false).is_ok()
                    && self.unharmed(producer, placed[i].consumed, &dests)
                    && self.fuel.take()
                {
                    moved.push((i, at));
                }
            }
        }
        for (i, at) in moved.into_iter().rev() {
            if let Some(mut producer) = placed[i].stm.take() {
                Unsee(&mut self.seen).stm(&mut producer);
                lambda.body.stms.insert(at, producer);
            }
        }
    }
}

/// Whether an expression makes a new array.
fn makes(exp: &Exp<Soacs>) -> bool {
    matches!(
        exp,
        Exp::Basic(BasicOp::Replicate { .. } | BasicOp::Scratch { .. } | BasicOp::Copy(_))
    )
}

/// Takes a statement's uses back: it will be visited again elsewhere.
struct Unsee<'a>(&'a mut Vec<u32>);

impl VisitMut<Soacs> for Unsee<'_> {
    fn name(&mut self, name: &mut Name) {
        let seen = &mut self.0[name.index()];
        *seen = seen.saturating_sub(1);
    }
}

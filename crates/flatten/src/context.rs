//! The context of a function being flattened: names and their types, parameters,
//! guards, decisions.

use crate::functions::{Callees, Version};
use crate::position::Position;
use crate::rules::{Lift, Signature};
use ir::decision::{Kind, Operation, Runs, Sequential};
use ir::folds::Folds;
use ir::mem::{Lmad, view};
use ir::name::{FunName, Name, NameTable, Prov, ProvTable, SrcLoc};
use ir::soac::Screma;
use ir::syntax::{Atom, Attr, Aux, BasicOp, Body, DimIndex, Exp, Lambda, Level, LoopForm, Param, Stm};
use ir::tunable::{Class, Rule, Table, Tunable, TunableId};
use ir::types::{Dim, Shape, Type};
use ir::typing::TypeEnv;
use ir::walk::{Substitution, refresh_lambda};
use ir::{Builder, Flatten, Fuel, Options, PassError, Segs, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use target::levels::Stack;

/// A function being flattened.
pub(crate) struct Ctx<'a> {
    names: NameTable,
    pub(crate) types: TypeEnv,
    provs: &'a ProvTable,
    callees: &'a Callees,
    /// Versions of functions that are called.
    pub(crate) called: Vec<Version>,
    pub(crate) stack: Stack,
    pub(crate) mode: Flatten,
    /// Whether what is bound now is bound inside a segop.
    is_inside: bool,
    /// Names that are bound inside a segop.
    inside: FxHashSet<Name>,
    /// Where views lie in what they are views of, as far as it shows here.
    views: FxHashMap<Name, Lmad>,
    /// Tokens of accumulators with an operator.
    combining: FxHashSet<Name>,
    /// Arrays that repeat one value: over which dimensions, and the value.
    pub(crate) replicates: FxHashMap<Name, (Shape, Atom)>,
    /// Guards to stand before the segop that is being made.
    guards: Vec<Guard>,
    /// Whether there is such a segop.
    guarded: bool,
    /// The function's tuning parameters up to here.
    pub(crate) tunables: Table,
    /// Points of the segops around at a level that may contain itself, as far as they are
    /// counted: their tasks go on beside those inside.
    pub(crate) beside: Option<Atom>,
    /// Whether combinators may be shared by the lanes of one worker.
    pub(crate) lanes: Lanes,
    /// Which way those go that may be, in the segop that is being made.
    pub(crate) arm: Arm,
    /// Whether a fold in the segop that is being made is both ways, behind its own comparison.
    pub(crate) both: bool,
    /// How many choices between versions there are around.
    pub(crate) choices: u32,
    /// Whether there is a loop over the points of a map around, in the segop that is being
    /// made.
    pub(crate) rows: bool,
    /// Results of scans that reductions alone read, and in order ([`crate::decomp::summed`]).
    pub(crate) summed: FxHashSet<Name>,
    /// How many choices may still be made that flattening gets on without.
    pub(crate) fuel: &'a mut Fuel,
    /// What was decided, where that is wanted.
    decided: Option<Vec<(Prov, Kind)>>,
    /// Where the outermost combinator comes from that is being flattened.
    pub(crate) outermost: Prov,
    /// Whether an attribute asks for sequential code here.
    pub(crate) asked: bool,
    /// Whether an attribute asks for sequential code of what is irregular.
    pub(crate) even: bool,
    /// The functions that have versions for all points of a nest.
    pub(crate) lifts: Arc<FxHashSet<FunName>>,
}

/// Whether attributes leave it open that the lanes of one worker share a
/// combinator.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    /// That which is being flattened.
    pub(crate) here: bool,
    /// Those inside of it.
    pub(crate) inside: bool,
}

/// Which way combinators go that the lanes of one worker may share where their sizes
/// suffice, in a segop before which that is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    /// Lanes share them; which sizes decide is not known yet.
    Shared,
    /// Lanes share them, as the one size that decides suffices.
    Long,
    /// Each is both, behind its own comparison.
    Each,
    /// They are loops.
    Loops,
}

/// A comparison that decides between versions: whether a size is no less than a
/// tuning parameter.
#[derive(Clone, Copy)]
pub(crate) struct Guard {
    pub(crate) cond: Name,
    size: Name,
    tunable: TunableId,
}

/// The parts of a segop at level 1, and what came up while they were made.
pub(crate) struct InSeg<T> {
    pub(crate) parts: T,
    pub(crate) guards: Vec<Guard>,
    /// Whether a fold is both ways, behind its own comparison.
    pub(crate) both: bool,
}

impl Guard {
    /// Appends the comparison.
    pub(crate) fn compare(self, ctx: &mut Ctx<'_>, aux: &Aux, out: &mut Vec<Stm<Segs>>) {
        let pat = vec![ctx.param::<Segs>(Param { name: self.cond, ty: Type::BOOL, ann: () })];
        out.push(Stm {
            pat,
            aux: Aux::at(aux.prov),
            exp: Exp::Basic(BasicOp::SizeAtLeast { size: self.size.into(), tunable: self.tunable }),
        });
    }
}

impl<'a> Ctx<'a> {
    pub(crate) fn new(
        names: NameTable,
        types: TypeEnv,
        provs: &'a ProvTable,
        callees: &'a Callees,
        at: Position,
        (fuel, options): (&'a mut Fuel, &Options),
    ) -> Self {
        Self {
            names,
            types,
            provs,
            callees,
            called: Vec::new(),
            stack: options.stack,
            mode: options.flatten,
            is_inside: at.around.is_some(),
            inside: FxHashSet::default(),
            views: FxHashMap::default(),
            combining: FxHashSet::default(),
            replicates: FxHashMap::default(),
            guards: Vec::new(),
            guarded: false,
            tunables: Table::default(),
            beside: None,
            lanes: Lanes { here: true, inside: true },
            arm: Arm::Shared,
            both: false,
            choices: 0,
            rows: false,
            summed: FxHashSet::default(),
            fuel,
            decided: options.account.then(Vec::new),
            outermost: Prov::NONE,
            asked: false,
            even: false,
            lifts: callees.lifts(),
        }
    }

    /// What a call of a function from a position calls.
    pub(crate) fn callee(&mut self, fun: &FunName, at: Position) -> FunName {
        let version = self.callees.version(fun, at, self.stack);
        let name = version.name(self.stack);
        self.called.push(version);
        name
    }

    /// What a function looks like that has versions for all points of a nest.
    pub(crate) fn signature(&self, fun: &FunName) -> Result<Signature, PassError> {
        let known = self.callees.signature(fun).cloned();
        known.ok_or_else(|| PassError::bug(format!("{fun} has no version for all points")))
    }

    /// What a call of a function at all points of a nest calls.
    pub(crate) fn lifted(&mut self, fun: &FunName, lift: Lift) -> FunName {
        let version = Callees::lift(fun, lift, self.stack);
        let name = version.name(self.stack);
        self.called.push(version);
        name
    }

    /// Whether a function consumes the argument at a position.
    pub(crate) fn consumes(&self, fun: &FunName, argument: usize) -> bool {
        self.callees.consumes(fun, argument)
    }

    /// Notes how a combinator runs, where somebody wants to know.
    pub(crate) fn decide(&mut self, aux: &Aux, what: Operation, how: impl FnOnce(&Self) -> Runs) {
        self.note_decision(aux, |ctx| Kind::Runs { what, how: how(ctx), parts: ctx.provs.stacks(aux.prov) });
    }

    /// Notes what was decided at a statement, where somebody wants to know.
    pub(crate) fn note_decision(&mut self, aux: &Aux, kind: impl FnOnce(&Self) -> Kind) {
        if self.decided.is_some() {
            let kind = kind(self);
            self.decided.get_or_insert_default().push((aux.prov, kind));
        }
    }

    /// Notes that a combinator becomes a sequential loop.
    pub(crate) fn decide_loop(&mut self, aux: &Aux, what: Operation, at: Position) {
        self.decide(aux, what, |ctx| {
            let asked = ctx.asked || !ctx.stack.is_parallel();
            Runs::Loop(if asked || aux.attrs.has(&Attr::SequentialOuter) {
                Sequential::Asked
            } else if at.around.is_some() {
                Sequential::Inside(ctx.around())
            } else {
                Sequential::ArrayOperator
            })
        });
    }

    /// Where the outermost combinator comes from that is being flattened.
    pub(crate) fn around(&self) -> Vec<SrcLoc> {
        self.provs.stack(self.outermost)
    }

    /// What was decided.
    pub(crate) fn decided(&mut self) -> Vec<(Prov, Kind)> {
        self.decided.take().unwrap_or_default()
    }

    /// The table of names.
    pub(crate) fn names(&mut self) -> &mut NameTable {
        &mut self.names
    }

    /// Makes the parts of a segop at level 1, whose combinators that lanes may share go the
    /// way that is told, with the guards that have to stand before it beside those that are
    /// known to.
    pub(crate) fn in_seg<T>(
        &mut self,
        (arm, guards): (Arm, Vec<Guard>),
        f: impl FnOnce(&mut Self) -> Result<T, PassError>,
    ) -> Result<InSeg<T>, PassError> {
        let around = (self.is_inside, self.guarded, self.rows, self.arm);
        let before = std::mem::replace(&mut self.guards, guards);
        let both = std::mem::replace(&mut self.both, false);
        (self.is_inside, self.guarded, self.rows, self.arm) = (true, true, false, arm);
        let parts = f(self)?;
        (self.is_inside, self.guarded, self.rows, self.arm) = around;
        Ok(InSeg {
            parts,
            guards: std::mem::replace(&mut self.guards, before),
            both: std::mem::replace(&mut self.both, both),
        })
    }

    /// Whether a size is known before the segop that is being made.
    pub(crate) fn is_outside(&self, size: Name) -> bool {
        self.guarded && !self.is_inside(size)
    }

    /// A condition that holds if a size is no less than a parameter that the rule
    /// makes, which is `least` by default: before the segop that is being made if
    /// the size is known there, else here. Before a segop there is one for each
    /// size and rule, by default the least that is asked for.
    pub(crate) fn guard(
        &mut self,
        size: Name,
        rule: Rule,
        least: i64,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Atom {
        let outside = self.is_outside(size);
        if outside {
            for guard in self.guards.iter().filter(|guard| guard.size == size) {
                let known = self.tunables.get_mut(guard.tunable);
                if let Some(tunable) = known.filter(|tunable| tunable.rule == rule) {
                    tunable.default = tunable.default.min(least);
                    return guard.cond.into();
                }
            }
        }
        let cond = self.names.fresh("long");
        let tunable = self.threshold(rule, least);
        let guard = Guard { cond, size, tunable };
        if outside {
            self.guards.push(guard);
        } else {
            guard.compare(self, aux, out);
        }
        cond.into()
    }

    /// From now on accumulators of this token have an operator.
    pub(crate) fn note_combining(&mut self, token: Name) {
        self.combining.insert(token);
    }

    /// Whether there are accumulators with an operator among these types.
    pub(crate) fn combines(&self, types: &[Type]) -> bool {
        types.iter().any(|ty| matches!(ty, Type::Acc { token, .. } if self.combining.contains(token)))
    }

    /// Begins with the parameters that the function has.
    pub(crate) fn adopt(&mut self, tunables: Vec<Tunable>) {
        self.tunables = Table::of(tunables);
    }

    /// A new parameter.
    pub(crate) fn threshold(&mut self, rule: Rule, default: i64) -> TunableId {
        self.tunables.add(rule, Class::Threshold, default)
    }

    /// Whether a name is bound inside a segop.
    pub(crate) fn is_inside(&self, name: Name) -> bool {
        self.inside.contains(&name)
    }

    /// Whether the elements of an array do not lie next to each other in the innermost
    /// dimension, as far as views show.
    pub(crate) fn is_strided(&self, array: Name) -> bool {
        let innermost = self.views.get(&array).and_then(|lmad| lmad.dims.last());
        innermost.is_some_and(|dim| dim.stride.as_constant() != Some(1))
    }

    pub(crate) fn into_names(self) -> NameTable {
        self.names
    }

    /// The places of a statement, for errors.
    pub(crate) fn stack(&self, aux: &Aux) -> Vec<SrcLoc> {
        self.provs.stack(aux.prov)
    }

    /// The type of a name that was bound before.
    pub(crate) fn type_of(&self, name: Name) -> Result<Type, PassError> {
        let known = self.types.get(name).cloned();
        known.ok_or_else(|| PassError::bug(format!("{name:?} is used before it is bound")))
    }

    /// A fresh name with its type.
    pub(crate) fn fresh<L: Level<Ann = ()>>(&mut self, hint: &str, ty: Type) -> Param<L> {
        let name = self.names.fresh(hint);
        self.note(name, ty.clone());
        Param { name, ty, ann: () }
    }

    /// A fresh name for each of these, with their types.
    pub(crate) fn fresh_like<L: Level<Ann = ()>>(&mut self, params: &[Param<Soacs>]) -> Vec<Param<L>> {
        let params = params.iter();
        let fresh = params.map(|param| {
            let name = self.names.fresh_like(param.name);
            self.note(name, param.ty.clone());
            let ty = param.ty.clone();
            Param { name, ty, ann: () }
        });
        fresh.collect()
    }

    /// Makes statements that come from where a statement comes from.
    pub(crate) fn builder<L: Level<Ann = ()>>(&mut self, aux: &Aux) -> Builder<'_, L> {
        let mut builder = Builder::new(&mut self.names, &mut self.types);
        builder.prov = aux.prov;
        builder
    }

    /// What is made for names like these, as a body that gives them.
    pub(crate) fn made(
        &mut self,
        pat: &[Param<Soacs>],
        make: impl FnOnce(&mut Self, Vec<Param<Soacs>>, &mut Vec<Stm<Segs>>) -> Result<(), PassError>,
    ) -> Result<Body<Segs>, PassError> {
        let own = self.fresh_like(pat);
        let result = atoms(&own);
        let mut stms = Vec::new();
        make(self, own, &mut stms)?;
        Ok(Body { stms, result })
    }

    /// A copy of a lambda whose names are its own.
    pub(crate) fn copy_lambda(&mut self, lambda: &Lambda<Soacs>) -> Lambda<Soacs> {
        let copy = refresh_lambda(lambda, &mut self.names, &mut Substitution::default());
        self.types.add_params(&copy.params);
        self.types.add_body(&copy.body);
        copy
    }

    /// A copy of operators whose names are its own.
    pub(crate) fn copy_folds(&mut self, folds: &Folds<Soacs>) -> Folds<Soacs> {
        let copy = folds.refreshed(&mut self.names);
        for lambda in copy.lambdas() {
            self.types.add_params(&lambda.params);
            self.types.add_body(&lambda.body);
        }
        copy
    }

    /// A copy of a screma whose names are its own.
    pub(crate) fn copy_screma(&mut self, s: &Screma) -> Screma {
        Screma {
            width: s.width,
            inputs: s.inputs.clone(),
            map: self.copy_lambda(&s.map),
            folds: self.copy_folds(&s.folds),
        }
    }

    /// A loop's counter is bound.
    pub(crate) fn note_counter(&mut self, form: LoopForm) {
        if let LoopForm::For { var, ty, bound: _ } = form {
            self.note(var, Type::Prim(ty));
        }
    }

    fn note(&mut self, name: Name, ty: Type) {
        self.types.set(name, ty);
        if self.is_inside {
            self.inside.insert(name);
        }
    }

    /// A bound name at the level of segops, its type noted.
    pub(crate) fn param<L: Level<Ann = ()>>(&mut self, param: Param<L>) -> Param<Segs> {
        let Param { name, ty, ann: () } = param;
        self.note(name, ty.clone());
        Param { name, ty, ann: () }
    }

    pub(crate) fn params<L: Level<Ann = ()>>(&mut self, params: Vec<Param<L>>) -> Vec<Param<Segs>> {
        params.into_iter().map(|p| self.param(p)).collect()
    }

    /// Notes where a view lies; what it is a view of is taken to be row-major.
    pub(crate) fn note_view(&mut self, param: &Param<Soacs>, op: &BasicOp) {
        let lies = |array| {
            let known = self.views.get(&array).cloned();
            known.or_else(|| Some(Lmad::row_major(self.types.get(array)?.shape())))
        };
        if param.ty.is_array()
            && let Some((_, lmad)) = view(op, param.ty.shape(), lies)
        {
            self.views.insert(param.name, lmad);
        }
    }
}

/// The names as operands.
pub(crate) fn atoms<L: Level>(params: &[Param<L>]) -> Vec<Atom> {
    params.iter().map(|param| param.name.into()).collect()
}

/// The slice that is the row at an index of the outermost dimension.
pub(crate) fn row_slice(ty: &Type, index: Atom) -> Vec<DimIndex> {
    slice(ty, DimIndex::Fix(index))
}

/// The slice that is so many rows from one on.
pub(crate) fn rows_slice(ty: &Type, start: Atom, count: Dim) -> Vec<DimIndex> {
    let stride = Atom::i64(1);
    slice(ty, DimIndex::Slice { start, count, stride })
}

/// A slice of the outermost dimension, and all of the others.
fn slice(ty: &Type, first: DimIndex) -> Vec<DimIndex> {
    let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
    let rest = ty.shape().iter().skip(1).map(full);
    std::iter::once(first).chain(rest).collect()
}

/// The part of an array, of this type, at these indices of the outer dimensions.
pub(crate) fn part(array: Name, indices: &[Atom], ty: &Type) -> BasicOp {
    let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
    let fixed = indices.iter().copied().map(DimIndex::Fix);
    BasicOp::Index { array, slice: fixed.chain(ty.shape().iter().map(full)).collect() }
}

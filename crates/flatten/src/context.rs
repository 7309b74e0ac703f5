//! The state of flattening one function: names and their types, tuning parameters, guards,
//! decisions.

use crate::functions::{Callees, Version};
use crate::position::Position;
use crate::rules::{Lift, Signature};
use ir::mem::{Lmad, view};
use ir::name::{FunName, Name, NameTable, Prov, ProvTable, SrcLoc};
use ir::remark::{Execution, OperationKind, RemarkKind, Sequential};
use ir::scan_reduce::ScanReduce;
use ir::soac::Screma;
use ir::syntax::{Atom, Attr, Aux, BasicOp, Body, DimIndex, Exp, Lambda, Level, LoopForm, Param, Stm};
use ir::tunable::{Class, Rule, Tunable, TunableId, TunableTable};
use ir::types::{Dim, Shape, Type};
use ir::typing::TypeEnv;
use ir::walk::{Substitution, refresh_lambda};
use ir::{Builder, Flatten, Fuel, Options, PassError, Segs, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use target::levels::Stack;

/// The state of flattening one function.
pub(crate) struct Ctx<'a> {
    names: NameTable,
    pub(crate) types: TypeEnv,
    provs: &'a ProvTable,
    callees: &'a Callees,
    /// Versions of functions that are called.
    pub(crate) called: Vec<Version>,
    pub(crate) stack: Stack,
    pub(crate) mode: Flatten,
    /// True while names are bound inside a segop.
    is_inside: bool,
    /// Names that are bound inside a segop.
    bound_in_segop: FxHashSet<Name>,
    /// The index function of each view within the array it views, as far as it is known here.
    views: FxHashMap<Name, Lmad>,
    /// Tokens of accumulators with an operator.
    with_operator: FxHashSet<Name>,
    /// Arrays that repeat one value: the repeated dimensions and the value.
    pub(crate) replicates: FxHashMap<Name, (Shape, Atom)>,
    /// Guards to be computed before the segop that is being made.
    guards: Vec<Guard>,
    /// True if a segop is being made.
    making_segop: bool,
    /// The function's tuning parameters so far.
    pub(crate) tunables: TunableTable,
    /// The product of the widths of enclosing segops at a level that may contain itself, as far as
    /// it is counted: their tasks run concurrently with those inside.
    pub(crate) outer_parallelism: Option<Atom>,
    /// Where the lanes of one worker may share combinators.
    pub(crate) lanes: LaneSharing,
    /// Which versions are emitted of combinators that lanes may share, in the segop that is being
    /// made.
    pub(crate) lane_versions: LaneVersions,
    /// True if a scan or reduction in the segop that is being made has both versions, behind its
    /// own comparison.
    pub(crate) has_both_versions: bool,
    /// The number of enclosing choices between versions.
    pub(crate) choice_depth: u32,
    /// True if the segop that is being made has an enclosing loop over the iterations of a map.
    pub(crate) in_map_loop: bool,
    /// Results of scans that only sequential reductions read ([`crate::decomp::summed`]).
    pub(crate) summed: FxHashSet<Name>,
    /// The number of optional choices that may still be made.
    pub(crate) fuel: &'a mut Fuel,
    /// The decisions so far; `None` if no remarks are requested.
    decided: Option<Vec<(Prov, RemarkKind)>>,
    /// Provenance of the outermost combinator that is being flattened.
    pub(crate) outermost: Prov,
    /// True if an attribute requests sequential code here.
    pub(crate) sequential_requested: bool,
    /// True if an attribute requests sequential code for irregular parallelism.
    pub(crate) sequentialise_irregular: bool,
    /// The functions that have lifted versions.
    pub(crate) lifted_functions: Arc<FxHashSet<FunName>>,
}

/// True where no attribute forbids sharing a combinator among the lanes of one worker.
#[derive(Clone, Copy)]
pub(crate) struct LaneSharing {
    /// For the combinator that is being flattened.
    pub(crate) here: bool,
    /// For the combinators inside it.
    pub(crate) inside: bool,
}

/// Which versions are emitted, in a segop, of combinators that lanes may share if their sizes
/// suffice, where a size is known before the segop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneVersions {
    /// The version shared by lanes; the sizes to compare are not known yet.
    Shared,
    /// The version shared by lanes; the only size compared suffices.
    Long,
    /// Both versions, each combinator behind its own comparison.
    Each,
    /// Loops.
    Loops,
}

/// A comparison of a size with a tuning parameter that chooses between versions: it holds if the
/// size is at least the parameter.
#[derive(Clone, Copy)]
pub(crate) struct Guard {
    pub(crate) cond: Name,
    size: Name,
    tunable: TunableId,
}

/// The parts of a segop, and the guards collected while they were made.
pub(crate) struct SegopParts<T> {
    pub(crate) parts: T,
    pub(crate) guards: Vec<Guard>,
    /// True if a scan or reduction has both versions, behind its own comparison.
    pub(crate) has_both_versions: bool,
}

impl Guard {
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
            is_inside: at.enclosing.is_some(),
            bound_in_segop: FxHashSet::default(),
            views: FxHashMap::default(),
            with_operator: FxHashSet::default(),
            replicates: FxHashMap::default(),
            guards: Vec::new(),
            making_segop: false,
            tunables: TunableTable::default(),
            outer_parallelism: None,
            lanes: LaneSharing { here: true, inside: true },
            lane_versions: LaneVersions::Shared,
            has_both_versions: false,
            choice_depth: 0,
            in_map_loop: false,
            summed: FxHashSet::default(),
            fuel,
            decided: options.remarks.then(Vec::new),
            outermost: Prov::NONE,
            sequential_requested: false,
            sequentialise_irregular: false,
            lifted_functions: callees.lifts(),
        }
    }

    /// Returns the version of a function to call from a position, and records the call.
    pub(crate) fn call_version(&mut self, fun: &FunName, at: Position) -> FunName {
        let version = self.callees.version(fun, at, self.stack);
        let name = version.name(self.stack);
        self.called.push(version);
        name
    }

    /// Returns the signature of a function that has lifted versions.
    pub(crate) fn signature(&self, fun: &FunName) -> Result<Signature, PassError> {
        let known = self.callees.signature(fun).cloned();
        known.ok_or_else(|| PassError::bug(format!("{fun} has no lifted version")))
    }

    /// Returns the lifted version of a function, and records the call.
    pub(crate) fn call_lifted(&mut self, fun: &FunName, lift: Lift) -> FunName {
        let version = Callees::lift(fun, lift, self.stack);
        let name = version.name(self.stack);
        self.called.push(version);
        name
    }

    /// Returns true if a function consumes its argument of this index.
    pub(crate) fn consumes(&self, fun: &FunName, argument: usize) -> bool {
        self.callees.consumes(fun, argument)
    }

    /// Records how a combinator runs, if remarks are requested.
    pub(crate) fn remark(&mut self, aux: &Aux, what: OperationKind, how: impl FnOnce(&Self) -> Execution) {
        self.add_remark(aux, |ctx| RemarkKind::Executes {
            what,
            how: how(ctx),
            parts: ctx.provs.stacks(aux.prov),
        });
    }

    /// Records a decision about a statement, if remarks are requested.
    pub(crate) fn add_remark(&mut self, aux: &Aux, kind: impl FnOnce(&Self) -> RemarkKind) {
        if self.decided.is_some() {
            let kind = kind(self);
            self.decided.get_or_insert_default().push((aux.prov, kind));
        }
    }

    /// Records that a combinator becomes a sequential loop.
    pub(crate) fn remark_loop(&mut self, aux: &Aux, what: OperationKind, at: Position) {
        self.remark(aux, what, |ctx| {
            let requested = ctx.sequential_requested || !ctx.stack.is_parallel();
            Execution::Loop(if requested || aux.attrs.has(&Attr::SequentialOuter) {
                Sequential::Attribute
            } else if at.enclosing.is_some() {
                Sequential::Inside(ctx.outermost_locations())
            } else {
                Sequential::ArrayOperator
            })
        });
    }

    /// The source locations of the outermost combinator that is being flattened.
    pub(crate) fn outermost_locations(&self) -> Vec<SrcLoc> {
        self.provs.stack(self.outermost)
    }

    /// Takes the recorded decisions.
    pub(crate) fn remarks(&mut self) -> Vec<(Prov, RemarkKind)> {
        self.decided.take().unwrap_or_default()
    }

    pub(crate) fn names(&mut self) -> &mut NameTable {
        &mut self.names
    }

    /// Makes the parts of a segop, with these versions of the combinators that lanes may share.
    /// `guards` are known to be computed before the segop; the result has these and the further
    /// ones that the parts need.
    pub(crate) fn make_segop<T>(
        &mut self,
        (versions, guards): (LaneVersions, Vec<Guard>),
        f: impl FnOnce(&mut Self) -> Result<T, PassError>,
    ) -> Result<SegopParts<T>, PassError> {
        let around = (self.is_inside, self.making_segop, self.in_map_loop, self.lane_versions);
        let before = std::mem::replace(&mut self.guards, guards);
        let has_both_versions = std::mem::replace(&mut self.has_both_versions, false);
        (self.is_inside, self.making_segop, self.in_map_loop, self.lane_versions) =
            (true, true, false, versions);
        let parts = f(self)?;
        (self.is_inside, self.making_segop, self.in_map_loop, self.lane_versions) = around;
        Ok(SegopParts {
            parts,
            guards: std::mem::replace(&mut self.guards, before),
            has_both_versions: std::mem::replace(&mut self.has_both_versions, has_both_versions),
        })
    }

    /// Returns true if a size is known before the segop that is being made.
    pub(crate) fn is_known_before_segop(&self, size: Name) -> bool {
        self.making_segop && !self.in_segop(size)
    }

    /// Returns a condition that holds if a size is at least a new parameter of the rule, whose
    /// default is `least`. It is computed before the segop that is being made if the size is known
    /// there, else appended to `out`. Before a segop there is one condition for each size and rule,
    /// whose default is the smallest `least`.
    pub(crate) fn guard(
        &mut self,
        size: Name,
        rule: Rule,
        least: i64,
        aux: &Aux,
        out: &mut Vec<Stm<Segs>>,
    ) -> Atom {
        let outside = self.is_known_before_segop(size);
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

    /// Records that accumulators of this token have an operator.
    pub(crate) fn note_operator(&mut self, token: Name) {
        self.with_operator.insert(token);
    }

    /// Returns true if any of these types is an accumulator with an operator.
    pub(crate) fn has_acc_with_operator(&self, types: &[Type]) -> bool {
        types.iter().any(|ty| matches!(ty, Type::Acc { token, .. } if self.with_operator.contains(token)))
    }

    /// Starts from the tuning parameters that the function already has.
    pub(crate) fn adopt(&mut self, tunables: Vec<Tunable>) {
        self.tunables = TunableTable::of(tunables);
    }

    /// Adds a threshold parameter.
    pub(crate) fn threshold(&mut self, rule: Rule, default: i64) -> TunableId {
        self.tunables.add(rule, Class::Threshold, default)
    }

    /// Returns true if a name is bound inside a segop.
    pub(crate) fn in_segop(&self, name: Name) -> bool {
        self.bound_in_segop.contains(&name)
    }

    /// Returns true if the elements of an array are known not to be contiguous in the innermost
    /// dimension.
    pub(crate) fn is_strided(&self, array: Name) -> bool {
        let innermost = self.views.get(&array).and_then(|lmad| lmad.dims.last());
        innermost.is_some_and(|dim| dim.stride.as_constant() != Some(1))
    }

    pub(crate) fn into_names(self) -> NameTable {
        self.names
    }

    /// The source locations of a statement, for errors.
    pub(crate) fn stack(&self, aux: &Aux) -> Vec<SrcLoc> {
        self.provs.stack(aux.prov)
    }

    /// The type of a name.
    ///
    /// # Errors
    /// The name is not bound yet.
    pub(crate) fn type_of(&self, name: Name) -> Result<Type, PassError> {
        let known = self.types.get(name).cloned();
        known.ok_or_else(|| PassError::bug(format!("{name:?} is used before it is bound")))
    }

    /// A fresh name with this type.
    pub(crate) fn fresh<L: Level<Ann = ()>>(&mut self, hint: &str, ty: Type) -> Param<L> {
        let name = self.names.fresh(hint);
        self.note(name, ty.clone());
        Param { name, ty, ann: () }
    }

    /// A fresh name for each parameter, with the same type.
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

    /// A builder whose statements have the provenance of a statement.
    pub(crate) fn builder<L: Level<Ann = ()>>(&mut self, aux: &Aux) -> Builder<'_, L> {
        let mut builder = Builder::new(&mut self.names, &mut self.types);
        builder.prov = aux.prov;
        builder
    }

    /// Returns the statements that `make` appends as a body whose results are fresh names like
    /// `pat`.
    pub(crate) fn body_of(
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

    /// A copy of a lambda with fresh names.
    pub(crate) fn copy_lambda(&mut self, lambda: &Lambda<Soacs>) -> Lambda<Soacs> {
        let copy = refresh_lambda(lambda, &mut self.names, &mut Substitution::default());
        self.types.add_params(&copy.params);
        self.types.add_body(&copy.body);
        copy
    }

    /// A copy of scans and reductions with fresh names.
    pub(crate) fn copy_scan_reduce(&mut self, scan_reduce: &ScanReduce<Soacs>) -> ScanReduce<Soacs> {
        let copy = scan_reduce.refreshed(&mut self.names);
        for lambda in copy.lambdas() {
            self.types.add_params(&lambda.params);
            self.types.add_body(&lambda.body);
        }
        copy
    }

    /// A copy of a screma whose lambdas have fresh names.
    pub(crate) fn copy_screma(&mut self, s: &Screma) -> Screma {
        Screma {
            width: s.width,
            inputs: s.inputs.clone(),
            map: self.copy_lambda(&s.map),
            scan_reduce: self.copy_scan_reduce(&s.scan_reduce),
        }
    }

    /// Records the type of a loop's counter.
    pub(crate) fn note_counter(&mut self, form: LoopForm) {
        if let LoopForm::For { var, ty, bound: _ } = form {
            self.note(var, Type::Prim(ty));
        }
    }

    fn note(&mut self, name: Name, ty: Type) {
        self.types.set(name, ty);
        if self.is_inside {
            self.bound_in_segop.insert(name);
        }
    }

    /// The parameter at level `segs`; records its type.
    pub(crate) fn param<L: Level<Ann = ()>>(&mut self, param: Param<L>) -> Param<Segs> {
        let Param { name, ty, ann: () } = param;
        self.note(name, ty.clone());
        Param { name, ty, ann: () }
    }

    pub(crate) fn params<L: Level<Ann = ()>>(&mut self, params: Vec<Param<L>>) -> Vec<Param<Segs>> {
        params.into_iter().map(|p| self.param(p)).collect()
    }

    /// Records the index function of a view; an array of unknown layout is taken to be row-major.
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

/// The slice that selects the row at an index of the outermost dimension.
pub(crate) fn row_slice(ty: &Type, index: Atom) -> Vec<DimIndex> {
    slice(ty, DimIndex::Fix(index))
}

/// The slice that selects `count` rows from `start` on.
pub(crate) fn rows_slice(ty: &Type, start: Atom, count: Dim) -> Vec<DimIndex> {
    let stride = Atom::i64(1);
    slice(ty, DimIndex::Slice { start, count, stride })
}

/// A slice of the outermost dimension with all of the others.
fn slice(ty: &Type, first: DimIndex) -> Vec<DimIndex> {
    let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
    let rest = ty.shape().iter().skip(1).map(full);
    std::iter::once(first).chain(rest).collect()
}

/// Reads the part of an array, of type `ty`, at these indices of the outer dimensions.
pub(crate) fn read_part(array: Name, indices: &[Atom], ty: &Type) -> BasicOp {
    let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
    let fixed = indices.iter().copied().map(DimIndex::Fix);
    BasicOp::Index { array, slice: fixed.chain(ty.shape().iter().map(full)).collect() }
}

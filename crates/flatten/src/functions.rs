//! The pass `flatten`: flattens functions, one version for each position that they are called from.
//! Functions that no entry point reaches are dropped.

use crate::Result;
use crate::context::Ctx;
use crate::guards::Guards;
use crate::names::Names;
use crate::rules::{self, Lift, Lifted, Signature};
use crate::scope::{Position, Scope};
use ir::name::{FunId, FunName, Name};
use ir::remark::RemarkKind;
use ir::syntax::{Atom, BasicOp, Body, Exp, FunKind, FunParam, FunResult, Function, Program, Stm};
use ir::tunable::TunableTable;
use ir::types::{Dim, Shape, Type};
use ir::typing::TypeEnv;
use ir::version::{self, CallPosition};
use ir::walk::{Visit, callees, sub_bodies, with_stack};
use ir::{Context, PassError, Segs, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};
use target::levels::Stack;

/// A function for a position.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Version {
    fun: FunId,
    at: Position,
    /// True if the function is the same in all positions.
    same_everywhere: bool,
    /// The kind of lifted version, which covers all iterations of a nest at once.
    lift: Option<Lift>,
}

impl Version {
    /// The name of the version of a function of this name.
    fn name(&self, of: &FunName) -> FunName {
        let word = match self.position() {
            None => return of.clone(),
            Some(CallPosition::LiftedRegular) => "regular",
            Some(CallPosition::LiftedIrregular) => "irregular",
            Some(CallPosition::Host) => "host",
            Some(CallPosition::Within { level: None, .. }) => "seq",
            Some(CallPosition::Within { level: Some(level), .. }) => level.name,
        };
        FunName(format!("{of}.{word}").into())
    }

    /// The key that orders versions in the resulting program.
    fn sort_key(&self) -> (FunId, Position, Option<Lift>) {
        (self.fun, self.at, self.lift)
    }

    /// The version's position, unless that is the outermost one.
    fn position(&self) -> Option<CallPosition> {
        match (self.lift, self.at.enclosing) {
            (Some(Lift::Regular), _) => Some(CallPosition::LiftedRegular),
            (Some(Lift::Irregular), _) => Some(CallPosition::LiftedIrregular),
            (None, Some(around)) if !self.same_everywhere => {
                Some(CallPosition::Within { segop_level: around, level: self.at.level })
            }
            (None, _) => None,
        }
    }

    /// The version's key in the resulting program.
    fn key(&self, of: FunName) -> Option<version::Version> {
        let position = self.position()?;
        Some(version::Version { of, position })
    }
}

/// Properties of the functions that are called.
pub(crate) struct Callees {
    /// For each function, true if it contains parallelism, directly or through calls. Constants do not:
    /// a constant is computed once, outside, wherever it is named.
    parallel: Vec<bool>,
    /// For each function, which arguments it consumes.
    consumed: Vec<Vec<bool>>,
    /// The signatures of the functions that have lifted versions.
    lifted: Vec<Option<Signature>>,
    /// The function that makes segment descriptors, if it is added.
    pub(crate) segments: Option<FunId>,
}

impl Callees {
    fn of(functions: &[Function<Soacs>]) -> Self {
        let consumed =
            functions.iter().map(|function| function.params.iter().map(|param| param.consumed).collect());
        let parallel = parallel_functions(functions);
        let lifted = functions.iter().zip(&parallel).map(|(function, parallel)| {
            let ordinary = function.kind == FunKind::Function;
            let makes = *parallel || ordinary && makes_arrays(&function.body);
            makes.then(|| Signature::of(function)).filter(Signature::can_lift)
        });
        let segments = functions.iter().position(|function| *function.name.0 == *SEGMENTS);
        Self {
            consumed: consumed.collect(),
            lifted: lifted.collect(),
            parallel,
            segments: segments.map(FunId::new),
        }
    }

    /// The signature of a function that has lifted versions.
    pub(crate) fn signature(&self, fun: FunId) -> Option<&Signature> {
        self.lifted[fun.index()].as_ref()
    }

    /// The lifted version of a function.
    pub(crate) fn lift(fun: FunId, lift: Lift, stack: Stack) -> Version {
        Version { fun, at: Position::host(stack), same_everywhere: false, lift: Some(lift) }
    }

    /// Returns true if a function consumes its argument of this index.
    pub(crate) fn consumes(&self, fun: FunId, argument: usize) -> bool {
        self.consumed[fun.index()].get(argument).copied().unwrap_or(false)
    }

    /// The version of `fun` that a call from `at` refers to.
    pub(crate) fn version(&self, fun: FunId, at: Position, stack: Stack) -> Version {
        let only = !self.parallel[fun.index()];
        let host = Position::host(stack);
        Version {
            fun,
            at: if only || at.level == host.level {
                // In tasks that contain tasks it is the same as outside of them.
                host
            } else if at.level.is_none() {
                // Sequential code is the same in every position: that of a task.
                stack.outermost().map_or(host, Position::sequential_in)
            } else {
                at
            },
            same_everywhere: only,
            lift: None,
        }
    }
}

/// Flattens a program; see the crate's header.
///
/// # Errors
/// A combinator that is not supported yet (`stream`).
pub fn flatten(mut program: Program<Soacs>, context: &mut Context) -> Result<Program<Segs>> {
    let stack = context.options.stack;
    if context.options.flatten.is_full_depth() && !stack.nests() {
        add_builtin_functions(&mut program.functions)?;
    }
    let callees = Callees::of(&program.functions);
    let mut seen: FxHashSet<Version> = FxHashSet::default();
    let host = Position::host(stack);
    let entries = program.entries.iter();
    let mut worklist: Vec<Version> = entries.map(|entry| callees.version(entry.fun, host, stack)).collect();
    let mut flattened = Vec::new();
    loop {
        worklist.retain(|version| seen.insert(version.clone()));
        if worklist.is_empty() {
            break;
        }
        worklist.sort_by_key(Version::sort_key);
        let done = context.each(std::mem::take(&mut worklist), |version, own| {
            let function = program.function(version.fun).clone();
            let (function, called) = flatten_function(function, &version, &callees, own)?;
            Ok::<_, PassError>((version, function, called))
        })?;
        worklist.extend(done.iter().flat_map(|(_, _, called)| called).cloned());
        flattened.extend(done);
    }
    flattened.sort_by_key(|(version, _, _)| version.sort_key());
    let versions =
        flattened.iter().enumerate().map(|(at, (version, _, _))| (version.clone(), FunId::new(at)));
    let ids: FxHashMap<Version, FunId> = versions.collect();
    let mut entries = program.entries;
    entries.iter_mut().for_each(|entry| entry.fun = ids[&callees.version(entry.fun, host, stack)]);
    let functions = flattened.into_iter().map(|(_, mut function, called)| {
        function.renumber_calls(|id| ids[&called[id.index()]]);
        function
    });
    let functions = functions.collect();
    Ok(Program {
        levels: stack,
        files: program.files,
        opaques: program.opaques,
        entries,
        functions,
        math: program.math,
    })
}

/// The name of the function that makes segment descriptors.
const SEGMENTS: &str = "flatten.segments";

/// Adds the functions that irregular nests call; those not called are dropped after flattening.
fn add_builtin_functions(functions: &mut Vec<Function<Soacs>>) -> Result<()> {
    let program = ir::text::parse::<Soacs>(include_str!("added.ir"));
    let mut program = program.map_err(|error| PassError::bug(error.to_string()))?;
    let first = functions.len();
    program.renumber(|id| FunId::new(first + id.index()));
    functions.append(&mut program.functions);
    Ok(())
}

/// Flattens a function for a position. A call's id is the index in the returned list of versions.
fn flatten_function(
    function: Function<Soacs>,
    version: &Version,
    callees: &Callees,
    context: &mut Context,
) -> Result<(Function<Segs>, Vec<Version>)> {
    let types = TypeEnv::of_function(&function);
    let Function { name: of, kind, version: _, attrs, params, ret, body, tunables, names, provs } = function;
    let options = context.options.clone();
    let mut ctx = Ctx {
        names: Names::new(names, types, &provs),
        guards: Guards { tunables: TunableTable::of(tunables), of_segops: Vec::new() },
        out: Vec::new(),
        callees,
        called: FxHashMap::default(),
        stack: options.stack,
        mode: options.flatten,
        fuel: &mut context.fuel,
        decided: options.remarks.then(Vec::new),
    };
    Replicates(&mut ctx.names.replicates).body(&body);
    let scope = Scope::of_function(version.at);
    let signature = version.lift.zip(callees.signature(version.fun));
    let (params, ret, body) = if let Some((lift, signature)) = signature {
        let consumed: Vec<bool> = params.iter().map(|param| param.consumed).collect();
        let Lifted { params, ret, body } =
            rules::lifted(&mut ctx, scope, (signature, lift), &consumed, body)?;
        (params, ret, body)
    } else {
        let param = |p: FunParam<Soacs>| FunParam { param: ctx.names.param(p.param), consumed: p.consumed };
        let params = params.into_iter().map(param).collect();
        let body = ctx.body(scope, body)?;
        let ret = ret.into_iter().map(|r| FunResult { ty: r.ty, aliases: r.aliases, ann: () }).collect();
        (params, ret, body)
    };
    let name = version.name(&of);
    let Ctx { names, guards, called, decided, .. } = ctx;
    let (names, tunables) = (names.table, guards.tunables.into_tunables());
    for (prov, kind) in decided.unwrap_or_default() {
        context.remark(&name.0, provs.stack(prov), kind);
    }
    let key = version.key(of);
    if let (Some(key), true) = (&key, options.remarks) {
        let of = key.of.0.clone();
        context.remark(&name.0, Vec::new(), RemarkKind::Version { of });
    }
    let function = Function { name, kind, version: key, attrs, params, ret, body, tunables, names, provs };
    let mut called: Vec<(Version, FunId)> = called.into_iter().collect();
    called.sort_by_key(|(_, id)| *id);
    Ok((function, called.into_iter().map(|(version, _)| version).collect()))
}

/// Collects the arrays that repeat one value.
struct Replicates<'a>(&'a mut FxHashMap<Name, (Shape, Atom)>);

impl Visit<Soacs> for Replicates<'_> {
    fn stm(&mut self, stm: &Stm<Soacs>) {
        if let (Exp::Basic(BasicOp::Replicate { shape, value }), [param]) = (&stm.exp, stm.pat.as_slice()) {
            self.0.insert(param.name, (shape.clone(), *value));
        }
        self.walk_stm(stm);
    }
}

/// Returns true if a body has a combinator, at any depth.
fn has_combinator(body: &Body<Soacs>) -> bool {
    with_stack(|| {
        body.stms.iter().any(|stm| {
            let mut found = matches!(stm.exp, Exp::Op(_));
            sub_bodies(&stm.exp, |body| found = found || has_combinator(body));
            found
        })
    })
}

/// Returns true if a body makes arrays whose sizes are not constants: for all iterations of a
/// nest, these are better made element by element.
fn makes_arrays(body: &Body<Soacs>) -> bool {
    let known = |ty: &Type| ty.shape().iter().all(|dim| matches!(dim, Dim::Const(_)));
    body.stms.iter().any(|stm| {
        let makes = matches!(
            stm.exp,
            Exp::Basic(BasicOp::Iota { .. } | BasicOp::Replicate { .. } | BasicOp::Concat { .. })
        );
        makes && !stm.pat.iter().all(|param| known(&param.ty))
    })
}

fn parallel_functions(functions: &[Function<Soacs>]) -> Vec<bool> {
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
    let mut queue: Vec<usize> = Vec::new();
    for (at, function) in functions.iter().enumerate() {
        if has_combinator(&function.body) {
            queue.push(at);
        }
        callees(&function.body, |callee| callers[callee.index()].push(at));
    }
    let mut found = vec![false; functions.len()];
    while let Some(fun) = queue.pop() {
        if !std::mem::replace(&mut found[fun], true) {
            queue.append(&mut callers[fun]);
        }
    }
    for (found, function) in found.iter_mut().zip(functions) {
        *found &= function.kind != FunKind::Constant;
    }
    found
}

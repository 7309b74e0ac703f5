//! The pass `flatten`: flattens functions, one version for each position that they are called from.
//! Functions that no entry point reaches are dropped.

use crate::Result;
use crate::context::Ctx;
use crate::guards::Guards;
use crate::names::Names;
use crate::rules::{self, Lift, Lifted, Signature};
use crate::scope::{Position, Scope};
use ir::name::{FunName, Name};
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
    fun: FunName,
    at: Position,
    /// True if the function is the same in all positions.
    same_everywhere: bool,
    /// The kind of lifted version, which covers all iterations of a nest at once.
    lift: Option<Lift>,
}

impl Version {
    /// The version's function name.
    pub(crate) fn name(&self) -> FunName {
        let word = match self.position() {
            None => return self.fun.clone(),
            Some(CallPosition::LiftedRegular) => "regular",
            Some(CallPosition::LiftedIrregular) => "irregular",
            Some(CallPosition::Host) => "host",
            Some(CallPosition::Within { level: None, .. }) => "seq",
            Some(CallPosition::Within { level: Some(level), .. }) => level.name,
        };
        FunName(format!("{}.{word}", self.fun).into())
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
    fn key(&self) -> Option<version::Version> {
        let position = self.position()?;
        let of = self.fun.clone();
        Some(version::Version { of, position })
    }
}

/// Properties of the functions that are called.
pub(crate) struct Callees {
    /// Functions that contain parallelism, directly or through calls. Constants are not among them:
    /// a constant is computed once, outside, wherever it is named.
    parallel: FxHashSet<FunName>,
    /// For each function, which arguments it consumes.
    consumed: FxHashMap<FunName, Vec<bool>>,
    /// The signatures of the functions that have lifted versions.
    lifted: FxHashMap<FunName, Signature>,
}

impl Callees {
    fn of(functions: &[Function<Soacs>]) -> Self {
        let consumed = functions.iter().map(|function| {
            let params = function.params.iter().map(|param| param.consumed);
            (function.name.clone(), params.collect())
        });
        let parallel = parallel_functions(functions);
        let makes = |it: &&Function<Soacs>| {
            let ordinary = it.kind == FunKind::Function;
            parallel.contains(&it.name) || ordinary && makes_arrays(&it.body)
        };
        let lifted = functions.iter().filter(makes).map(|it| (it.name.clone(), Signature::of(it)));
        let lifted: FxHashMap<FunName, Signature> = lifted.filter(|(_, it)| it.can_lift()).collect();
        Self { consumed: consumed.collect(), lifted, parallel }
    }

    /// The signature of a function that has lifted versions.
    pub(crate) fn signature(&self, fun: &FunName) -> Option<&Signature> {
        self.lifted.get(fun)
    }

    /// The lifted version of a function.
    pub(crate) fn lift(fun: &FunName, lift: Lift, stack: Stack) -> Version {
        Version { fun: fun.clone(), at: Position::host(stack), same_everywhere: false, lift: Some(lift) }
    }

    /// Returns true if a function consumes its argument of this index.
    pub(crate) fn consumes(&self, fun: &FunName, argument: usize) -> bool {
        self.consumed.get(fun).and_then(|all| all.get(argument)).copied().unwrap_or(false)
    }

    /// The version of `fun` that a call from `at` refers to.
    pub(crate) fn version(&self, fun: &FunName, at: Position, stack: Stack) -> Version {
        let only = !self.parallel.contains(fun);
        let host = Position::host(stack);
        Version {
            fun: fun.clone(),
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
/// A combinator that is not supported yet (`stream`, `jvp`, `vjp`).
pub fn flatten(mut program: Program<Soacs>, context: &mut Context) -> Result<Program<Segs>> {
    let stack = context.options.stack;
    if context.options.flatten.is_full_depth() && !stack.nests() {
        program.functions.extend(builtin_functions()?);
    }
    let callees = Callees::of(&program.functions);
    let by_name: FxHashMap<FunName, usize> =
        program.functions.iter().enumerate().map(|(i, f)| (f.name.clone(), i)).collect();
    let mut seen: FxHashSet<Version> = FxHashSet::default();
    let host = Position::host(stack);
    let entries = program.entries.iter();
    let mut worklist: Vec<Version> = entries.map(|entry| callees.version(&entry.fun, host, stack)).collect();
    let mut flattened = Vec::new();
    loop {
        worklist.retain(|version| seen.insert(version.clone()));
        if worklist.is_empty() {
            break;
        }
        let mut batch = Vec::with_capacity(worklist.len());
        for version in worklist.drain(..) {
            let index = by_name.get(&version.fun).copied();
            let missing = || PassError::bug(format!("no function named {}", version.fun));
            batch.push((index.ok_or_else(missing)?, version));
        }
        batch.sort_by_key(|(index, version)| (*index, version.at, version.lift));
        let functions = &program.functions;
        let done = context.each(batch, |(index, version), own| {
            let function = functions[index].clone();
            let (function, called) = flatten_function(function, &version, &callees, own)?;
            let at = (version.at, version.lift);
            Ok::<_, PassError>((index, at, function, called))
        })?;
        for (index, at, function, called) in done {
            worklist.extend(called);
            flattened.push((index, at, function));
        }
    }
    flattened.sort_by_key(|(index, at, _)| (*index, *at));
    Ok(Program {
        levels: stack,
        files: program.files,
        opaques: program.opaques,
        entries: program.entries,
        functions: flattened.into_iter().map(|(_, _, function)| function).collect(),
        math: program.math,
    })
}

/// The functions that irregular nests call; those not called are dropped after flattening.
fn builtin_functions() -> Result<Vec<Function<Soacs>>> {
    let program = ir::text::parse::<Soacs>(include_str!("added.ir"));
    let program = program.map_err(|error| PassError::bug(error.to_string()))?;
    Ok(program.functions)
}

fn flatten_function(
    function: Function<Soacs>,
    version: &Version,
    callees: &Callees,
    context: &mut Context,
) -> Result<(Function<Segs>, Vec<Version>)> {
    let types = TypeEnv::of_function(&function);
    let Function { name: _, kind, version: _, attrs, params, ret, body, tunables, names, provs } = function;
    let options = context.options.clone();
    let mut ctx = Ctx {
        names: Names::new(names, types, &provs),
        guards: Guards { tunables: TunableTable::of(tunables), of_segops: Vec::new() },
        out: Vec::new(),
        callees,
        called: Vec::new(),
        stack: options.stack,
        mode: options.flatten,
        fuel: &mut context.fuel,
        decided: options.remarks.then(Vec::new),
    };
    Replicates(&mut ctx.names.replicates).body(&body);
    let scope = Scope::of_function(version.at);
    let signature = version.lift.zip(callees.signature(&version.fun));
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
    let name = version.name();
    let Ctx { names, guards, called, decided, .. } = ctx;
    let (names, tunables) = (names.table, guards.tunables.into_tunables());
    for (prov, kind) in decided.unwrap_or_default() {
        context.remark(&name.0, provs.stack(prov), kind);
    }
    let key = version.key();
    if let (Some(key), true) = (&key, options.remarks) {
        let of = key.of.0.clone();
        context.remark(&name.0, Vec::new(), RemarkKind::Version { of });
    }
    let function = Function { name, kind, version: key, attrs, params, ret, body, tunables, names, provs };
    Ok((function, called))
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

fn parallel_functions(functions: &[Function<Soacs>]) -> FxHashSet<FunName> {
    let mut callers: FxHashMap<FunName, Vec<&FunName>> = FxHashMap::default();
    let mut queue: Vec<&FunName> = Vec::new();
    for function in functions {
        if has_combinator(&function.body) {
            queue.push(&function.name);
        }
        callees(&function.body, |callee| callers.entry(callee.clone()).or_default().push(&function.name));
    }
    let mut found = FxHashSet::default();
    while let Some(fun) = queue.pop() {
        if found.insert(fun.clone()) {
            queue.extend(callers.get(fun).into_iter().flatten());
        }
    }
    for function in functions {
        if function.kind == FunKind::Constant {
            found.remove(&function.name);
        }
    }
    found
}

//! Which functions are flattened, and for which place: called from parallel
//! code they are sequential, else parallel. Only what an entry point can reach
//! is kept.

use crate::convert::Ctx;
use ir::name::FunName;
use ir::soac::Soac;
use ir::syntax::{Attr, Aux, Body, Exp, FunKind, FunParam, FunResult, Function, Program};
use ir::{Context, PassError, Segs, Soacs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether code runs inside a segop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// On the host: combinators become segops.
    Outside,
    /// In a segop's body: combinators become loops.
    Inside,
}

/// Where a statement's combinators run: what is `sequential` runs as if it stood
/// inside of a segop.
pub(crate) fn place_of(aux: &Aux, place: Place) -> Place {
    if aux.attrs.has(&Attr::Sequential) {
        Place::Inside
    } else {
        place
    }
}

/// Names of the functions that contain parallelism, directly or through calls.
pub(crate) struct Parallel(FxHashSet<FunName>);

impl Parallel {
    /// What a call of `fun` from `place` calls.
    pub(crate) fn callee(&self, fun: &FunName, place: Place) -> FunName {
        if place == Place::Inside && self.0.contains(fun) {
            FunName(format!("{fun}.seq").into())
        } else {
            fun.clone()
        }
    }
}

/// Flattens a program; see the crate's header.
///
/// # Errors
/// Combinators that are not supported yet (`stream`, `flatmap`, `jvp`, `vjp`).
pub fn flatten(program: Program<Soacs>, context: &mut Context) -> Result<Program<Segs>, PassError> {
    let calls: FxHashMap<FunName, (bool, Vec<FunName>)> = program
        .functions
        .iter()
        .map(|f| (f.name.clone(), summary(&f.body)))
        .collect();
    let mut parallel = parallel_functions(&calls);
    // A constant is computed once, outside, wherever it is named.
    for function in &program.functions {
        if function.kind == FunKind::Constant {
            parallel.remove(&function.name);
        }
    }
    let parallel = Parallel(parallel);
    let by_name: FxHashMap<FunName, usize> = program
        .functions
        .iter()
        .enumerate()
        .map(|(i, f)| (f.name.clone(), i))
        .collect();

    let mut wanted: FxHashSet<(usize, Place)> = FxHashSet::default();
    let mut queue: Vec<(usize, Place)> = Vec::new();
    for entry in &program.entries {
        queue.push((index_of(&by_name, &entry.fun)?, Place::Outside));
    }
    while let Some((i, place)) = queue.pop() {
        let fun = &program.functions[i];
        let place = if fun.kind == FunKind::Constant {
            Place::Outside
        } else {
            place
        };
        if !wanted.insert((i, place)) {
            continue;
        }
        let mut inside = Vec::new();
        called(&fun.body, place, &mut inside);
        for (callee, place) in inside {
            let place = if parallel.0.contains(&callee) {
                place
            } else {
                Place::Outside
            };
            queue.push((index_of(&by_name, &callee)?, place));
        }
    }

    let mut copies = Vec::new();
    for (i, function) in program.functions.into_iter().enumerate() {
        let inside = wanted.contains(&(i, Place::Inside));
        let outside = wanted.contains(&(i, Place::Outside));
        if inside && outside {
            copies.push((function.clone(), Place::Inside));
        } else if inside {
            copies.push((function, Place::Inside));
            continue;
        }
        if outside {
            copies.push((function, Place::Outside));
        }
    }
    let functions = context.each(copies, |(function, place), own| {
        flatten_function(function, place, &parallel, own)
    })?;
    Ok(Program {
        files: program.files,
        opaques: program.opaques,
        entries: program.entries,
        functions,
    })
}

fn index_of(by_name: &FxHashMap<FunName, usize>, fun: &FunName) -> Result<usize, PassError> {
    by_name
        .get(fun)
        .copied()
        .ok_or_else(|| PassError::bug(format!("no function named {fun}")))
}

fn flatten_function(
    function: Function<Soacs>,
    place: Place,
    parallel: &Parallel,
    context: &mut Context,
) -> Result<Function<Segs>, PassError> {
    let Function {
        name,
        kind,
        attrs,
        params,
        ret,
        body,
        tunables,
        names,
        provs,
    } = function;
    let account = context.options.account;
    let mut ctx = Ctx::new(names, &provs, parallel, place, &mut context.fuel, account);
    ctx.adopt(tunables);
    let params = params
        .into_iter()
        .map(|p| FunParam {
            param: ctx.param(p.param),
            consumed: p.consumed,
        })
        .collect();
    let body = ctx.body(body, place)?;
    let ret = ret
        .into_iter()
        .map(|r| FunResult {
            ty: r.ty,
            aliases: r.aliases,
            ann: (),
        })
        .collect();
    let name = if kind == FunKind::Constant {
        name
    } else {
        parallel.callee(&name, place)
    };
    let tunables = std::mem::take(&mut ctx.tunables);
    let decided = ctx.decided();
    let names = ctx.into_names();
    for (prov, kind) in decided {
        context.decide(&name.0, provs.stack(prov), kind);
    }
    Ok(Function {
        name,
        kind,
        attrs,
        params,
        ret,
        body,
        tunables,
        names,
        provs,
    })
}

/// Whether a body holds a combinator, and the functions that it calls.
fn summary(body: &Body<Soacs>) -> (bool, Vec<FunName>) {
    let mut calls = Vec::new();
    called(body, Place::Outside, &mut calls);
    let mut has = false;
    each_exp(body, &mut |exp| has |= matches!(exp, Exp::Op(_)));
    (has, calls.into_iter().map(|(fun, _)| fun).collect())
}

fn parallel_functions(calls: &FxHashMap<FunName, (bool, Vec<FunName>)>) -> FxHashSet<FunName> {
    let mut callers: FxHashMap<&FunName, Vec<&FunName>> = FxHashMap::default();
    let mut queue: Vec<&FunName> = Vec::new();
    #[allow(
        clippy::iter_over_hash_type,
        reason = "the result is a set, the same in any order"
    )]
    for (fun, (has, callees)) in calls {
        if *has {
            queue.push(fun);
        }
        for callee in callees {
            callers.entry(callee).or_default().push(fun);
        }
    }
    let mut found = FxHashSet::default();
    while let Some(fun) = queue.pop() {
        if found.insert(fun.clone()) {
            queue.extend(callers.get(fun).into_iter().flatten());
        }
    }
    found
}

/// The calls in a body, each with the place that it is made from.
fn called(body: &Body<Soacs>, place: Place, calls: &mut Vec<(FunName, Place)>) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stm in &body.stms {
            let own = place_of(&stm.aux, place);
            match &stm.exp {
                Exp::Basic(_) => {}
                Exp::Apply { fun, args: _ } => calls.push((fun.clone(), own)),
                Exp::If {
                    cond: _,
                    then_body,
                    else_body,
                } => {
                    called(then_body, place, calls);
                    called(else_body, place, calls);
                }
                Exp::Loop {
                    params: _,
                    form: _,
                    body,
                } => called(body, place, calls),
                Exp::Op(Soac::WithAcc { inputs: _, lambda }) => {
                    called(&lambda.body, own, calls);
                }
                Exp::Op(soac) => {
                    // The operator of a reduction over arrays may run on the
                    // host, in a loop, as well as inside.
                    let bodies = soac_bodies(soac);
                    for inner in bodies {
                        called(inner, Place::Inside, calls);
                        if own == Place::Outside {
                            called(inner, Place::Outside, calls);
                        }
                    }
                }
            }
        }
    });
}

fn soac_bodies(soac: &Soac) -> Vec<&Body<Soacs>> {
    match soac {
        Soac::Screma(screma) => {
            let mut bodies = vec![&screma.map.body];
            bodies.extend(screma.folds.lambdas().map(|lambda| &lambda.body));
            bodies
        }
        Soac::Hist {
            width: _,
            inputs: _,
            map,
            ops,
        } => {
            let mut bodies = vec![&map.body];
            bodies.extend(ops.iter().map(|op| &op.op.op.body));
            bodies
        }
        Soac::WithAcc { inputs: _, lambda }
        | Soac::Stream {
            width: _,
            inputs: _,
            init: _,
            lambda,
        }
        | Soac::FlatMap {
            width: _,
            inputs: _,
            lambda,
        }
        | Soac::Jvp {
            lambda,
            args: _,
            tangents: _,
        }
        | Soac::Vjp {
            lambda,
            args: _,
            adjoints: _,
        } => vec![&lambda.body],
    }
}

fn each_exp(body: &Body<Soacs>, visit: &mut impl FnMut(&Exp<Soacs>)) {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
        for stm in &body.stms {
            visit(&stm.exp);
            match &stm.exp {
                Exp::Basic(_) | Exp::Apply { .. } => {}
                Exp::If {
                    cond: _,
                    then_body,
                    else_body,
                } => {
                    each_exp(then_body, visit);
                    each_exp(else_body, visit);
                }
                Exp::Loop {
                    params: _,
                    form: _,
                    body,
                } => each_exp(body, visit),
                Exp::Op(soac) => {
                    for inner in soac_bodies(soac) {
                        each_exp(inner, visit);
                    }
                }
            }
        }
    });
}

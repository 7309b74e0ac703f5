//! Automatic differentiation: the pass `ad`, which removes derivatives.
//!
//! Before: a verified program of combinators, inlined and simplified, in which mathematical functions
//! are operations. After: the same without [`Soac::Jvp`], [`Soac::Vjp`] and [`Soac::WithVjp`].
//!
//! Derivatives are removed innermost first, so that the function of each contains none; between them
//! the function is simplified. Every derivative goes through the same steps:
//!
//! - [`activity`]: the names that depend on what the derivative is taken by; nothing is computed for
//!   others.
//! - [`normalise`]: combinators become single maps, scans and reductions; in reverse mode, active `while`
//!   loops become counted ones, and arrays have one size in all iterations of a loop ([`padding`]).
//! - [`forward`]: tangents beside values, or [`reverse`]: a forward sweep, then a return sweep that
//!   adds up adjoints.
//! - [`invariants`]: what several directions have in common is computed once.
//! - [`copies`]: arrays that the derivative still needs are copied before they are consumed.
//!
//! [`calls`] makes derivatives of functions that are not inlined. The rules of scalar operations are
//! a table of `prim` ([`prim::derivative`]).

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod activity;
mod ahead;
mod calls;
mod copies;
mod forward;
mod gather;
mod invariants;
mod normalise;
mod padding;
mod recompute;
mod recorded_updates;
mod reverse;
mod scalars;
mod split;
mod state;
mod strip_mine;
mod update_loops;

use crate::calls::{Calls, DerivativeOptions};
use crate::state::{Ad, Result};
use analysis::signatures::Signatures;
use analysis::statements;
use ir::build::Builder;
use ir::soac::{Screma, Soac, Soacs};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Lambda, Param, Program, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Visit, VisitMut, with_stack};
use ir::{Context, Name, TypeEnv};

/// Removes derivatives from a program.
///
/// # Errors
///
/// A construct without a derivative, by name and source; a broken invariant.
pub fn differentiate(mut program: Program<Soacs>, context: &mut Context) -> Result<Program<Soacs>> {
    let is_derivative = |stm: &Stm<Soacs>| matches!(stm.exp, Exp::Op(ir::derivative_op!()));
    if !program.functions.iter().any(|function| statements::any(&function.body, &is_derivative)) {
        return Ok(program);
    }
    let signatures = Signatures::of(&program);
    let options = DerivativeOptions {
        tape_limit: i64::try_from(context.options.tape_limit).unwrap_or(i64::MAX),
        has_device: context.options.stack.has_device(),
        is_repeated: is_repeated(&program),
    };
    let mut calls = Calls::new(std::mem::take(&mut program.functions), options, context.options.remarks);
    for at in 0..calls.functions.len() {
        let Some(mut function) = calls.functions[at].take() else {
            continue;
        };
        let mut differentiated = false;
        while innermost(&mut function, &mut calls)? {
            differentiated = true;
            invariants::hoist(&mut function, &mut calls);
            calls.report(&function.name, context);
            copies::resolve(&mut function, &calls)?;
            function = opt::simplify_function(function, &signatures, context)?;
            calls.make_pending(context)?;
        }
        let changed = differentiated
            && (gather::gather(&mut function, &mut calls)
                | split::split(&mut function)
                | update_loops::update_loops(&mut function));
        if changed {
            calls.report(&function.name, context);
            function = opt::simplify_function(function, &signatures, context)?;
            if recompute::recompute(&mut function, &signatures, &mut calls) {
                calls.report(&function.name, context);
                function = opt::simplify_function(function, &signatures, context)?;
            }
        }
        calls.functions[at] = Some(function);
    }
    program.functions = calls.finish(context)?;
    for function in &mut program.functions {
        VisitMut::<Soacs>::body(&mut PrimalOnly, &mut function.body);
    }
    Ok(program)
}

/// Returns true if a derivative may be differentiated: one is within another, which may also be by a call.
fn is_repeated(program: &Program<Soacs>) -> bool {
    #[derive(Default)]
    struct Nested {
        within: bool,
        found: bool,
    }
    impl Visit<Soacs> for Nested {
        fn exp(&mut self, exp: &Exp<Soacs>) {
            let is_derivative = matches!(exp, Exp::Op(Soac::Jvp { .. } | Soac::Vjp { .. }));
            self.found |= self.within && (is_derivative || matches!(exp, Exp::Apply { .. }));
            let around = self.within;
            self.within |= is_derivative;
            self.walk_exp(exp);
            self.within = around;
        }
    }
    let mut nested = Nested::default();
    program.functions.iter().for_each(|function| nested.body(&function.body));
    nested.found
}

/// Replaces the derivatives that contain no other. Returns false if there are no derivatives.
fn innermost(function: &mut Function<Soacs>, calls: &mut Calls) -> Result<bool> {
    let mut types = TypeEnv::of_function(function);
    let Function { names, provs, body, .. } = function;
    let ad = Ad::new(Builder::new(names, &mut types), provs, calls);
    let mut replace = Innermost { ad, found: 0, done: Ok(()) };
    VisitMut::<Soacs>::body(&mut replace, body);
    replace.done.map(|()| replace.found > 0)
}

struct Innermost<'a> {
    ad: Ad<'a>,
    /// The number of derivatives that have been visited.
    found: usize,
    done: Result,
}

impl VisitMut<Soacs> for Innermost<'_> {
    fn lambda(&mut self, lambda: &mut Lambda<Soacs>) {
        self.ad.lambdas += 1;
        self.walk_lambda(lambda);
        self.ad.lambdas -= 1;
    }

    fn body(&mut self, body: &mut Body<Soacs>) {
        let outer = self.ad.b.open();
        for mut stm in std::mem::take(&mut body.stms) {
            let before = self.found;
            with_stack(|| self.stm(&mut stm));
            let is_derivative = matches!(stm.exp, Exp::Op(Soac::Jvp { .. } | Soac::Vjp { .. }));
            self.found += usize::from(is_derivative);
            if !is_derivative || self.found > before + 1 || self.done.is_err() {
                self.ad.b.let_with(stm.pat, stm.aux, stm.exp);
                continue;
            }
            self.done = self.ad.derivative(stm);
            self.ad.reset();
        }
        body.stms = self.ad.b.close(outer, Vec::new()).stms;
    }
}

/// The operands of a derivative.
struct Derivative {
    args: Vec<Atom>,
    seeds: Vec<Atom>,
    directions: Option<Dim>,
    lambda: Lambda<Soacs>,
}

impl Ad<'_> {
    /// Appends the statements in place of a derivative.
    fn derivative(&mut self, stm: Stm<Soacs>) -> Result {
        let Stm { pat, aux, exp } = stm;
        self.at(&aux);
        if let Exp::Op(Soac::Jvp { args, seeds, directions, lambda }) = exp {
            return self.jvp(pat, &aux, Derivative { args, seeds, directions, lambda });
        }
        if let Exp::Op(Soac::Vjp { args, seeds, directions, lambda }) = exp {
            return self.vjp(pat, &aux, Derivative { args, seeds, directions, lambda });
        }
        self.b.push(Stm { pat, aux, exp });
        Ok(())
    }

    /// The function's body with the parameters bound to arguments, normalised, with all parameters
    /// active.
    fn prepare(&mut self, args: &[Atom], lambda: Lambda<Soacs>) -> Result<(Body<Soacs>, Vec<Param<Soacs>>)> {
        let Lambda { params, body, ret: _ } = lambda;
        for (param, arg) in params.iter().zip(args) {
            self.bind(param, *arg);
        }
        let by: Vec<Name> = params.iter().map(|param| param.name).collect();
        let body = self.normalised(&by, body)?;
        Ok((body, params))
    }

    /// Binds a pattern to results.
    fn bind_results(&mut self, pat: &[Param<Soacs>], aux: &Aux, results: impl IntoIterator<Item = Atom>) {
        self.at(aux);
        for (param, result) in pat.iter().zip(results) {
            let result = self.coerced(result, &param.ty);
            self.bind(param, result);
        }
    }

    /// Parameters for one direction's seeds, and the arrays of all.
    fn seed_rows(&mut self, seeds: &[Atom]) -> (Vec<Param<Soacs>>, Vec<Name>) {
        let inputs: Vec<Name> = seeds.iter().map(|seed| self.name_of(*seed)).collect();
        let rows = self.b.row_types(&inputs).into_iter().map(|ty| self.b.param("seed", ty)).collect();
        (rows, inputs)
    }

    fn jvp(&mut self, pat: Vec<Param<Soacs>>, aux: &Aux, derivative: Derivative) -> Result {
        let Derivative { args, seeds, directions, lambda } = derivative;
        let Some(directions) = directions else {
            let mut results = self.tangents_at(&args, &seeds, lambda)?;
            let tangents = self.tangent_atoms(&results);
            results.extend(tangents);
            self.bind_results(&pat, aux, results);
            return Ok(());
        };
        // The function itself, and for each direction the function with its tangents.
        let primal = self.copy_lambda(&lambda);
        let mut results = self.b.inline(primal, args.iter().copied());
        let (params, inputs) = self.seed_rows(&seeds);
        let rows: Vec<Atom> = params.iter().map(|param| param.name.into()).collect();
        let outer = self.b.open();
        let own = self.tangents_at(&args, &rows, lambda)?;
        let mut tangents = self.tangent_atoms(&own);
        for (tangent, param) in tangents.iter_mut().zip(&pat[results.len()..]) {
            let row = param.ty.row().unwrap_or(Type::BOOL);
            *tangent = self.coerced(*tangent, &row);
        }
        let map = self.close_lambda(outer, params, tangents);
        let tangents = self.b.let_op("tangents", Soac::Screma(Screma::map(directions, inputs, map)));
        results.extend(tangents.into_iter().map(Atom::from));
        self.bind_results(&pat, aux, results);
        Ok(())
    }

    /// Appends the function at arguments with tangents; returns its results.
    fn tangents_at(&mut self, args: &[Atom], seeds: &[Atom], lambda: Lambda<Soacs>) -> Result<Vec<Atom>> {
        let (body, params) = self.prepare(args, lambda)?;
        self.tangents.extend(params.iter().map(|param| param.name).zip(seeds.iter().copied()));
        self.forward(body)
    }

    fn vjp(&mut self, pat: Vec<Param<Soacs>>, aux: &Aux, derivative: Derivative) -> Result {
        let Derivative { args, seeds, directions, lambda } = derivative;
        (self.is_reverse, self.splits_loops) = (true, self.lambdas == 0);
        let prepared = self.prepare(&args, lambda);
        (self.is_reverse, self.splits_loops) = (false, false);
        let (body, params) = prepared?;
        // The forward sweep is the same for all directions.
        for stm in &body.stms {
            self.forward_sweep(stm)?;
        }
        self.at(aux);
        let adjoints: Vec<Atom> = match directions {
            None => self.adjoints_for(&body, &seeds, &params)?,
            Some(directions) => {
                let (rows, inputs) = self.seed_rows(&seeds);
                let own: Vec<Atom> = rows.iter().map(|param| param.name.into()).collect();
                let outer = self.b.open();
                let adjoints = self.adjoints_for(&body, &own, &params)?;
                let map = self.close_lambda(outer, rows, adjoints);
                let results = self.b.let_op("adjoints", Soac::Screma(Screma::map(directions, inputs, map)));
                results.into_iter().map(Atom::from).collect()
            }
        };
        self.bind_results(&pat, aux, body.result.iter().copied().chain(adjoints));
        Ok(())
    }

    /// Appends the return sweep for adjoints of the results; returns the parameters' adjoints.
    fn adjoints_for(
        &mut self,
        body: &Body<Soacs>,
        seeds: &[Atom],
        params: &[Param<Soacs>],
    ) -> Result<Vec<Atom>> {
        let seeds: Vec<Option<Atom>> = seeds.iter().map(|seed| Some(*seed)).collect();
        self.return_sweep(body, &seeds)?;
        Ok(params.iter().map(|param| self.value_so_far(param.name)).collect())
    }
}

/// Replaces functions with derivatives by the functions.
struct PrimalOnly;

impl VisitMut<Soacs> for PrimalOnly {
    fn body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| self.walk_body(body));
        let mut stms = Vec::with_capacity(body.stms.len());
        for stm in std::mem::take(&mut body.stms) {
            let Stm { pat, aux, exp } = stm;
            let Exp::Op(Soac::WithVjp { args, lambda, adjoint: _ }) = exp else {
                stms.push(Stm { pat, aux, exp });
                continue;
            };
            let bind = |param: &Param<Soacs>, to: Atom| Stm {
                pat: vec![param.clone()],
                aux: Aux::at(aux.prov),
                exp: Exp::Basic(BasicOp::Atom(to)),
            };
            stms.extend(lambda.params.iter().zip(&args).map(|(param, arg)| bind(param, *arg)));
            stms.extend(lambda.body.stms);
            stms.extend(pat.iter().zip(&lambda.body.result).map(|(param, to)| bind(param, *to)));
        }
        body.stms = stms;
    }
}

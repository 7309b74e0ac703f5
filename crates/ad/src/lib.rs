//! Automatic differentiation: the pass `ad`, which removes derivatives.
//!
//! Before: a verified program of combinators, inlined and simplified, in which mathematical functions
//! are operations. After: the same without [`Soac::Jvp`], [`Soac::Vjp`] and [`Soac::WithVjp`].
//!
//! Derivatives are removed innermost first, so that the function of each contains none; between them
//! the function is simplified. Every derivative goes through the same steps:
//!
//! - [`normalise`]: combinators become single maps, scans and reductions, `while` loops counted ones.
//! - [`activity`]: the names that depend on what the derivative is taken by; nothing is computed for
//!   others.
//! - [`forward`]: tangents beside values, or [`reverse`]: a forward sweep, then a return sweep that
//!   adds up adjoints.
//! - [`copies`]: arrays that the derivative still needs are copied before they are consumed.
//!
//! [`calls`] makes derivatives of functions that are not inlined. The rules of scalar operations are
//! a table of `prim` ([`prim::derivative`]).

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod activity;
mod calls;
mod copies;
mod forward;
mod normalise;
mod reverse;
mod scalars;
mod state;

use crate::calls::Calls;
use crate::reverse::Adjoint;
use crate::state::{Ad, Result};
use analysis::signatures::Signatures;
use ir::build::Builder;
use ir::scan_reduce::ScanReduce;
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
    if !program.functions.iter().any(has_derivatives) {
        return Ok(program);
    }
    let signatures = Signatures::of(&program);
    let mut calls = Calls::new(std::mem::take(&mut program.functions));
    for at in 0..calls.functions.len() {
        let Some(mut function) = calls.functions[at].take() else {
            continue;
        };
        while let Some(nested) = innermost(&function.body) {
            function = differentiate_once(function, nested, &mut calls)?;
            function = opt::simplify_function(function, &signatures, context)?;
            calls.make_pending(context)?;
        }
        calls.functions[at] = Some(function);
    }
    program.functions = calls.finish(context)?;
    for function in &mut program.functions {
        VisitMut::<Soacs>::body(&mut PrimalOnly, &mut function.body);
    }
    Ok(program)
}

/// Returns true if the function contains derivatives or functions with derivatives.
fn has_derivatives(function: &Function<Soacs>) -> bool {
    let mut found = Find::default();
    Visit::<Soacs>::body(&mut found, &function.body);
    found.any
}

#[derive(Default)]
struct Find {
    any: bool,
}

impl Visit<Soacs> for Find {
    fn exp(&mut self, exp: &Exp<Soacs>) {
        self.any |= matches!(exp, Exp::Op(ir::derivative_op!()));
        if !self.any {
            self.walk_exp(exp);
        }
    }
}

/// The first name bound by the derivative that contains no other, if there is a derivative.
fn innermost(body: &Body<Soacs>) -> Option<Name> {
    struct Innermost(Option<Name>);
    impl Visit<Soacs> for Innermost {
        fn stm(&mut self, stm: &Stm<Soacs>) {
            if self.0.is_none() {
                self.walk_stm(stm);
                if let (None, Exp::Op(Soac::Jvp { .. } | Soac::Vjp { .. })) = (self.0, &stm.exp) {
                    self.0 = stm.pat.first().map(|param| param.name);
                }
            }
        }
    }
    let mut found = Innermost(None);
    Visit::<Soacs>::body(&mut found, body);
    found.0
}

/// Replaces one derivative.
fn differentiate_once(
    mut function: Function<Soacs>,
    derivative: Name,
    calls: &mut Calls,
) -> Result<Function<Soacs>> {
    let mut types = TypeEnv::of_function(&function);
    let mut body = std::mem::replace(&mut function.body, Body { stms: Vec::new(), result: Vec::new() });
    let mut names = std::mem::take(&mut function.names);
    let mut replace = Replace {
        derivative,
        ad: Ad::new(Builder::new(&mut names, &mut types), &function.provs, calls),
        done: Ok(()),
    };
    VisitMut::<Soacs>::body(&mut replace, &mut body);
    replace.done?;
    function.names = names;
    function.body = body;
    let signatures = calls.signatures();
    copies::resolve(&mut function, &signatures)?;
    Ok(function)
}

struct Replace<'a> {
    derivative: Name,
    ad: Ad<'a>,
    done: Result,
}

impl VisitMut<Soacs> for Replace<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| self.walk_body(body));
        let is_it = |stm: &Stm<Soacs>| stm.pat.first().is_some_and(|param| param.name == self.derivative);
        let Some(at) = body.stms.iter().position(is_it) else {
            return;
        };
        let rest = body.stms.split_off(at + 1);
        let Some(stm) = body.stms.pop() else {
            return;
        };
        let outer = self.ad.b.open();
        if let Err(error) = self.ad.derivative(stm) {
            self.done = Err(error);
        }
        body.stms.extend(self.ad.b.close(outer, Vec::new()).stms);
        body.stms.extend(rest);
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
            let exp = Exp::Basic(BasicOp::Atom(*arg));
            self.b.let_pat(vec![param.clone()], exp);
        }
        let body = self.normalise(body)?;
        self.active.extend(params.iter().map(|param| param.name));
        self.mark_body(&body);
        Ok((body, params))
    }

    /// Binds a pattern to results.
    fn bind_results(&mut self, pat: &[Param<Soacs>], aux: &Aux, results: &[Atom]) {
        self.at(aux);
        for (param, result) in pat.iter().zip(results) {
            let ty = self.b.type_of(*result);
            let exp = match (result, &param.ty) {
                (Atom::Var(array), Type::Array { shape, .. }) if ty != param.ty => {
                    let kind = ir::syntax::ReshapeKind::Coerce;
                    Exp::Basic(BasicOp::Reshape { kind, shape: shape.clone(), array: *array })
                }
                _ => Exp::Basic(BasicOp::Atom(*result)),
            };
            self.b.let_pat(vec![param.clone()], exp);
        }
    }

    fn jvp(&mut self, pat: Vec<Param<Soacs>>, aux: &Aux, derivative: Derivative) -> Result {
        let Derivative { args, seeds, directions, lambda } = derivative;
        let Some(directions) = directions else {
            let (body, params) = self.prepare(&args, lambda)?;
            for (param, seed) in params.iter().zip(&seeds) {
                self.tangents.insert(param.name, *seed);
            }
            let mut results = self.forward(body)?;
            let tangents = self.tangent_atoms(&results);
            results.extend(tangents);
            self.bind_results(&pat, aux, &results);
            return Ok(());
        };
        // The function itself, and for each direction the function with its tangents.
        let primal = self.copy_lambda(&lambda);
        let primal = self.b.inline(primal, args.iter().copied());
        let outer = self.b.open();
        let mut rows = Vec::new();
        let mut inputs = Vec::new();
        for seed in &seeds {
            let seed = self.name_of(*seed);
            let row = self.b.types.type_of(seed).row().unwrap_or(Type::BOOL);
            inputs.push(seed);
            rows.push(self.b.param("seed", row));
        }
        let inner = self.b.open();
        let (body, params) = self.prepare(&args, lambda)?;
        for (param, row) in params.iter().zip(&rows) {
            self.tangents.insert(param.name, row.name.into());
        }
        let results = self.forward(body)?;
        let tangents = self.tangent_atoms(&results);
        let tangents = self.of_types(&tangents, &pat[primal.len()..]);
        let ret = tangents.iter().map(|atom| self.b.type_of(*atom)).collect();
        let body = self.b.close(inner, tangents);
        let map = Lambda { params: rows, body, ret };
        let screma = Screma { width: directions, inputs, map, scan_reduce: ScanReduce::default() };
        let tangents = self.b.let_op("tangents", Soac::Screma(screma));
        let stms = self.b.close(outer, Vec::new()).stms;
        self.b.extend(stms);
        let results: Vec<Atom> = primal.into_iter().chain(tangents.into_iter().map(Atom::from)).collect();
        self.bind_results(&pat, aux, &results);
        Ok(())
    }

    /// Rows of the types that arrays of a pattern have.
    fn of_types(&mut self, rows: &[Atom], pat: &[Param<Soacs>]) -> Vec<Atom> {
        let mut results = Vec::new();
        for (row, param) in rows.iter().zip(pat) {
            let wanted = param.ty.row().unwrap_or(Type::BOOL);
            results.push(match (row, &wanted) {
                (Atom::Var(array), Type::Array { shape, .. }) if *self.b.types.type_of(*array) != wanted => {
                    let kind = ir::syntax::ReshapeKind::Coerce;
                    let op = BasicOp::Reshape { kind, shape: shape.clone(), array: *array };
                    self.b.let_basic("row", op).into()
                }
                _ => *row,
            });
        }
        results
    }

    fn vjp(&mut self, pat: Vec<Param<Soacs>>, aux: &Aux, derivative: Derivative) -> Result {
        let Derivative { args, seeds, directions, lambda } = derivative;
        let (body, params) = self.prepare(&args, lambda)?;
        let Some(directions) = directions else {
            let own: Vec<Option<Atom>> = seeds.iter().map(|seed| Some(*seed)).collect();
            self.sweep(&body, &own)?;
            let mut results = body.result.clone();
            for param in &params {
                let adjoint = self.value_so_far(param.name);
                results.push(adjoint);
            }
            self.bind_results(&pat, aux, &results);
            return Ok(());
        };
        // The forward sweep is the same for all directions.
        for stm in &body.stms {
            self.forward_sweep(stm)?;
        }
        self.at(aux);
        let mut rows = Vec::new();
        let mut inputs = Vec::new();
        for seed in &seeds {
            let seed = self.name_of(*seed);
            let row = self.b.types.type_of(seed).row().unwrap_or(Type::BOOL);
            inputs.push(seed);
            rows.push(self.b.param("seed", row));
        }
        let scope = self.open_scope();
        let own: Vec<Option<Atom>> = rows.iter().map(|param| Some(param.name.into())).collect();
        self.return_sweep(&body, &own)?;
        let mut results = Vec::new();
        for param in &params {
            let adjoint = match self.adjoints.get(&param.name) {
                Some(Adjoint::Value(value)) => *value,
                Some(Adjoint::Acc(_)) | None => self.zero(&param.ty),
            };
            results.push(adjoint);
        }
        let ret = results.iter().map(|atom| self.b.type_of(*atom)).collect();
        let body_of_map = self.close_scope(scope, results);
        let map = Lambda { params: rows, body: body_of_map, ret };
        let screma = Screma { width: directions, inputs, map, scan_reduce: ScanReduce::default() };
        let adjoints = self.b.let_op("adjoints", Soac::Screma(screma));
        let results: Vec<Atom> =
            body.result.iter().copied().chain(adjoints.into_iter().map(Atom::from)).collect();
        self.bind_results(&pat, aux, &results);
        Ok(())
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

//! The pass `accumulators`: accumulators whose operator works on arrays.
//!
//! Where the operator is a map, accumulator and map are interchanged (rule G4 of incremental
//! flattening): the operator that remains works on scalars and is kept.
//!
//! ```text
//! withacc (d by map op) \(t, acc) ->          withacc (d by op) \(t, acc) ->
//!   .. updateacc acc (k) (vs) ..         =>     .. map (j < m, v <- vs, acc) ->
//!                                                    updateacc acc (k, j) v ..
//! ```
//!
//! Values combined by any other operator become arrays that are updated in place, sequentially:
//!
//! ```text
//! withacc (d by op) \(t, acc) ->
//!   map (x <- xs, a <- acc) ->           =>   loop d for i < n: d[k] = op d[k] vs
//!     updateacc a (k) (vs)
//! ```
//!
//! Accumulators with operators on scalars, and those without an operator, stay as they are.
//! Histograms whose operators are maps become such accumulators ([`histogram`]), or, where tasks
//! contain no tasks, histograms of columns ([`columns`]).
//!
//! Needs: a verified program of combinators. Guarantees: every operator of a `withacc` works on
//! scalars. Bound names are kept, except for accumulators and in histograms.

use super::{columns, histogram, map_operators};
use crate::{Pat, Result, Stms};
use analysis::statements;
use ir::sequential::{self, update_bucket};
use ir::soac::{AccInput, HistOp, Operator, Screma, Soac};
use ir::syntax::{Aux, BasicOp, Body, Exp, Function, Lambda, LoopParam, Param, Program, Stm};
use ir::types::{Shape, Type};
use ir::typing::instantiate;
use ir::walk::{Substitution, refresh_lambda, with_stack};
use ir::{Atom, Builder, Context, Dim, Name, PassError, Soacs, TypeEnv};
use rustc_hash::FxHashMap;
use std::rc::Rc;

pub(super) type Build<'b> = Builder<'b, Soacs>;

/// A body without statements and results.
const EMPTY: Body<Soacs> = Body { stms: Vec::new(), result: Vec::new() };

/// Rewrites a program; see the module's header.
///
/// # Errors
/// A combinator breaks an invariant of the IR.
pub fn accumulators(mut program: Program<Soacs>, context: &mut Context) -> Result<Program<Soacs>> {
    let nests = context.options.stack.nests();
    program.functions = context.each(program.functions, |mut function, _| {
        if has_array_operator(&function.body) {
            rewrite(&mut function, nests)?;
        }
        Ok(function)
    })?;
    Ok(program)
}

fn has_array_operator(body: &Body<Soacs>) -> bool {
    statements::any(body, &|stm| match &stm.exp {
        Exp::Op(Soac::WithAcc { inputs, lambda: _ }) => {
            inputs.iter().any(|i| i.op.as_ref().is_some_and(is_array_operator))
        }
        Exp::Op(Soac::Hist { ops, .. }) => ops.iter().any(|op| is_array_operator(&op.op)),
        Exp::Basic(_) | Exp::Apply { .. } | Exp::If { .. } | Exp::Loop { .. } | Exp::Op(_) => false,
    })
}

/// Returns true if an operator works on arrays.
pub(super) fn is_array_operator(op: &Operator<Soacs>) -> bool {
    op.op.ret.iter().any(Type::is_array)
}

fn rewrite(function: &mut Function<Soacs>, nests: bool) -> Result {
    let mut types = TypeEnv::of_function(function);
    let body = std::mem::replace(&mut function.body, EMPTY);
    let mut pass = Pass {
        array_operators: FxHashMap::default(),
        arrays: FxHashMap::default(),
        replicates: FxHashMap::default(),
        levels_nest: nests,
        error: None,
    };
    let mut b = Builder::new(&mut function.names, &mut types);
    pass.stms(&mut b, body.stms);
    function.body = b.finish(body.result);
    pass.error.map_or(Ok(()), Err)
}

/// The accumulators of one token.
pub(super) struct AccKind {
    shape: Shape,
    /// Types of the values at one index.
    elems: Vec<Type>,
    op: Operator<Soacs>,
}

impl AccKind {
    fn types(&self) -> Vec<Type> {
        let whole = |ty: &Type| self.shape.iter().rev().fold(ty.clone(), |ty, dim| ty.array_of(*dim));
        self.elems.iter().map(whole).collect()
    }
}

pub(super) struct Pass {
    /// The accumulators whose operator works on arrays, by token.
    array_operators: FxHashMap<Name, Rc<AccKind>>,
    /// The scalars that arrays repeat, by the arrays' names.
    replicates: FxHashMap<Name, Atom>,
    /// True if tasks may contain tasks.
    levels_nest: bool,
    /// The arrays that currently replace each of these accumulators.
    pub(super) arrays: FxHashMap<Name, Vec<Name>>,
    /// The first broken invariant.
    error: Option<PassError>,
}

impl Pass {
    pub(super) fn kind(&self, ty: &Type) -> Option<Rc<AccKind>> {
        match ty {
            Type::Acc { token, .. } => self.array_operators.get(token).cloned(),
            Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_) => None,
        }
    }

    /// The operands with arrays in place of accumulators.
    pub(super) fn atoms(&self, atoms: &[Atom]) -> Vec<Atom> {
        let mut out = Vec::with_capacity(atoms.len());
        for atom in atoms {
            match atom.var().and_then(|name| self.arrays.get(&name)) {
                Some(arrays) => out.extend(arrays.iter().map(|array| Atom::Var(*array))),
                None => out.push(*atom),
            }
        }
        out
    }

    /// Fresh names for the arrays that an accumulator becomes.
    fn names(&mut self, b: &mut Build<'_>, acc: Name, kind: &AccKind) -> Pat {
        let params: Pat = kind.types().into_iter().map(|ty| b.param("dest", ty)).collect();
        let names = params.iter().map(|param| param.name).collect();
        self.arrays.insert(acc, names);
        params
    }

    /// The pattern with arrays in place of accumulators.
    fn pattern(&mut self, b: &mut Build<'_>, pat: Pat) -> Pat {
        let mut out = Vec::with_capacity(pat.len());
        for param in pat {
            match self.kind(&param.ty) {
                Some(kind) => out.extend(self.names(b, param.name, &kind)),
                None => out.push(param),
            }
        }
        out
    }

    fn body(&mut self, b: &mut Build<'_>, body: Body<Soacs>) -> Body<Soacs> {
        b.body(|b| {
            self.stms(b, body.stms);
            self.atoms(&body.result)
        })
    }

    /// Rewrites a lambda that takes none of these accumulators.
    fn lambda(&mut self, b: &mut Build<'_>, lambda: &mut Lambda<Soacs>) {
        if has_array_operator(&lambda.body) {
            let body = std::mem::replace(&mut lambda.body, EMPTY);
            lambda.body = self.body(b, body);
        }
    }

    pub(super) fn stms(&mut self, b: &mut Build<'_>, stms: Stms<Soacs>) {
        with_stack(|| {
            for stm in stms {
                self.stm(b, stm);
            }
        });
    }

    fn stm(&mut self, b: &mut Build<'_>, stm: Stm<Soacs>) {
        let Stm { pat, aux, exp } = stm;
        let outer = (b.prov, b.certs.clone(), b.attrs.clone());
        b.prov = aux.prov;
        b.certs.clone_from(&aux.certs);
        b.attrs.clone_from(&aux.attrs);
        match exp {
            Exp::Basic(BasicOp::Atom(Atom::Var(acc)) | BasicOp::Opaque(Atom::Var(acc)))
                if self.arrays.contains_key(&acc) =>
            {
                let arrays = self.arrays[&acc].clone();
                let under = |array: Name| b.let_basic("dest", BasicOp::Atom(array.into()));
                let arrays = arrays.into_iter().map(under).collect();
                self.arrays.insert(pat[0].name, arrays);
            }
            Exp::Basic(BasicOp::UpdateAcc { acc, index, values }) if self.arrays.contains_key(&acc) => {
                self.update(b, &pat[0], acc, &index, &values);
            }
            exp @ (Exp::Basic(_) | Exp::Apply { .. }) => {
                if let Exp::Basic(BasicOp::Replicate { shape: _, value }) = &exp {
                    let value = match value {
                        Atom::Var(name) => self.replicates.get(name).unwrap_or(value),
                        Atom::Const(_) => value,
                    };
                    self.replicates.insert(pat[0].name, *value);
                }
                b.let_pat(pat, exp);
            }
            Exp::If { cond, then_body, else_body } => {
                let then_body = self.body(b, then_body);
                let else_body = self.body(b, else_body);
                let pat = self.pattern(b, pat);
                let exp = Exp::If { cond, then_body, else_body };
                b.let_pat(pat, exp);
            }
            Exp::Loop { params, form, body } => {
                let params = self.loop_params(b, params);
                let body = self.body(b, body);
                let pat = self.pattern(b, pat);
                b.let_pat(pat, Exp::Loop { params, form, body });
            }
            Exp::Op(soac) => self.soac(b, pat, &aux, soac),
        }
        (b.prov, b.certs, b.attrs) = outer;
    }

    fn loop_params(&mut self, b: &mut Build<'_>, params: Vec<LoopParam<Soacs>>) -> Vec<LoopParam<Soacs>> {
        let mut out = Vec::with_capacity(params.len());
        for param in params {
            let kind = self.kind(&param.param.ty);
            let (Some(kind), Atom::Var(init)) = (kind, param.init) else {
                out.push(param);
                continue;
            };
            let inits = self.arrays.get(&init).cloned().unwrap_or_default();
            let own = self.names(b, param.param.name, &kind);
            out.extend(own.into_iter().zip(inits).map(|(param, init)| LoopParam {
                param,
                init: Atom::Var(init),
                consumed: true,
            }));
        }
        out
    }

    fn soac(&mut self, b: &mut Build<'_>, pat: Pat, aux: &Aux, mut soac: Soac) {
        match &mut soac {
            Soac::Screma(s) if s.inputs.iter().any(|input| self.arrays.contains_key(input)) => {
                if let Soac::Screma(s) = soac {
                    self.screma(b, (pat, aux.clone()), s);
                }
                return;
            }
            Soac::Screma(Screma { width: _, inputs: _, map, scan_reduce }) => {
                self.lambda(b, map);
                for lambda in scan_reduce.lambdas_mut() {
                    self.lambda(b, lambda);
                }
            }
            Soac::Hist { ops, .. } if histogram::is_row_histogram(ops, &self.replicates) => {
                if let Soac::Hist { width, inputs, map, ops } = soac {
                    if !self.levels_nest && columns::pays(b, &ops) {
                        columns::histogram(b, pat, (width, &inputs, map), ops, &self.replicates);
                    } else {
                        let with_acc = histogram::as_accumulators(b, (width, &inputs, map), ops);
                        self.with_acc(b, pat, with_acc);
                    }
                }
                return;
            }
            Soac::Hist { width: _, inputs: _, map, ops } => {
                self.lambda(b, map);
                for HistOp { shape: _, destinations: _, op } in ops {
                    self.lambda(b, &mut op.op);
                }
            }
            Soac::WithAcc { .. } => {
                if let Soac::WithAcc { inputs, lambda } = soac {
                    self.with_acc(b, pat, (inputs, lambda));
                }
                return;
            }
            Soac::Stream { lambda, .. }
            | Soac::FlatMap { lambda, .. }
            | Soac::Jvp { lambda, .. }
            | Soac::Vjp { lambda, .. }
            | Soac::WithVjp { lambda, .. } => self.lambda(b, lambda),
        }
        b.let_pat(pat, Exp::Op(soac));
    }

    /// Appends a screma that passes on accumulators whose operator works on arrays: a loop.
    fn screma(&mut self, b: &mut Build<'_>, to: (Pat, Aux), s: Screma) {
        let mut done = Ok(());
        let body = b.body(|b| {
            done = sequential::screma(b, to, s, None);
            Vec::new()
        });
        self.error = self.error.take().or(done.err());
        self.stms(b, body.stms);
    }

    fn with_acc(
        &mut self,
        b: &mut Build<'_>,
        pat: Pat,
        (mut inputs, mut lambda): (Vec<AccInput<Soacs>>, Lambda<Soacs>),
    ) {
        let n = inputs.len();
        map_operators::interchange(b, &mut inputs, &mut lambda, &self.replicates);
        let Lambda { params, body, ret } = lambda;
        let (tokens, accs) = params.split_at(n);
        let (acc_results, rest) = body.result.split_at(n);
        let (mut kept, mut kept_tokens, mut kept_accs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut kept_pat, mut own_pat) = (Vec::new(), Vec::new());
        let (mut kept_results, mut own_results) = (Vec::new(), Vec::new());
        let mut pat = pat.into_iter();
        for (i, AccInput { shape, arrays, op }) in inputs.into_iter().enumerate() {
            let results = pat.by_ref().take(arrays.len());
            match op {
                Some(mut op) if is_array_operator(&op) => {
                    own_pat.extend(results);
                    own_results.push(acc_results[i]);
                    self.lambda(b, &mut op.op);
                    let elems = op.op.ret.clone();
                    let kind = AccKind { shape, elems, op };
                    self.array_operators.insert(tokens[i].name, Rc::new(kind));
                    self.arrays.insert(accs[i].name, arrays);
                }
                op => {
                    kept_pat.extend(results);
                    kept_results.push(acc_results[i]);
                    kept.push(AccInput { shape, arrays, op });
                    kept_tokens.push(tokens[i].clone());
                    kept_accs.push(accs[i].clone());
                }
            }
        }
        if kept.is_empty() {
            self.stms(b, body.stms);
            let mut results = self.atoms(&own_results);
            results.extend_from_slice(rest);
            for (param, result) in own_pat.into_iter().chain(pat).zip(results) {
                b.let_pat(vec![param], Exp::Basic(BasicOp::Atom(result)));
            }
            return;
        }
        // The arrays are returned after the results of the accumulators that are kept.
        let n_own = own_pat.len() as u32;
        kept_results.extend_from_slice(rest);
        let body = b.body(|b| {
            self.stms(b, body.stms);
            kept_results.extend(self.atoms(&own_results));
            kept_results
        });
        let shifted = |ty: &Type| instantiate(ty, &|i| Some(Dim::Ext(i.saturating_sub(n_own))));
        let ret = (kept_accs.iter().map(|param: &Param<Soacs>| param.ty.clone()))
            .chain(ret[n..].iter().map(shifted))
            .chain(own_pat.iter().map(|param: &Param<Soacs>| param.ty.clone()))
            .collect();
        let lambda = Lambda { params: [kept_tokens, kept_accs].concat(), body, ret };
        let pat = kept_pat.into_iter().chain(pat).chain(own_pat);
        b.let_pat(pat.collect(), Exp::Op(Soac::WithAcc { inputs: kept, lambda }));
    }

    /// Replaces an update of `acc` by updates of its arrays, if the index is in bounds.
    fn update(&mut self, b: &mut Build<'_>, to: &Param<Soacs>, acc: Name, index: &[Atom], values: &[Atom]) {
        let Some(kind) = self.kind(&to.ty) else { return };
        let destinations = self.arrays.get(&acc).cloned().unwrap_or_default();
        let op = refresh_lambda(&kind.op.op, b.names, &mut Substitution::default());
        let new = update_bucket(b, (&destinations, &kind.shape), (index, values), op);
        self.arrays.insert(to.name, new);
    }
}

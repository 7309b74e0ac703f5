//! Terms of sums that are cheap to compute are computed by their readers again, and not stored.
//!
//! ```text
//! let ts = map n (i) -> a[i] * b[i]
//! let ss = map n (k) -> ts[k - 1] + ts[k + 1]   =>   let ss = map n (k) -> a[k - 1] * b[k - 1] + a[k + 1] * b[k + 1]
//! ```
//!
//! The gradient of a stencil ([`crate::gather`]) reads terms at several distances, which fusion cannot
//! merge with the nest that computes them. An element of a nest of maps is recomputed if all its
//! readers index it in nests of as many dimensions, each iteration a few times, and it costs little
//! ([`thresholds::RECOMPUTED`]): reads of arrays, sums and products of these, and choices between them.

use crate::calls::Calls;
use analysis::alias::Aliases;
use analysis::signatures::Signatures;
use analysis::total::is_unchecked;
use analysis::{cost, thresholds};
use ir::build::Builder;
use ir::remark::DerivativeStep;
use ir::soac::{Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Function, Lambda, Stm};
use ir::types::Type;
use ir::walk::{
    Substitution, Visit, VisitMut, consumed_by, free_names_lambda, stm_names, substitute_exp, with_stack,
};
use ir::{Name, Prov, TypeEnv};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::rc::Rc;

/// The most places at which an element is read.
const MAX_READS: usize = 8;

/// Recomputes elements in a function. Returns true if there were any.
pub(crate) fn recompute(function: &mut Function<Soacs>, signatures: &Signatures, calls: &mut Calls) -> bool {
    let mut uses = Uses::default();
    uses.body(&function.body);
    let few = uses.few();
    if few.is_empty() {
        return false;
    }
    let iotas = opt::iotas(function);
    let mut types = TypeEnv::of_function(function);
    let aliases = Aliases::of(function, &types, signatures);
    let Function { names, body, provs, .. } = function;
    let b = Builder::new(names, &mut types);
    let mut recompute = Recompute {
        b,
        aliases: &aliases,
        signatures,
        few,
        nests: FxHashMap::default(),
        iotas,
        recomputed: Vec::new(),
    };
    recompute.body(body);
    let Recompute { mut recomputed, .. } = recompute;
    recomputed.dedup();
    if let Some(notes) = &mut calls.notes {
        notes.extend(recomputed.iter().map(|prov| (provs.stack(*prov), DerivativeStep::Recomputes)));
    }
    !recomputed.is_empty()
}

/// The uses of each array: reads of single elements in a nest of its dimensions, and others.
#[derive(Default)]
struct Uses {
    reads: FxHashMap<Name, usize>,
    all: FxHashMap<Name, usize>,
    /// The number of lambdas and loops around the statement that binds each name.
    depths: FxHashMap<Name, usize>,
    /// The number of those around the current statement.
    depth: usize,
}

impl Uses {
    /// The arrays that are read in such nests only, a few times.
    fn few(&self) -> FxHashSet<Name> {
        let few = |(name, reads): (&Name, &usize)| {
            (*reads <= MAX_READS && self.all.get(name) == Some(reads)).then_some(*name)
        };
        self.reads.iter().filter_map(few).collect()
    }
}

impl Visit<Soacs> for Uses {
    fn exp(&mut self, exp: &Exp<Soacs>) {
        if let Exp::Basic(BasicOp::Index { array, slice }) = exp
            && let (Some(index), Some(depth)) = (fixed(slice), self.depths.get(array))
            && self.depth == depth + index.len()
        {
            *self.reads.entry(*array).or_default() += 1;
        }
        let repeats = matches!(exp, Exp::Loop { .. });
        self.depth += usize::from(repeats);
        self.walk_exp(exp);
        self.depth -= usize::from(repeats);
    }

    fn lambda(&mut self, lambda: &Lambda<Soacs>) {
        self.depth += 1;
        self.walk_lambda(lambda);
        self.depth -= 1;
    }

    fn stm(&mut self, stm: &Stm<Soacs>) {
        self.depths.extend(stm.pat.iter().map(|param| (param.name, self.depth)));
        self.walk_stm(stm);
    }

    fn name(&mut self, name: &Name) {
        *self.all.entry(*name).or_default() += 1;
    }
}

/// The indices of a read of one element.
fn fixed(slice: &[DimIndex]) -> Option<SmallVec<[Atom; 2]>> {
    let indices = slice.iter().map(|index| match index {
        DimIndex::Fix(at) => Some(*at),
        DimIndex::Slice { .. } => None,
    });
    indices.collect()
}

struct Recompute<'a> {
    b: Builder<'a, Soacs>,
    aliases: &'a Aliases,
    signatures: &'a Signatures,
    /// The arrays with a few suitable reads.
    few: FxHashSet<Name>,
    /// Arrays whose elements may be recomputed: the nest, and the position among its results.
    nests: FxHashMap<Name, (Rc<Screma>, usize)>,
    /// Arrays of consecutive numbers from 0 on.
    iotas: FxHashSet<Name>,
    /// Where elements were read.
    recomputed: Vec<Prov>,
}

impl VisitMut<Soacs> for Recompute<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        with_stack(|| {
            let outer = self.b.open();
            let consumed: Vec<Vec<usize>> = body.stms.iter().map(|stm| self.consumed(stm)).collect();
            for (at, mut stm) in std::mem::take(&mut body.stms).into_iter().enumerate() {
                if let Exp::Basic(BasicOp::Index { array, slice }) = &stm.exp
                    && let (Some((nest, at)), Some(index)) = (self.nests.get(array).cloned(), fixed(slice))
                {
                    self.b.prov = stm.aux.prov;
                    if let Some(value) = self.element(&nest, at, &index) {
                        self.recomputed.push(stm.aux.prov);
                        stm.exp = Exp::Basic(BasicOp::Atom(value));
                    }
                    self.b.push(stm);
                    continue;
                }
                self.stm(&mut stm);
                self.record(&stm, &consumed[at + 1..]);
                self.b.push(stm);
            }
            body.stms = self.b.close(outer, Vec::new()).stms;
        });
    }
}

impl Recompute<'_> {
    /// The classes of arrays that a statement consumes, at any depth.
    fn consumed(&self, stm: &Stm<Soacs>) -> Vec<usize> {
        struct Consumed<'a>(&'a Aliases, &'a Signatures, Vec<usize>);
        impl Visit<Soacs> for Consumed<'_> {
            fn exp(&mut self, exp: &Exp<Soacs>) {
                let names = consumed_by(exp, |fun, at| self.1.consumes(fun, at));
                self.2.extend(names.into_iter().map(|name| self.0.class(name)));
                self.walk_exp(exp);
            }
        }
        let mut consumed = Consumed(self.aliases, self.signatures, Vec::new());
        consumed.stm(stm);
        consumed.2
    }

    /// Records the arrays of a statement whose elements may be recomputed; later statements consume
    /// arrays of these classes.
    fn record(&mut self, stm: &Stm<Soacs>, later: &[Vec<usize>]) {
        let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
            return;
        };
        if !screma.scan_reduce.is_map() || !stm.aux.certs.is_empty() {
            return;
        }
        for (at, param) in stm.pat.iter().enumerate() {
            if !self.few.contains(&param.name) {
                continue;
            }
            // Found out by computing an element.
            let outer = self.b.open();
            let index: Vec<Atom> = param.ty.shape().iter().map(|_| Atom::i64(0)).collect();
            let value = self.element(screma, at, &index);
            let stms = self.b.close(outer, Vec::new()).stms;
            let is_kept = stms.iter().all(|stm| self.reads_kept(stm, later));
            if value.is_some() && is_kept && cost::statements(&stms).total() <= thresholds::RECOMPUTED {
                self.nests.insert(param.name, (Rc::new(screma.clone()), at));
            }
        }
    }

    /// Returns true if no array that a statement reads is consumed later.
    fn reads_kept(&self, stm: &Stm<Soacs>, later: &[Vec<usize>]) -> bool {
        let mut kept = true;
        stm_names(stm, |name| {
            let class = self.aliases.class(name);
            kept &= !later.iter().any(|consumed| consumed.contains(&class));
        });
        kept
    }

    /// Appends the computation of an element of a nest's result.
    fn element(&mut self, nest: &Screma, at: usize, index: &[Atom]) -> Option<Atom> {
        let mut element =
            Element { iotas: &self.iotas, values: Substitution::default(), rows: FxHashMap::default() };
        element.of_nest(&mut self.b, nest, at, index)
    }
}

/// The computation of one element.
struct Element<'a> {
    iotas: &'a FxHashSet<Name>,
    /// The values of the names of the nest.
    values: Substitution,
    /// The arrays and indices of parameters that are rows.
    rows: FxHashMap<Name, (Name, Vec<Atom>)>,
}

impl Element<'_> {
    fn of_nest(
        &mut self,
        b: &mut Builder<'_, Soacs>,
        nest: &Screma,
        at: usize,
        index: &[Atom],
    ) -> Option<Atom> {
        let (first, rest) = index.split_first()?;
        for (param, input) in nest.map.params.iter().zip(&nest.inputs) {
            if self.iotas.contains(input) {
                self.values.insert(param.name, *first);
                continue;
            }
            let (array, mut indices) = self.rows.get(input).cloned().unwrap_or((*input, Vec::new()));
            indices.push(*first);
            if param.ty.is_prim() {
                self.values.insert(param.name, b.index("x", array, &indices).into());
            } else {
                self.rows.insert(param.name, (array, indices));
            }
        }
        let result = *nest.map.body.result.get(at)?;
        if rest.is_empty() {
            return self.of_body(b, &nest.map.body, result);
        }
        // The element of an inner nest.
        let inner = result.var()?;
        let stms = &nest.map.body.stms;
        let maker = stms.iter().find(|stm| stm.pat.iter().any(|param| param.name == inner))?;
        let Exp::Op(Soac::Screma(own)) = &maker.exp else {
            return None;
        };
        if !own.scan_reduce.is_map() || !maker.aux.certs.is_empty() {
            return None;
        }
        let needed = needed(stms, free_names_lambda(&own.map));
        self.statements(b, stms, &needed)?;
        let at = maker.pat.iter().position(|param| param.name == inner)?;
        self.of_nest(b, own, at, rest)
    }

    /// Appends what a result of a body needs.
    fn of_body(&mut self, b: &mut Builder<'_, Soacs>, body: &Body<Soacs>, result: Atom) -> Option<Atom> {
        let needed = needed(&body.stms, result.var().into_iter().collect());
        self.statements(b, &body.stms, &needed)?;
        Some(self.value(result))
    }

    fn value(&self, atom: Atom) -> Atom {
        atom.var().and_then(|name| self.values.get(&name).copied()).unwrap_or(atom)
    }

    fn statements(
        &mut self,
        b: &mut Builder<'_, Soacs>,
        stms: &[Stm<Soacs>],
        needed: &FxHashSet<Name>,
    ) -> Option<()> {
        let mut own = stms.iter().filter(|stm| stm.pat.iter().any(|param| needed.contains(&param.name)));
        own.try_for_each(|stm| with_stack(|| self.statement(b, stm, needed)))
    }

    fn statement(
        &mut self,
        b: &mut Builder<'_, Soacs>,
        stm: &Stm<Soacs>,
        needed: &FxHashSet<Name>,
    ) -> Option<()> {
        if !stm.pat.iter().all(|param| param.ty.is_prim()) {
            return None;
        }
        let mut certs = Vec::new();
        for cert in &stm.aux.certs {
            certs.push(self.value((*cert).into()).var()?);
        }
        match &stm.exp {
            Exp::Basic(BasicOp::Index { array, slice }) => {
                let (array, mut indices) = self.rows.get(array).cloned().unwrap_or((*array, Vec::new()));
                indices.extend(fixed(slice)?.into_iter().map(|at| self.value(at)));
                let value = b.with_certs(&certs, |b| b.index("x", array, &indices));
                self.values.insert(stm.pat[0].name, value.into());
            }
            Exp::Basic(op) if is_unchecked(op) || matches!(op, BasicOp::Atom(_)) => {
                let mut exp = stm.exp.clone();
                substitute_exp(&mut exp, &self.values);
                let value = b.with_certs(&certs, |b| b.let_exp("x", exp));
                self.values.insert(stm.pat[0].name, value.into());
            }
            Exp::If { cond, then_body, else_body } => {
                let cond = self.value(*cond);
                let (mut then_result, mut else_result, mut pat) = (Vec::new(), Vec::new(), Vec::new());
                for (k, param) in stm.pat.iter().enumerate() {
                    if needed.contains(&param.name) {
                        then_result.push(*then_body.result.get(k)?);
                        else_result.push(*else_body.result.get(k)?);
                        pat.push(param);
                    }
                }
                let then_body = self.branch(b, then_body, then_result)?;
                let else_body = self.branch(b, else_body, else_result)?;
                let types: Vec<Type> = pat.iter().map(|param| param.ty.clone()).collect();
                let results: Vec<_> = types.into_iter().map(|ty| b.param("x", ty)).collect();
                for (param, own) in pat.into_iter().zip(&results) {
                    self.values.insert(param.name, own.name.into());
                }
                b.let_pat(results, Exp::If { cond, then_body, else_body });
            }
            Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => return None,
        }
        Some(())
    }

    fn branch(
        &mut self,
        b: &mut Builder<'_, Soacs>,
        body: &Body<Soacs>,
        results: Vec<Atom>,
    ) -> Option<Body<Soacs>> {
        let needed = needed(&body.stms, results.iter().filter_map(|result| result.var()).collect());
        let outer = b.open();
        let done = self.statements(b, &body.stms, &needed);
        let results = results.into_iter().map(|result| self.value(result)).collect();
        let body = b.close(outer, results);
        done.map(|()| body)
    }
}

/// The names that values depend on, through statements.
fn needed(stms: &[Stm<Soacs>], values: Vec<Name>) -> FxHashSet<Name> {
    let mut needed: FxHashSet<Name> = values.into_iter().collect();
    for stm in stms.iter().rev() {
        if stm.pat.iter().any(|param| needed.contains(&param.name)) {
            stm_names(stm, |name| {
                needed.insert(name);
            });
        }
    }
    needed
}

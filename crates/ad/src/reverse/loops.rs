//! Reverse mode: sequential loops.
//!
//! ```text
//! let ps = loop ps = init for i < n do body
//!   =>  let (ps, tapes) = loop (ps, tapes) for i < n do                      forward sweep
//!         tapes[i] = ps; body
//!       let (ps', frees') = loop (ps', frees') for k < n do                  return sweep
//!         i = n - 1 - k; ps = tapes[i]; body; return sweep of body
//! ```
//!
//! Of arrays that are updated in place, only the elements that are read are saved ([`super::element_tapes`]). Tapes of
//! values that the return sweep does not need are removed as dead code. The iterations of a
//! `while` loop are counted first ([`crate::normalise`]).

use super::Adjoint;
use super::element_tapes::{Read, reads_of};
use crate::state::{Ad, Result};
use ir::Name;
use ir::facts::Facts;
use ir::remark::DerivativeStep;
use ir::soac::Soacs;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, free_names};
use prim::{BinOp, ConvOp, PrimType, Scalar, ScalarOp};
use rustc_hash::FxHashMap;

/// The tape of a loop's parameter.
#[derive(Clone, Debug)]
pub(crate) enum Tape {
    /// Nothing: the parameter is an accumulator.
    Nothing,
    /// The array of its values at the beginning of each iteration.
    Values(Name),
    /// The values of the reads of an array that is updated in place.
    Reads(Vec<(Read, Name)>),
}

/// The tapes of a loop's parameters.
pub(crate) type Tapes = Vec<Tape>;

/// The tapes of a loop while it is built.
#[derive(Default)]
pub(super) struct Building {
    pub params: Vec<LoopParam<Soacs>>,
    pub pat: Vec<Param<Soacs>>,
}

impl Building {
    /// Adds a tape; returns its names inside of the loop and after it.
    pub fn add(&mut self, ad: &mut Ad<'_>, init: Name) -> (Name, Name) {
        let ty = ad.b.types.type_of(init).clone();
        let (own, result) = (ad.b.param("tape", ty.clone()), ad.b.param("tape", ty));
        let names = (own.name, result.name);
        self.params.push(LoopParam { param: own, init: init.into(), consumed: true });
        self.pat.push(result);
        names
    }
}

impl Ad<'_> {
    /// Appends a counted loop that saves the values of its parameters.
    /// A tape has `length` rows, by default one for each iteration.
    pub(super) fn taped_loop(&mut self, stm: &Stm<Soacs>, length: Option<Dim>) -> Result {
        let Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body } = &stm.exp else {
            return Err(ir::PassError::bug("a while loop was not counted before differentiation"));
        };
        self.at(&stm.aux);
        let count = length.unwrap_or_else(|| self.iterations(*ty, *bound));
        let (mut building, mut tapes) = (Building::default(), Tapes::new());
        // The tapes' names inside of the loop, by the value or read that they save.
        let (mut of_values, mut of_reads) = (Vec::new(), FxHashMap::default());
        for (p, reads) in params.iter().zip(reads_of(params, *var, body)) {
            if p.param.ty.elem().is_none() {
                tapes.push(Tape::Nothing);
                continue;
            }
            if let Some(reads) = reads {
                let mut saved = Vec::with_capacity(reads.len());
                for read in reads {
                    let tape = self.tape_of(&read, count)?;
                    self.note(|ad| DerivativeStep::SavesReads {
                        variable: ad.hint(p.param.name),
                        tape: ad.type_text(tape),
                    });
                    let (own, result) = building.add(self, tape);
                    of_reads.insert(read.name, own);
                    saved.push((read, result));
                }
                tapes.push(Tape::Reads(saved));
                continue;
            }
            let tape = self.unwritten("tape", &p.param.ty, count);
            self.note(|ad| DerivativeStep::SavesValues {
                variable: ad.hint(p.param.name),
                tape: ad.type_text(tape),
            });
            let (own, result) = building.add(self, tape);
            of_values.push((p.param.name, own));
            tapes.push(Tape::Values(result));
        }
        let outer = self.b.open();
        let at = self.b.convert(ConvOp::SExt, *ty, PrimType::I64, (*var).into());
        let mut next: FxHashMap<Name, Name> = FxHashMap::default();
        for (value, tape) in of_values {
            next.insert(tape, self.b.update("tape", tape, &[at], value.into()));
        }
        let before = of_reads.clone();
        self.save_reads(body, &mut vec![at], &mut of_reads);
        next.extend(before.into_iter().map(|(read, tape)| (tape, of_reads[&read])));
        let saved = building.params.iter().map(|p| next[&p.param.name].into());
        let result = body.result.iter().copied().chain(saved).collect();
        let body = self.b.close(outer, result);
        let params = params.iter().cloned().chain(building.params).collect();
        let pat = stm.pat.iter().cloned().chain(building.pat).collect();
        let exp = Exp::Loop { params, form: LoopForm::For { var: *var, ty: *ty, bound: *bound }, body };
        let aux = Aux { facts: Facts::default(), ..stm.aux.clone() };
        self.b.let_with(pat, aux, exp);
        self.keep_tapes(&stm.pat, tapes);
        Ok(())
    }

    /// Keeps the tapes of a loop.
    pub(super) fn keep_tapes(&mut self, pat: &[Param<Soacs>], tapes: Tapes) {
        self.tapes.extend(pat.iter().map(|result| result.name).zip(tapes));
    }

    /// The tapes of a loop; its accumulators have none, with which the forward sweep may not have run.
    pub(super) fn tapes_of(&self, pat: &[Param<Soacs>]) -> Result<Tapes> {
        let tape = |result: &Param<Soacs>| match (self.tapes.get(&result.name), &result.ty) {
            (Some(tape), _) => Ok(tape.clone()),
            (None, Type::Acc { .. }) => Ok(Tape::Nothing),
            (None, Type::Prim(_) | Type::Array { .. } | Type::Cert | Type::Mem(_)) => {
                Err(ir::PassError::bug("a loop has no tape"))
            }
        };
        pat.iter().map(tape).collect()
    }

    /// The number of iterations as a size.
    pub(crate) fn iterations(&mut self, ty: PrimType, bound: Atom) -> Dim {
        if let Some(count) = bound.var().and_then(|bound| self.counts.get(&bound)) {
            return *count;
        }
        let wide = match bound {
            Atom::Const(value) => Atom::i64(value.as_i64().unwrap_or(0)),
            Atom::Var(_) => self.b.convert(ConvOp::SExt, ty, PrimType::I64, bound),
        };
        match wide.constant().and_then(Scalar::as_i64) {
            Some(n) => Dim::Const(n.max(0)),
            None => {
                let count = BasicOp::Scalar(ScalarOp::Binary(BinOp::SMax, PrimType::I64, wide, Atom::i64(0)));
                Dim::Var(self.b.let_basic("iterations", count))
            }
        }
    }

    pub(super) fn reverse_loop(&mut self, stm: &Stm<Soacs>, adjoints: &[Option<Atom>]) -> Result {
        let Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body } = &stm.exp else {
            return Err(ir::PassError::bug("a while loop was not counted before differentiation"));
        };
        let tapes = self.tapes_of(&stm.pat)?;
        let first = stm.pat.first().map(|first| first.name);
        let is_own = |at: &usize| {
            let param = &params[*at].param;
            self.active.contains(&param.name) && !matches!(param.ty, Type::Acc { .. })
        };
        let own: Vec<usize> = (0..params.len()).filter(is_own).collect();
        let bound_here = |name: &Name| *name == *var || params.iter().any(|p| p.param.name == *name);
        let mut free = free_names(body);
        free.retain(|name| self.active.contains(name) && !bound_here(name));
        let mut inits = Vec::new();
        for at in &own {
            let ty = params[*at].param.ty.clone();
            let init = self.or_zero(adjoints.get(*at).copied().flatten(), &ty);
            inits.push((ty, init));
        }
        let before: Vec<Adjoint> = free.iter().map(|name| self.so_far(*name)).collect();
        for adjoint in &before {
            inits.push((self.b.type_of(adjoint.atom()), adjoint.atom()));
        }
        let outer = std::mem::take(&mut self.adjoints);
        let dense = self.dense.take();
        let results = self.down((*ty, *bound), inits, |ad, at, names| {
            let (seeds, current) = names.split_at(own.len());
            for ((name, adjoint), current) in free.iter().zip(&before).zip(current) {
                ad.adjoints.insert(*name, adjoint.replaced(*current));
            }
            let (copy, saved) = ad.iteration_body((params, *var, body), &tapes, at);
            let mut all = vec![None; params.len()];
            for (at, seed) in own.iter().zip(seeds) {
                all[*at] = Some((*seed).into());
            }
            match first.and_then(|first| ad.segments.get(&first)).cloned() {
                Some(segments) => ad.sweep_segment(&copy, &all, (at.1, *bound), segments)?,
                None => ad.sweep(&copy, &all)?,
            }
            let next = own.iter().map(|at| saved[*at]).chain(free.iter().copied());
            Ok(next.map(|name| ad.so_far(name).atom()).collect())
        })?;
        self.adjoints = outer;
        self.dense = dense;
        let (own_results, free_results) = results.split_at(own.len());
        for ((name, adjoint), result) in free.iter().zip(before).zip(free_results) {
            self.adjoints.insert(*name, adjoint.replaced(*result));
        }
        for (at, result) in own.iter().zip(own_results) {
            self.add(params[*at].init, (*result).into());
        }
        Ok(())
    }

    /// A loop with parameters of these types and initial values, whose body gets the number of the
    /// iteration from last to first, also as `i64`. It consumes arrays.
    pub(super) fn down(
        &mut self,
        (ty, bound): (PrimType, Atom),
        inits: Vec<(Type, Atom)>,
        f: impl FnOnce(&mut Self, (Atom, Atom), &[Name]) -> Result<Vec<Atom>>,
    ) -> Result<Vec<Name>> {
        let var = self.b.names.fresh("k");
        self.b.types.set(var, Type::Prim(ty));
        let types: Vec<Type> = inits.iter().map(|(ty, _)| ty.clone()).collect();
        let mut params: Vec<LoopParam<Soacs>> = Vec::new();
        for (ty, init) in inits {
            let consumed = ty.is_array();
            params.push(LoopParam { param: self.b.param("adj", ty), init, consumed });
        }
        let names: Vec<Name> = params.iter().map(|p| p.param.name).collect();
        let outer = self.b.open();
        let one = Atom::Const(Scalar::int(ty, 1));
        let last = self.b.binary(BinOp::Sub, ty, bound, one);
        let i: Atom = self.b.binary(BinOp::Sub, ty, last.into(), var.into()).into();
        let at = self.b.convert(ConvOp::SExt, ty, PrimType::I64, i);
        let result = f(self, (i, at), &names)?;
        let body = self.b.close(outer, result);
        let exp = Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body };
        Ok(self.b.bind_all(types.into_iter().map(|ty| ("adj", ty)), exp))
    }

    /// A copy of a loop's body at an iteration, with its parameters restored from the tapes, and the
    /// names of the parameters.
    fn iteration_body(
        &mut self,
        (params, var, body): (&[LoopParam<Soacs>], Name, &Body<Soacs>),
        tapes: &[Tape],
        (i, at): (Atom, Atom),
    ) -> (Body<Soacs>, Vec<Name>) {
        let mut names = Vec::new();
        let mut map = Substitution::default();
        map.insert(var, i);
        let mut all_reads = Vec::new();
        for (p, tape) in params.iter().zip(tapes) {
            let name = match (tape, &p.param.ty) {
                (Tape::Values(tape), _) => self.b.index("saved", *tape, &[at]),
                (Tape::Reads(reads), Type::Array { elem, shape }) => {
                    all_reads.extend_from_slice(reads);
                    self.b.let_basic("unread", BasicOp::Scratch { elem: *elem, shape: shape.clone() })
                }
                (Tape::Reads(_) | Tape::Nothing, ty) => self.b.param("acc", ty.clone()).name,
            };
            if self.active.contains(&p.param.name) {
                self.active.insert(name);
            }
            map.insert(p.param.name, name.into());
            names.push(name);
        }
        (self.copy_with_reads(body, map, at, &all_reads), names)
    }
}

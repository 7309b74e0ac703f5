//! Reverse mode: loops that save their state only at the beginning of each segment of their iterations.
//!
//! ```text
//! loop ps for s < segments do            loop (ps, states, tapes) for s < segments do          forward sweep
//!   loop ps for i < length do body  =>     states[s] = ps; loop (ps, tapes) for i < length do body
//!                                        loop ps' for s from segments - 1 down to 0 do           return sweep
//!                                          tapes = if s is the last segment then those of the forward sweep
//!                                                  else of the inner loop again, from states[s]
//!                                          return sweep of the inner loop
//! ```
//!
//! With one segment no iteration is repeated ([`crate::strip_mine`] chooses the number from the tape's size).

use super::element_tapes::reads_of;
use super::loops::{Building, Tape, Tapes};
use crate::state::{Ad, Result};
use ir::facts::Facts;
use ir::remark::DerivativeStep;
use ir::soac::Soacs;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, LoopForm, LoopParam, Stm};
use ir::types::{Dim, Shape};
use ir::{Name, PassError};
use prim::{CmpOp, PrimType};

/// The segments of a loop.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    /// The number of iterations of each but the last.
    pub length: Dim,
    /// The tapes of the last one, after the forward sweep.
    pub last: Tapes,
}

impl Ad<'_> {
    /// Appends the forward sweep of a nest whose outer loop is over segments.
    pub(super) fn loop_over_segments(&mut self, stm: &Stm<Soacs>, first: Name, length: Dim) -> Result {
        let Exp::Loop { params, form: form @ LoopForm::For { var, ty, bound }, body } = &stm.exp else {
            return Err(PassError::bug("a loop over segments is not counted"));
        };
        self.at(&stm.aux);
        self.note(|ad| DerivativeStep::Segments(ad.calls.options.tape_limit.unsigned_abs()));
        let count = self.iterations(*ty, *bound);
        let mut building = Building::default();
        let (mut states, mut own_states) = (Tapes::new(), Vec::new());
        for p in params {
            if p.param.ty.elem().is_none() {
                return Err(PassError::bug("a loop over segments has accumulators"));
            }
            let tape = self.unwritten("states", &p.param.ty, count);
            let (own, result) = building.add(self, tape);
            own_states.push(own);
            states.push(Tape::Values(result));
        }
        self.count_inner_loops(body);
        let outer = self.b.open();
        let mut saved: Vec<Atom> = Vec::new();
        for (p, own) in params.iter().zip(own_states) {
            saved.push(self.b.update("states", own, &[(*var).into()], p.param.name.into()).into());
        }
        self.segment_bounds(body);
        let tapes = self.segment(body, length)?;
        let names = names_of(&tapes);
        let results = body.result.iter().copied().chain(saved);
        let body_result = results.chain(names.iter().map(|name| Atom::Var(*name))).collect();
        let body = self.b.close(outer, body_result);
        let mut last = Vec::new();
        for name in names {
            let ty = self.b.types.type_of(name).clone();
            let Some(elem) = ty.elem() else {
                return Err(PassError::bug("a tape has no elements"));
            };
            let shape = Shape::from_slice(ty.shape());
            let tape = self.b.let_basic("tape", BasicOp::Scratch { elem, shape });
            last.push(building.add(self, tape).1);
        }
        let Building { params: more, pat } = building;
        let all: Vec<LoopParam<Soacs>> = params.iter().cloned().chain(more).collect();
        let aux = Aux { facts: Facts::default(), ..stm.aux.clone() };
        let pat = stm.pat.iter().cloned().chain(pat).collect();
        self.b.let_with(pat, aux, Exp::Loop { params: all, form: *form, body });
        self.keep_tapes(&stm.pat, states);
        self.segments.insert(first, Segments { length, last: renamed(tapes, last) });
        Ok(())
    }

    /// Appends the numbers of iterations of loops in a segment on which the sizes of its tapes depend.
    fn count_inner_loops(&mut self, body: &Body<Soacs>) {
        let inner = body.stms.last().map(|stm| &stm.exp);
        let Some(Exp::Loop { params, form: LoopForm::For { var, .. }, body }) = inner else {
            return;
        };
        for (_, ty, bound) in
            reads_of(params, *var, body).into_iter().flatten().flatten().flat_map(|read| read.loops)
        {
            let count = self.iterations(ty, bound);
            self.counts.extend(bound.var().map(|bound| (bound, count)));
        }
    }

    /// Appends the scalars from which a segment's iterations follow.
    fn segment_bounds(&mut self, body: &Body<Soacs>) {
        let n = body.stms.len().saturating_sub(1);
        self.b.put_back(body.stms[..n].to_vec());
    }

    /// Appends the inner loop of a segment; returns its tapes.
    fn segment(&mut self, body: &Body<Soacs>, length: Dim) -> Result<Tapes> {
        let Some(inner) = body.stms.last() else {
            return Err(PassError::bug("a segment is empty"));
        };
        self.taped_loop(inner, Some(length))?;
        self.tapes_of(&inner.pat)
    }

    /// Appends the sweeps of the segment `at`.
    pub(super) fn sweep_segment(
        &mut self,
        body: &Body<Soacs>,
        seeds: &[Option<Atom>],
        (at, count): (Atom, Atom),
        Segments { length, last }: Segments,
    ) -> Result {
        self.segment_bounds(body);
        let end = self.b.add_i64(at, Atom::i64(1));
        let is_last = self.b.compare(CmpOp::Eq, PrimType::I64, end, count);
        let outer = self.b.open();
        let known = names_of(&last).into_iter().map(Atom::Var).collect();
        let then_body = self.b.close(outer, known);
        let outer = self.b.open();
        let tapes = self.segment(body, length)?;
        let names = names_of(&tapes);
        let types: Vec<_> = names.iter().map(|name| ("tape", self.b.types.type_of(*name).clone())).collect();
        let else_body = self.b.close(outer, names.into_iter().map(Atom::Var).collect());
        let cond = is_last.into();
        let results = self.b.bind_all(types, Exp::If { cond, then_body, else_body });
        if let Some(inner) = body.stms.last() {
            self.keep_tapes(&inner.pat, renamed(tapes, results));
        }
        self.return_sweep(body, seeds)
    }
}

/// The arrays of tapes.
fn names_of(tapes: &Tapes) -> Vec<Name> {
    let mut names = Vec::new();
    for tape in tapes {
        match tape {
            Tape::Nothing => {}
            Tape::Values(name) => names.push(*name),
            Tape::Reads(reads) => names.extend(reads.iter().map(|(_, name)| *name)),
        }
    }
    names
}

/// Tapes with other arrays, in the order of [`names_of`].
fn renamed(mut tapes: Tapes, names: Vec<Name>) -> Tapes {
    let mut names = names.into_iter();
    for tape in &mut tapes {
        match tape {
            Tape::Nothing => {}
            Tape::Values(name) => *name = names.next().unwrap_or(*name),
            Tape::Reads(reads) => {
                for (_, name) in reads {
                    *name = names.next().unwrap_or(*name);
                }
            }
        }
    }
    tapes
}

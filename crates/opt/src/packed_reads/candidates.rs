//! Reads that may be packed: those at a multiple of an index below an invariant bound.

use crate::iotas::iotas;
use crate::sink::is_arithmetic;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Function, LoopForm, Stm};
use ir::walk::{stm_names, sub_bodies, with_stack};
use ir::{Name, Soacs};
use prim::{BinOp, PrimType, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest number of packed arrays of a combinator.
const MAX_ARRAYS: usize = 4;

/// How often an index takes each of its values in the outer combinator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// The index is below this number; together with the number of iterations of the outer combinator that says how
    /// often.
    Below(Atom),
    /// The index is masked with this number.
    Masked(Atom),
    /// In each iteration of the outer combinator, the index counts up to this number.
    Counts(Atom),
}

impl Bound {
    pub(super) fn operand(self) -> Atom {
        let (Self::Below(atom) | Self::Masked(atom) | Self::Counts(atom)) = self;
        atom
    }
}

/// The factor of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Factor {
    Times(Atom),
    /// A power of two.
    Shifted(Atom),
}

impl Factor {
    pub(super) fn operand(self) -> Atom {
        let (Self::Times(atom) | Self::Shifted(atom)) = self;
        atom
    }
}

/// The multiple of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strided {
    pub(super) index: Name,
    pub(super) bound: Bound,
    pub(super) factor: Factor,
}

/// The reads of a combinator that may be packed.
#[derive(Debug)]
pub(super) struct Candidates {
    /// Arrays, each with the name of the index of its reads.
    pub(super) reads: Vec<(Name, Name)>,
    /// The multiples that index them, by name.
    pub(super) strided: FxHashMap<Name, Strided>,
    /// Statements of the combinator that bounds and factors need: the same in all iterations.
    pub(super) invariant: Vec<Stm<Soacs>>,
}

/// The candidates of all combinators that are in no other one, by the first name that the combinator binds.
pub(super) fn find(function: &Function<Soacs>) -> FxHashMap<Name, Candidates> {
    let mut found = FxHashMap::default();
    in_body(&function.body, &iotas(function), &mut found);
    found
}

fn in_body(body: &Body<Soacs>, indices: &FxHashSet<Name>, found: &mut FxHashMap<Name, Candidates>) {
    with_stack(|| {
        for stm in &body.stms {
            match &stm.exp {
                Exp::Op(Soac::Screma(screma)) => {
                    if let (Some(candidates), Some(first)) = (Search::of(screma, indices), stm.pat.first()) {
                        found.insert(first.name, candidates);
                    }
                }
                Exp::If { .. } | Exp::Loop { .. } => {
                    sub_bodies(&stm.exp, |body| in_body(body, indices, found));
                }
                Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(_) => {}
            }
        }
    });
}

/// A search of a combinator.
struct Search<'s> {
    indices: &'s FxHashSet<Name>,
    /// Names that differ from iteration to iteration.
    varying: FxHashSet<Name>,
    invariant: Vec<&'s Stm<Soacs>>,
    bounded: FxHashMap<Name, Bound>,
    strided: FxHashMap<Name, Strided>,
    reads: Vec<(Name, Name)>,
}

impl<'s> Search<'s> {
    fn of(screma: &'s Screma, indices: &'s FxHashSet<Name>) -> Option<Candidates> {
        let varying = screma.map.params.iter().map(|param| param.name).collect();
        let (bounded, strided) = (FxHashMap::default(), FxHashMap::default());
        let mut search =
            Self { indices, varying, invariant: Vec::new(), bounded, strided, reads: Vec::new() };
        search.body(&screma.map.body, true);
        let Self { mut reads, mut strided, invariant, .. } = search;
        reads.sort_unstable();
        reads.dedup();
        if reads.is_empty() || reads.len() > MAX_ARRAYS {
            return None;
        }
        strided.retain(|name, _| reads.iter().any(|(_, index)| index == name));
        let operands = |it: &Strided| [it.bound.operand(), it.factor.operand()];
        let mut needed: FxHashSet<Name> = strided.values().flat_map(operands).filter_map(Atom::var).collect();
        let mut copies = Vec::new();
        for stm in invariant.into_iter().rev() {
            if stm.pat.iter().any(|param| needed.contains(&param.name)) {
                stm_names(stm, |name| {
                    needed.insert(name);
                });
                copies.push(stm.clone());
            }
        }
        copies.reverse();
        Some(Candidates { reads, strided, invariant: copies })
    }

    fn body(&mut self, body: &'s Body<Soacs>, is_outermost: bool) {
        with_stack(|| {
            for stm in &body.stms {
                if is_outermost && self.is_invariant_arithmetic(stm) {
                    self.invariant.push(stm);
                    continue;
                }
                self.varying.extend(stm.pat.iter().map(|param| param.name));
                self.stm(stm);
            }
        });
    }

    /// Returns true for arithmetic that has the same value in all iterations.
    fn is_invariant_arithmetic(&self, stm: &Stm<Soacs>) -> bool {
        let arithmetic = matches!(&stm.exp, Exp::Basic(op) if is_arithmetic(op));
        let mut same = arithmetic && stm.pat.iter().all(|param| param.ty.is_prim());
        stm_names(stm, |name| same &= !self.varying.contains(&name));
        same
    }

    fn is_invariant(&self, atom: Atom) -> bool {
        atom.var().is_none_or(|name| !self.varying.contains(&name))
    }

    fn stm(&mut self, stm: &'s Stm<Soacs>) {
        match (&stm.exp, stm.pat.as_slice()) {
            (Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y))), [param]) => {
                self.binary(param.name, *op, *x, *y);
            }
            (Exp::Basic(BasicOp::Index { array, slice }), [param]) if param.ty.is_prim() => {
                if let [DimIndex::Fix(Atom::Var(index))] = slice.as_slice()
                    && !self.varying.contains(array)
                    && self.strided.contains_key(index)
                {
                    self.reads.push((*array, *index));
                }
            }
            (Exp::Op(Soac::Screma(screma)), _) => {
                self.varying.extend(screma.map.params.iter().map(|param| param.name));
                if let Some(width) = screma.width.atom().filter(|width| self.is_invariant(*width)) {
                    for (param, input) in screma.map.params.iter().zip(&screma.inputs) {
                        if self.indices.contains(input) {
                            self.bounded.insert(param.name, Bound::Counts(width));
                        }
                    }
                }
                self.body(&screma.map.body, false);
            }
            (Exp::Loop { params, form, body }, _) => {
                self.varying.extend(params.iter().map(|param| param.param.name));
                if let LoopForm::For { var, ty, bound } = form {
                    self.varying.insert(*var);
                    if *ty == PrimType::I64 && self.is_invariant(*bound) {
                        self.bounded.insert(*var, Bound::Counts(*bound));
                    }
                }
                self.body(body, false);
            }
            (Exp::If { then_body, else_body, .. }, _) => {
                self.body(then_body, false);
                self.body(else_body, false);
            }
            _ => {}
        }
    }

    fn binary(&mut self, name: Name, op: BinOp, x: Atom, y: Atom) {
        if matches!(op, BinOp::SMod | BinOp::UMod) && self.is_invariant(y) {
            self.bounded.insert(name, Bound::Below(y));
        } else if op == BinOp::And {
            let mask = [x, y].into_iter().find(|atom| self.is_invariant(*atom));
            self.bounded.extend(mask.map(|mask| (name, Bound::Masked(mask))));
        } else if matches!(op, BinOp::Mul | BinOp::Shl) {
            let times = |index: Atom, factor: Atom| {
                let index = index.var()?;
                let bound = *self.bounded.get(&index)?;
                let factor = if op == BinOp::Mul { Factor::Times(factor) } else { Factor::Shifted(factor) };
                self.is_invariant(factor.operand()).then_some(Strided { index, bound, factor })
            };
            let found = times(x, y).or_else(|| if op == BinOp::Mul { times(y, x) } else { None });
            self.strided.extend(found.map(|found| (name, found)));
        }
    }
}

//! Reverse mode: tapes of the elements that a loop reads of an array that it updates in place.
//!
//! ```text
//! loop xs for i < n do                loop (xs, tape) for i < n do                  forward sweep
//!   let x = xs[j]                =>     let x = xs[j]; tape[i] = x
//!   xs with [k] = f x                   xs with [k] = f x
//!                                     loop .. for k < n do                          return sweep
//!                                       let x = tape[n - 1 - k]
//!                                       return sweep of the body
//! ```
//!
//! The array itself is not saved. The return sweep does not need its other elements, as adjoints of reads and updates
//! are independent of it. A body may read and update the array itself, in branches, and in counted loops whose number
//! of iterations does not depend on the outer loop; such a tape has a dimension for each loop.

use crate::state::{Ad, Result};
use ir::Name;
use ir::facts::Facts;
use ir::soac::Soacs;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Shape, Type};
use ir::walk::{Substitution, binders, sub_bodies, used_names, with_stack};
use prim::{ConvOp, PrimType};
use rustc_hash::{FxHashMap, FxHashSet};

/// A counted loop: the counter, its type and its bound.
type Counter = (Name, PrimType, Atom);

/// A read of an element or a slice.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    /// The name that it binds.
    pub name: Name,
    ty: Type,
    /// The loops around it within the taped one, outermost first.
    pub loops: Vec<Counter>,
}

/// The place of a read's value on its tape.
#[derive(Clone, Debug)]
pub(crate) struct SavedRead {
    tape: Name,
    /// The counters of loops, outermost first, with their types.
    index: Vec<(PrimType, Atom)>,
}

/// For each parameter of a counted loop, the reads of it, if it is an array and all of its uses are reads, updates, and
/// the next iteration.
pub(crate) fn reads_of(params: &[LoopParam<Soacs>], var: Name, body: &Body<Soacs>) -> Vec<Option<Vec<Read>>> {
    let mut bound: FxHashSet<Name> = params.iter().map(|p| p.param.name).chain([var]).collect();
    bound.extend(binders(body));
    let reads = |(at, p): (usize, &LoopParam<Soacs>)| {
        p.param.ty.is_array().then(|| reads_of_array(&p.param, at, body, &bound))?
    };
    params.iter().enumerate().map(reads).collect()
}

fn reads_of_array(
    param: &Param<Soacs>,
    position: usize,
    body: &Body<Soacs>,
    bound: &FxHashSet<Name>,
) -> Option<Vec<Read>> {
    let mut uses = Uses {
        rank: variable(param.ty.shape()),
        bound,
        versions: std::iter::once(param.name).collect(),
        loops: Vec::new(),
        reads: Vec::new(),
    };
    uses.body(body)?;
    uses.only(&body.result, &[position]).then_some(uses.reads)
}

/// The number of dimensions of sizes that are not constant.
fn variable(dims: &[Dim]) -> usize {
    dims.iter().filter(|dim| matches!(dim, Dim::Var(_))).count()
}

struct Uses<'a> {
    /// The number of variable dimensions of the array. A tape of an iteration's reads has fewer.
    rank: usize,
    /// The names that the loop binds.
    bound: &'a FxHashSet<Name>,
    /// The names of the array after updates.
    versions: FxHashSet<Name>,
    /// The loops that are being visited.
    loops: Vec<Counter>,
    reads: Vec<Read>,
}

impl Uses<'_> {
    fn is_version(&self, atom: Atom) -> bool {
        atom.var().is_some_and(|name| self.versions.contains(&name))
    }

    /// Returns true if exactly the operands at these positions are versions of the array.
    fn only(&self, atoms: &[Atom], positions: &[usize]) -> bool {
        atoms.iter().enumerate().all(|(at, atom)| self.is_version(*atom) == positions.contains(&at))
    }

    fn body(&mut self, body: &Body<Soacs>) -> Option<()> {
        body.stms.iter().try_for_each(|stm| self.stm(stm))
    }

    fn stm(&mut self, stm: &Stm<Soacs>) -> Option<()> {
        let mut used = false;
        used_names(&stm.exp, |name| used |= self.versions.contains(&name));
        if !used {
            return Some(());
        }
        match &stm.exp {
            Exp::Basic(BasicOp::Index { array, .. }) if self.versions.contains(array) => {
                let param = &stm.pat[0];
                let counts = self.loops.iter().filter(|(.., bound)| bound.var().is_some()).count();
                let fixed = |dim: &Dim| !matches!(dim, Dim::Var(size) if self.bound.contains(size));
                if variable(param.ty.shape()) + counts >= self.rank || !param.ty.shape().iter().all(fixed) {
                    return None;
                }
                let loops = self.loops.clone();
                self.reads.push(Read { name: param.name, ty: param.ty.clone(), loops });
            }
            Exp::Basic(BasicOp::Update { array, slice: _, value }) if self.versions.contains(array) => {
                if self.is_version(*value) {
                    return None;
                }
                self.versions.insert(stm.pat[0].name);
            }
            Exp::Basic(BasicOp::Atom(_)) => {
                self.versions.insert(stm.pat[0].name);
            }
            Exp::If { cond: _, then_body, else_body } => {
                self.body(then_body)?;
                self.body(else_body)?;
                let positions = self.positions(&then_body.result);
                self.returns(&stm.pat, &else_body.result, &positions)?;
            }
            Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body } => {
                if bound.var().is_some_and(|name| self.bound.contains(&name)) {
                    return None;
                }
                let inits: Vec<Atom> = params.iter().map(|p| p.init).collect();
                let positions = self.positions(&inits);
                self.versions.extend(positions.iter().map(|at| params[*at].param.name));
                self.loops.push((*var, *ty, *bound));
                self.body(body)?;
                self.loops.pop();
                self.returns(&stm.pat, &body.result, &positions)?;
            }
            Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => return None,
        }
        Some(())
    }

    fn positions(&self, atoms: &[Atom]) -> Vec<usize> {
        (0..atoms.len()).filter(|at| self.is_version(atoms[*at])).collect()
    }

    /// Records the results that are versions of the array, which are those at some positions.
    fn returns(&mut self, pat: &[Param<Soacs>], result: &[Atom], positions: &[usize]) -> Option<()> {
        if !self.only(result, positions) {
            return None;
        }
        self.versions.extend(positions.iter().map(|at| pat[*at].name));
        Some(())
    }
}

/// The current names of the tapes of reads.
type Current = FxHashMap<Name, Name>;

impl Ad<'_> {
    /// Appends an empty tape for a read.
    pub(super) fn tape_of(&mut self, read: &Read, count: Dim) -> Result<Name> {
        let Some(elem) = read.ty.elem() else {
            return Err(ir::PassError::bug("a read of an array has no elements"));
        };
        let mut shape = Shape::from_slice(&[count]);
        for (_, ty, bound) in &read.loops {
            shape.push(self.iterations(*ty, *bound));
        }
        shape.extend(read.ty.shape().iter().copied());
        Ok(self.b.let_basic("tape", BasicOp::Scratch { elem, shape }))
    }

    /// Appends a body's statements, with updates of the tapes after the reads.
    pub(super) fn save_reads(&mut self, body: &Body<Soacs>, index: &mut Vec<Atom>, tapes: &mut Current) {
        for stm in &body.stms {
            let inner = reads_in(&stm.exp, tapes);
            match &stm.exp {
                Exp::Basic(_) => {
                    self.b.let_with(stm.pat.clone(), stm.aux.clone(), stm.exp.clone());
                    let read = stm.pat.first().map(|param| param.name);
                    if let Some((read, tape)) = read.and_then(|read| Some((read, *tapes.get(&read)?))) {
                        tapes.insert(read, self.b.update("tape", tape, index, read.into()));
                    }
                }
                Exp::If { cond, then_body, else_body } if !inner.is_empty() => {
                    let mut branch = |body: &Body<Soacs>| {
                        let mut own = tapes.clone();
                        let outer = self.b.open();
                        self.save_reads(body, index, &mut own);
                        let result = body.result.iter().copied();
                        let all = result.chain(inner.iter().map(|read| own[read].into())).collect();
                        self.b.close(outer, all)
                    };
                    let (then_body, else_body) = (branch(then_body), branch(else_body));
                    let exp = Exp::If { cond: *cond, then_body, else_body };
                    self.with_tapes(stm, exp, &inner, tapes);
                }
                Exp::Loop { params, form: form @ LoopForm::For { var, ty, .. }, body }
                    if !inner.is_empty() =>
                {
                    let (mut params, mut own) = (params.clone(), tapes.clone());
                    for read in &inner {
                        let param = self.b.param("tape", self.b.types.type_of(tapes[read]).clone());
                        own.insert(*read, param.name);
                        params.push(LoopParam { param, init: tapes[read].into(), consumed: true });
                    }
                    let outer = self.b.open();
                    self.b.types.set(*var, Type::Prim(*ty));
                    index.push(self.b.convert(ConvOp::SExt, *ty, PrimType::I64, (*var).into()));
                    self.save_reads(body, index, &mut own);
                    index.pop();
                    let result = body.result.iter().copied();
                    let all = result.chain(inner.iter().map(|read| own[read].into())).collect();
                    let body = self.b.close(outer, all);
                    self.with_tapes(stm, Exp::Loop { params, form: *form, body }, &inner, tapes);
                }
                Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {
                    self.b.let_with(stm.pat.clone(), stm.aux.clone(), stm.exp.clone());
                }
            }
        }
    }

    /// Appends a statement that returns tapes, too.
    fn with_tapes(&mut self, stm: &Stm<Soacs>, exp: Exp<Soacs>, inner: &[Name], tapes: &mut Current) {
        let mut pat = stm.pat.clone();
        for read in inner {
            let param = self.b.param("tape", self.b.types.type_of(tapes[read]).clone());
            tapes.insert(*read, param.name);
            pat.push(param);
        }
        self.b.let_with(pat, Aux { facts: Facts::default(), ..stm.aux.clone() }, exp);
    }

    /// Copies the body of an iteration, whose reads have their values from tapes; `map` has its counter and parameters.
    pub(super) fn copy_with_reads(
        &mut self,
        body: &Body<Soacs>,
        mut map: Substitution,
        at: Atom,
        reads: &[(Read, Name)],
    ) -> Body<Soacs> {
        for (Read { name, loops, .. }, tape) in reads {
            let inner = loops.iter().map(|(var, ty, _)| (*ty, Atom::Var(*var)));
            let index = std::iter::once((PrimType::I64, at)).chain(inner).collect();
            self.saved_reads.insert(*name, SavedRead { tape: *tape, index });
        }
        let copy = self.copy(body, &mut map);
        for (read, _) in reads {
            self.saved_reads.remove(&read.name);
        }
        copy
    }

    /// The record of the copy of a read.
    fn saved_copy(&self, read: Name, map: &Substitution) -> Option<(Name, SavedRead)> {
        let copy = map.get(&read)?.var()?;
        let SavedRead { tape, index } = self.saved_reads.get(&read)?.clone();
        let renamed = |atom: Atom| atom.var().and_then(|name| map.get(&name).copied()).unwrap_or(atom);
        let index = index.into_iter().map(|(ty, atom)| (ty, renamed(atom))).collect();
        Some((copy, SavedRead { tape, index }))
    }

    /// Records copies of reads.
    pub(crate) fn copy_saved_reads(&mut self, map: &Substitution) {
        if self.saved_reads.is_empty() {
            return;
        }
        let copies: Vec<_> = map.keys().filter_map(|name| self.saved_copy(*name, map)).collect();
        self.saved_reads.extend(copies);
    }

    /// The statement of a forward sweep; saved elements are read from their tapes.
    pub(super) fn with_saved_reads(&mut self, stm: Stm<Soacs>) -> Stm<Soacs> {
        if self.saved_reads.is_empty() {
            return stm;
        }
        let Stm { pat, aux, exp } = stm;
        let exp = match exp {
            Exp::Basic(BasicOp::Index { .. }) => {
                let Some(SavedRead { tape, index }) = self.saved_reads.get(&pat[0].name).cloned() else {
                    return Stm { pat, aux, exp };
                };
                let convert = |(ty, at)| self.b.convert(ConvOp::SExt, ty, PrimType::I64, at);
                let index: Vec<Atom> = index.into_iter().map(convert).collect();
                let slice = self.b.row_slice(tape, &index);
                let aux = Aux { facts: Facts::default(), ..aux };
                return Stm { pat, aux, exp: Exp::Basic(BasicOp::Index { array: tape, slice }) };
            }
            Exp::If { cond, then_body, else_body } => {
                let (then_body, else_body) =
                    (self.body_with_saved_reads(then_body), self.body_with_saved_reads(else_body));
                Exp::If { cond, then_body, else_body }
            }
            Exp::Loop { params, form, body } => {
                Exp::Loop { params, form, body: self.body_with_saved_reads(body) }
            }
            exp @ (Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(_)) => exp,
        };
        Stm { pat, aux, exp }
    }

    fn body_with_saved_reads(&mut self, body: Body<Soacs>) -> Body<Soacs> {
        let outer = self.b.open();
        for stm in body.stms {
            let stm = with_stack(|| self.with_saved_reads(stm));
            self.b.let_with(stm.pat, stm.aux, stm.exp);
        }
        self.b.close(outer, body.result)
    }
}

/// The reads inside of an expression that have a tape, in scope order.
fn reads_in(exp: &Exp<Soacs>, tapes: &Current) -> Vec<Name> {
    let mut found = Vec::new();
    sub_bodies(exp, |body| found.extend(binders(body).into_iter().filter(|name| tapes.contains_key(name))));
    found
}

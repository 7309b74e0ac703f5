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
//! Tapes of values that the return sweep does not need are removed as dead code. The iterations of a
//! `while` loop are counted first ([`crate::normalise`]).

use super::Adjoint;
use crate::state::{Ad, Result};
use ir::Name;
use ir::soac::Soacs;
use ir::syntax::{Atom, BasicOp, Body, Exp, LoopForm, LoopParam, Stm};
use ir::types::{Dim, Shape, Type};
use ir::walk::{Substitution, free_names, substitute_body};
use prim::{BinOp, ConvOp, PrimType, Scalar};

/// The tapes of a loop, by the names of its results.
#[derive(Clone, Debug)]
pub(crate) struct Tapes {
    /// For each parameter, the array of its values at the beginning of each iteration; `None` for
    /// accumulators.
    tapes: Vec<Option<Name>>,
}

impl Ad<'_> {
    /// Appends a counted loop that saves the values of its parameters.
    pub(super) fn taped_loop(&mut self, stm: &Stm<Soacs>) -> Result {
        let Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body } = &stm.exp else {
            return Err(ir::PassError::bug("a while loop was not counted before differentiation"));
        };
        self.at(&stm.aux);
        let count = self.iterations(*ty, *bound);
        let sizes: Vec<Name> = params.iter().map(|p| p.param.name).collect();
        let mut all: Vec<LoopParam<Soacs>> = params.clone();
        let mut pat = stm.pat.clone();
        let mut tapes = Vec::new();
        let mut tape_params = Vec::new();
        for p in params {
            let Some(elem) = p.param.ty.elem() else {
                tapes.push(None);
                tape_params.push(None);
                continue;
            };
            let varies = |dim: &Dim| matches!(dim, Dim::Var(name) if sizes.contains(name));
            if p.param.ty.shape().iter().any(varies) {
                return Err(self.unsupported("loops with arrays whose size changes"));
            }
            let tape_ty = p.param.ty.array_of(count);
            let scratch = BasicOp::Scratch { elem, shape: Shape::from_slice(tape_ty.shape()) };
            let init = self.b.let_basic("tape", scratch);
            let own = self.b.param("tape", tape_ty.clone());
            let result = self.b.param("tape", tape_ty);
            tapes.push(Some(result.name));
            tape_params.push(Some(own.name));
            all.push(LoopParam { param: own, init: init.into(), consumed: true });
            pat.push(result);
        }
        let outer = self.b.open();
        let at = self.b.convert(ConvOp::SExt, *ty, PrimType::I64, (*var).into());
        let mut result = body.result.clone();
        for (p, tape) in params.iter().zip(&tape_params) {
            if let Some(tape) = tape {
                result.push(self.b.update("tape", *tape, &[at], p.param.name.into()).into());
            }
        }
        self.b.put_back(body.stms.clone());
        let body = self.b.close(outer, result);
        let exp = Exp::Loop { params: all, form: LoopForm::For { var: *var, ty: *ty, bound: *bound }, body };
        let mut aux = stm.aux.clone();
        aux.facts = ir::facts::Facts::default();
        self.b.let_with(pat, aux, exp);
        if let Some(first) = stm.pat.first() {
            self.tapes.insert(first.name, Tapes { tapes });
        }
        Ok(())
    }

    /// The number of iterations as a size.
    fn iterations(&mut self, ty: PrimType, bound: Atom) -> Dim {
        let wide = match bound {
            Atom::Const(value) => Atom::i64(value.as_i64().unwrap_or(0)),
            Atom::Var(_) => self.b.convert(ConvOp::SExt, ty, PrimType::I64, bound),
        };
        match wide.constant().and_then(Scalar::as_i64) {
            Some(n) => Dim::Const(n.max(0)),
            None => Dim::Var(self.b.binary(BinOp::SMax, PrimType::I64, wide, Atom::i64(0))),
        }
    }

    pub(super) fn reverse_loop(&mut self, stm: &Stm<Soacs>, adjoints: &[Option<Atom>]) -> Result {
        let Exp::Loop { params, form: LoopForm::For { var, ty, bound }, body } = &stm.exp else {
            return Err(ir::PassError::bug("a while loop was not counted before differentiation"));
        };
        let Some(Tapes { tapes }) = stm.pat.first().and_then(|first| self.tapes.get(&first.name)).cloned()
        else {
            return Err(ir::PassError::bug("a loop has no tape"));
        };
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
            ad.sweep(&copy, &all)?;
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
    /// iteration from last to first, also as `i64`. It consumes arrays and accumulators.
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
            let consumed = !ty.is_prim();
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
        tapes: &[Option<Name>],
        (i, at): (Atom, Atom),
    ) -> (Body<Soacs>, Vec<Name>) {
        let mut names = Vec::new();
        let mut map = Substitution::default();
        map.insert(var, i);
        for (p, tape) in params.iter().zip(tapes) {
            let name = match tape {
                Some(tape) => self.b.index("saved", *tape, &[at]),
                None => self.b.names.fresh("acc"),
            };
            if self.active.contains(&p.param.name) {
                self.active.insert(name);
            }
            map.insert(p.param.name, name.into());
            names.push(name);
        }
        let mut own = body.clone();
        substitute_body(&mut own, &map);
        (self.copy(&own, &mut Substitution::default()), names)
    }
}

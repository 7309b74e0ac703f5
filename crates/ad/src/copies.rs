//! Copies of arrays that a derivative still needs when the program consumes them.
//!
//! Rules of differentiation use the program's statements as they are, although return sweeps read
//! what these consume, and update adjoints in place. Afterwards each violation of the rules of
//! consumption is removed by a copy.

use crate::calls::Calls;
use crate::state::Result;
use ir::soac::{Soac, Soacs};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Param, Stm};
use ir::verify::{Conflict, conflicts};
use ir::walk::VisitMut;
use ir::{Name, NameTable, PassError, Prov, TypeEnv};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rounds after which a violation is a bug.
const MAX_ROUNDS: usize = 20;

/// Adds the copies that a function needs.
pub(crate) fn resolve(function: &mut Function<Soacs>, calls: &Calls) -> Result {
    for _ in 0..MAX_ROUNDS {
        let found = conflicts(function, &|fun| calls.get(fun));
        if found.is_empty() {
            return Ok(());
        }
        let mut types = TypeEnv::of_function(function);
        let mut copier = Copier {
            operands: FxHashMap::default(),
            next: FxHashSet::default(),
            calls,
            names: &mut function.names,
            types: &mut types,
        };
        let mut results: Vec<usize> = Vec::new();
        for conflict in found {
            match conflict {
                Conflict::Operand { statement, array } => {
                    copier.operands.entry(statement).or_default().insert(array);
                }
                Conflict::Next { param } => {
                    copier.next.insert(param);
                }
                Conflict::Result { position } => results.push(position),
            }
        }
        VisitMut::<Soacs>::body(&mut copier, &mut function.body);
        results.dedup();
        for position in results {
            copier.copy_result(&mut function.body, position);
        }
    }
    Err(PassError::bug(format!("arrays of the derivative in {} are consumed twice", function.name)))
}

struct Copier<'a> {
    /// Statements, with the arrays of which they should consume copies.
    operands: FxHashMap<Name, FxHashSet<Name>>,
    /// Loop parameters whose next values should be copies.
    next: FxHashSet<Name>,
    calls: &'a Calls,
    names: &'a mut NameTable,
    types: &'a mut TypeEnv,
}

impl Copier<'_> {
    /// A copy of an array.
    fn copy(&mut self, array: Name, aux: Aux) -> (Stm<Soacs>, Name) {
        let name = self.names.fresh("copy");
        let ty = self.types.type_of(array).clone();
        self.types.set(name, ty.clone());
        let exp = Exp::Basic(BasicOp::Copy(array));
        (Stm { pat: vec![Param { name, ty, ann: () }], aux, exp }, name)
    }

    /// Replaces a result of a body by a copy.
    fn copy_result(&mut self, body: &mut Body<Soacs>, position: usize) {
        if let Some(Atom::Var(array)) = body.result.get(position).copied() {
            let (stm, name) = self.copy(array, Aux::at(Prov::NONE));
            body.stms.push(stm);
            body.result[position] = name.into();
        }
    }

    /// Replaces an array by copies where a statement consumes it; returns the copies.
    fn replace(&mut self, exp: &mut Exp<Soacs>, array: Name, aux: &Aux) -> Vec<Stm<Soacs>> {
        let mut copies = Vec::new();
        let mut copied = |ad: &mut Self, own: Name| {
            if own != array {
                return own;
            }
            let (stm, copy) = ad.copy(array, aux.clone());
            copies.push(stm);
            copy
        };
        match exp {
            Exp::Basic(BasicOp::Update { array, .. } | BasicOp::FlatUpdate { array, .. }) => {
                *array = copied(self, *array);
            }
            Exp::Loop { params, .. } => {
                for p in params.iter_mut().filter(|p| p.consumed) {
                    p.init = p.init.var().map_or(p.init, |init| copied(self, init).into());
                }
            }
            Exp::Apply { fun, args } => {
                let params = self.calls.get(*fun).map_or(&[][..], |function| &function.params);
                for (arg, _) in args.iter_mut().zip(params).filter(|(_, param)| param.consumed) {
                    *arg = arg.var().map_or(*arg, |own| copied(self, own).into());
                }
            }
            Exp::Op(Soac::WithAcc { inputs, .. }) => {
                for own in inputs.iter_mut().flat_map(|input| &mut input.arrays) {
                    *own = copied(self, *own);
                }
            }
            Exp::Op(Soac::Hist { ops, .. }) => {
                for own in ops.iter_mut().flat_map(|op| &mut op.destinations) {
                    *own = copied(self, *own);
                }
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Op(_) => {}
        }
        copies
    }
}

impl VisitMut<Soacs> for Copier<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        self.walk_body(body);
        let mut stms = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            let arrays = stm.pat.first().and_then(|param| self.operands.remove(&param.name));
            let mut arrays: Vec<Name> = arrays.into_iter().flatten().collect();
            arrays.sort_unstable();
            for array in arrays {
                let aux = Aux::at(stm.aux.prov);
                stms.extend(self.replace(&mut stm.exp, array, &aux));
            }
            if let Exp::Loop { params, body, .. } = &mut stm.exp {
                for (at, p) in params.iter().enumerate() {
                    if self.next.contains(&p.param.name) {
                        self.copy_result(body, at);
                    }
                }
            }
            stms.push(stm);
        }
        body.stms = stms;
    }
}

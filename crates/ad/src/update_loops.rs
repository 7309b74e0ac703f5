//! Loops that do nothing but update accumulators, a different element in each iteration, become maps.
//!
//! ```text
//! loop (acc) for k < n do                      map n (j <- iota n, acc) ->
//!   let i = last - k in               =>         let k = last - j
//!   update acc [i, a] v                          in update acc [j, a] v        (last = n - 1)
//! ```
//!
//! Iterations of a map may run in lanes. The map stays within its iteration (`#[sequential]`): a loop of the source
//! had no parallelism either. No element is updated twice, so the order of updates does not matter.

use crate::reverse::is_sum;
use ir::attrs::Attr;
use ir::build::Builder;
use ir::soac::{AccInput, Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::Type;
use ir::walk::{Substitution, VisitMut, stm_names, substitute_body, with_stack};
use ir::{Name, TypeEnv};
use prim::{BinOp, PrimType, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// Replaces loops in a function. Returns true if there were any.
pub(crate) fn update_loops(function: &mut Function<Soacs>) -> bool {
    let mut types = TypeEnv::of_function(function);
    let Function { names, body, .. } = function;
    let mut loops = Loops {
        b: Builder::new(names, &mut types),
        sums: FxHashSet::default(),
        sums_of: FxHashMap::default(),
        changed: false,
    };
    loops.body(body);
    loops.changed
}

struct Loops<'a> {
    b: Builder<'a, Soacs>,
    /// The tokens of accumulators of sums.
    sums: FxHashSet<Name>,
    /// Names that are another one and a constant.
    sums_of: FxHashMap<Name, (Name, i64)>,
    changed: bool,
}

impl VisitMut<Soacs> for Loops<'_> {
    fn body(&mut self, body: &mut Body<Soacs>) {
        let outer = self.b.open();
        for mut stm in std::mem::take(&mut body.stms) {
            if let Exp::Op(Soac::WithAcc { inputs, lambda }) = &stm.exp {
                let is_sum = |input: &AccInput<Soacs>| input.op.as_ref().is_some_and(|op| is_sum(&op.op));
                let sums = inputs.iter().zip(&lambda.params).filter(|(input, _)| is_sum(input));
                self.sums.extend(sums.map(|(_, token)| token.name));
            }
            if let (Exp::Basic(BasicOp::Scalar(op)), Some(param)) = (&stm.exp, stm.pat.first())
                && let ScalarOp::Binary(BinOp::Add, PrimType::I64, Atom::Var(x), Atom::Const(y)) = op
                && let Some(y) = y.as_i64()
            {
                self.sums_of.insert(param.name, (*x, y));
            }
            with_stack(|| self.stm(&mut stm));
            if let Some(map) = self.as_map(&stm) {
                stm.exp = map;
                stm.aux.attrs.add(Attr::Sequential);
                self.changed = true;
            }
            self.b.let_with(stm.pat, stm.aux, stm.exp);
        }
        body.stms = self.b.close(outer, Vec::new()).stms;
    }
}

impl Loops<'_> {
    /// The map that a loop becomes.
    fn as_map(&mut self, stm: &Stm<Soacs>) -> Option<Exp<Soacs>> {
        let Exp::Loop { params, form: LoopForm::For { var, ty: PrimType::I64, bound }, body } = &stm.exp
        else {
            return None;
        };
        let is_sum = |p: &LoopParam<Soacs>| matches!(&p.param.ty, Type::Acc { token, .. } if self.sums.contains(token));
        if params.is_empty() || !params.iter().all(is_sum) {
            return None;
        }
        let descending = self.descending(*var, *bound, body);
        let own: Vec<Name> = [*var].into_iter().chain(descending).collect();
        if !updates_once(params, body, &own) {
            return None;
        }
        // A bound may be negative.
        let width = self.b.binary(BinOp::SMax, PrimType::I64, *bound, Atom::i64(0));
        let width = Builder::<Soacs>::dim(width.into());
        let iota = self.b.iota(width);
        let mut body = body.clone();
        let index = match descending {
            None => Param { name: *var, ty: Type::I64, ann: () },
            Some(index) => {
                // The counter is what remains from the index up to the last iteration.
                body.stms.retain(|stm| stm.pat.first().is_none_or(|param| param.name != index));
                let own = self.b.param("j", Type::I64);
                let last = self.b.sub_i64(*bound, Atom::i64(1));
                let outer = self.b.open();
                let counter = self.b.sub_i64(last, own.name.into());
                let mut map = Substitution::default();
                map.insert(index, own.name.into());
                map.insert(*var, counter);
                substitute_body(&mut body, &map);
                self.b.put_back(std::mem::take(&mut body.stms));
                body = self.b.close(outer, body.result);
                own
            }
        };
        let inputs = params.iter().filter_map(|p| p.init.var());
        let inputs: Vec<Name> = [iota].into_iter().chain(inputs).collect();
        let ret = params.iter().map(|p| p.param.ty.clone()).collect();
        let all = [index].into_iter().chain(params.iter().map(|p| p.param.clone())).collect();
        let map = Lambda { params: all, body, ret };
        Some(Exp::Op(Soac::Screma(Screma::map(width, inputs, map))))
    }

    /// The name of an index that counts from the last iteration to the first.
    fn descending(&self, var: Name, bound: Atom, body: &Body<Soacs>) -> Option<Name> {
        body.stms.iter().find_map(|stm| {
            let Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(BinOp::Sub, PrimType::I64, x, y))) = &stm.exp
            else {
                return None;
            };
            let is_last =
                self.parts(*x) == self.parts(bound).map(|(name, more)| (name, more.wrapping_sub(1)));
            (is_last && *y == Atom::Var(var)).then(|| stm.pat.first().map(|param| param.name))?
        })
    }

    /// An index as a name, if it has one, and a constant.
    fn parts(&self, atom: Atom) -> Option<(Option<Name>, i64)> {
        Some(match atom {
            Atom::Const(value) => (None, value.as_i64()?),
            Atom::Var(name) => {
                let (name, more) = self.sums_of.get(&name).copied().unwrap_or((name, 0));
                (Some(name), more)
            }
        })
    }
}

/// Returns true if a body updates each accumulator once, at an element with one of these indices, and does nothing
/// else with it.
fn updates_once(params: &[LoopParam<Soacs>], body: &Body<Soacs>, indices: &[Name]) -> bool {
    let mut versions: FxHashMap<Name, usize> =
        params.iter().enumerate().map(|(at, p)| (p.param.name, at)).collect();
    let mut updated = vec![false; params.len()];
    for stm in &body.stms {
        if let Exp::Basic(BasicOp::UpdateAcc { acc, index, .. }) = &stm.exp
            && let Some(at) = versions.get(acc).copied()
        {
            let own = index.iter().any(|i| i.var().is_some_and(|i| indices.contains(&i)));
            if !own || std::mem::replace(&mut updated[at], true) {
                return false;
            }
            versions.extend(stm.pat.first().map(|param| (param.name, at)));
            continue;
        }
        let mut used = false;
        stm_names(stm, |name| used |= versions.contains_key(&name));
        if used {
            return false;
        }
    }
    let results = body.result.iter().enumerate();
    results.into_iter().all(|(at, result)| result.var().and_then(|name| versions.get(&name)) == Some(&at))
}

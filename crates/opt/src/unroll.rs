//! Full unrolling of loops under `#[unroll]` whose trip count is known.
//!
//! Before: simplification, which finds constant trip counts. After: simplification again, as
//! counters and sizes are constants now; inner loops may have a known trip count as a result. A
//! loop that would expand to more than [`MAX_STATEMENTS`] statements stays. Loops with one
//! iteration or none are removed by simplification anyway.
//!
//! Needs and guarantees: a well-scoped function.

use crate::splice;
use analysis::size;
use ir::syntax::{Atom, Attr, Body, Exp, Function, Level, LoopForm, Stm};
use ir::walk::{Substitution, refresh_body, sub_bodies_mut, substitute_stm, with_stack};
use ir::{Fuel, NameTable};
use prim::Scalar;

/// The largest number of statements that one loop may expand to.
pub const MAX_STATEMENTS: usize = 1 << 13;

/// Unrolls the eligible loops of a function. Returns true if any was unrolled.
pub(crate) fn unroll<L: Level>(function: &mut Function<L>, fuel: &mut Fuel) -> bool {
    let mut unroller = Unroller { names: &mut function.names, fuel, changed: false };
    unroller.body(&mut function.body);
    unroller.changed
}

struct Unroller<'a> {
    names: &'a mut NameTable,
    fuel: &'a mut Fuel,
    changed: bool,
}

impl Unroller<'_> {
    fn body<L: Level>(&mut self, body: &mut Body<L>) {
        let mut map = Substitution::default();
        let mut out = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            substitute_stm(&mut stm, &map);
            if !matches!(stm.exp, Exp::Basic(_)) {
                with_stack(|| sub_bodies_mut(&mut stm.exp, |body| self.body(body)));
            }
            match self.iterations(&stm) {
                Some(n) => self.expand(stm, n, &mut map, &mut out),
                None => out.push(stm),
            }
        }
        body.stms = out;
        for atom in &mut body.result {
            if let Atom::Var(name) = atom
                && let Some(value) = map.get(name)
            {
                *atom = *value;
            }
        }
    }

    /// Returns the trip count of a loop that is to be unrolled.
    fn iterations<L: Level>(&mut self, stm: &Stm<L>) -> Option<i64> {
        if !stm.aux.attrs.has(&Attr::Unroll) {
            return None;
        }
        let Exp::Loop { form: LoopForm::For { bound, .. }, body, .. } = &stm.exp else {
            return None;
        };
        let n = bound.constant()?.as_i64().filter(|n| *n >= 2)?;
        let statements = usize::try_from(n).ok()?.checked_mul(size::of_body(body).max(1))?;
        (statements <= MAX_STATEMENTS && self.fuel.take()).then_some(n)
    }

    fn expand<L: Level>(&mut self, stm: Stm<L>, n: i64, map: &mut Substitution, out: &mut Vec<Stm<L>>) {
        let Stm { pat, aux, exp } = stm;
        let Exp::Loop { params, form: LoopForm::For { var, ty, .. }, body } = exp else {
            return;
        };
        self.changed = true;
        let mut values: Vec<Atom> = params.iter().map(|param| param.init).collect();
        for i in 0..n {
            let mut inside: Substitution =
                params.iter().zip(&values).map(|(param, value)| (param.param.name, *value)).collect();
            inside.insert(var, Atom::Const(Scalar::int(ty, i)));
            let copy = refresh_body(&body, self.names, &mut inside);
            splice::statements(copy.stms, &aux, out);
            values = copy.result;
        }
        out.extend(splice::results(pat, &aux, &values, map));
    }
}

//! Loop-invariant parameters: loop parameters that keep their initial value, also where the next
//! value comes out of an inner loop or a conditional that returns it unchanged.
//!
//! All parameters are assumed to be invariant until one turns out not to be under that assumption,
//! so mutually dependent ones are found together.

use crate::level::OptLevel;
use crate::simplify::Simplifier;
use ir::Name;
use ir::syntax::{Atom, Body, Exp, LoopForm, LoopParam, Stm};
use rustc_hash::FxHashMap;

/// The largest nesting depth of loops and conditionals that are analysed.
const DEEP: usize = 4;
/// The number of times that the assumption is weakened before it is given up.
const TRIES: usize = 4;

/// Replacements for names under the assumption.
type Known = FxHashMap<Name, Atom>;

impl<L: OptLevel> Simplifier<'_, L> {
    /// Flags the parameters that keep their initial value.
    pub(crate) fn invariant_params(
        &self,
        params: &[LoopParam<L>],
        form: &LoopForm,
        body: &Body<L>,
    ) -> Vec<bool> {
        let condition = match form {
            LoopForm::While { cond } => Some(*cond),
            LoopForm::For { .. } => None,
        };
        let mut invariant: Vec<bool> =
            params.iter().map(|param| condition != Some(param.param.name)).collect();
        for _ in 0..TRIES {
            let known = params.iter().zip(&invariant).filter(|(_, invariant)| **invariant);
            let known: Known = known.map(|(param, _)| (param.param.name, param.init)).collect();
            let next = self.values(body, &known, DEEP);
            let seen: Vec<bool> = params
                .iter()
                .zip(&next)
                .zip(&invariant)
                .map(|((param, next), invariant)| {
                    *invariant && (*next == param.init || *next == Atom::Var(param.param.name))
                })
                .collect();
            if seen == invariant || !seen.contains(&true) {
                return seen;
            }
            invariant = seen;
        }
        // The parameters that are invariant without the assumption.
        let next = self.values(body, &Known::default(), 0);
        let same = |param: &LoopParam<L>, next: Atom| {
            let own = param.param.name;
            condition != Some(own) && (next == param.init || next == Atom::Var(own))
        };
        let each = params.iter().zip(&next);
        each.map(|(param, next)| same(param, *next)).collect()
    }

    /// The results of a body, with replacements.
    fn values(&self, body: &Body<L>, known: &Known, deep: usize) -> Vec<Atom> {
        let mut values = body.result.clone();
        let mut open: FxHashMap<Name, Vec<usize>> = FxHashMap::default();
        for (i, value) in values.iter_mut().enumerate() {
            self.rewrite_plain(value);
            if let Atom::Var(name) = *value {
                match known.get(&name) {
                    Some(first) => *value = *first,
                    None => open.entry(name).or_default().push(i),
                }
            }
        }
        if deep == 0 || open.is_empty() {
            return values;
        }
        for stm in &body.stms {
            if !stm.pat.iter().any(|param| open.contains_key(&param.name)) {
                continue;
            }
            for (param, value) in stm.pat.iter().zip(self.bound(stm, known, deep - 1)) {
                let positions = open.get(&param.name).into_iter().flatten();
                positions.for_each(|at| values[*at] = value);
            }
        }
        values
    }

    /// The replacements for the names that a loop or a conditional binds; none for other
    /// statements.
    fn bound(&self, stm: &Stm<L>, known: &Known, deep: usize) -> Vec<Atom> {
        let own = stm.pat.iter().map(|param| Atom::Var(param.name));
        if !stm.aux.certs.is_empty() {
            return Vec::new();
        }
        match &stm.exp {
            Exp::If { cond: _, then_body, else_body } => {
                let yes = self.values(then_body, known, deep);
                let no = self.values(else_body, known, deep);
                let both = yes.into_iter().zip(no).zip(own);
                both.map(|((yes, no), own)| if yes == no { yes } else { own }).collect()
            }
            Exp::Loop { params, body, .. } => {
                let mut inner = known.clone();
                let first: Vec<Atom> = params
                    .iter()
                    .map(|param| {
                        let mut first = param.init;
                        self.rewrite_plain(&mut first);
                        let replaced = first.var().and_then(|name| known.get(&name));
                        replaced.copied().unwrap_or(first)
                    })
                    .collect();
                inner.extend(params.iter().zip(&first).map(|(param, first)| (param.param.name, *first)));
                let next = self.values(body, &inner, deep);
                let kept = first.iter().zip(&next).all(|(first, next)| first == next);
                // Each separately, if not all are invariant together.
                let alone = |i: usize| body.result[i] == first[i];
                own.enumerate().map(|(i, own)| if kept || alone(i) { first[i] } else { own }).collect()
            }
            Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(_) => Vec::new(),
        }
    }
}

//! Statements of a body that come in the place of the statement that ran it: the
//! call of a function, the iterations of a loop.
//!
//! The statement's certificates go to all of them, and its wish to be warned of
//! checks to all checks.

use crate::simplify::add_certs;
use ir::syntax::{Atom, Attrs, Aux, BasicOp, Exp, Level, Param, Stm};
use ir::types::Type;
use ir::walk::{Substitution, VisitMut, substitute_param};

/// The statements, with what `aux` asks for.
pub(crate) fn statements<L: Level>(stms: Vec<Stm<L>>, aux: &Aux, out: &mut Vec<Stm<L>>) {
    let warned = aux.attrs.has(Attrs::WARN_CHECKS);
    for mut stm in stms {
        if warned {
            VisitMut::<L>::stm(&mut Warned, &mut stm);
        }
        add_certs(&mut stm.aux.certs, &aux.certs);
        out.push(stm);
    }
}

/// Marks checks, and calls, whose checks are yet to come.
struct Warned;

impl<L: Level> VisitMut<L> for Warned {
    fn stm(&mut self, stm: &mut Stm<L>) {
        if matches!(
            stm.exp,
            Exp::Basic(BasicOp::Assert { .. }) | Exp::Apply { .. }
        ) {
            stm.aux.attrs.add(Attrs::WARN_CHECKS);
        }
        self.walk_stm(stm);
    }
}

/// Gives the names of the pattern these values: in `map`, or by the statement
/// that comes back where the value alone would not tell what was checked. (A
/// size must stand in types by itself; what made it was checked.)
pub(crate) fn results<L: Level>(
    pat: Vec<Param<L>>,
    aux: &Aux,
    values: &[Atom],
    map: &mut Substitution,
) -> Vec<Stm<L>> {
    let mut stms = Vec::new();
    for (mut param, value) in pat.into_iter().zip(values) {
        if aux.certs.is_empty() || param.ty == Type::I64 {
            map.insert(param.name, *value);
            continue;
        }
        substitute_param(&mut param, map);
        let aux = aux.clone();
        let exp = Exp::Basic(BasicOp::Atom(*value));
        let pat = vec![param];
        stms.push(Stm { pat, aux, exp });
    }
    stms
}

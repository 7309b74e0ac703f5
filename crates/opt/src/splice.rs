//! Replaces a statement by the statements of a body that it ran: a call by the function's body, a
//! loop by its iterations.
//!
//! The statement's certificates are added to all of them, its attributes to the statements that
//! inherit them ([`ir::attrs`]).

use crate::simplify::add_certs;
use ir::attrs::Inheritor;
use ir::syntax::{Atom, Attr, Attrs, Aux, BasicOp, Exp, Level, Param, Stm};
use ir::types::Type;
use ir::walk::{Substitution, VisitMut, substitute_param};
use prim::Scalar;

/// Appends the statements to `out` with the certificates and inherited attributes of `aux`.
pub(crate) fn statements<L: Level>(stms: Vec<Stm<L>>, aux: &Aux, out: &mut Vec<Stm<L>>) {
    let mut heirs = InheritedAttrs::of(aux);
    for mut stm in stms {
        heirs.apply(&mut stm);
        add_certs(&mut stm.aux.certs, &aux.certs);
        out.push(stm);
    }
}

/// The attributes that a statement passes on to the statements that replace it.
pub(crate) struct InheritedAttrs {
    check: Attrs,
    call: Attrs,
    operation: Attrs,
    /// True inside of an operation.
    inside: bool,
}

impl InheritedAttrs {
    pub(crate) fn of(aux: &Aux) -> Self {
        Self {
            check: aux.attrs.inherited_by(Inheritor::Check),
            call: aux.attrs.inherited_by(Inheritor::Call),
            operation: aux.attrs.inherited_by(Inheritor::Operation),
            inside: false,
        }
    }

    pub(crate) fn apply<L: Level>(&mut self, stm: &mut Stm<L>) {
        let all = [&self.check, &self.call, &self.operation];
        if !all.iter().all(|attrs| attrs.is_empty()) {
            VisitMut::<L>::stm(self, stm);
        }
    }
}

impl<L: Level> VisitMut<L> for InheritedAttrs {
    fn stm(&mut self, stm: &mut Stm<L>) {
        let attrs = &mut stm.aux.attrs;
        match &mut stm.exp {
            Exp::Basic(BasicOp::Assert { cond, .. }) => {
                attrs.inherit(&self.check);
                if attrs.has(&Attr::Unsafe) {
                    *cond = Atom::Const(Scalar::Bool(true));
                }
            }
            Exp::Apply { .. } => attrs.inherit(&self.call),
            Exp::Op(_) => {
                if !self.inside {
                    attrs.inherit(&self.operation);
                }
                let around = std::mem::replace(&mut self.inside, true);
                self.walk_stm(stm);
                self.inside = around;
                return;
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } => {}
        }
        self.walk_stm(stm);
    }
}

/// Binds the names of the pattern to these values: by an entry in `map`, or by a returned statement
/// where the value alone would lose the statement's certificates. An `i64` always gets an entry in `map`:
/// sizes occur in types as plain atoms, and the statements that computed them carry the
/// certificates.
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

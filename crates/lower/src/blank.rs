//! Expressions with `#[blank]` and `#[scratch]`, whose values do not matter.
//!
//! Such an expression may be replaced by any other of its type. It is evaluated separately for its
//! type; only the statements that the sizes of this type depend on are kept, with their checks.

use crate::value::{Env, Value};
use crate::{Lower, Res};
use check::tast::Exp;
use ir::walk::stm_names;
use ir::{Atom, BasicOp, Name, Soacs, Stm, Type};
use prim::Scalar;
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// The replacement of the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filler {
    /// Zeros.
    Zeros,
    /// Uninitialised memory for arrays. Scalars are kept: sizes may depend on them.
    Scratch,
}

impl Lower<'_> {
    /// A replacement value of the expression's type.
    pub(crate) fn blank_of(&mut self, exp: &Exp, env: &Rc<Env>, filler: Filler) -> Res<Value> {
        let attrs = self.f.attrs();
        self.f.enter(false);
        self.f.set_attrs(attrs);
        let value = self.eval(exp, env).and_then(|v| self.filled(&v, filler));
        let stms = self.f.leave();
        let value = value?;
        // The captures of functions are not among a value's operands.
        self.f.splice(if value.has_fun() { stms } else { needed(stms, &value.atoms()) });
        Ok(value)
    }

    fn filled(&mut self, value: &Value, filler: Filler) -> Res<Value> {
        self.each_leaf(value, |f, atom| {
            let ty = match atom {
                Atom::Var(name) => f.type_of(name).clone(),
                Atom::Const(x) => Type::Prim(x.ty()),
            };
            match (ty, filler) {
                (Type::Prim(elem), Filler::Zeros) => Atom::Const(Scalar::zero(elem)),
                (Type::Array { elem, shape }, Filler::Zeros) => {
                    let value = Atom::Const(Scalar::zero(elem));
                    f.basic("blank", BasicOp::Replicate { shape, value }).into()
                }
                (Type::Array { elem, shape }, Filler::Scratch) => {
                    f.basic("scratch", BasicOp::Scratch { elem, shape }).into()
                }
                _ => atom,
            }
        })
    }
}

/// The statements that results depend on, in order.
fn needed(stms: Vec<Stm<Soacs>>, results: &[Atom]) -> Vec<Stm<Soacs>> {
    let mut used: FxHashSet<Name> = results.iter().filter_map(|atom| atom.var()).collect();
    let mut needed = Vec::new();
    for stm in stms.into_iter().rev() {
        if stm.pat.iter().any(|param| used.contains(&param.name)) {
            stm_names(&stm, |name| used.extend([name]));
            needed.push(stm);
        }
    }
    needed.reverse();
    needed
}

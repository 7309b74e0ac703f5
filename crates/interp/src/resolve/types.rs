//! Types and sizes: static types are built once, all others refer to slots.

use super::{Found, Resolver};
use crate::machine::NOWHERE;
use crate::tree::{CDim, CTy, Node, Slot};
use crate::value::{RTy, UNKNOWN, Val};
use check::tast::{self, Ty};
use prim::ScalarType;
use std::rc::Rc;
use std::sync::Arc;

impl Resolver<'_> {
    /// The type for checks of shapes; `None` if it has no sizes to check.
    pub(super) fn shape(&mut self, ty: &Ty) -> Option<CTy> {
        fn has_sizes(ty: &Ty) -> bool {
            match ty {
                Ty::Array(_) => true,
                Ty::Tuple(parts) => parts.iter().any(has_sizes),
                Ty::Record(fields) => fields.iter().any(|(_, ty)| has_sizes(ty)),
                Ty::Sum(constrs) => constrs.iter().any(|(_, tys)| tys.iter().any(has_sizes)),
                Ty::Scalar(_) | Ty::Arrow(_) | Ty::Var(_) | Ty::Abstract(..) => false,
            }
        }
        has_sizes(ty).then(|| self.ty(ty))
    }

    pub(super) fn ty(&mut self, ty: &Ty) -> CTy {
        match ty {
            Ty::Scalar(scalar) => CTy::Static(Rc::new(RTy::Scalar(*scalar))),
            Ty::Array(array) => {
                let dim = self.dim(&array.dim);
                let elem = self.ty(&array.elem);
                match (&dim, &elem) {
                    (CDim::Any, CTy::Static(elem)) => {
                        CTy::Static(Rc::new(RTy::Array(UNKNOWN, Rc::clone(elem))))
                    }
                    (CDim::Const(n), CTy::Static(elem)) => {
                        CTy::Static(Rc::new(RTy::Array(*n, Rc::clone(elem))))
                    }
                    _ => CTy::Array(dim, Box::new(elem)),
                }
            }
            Ty::Tuple(parts) => {
                let parts: Vec<CTy> = parts.iter().map(|ty| self.ty(ty)).collect();
                match all_static(&parts) {
                    Some(parts) => CTy::Static(Rc::new(RTy::Tuple(parts))),
                    None => CTy::Tuple(parts),
                }
            }
            Ty::Record(fields) => {
                let names = fields.iter().map(|(label, _)| Arc::clone(label)).collect();
                let parts: Vec<CTy> = fields.iter().map(|(_, ty)| self.ty(ty)).collect();
                match all_static(&parts) {
                    Some(parts) => CTy::Static(Rc::new(RTy::Record(names, parts))),
                    None => CTy::Record(names, parts),
                }
            }
            Ty::Sum(constrs) => {
                let names = constrs.iter().map(|(label, _)| Arc::clone(label)).collect();
                let parts: Vec<Vec<CTy>> =
                    constrs.iter().map(|(_, tys)| tys.iter().map(|ty| self.ty(ty)).collect()).collect();
                let known: Option<Vec<_>> = parts.iter().map(|tys| all_static(tys)).collect();
                match known {
                    Some(parts) => CTy::Static(Rc::new(RTy::Sum(names, parts))),
                    None => CTy::Sum(names, parts),
                }
            }
            Ty::Arrow(_) => CTy::Static(Rc::new(RTy::Fun)),
            Ty::Var(var) => match self.find_type(*var) {
                Some(slot) => CTy::Var(slot),
                None => CTy::Static(Rc::new(RTy::Unknown)),
            },
            Ty::Abstract(..) => CTy::Static(Rc::new(RTy::Unknown)),
        }
    }

    pub(super) fn dim(&mut self, dim: &tast::Dim) -> CDim {
        match dim {
            tast::Dim::Any => CDim::Any,
            tast::Dim::Const(n) => CDim::Const(*n),
            tast::Dim::Var(var) => match self.find(*var) {
                Found::Slot(slot) => {
                    self.pin(slot);
                    CDim::Slot(slot)
                }
                Found::Global(id) => CDim::Exp(Box::new(Node::Global(id))),
            },
            tast::Dim::Op(..) => match self.dim_node(dim) {
                Some(node) => CDim::Exp(Box::new(node)),
                None => CDim::Any,
            },
            tast::Dim::Exp(exp) => {
                let around = self.hide_sizes(exp);
                self.in_sizes += 1;
                let node = self.exp(exp);
                self.in_sizes -= 1;
                self.restore_sizes(around);
                CDim::Exp(Box::new(node))
            }
        }
    }

    fn dim_node(&mut self, dim: &tast::Dim) -> Option<Node> {
        match dim {
            tast::Dim::Op(op, args) => {
                let pair = Box::new((self.dim_node(&args.0)?, self.dim_node(&args.1)?));
                Some(Node::Binary(*op, ScalarType::I64, pair, NOWHERE))
            }
            other => match self.dim(other) {
                CDim::Any => None,
                CDim::Const(n) => Some(Node::Const(Val::i64(n))),
                CDim::Slot(slot) => Some(Node::Slot(slot)),
                CDim::Exp(node) => Some(*node),
            },
        }
    }
}

fn all_static(types: &[CTy]) -> Option<Vec<Rc<RTy>>> {
    types
        .iter()
        .map(|ty| match ty {
            CTy::Static(ty) => Some(Rc::clone(ty)),
            _ => None,
        })
        .collect()
}

/// The sizes that occur in payloads of sums in a type.
pub fn payload_sizes(ty: Option<&CTy>) -> Vec<Slot> {
    let mut out = Vec::new();
    if let Some(ty) = ty {
        collect(ty, false, &mut out);
    }
    out
}

fn collect(ty: &CTy, payload: bool, out: &mut Vec<Slot>) {
    match ty {
        CTy::Static(_) | CTy::Var(_) => {}
        CTy::Array(dim, elem) => {
            if let (CDim::Slot(slot), true) = (dim, payload) {
                out.push(*slot);
            }
            collect(elem, payload, out);
        }
        CTy::Tuple(parts) | CTy::Record(_, parts) => {
            parts.iter().for_each(|ty| collect(ty, payload, out));
        }
        CTy::Sum(_, constrs) => {
            let parts = constrs.iter().flatten();
            parts.for_each(|ty| collect(ty, true, out));
        }
    }
}

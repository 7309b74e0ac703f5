//! Types and sizes: static types are built once, all others refer to slots.

use super::{Found, Resolver};
use crate::machine::NO_SPAN;
use crate::tree::{Node, SizeExpr, SizedType, Slot};
use crate::value::{RunType, RunValue, UNKNOWN};
use check::tast::{self, Ty};
use prim::ScalarType;
use std::rc::Rc;
use std::sync::Arc;

impl Resolver<'_> {
    /// The type for checks of shapes; `None` if it has no sizes to check.
    pub(super) fn shape(&mut self, ty: &Ty) -> Option<SizedType> {
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

    pub(super) fn ty(&mut self, ty: &Ty) -> SizedType {
        match ty {
            Ty::Scalar(scalar) => SizedType::Static(Rc::new(RunType::Scalar(*scalar))),
            Ty::Array(array) => {
                let dim = self.dim(&array.dim);
                let elem = self.ty(&array.elem);
                match (&dim, &elem) {
                    (SizeExpr::Any, SizedType::Static(elem)) => {
                        SizedType::Static(Rc::new(RunType::Array(UNKNOWN, Rc::clone(elem))))
                    }
                    (SizeExpr::Const(n), SizedType::Static(elem)) => {
                        SizedType::Static(Rc::new(RunType::Array(*n, Rc::clone(elem))))
                    }
                    _ => SizedType::Array(dim, Box::new(elem)),
                }
            }
            Ty::Tuple(parts) => {
                let parts: Vec<SizedType> = parts.iter().map(|ty| self.ty(ty)).collect();
                match all_static(&parts) {
                    Some(parts) => SizedType::Static(Rc::new(RunType::Tuple(parts))),
                    None => SizedType::Tuple(parts),
                }
            }
            Ty::Record(fields) => {
                let names = fields.iter().map(|(label, _)| Arc::clone(label)).collect();
                let parts: Vec<SizedType> = fields.iter().map(|(_, ty)| self.ty(ty)).collect();
                match all_static(&parts) {
                    Some(parts) => SizedType::Static(Rc::new(RunType::Record(names, parts))),
                    None => SizedType::Record(names, parts),
                }
            }
            Ty::Sum(constrs) => {
                let names = constrs.iter().map(|(label, _)| Arc::clone(label)).collect();
                let parts: Vec<Vec<SizedType>> =
                    constrs.iter().map(|(_, tys)| tys.iter().map(|ty| self.ty(ty)).collect()).collect();
                let known: Option<Vec<_>> = parts.iter().map(|tys| all_static(tys)).collect();
                match known {
                    Some(parts) => SizedType::Static(Rc::new(RunType::Sum(names, parts))),
                    None => SizedType::Sum(names, parts),
                }
            }
            Ty::Arrow(_) => SizedType::Static(Rc::new(RunType::Fun)),
            Ty::Var(var) => match self.find_type(*var) {
                Some(slot) => SizedType::Var(slot),
                None => SizedType::Static(Rc::new(RunType::Unknown)),
            },
            Ty::Abstract(..) => SizedType::Static(Rc::new(RunType::Unknown)),
        }
    }

    pub(super) fn dim(&mut self, dim: &tast::Dim) -> SizeExpr {
        match dim {
            tast::Dim::Any => SizeExpr::Any,
            tast::Dim::Const(n) => SizeExpr::Const(*n),
            tast::Dim::Var(var) => match self.lookup(*var) {
                Found::Slot(slot) => {
                    self.pin(slot);
                    SizeExpr::Slot(slot)
                }
                Found::Global(id) => SizeExpr::Exp(Box::new(Node::Global(id))),
            },
            tast::Dim::Op(..) => match self.dim_node(dim) {
                Some(node) => SizeExpr::Exp(Box::new(node)),
                None => SizeExpr::Any,
            },
            tast::Dim::Exp(exp) => {
                let around = self.hide_sizes(exp);
                self.in_sizes += 1;
                let node = self.resolve_exp(exp);
                self.in_sizes -= 1;
                self.restore_sizes(around);
                SizeExpr::Exp(Box::new(node))
            }
        }
    }

    fn dim_node(&mut self, dim: &tast::Dim) -> Option<Node> {
        match dim {
            tast::Dim::Op(op, args) => {
                let pair = Box::new((self.dim_node(&args.0)?, self.dim_node(&args.1)?));
                Some(Node::Binary(*op, ScalarType::I64, pair, NO_SPAN))
            }
            other => match self.dim(other) {
                SizeExpr::Any => None,
                SizeExpr::Const(n) => Some(Node::Const(RunValue::i64(n))),
                SizeExpr::Slot(slot) => Some(Node::Slot(slot)),
                SizeExpr::Exp(node) => Some(*node),
            },
        }
    }
}

fn all_static(types: &[SizedType]) -> Option<Vec<Rc<RunType>>> {
    types
        .iter()
        .map(|ty| match ty {
            SizedType::Static(ty) => Some(Rc::clone(ty)),
            _ => None,
        })
        .collect()
}

/// The sizes that occur in payloads of sums in a type.
pub fn payload_sizes(ty: Option<&SizedType>) -> Vec<Slot> {
    let mut out = Vec::new();
    if let Some(ty) = ty {
        collect(ty, false, &mut out);
    }
    out
}

fn collect(ty: &SizedType, payload: bool, out: &mut Vec<Slot>) {
    match ty {
        SizedType::Static(_) | SizedType::Var(_) => {}
        SizedType::Array(dim, elem) => {
            if let (SizeExpr::Slot(slot), true) = (dim, payload) {
                out.push(*slot);
            }
            collect(elem, payload, out);
        }
        SizedType::Tuple(parts) | SizedType::Record(_, parts) => {
            parts.iter().for_each(|ty| collect(ty, payload, out));
        }
        SizedType::Sum(_, constrs) => {
            let parts = constrs.iter().flatten();
            parts.for_each(|ty| collect(ty, true, out));
        }
    }
}

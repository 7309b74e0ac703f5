//! The rules for single operations: functions from an operation and what is known of its operands
//! to a simpler operation. They change nothing; the walk emits what they return (`emit`).
//!
//! Each rule is exact: results are bit-identical.

mod array;
mod concat;
mod element;
mod fill;
mod scalar;
mod update;

use super::knowledge::{Def, Knowledge};
use super::{Certs, add_certs};
use ir::syntax::{Atom, BasicOp};
use ir::{Name, NameTable};

/// The result of applying rules to a basic operation.
pub(crate) enum Simplified {
    /// Replaced by an operand, given these certificates.
    Atom(Atom, Certs),
    /// Replaced by another operation, given these certificates.
    Op(BasicOp, Certs),
}

/// The operations that a rule's result refers to, to be emitted before it.
pub(crate) struct NewOps<'a> {
    pub(super) names: &'a mut NameTable,
    pub(super) ops: Vec<(Name, BasicOp, Certs)>,
}

impl NewOps<'_> {
    /// Adds an operation that depends on these certificates, and returns its name.
    fn checked(&mut self, hint: &str, op: BasicOp, certs: &Certs) -> Name {
        let name = self.names.fresh(hint);
        self.ops.push((name, op, certs.clone()));
        name
    }
}

impl Knowledge<'_> {
    /// Applies the rules to the operation that defines a name.
    pub(super) fn fold(&self, op: &BasicOp, name: Name, new: &mut NewOps<'_>) -> Option<Simplified> {
        if let BasicOp::Scalar(op) = op { self.fold_scalar(op) } else { self.fold_array(op, name, new) }
    }

    /// Adds a scalar operation, unless its value is known, and returns the value.
    fn make(&self, new: &mut NewOps<'_>, hint: &str, mut op: BasicOp) -> Atom {
        while let BasicOp::Scalar(scalar) = &op {
            match self.fold_scalar(scalar) {
                Some(Simplified::Atom(value, certs)) if certs.is_empty() => return value,
                Some(Simplified::Op(simpler, certs)) if certs.is_empty() => op = simpler,
                Some(Simplified::Atom(..) | Simplified::Op(..)) | None => break,
            }
        }
        Atom::Var(new.checked(hint, op, &Certs::new()))
    }
}

//! Certificates: the checks that statements rely on, and the checks that the sizes of arrays need.
//!
//! The size of an array that an operation makes is computed separately from the array: `b - a` for
//! the range `a..<b`, `n` for `iota n`. Only the array relies on the check that the size is valid,
//! so if only the size is used, the check would be removed with the array. So each such array
//! *needs* its certificates, and so do arrays made from it; a call that returns the size of an
//! argument (`length xs`) returns it under them.

use super::FunctionBuilder;
use crate::Lower;
use crate::value::Value;
use ir::syntax::DimIndex;
use ir::walk::Visit;
use ir::{Atom, BasicOp, Body, Exp, Lambda, Name, Param, Soacs};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The certificates that an array needs, its own and those of the arrays it is made from.
type Certs = SmallVec<[Name; 2]>;

/// The certificates that arrays need; most arrays need none.
pub(super) type Needs = FxHashMap<Name, Certs>;

/// The largest number of certificates that are kept for an array.
const MAX_CERTS: usize = 4;

/// Collects the certificates needed by the arrays that an expression mentions outside of its
/// bodies.
struct Operands<'a> {
    needs: &'a Needs,
    certs: Certs,
}

impl Visit<Soacs> for Operands<'_> {
    fn name(&mut self, name: &Name) {
        for cert in self.needs.get(name).into_iter().flatten() {
            add(&mut self.certs, *cert);
        }
    }

    fn body(&mut self, _: &Body<Soacs>) {}

    fn lambda(&mut self, _: &Lambda<Soacs>) {}
}

fn add(certs: &mut Certs, cert: Name) {
    if certs.len() < MAX_CERTS && !certs.contains(&cert) {
        certs.push(cert);
    }
}

/// Returns true if the operation makes an array whose size it checks.
fn makes_size(exp: &Exp<Soacs>) -> bool {
    match exp {
        Exp::Basic(BasicOp::Iota { .. } | BasicOp::Replicate { .. }) => true,
        Exp::Basic(BasicOp::Index { slice, .. }) => {
            slice.iter().any(|index| matches!(index, DimIndex::Slice { .. }))
        }
        _ => false,
    }
}

impl FunctionBuilder {
    /// Runs `f` with certificates on every statement of the current body.
    pub(crate) fn certified<R>(
        &mut self,
        certs: impl IntoIterator<Item = Name>,
        f: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let mut before = 0;
        if let Some(scope) = self.scopes.last_mut() {
            before = scope.certs.len();
            scope.certs.extend(certs);
        }
        let result = f(self);
        if let Some(scope) = self.scopes.last_mut() {
            scope.certs.truncate(before);
        }
        result
    }

    /// The operand, made dependent on the certificates.
    pub(crate) fn under(&mut self, certs: impl IntoIterator<Item = Name>, atom: Atom) -> Name {
        self.certified(certs, |f| f.basic("certified", BasicOp::Atom(atom)))
    }

    /// Records the certificates that the arrays made by an expression need.
    pub(super) fn note_needs(&mut self, pat: &[Param<Soacs>], own: &[Name], exp: &Exp<Soacs>) {
        let own = own.iter().filter(|_| makes_size(exp));
        let mut certs = Certs::new();
        own.for_each(|cert| add(&mut certs, *cert));
        if certs.is_empty() && self.needs.is_empty() {
            return;
        }
        let mut operands = Operands { needs: &self.needs, certs };
        operands.exp(exp);
        let certs = operands.certs;
        if !certs.is_empty() {
            let arrays = pat.iter().filter(|param| param.ty.is_array());
            self.needs.extend(arrays.map(|param| (param.name, certs.clone())));
        }
    }

    /// Returns true if any array needs certificates.
    pub(crate) fn has_needs(&self) -> bool {
        !self.needs.is_empty()
    }
}

impl Lower<'_> {
    /// The size, under the checks that the array needs if it is the size of one of these arrays.
    pub(crate) fn size_under(&mut self, size: Atom, arrays: &[Value]) -> Atom {
        let mut certs = Certs::new();
        for array in arrays {
            if let Value::Array(array) = array
                && array.dim.atom() == Some(size)
                && let Some(leaf) = array.leaves.first()
            {
                for cert in self.f.needs.get(leaf).into_iter().flatten() {
                    add(&mut certs, *cert);
                }
            }
        }
        if certs.is_empty() { size } else { self.f.under(certs, size).into() }
    }
}

//! The memory of a function's arrays before it is assigned, as far as it follows from views and
//! updates in place: which arrays share a block, and the index functions of views.
//!
//! Arrays that are created outside of a kernel count as row-major: layout is chosen later.

use crate::destinations::Locations;
use analysis::must_alias::MustAlias;
use ir::Segs;
use ir::mem::{Lmad, view};
use ir::name::Name;
use ir::syntax::{BasicOp, DimIndex, Exp, Function, Param, Stm};
use ir::types::Type;
use ir::walk::{Visit, with_stack};
use rustc_hash::FxHashMap;

/// An array.
struct Array {
    ty: Type,
    /// The operation by which it is a view of another array or updates it, if it does.
    view: Option<BasicOp>,
}

/// The arrays of a function.
pub(crate) struct Aliases {
    roots: MustAlias,
    arrays: FxHashMap<Name, Array>,
}

impl Aliases {
    /// Analyses a function.
    pub(crate) fn of(function: &Function<Segs>) -> Self {
        let roots = MustAlias::new(&function.body, function.names.len());
        let mut aliases = Self { roots, arrays: FxHashMap::default() };
        aliases.walk_function(function);
        aliases
    }

    /// Returns true if a result of a branch or loop occupies the memory of an array outside.
    pub(crate) fn has_root(&self, name: Name) -> bool {
        self.roots.root(name) != name
    }

    /// The type of an array.
    pub(crate) fn type_of(&self, array: Name) -> Option<&Type> {
        Some(&self.arrays.get(&array)?.ty)
    }

    /// The index function of an array, if it is a view of one for which `is_outside` holds.
    pub(crate) fn lmad(&self, array: Name, is_outside: &dyn Fn(Name) -> bool) -> Option<Lmad> {
        let Array { ty, view: by } = self.arrays.get(&array)?;
        match by {
            Some(op) => {
                let lmad_of = |of| with_stack(|| self.lmad(of, is_outside));
                view(op, ty.shape(), lmad_of).map(|(_, lmad)| lmad)
            }
            None => is_outside(array).then(|| Lmad::row_major(ty.shape())),
        }
    }
}

impl Visit<Segs> for Aliases {
    fn param(&mut self, param: &Param<Segs>) {
        if param.ty.is_array() {
            self.arrays.insert(param.name, Array { ty: param.ty.clone(), view: None });
        }
    }

    fn stm(&mut self, stm: &Stm<Segs>) {
        self.walk_stm(stm);
        let views: Vec<(Name, BasicOp)> = match (&stm.exp, stm.pat.as_slice()) {
            (Exp::Basic(op), [param]) if source(op).is_some() => vec![(param.name, op.clone())],
            (Exp::Loop { params, .. }, _) => {
                let own = params.iter().filter(|it| self.roots.in_place(it.param.name));
                own.map(|it| (it.param.name, BasicOp::Atom(it.init))).collect()
            }
            _ => Vec::new(),
        };
        for (name, op) in views {
            if let Some(array) = self.arrays.get_mut(&name) {
                array.view = Some(op);
            }
        }
    }
}

impl Locations for Aliases {
    type Location = ();

    fn in_place(&self, param: Name) -> bool {
        self.roots.in_place(param)
    }

    fn block(&self, mut array: Name) -> Option<Name> {
        loop {
            let root = self.roots.root(array);
            match self.arrays.get(&root)?.view.as_ref().and_then(source) {
                Some(source) => array = source,
                None => return Some(root),
            }
        }
    }

    fn slice(&self, _: Name, _: &[DimIndex]) -> Option<()> {
        Some(())
    }
}

/// The array that an operation views or updates.
pub(crate) fn source(op: &BasicOp) -> Option<Name> {
    if let BasicOp::Index { array, .. }
    | BasicOp::FlatIndex { array, .. }
    | BasicOp::Rearrange { array, .. }
    | BasicOp::Reshape { array, .. } = op
    {
        Some(*array)
    } else {
        op.in_place_of()
    }
}

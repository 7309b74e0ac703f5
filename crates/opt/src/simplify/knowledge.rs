//! The facts that a walk has about names at the current statement: types, definitions, aliases,
//! uses, ranges.
//!
//! The walk adds to it; the [rules](super::rules) and the other components read it.

use super::Certs;
use analysis::alias::Aliases;
use analysis::ranges::Ranges;
use analysis::signatures::Signatures;
use analysis::total;
use analysis::uses::Uses;
use ir::syntax::{Atom, BasicOp, Function, Level};
use ir::types::{Dim, Type};
use ir::{MathDefinitions, Name, TypeEnv};
use prim::{BinOp, CmpOp, PrimType, Scalar, ScalarOp};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The definition of a name.
pub(crate) struct Def {
    pub(crate) op: BasicOp,
    pub(crate) certs: Certs,
    /// The position of its statement in its scope.
    pub(crate) at: usize,
}

/// The kind of body of a scope.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    /// The function's body.
    Root,
    /// A branch of a conditional.
    Branch,
    /// The body of a loop or of an operation. `runs` is true if it certainly runs.
    Inner { runs: bool },
}

/// The known facts about names.
pub(crate) struct Knowledge<'a> {
    /// True if the program has derivatives.
    pub(super) differentiates: bool,
    pub(super) types: TypeEnv,
    pub(super) aliases: Aliases,
    /// The number of uses of each name before the walk.
    pub(super) uses: Uses,
    /// Arrays that alias nothing that was bound before them.
    pub(super) fresh_arrays: Vec<bool>,
    pub(super) defs: Vec<Option<Rc<Def>>>,
    /// The index of the scope that binds a name.
    pub(super) depth: Vec<u32>,
    /// The outermost scope in which a name is certainly a valid size, that is, not negative.
    pub(super) known_size: Vec<u32>,
    /// The kinds of the open scopes, outermost first.
    pub(super) kinds: Vec<ScopeKind>,
    pub(super) ranges: Ranges,
    /// The neutral elements of accumulators with an operator, by their tokens.
    pub(super) neutrals: FxHashMap<Name, Vec<Atom>>,
    /// The definitions of mathematical functions.
    pub(super) math: &'a MathDefinitions,
}

impl<'a> Knowledge<'a> {
    /// The facts before a walk over the function.
    pub(super) fn of<L: Level>(function: &Function<L>, signatures: &'a Signatures) -> Self {
        let types = TypeEnv::of_function(function);
        let aliases = Aliases::of(function, &types, signatures);
        let n = function.names.len();
        Self {
            types,
            aliases,
            uses: Uses::of(function),
            fresh_arrays: vec![false; n],
            defs: vec![None; n],
            depth: vec![0; n],
            known_size: vec![u32::MAX; n],
            kinds: vec![ScopeKind::Root],
            ranges: Ranges::default(),
            neutrals: FxHashMap::default(),
            math: signatures.math(),
            differentiates: signatures.differentiates(),
        }
    }
}

impl Knowledge<'_> {
    /// Makes room for names created since.
    pub(super) fn grow(&mut self, names: usize) {
        if self.defs.len() < names {
            self.defs.resize(names, None);
            self.depth.resize(names, 0);
            self.fresh_arrays.resize(names, false);
            self.known_size.resize(names, u32::MAX);
        }
    }

    /// The definition of a name.
    pub(crate) fn def(&self, name: Name) -> Option<&Rc<Def>> {
        self.defs.get(name.index())?.as_ref()
    }

    /// The definition of an operand.
    pub(crate) fn def_of(&self, atom: Atom) -> Option<&Rc<Def>> {
        self.def(atom.var()?)
    }

    /// The type of a name.
    pub(crate) fn type_of(&self, name: Name) -> Type {
        self.types.type_of(name).clone()
    }

    /// The type of an operand.
    pub(crate) fn type_of_atom(&self, atom: Atom) -> Type {
        self.types.type_of_atom(atom)
    }

    /// The size of an array in a dimension.
    pub(crate) fn size_in(&self, array: Name, dim: usize) -> Option<Dim> {
        self.types.type_of(array).shape().get(dim).copied()
    }

    /// The index of the innermost scope.
    pub(crate) fn current(&self) -> usize {
        self.kinds.len() - 1
    }

    /// The index of the scope that binds a name.
    pub(crate) fn depth_of(&self, name: Name) -> usize {
        self.depth.get(name.index()).map_or(0, |d| *d as usize)
    }

    /// The index of the outermost scope in which an operand is bound.
    pub(crate) fn depth_of_atom(&self, atom: Atom) -> usize {
        atom.var().map_or(0, |name| self.depth_of(name))
    }

    /// Returns true if an operand is bound in the current scope or an enclosing one, not further
    /// inside.
    pub(crate) fn in_scope(&self, atom: Atom) -> bool {
        self.depth_of_atom(atom) <= self.current()
    }

    /// Returns true if the size is known to be non-negative throughout the scope with this index.
    pub(super) fn size_known(&self, dim: Dim, depth: usize) -> bool {
        match dim {
            Dim::Const(n) => n >= 0,
            Dim::Var(name) => self.known_size.get(name.index()).is_some_and(|known| *known as usize <= depth),
            Dim::Ext(_) => false,
        }
    }

    /// Returns true if a number is known without certificates to be at least this constant.
    pub(crate) fn at_least(&self, ty: PrimType, x: Atom, least: i64) -> bool {
        let known = self.ranges.compare(CmpOp::SLe, Atom::Const(Scalar::int(ty, least)), x);
        known.is_some_and(|(truth, certs)| truth && certs.is_empty())
    }

    /// Returns true if a size is known to be positive.
    pub(crate) fn positive(&self, size: Dim) -> bool {
        size.atom().is_some_and(|size| self.at_least(PrimType::I64, size, 1))
    }

    /// Returns true if the operator is defined for every first operand.
    pub(super) fn never_fails(&self, op: BinOp, y: Atom) -> bool {
        if total::never_fails(op, y) {
            return true;
        }
        let Some(BasicOp::Scalar(ScalarOp::Binary(BinOp::SMax, _, x, y))) = self.def_of(y).map(|def| &def.op)
        else {
            return false;
        };
        [x, y].iter().any(|atom| atom.constant().and_then(Scalar::as_i64) > Some(0))
    }

    /// Returns true if the name was used before the walk, or was created by it.
    pub(crate) fn is_used(&self, name: Name) -> bool {
        self.uses.get(name) != Some(0)
    }

    /// Returns true if the name has a single use.
    pub(crate) fn read_once(&self, name: Name) -> bool {
        self.uses.get(name) == Some(1)
    }

    /// Returns true if an array has no aliases and a single use, in the scope that binds it.
    pub(crate) fn last_use(&self, array: Name) -> bool {
        self.used_here(array, 1)
    }

    /// Returns true if an array has no aliases and between one and `most` uses, in the scope that
    /// binds it or branches in it.
    pub(super) fn used_here(&self, array: Name, most: u32) -> bool {
        let inner = self.kinds.get(self.depth_of(array) + 1..).unwrap_or(&[]);
        let uses = self.uses.get(array).unwrap_or(u32::MAX);
        self.fresh_arrays[array.index()]
            && (1..=most).contains(&uses)
            && inner.iter().all(|kind| *kind == ScopeKind::Branch)
    }

    /// Returns true if reads of these arrays may move to a later point.
    pub(crate) fn may_delay_reads(&self, arrays: &[Name]) -> bool {
        arrays.iter().all(|array| !self.aliases.consumed(*array))
    }

    /// Returns true if one array may replace two fresh ones.
    pub(crate) fn may_share(&self, a: Name, b: Name) -> bool {
        let aliases = &self.aliases;
        let consumed = aliases.consumed(a) || aliases.consumed(b);
        let both_results = aliases.is_result(a) && aliases.is_result(b);
        !consumed && !both_results
    }
}

//! Groups of statements for one-iteration segmaps, and their positions among the host's statements.
//!
//! ```text
//! items of a scope   host  host  GROUP  host  GROUP  host  ..       open group
//! ```
//!
//! The open group is placed when the host needs one of its results or consumes an array that it
//! reads. A statement that moves joins the first group after all of its operands, or else the open
//! one.

use ir::name::NameTable;
use ir::seg::{Decomp, Seg, SegKind, SegOp, SegSpace};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Param, ReshapeKind, Stm};
use ir::types::{Dim, Type};
use ir::walk::Substitution;
use ir::{Name, Prov, Segs};
use rustc_hash::{FxHashMap, FxHashSet};
use target::levels::LevelId;

/// The site of a binding: the scope, and the number of its items up to and including the binding
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Site {
    pub(super) scope: usize,
    pub(super) item: usize,
}

/// Bound before all items.
pub(super) const START: usize = 0;
/// Bound in the open group, which has no position yet.
pub(super) const OPEN: usize = usize::MAX;

/// A result of a group.
pub(super) struct GroupResult {
    /// Its name in the group.
    pub(super) inner: Name,
    /// True if it is a scalar.
    pub(super) scalar: bool,
    /// Its name and type outside: storage for a scalar, an array of the same shape for an array.
    pub(super) outer: Param<Segs>,
}

/// Statements that one thread runs.
#[derive(Default)]
pub(super) struct Group {
    pub(super) stms: Vec<Stm<Segs>>,
    /// The names in this group of outside names and of the results of its statements.
    pub(super) inner: Substitution,
    /// The group's results.
    pub(super) results: Vec<GroupResult>,
    /// The names that it binds for uses outside.
    pub(super) bound: Vec<Name>,
    /// Scalars that the host reads right after the group.
    pub(super) reads: Vec<Param<Segs>>,
    /// The alias classes of the arrays that it reads.
    pub(super) arrays: FxHashSet<usize>,
}

/// A host statement or a group of device statements.
#[allow(clippy::large_enum_variant, reason = "nearly all items are host statements")]
pub(super) enum Item {
    Host(Stm<Segs>),
    Group(Group),
}

/// A body that the host runs.
pub(super) struct Scope {
    pub(super) items: Vec<Item>,
    /// The positions of placed groups, ascending.
    placed: Vec<usize>,
    pub(super) open: Group,
    /// True if something inside the current statement needs the open group.
    pub(super) must_place_open: bool,
    /// Storage created from the host's scalars.
    pub(super) stores: FxHashMap<Atom, Name>,
    /// True if this is the body of a loop.
    pub(super) is_loop: bool,
}

impl Scope {
    pub(super) fn new(is_loop: bool) -> Self {
        Self {
            items: Vec::new(),
            placed: Vec::new(),
            open: Group::default(),
            must_place_open: false,
            stores: FxHashMap::default(),
            is_loop,
        }
    }

    /// Returns the first group at or after an item, or else the open one.
    pub(super) fn first_group_from(&self, item: usize) -> usize {
        let at = self.placed.partition_point(|group| *group < item);
        self.placed.get(at).copied().unwrap_or(OPEN)
    }

    /// Returns the group at an item, or else the open one.
    pub(super) fn group(&mut self, item: usize) -> &mut Group {
        let placed = item.checked_sub(1).filter(|_| item != OPEN);
        match placed.and_then(|at| self.items.get_mut(at)) {
            Some(Item::Group(group)) => group,
            Some(Item::Host(_)) | None => &mut self.open,
        }
    }

    /// Returns true if a group is placed at an item.
    pub(super) fn is_group(&self, item: usize) -> bool {
        self.placed.binary_search(&item).is_ok()
    }

    /// Appends a host statement and returns its item.
    pub(super) fn push(&mut self, stm: Stm<Segs>) -> usize {
        self.items.push(Item::Host(stm));
        self.items.len()
    }

    /// Places the open group. Returns its item, the names that it binds, and the scalars to read
    /// now. `None` if it is empty.
    pub(super) fn place_open_group(&mut self) -> Option<(usize, Vec<Name>, Vec<Param<Segs>>)> {
        self.must_place_open = false;
        if self.open.stms.is_empty() {
            return None;
        }
        let mut group = std::mem::take(&mut self.open);
        let (bound, reads) = (std::mem::take(&mut group.bound), std::mem::take(&mut group.reads));
        self.items.push(Item::Group(group));
        let item = self.items.len();
        self.placed.push(item);
        Some((item, bound, reads))
    }

    /// Returns the statements, with a segmap for each group.
    pub(super) fn finish(self, level: LevelId, names: &mut NameTable) -> Vec<Stm<Segs>> {
        let mut stms = Vec::with_capacity(self.items.len());
        for item in self.items {
            match item {
                Item::Host(stm) => stms.push(stm),
                Item::Group(group) => group.finish(level, names, &mut stms),
            }
        }
        stms
    }
}

impl Group {
    fn finish(self, level: LevelId, names: &mut NameTable, stms: &mut Vec<Stm<Segs>>) {
        let mut provs = self.stms.iter().map(|stm| stm.aux.prov);
        let prov = provs.find(|prov| *prov != Prov::NONE);
        let prov = prov.unwrap_or(Prov::NONE);
        let (mut pat, mut views) = (Vec::new(), Vec::new());
        let (mut result, mut ret) = (Vec::new(), Vec::new());
        for GroupResult { inner, scalar, outer } in self.results {
            result.push(Atom::Var(inner));
            if scalar {
                ret.extend(outer.ty.row());
                pat.push(outer);
                continue;
            }
            // A segmap's results have a leading dimension of its one iteration; a view removes it.
            ret.push(outer.ty.clone());
            let whole = param(names.fresh_like(outer.name), outer.ty.array_of(Dim::Const(1)));
            views.push(reshaped(whole.name, outer, prov));
            pat.push(whole);
        }
        if pat.is_empty() {
            return;
        }
        let space = SegSpace { dims: vec![(names.fresh("one"), Dim::Const(1))], lane: None };
        let seg = Seg {
            level,
            space,
            kind: SegKind::map(),
            body: Body { stms: self.stms, result },
            ret,
            // One iteration is the work of one thread.
            decomp: Decomp::SINGLE_CHUNK,
            identity_predicate: None,
        };
        stms.push(Stm { pat, aux: Aux::at(prov), exp: Exp::Op(SegOp::Seg(seg)) });
        stms.append(&mut views);
    }
}

pub(super) fn param(name: Name, ty: Type) -> Param<Segs> {
    Param { name, ty, ann: () }
}

/// `param = array`, reshaped to the type of `param`.
pub(super) fn reshaped(array: Name, param: Param<Segs>, prov: Prov) -> Stm<Segs> {
    let op = BasicOp::Reshape {
        kind: ReshapeKind::Arbitrary,
        shape: param.ty.shape().iter().copied().collect(),
        array,
    };
    basic(param, op, prov)
}

/// `param = storage[0]`.
pub(super) fn read(storage: Name, param: Param<Segs>, prov: Prov) -> Stm<Segs> {
    let op = BasicOp::Index { array: storage, slice: vec![DimIndex::Fix(Atom::i64(0))] };
    basic(param, op, prov)
}

/// `param = op`.
pub(super) fn basic(param: Param<Segs>, op: BasicOp, prov: Prov) -> Stm<Segs> {
    Stm { pat: vec![param], aux: Aux::at(prov), exp: Exp::Basic(op) }
}

//! Segmaps of one point that are being put together, and where they stand among the
//! host's statements.
//!
//! ```text
//! items of a scope   host  host  GROUP  host  GROUP  host  ..       open group
//! ```
//!
//! The open group is placed when the host needs what it gives, or consumes what it reads.
//! A statement that moves joins the first group behind all that it uses, else the open one.

use ir::name::NameTable;
use ir::seg::{Decomp, Seg, SegKind, SegOp, SegSpace};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Param, ReshapeKind, Stm};
use ir::types::{Dim, Type};
use ir::walk::Substitution;
use ir::{Name, Prov, Segs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where a name is bound: in which scope, and behind how many of its items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Site {
    pub(super) scope: usize,
    pub(super) item: usize,
}

/// Bound before all items.
pub(super) const START: usize = 0;
/// Bound in the group that has no place yet.
pub(super) const OPEN: usize = usize::MAX;

/// What a group gives.
pub(super) struct Given {
    /// What that is called in the group.
    pub(super) inner: Name,
    /// Whether that is a scalar.
    pub(super) scalar: bool,
    /// What it is called outside: storage of a scalar, an array of the same shape of an array.
    pub(super) outer: Param<Segs>,
}

/// Statements that one thread runs.
#[derive(Default)]
pub(super) struct Group {
    pub(super) stms: Vec<Stm<Segs>>,
    /// What names from outside, and of statements, are called in here.
    pub(super) inner: Substitution,
    /// What it gives.
    pub(super) results: Vec<Given>,
    /// What it binds, for outside.
    pub(super) bound: Vec<Name>,
    /// Scalars that the host reads as soon as they are there.
    pub(super) reads: Vec<Param<Segs>>,
    /// The classes of arrays that it reads.
    pub(super) arrays: FxHashSet<usize>,
}

/// A statement or several.
#[allow(clippy::large_enum_variant, reason = "nearly all items are the host's statements")]
pub(super) enum Item {
    Host(Stm<Segs>),
    Group(Group),
}

/// A body of the host's.
pub(super) struct Scope {
    pub(super) items: Vec<Item>,
    /// The places of groups, ascending.
    placed: Vec<usize>,
    pub(super) open: Group,
    /// Whether something inside of the statement at hand needs the open group.
    pub(super) must_place: bool,
    /// Storage that was made of the host's scalars.
    pub(super) stores: FxHashMap<Atom, Name>,
    /// Whether it is a loop's.
    pub(super) is_loop: bool,
}

impl Scope {
    pub(super) fn new(is_loop: bool) -> Self {
        Self {
            items: Vec::new(),
            placed: Vec::new(),
            open: Group::default(),
            must_place: false,
            stores: FxHashMap::default(),
            is_loop,
        }
    }

    /// The first group that stands at an item or behind it; else the open one.
    pub(super) fn first_behind(&self, item: usize) -> usize {
        let at = self.placed.partition_point(|group| *group < item);
        self.placed.get(at).copied().unwrap_or(OPEN)
    }

    /// The group at an item.
    pub(super) fn group(&mut self, item: usize) -> &mut Group {
        let placed = item.checked_sub(1).filter(|_| item != OPEN);
        match placed.and_then(|at| self.items.get_mut(at)) {
            Some(Item::Group(group)) => group,
            Some(Item::Host(_)) | None => &mut self.open,
        }
    }

    /// Whether a group stands at an item.
    pub(super) fn is_group(&self, item: usize) -> bool {
        self.placed.binary_search(&item).is_ok()
    }

    /// Appends a statement of the host's; which item it is.
    pub(super) fn push(&mut self, stm: Stm<Segs>) -> usize {
        self.items.push(Item::Host(stm));
        self.items.len()
    }

    /// Gives the open group the next place; which item it is, what it binds, and what is to
    /// be read now.
    pub(super) fn place(&mut self) -> Option<(usize, Vec<Name>, Vec<Param<Segs>>)> {
        self.must_place = false;
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

    /// The statements, with a segmap for each group.
    pub(super) fn finish(self, level: u8, names: &mut NameTable) -> Vec<Stm<Segs>> {
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
    fn finish(self, level: u8, names: &mut NameTable, stms: &mut Vec<Stm<Segs>>) {
        let mut provs = self.stms.iter().map(|stm| stm.aux.prov);
        let prov = provs.find(|prov| *prov != Prov::NONE);
        let prov = prov.unwrap_or(Prov::NONE);
        let (mut pat, mut views) = (Vec::new(), Vec::new());
        let (mut result, mut ret) = (Vec::new(), Vec::new());
        for Given { inner, scalar, outer } in self.results {
            result.push(Atom::Var(inner));
            if scalar {
                ret.extend(outer.ty.row());
                pat.push(outer);
                continue;
            }
            // There is an array for each point; of the only one there is a view.
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
            // One point is the work of one thread.
            decomp: Decomp::WHOLE,
            keeps: None,
        };
        stms.push(Stm { pat, aux: Aux::at(prov), exp: Exp::Op(SegOp::Seg(seg)) });
        stms.append(&mut views);
    }
}

/// A name and its type.
pub(super) fn param(name: Name, ty: Type) -> Param<Segs> {
    Param { name, ty, ann: () }
}

/// `param = array`, in the shape of the former.
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

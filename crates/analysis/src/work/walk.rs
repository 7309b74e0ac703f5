//! The walk over a nest: the operations and accesses of each body, multiplied by the iterations of the
//! loops around it, from the inside out.
//!
//! Each loop around has a bit. Of each name, the walk knows the loops on whose counters it depends; an
//! access touches as many elements as these have iterations together.

use super::{Count, DataDependence, Nests, Operations, Traffic, Work};
use crate::cost;
use ir::mem::MemOp;
use ir::poly::Poly;
use ir::seg::{Seg, SegKind, SegOp};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Lambda, LoopForm, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{binders, free_names_exp, with_stack};
use ir::{Mems, Name};
use prim::{PrimType, ScalarOp, UnClass};
use rustc_hash::{FxHashMap, FxHashSet};
use target::time;

/// The work of a nest.
pub(super) fn work(nests: &Nests, pat: &[Param<Mems>], seg: &Seg<Mems>) -> Work {
    let mut inner: FxHashSet<Name> = binders(&seg.body).into_iter().collect();
    inner.extend(seg.space.dims.iter().map(|(index, _)| *index));
    let (depends, roots) = (FxHashMap::default(), FxHashMap::default());
    let mut walk = Walk { nests, inner, counters: Vec::new(), depends, roots };
    let mut tally = Tally::default();
    walk.seg(seg, &mut tally);
    let Tally { operations, accesses, dependence } = tally;
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for access in accesses {
        let into = if access.writes { &mut written } else { &mut read };
        access.merge(into);
    }
    let results = if matches!(seg.kind, SegKind::Hist(_)) { &[] } else { pat };
    for param in results.iter().filter(|param| param.ty.is_array()) {
        let all = nests.bytes(&param.ty);
        Access { place: param.name, all, touched: None, depends: 0, writes: true }.merge(&mut written);
    }
    let traffic = |of: Vec<(Name, Traffic)>| of.into_iter().map(|(_, traffic)| traffic).collect();
    Work { operations, read: traffic(read), written: traffic(written), dependence }
}

/// An access of elements from outside of the nest.
struct Access {
    /// The block, or the token of the accumulator.
    place: Name,
    /// The bytes of all elements there.
    all: Poly,
    /// The bytes of the elements at all values of the counters of the loops walked so far; `None` if
    /// their number is unknown.
    touched: Option<Count>,
    /// The loops on whose counters the elements depend.
    depends: u64,
    writes: bool,
}

impl Access {
    /// Adds the access to those of the same block.
    fn merge(self, into: &mut Vec<(Name, Traffic)>) {
        let Some((_, known)) = into.iter_mut().find(|(place, _)| *place == self.place) else {
            return into.push((self.place, Traffic { all: self.all, touched: self.touched }));
        };
        known.touched = match (&known.touched, &self.touched) {
            (Some(x), Some(y)) => Some(x.add(y)),
            (None, _) | (_, None) => None,
        };
    }
}

/// The work of code.
#[derive(Default)]
struct Tally {
    operations: Operations,
    accesses: Vec<Access>,
    dependence: DataDependence,
}

impl Tally {
    /// The number of operations on operands of this type, if these count.
    fn of(&mut self, ty: PrimType) -> Option<&mut Count> {
        match ty {
            PrimType::F16 | PrimType::F32 => Some(&mut self.operations.single),
            PrimType::F64 => Some(&mut self.operations.double),
            PrimType::I8 | PrimType::I16 | PrimType::I32 => Some(&mut self.operations.integer),
            PrimType::I64 | PrimType::Bool => None,
        }
    }

    fn scalar(&mut self, op: &ScalarOp<Atom>) {
        let ty = match op {
            ScalarOp::Unary(_, ty, _)
            | ScalarOp::Binary(_, ty, ..)
            | ScalarOp::Compare(_, ty, ..)
            | ScalarOp::Fma(ty, ..)
            | ScalarOp::Math(_, ty, _) => *ty,
            ScalarOp::Convert { .. } | ScalarOp::Select { .. } => return,
        };
        let is_root = matches!(op, ScalarOp::Unary(op, ..) if op.class() == UnClass::Root);
        let number = if matches!(op, ScalarOp::Fma(..)) {
            2
        } else {
            (if is_root { time::DIVISION } else { time::scalar(op) }) / time::PLAIN
        };
        if let Some(count) = self.of(ty) {
            *count = count.add(&Count::constant(number));
        }
    }

    /// Adds the work of other code.
    fn add(&mut self, other: Self) {
        let Self { operations: Operations { single, double, integer }, accesses, dependence } = other;
        let own = &mut self.operations;
        for (own, other) in
            [(&mut own.single, single), (&mut own.double, double), (&mut own.integer, integer)]
        {
            *own = own.add(&other);
        }
        self.accesses.extend(accesses);
        self.dependence.loops |= dependence.loops;
        self.dependence.branches |= dependence.branches;
    }

    /// Multiplies the work of an iteration by the iterations of a loop.
    fn repeat(&mut self, bit: u64, counter: Option<Name>, trips: Option<&Count>) {
        let Operations { single, double, integer } = &mut self.operations;
        for count in [single, double, integer] {
            if count.is_zero() {
                continue;
            }
            let sum = trips.and_then(|trips| sum(count, counter, trips));
            self.dependence.loops |= sum.is_none();
            match (sum, counter) {
                (Some(sum), _) => *count = sum,
                (None, Some(counter)) => *count = count.at(counter, &Poly::constant(0)),
                (None, None) => {}
            }
        }
        for access in &mut self.accesses {
            access.touched = access.touched.as_ref().and_then(|touched| {
                let trips = trips.filter(|_| access.depends & bit != 0 || counter.is_some());
                match (trips, counter) {
                    (Some(trips), _) if access.depends & bit != 0 => sum(touched, counter, trips),
                    // Of elements that do not depend on the counter, most are those of the last iteration.
                    (Some(trips), Some(counter)) => touched.at_last(counter, trips),
                    (None, _) if access.depends & bit != 0 => None,
                    (None, Some(counter)) => {
                        (!touched.poly().names().any(|name| name == counter)).then(|| touched.clone())
                    }
                    (_, None) => Some(touched.clone()),
                }
            });
        }
    }
}

fn sum(count: &Count, counter: Option<Name>, trips: &Count) -> Option<Count> {
    match counter {
        Some(counter) => count.sum_over(counter, trips),
        None => Some(count.times(trips)),
    }
}

struct Walk<'n> {
    nests: &'n Nests,
    /// The names bound in the nest.
    inner: FxHashSet<Name>,
    /// The counters of the loops around, outermost first.
    counters: Vec<Option<Name>>,
    /// The loops on whose counters a name of the nest depends.
    depends: FxHashMap<Name, u64>,
    /// The array or accumulator from outside of the nest that a name of the nest is, or is a view of.
    roots: FxHashMap<Name, Name>,
}

impl Walk<'_> {
    /// The bits of the loops around.
    fn around(&self) -> u64 {
        self.counters.iter().enumerate().fold(0, |bits, (at, _)| bits | bit(at))
    }

    fn depends_on(&self, name: Name) -> u64 {
        self.depends.get(&name).copied().unwrap_or(0)
    }

    fn atom_depends_on(&self, atom: Atom) -> u64 {
        atom.var().map_or(0, |name| self.depends_on(name))
    }

    fn root(&self, name: Name) -> Option<Name> {
        if self.inner.contains(&name) { self.roots.get(&name).copied() } else { Some(name) }
    }

    /// The polynomial over names from outside of the nest and counters around; `None` if it depends on
    /// others.
    fn known(&self, poly: Poly) -> Option<Count> {
        let count = self.nests.count(poly);
        let is_known = |name| !self.inner.contains(&name) || self.counters.contains(&Some(name));
        let all_known = count.poly().names().all(is_known);
        all_known.then_some(count)
    }

    /// The number of iterations of a loop with this bound, if it is known.
    fn bound(&self, bound: Atom, tally: &mut Tally) -> Option<Count> {
        self.known(Poly::atom(bound)).or_else(|| {
            let least = bound.var().and_then(|name| self.nests.minima.get(&name))?;
            let known = least.iter().filter_map(|operand| self.known(Poly::atom(*operand)));
            let least = known.min_by_key(|count| count.poly().terms().len())?;
            tally.dependence.branches = true;
            Some(least)
        })
    }

    /// Records an access of a number of bytes of an array or accumulator, if it is from outside of the nest.
    fn access(&self, name: Name, bytes: Option<Count>, depends: u64, writes: bool, tally: &mut Tally) {
        let Some(ty) = self.root(name).and_then(|root| self.nests.types.get(&root)) else {
            return;
        };
        let (place, all) = match ty {
            Type::Acc { token, shape, .. } => {
                let dims = shape.iter().map(|dim| Poly::dim(*dim));
                let all = dims.fold(self.nests.bytes(ty), |all, dim| all.mul(&dim));
                (Some(*token), Some(self.nests.values.resolved(all)))
            }
            Type::Array { .. } => {
                let block = self.nests.blocks.of(name);
                (block, block.and_then(|block| self.nests.sizes.get(&block).cloned()))
            }
            Type::Prim(_) | Type::Cert | Type::Mem(_) => return,
        };
        if let (Some(place), Some(all)) = (place, all) {
            tally.accesses.push(Access { place, all, touched: bytes, depends, writes });
        }
    }

    /// Records that a whole array is read.
    fn read_all(&self, name: Name, tally: &mut Tally) {
        if let Some(ty @ Type::Array { .. }) = self.nests.types.get(&name) {
            self.access(name, self.known(self.nests.bytes(ty)), self.depends_on(name), false, tally);
        }
    }

    /// Records that results are copied from arrays from outside of the nest.
    fn results(&self, results: &[Atom], tally: &mut Tally) {
        for name in results.iter().filter_map(|atom| atom.var()) {
            self.read_all(name, tally);
        }
    }

    fn body(&mut self, body: &Body<Mems>, tally: &mut Tally) {
        with_stack(|| body.stms.iter().for_each(|stm| self.stm(stm, tally)));
    }

    fn stm(&mut self, stm: &Stm<Mems>, tally: &mut Tally) {
        match &stm.exp {
            Exp::Basic(op) => self.basic(&stm.pat, &stm.exp, op, tally),
            Exp::If { cond, then_body, else_body } => {
                let (mut yes, mut no) = (Tally::default(), Tally::default());
                self.body(then_body, &mut yes);
                self.body(else_body, &mut no);
                yes.dependence.loops |= no.dependence.loops;
                yes.dependence.branches |= no.dependence.branches || yes.operations != no.operations;
                if cost::body(else_body).total() > cost::body(then_body).total() {
                    yes.operations = no.operations;
                }
                yes.accesses.extend(no.accesses);
                tally.add(yes);
                let cond = self.atom_depends_on(*cond);
                for (param, (x, y)) in stm.pat.iter().zip(then_body.result.iter().zip(&else_body.result)) {
                    let depends = cond | self.atom_depends_on(*x) | self.atom_depends_on(*y);
                    self.depends.insert(param.name, depends);
                    let root =
                        [x, y].into_iter().find_map(|atom| atom.var().and_then(|name| self.root(name)));
                    self.roots.extend(root.map(|root| (param.name, root)));
                }
            }
            Exp::Loop { params, form, body } => {
                let (counter, bound) = match *form {
                    LoopForm::For { var, bound, ty: _ } => (Some(var), self.bound(bound, tally)),
                    LoopForm::While { .. } => (None, None),
                };
                for (param, result) in params.iter().zip(&stm.pat) {
                    let root = param.init.var().and_then(|name| self.root(name));
                    for name in [param.param.name, result.name] {
                        self.depends.insert(name, self.around());
                        self.roots.extend(root.map(|root| (name, root)));
                    }
                }
                let own = bit(self.counters.len());
                for param in params {
                    *self.depends.entry(param.param.name).or_default() |= own;
                }
                self.repeated(counter, bound.as_ref(), tally, |walk, tally| walk.body(body, tally));
            }
            Exp::Apply { fun: _, args } => {
                tally.dependence.loops |= !args.is_empty();
                for name in args.iter().filter_map(|atom| atom.var()) {
                    if matches!(self.nests.types.get(&name), Some(Type::Array { .. })) {
                        self.access(name, None, self.depends_on(name), false, tally);
                    }
                }
                self.bind_all(&stm.pat);
            }
            Exp::Op(MemOp::Alloc { .. } | MemOp::Transfer { .. }) => self.bind_all(&stm.pat),
            Exp::Op(MemOp::Seg(SegOp::WithAcc { inputs: _, lambda })) => {
                self.body(&lambda.body, tally);
                self.bind_all(&stm.pat);
            }
            Exp::Op(MemOp::Seg(SegOp::Seg(seg))) => {
                self.seg(seg, tally);
                self.bind_all(&stm.pat);
            }
        }
    }

    /// Binds names whose values depend on everything around.
    fn bind_all(&mut self, pat: &[Param<Mems>]) {
        let around = self.around();
        self.depends.extend(pat.iter().map(|param| (param.name, around)));
    }

    fn basic(&mut self, pat: &[Param<Mems>], exp: &Exp<Mems>, op: &BasicOp, tally: &mut Tally) {
        let names = free_names_exp(exp);
        let depends = names.iter().fold(0, |all, name| all | self.depends_on(*name));
        let mut view = None;
        match op {
            BasicOp::Scalar(op) => tally.scalar(op),
            BasicOp::Index { array, slice } => {
                if slice.iter().all(|index| matches!(index, DimIndex::Fix(_))) {
                    let elem = self.nests.types.get(array).and_then(Type::elem);
                    let bytes = elem.map(|elem| Count::constant(elem.size() as i64));
                    self.access(*array, bytes, depends, false, tally);
                } else {
                    view = Some(*array);
                }
            }
            BasicOp::FlatIndex { array, .. }
            | BasicOp::Rearrange { array, .. }
            | BasicOp::Reshape { array, .. }
            | BasicOp::Atom(Atom::Var(array))
            | BasicOp::Opaque(Atom::Var(array)) => view = Some(*array),
            BasicOp::Update { array, slice: _, value } => {
                view = Some(*array);
                self.results(&[*value], tally);
            }
            BasicOp::FlatUpdate { array, value, .. } => {
                view = Some(*array);
                self.read_all(*value, tally);
            }
            BasicOp::UpdateAcc { acc, index: _, values } => {
                view = Some(*acc);
                self.update(*acc, depends, tally);
                self.results(values, tally);
            }
            BasicOp::Atom(Atom::Const(_)) | BasicOp::Opaque(Atom::Const(_)) | BasicOp::Assert { .. } => {}
            ir::parameter_op!() => {}
            ir::fresh_array_op!() => names.iter().for_each(|name| self.read_all(*name, tally)),
        }
        for param in pat {
            self.depends.insert(param.name, depends);
            let root = view.and_then(|array| self.root(array));
            self.roots.extend(root.map(|root| (param.name, root)));
        }
    }

    /// An update of an accumulator.
    fn update(&mut self, acc: Name, depends: u64, tally: &mut Tally) {
        let nests = self.nests;
        let Some(ty @ Type::Acc { token, .. }) = nests.types.get(&acc) else {
            return;
        };
        let bytes = self.known(nests.bytes(ty));
        self.access(acc, bytes.clone(), depends, true, tally);
        if let Some(operator) = nests.operators.get(token) {
            self.access(acc, bytes, depends, false, tally);
            self.lambda(operator, tally);
        }
    }

    /// One call of a lambda.
    fn lambda(&mut self, lambda: &Lambda<Mems>, tally: &mut Tally) {
        self.bind_all(&lambda.params);
        self.body(&lambda.body, tally);
    }

    /// The work of a loop, given that of an iteration.
    fn repeated(
        &mut self,
        counter: Option<Name>,
        trips: Option<&Count>,
        tally: &mut Tally,
        iteration: impl FnOnce(&mut Self, &mut Tally),
    ) {
        let bit = bit(self.counters.len());
        self.counters.push(counter);
        self.depends.extend(counter.map(|counter| (counter, bit)));
        self.inner.extend(counter);
        let mut each = Tally::default();
        iteration(self, &mut each);
        self.counters.pop();
        each.repeat(bit, counter, trips);
        tally.add(each);
    }

    fn seg(&mut self, seg: &Seg<Mems>, tally: &mut Tally) {
        self.dimensions(seg, &seg.space.dims, tally);
    }

    /// The loops over the remaining dimensions of a segop.
    fn dimensions(&mut self, seg: &Seg<Mems>, dims: &[(Name, Dim)], tally: &mut Tally) {
        let Some(((index, size), rest)) = dims.split_first() else {
            return self.iteration(seg, tally);
        };
        let trips = self.known(Poly::dim(*size));
        self.repeated(Some(*index), trips.as_ref(), tally, |walk, tally| walk.dimensions(seg, rest, tally));
    }

    fn iteration(&mut self, seg: &Seg<Mems>, tally: &mut Tally) {
        self.body(&seg.body, tally);
        self.results(&seg.body.result, tally);
        match &seg.kind {
            SegKind::ScanReduce(scan_reduce) => {
                scan_reduce.lambdas().for_each(|lambda| self.lambda(lambda, tally));
            }
            SegKind::Hist(ops) => {
                for op in ops {
                    for destination in &op.destinations {
                        let row = self.nests.types.get(destination).and_then(|ty| {
                            let shape = ty.shape().iter().skip(op.shape.len()).copied();
                            self.known(self.nests.bytes(&Type::array(ty.elem()?, shape)))
                        });
                        for writes in [false, true] {
                            self.access(*destination, row.clone(), self.around(), writes, tally);
                        }
                    }
                    self.lambda(&op.op.op, tally);
                }
            }
            SegKind::FlatMap => {}
        }
    }
}

/// The bit of the loop at a depth; loops too deep have none.
const fn bit(depth: usize) -> u64 {
    if depth < u64::BITS as usize { 1 << depth } else { 0 }
}

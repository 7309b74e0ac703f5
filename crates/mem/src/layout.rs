//! The pass `layout`: chooses the dimension of a segop's index space that is vectorised, and the
//! dimension order of results; decided once, from index functions.
//!
//! ```text
//! let r = segmap tasks (j < m) { .. xs[i, j] .. }      -- row j of r is computed from column j
//! let t = rearrange (1, 0) r
//! in (t)                                                 -- must be row-major
//!   =>
//! let r {order 0 (1, 0)} = segmap tasks (j < m) lane 0 { .. xs[i, j] .. }
//! let t = rearrange (1, 0) r
//! in (t)
//! ```
//!
//! The choice depends on two strides of each segop, found by one walk over its body ([`reads`]):
//! the distance between the reads of neighbouring iterations, and the distance between those of
//! successive iterations of a loop inside. The locations of arrays are predicted as memory
//! assignment will choose them: by the same index functions ([`ir::mem::view`]) and the same
//! destinations.
//!
//! - **Lanes.** The iterations of a segop over one dimension are vectorised, in groups, if loops in
//!   them read elements with a large stride from loop iteration to loop iteration and stride 1 from
//!   segop iteration to segop iteration, unless an iteration is a chunk by itself.
//! - **Orders.** A result that is transposed later gets the dimension order that makes the
//!   transposition free ([`preferences`]), if neighbouring iterations read adjacent elements: they
//!   run in adjacent lanes, and write adjacent elements in that order. A branch's result gets the
//!   order if a segop in one of its arms would.
//!
//! Needs: a verified program at level `segs` that is not rewritten afterwards: strides are visible
//! only once indices are simplified. Guarantees: the same program except for lanes and orders, each
//! for a unit of fuel; memory assignment follows them unless the location of an existing array
//! forbids it.

mod preferences;
mod reads;

use crate::alloc::is_small;
use analysis::must_alias::MustAlias;
use ir::facts::DimOrder;
use ir::mem::{Lmad, view};
use ir::name::Name;
use ir::scan_reduce::ScanReduce;
use ir::seg::{Seg, SegKind, SegOp, SegSpace, is_concatenated};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Function, LoopParam, Param, Program, Stm};
use ir::types::Dim;
use ir::walk::with_stack;
use ir::{Context, Fuel, Segs};
use reads::Reads;
use rustc_hash::FxHashMap;
use target::chunks::CHUNK_WORK;

/// Chooses the layout of a program's arrays; see the module's header.
#[must_use]
pub fn layout(mut program: Program<Segs>, context: &mut Context) -> Program<Segs> {
    program.functions = context.over(program.functions, |mut function, own| {
        of_function(&mut function, &mut own.fuel);
        function
    });
    program
}

fn of_function(function: &mut Function<Segs>, fuel: &mut Fuel) {
    let names = function.names.len();
    let mut layout = Layout {
        roots: MustAlias::new(&function.body, names),
        lies: vec![None; names],
        destinations: FxHashMap::default(),
        orders: FxHashMap::default(),
        inside: false,
        fuel,
    };
    for param in &function.params {
        layout.row_major(&param.param);
    }
    layout.body(&mut function.body, &[]);
}

/// The state of the pass for a function.
struct Layout<'f> {
    roots: MustAlias,
    /// The index functions of arrays in their blocks.
    lies: Vec<Option<Lmad>>,
    /// The destinations of arrays that become parts of others.
    destinations: FxHashMap<Name, Lmad>,
    /// The preferred dimension orders.
    orders: FxHashMap<Name, DimOrder>,
    /// True inside a segop.
    inside: bool,
    fuel: &'f mut Fuel,
}

impl Layout<'_> {
    /// The index function of an array.
    fn index_functions(&self, name: Name) -> Option<Lmad> {
        self.lies.get(name.index())?.clone()
    }

    fn set(&mut self, name: Name, lmad: Lmad) {
        if let Some(lies) = self.lies.get_mut(name.index()) {
            *lies = Some(lmad);
        }
    }

    fn row_major(&mut self, param: &Param<Segs>) {
        if param.ty.is_array() {
            self.set(param.name, Lmad::row_major(param.ty.shape()));
        }
    }

    /// Gives an array the location of another.
    fn same(&mut self, param: &Param<Segs>, other: Name) {
        if let (true, Some(lmad)) = (param.ty.is_array(), self.index_functions(other)) {
            self.set(param.name, lmad.with_extents(param.ty.shape()));
        }
    }

    /// The destination of a new array.
    fn dest(&self, param: &Param<Segs>) -> Option<Lmad> {
        let dest = self.destinations.get(&param.name)?;
        let same = dest.dims.len() == param.ty.rank();
        same.then(|| dest.with_extents(param.ty.shape()))
    }

    /// Places a new array at its destination, or else row-major.
    fn choose_location(&mut self, param: &Param<Segs>) {
        match self.dest(param) {
            Some(lmad) => self.set(param.name, lmad),
            None => self.row_major(param),
        }
    }

    /// Processes a body whose results have these locations, if known.
    fn body(&mut self, body: &mut Body<Segs>, homes: &[Option<Lmad>]) {
        with_stack(|| {
            self.flow(body, homes);
            self.orders.extend(preferences::preferences(body, homes));
            for stm in &mut body.stms {
                self.stm(stm);
            }
        });
    }

    /// Propagates destinations from a body's results to the operations that create them.
    fn flow(&mut self, body: &Body<Segs>, homes: &[Option<Lmad>]) {
        if homes.iter().all(Option::is_none) {
            return;
        }
        for (result, home) in body.result.iter().zip(homes) {
            if let (Atom::Var(name), Some(home)) = (result, home) {
                self.destinations.entry(*name).or_insert_with(|| home.clone());
            }
        }
        for Stm { pat, aux: _, exp } in body.stms.iter().rev() {
            match exp {
                Exp::Basic(op) => {
                    let dest = pat.first().and_then(|param| self.destinations.get(&param.name));
                    if let (Some(source), Some(dest)) = (op.in_place_of(), dest.cloned()) {
                        self.destinations.entry(source).or_insert(dest);
                    }
                }
                Exp::Loop { params, .. } => {
                    for (bound, param) in pat.iter().zip(params) {
                        if let (true, Some(dest), Atom::Var(init)) = (
                            self.roots.in_place(param.param.name),
                            self.destinations.get(&bound.name).cloned(),
                            param.init,
                        ) {
                            self.destinations.entry(init).or_insert(dest);
                        }
                    }
                }
                Exp::If { .. } | Exp::Apply { .. } | Exp::Op(_) => {}
            }
        }
    }

    fn stm(&mut self, stm: &mut Stm<Segs>) {
        let Stm { pat, aux, exp } = stm;
        match exp {
            Exp::Basic(op) => {
                if let [param] = pat.as_slice() {
                    self.basic(param, op);
                }
            }
            Exp::If { cond: _, then_body, else_body } => self.branch(pat, aux, [then_body, else_body]),
            Exp::Loop { params, form: _, body } => self.repeat(pat, params, body),
            Exp::Apply { .. } => pat.iter().for_each(|param| self.row_major(param)),
            Exp::Op(SegOp::Seg(seg)) => self.seg(pat, aux, seg),
            Exp::Op(SegOp::WithAcc { inputs, lambda }) => {
                for input in inputs.iter_mut() {
                    if let Some(operator) = &mut input.op {
                        let outside = std::mem::replace(&mut self.inside, true);
                        self.body(&mut operator.op.body, &[]);
                        self.inside = outside;
                    }
                }
                self.body(&mut lambda.body, &[]);
                let mut arrays = inputs.iter().flat_map(|input| &input.arrays);
                for param in pat.iter() {
                    match arrays.next() {
                        Some(array) => self.same(param, *array),
                        None => self.row_major(param),
                    }
                }
            }
        }
    }

    fn basic(&mut self, param: &Param<Segs>, op: &BasicOp) {
        if !param.ty.is_array() {
            return;
        }
        let shape = param.ty.shape();
        if let Some((_, lmad)) = view(op, shape, |array| self.index_functions(array)) {
            self.set(param.name, lmad);
        } else if let BasicOp::Manifest { perm, array: _ } = op {
            self.set(param.name, Lmad::with_dim_order(perm, shape));
        } else if matches!(op, BasicOp::Reshape { .. }) {
            // A reshape that needs a copy.
            self.row_major(param);
        } else {
            self.choose_location(param);
        }
    }

    fn branch(&mut self, pat: &[Param<Segs>], aux: &mut Aux, branches: [&mut Body<Segs>; 2]) {
        let mut homes = Vec::with_capacity(pat.len());
        for (at, param) in pat.iter().enumerate() {
            let root = self.roots.root(param.name);
            let home = if !param.ty.is_array() {
                None
            } else if root != param.name {
                self.same(param, root);
                None
            } else if let Some(dest) = self.dest(param) {
                Some(dest)
            } else if let Some(order) = self.order_in_branches(pat, at, [&*branches[0], &*branches[1]])
                && self.fuel.take()
            {
                let lmad = Lmad::with_dim_order(&order, param.ty.shape());
                aux.facts.set_layout(at, order);
                Some(lmad)
            } else {
                self.row_major(param);
                (self.inside && is_small(&param.ty)).then(|| Lmad::row_major(param.ty.shape()))
            };
            if let Some(home) = &home {
                self.set(param.name, home.clone());
            }
            homes.push(home);
        }
        for branch in branches {
            self.body(branch, &homes);
        }
    }

    fn repeat(&mut self, pat: &[Param<Segs>], params: &[LoopParam<Segs>], body: &mut Body<Segs>) {
        for (bound, LoopParam { param, init, .. }) in pat.iter().zip(params) {
            let in_place = self.roots.in_place(param.name);
            for param in [param, bound] {
                match init {
                    Atom::Var(init) if in_place => self.same(param, *init),
                    Atom::Var(_) | Atom::Const(_) => self.row_major(param),
                }
            }
        }
        self.body(body, &[]);
    }

    fn seg(&mut self, pat: &[Param<Segs>], aux: &mut Aux, seg: &mut Seg<Segs>) {
        let reads = reads::of(&seg.space, &seg.body, |array| self.index_functions(array));
        if in_groups(seg, reads) && self.fuel.take() {
            seg.space.lane = Some(0);
        }
        match &seg.kind {
            SegKind::Hist(ops) => {
                let destinations = ops.iter().flat_map(|op| &op.destinations);
                for (param, dest) in pat.iter().zip(destinations) {
                    self.same(param, *dest);
                }
            }
            SegKind::FlatMap => {
                for (param, ty) in pat.iter().zip(&seg.ret) {
                    if is_concatenated(ty) {
                        self.row_major(param);
                    } else {
                        self.choose_location(param);
                    }
                }
            }
            SegKind::ScanReduce(scan_reduce) => {
                for (at, param) in pat.iter().enumerate() {
                    let order = (self.orders.get(&param.name))
                        .filter(|order| {
                            scan_reduce.is_map() && self.may_reorder(order, param, &seg.space, reads)
                        })
                        .cloned();
                    match order {
                        Some(order) if self.fuel.take() => {
                            self.set(param.name, Lmad::with_dim_order(&order, param.ty.shape()));
                            aux.facts.set_layout(at, order);
                        }
                        _ => self.choose_location(param),
                    }
                }
            }
        }
        let outside = std::mem::replace(&mut self.inside, true);
        self.segop_body(pat, seg);
        self.inside = outside;
    }

    /// Processes the body of a segop, and its operators.
    fn segop_body(&mut self, pat: &[Param<Segs>], seg: &mut Seg<Segs>) {
        let slices: Vec<Option<Lmad>> = pat.iter().map(|p| self.iteration_slice(p, &seg.space)).collect();
        match &mut seg.kind {
            SegKind::ScanReduce(scan_reduce) => {
                let (reduced, elements) = scan_reduce.results(&slices);
                let at = if scan_reduce.post.is_some() {
                    Vec::new()
                } else {
                    let (scanned, mapped) = elements.split_at(scan_reduce.n_scanned());
                    [scanned, reduced, mapped].concat()
                };
                let elements = elements.to_vec();
                self.body(&mut seg.body, &at);
                let ScanReduce { scans, reduces, post } = scan_reduce;
                for operator in scans.iter_mut().chain(reduces) {
                    self.body(&mut operator.op.body, &[]);
                }
                if let Some(post) = post {
                    self.body(&mut post.body, &elements);
                }
            }
            SegKind::Hist(ops) => {
                self.body(&mut seg.body, &[]);
                for op in ops {
                    self.body(&mut op.op.op.body, &[]);
                }
            }
            SegKind::FlatMap => {
                let slices = seg.ret.iter().zip(slices);
                let at = slices.map(|(ty, slice)| slice.filter(|_| !is_concatenated(ty)));
                let at: Vec<Option<Lmad>> = at.collect();
                self.body(&mut seg.body, &at);
            }
        }
    }

    /// The location of one iteration's part of a result array that has a row for each iteration.
    fn iteration_slice(&self, param: &Param<Segs>, space: &SegSpace) -> Option<Lmad> {
        let rank = param.ty.rank();
        if rank <= space.dims.len() {
            return None;
        }
        let full = |&count: &Dim| DimIndex::Slice { start: Atom::i64(0), count, stride: Atom::i64(1) };
        let fixed = space.dims.iter();
        let fixed = fixed.map(|(index, _)| DimIndex::Fix(Atom::Var(*index)));
        let rest = param.ty.shape().iter().skip(space.dims.len()).map(full);
        let slice: Vec<DimIndex> = fixed.chain(rest).collect();
        Some(self.index_functions(param.name)?.slice(&slice))
    }

    /// Returns true if a result may have a dimension order: it has no destination, and neighbouring
    /// iterations, whose results are adjacent in that order, read adjacent elements.
    fn may_reorder(&self, order: &DimOrder, param: &Param<Segs>, space: &SegSpace, reads: Reads) -> bool {
        let innermost = order.last().map(|dim| dim + 1) == Some(space.dims.len());
        let free = order.len() == param.ty.rank() && self.dest(param).is_none();
        innermost && free && reads.neighbours()
    }

    /// The preferred order of a branch's result, if a segop in one of the arms may have it.
    fn order_in_branches(
        &self,
        pat: &[Param<Segs>],
        at: usize,
        branches: [&Body<Segs>; 2],
    ) -> Option<DimOrder> {
        let param = pat.get(at)?;
        let order = self.orders.get(&param.name)?;
        let mut sizes = param.ty.shape().iter();
        let own = |dim: &Dim| pat.iter().any(|param| *dim == Dim::Var(param.name));
        let granted = !sizes.any(own) && branches.iter().any(|branch| self.may_reorder_in(branch, at, order));
        granted.then(|| order.clone())
    }

    /// Returns true if the segop that computes a body's result at a position may have an order.
    fn may_reorder_in(&self, body: &Body<Segs>, at: usize, order: &DimOrder) -> bool {
        let Some(Atom::Var(name)) = body.result.get(at) else {
            return false;
        };
        let binder = body.stms.iter().find_map(|stm| {
            let at = stm.pat.iter().position(|param| param.name == *name)?;
            Some((stm, at))
        });
        let Some((stm, at)) = binder else {
            return false;
        };
        match &stm.exp {
            Exp::Op(SegOp::Seg(seg)) if seg.kind.is_map() => {
                let reads = reads::of(&seg.space, &seg.body, |array| self.index_functions(array));
                self.may_reorder(order, &stm.pat[at], &seg.space, reads)
            }
            Exp::If { then_body, else_body, .. } => {
                [then_body, else_body].iter().any(|branch| self.may_reorder_in(branch, at, order))
            }
            Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
        }
    }
}

/// Returns true if the iterations of a segop are vectorised in groups: reads with a large stride
/// within an iteration are contiguous across a group. Iterations that are chunks by themselves do
/// not profit.
fn in_groups(seg: &Seg<Segs>, reads: Reads) -> bool {
    let flat = matches!(seg.kind, SegKind::FlatMap);
    reads.strided_in_loop && !flat && seg.space.dims.len() == 1 && seg.decomp.cost < CHUNK_WORK
}

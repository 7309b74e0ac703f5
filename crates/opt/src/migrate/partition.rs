//! Partitions computations between device and host: the minimum cut between the elements that are
//! read and the values that the host needs.
//!
//! Each scalar bound by a host statement is two nodes: it is computed on the device if the first is
//! on the source's side, and the host does not have it if the second is. The arc from the first to
//! the second has the cost of reading the scalar back as capacity. Arcs that are never cut express
//! the constraints:
//!
//! - a value computed on the host has its operands there;
//! - values that the host needs (sizes, indices of updates, neutral elements, results, arguments of
//!   functions that threads cannot call) are read back;
//! - a condition that the host does not have moves its whole branch or loop, so the results are
//!   computed on the device; if that cannot move, the host needs the condition;
//! - a certificate cannot be read back.

use super::callable::Callable;
use super::min_cut::{INFINITE, Network};
use ir::seg::{Seg, SegKind, SegOp};
use ir::soac::{AccInput, Operator};
use ir::syntax::{Atom, BasicOp, Body, DimIndex, Exp, Function, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Visit, free_names_lambda, stm_names, used_names, with_stack};
use ir::{Name, Segs, TypeEnv};
use rustc_hash::FxHashSet;

/// The assumed trip count of a loop.
const ASSUMED_TRIP_COUNT: u64 = 16;
/// The largest number of enclosing loops that count.
const MAX_LOOPS: u32 = 8;
/// The largest number of variables in a literal that moves: each is a parameter of a kernel.
pub(super) const MAX_ELEMENTS: usize = 32;

/// The partition of a function between device and host.
pub(super) struct Plan {
    side: Vec<bool>,
    /// Branches and loops that can move as a whole, by their first results.
    movable: FxHashSet<Name>,
    /// For each name, true if a type mentions it.
    sizes: Vec<bool>,
}

impl Plan {
    /// Returns true if the value is computed on the device.
    pub(super) fn computed_on_device(&self, name: Name) -> bool {
        self.on_side(computed_node(name))
    }

    /// Returns true if the value is computed on the device and the host does not need it.
    pub(super) fn only_on_device(&self, name: Name) -> bool {
        self.on_side(host_node(name))
    }

    /// Returns true if types mention the name.
    pub(super) fn is_size(&self, name: Name) -> bool {
        self.sizes.get(name.index()).copied().unwrap_or(false)
    }

    /// Returns true if a statement moves as a whole.
    pub(super) fn moves_whole(&self, stm: &Stm<Segs>) -> bool {
        let Some(first) = stm.pat.first() else {
            return false;
        };
        let stays = |name: Name| self.only_on_device(name);
        match &stm.exp {
            Exp::Basic(op @ BasicOp::Index { slice, .. }) if is_element(op) => {
                // The host itself makes a read whose result it needs, unless it lacks the index.
                let index_operands = slice.iter().filter_map(|at| match at {
                    DimIndex::Fix(at) => at.var(),
                    DimIndex::Slice { .. } => None,
                });
                stays(first.name) || index_operands.chain(stm.aux.certs.iter().copied()).any(stays)
            }
            Exp::Basic(_) => !first.ty.is_array() && self.computed_on_device(first.name),
            Exp::Apply { .. } => self.computed_on_device(first.name),
            Exp::If { cond, .. } => self.movable.contains(&first.name) && cond.var().is_some_and(stays),
            Exp::Loop { form, .. } => {
                let cond = match form {
                    LoopForm::For { bound, .. } => bound.var(),
                    LoopForm::While { cond } => Some(*cond),
                };
                self.movable.contains(&first.name) && cond.is_some_and(stays)
            }
            Exp::Op(_) => false,
        }
    }

    fn on_side(&self, node: u32) -> bool {
        self.side.get(node as usize).copied().unwrap_or(false)
    }
}

/// Returns true if an operation reads an element.
pub(super) fn is_element(op: &BasicOp) -> bool {
    matches!(op, BasicOp::Index { slice, .. }
        if slice.iter().all(|at| matches!(at, DimIndex::Fix(_))))
}

/// Returns true if an operation is a literal of scalars that always moves.
pub(super) fn is_literal(op: &BasicOp) -> bool {
    matches!(op, BasicOp::ArrayLit { row, elems } if row.is_prim()
        && (1..=MAX_ELEMENTS).contains(&elems.iter().filter(|it| it.var().is_some()).count()))
}

/// Returns true if an array is known to have one element.
pub(super) fn is_single(ty: &Type) -> bool {
    ty.is_array() && ty.shape().iter().all(|dim| *dim == Dim::Const(1))
}

/// Returns true if a segop is a reduction of scalars whose results could stay on the device, as
/// those of a single segment.
pub(super) fn is_whole_reduction(seg: &Seg<Segs>) -> bool {
    let SegKind::ScanReduce(scan_reduce) = &seg.kind else {
        return false;
    };
    seg.space.dims.len() == 1
        && seg.decomp.updates_per_iteration == 0
        && scan_reduce.scans.is_empty()
        && scan_reduce.post.is_none()
        && scan_reduce.n_reduced() > 0
        && scan_reduce.reduced_types().all(Type::is_prim)
}

const SOURCE: u32 = 0;
const SINK: u32 = 1;

fn computed_node(name: Name) -> u32 {
    2 * name.0 + 2
}

fn host_node(name: Name) -> u32 {
    2 * name.0 + 3
}

/// Computes the partition of a function. `None` if nothing moves.
pub(super) fn partition(function: &Function<Segs>, callable: &Callable) -> Option<Plan> {
    let types = TypeEnv::of_function(function);
    let mut sizes = Sizes(vec![false; function.names.len()]);
    Visit::<Segs>::walk_function(&mut sizes, function);
    let mut weigh = Partitioner {
        network: Network::new(2 * function.names.len() + 2),
        types: &types,
        callable,
        sizes: sizes.0,
        movable: FxHashSet::default(),
        moves: false,
    };
    weigh.body(&function.body, 0);
    for result in &function.body.result {
        weigh.needed(*result);
    }
    if !weigh.moves {
        return None;
    }
    let side = weigh.network.source_side(SOURCE, SINK)?;
    Some(Plan { side, movable: weigh.movable, sizes: weigh.sizes })
}

struct Sizes(Vec<bool>);

impl Visit<Segs> for Sizes {
    fn dim(&mut self, dim: &Dim) {
        if let Dim::Var(name) = dim {
            self.0[name.index()] = true;
        }
    }
}

struct Partitioner<'a> {
    network: Network,
    types: &'a TypeEnv,
    callable: &'a Callable,
    sizes: Vec<bool>,
    movable: FxHashSet<Name>,
    /// True if anything could move.
    moves: bool,
}

/// The cost of reading a scalar back inside of `loops` loops.
fn weight(loops: u32) -> u64 {
    ASSUMED_TRIP_COUNT.pow(loops.min(MAX_LOOPS))
}

impl Partitioner<'_> {
    /// Adds a name bound by a host statement. A size bound together with other results cannot be
    /// read back.
    fn bound(&mut self, param: &Param<Segs>, loops: u32, alone: bool) {
        let size = self.sizes[param.name.index()];
        let costs = match &param.ty {
            Type::Prim(_) if alone || !size => weight(loops),
            Type::Prim(_) | Type::Cert => INFINITE,
            Type::Array { .. } | Type::Acc { .. } | Type::Mem(_) => return,
        };
        self.network.arc(computed_node(param.name), host_node(param.name), costs);
        if size {
            self.network.arc(host_node(param.name), SINK, INFINITE);
        }
    }

    fn is_tracked(&self, name: Name) -> bool {
        matches!(self.types.get(name), Some(Type::Prim(_) | Type::Cert))
    }

    /// Records that the host needs an operand.
    fn needed(&mut self, atom: Atom) {
        if let Some(name) = atom.var()
            && self.is_tracked(name)
        {
            self.network.arc(host_node(name), SINK, INFINITE);
        }
    }

    /// Records that the host needs a statement's certificates and all of its operands except `but`.
    fn all_needed(&mut self, stm: &Stm<Segs>, but: Option<Atom>) {
        let mut names = Vec::new();
        used_names(&stm.exp, |name| names.push(name));
        names.retain(|name| Some(*name) != but.and_then(Atom::var));
        names.extend(stm.aux.certs.iter().copied());
        for name in names {
            self.needed(Atom::Var(name));
        }
    }

    /// Adds the constraint that a result computed on the host has this operand there.
    fn follows(&mut self, operand: Atom, result: Name) {
        if let Some(name) = operand.var()
            && self.is_tracked(name)
        {
            self.network.arc(host_node(name), computed_node(result), INFINITE);
        }
    }

    fn source(&mut self, name: Name) {
        self.moves = true;
        self.network.arc(SOURCE, computed_node(name), INFINITE);
    }

    /// Adds a body. Returns true if a thread can run all of it.
    fn body(&mut self, body: &Body<Segs>, loops: u32) -> bool {
        with_stack(|| {
            let mut movable = true;
            for stm in &body.stms {
                movable &= self.stm(stm, loops);
                movable &= !stm.pat.iter().any(|p| self.sizes[p.name.index()]);
            }
            movable
        })
    }

    /// Adds a statement. Returns true if a thread can run it.
    fn stm(&mut self, stm: &Stm<Segs>, loops: u32) -> bool {
        let alone = matches!(stm.exp, Exp::Basic(_));
        for param in &stm.pat {
            self.bound(param, loops, alone);
        }
        match &stm.exp {
            Exp::Basic(op) => self.basic(stm, op),
            Exp::If { cond, then_body, else_body } => {
                let movable = [then_body, else_body].map(|body| self.body(body, loops));
                self.certs_needed(stm);
                for body in [then_body, else_body] {
                    for (param, result) in stm.pat.iter().zip(&body.result) {
                        self.result(param, *result);
                    }
                }
                let movable = movable == [true; 2] && are_small(&stm.pat);
                self.condition(stm, *cond, movable);
                movable
            }
            Exp::Loop { params, form, body } => self.loop_(stm, params, *form, body, loops),
            Exp::Apply { fun, args } => {
                if !self.callable.callable_by_threads(*fun) || self.has_size(stm) {
                    self.all_needed(stm, None);
                    return false;
                }
                for param in &stm.pat {
                    for arg in args {
                        self.follows(*arg, param.name);
                    }
                    for cert in &stm.aux.certs {
                        self.follows(Atom::Var(*cert), param.name);
                    }
                }
                true
            }
            Exp::Op(op) => {
                self.op(stm, op, loops);
                false
            }
        }
    }

    fn has_size(&self, stm: &Stm<Segs>) -> bool {
        stm.pat.iter().any(|p| self.sizes[p.name.index()])
    }

    fn certs_needed(&mut self, stm: &Stm<Segs>) {
        for cert in &stm.aux.certs {
            self.needed(Atom::Var(*cert));
        }
    }

    /// Passes a body's result to the statement's.
    fn result(&mut self, param: &Param<Segs>, result: Atom) {
        match param.ty {
            Type::Prim(_) => self.follows(result, param.name),
            Type::Cert => self.needed(result),
            Type::Array { .. } | Type::Acc { .. } | Type::Mem(_) => {}
        }
    }

    /// A branch or loop runs where its condition is known.
    fn condition(&mut self, stm: &Stm<Segs>, cond: Atom, movable: bool) {
        let Some(first) = stm.pat.first().filter(|_| movable && !self.has_size(stm)) else {
            self.needed(cond);
            return;
        };
        self.movable.insert(first.name);
        for param in stm.pat.iter().filter(|param| param.ty.is_prim()) {
            self.follows(cond, param.name);
        }
    }

    fn loop_(
        &mut self,
        stm: &Stm<Segs>,
        params: &[LoopParam<Segs>],
        form: LoopForm,
        body: &Body<Segs>,
        loops: u32,
    ) -> bool {
        for param in params {
            self.bound(&param.param, loops + 1, false);
        }
        let movable = self.body(body, loops + 1);
        self.certs_needed(stm);
        for ((param, next), bound) in params.iter().zip(&body.result).zip(&stm.pat) {
            self.result(&param.param, param.init);
            self.result(&param.param, *next);
            if bound.ty.is_prim() {
                // The last value is on the same side as the parameter.
                let (from, to) = (computed_node(param.param.name), computed_node(bound.name));
                self.network.arc(from, to, INFINITE);
            }
        }
        let movable = movable
            && are_small(&stm.pat)
            && !params.iter().any(|it| it.consumed || self.sizes[it.param.name.index()]);
        match form {
            LoopForm::For { bound, .. } => self.condition(stm, bound, movable),
            LoopForm::While { cond } => {
                self.condition(stm, Atom::Var(cond), movable);
                if !movable || self.has_size(stm) {
                    let each = params.iter().zip(&body.result);
                    for (param, next) in each.filter(|(it, _)| it.param.name == cond) {
                        self.needed(param.init);
                        self.needed(*next);
                    }
                }
            }
        }
        movable
    }

    fn basic(&mut self, stm: &Stm<Segs>, op: &BasicOp) -> bool {
        let Some(param) = stm.pat.first() else {
            return false;
        };
        if matches!(op, ir::parameter_op!()) {
            self.all_needed(stm, None);
            return false;
        }
        if is_element(op) {
            self.source(param.name);
            return true;
        }
        if let BasicOp::Update { slice, value, .. } = op {
            // An element can be copied from either side.
            let element = slice.iter().all(|at| matches!(at, DimIndex::Fix(_)));
            self.all_needed(stm, element.then_some(*value));
            for at in slice {
                match at {
                    DimIndex::Fix(at) => self.needed(*at),
                    DimIndex::Slice { .. } => {}
                }
            }
            return false;
        }
        if let BasicOp::Replicate { value, .. } = op {
            self.all_needed(stm, Some(*value));
            return false;
        }
        if is_literal(op) {
            self.moves = true;
            return true;
        }
        if matches!(param.ty, Type::Prim(_) | Type::Cert) {
            let mut names = Vec::new();
            stm_names(stm, |name| names.push(name));
            for name in names {
                self.follows(Atom::Var(name), param.name);
            }
            return true;
        }
        self.all_needed(stm, None);
        let view = matches!(
            op,
            BasicOp::Index { .. }
                | BasicOp::Rearrange { .. }
                | BasicOp::Reshape { .. }
                | BasicOp::Atom(_)
                | BasicOp::Opaque(_)
        );
        view && param.ty.is_array()
    }

    fn op(&mut self, stm: &Stm<Segs>, op: &SegOp<Segs>, loops: u32) {
        self.certs_needed(stm);
        match op {
            SegOp::Seg(seg) => {
                // The host needs all certificates that the segop depends on.
                let mut certs = Vec::new();
                used_names(&stm.exp, |name| {
                    if matches!(self.types.get(name), Some(Type::Cert)) {
                        certs.push(name);
                    }
                });
                for cert in certs {
                    self.needed(Atom::Var(cert));
                }
                match &seg.kind {
                    SegKind::ScanReduce(scan_reduce) => {
                        for atom in scan_reduce.neutral() {
                            self.needed(atom);
                        }
                    }
                    SegKind::Hist(ops) => {
                        for op in ops {
                            self.neutral(&op.op);
                        }
                    }
                    SegKind::FlatMap => {}
                }
                if is_whole_reduction(seg) && !self.has_size(stm) {
                    for param in stm.pat.iter().filter(|param| param.ty.is_prim()) {
                        self.source(param.name);
                    }
                }
            }
            SegOp::WithAcc { inputs, lambda } => self.with_acc(inputs, lambda, loops),
        }
    }

    fn neutral(&mut self, op: &Operator<Segs>) {
        for atom in &op.neutral {
            self.needed(*atom);
        }
    }

    fn with_acc(&mut self, inputs: &[AccInput<Segs>], lambda: &Lambda<Segs>, loops: u32) {
        let on_host = (lambda.body.stms.iter())
            .any(|stm| !matches!(stm.exp, Exp::Op(_)) && stm.pat.iter().any(is_accumulator));
        for op in inputs.iter().filter_map(|input| input.op.as_ref()) {
            self.neutral(op);
            if on_host {
                for name in free_names_lambda(&op.op) {
                    self.needed(Atom::Var(name));
                }
            }
        }
        self.body(&lambda.body, loops);
        for result in &lambda.body.result {
            self.needed(*result);
        }
    }
}

fn is_accumulator(param: &Param<Segs>) -> bool {
    matches!(param.ty, Type::Acc { .. })
}

/// Returns true if all results are scalars or arrays known to have one element.
fn are_small(pat: &[Param<Segs>]) -> bool {
    pat.iter().all(|param| param.ty.is_prim() || is_single(&param.ty))
}

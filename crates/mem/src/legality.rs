//! Legality of kernels: finds the segops that cannot be device kernels, before memory is assigned.
//!
//! ```text
//! segmap grid (i < n) { let k = ks[i]
//!   let a = scratch [n]      a part of a block that is allocated before the kernel
//!   let b = scratch [16]     in registers
//!   let c = scratch [k]      refused: k is unknown before the kernel
//!   let d = scratch [k]      built in place
//!   let ys' = ys with [0 :+ k] <- d  .. }
//! ```
//!
//! A kernel allocates nothing, so an array that an iteration creates must be small, have sizes that
//! are known before the kernel, or be built in place. For the last, the destinations
//! ([`propagate`]) are computed as for memory assignment, but of [`Aliases`], and only for
//! functions with arrays of other sizes. The remaining rules are those of [`Refusal`].
//!
//! A refusal inside of a `withacc` outside of all segops applies to the whole `withacc`
//! ([`refusal_of`]).

use crate::aliases::{Aliases, source};
use crate::alloc::is_small;
use crate::checks_first::checks_first;
use crate::destinations::{Locations, propagate};
use crate::kernel::block_bytes;
use analysis::exact::atomic_operator;
use ir::Segs;
use ir::kernels::{Refusal, ThreadCallees};
use ir::mem::view;
use ir::name::Name;
use ir::seg::{Seg, SegKind, SegOp};
use ir::soac::{AccInput, HistOp, Operator};
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Param, ReshapeKind, Stm};
use ir::types::{Dim, Type};
use ir::walk::{Fields, Visit, sub_bodies, with_stack};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{OnceCell, RefCell};
use target::device::{RESERVED_SHARED_BYTES, SHARED_MEMORY_BYTES};
use target::memory::FRAME_BYTES;

/// The segops that cannot be kernels, by their first results, with the reasons.
pub(crate) type Refused = FxHashMap<Name, Refusal>;

/// Finds the segops of a function that cannot be kernels of blocks of `block` threads.
pub(crate) fn refused(function: &Function<Segs>, threads: &ThreadCallees, block: u64) -> Refused {
    let code = Code { function, threads, block, aliases: OnceCell::new(), not_atomic: RefCell::default() };
    let mut host = HostCode { code: &code, refused: Vec::new() };
    host.body(&function.body);
    host.refused.into_iter().collect()
}

/// The reason for which an operation, or one inside of a `withacc`, cannot be a kernel.
pub(crate) fn refusal_of(stm: &Stm<Segs>, refused: &Refused) -> Option<Refusal> {
    match &stm.exp {
        Exp::Op(SegOp::Seg(_)) => refused.get(&stm.pat.first()?.name).copied(),
        Exp::Op(SegOp::WithAcc { inputs: _, lambda }) => refusal_in(&lambda.body, refused),
        Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } => None,
    }
}

/// The reason for which an operation of a body cannot be a kernel; the last one, if there are several.
pub(crate) fn refusal_in(body: &Body<Segs>, refused: &Refused) -> Option<Refusal> {
    with_stack(|| {
        body.stms.iter().rev().find_map(|stm| {
            let mut found = refusal_of(stm, refused);
            if !matches!(stm.exp, Exp::Op(_)) {
                sub_bodies(&stm.exp, |body| found = refusal_in(body, refused).or(found));
            }
            found
        })
    })
}

/// The code that surrounds kernels.
struct Code<'a> {
    function: &'a Function<Segs>,
    threads: &'a ThreadCallees,
    block: u64,
    aliases: OnceCell<Aliases>,
    /// The tokens of accumulators that several threads update by an operator that is not atomic, with
    /// the legality of private copies for chunks of iterations.
    not_atomic: RefCell<FxHashMap<Name, Legal>>,
}

impl Code<'_> {
    fn aliases(&self) -> &Aliases {
        self.aliases.get_or_init(|| Aliases::of(self.function))
    }

    /// Records the accumulators of a `withacc` whose operator is not atomic. `copies` determines whether
    /// chunks of iterations can have private copies.
    fn record_accumulators(
        &self,
        inputs: &[AccInput<Segs>],
        tokens: &[Param<Segs>],
        copies: impl Fn(&Operator<Segs>) -> Legal,
    ) {
        for (input, token) in inputs.iter().zip(tokens) {
            let Some(op) = &input.op else {
                continue;
            };
            if input.arrays.len() != 1 || atomic_operator(&op.op).is_none() {
                self.not_atomic.borrow_mut().insert(token.name, copies(op));
            }
        }
    }
}

/// A walk of the code outside of segops.
struct HostCode<'c, 'a> {
    code: &'c Code<'a>,
    refused: Vec<(Name, Refusal)>,
}

impl Visit<Segs> for HostCode<'_, '_> {
    fn stm(&mut self, stm: &Stm<Segs>) {
        let first = stm.pat.first().map(|param| param.name);
        match &stm.exp {
            Exp::Op(op @ SegOp::Seg(seg)) => {
                let kernel = Kernel { code: self.code, op, inside: OnceCell::new() };
                let why = kernel.outermost(seg).err();
                self.refused.extend(first.zip(why));
            }
            Exp::Op(op @ SegOp::WithAcc { inputs, lambda }) => {
                let kernel = Kernel { code: self.code, op, inside: OnceCell::new() };
                self.code.record_accumulators(inputs, &lambda.params, |op| kernel.copies(op));
                self.body(&lambda.body);
            }
            Exp::Basic(_) | Exp::Apply { .. } => {}
            Exp::If { .. } | Exp::Loop { .. } => self.walk_stm(stm),
        }
    }
}

/// A segop outside of all others.
struct Kernel<'c, 'a> {
    code: &'c Code<'a>,
    op: &'c SegOp<Segs>,
    /// The names bound inside.
    inside: OnceCell<FxHashSet<Name>>,
}

/// A position in a kernel.
#[derive(Clone, Copy)]
struct Position {
    /// True where the threads of a block run code together: outside of its inner segops.
    of_block: bool,
    /// True if the sizes of the inner segop that a block's threads share are known before the
    /// kernel.
    known_space: bool,
    /// True in an operator, which belongs to no iteration.
    in_operator: bool,
    /// True in a map of the grid, of which a thread may run a chunk of iterations.
    in_map: bool,
}

/// A body in a kernel.
struct Scope<'b> {
    body: &'b Body<Segs>,
    /// Returns true for the results that have a destination.
    has_destination: &'b dyn Fn(usize) -> bool,
    /// The names that have a destination.
    destinations: OnceCell<FxHashSet<Name>>,
}

type Legal = Result<(), Refusal>;

/// Fails if a condition holds.
fn refuse(why: Refusal, condition: bool) -> Legal {
    if condition { Err(why) } else { Ok(()) }
}

impl Kernel<'_, '_> {
    fn outermost(&self, seg: &Seg<Segs>) -> Legal {
        let block = self.code.block;
        let bytes = |types: &mut dyn Iterator<Item = &Type>| -> u64 {
            types.filter_map(Type::elem).map(PrimType::size).sum()
        };
        match &seg.kind {
            SegKind::ScanReduce(scan_reduce) => {
                let updates = !scan_reduce.is_map() && seg.decomp.updates_per_iteration > 0;
                refuse(Refusal::AccumulatorInScanReduce, updates)?;
                let mut mapped = scan_reduce.values(&seg.ret).mapped.iter();
                let arrays = scan_reduce.post.is_some() && mapped.any(Type::is_array);
                refuse(Refusal::MappedArraysOfScan, arrays)?;
                // Each thread has values of these types in the block's shared memory.
                let of_thread = bytes(&mut scan_reduce.operators().flat_map(|op| &op.op.ret));
                refuse(Refusal::LargeOperator, of_thread.saturating_mul(block) > SHARED_MEMORY_BYTES)?;
            }
            SegKind::Hist(ops) => {
                // Values of all threads; one bin of all histograms and the values and indices for it.
                let sizes = ops.iter().map(|op| bytes(&mut op.op.op.ret.iter()));
                let of_block = sizes.clone().max().unwrap_or_default().saturating_mul(block);
                let of_bins = 2 * sizes.sum::<u64>() + PrimType::I32.size() * ops.len() as u64;
                refuse(Refusal::LargeOperator, of_block.max(of_bins) > SHARED_MEMORY_BYTES)?;
            }
            SegKind::FlatMap => {}
        }
        let shared = block_bytes(seg, block);
        let large = shared.is_some_and(|bytes| bytes > SHARED_MEMORY_BYTES - RESERVED_SHARED_BYTES);
        refuse(Refusal::LargeOperator, large)?;
        let of_block = shared.is_some();
        let is_map = matches!(&seg.kind, SegKind::ScanReduce(scan_reduce) if scan_reduce.is_map());
        let in_map = is_map && !of_block;
        self.seg(Position { of_block, known_space: true, in_operator: false, in_map }, seg)
    }

    /// Checks the operator of an accumulator of which chunks of iterations have private copies. The
    /// threads that combine them have values in shared memory.
    fn copies(&self, op: &Operator<Segs>) -> Legal {
        let types = op.op.ret.iter().filter_map(Type::elem);
        let bytes: u64 = types.map(PrimType::size).sum();
        refuse(Refusal::LargeOperator, bytes.saturating_mul(self.code.block) > SHARED_MEMORY_BYTES)?;
        self.operator(Position { of_block: false, known_space: true, in_operator: true, in_map: false }, op)
    }

    /// Checks the inside of a segop.
    fn seg(&self, at: Position, seg: &Seg<Segs>) -> Legal {
        match &seg.kind {
            SegKind::ScanReduce(scan_reduce) => {
                let (scanned, all) = (scan_reduce.n_scanned(), scan_reduce.n_accumulated());
                let stored = scan_reduce.post.is_none();
                self.body(at, &seg.body, &|k| stored && !(scanned..all).contains(&k))?;
                scan_reduce.operators().try_for_each(|operator| self.operator(at, operator))?;
                let Some(post) = &scan_reduce.post else {
                    return Ok(());
                };
                refuse(Refusal::ArrayOperator, post.params.iter().any(|param| param.ty.is_array()))?;
                self.body(at, &post.body, &|_| true)
            }
            SegKind::Hist(ops) => {
                self.body(at, &seg.body, &|_| false)?;
                ops.iter().try_for_each(|HistOp { op, .. }| self.operator(at, op))
            }
            SegKind::FlatMap => Err(Refusal::FlatMap),
        }
    }

    fn operator(&self, at: Position, operator: &Operator<Segs>) -> Legal {
        let arrays = operator.op.params.iter().any(|param| param.ty.is_array());
        refuse(Refusal::ArrayOperator, arrays)?;
        self.body(Position { in_operator: true, ..at }, &operator.op.body, &|_| false)
    }

    fn body(&self, at: Position, body: &Body<Segs>, has_destination: &dyn Fn(usize) -> bool) -> Legal {
        with_stack(|| {
            let scope = Scope { body, has_destination, destinations: OnceCell::new() };
            body.stms.iter().try_for_each(|stm| self.stm(at, stm, &scope))
        })
    }

    fn stm(&self, at: Position, stm: &Stm<Segs>, scope: &Scope<'_>) -> Legal {
        match &stm.exp {
            Exp::Basic(op) => stm.pat.iter().try_for_each(|param| self.basic(at, param, op, scope)),
            Exp::If { cond: _, then_body, else_body } => {
                for param in &stm.pat {
                    let legal = self.created(at, param, scope);
                    legal.or_else(|why| refuse(why, !self.code.aliases().has_root(param.name)))?;
                }
                let arrays = &|k: usize| {
                    let param = stm.pat.get(k);
                    param.is_some_and(|it| it.ty.is_array() && !self.code.aliases().has_root(it.name))
                };
                self.body(at, then_body, arrays)?;
                self.body(at, else_body, arrays)
            }
            Exp::Loop { params, form: _, body } => {
                for param in params.iter().map(|it| &it.param) {
                    let separate = param.ty.is_array() && !self.has_memory(at, &param.ty);
                    let why = at.without_memory();
                    refuse(why, separate && !self.code.aliases().in_place(param.name))?;
                }
                self.body(at, body, &|_| false)
            }
            Exp::Apply { fun, args: _ } => match self.code.threads.refusal(*fun) {
                Some(why) => Err(Refusal::Call(why)),
                None => Ok(()),
            },
            Exp::Op(SegOp::Seg(seg)) => {
                if let SegKind::ScanReduce(_) = &seg.kind {
                    stm.pat.iter().try_for_each(|param| self.created(at, param, scope))?;
                }
                let dims = seg.space.dims.iter().map(|(_, dim)| dim);
                let known_space = at.known_space && (!at.of_block || self.are_known(dims));
                self.seg(Position { of_block: false, known_space, ..at }, seg)
            }
            Exp::Op(SegOp::WithAcc { inputs, lambda }) => {
                // Accumulators of a thread need no atomic updates.
                if at.of_block {
                    let copies = |_: &_| Err(Refusal::NotAtomic);
                    self.code.record_accumulators(inputs, &lambda.params, copies);
                }
                let mut operators = inputs.iter().filter_map(|input| input.op.as_ref());
                operators.try_for_each(|operator| self.operator(at, operator))?;
                self.body(at, &lambda.body, &|_| false)?;
                let mut others = lambda.ret.iter().skip(inputs.len());
                refuse(Refusal::ReturnedBlocks, others.any(Type::is_array))
            }
        }
    }

    fn basic(&self, at: Position, param: &Param<Segs>, op: &BasicOp, scope: &Scope<'_>) -> Legal {
        if let BasicOp::Reshape { kind: ReshapeKind::Arbitrary, array, .. } = op {
            // A view, or else a view of a copy.
            let aliases = self.code.aliases();
            let outside = |name: Name| !self.inside().contains(&name);
            let viewed = view(op, param.ty.shape(), |of| aliases.lmad(of, &outside)).is_some();
            let copied = || aliases.type_of(*array).is_some_and(|ty| self.has_memory(at, ty));
            return refuse(at.without_memory(), !viewed && !copied());
        }
        let computed = matches!(op, BasicOp::Param { default: Atom::Var(_), .. });
        refuse(Refusal::ComputedParameter, computed)?;
        let large = matches!(op, BasicOp::ConstArray { bytes, .. } if bytes.len() as i64 > FRAME_BYTES);
        refuse(Refusal::LargeConstant, large)?;
        if let (Type::Acc { token, .. }, BasicOp::UpdateAcc { .. }) = (&param.ty, op)
            && let Some(&copies) = self.code.not_atomic.borrow().get(token)
        {
            refuse(Refusal::NotAtomic, !at.in_map)?;
            copies?;
        }
        if source(op).is_some() { Ok(()) } else { self.created(at, param, scope) }
    }

    /// Checks that a created array has memory, or a destination.
    fn created(&self, at: Position, param: &Param<Segs>, scope: &Scope<'_>) -> Legal {
        if !param.ty.is_array() || self.has_memory(at, &param.ty) {
            return Ok(());
        }
        let destinations = scope.destinations.get_or_init(|| {
            let results = 0..scope.body.result.len();
            let results = results.map(|k| (scope.has_destination)(k).then_some(()));
            let body = checks_first(scope.body.clone());
            let found = propagate(self.code.aliases(), &body, results);
            found.into_iter().map(|(name, ())| name).collect()
        });
        refuse(at.without_memory(), !destinations.contains(&param.name))
    }

    /// Returns true if an array of this type may be in registers, in shared memory, or in a part of
    /// a block that is allocated before the kernel.
    fn has_memory(&self, at: Position, ty: &Type) -> bool {
        if at.of_block {
            return self.are_known(ty.shape());
        }
        is_small(ty) || !at.in_operator && at.known_space && self.are_known(ty.shape())
    }

    /// Returns true if dimensions are known before the kernel.
    fn are_known<'d>(&self, dims: impl IntoIterator<Item = &'d Dim>) -> bool {
        dims.into_iter().all(|dim| match dim {
            Dim::Const(_) => true,
            Dim::Var(name) => !self.inside().contains(name),
            Dim::Ext(_) => false,
        })
    }

    fn inside(&self) -> &FxHashSet<Name> {
        struct Binders(FxHashSet<Name>);
        impl Visit<Segs> for Binders {
            fn binder(&mut self, name: &Name) {
                self.0.insert(*name);
            }
        }
        self.inside.get_or_init(|| {
            let mut binders = Binders(FxHashSet::default());
            self.op.visit(&mut binders);
            binders.0
        })
    }
}

impl Position {
    /// The reason for which an array has no memory.
    const fn without_memory(self) -> Refusal {
        if self.in_operator { Refusal::AllocatingOperator } else { Refusal::VariantArray }
    }
}

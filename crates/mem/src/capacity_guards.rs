//! Shared-memory capacity guards: whether the arrays of a thread block are in shared memory.
//!
//! ```text
//! if enough {                          let bytes = ..             -- the segop's requirement
//!   segmap grid (i < n) {              let large = size_at_least bytes shared_memory_0
//!     .. arrays of m elements ..   =>  let goes = select large false enough
//!     segred block ..                  if goes { segmap grid (i < n) { .. } } else { .. }
//!   }
//! } else { .. }
//! ```
//!
//! Memory assignment puts all arrays of a segop whose iterations are run by thread blocks into
//! shared memory ([`kernel`](crate::kernel)), and notes how much it needs, with arrays that are not
//! live at once sharing a slot ([`ir::mem::assign_slots`]). If that is a constant that every device
//! has, no guard is needed. Otherwise the guard is added to the condition of the innermost choice
//! between versions outside of which the sizes are known; the body that contains the choice computes
//! its condition. If there is no such choice, one is created ([`Fallbacks`]), between the segop and
//! a copy whose arrays are in device memory, except for those of constant size that fit. So no
//! launch requests more shared memory than there is.
//!
//! The capacity is a tuning parameter of the function, `shared_memory`, whose value the runtime knows.
//! `size_at_least` is given one byte less, as arrays of exactly the capacity fit. Each segop takes a
//! unit of fuel; without, its arrays are in device memory.

use crate::alloc::{Ctx, constant_bytes};
use crate::kernel::{Kernel, per_iteration};
use ir::forest::or_not;
use ir::mem::{Block, Blocks, Lmad, MemAnn, MemOp, SharedSlot, assign_slots};
use ir::name::Prov;
use ir::poly::Poly;
use ir::seg::SegOp;
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Param, Stm};
use ir::tunable::{Class, Rule, Tunable, TunableId, TunableTable};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, VisitMut, binders, refresh_body, sub_bodies_mut, with_stack};
use ir::{Mems, Name, PassError};
use prim::{BinOp, ConvOp, PrimType, Scalar, ScalarOp};
use rustc_hash::{FxHashMap, FxHashSet};
use target::device::{RESERVED_SHARED_BYTES, SHARED_MEMORY_BYTES};
use target::memories::Allocation;

/// The use of shared memory by a function.
#[derive(Default)]
pub(crate) struct Capacity {
    /// The arrays in shared memory, by their blocks.
    pub(crate) arrays: FxHashMap<Name, Type>,
    /// The function's tuning parameters.
    pub(crate) tunables: Vec<Tunable>,
    /// The parameter that is the capacity.
    tunable: Option<TunableId>,
    /// The conditions of choices between versions in the current body.
    pub(crate) choices: FxHashSet<Name>,
    /// The requirements of segops that may not fit and are not guarded, in program order.
    needs: Vec<Need>,
}

/// The shared-memory requirement of a segop.
struct Need {
    /// Its first result.
    segop: Name,
    /// Bytes for other uses than arrays.
    reserved: u64,
    /// The arrays, grouped by the slot that they share.
    slots: Vec<Vec<Type>>,
    /// True if a guard may choose shared memory.
    guarded: bool,
}

/// The alignment in bytes of the arrays' offsets.
const ALIGNMENT: u64 = 8;

impl Need {
    /// An upper bound in bytes, if it is constant.
    fn constant(&self) -> Option<u64> {
        let mut all = self.reserved;
        for slot in &self.slots {
            let mut most = 0;
            for ty in slot {
                let bytes = constant_bytes(ty)?;
                most = u64::try_from(bytes).unwrap_or_default().max(most);
            }
            all = all.saturating_add(most).saturating_add(ALIGNMENT);
        }
        Some(all)
    }

    /// Returns true if the sizes that it depends on are bound outside of some code.
    fn is_known(&self, inside: &FxHashSet<Name>) -> bool {
        let dims = self.slots.iter().flatten().flat_map(Type::shape);
        let mut sizes = dims.filter_map(|dim| dim.atom()?.var());
        self.guarded && !sizes.any(|size| inside.contains(&size))
    }
}

impl Ctx<'_> {
    /// Notes the condition of a choice between versions.
    pub(crate) fn note_choice(&mut self, name: Name, op: &BasicOp) {
        let choices = &mut self.capacity.choices;
        if matches!(op, BasicOp::SizeAtLeast { .. })
            || or_not(op).is_some_and(|(first, _)| choices.contains(&first))
        {
            choices.insert(name);
        }
    }

    /// Notes the requirement of a segop with these results that has become a kernel.
    pub(crate) fn note_need(
        &mut self,
        pat: &[Param<Mems>],
        kernel: &Kernel,
        body: &Body<Mems>,
    ) -> Result<(), PassError> {
        let (Some(segop), Some(bytes)) = (pat.first(), kernel.block_bytes) else {
            return Ok(());
        };
        let slots = assign_slots(body, &Blocks::of_body(body, self.names.len()))?;
        let arrays = |slot: &SharedSlot| {
            let blocks = slot.blocks.iter();
            blocks.filter_map(|(block, _)| self.capacity.arrays.get(block).cloned()).collect()
        };
        let slots: Vec<Vec<Type>> = slots.iter().map(arrays).collect();
        let guarded = slots.is_empty() || self.fuel.take();
        let reserved = bytes + RESERVED_SHARED_BYTES;
        let need = Need { segop: segop.name, reserved, slots, guarded };
        if !guarded || need.constant().is_none_or(|bytes| bytes > SHARED_MEMORY_BYTES) {
            self.capacity.needs.push(need);
        }
        Ok(())
    }

    /// The number of segops that are not guarded.
    pub(crate) fn n_unguarded(&self) -> usize {
        self.capacity.needs.len()
    }

    /// Returns the condition of a branch with the guards of segops inside: those in the first
    /// branch, from `first` on, or else those in the second, from `second` on.
    pub(crate) fn guarded(
        &mut self,
        cond: Atom,
        (first, second): (usize, usize),
        bodies: [&Body<Mems>; 2],
        prov: Prov,
        out: &mut Vec<Stm<Mems>>,
    ) -> Atom {
        let is_choice = cond.var().is_some_and(|name| self.capacity.choices.contains(&name));
        if !is_choice || self.n_unguarded() == first {
            return cond;
        }
        let inside: FxHashSet<Name> = bodies.into_iter().flat_map(binders).collect();
        let needs = &mut self.capacity.needs;
        let instead = !needs[first..second].iter().any(|need| need.is_known(&inside));
        let own = if instead { second..needs.len() } else { first..second };
        let guarded: Vec<Need> = needs.extract_if(own, |need| need.is_known(&inside)).collect();
        guarded.into_iter().fold(cond, |cond, need| {
            let large = self.large(&need, prov, out);
            let instead = Atom::Const(Scalar::Bool(instead));
            let select = BasicOp::select(PrimType::Bool, large, instead, cond);
            self.scalar("sel", PrimType::Bool, select, prov, out)
        })
    }

    /// Emits the condition that a segop needs more shared memory than there is.
    fn large(&mut self, need: &Need, prov: Prov, out: &mut Vec<Stm<Mems>>) -> Atom {
        let float = |x: f64| Atom::Const(Scalar::F64(x));
        let binary = |ctx: &mut Self, out: &mut Vec<_>, op: BinOp, x: Atom, y: Atom| {
            ctx.scalar(
                op.name(),
                PrimType::F64,
                BasicOp::Scalar(ScalarOp::Binary(op, PrimType::F64, x, y)),
                prov,
                out,
            )
        };
        let convert = |op, from, to, arg| BasicOp::Scalar(ScalarOp::Convert { op, from, to, arg });
        let rounding = ALIGNMENT * need.slots.len() as u64;
        // The number of bytes minus one, which does not wrap.
        let mut all = float((need.reserved + rounding) as f64 - 1.0);
        for slot in &need.slots {
            let mut most: Option<Atom> = None;
            for ty in slot {
                let known = ty.shape().iter().map(|dim| match dim {
                    Dim::Const(n) => *n as f64,
                    Dim::Var(_) | Dim::Ext(_) => 1.0,
                });
                let elem = ty.elem().map_or(1, PrimType::size) as f64;
                let mut bytes = float(known.fold(elem, |bytes, n| bytes * n));
                for size in ty.shape().iter().filter_map(|dim| dim.atom()?.var()) {
                    let size = convert(ConvOp::SToF, PrimType::I64, PrimType::F64, size.into());
                    let size = self.scalar("conv", PrimType::F64, size, prov, out);
                    bytes = binary(self, out, BinOp::FMul, bytes, size);
                }
                most = Some(match most {
                    None => bytes,
                    Some(most) => binary(self, out, BinOp::FMax, most, bytes),
                });
            }
            all = binary(self, out, BinOp::FAdd, all, most.unwrap_or(float(0.0)));
        }
        // A value too large for an integer becomes the largest one.
        let size = convert(ConvOp::FToS, PrimType::F64, PrimType::I64, all);
        let size = self.scalar("conv", PrimType::I64, size, prov, out);
        let tunable = self.capacity.tunable();
        self.scalar("large", PrimType::Bool, BasicOp::SizeAtLeast { size, tunable }, prov, out)
    }

    /// Moves arrays to device memory where they may not fit.
    pub(crate) fn add_fallbacks(&mut self, body: &mut Body<Mems>) {
        let needs = std::mem::take(&mut self.capacity.needs);
        if !needs.is_empty() {
            let needs = needs.into_iter().map(|need| (need.segop, need)).collect();
            Fallbacks { ctx: self, needs }.body(body);
        }
    }
}

impl Capacity {
    /// The parameter that is the capacity.
    fn tunable(&mut self) -> TunableId {
        *self.tunable.get_or_insert_with(|| {
            let mut table = TunableTable::of(std::mem::take(&mut self.tunables));
            let tunable = table.add(Rule::SharedMemory, Class::Capacity, SHARED_MEMORY_BYTES as i64);
            self.tunables = table.into_tunables();
            tunable
        })
    }
}

/// Moves the arrays of segops, by their first results, to device memory; where a guard is possible,
/// only if they do not fit.
struct Fallbacks<'c, 'a> {
    ctx: &'c mut Ctx<'a>,
    needs: FxHashMap<Name, Need>,
}

impl Fallbacks<'_, '_> {
    fn body(&mut self, body: &mut Body<Mems>) {
        with_stack(|| {
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                let need = stm.pat.first().and_then(|param| self.needs.remove(&param.name));
                match need {
                    Some(need) => stm = self.fallback(stm, &need, &mut stms),
                    None if matches!(stm.exp, Exp::Op(MemOp::Seg(SegOp::Seg(_)))) => {}
                    None => sub_bodies_mut(&mut stm.exp, |body| self.body(body)),
                }
                stms.push(stm);
            }
            body.stms = stms;
        });
    }

    /// The choice between a segop and a copy whose arrays are in device memory.
    fn fallback(&mut self, mut stm: Stm<Mems>, need: &Need, out: &mut Vec<Stm<Mems>>) -> Stm<Mems> {
        // Accumulators stay with the segop that updates them.
        if !need.guarded || stm.pat.iter().any(|param| matches!(param.ty, Type::Acc { .. })) {
            InDevice::convert(self.ctx, &mut stm, need, out);
            return stm;
        }
        let cond = self.ctx.large(need, stm.aux.prov, out);
        let (pat, aux) = (stm.pat.clone(), Aux::at(stm.aux.prov));
        let result: Vec<Atom> = pat.iter().map(|param| Atom::Var(param.name)).collect();
        let mut before = Vec::new();
        let mut copy = stm.clone();
        InDevice::convert(self.ctx, &mut copy, need, &mut before);
        let mut branch = |stm| {
            let body = Body { stms: vec![stm], result: result.clone() };
            refresh_body(&body, &mut self.ctx.names, &mut Substitution::default())
        };
        let [mut then_body, else_body] = [copy, stm].map(&mut branch);
        then_body.stms.splice(0..0, before);
        Stm { pat, aux, exp: Exp::If { cond, then_body, else_body } }
    }
}

/// Moves shared-memory blocks of a segop to parts of blocks in device memory, one for each
/// iteration, except for those of constant size that fit.
struct InDevice<'c, 'a, 's> {
    ctx: &'c mut Ctx<'a>,
    /// The index space.
    dims: Vec<(Name, Dim)>,
    /// The remaining bytes of shared memory.
    left: u64,
    /// For each block that is moved, the new block and the offset of the current iteration's part.
    moved: FxHashMap<Name, (Name, Poly)>,
    /// The statements to emit before the segop.
    before: &'s mut Vec<Stm<Mems>>,
}

impl<'c, 'a, 's> InDevice<'c, 'a, 's> {
    fn convert(ctx: &'c mut Ctx<'a>, stm: &mut Stm<Mems>, need: &Need, before: &'s mut Vec<Stm<Mems>>) {
        if let Exp::Op(MemOp::Seg(SegOp::Seg(seg))) = &mut stm.exp {
            let left = SHARED_MEMORY_BYTES.saturating_sub(need.reserved);
            let dims = seg.space.dims.clone();
            let mut moving = Self { ctx, dims, left, moved: FxHashMap::default(), before };
            moving.body(&mut seg.body);
        }
    }

    /// Moves a block if it does not fit. Returns true if it does.
    fn fits(&mut self, block: Name, prov: Prov) -> bool {
        let Some(ty) = self.ctx.capacity.arrays.get(&block).cloned() else {
            return true;
        };
        let bytes = constant_bytes(&ty).and_then(|bytes| u64::try_from(bytes).ok());
        if let Some(rest) = bytes.and_then(|bytes| self.left.checked_sub(bytes.next_multiple_of(ALIGNMENT))) {
            self.left = rest;
            return true;
        }
        let whole = per_iteration(&self.dims, &ty);
        let iteration: Vec<DimIndex> =
            self.dims.iter().map(|(index, _)| DimIndex::Fix(Atom::Var(*index))).collect();
        let offset = Lmad::row_major(whole.shape()).slice(&iteration).offset;
        let hint = self.ctx.names.hint(block).trim_end_matches("_mem").to_owned();
        let home = self.ctx.home_memory;
        let new = self.ctx.alloc_in(&hint, &whole, home, prov, self.before);
        self.moved.insert(block, (new, offset));
        false
    }
}

impl VisitMut<Mems> for InDevice<'_, '_, '_> {
    fn body(&mut self, body: &mut Body<Mems>) {
        with_stack(|| {
            for mut stm in std::mem::take(&mut body.stms) {
                self.walk_stm(&mut stm);
                let first = stm.pat.first().map(|param| param.name);
                let shared = matches!(stm.exp, Exp::Op(MemOp::Alloc { memory, .. })
                    if memory.allocation == Allocation::Launch);
                if first.is_none_or(|block| !shared || self.fits(block, stm.aux.prov)) {
                    body.stms.push(stm);
                }
            }
        });
    }

    fn ann(&mut self, ann: &mut MemAnn) {
        if let MemAnn::In { block: Block::Var(block), lmad } = ann
            && let Some((new, offset)) = self.moved.get(block)
        {
            *block = *new;
            lmad.offset = lmad.offset.add(offset);
        }
    }
}

//! Shared-memory capacity guards: finds the segops whose arrays fit into shared memory, and
//! guards the others, before memory is assigned.
//!
//! ```text
//! if enough {                          let bytes = ..             -- the segop's requirement
//!   segmap level 1 (i < n) {           let large = size_at_least bytes shared_memory_0
//!     .. arrays of m elements ..   =>  let goes = select large false enough
//!     segred level 0 ..                if goes { segmap level 1 (i < n) { .. } } else { .. }
//!   }
//! } else { .. }
//! ```
//!
//! An iteration of such a segop is run by a thread block, whose threads share its work. All its
//! arrays are in shared memory ([`kernel`](crate::kernel)). Their total size, with arrays that are
//! not live at once sharing a slot ([`ir::mem::assign_slots`]), is found by a trial run of memory
//! assignment. If it is a constant that every device has, no guard is needed. Otherwise the guard
//! is added to the enclosing choice between versions, as soon as the sizes are known there. If
//! there is no such choice, one is created, between the segop and a copy whose arrays are in device
//! memory. So no launch requests more shared memory than there is.
//!
//! The capacity is a tuning parameter of the function, `shared_memory`, whose value the runtime knows.
//! `size_at_least` is given one byte less, as arrays of exactly the capacity fit.
//!
//! Before and after: level `segs`, immediately before memory assignment. Each segop takes a unit of
//! fuel.

use crate::callees::Callees;
use crate::functions::needs;
use ir::forest::or_not;
use ir::name::NameTable;
use ir::seg::{SegOp, outermost_segops};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, LoopForm, Stm};
use ir::tunable::{Class, Rule, TunableId, TunableTable};
use ir::types::{Dim, Space, Type};
use ir::walk::{Substitution, refresh_body, sub_bodies, sub_bodies_mut, with_stack};
use ir::{Builder, Context, Name, PassError, Segs, TypeEnv};
use prim::{BinOp, ConvOp, PrimType, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};
use target::device::SHARED_MEMORY_BYTES;

/// The shared-memory requirement of a segop.
pub(crate) struct Need {
    /// Bytes for other uses than arrays.
    pub(crate) reserved: u64,
    /// The arrays, grouped by the slot that they share.
    pub(crate) slots: Vec<Vec<Type>>,
}

/// The alignment in bytes of the arrays' offsets.
const ALIGNMENT: u64 = 8;

/// Returns the segops of a function whose arrays fit, by their first results, after adding guards
/// to the function where that is not known statically.
pub(crate) fn guard_capacity(
    function: &mut Function<Segs>,
    callees: &Callees,
    context: &mut Context,
) -> Result<FxHashSet<Name>, PassError> {
    if callees.get(&function.name)?.home != Space::Device || !has_blocks(&function.body) {
        return Ok(FxHashSet::default());
    }
    let mut trial = Context::new(None, (*context.options).clone());
    let mut needs = needs(function, callees, &mut trial)?;
    needs.retain(|(_, need)| !need.slots.is_empty() && context.fuel.take());
    let small = |need: &Need| need.constant().is_some_and(|bytes| bytes <= SHARED_MEMORY_BYTES);
    let (known, guarded): (Vec<_>, Vec<_>) = needs.into_iter().partition(|(_, need)| small(need));
    let fitting: FxHashSet<Name> = known.into_iter().map(|(name, _)| name).collect();
    if guarded.is_empty() {
        return Ok(fitting);
    }
    let mut tunables = TunableTable::of(std::mem::take(&mut function.tunables));
    let tunable = tunables.add(Rule::SharedMemory, Class::Capacity, SHARED_MEMORY_BYTES as i64);
    function.tunables = tunables.into_tunables();
    let mut types = TypeEnv::of_function(function);
    let params = function.params.iter().map(|it| it.param.name);
    let mut guards = Guards {
        tunable,
        scope: params.collect(),
        needs: guarded.into_iter().collect(),
        names: &mut function.names,
        types: &mut types,
        fitting,
    };
    guards.body(&mut function.body, false);
    guards.body(&mut function.body, true);
    Ok(guards.fitting)
}

impl Need {
    /// An upper bound in bytes, if it is constant.
    fn constant(&self) -> Option<u64> {
        let mut all = self.reserved;
        for slot in &self.slots {
            let mut most = 0;
            for ty in slot {
                let bytes = crate::alloc::constant_bytes(ty)?;
                most = u64::try_from(bytes).unwrap_or_default().max(most);
            }
            all = all.saturating_add(most).saturating_add(ALIGNMENT);
        }
        Some(all)
    }

    /// The sizes that it depends on.
    fn sizes(&self) -> impl Iterator<Item = Name> + '_ {
        let dims = self.slots.iter().flatten().flat_map(Type::shape);
        dims.filter_map(|dim| match dim {
            Dim::Var(name) => Some(*name),
            Dim::Const(_) | Dim::Ext(_) => None,
        })
    }

    /// Emits the number of bytes minus one, which does not wrap.
    fn bytes(&self, builder: &mut Builder<'_, Segs>) -> Atom {
        let float = |x: f64| Atom::Const(Scalar::F64(x));
        let rounding = ALIGNMENT * self.slots.len() as u64;
        let mut all = float((self.reserved + rounding) as f64 - 1.0);
        for slot in &self.slots {
            let mut most: Option<Atom> = None;
            for ty in slot {
                let known = ty.shape().iter().map(|dim| match dim {
                    Dim::Const(n) => *n as f64,
                    Dim::Var(_) | Dim::Ext(_) => 1.0,
                });
                let elem = ty.elem().map_or(1, PrimType::size) as f64;
                let mut bytes = float(known.fold(elem, |bytes, n| bytes * n));
                for size in ty.shape().iter().filter_map(|dim| dim.atom()?.var()) {
                    let size = builder.convert(ConvOp::SToF, PrimType::I64, PrimType::F64, size.into());
                    let product = builder.binary(BinOp::FMul, PrimType::F64, bytes, size);
                    bytes = product.into();
                }
                most = Some(match most {
                    None => bytes,
                    Some(most) => {
                        let most = builder.binary(BinOp::FMax, PrimType::F64, most, bytes);
                        most.into()
                    }
                });
            }
            let own = most.unwrap_or(float(0.0));
            all = (builder.binary(BinOp::FAdd, PrimType::F64, all, own)).into();
        }
        // A value too large for an integer becomes the largest one.
        builder.convert(ConvOp::FToS, PrimType::F64, PrimType::I64, all)
    }
}

/// Adds the guards to a function.
struct Guards<'f> {
    tunable: TunableId,
    /// The names in scope at the current point.
    scope: FxHashSet<Name>,
    /// The requirements of segops that are not guarded yet.
    needs: FxHashMap<Name, Need>,
    names: &'f mut NameTable,
    types: &'f mut TypeEnv,
    fitting: FxHashSet<Name>,
}

impl Guards<'_> {
    /// Adds guards to choices between versions, or, in the `last` walk, to the remaining segops.
    fn body(&mut self, body: &mut Body<Segs>, last: bool) {
        with_stack(|| {
            let mut own: Vec<Name> = Vec::new();
            let mut choices: FxHashSet<Name> = FxHashSet::default();
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                self.inside(&mut stm, last);
                let first = stm.pat.first().map(|param| param.name);
                if let (Exp::Basic(op), Some(name)) = (&stm.exp, first)
                    && (matches!(op, BasicOp::SizeAtLeast { .. })
                        || or_not(op).is_some_and(|(it, _)| choices.contains(&it)))
                {
                    choices.insert(name);
                }
                if !last {
                    self.choice(&mut stm, &choices, &mut stms);
                } else if first.is_some_and(|name| self.needs.contains_key(&name)) {
                    stm = self.with_fallback(stm, &mut stms);
                }
                let bound = stm.pat.iter().map(|param| param.name);
                own.extend(bound.filter(|name| self.scope.insert(*name)));
                stms.push(stm);
            }
            body.stms = stms;
            own.iter().for_each(|name| {
                self.scope.remove(name);
            });
        });
    }

    /// Walks the bodies of a statement that is not a kernel.
    fn inside(&mut self, stm: &mut Stm<Segs>, last: bool) {
        if matches!(&stm.exp, Exp::Op(SegOp::Seg(_))) {
            return;
        }
        let mut own: Vec<Name> = Vec::new();
        match &stm.exp {
            Exp::Loop { params, form, .. } => {
                own.extend(params.iter().map(|it| it.param.name));
                if let LoopForm::For { var, .. } = form {
                    own.push(*var);
                }
            }
            Exp::Op(SegOp::WithAcc { lambda, .. }) => {
                own.extend(lambda.params.iter().map(|param| param.name));
            }
            Exp::Basic(_) | Exp::If { .. } | Exp::Apply { .. } | Exp::Op(SegOp::Seg(_)) => {}
        }
        own.retain(|name| self.scope.insert(*name));
        sub_bodies_mut(&mut stm.exp, |body| self.body(body, last));
        own.iter().for_each(|name| {
            self.scope.remove(name);
        });
    }

    /// Adds the requirements of the guarded version to the condition of a choice between versions.
    fn choice(&mut self, stm: &mut Stm<Segs>, choices: &FxHashSet<Name>, out: &mut Vec<Stm<Segs>>) {
        let Exp::If { cond, then_body, else_body } = &mut stm.exp else {
            return;
        };
        if !cond.var().is_some_and(|name| choices.contains(&name)) {
            return;
        }
        let first = self.known_in(then_body);
        let second = self.known_in(else_body);
        let (segops, instead) = match (first.is_empty(), second.is_empty()) {
            (false, _) => (first, false),
            (true, false) => (second, true),
            (true, true) => return,
        };
        let instead = Atom::Const(Scalar::Bool(instead));
        for segop in segops {
            if let Some(need) = self.needs.remove(&segop) {
                self.fitting.insert(segop);
                let mut builder = Builder::new(self.names, self.types);
                builder.prov = stm.aux.prov;
                let large = large(&mut builder, &need, self.tunable);
                let goes = builder.select(PrimType::Bool, large.into(), instead, *cond);
                out.extend(builder.take_stms());
                *cond = goes.into();
            }
        }
    }

    /// The segops in a body whose requirements depend only on sizes in scope.
    fn known_in(&self, body: &Body<Segs>) -> Vec<Name> {
        with_stack(|| {
            let mut found = Vec::new();
            for stm in &body.stms {
                let first = stm.pat.first().map(|param| param.name);
                if let Exp::Op(SegOp::Seg(_)) = &stm.exp {
                    let need = first.and_then(|name| self.needs.get(&name));
                    let known = need.is_some_and(|it| it.sizes().all(|n| self.scope.contains(&n)));
                    found.extend(first.filter(|_| known));
                } else {
                    sub_bodies(&stm.exp, |body| found.extend(self.known_in(body)));
                }
            }
            found
        })
    }

    /// Builds a choice between a segop and a copy whose arrays are in device memory.
    fn with_fallback(&mut self, stm: Stm<Segs>, out: &mut Vec<Stm<Segs>>) -> Stm<Segs> {
        let first = stm.pat.first().map(|param| param.name);
        // Accumulators stay with the segop that updates them.
        let updates = stm.pat.iter().any(|it| matches!(it.ty, Type::Acc { .. }));
        let need = first.and_then(|name| self.needs.remove(&name));
        let Some(need) = need.filter(|_| !updates) else {
            return stm;
        };
        let mut builder = Builder::new(self.names, self.types);
        builder.prov = stm.aux.prov;
        let large = large(&mut builder, &need, self.tunable);
        out.extend(builder.take_stms());
        let (pat, mut aux) = (stm.pat.clone(), Aux::at(stm.aux.prov));
        for (at, order) in stm.aux.facts.layouts() {
            aux.facts.set_layout(*at, order.clone());
        }
        let result = stm.pat.iter().map(|param| Atom::Var(param.name)).collect();
        let own = Body { stms: vec![stm], result };
        let [then_body, else_body] = [(); 2].map(|()| self.copy(&own));
        let fitting = else_body.stms.first().and_then(|stm| stm.pat.first());
        self.fitting.extend(fitting.map(|param| param.name));
        let exp = Exp::If { cond: large.into(), then_body, else_body };
        Stm { pat, aux, exp }
    }

    fn copy(&mut self, body: &Body<Segs>) -> Body<Segs> {
        let copy = refresh_body(body, self.names, &mut Substitution::default());
        self.types.add_body(&copy);
        copy
    }
}

/// Returns true if there are segops whose iterations are run by thread blocks.
fn has_blocks(body: &Body<Segs>) -> bool {
    outermost_segops(body)
        .iter()
        .any(|op| matches!(op, SegOp::Seg(seg) if !outermost_segops(&seg.body).is_empty()))
}

/// Emits the condition that a segop needs more shared memory than there is.
fn large(builder: &mut Builder<'_, Segs>, need: &Need, tunable: TunableId) -> Name {
    let size = need.bytes(builder);
    builder.let_basic("large", BasicOp::SizeAtLeast { size, tunable })
}

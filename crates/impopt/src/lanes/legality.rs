//! Legality: the loops that can run in lanes, and the reasons why others cannot.

use super::value::{Private, Shapes};
use imp::def_use::DefUse;
use imp::walk::{Use, each_stmt, each_use};
use imp::{Arg, Expr, For, LoopMode, Stmt, Var, VarInfo, VarType};
use ir::remark::{NotVectorisedReason, PrivateUse};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use target::memory::PRIVATE_BYTES;

/// The facts collected from a candidate's body.
struct Body<'a> {
    vars: &'a [VarInfo],
    def_use: &'a DefUse,
    from: u32,
    to: u32,
    own: FxHashSet<Var>,
    private: FxHashMap<Var, Private>,
    /// The element size of each private array, once it was accessed.
    sizes: FxHashMap<Var, u64>,
    bytes: u64,
    /// The sizes of private arrays in blocks of their own, and extents of copies.
    extents: Vec<Expr>,
    /// The variables set on every path to this point.
    assigned: FxHashSet<Var>,
    trail: Vec<Var>,
}

/// The facts about the loop with number `at`, or the reason why it cannot run in lanes. Shapes and
/// the number of lanes are not known yet.
pub(super) fn analyse<'a>(
    vars: &'a [VarInfo],
    def_use: &DefUse,
    f: &For,
    at: u32,
) -> Result<Shapes<'a>, NotVectorisedReason> {
    let counter = vars.get(f.var.index()).map(|info| info.ty);
    if counter != Some(VarType::Scalar(PrimType::I64)) {
        return Err(NotVectorisedReason::Counter);
    }
    let mut body = Body {
        vars,
        def_use,
        from: at,
        to: def_use.end(at),
        own: FxHashSet::default(),
        private: FxHashMap::default(),
        sizes: FxHashMap::default(),
        bytes: 0,
        extents: Vec::new(),
        assigned: FxHashSet::default(),
        trail: Vec::new(),
    };
    body.collect(&f.body);
    body.own.insert(f.var);
    body.set(f.var)?;
    body.block(&f.body)?;
    Ok(Shapes {
        vars,
        lanes: 1,
        extended: super::indices::extended_from(def_use, f, &body.own),
        own: body.own,
        known: FxHashMap::default(),
        private: body.private,
        bytes: body.bytes,
        extents: body.extents,
    })
}

impl Shapes<'_> {
    /// Refuses private arrays whose sizes differ from lane to lane.
    pub(super) fn check_extents(&self) -> Result<(), NotVectorisedReason> {
        let same = |size: &Expr| self.value(size).is_uniform();
        if self.extents.iter().all(same) {
            return Ok(());
        }
        Err(NotVectorisedReason::Allocates)
    }

    /// Halves the number of lanes while private arrays are too large for it, down to two.
    pub(super) fn fit_private(&mut self) {
        while self.lanes > 2 && self.check_private().is_err() {
            self.lanes /= 2;
        }
    }

    /// Refuses private arrays that are too large for this number of lanes.
    pub(super) fn check_private(&self) -> Result<(), NotVectorisedReason> {
        if self.bytes.saturating_mul(u64::from(self.lanes)) <= PRIVATE_BYTES {
            return Ok(());
        }
        Err(NotVectorisedReason::Private { bytes: self.bytes, lanes: self.lanes })
    }
}

impl Body<'_> {
    fn hint(&self, var: Var) -> Arc<str> {
        let hint = self.vars.get(var.index()).map_or("?", |info| &*info.hint);
        Arc::from(format!("{hint}_{}", var.0))
    }

    /// Records all variables that the body sets.
    fn collect(&mut self, stmts: &[Stmt]) {
        each_stmt(stmts, &mut |stmt| {
            each_use(stmt, &mut |var, used| {
                if used == Use::Sets {
                    self.own.insert(var);
                }
            });
        });
    }

    fn set(&mut self, var: Var) -> Result<(), NotVectorisedReason> {
        let info = self.vars.get(var.index());
        if info.is_none_or(|info| matches!(info.ty, VarType::Vector(..))) {
            return Err(NotVectorisedReason::Already);
        }
        if !self.def_use.is_local(var, self.from, self.to) {
            return Err(NotVectorisedReason::Shared(self.hint(var)));
        }
        if self.assigned.insert(var) {
            self.trail.push(var);
        }
        Ok(())
    }

    /// The variables set by `f`, which are then no longer `assigned`.
    fn conditionally(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<(), NotVectorisedReason>,
    ) -> Result<Vec<Var>, NotVectorisedReason> {
        let before = self.trail.len();
        f(self)?;
        let set = self.trail.split_off(before);
        for var in &set {
            self.assigned.remove(var);
        }
        Ok(set)
    }

    fn block(&mut self, stmts: &[Stmt]) -> Result<(), NotVectorisedReason> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || stmts.iter().try_for_each(|stmt| self.stmt(stmt)))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), NotVectorisedReason> {
        let mut problem = Ok(());
        each_use(stmt, &mut |var, used| {
            if problem.is_err() {
                return;
            }
            problem = match used {
                Use::Sets => self.set(var),
                Use::Reads if self.own.contains(&var) && !self.assigned.contains(&var) => {
                    Err(NotVectorisedReason::Carried(self.hint(var)))
                }
                Use::Reads => Ok(()),
            };
        });
        problem?;
        match stmt {
            Stmt::Load(_, access) | Stmt::Store(access, _) => self.access(access.buffer, access.elem),
            Stmt::Frame { buffer, elem, count } => {
                self.private.insert(*buffer, Private { root: *buffer });
                self.bytes = self.bytes.saturating_add(count.saturating_mul(elem.size()));
                Ok(())
            }
            Stmt::Borrow(v, w) => {
                let private = self.private.get(w).copied();
                match (private, self.private.get(v)) {
                    (Some(private), None) if self.def_use.dominating_def(*v).is_some() => {
                        self.private.insert(*v, private);
                        Ok(())
                    }
                    (None, None) => Ok(()),
                    _ => Err(NotVectorisedReason::PrivateUse(PrivateUse::Aliased)),
                }
            }
            Stmt::Copy { to, from, elem, extents, plan: _ } => {
                if [to, from].map(|end| self.private.contains_key(&end.buffer)) != [false, false] {
                    self.extents.extend(extents.iter().cloned());
                }
                self.access(to.buffer, *elem)?;
                self.access(from.buffer, *elem)
            }
            Stmt::If(_, yes, no) => {
                let yes = self.conditionally(|body| body.block(yes))?;
                let no = self.conditionally(|body| body.block(no))?;
                let no: FxHashSet<Var> = no.into_iter().collect();
                yes.into_iter().filter(|var| no.contains(var)).try_for_each(|var| self.set(var))
            }
            Stmt::While(_, body) => self.conditionally(|this| this.block(body)).map(|_| ()),
            Stmt::For(f) => {
                if matches!(f.mode, LoopMode::Lanes(_)) {
                    return Err(NotVectorisedReason::Already);
                }
                if f.mode.launch().is_some() || f.mode.is_kernel() {
                    return Err(NotVectorisedReason::Tasks);
                }
                if self.def_use.dominating_def(f.var).is_none_or(|first| first <= self.from) {
                    return Err(NotVectorisedReason::CounterOutside);
                }
                self.conditionally(|this| this.block(&f.body)).map(|_| ())
            }
            Stmt::Call { fun: _, args, results, location: _ } => {
                let buffers = results
                    .iter()
                    .any(|var| self.vars.get(var.index()).is_none_or(|info| info.ty.is_buffer()));
                let private =
                    args.iter().any(|arg| matches!(arg, Arg::Buffer(var) if self.private.contains_key(var)));
                match (buffers, private) {
                    (true, _) => Err(NotVectorisedReason::Call),
                    (_, true) => Err(NotVectorisedReason::PrivateUse(PrivateUse::PassedToCall)),
                    (false, false) => Ok(()),
                }
            }
            Stmt::Alloc(buffer, bytes, _) => {
                self.private.insert(*buffer, Private { root: *buffer });
                self.extents.push(bytes.clone());
                Ok(())
            }
            Stmt::Release(buffer) if self.private.contains_key(buffer) => Ok(()),
            Stmt::Share(..) | Stmt::Release(_) | Stmt::Slots(_) => Err(NotVectorisedReason::Allocates),
            Stmt::BeginNest | Stmt::EndNest { .. } => Err(NotVectorisedReason::Tasks),
            Stmt::WriteGlobal(..) | Stmt::Device(_) => Err(NotVectorisedReason::Globals),
            Stmt::LoadLanes { .. } | Stmt::StoreLanes { .. } => Err(NotVectorisedReason::Already),
            Stmt::Set(..)
            | Stmt::ConstData(..)
            | Stmt::Check { .. }
            | Stmt::RecordComparison(..)
            | Stmt::ReadGlobal(..) => Ok(()),
        }
    }

    fn access(&mut self, buffer: Var, elem: PrimType) -> Result<(), NotVectorisedReason> {
        let Some(private) = self.private.get(&buffer) else {
            return Ok(());
        };
        if *self.sizes.entry(private.root).or_insert(elem.size()) != elem.size() {
            return Err(NotVectorisedReason::PrivateUse(PrivateUse::Sizes));
        }
        Ok(())
    }
}

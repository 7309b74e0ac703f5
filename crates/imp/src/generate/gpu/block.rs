//! Kernels whose blocks are points: the threads of a block share what its point computes.
//!
//! ```text
//! for block in 0 .. n grid#0 ".." {
//!   part = frame [256]f32                -- arrays of the block, and such as the launch makes
//!   for thread in 0 .. 256 block {
//!     k = ks[block]                      -- all threads compute scalars, and get the same
//!     barrier
//!     if thread == 0 { ys[0] = k }       -- one writes for all
//!     barrier
//!     for round in .. { i = round * 256 + thread; if i < m { .. } }
//!     barrier                            -- what they share out falls between barriers
//!   }
//! }
//! ```
//!
//! Code outside of the segops that the threads share is *the team's*: scalars, conditions
//! and bounds are the same for all of its threads, as they are computed from the same, so
//! barriers may stand in branches and loops. What has an effect is done by one of them, or
//! shared out, with a barrier before, as others may still read what was there, and one after
//! it. Code of a segop's points is a thread's ([`shared`](super::shared)).

use crate::generate::expr::{binary, mul};
use crate::generate::function::Gen;
use crate::syntax::{DeviceOp, Expr, Pad, Region, Space, Stmt, Var, VarType};
use ir::mem::{MemOp, rooms};
use ir::seg::{Seg, SegOp};
use ir::syntax::{Body, Exp, Param};
use ir::walk::with_stack;
use ir::{Mems, Name, PassError, Prov};
use prim::{BinOp, PrimType, Scalar};
use rustc_hash::FxHashMap;
use target::device::{ROOM_FOR_NOTES, SCRATCHPAD_BYTES};

/// The threads of a block that run code together.
#[derive(Clone, Copy)]
pub(crate) struct Team {
    /// The number of the thread at hand.
    thread: Var,
}

/// What lies in the scratchpad of a kernel whose blocks are points.
#[derive(Default)]
pub(crate) struct Scratchpad {
    /// What its threads have elements of.
    parts: Vec<(PrimType, Var)>,
    /// Where blocks of the scratchpad lie.
    pub(crate) rooms: FxHashMap<Name, Var>,
    /// What has a size that the launch knows.
    pub(super) pads: Vec<Pad>,
}

impl Gen<'_, '_> {
    /// A segmap with a block for each point.
    pub(super) fn kernel_of_blocks(
        &mut self,
        pat: &[Param<Mems>],
        seg: &Seg<Mems>,
        prov: Prov,
    ) -> Result<(), PassError> {
        let n = self.product(&seg.space.dims, "n")?;
        self.scratchpad.parts.clear();
        let rooms = self.rooms_of(&seg.body)?;
        self.kernel(("segmap", prov), n, |g, block| {
            g.threads(prov, |g, thread| {
                let Expr::Var(thread) = thread else {
                    return Err(PassError::bug("a thread has no variable"));
                };
                g.team = Some(Team { thread });
                let made = g.map_point(pat, seg, &Expr::Var(block));
                g.team = None;
                made?;
                g.make_rooms(rooms)
            })
        })
    }

    /// The rooms of what a block allocates in the scratchpad, and the bytes of each.
    fn rooms_of(&mut self, body: &Body<Mems>) -> Result<Vec<(Var, Expr)>, PassError> {
        self.scratchpad.rooms.clear();
        let mut made = Vec::new();
        for room in rooms(body, &self.blocks)? {
            let Some((first, _)) = room.blocks.first() else {
                continue;
            };
            let hint = self.function.names.hint(*first).clone();
            let var = self.new_var(VarType::Buffer(Space::Scratchpad), &hint);
            let mut bytes: Option<Expr> = None;
            for (block, own) in room.blocks {
                self.scratchpad.rooms.insert(block, var);
                let own = self.atom(own)?;
                bytes = Some(match bytes {
                    None => own,
                    Some(other) => larger(other, own),
                });
            }
            made.push((var, bytes.unwrap_or(Expr::i64(0))));
        }
        Ok(made)
    }

    /// Rooms come to be: those of constant size are arrays of the block as long as they fit on
    /// any device, the launch makes the others.
    fn make_rooms(&mut self, rooms: Vec<(Var, Expr)>) -> Result<(), PassError> {
        let threads = self.layout().block.unsigned_abs();
        let parts = self.scratchpad.parts.iter().map(|(elem, _)| elem.size() * threads);
        let mut left = (SCRATCHPAD_BYTES - ROOM_FOR_NOTES).saturating_sub(parts.sum());
        let word = PrimType::I64.size();
        for (room, bytes) in rooms {
            if let Expr::Const(Scalar::I64(bytes @ 0..)) = bytes
                && let count = bytes.unsigned_abs().div_ceil(word).max(1)
                && let Some(rest) = left.checked_sub(count.saturating_mul(word))
            {
                left = rest;
                self.frame_of_block(room, PrimType::I64, count)?;
            } else {
                self.pad(room, bytes)?;
            }
        }
        Ok(())
    }

    /// What the threads of a team share out, by their numbers.
    pub(crate) fn together<R>(
        &mut self,
        team: Team,
        f: impl FnOnce(&mut Self, &Expr) -> Result<R, PassError>,
    ) -> Result<R, PassError> {
        self.team = None;
        if !self.at_barrier() {
            self.barrier();
        }
        let made = f(self, &Expr::Var(team.thread))?;
        self.barrier();
        self.team = Some(team);
        Ok(made)
    }

    /// What one thread does for all of its team, if the code is a team's.
    pub(crate) fn by_one(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        match self.team {
            None => f(self),
            Some(team) => self.together(team, |g, thread| g.first_thread(thread, f)),
        }
    }

    /// Whether threads have waited for each other, and touched no memory since.
    fn at_barrier(&self) -> bool {
        let stmts = self.lists.last().map(Vec::as_slice).unwrap_or_default();
        let last = stmts.iter().rev().find(|stmt| !matches!(stmt, Stmt::Set(..)));
        matches!(last, Some(Stmt::Device(DeviceOp::Barrier)))
    }

    /// A copy that the threads of a team share out.
    pub(super) fn copy_together(
        &mut self,
        team: Team,
        to: &Region,
        from: &Region,
        elem: PrimType,
        extents: &[Expr],
    ) -> Result<(), PassError> {
        let n = extents.iter().cloned().fold(Expr::i64(1), mul);
        self.together(team, |g, thread| {
            g.share_out((&Expr::i64(0), &n), true, thread, |g, point| {
                g.copy_element((to, from), elem, extents, point);
                Ok(())
            })
        })
    }

    /// Arrays with an element of each type for each thread of the block. What lies there is
    /// for one segop; all of a kernel's have the same.
    pub(super) fn parts_of_block(&mut self, types: &[PrimType]) -> Result<Vec<Var>, PassError> {
        let mut free = self.scratchpad.parts.clone();
        let mut parts = Vec::with_capacity(types.len());
        for &elem in types {
            if let Some(at) = free.iter().position(|(ty, _)| *ty == elem) {
                parts.push(free.remove(at).1);
                continue;
            }
            let count = self.layout().block.unsigned_abs();
            let part = self.block_frame("part", elem, count)?;
            self.scratchpad.parts.push((elem, part));
            parts.push(part);
        }
        Ok(parts)
    }
}

/// The larger of two numbers of bytes; a negative one, which stands for too many, is the
/// largest.
fn larger(one: Expr, other: Expr) -> Expr {
    match (&one, &other) {
        (Expr::Const(Scalar::I64(x)), Expr::Const(Scalar::I64(y))) => {
            Expr::i64((*x as u64).max(*y as u64) as i64)
        }
        _ if one == other => one,
        _ => binary(BinOp::UMax, one, other),
    }
}

/// Whether segops stand in a body.
pub(super) fn has_segops(body: &Body<Mems>) -> bool {
    with_stack(|| {
        body.stms.iter().any(|stm| match &stm.exp {
            Exp::Op(MemOp::Seg(SegOp::Seg(_))) => true,
            Exp::Op(MemOp::Seg(SegOp::WithAcc { inputs: _, lambda })) => has_segops(&lambda.body),
            Exp::If { cond: _, then_body, else_body } => has_segops(then_body) || has_segops(else_body),
            Exp::Loop { params: _, form: _, body } => has_segops(body),
            Exp::Basic(_) | Exp::Apply { .. } | Exp::Op(MemOp::Alloc { .. }) => false,
        })
    })
}

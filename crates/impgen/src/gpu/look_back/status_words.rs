//! Status words, which publish a state and four bytes of a value at once, and the combination of
//! the words that threads read.
//!
//! ```text
//! thread:    (state, x) = the words of a tile        awaited until all have one state
//!            loaded[thread] = x; flag[thread] = state == PREFIX
//! in pairs:  loaded[thread] = if flag[right] then loaded[right] else op loaded[thread] loaded[right]
//! ```
//!
//! The words are in the order of the values; a value of eight bytes has its lower half first.

use super::{BlockTile, PREFIX, Tiled, equals};
use crate::basic::resized;
use crate::gpu::DeviceSchedule;
use crate::mems::Operator;
use crate::operators::element_of_buffer;
use crate::schedule::Generator;
use crate::{OrBug, Result};
use imp::build::{Operand, binary};
use imp::device::RELAXED_TYPE;
use imp::{DeviceOp, Expr, Stmt, Var, emit, expr};
use ir::PassError;
use prim::{BinOp, ConvOp, PrimType, Scalar};

/// The bits of a word that hold the state.
const STATE: i64 = 3;
/// The shift of a word's value part.
const UP: i64 = 32;

impl Generator<'_, DeviceSchedule> {
    /// Publishes values of the tile with a state.
    pub(super) fn publish(
        &mut self,
        at: BlockTile<'_>,
        (words, state): (&[Var], i32),
        values: &[Var],
    ) -> Result {
        let BlockTile { tiled, tile, .. } = at;
        let state = Expr::i64(i64::from(state));
        let mut words = words.iter();
        for (&ty, &value) in tiled.types.iter().zip(values) {
            for part in 0..super::n_status_words(ty) {
                let wide = resized(ConvOp::ZExt, ty, PrimType::I64, value);
                let bits = match part {
                    0 => wide << UP,
                    _ => binary(BinOp::And, wide, -1 << UP),
                };
                let word = words.next();
                let word = *word.or_bug("a value has too few status words")?;
                self.emit(Stmt::Device(DeviceOp::Signal {
                    at: element_of_buffer(word, RELAXED_TYPE, tile.number),
                    value: binary(BinOp::Or, bits, state.clone()),
                }));
            }
        }
        Ok(())
    }

    /// Awaits the status words of a tile. Sets `values` to its values, and `is_prefix` to 1 if they are
    /// an inclusive prefix, otherwise to 0.
    fn await_values(
        &mut self,
        at: BlockTile<'_>,
        words: &[Var],
        other: Operand,
        (values, is_prefix): (&[Var], Var),
    ) -> Result {
        let tiled = at.tiled;
        let loaded: Vec<Var> = words.iter().map(|_| self.scalar(RELAXED_TYPE, "loaded")).collect();
        let body: Vec<Stmt> = words
            .iter()
            .zip(&loaded)
            .map(|(&word, &var)| {
                Stmt::Device(DeviceOp::Await { var, at: element_of_buffer(word, RELAXED_TYPE, other) })
            })
            .collect();
        let [first, others @ ..] = loaded.as_slice() else {
            return Err(PassError::bug("a scan has no values"));
        };
        let state = |word: Var| binary(BinOp::And, word, STATE);
        if others.is_empty() {
            self.emit_all(body);
        } else {
            let differ = self.scalar(PrimType::Bool, "differ");
            self.set(differ, Scalar::Bool(true));
            emit!(while self(differ) {
                self.emit_all(body);
                let unlike = others.iter().map(|other| binary(BinOp::Xor, *first, *other));
                let unlike = unlike.reduce(|a, b| binary(BinOp::Or, a, b)).unwrap_or(Expr::i64(0));
                self.set(differ, expr!(0 < binary(BinOp::And, unlike, STATE)));
            });
        }
        let prefix = expr!(state(*first) == i64::from(PREFIX));
        self.set(is_prefix, flag(prefix));
        let mut loaded = loaded.iter();
        for (&ty, &value) in tiled.types.iter().zip(values) {
            let mut bits = Expr::i64(0);
            for part in 0..super::n_status_words(ty) {
                let word = loaded.next();
                let word = *word.or_bug("a value has too few status words")?;
                bits = match part {
                    0 => word >> UP,
                    _ => {
                        let upper = binary(BinOp::And, word, -1 << UP);
                        binary(BinOp::Or, bits, upper)
                    }
                };
            }
            self.set(value, resized(ConvOp::ZExt, PrimType::I64, ty, bits));
        }
        Ok(())
    }

    /// The exclusive prefix of the tile, from status words: all threads combine them.
    pub(super) fn prefix_from_words(&mut self, at: BlockTile<'_>, words: &[Var]) -> Result<Vec<Var>> {
        let BlockTile { tiled, thread, .. } = at;
        let (operators, types) = (tiled.operators.as_slice(), tiled.types.as_slice());
        let carries = self.neutral(operators, types)?;
        self.look_back_windows(at, |g, other, looks| {
            let values = g.neutral(operators, types)?;
            let is_prefix = g.scalar(PrimType::I32, "is_prefix");
            g.set(is_prefix, Scalar::I32(0));
            emit!(if g(looks) {
                g.await_values(at, words, other, (&values, is_prefix))?;
            });
            g.store_values(at, thread, (&values, is_prefix));
            g.subgroup_barrier();
            let steps = i64::from(g.schedule.layout.subgroup.trailing_zeros());
            g.pairwise_tree((0, steps), true, thread, |g, right| {
                let (right_values, right_is_prefix) = g.load_values(at, right);
                g.append_right(operators, (&values, is_prefix), (&right_values, right_is_prefix))?;
                g.store_values(at, thread, (&values, is_prefix));
                Ok(())
            })?;
            g.barrier();
            let found = g.fold_subgroup_values(at, &carries)?;
            Ok(equals(found, 0))
        })?;
        Ok(carries)
    }

    /// Combines the subgroups' values on the left of `carries`, from the last subgroup back to one
    /// with an inclusive prefix. Returns a variable that is 1 if one has it.
    fn fold_subgroup_values(&mut self, at: BlockTile<'_>, carries: &[Var]) -> Result<Var> {
        let operators = &at.tiled.operators;
        let found = self.scalar(PrimType::I32, "found");
        self.set(found, Scalar::I32(0));
        let (groups, size) = (self.n_subgroups(), self.schedule.layout.subgroup);
        emit!(for back in self(1..groups + 1) {
            let first = (groups - back) * size;
            let (left_values, left_is_prefix) = self.load_values(at, first);
            emit!(if self(equals(found, 0)) {
                self.combine(operators, &left_values, carries)?;
                self.set_all(carries, &left_values);
            });
            // Unconditional, so that the load has no control dependence.
            let any = Expr::binary(BinOp::Or, PrimType::I32, found.into(), left_is_prefix.into());
            self.set(found, any);
        });
        Ok(found)
    }

    /// Combines the values of later tiles, on the right, with the values of earlier ones.
    fn append_right(
        &mut self,
        operators: &[&Operator],
        (left_values, left_is_prefix): (&[Var], Var),
        (right_values, right_is_prefix): (&[Var], Var),
    ) -> Result {
        emit!(if self(equals(right_is_prefix, 0)) {
            self.combine(operators, left_values, right_values)?;
        } else {
            self.set_all(left_values, right_values);
            self.set(left_is_prefix, right_is_prefix);
        });
        Ok(())
    }

    fn store_values(&mut self, at: BlockTile<'_>, thread: Operand, (values, is_prefix): (&[Var], Var)) {
        let shared_buffers = at.shared_buffers;
        let types = &at.tiled.types;
        self.store_all(&shared_buffers.loaded, types, thread, values);
        let prefix_flags = element_of_buffer(shared_buffers.prefix_flags, PrimType::I32, thread);
        self.emit(Stmt::Store(prefix_flags, is_prefix.into()));
    }

    fn load_values(&mut self, at: BlockTile<'_>, thread: impl Into<Expr>) -> (Vec<Var>, Var) {
        let shared_buffers = at.shared_buffers;
        let types = &at.tiled.types;
        let thread = thread.into();
        let values = self.load_all(&shared_buffers.loaded, types, &thread, "loaded");
        let is_prefix = self.scalar(PrimType::I32, "is_prefix");
        let prefix_flags = element_of_buffer(shared_buffers.prefix_flags, PrimType::I32, thread);
        self.emit(Stmt::Load(is_prefix, prefix_flags));
        (values, is_prefix)
    }

    /// Initialises the tile counter and the status words.
    pub(super) fn init_status_words(&mut self, tiled: &Tiled<'_>, words: &[Var], number: Operand) {
        emit!(if self(number == 0) {
            let counter = element_of_buffer(tiled.state, PrimType::I32, 0);
            self.emit(Stmt::Store(counter, Scalar::I32(0).into()));
        } else {
            for &word in words {
                self.emit(Stmt::Store(element_of_buffer(word, RELAXED_TYPE, number - 1), Expr::i64(0)));
            }
        });
    }
}

/// A truth value as an `i32`.
fn flag(holds: Expr) -> Expr {
    Expr::select(PrimType::I32, holds, Scalar::I32(1).into(), Scalar::I32(0).into())
}

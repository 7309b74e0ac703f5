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

use super::super::subgroups::OperatorTypes;
use super::{PREFIX, SharedBuffers, Tile, Tiled, equals};
use crate::function::Gen;
use crate::operators::element_of_buffer;
use imp::build::{binary, compare, mul, sub};
use imp::device::RELAXED_TYPE;
use imp::{DeviceOp, Expr, Stmt, Var};
use ir::soac::Operator;
use ir::{Mems, PassError};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar};

/// The bits of a word that hold the state.
const STATE: i64 = 3;
/// The shift of a word's value part.
const UP: i64 = 32;

impl Gen<'_, '_> {
    /// Publishes values of the tile with a state.
    pub(super) fn publish(
        &mut self,
        tiled: &Tiled<'_>,
        tile: &Tile,
        (words, state): (&[Var], i32),
        values: &[Var],
    ) -> Result<(), PassError> {
        let state = Expr::i64(i64::from(state));
        let mut words = words.iter();
        for (&ty, &value) in tiled.types.iter().zip(values) {
            for part in 0..super::n_status_words(ty) {
                let wide = resized(ConvOp::ZExt, ty, PrimType::I64, Expr::Var(value));
                let bits = match part {
                    0 => binary(BinOp::Shl, wide, Expr::i64(UP)),
                    _ => binary(BinOp::And, wide, Expr::i64(-1 << UP)),
                };
                let word = words.next();
                let word = *word.ok_or_else(|| PassError::bug("a value has too few status words"))?;
                self.emit(Stmt::Device(DeviceOp::Signal {
                    at: element_of_buffer(word, RELAXED_TYPE, tile.number.clone()),
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
        tiled: &Tiled<'_>,
        words: &[Var],
        other: &Expr,
        (values, is_prefix): (&[Var], Var),
    ) -> Result<(), PassError> {
        let loaded: Vec<Var> = words.iter().map(|_| self.scalar(RELAXED_TYPE, "loaded")).collect();
        let body: Vec<Stmt> = words
            .iter()
            .zip(&loaded)
            .map(|(&word, &var)| {
                Stmt::Device(DeviceOp::Await {
                    var,
                    at: element_of_buffer(word, RELAXED_TYPE, other.clone()),
                })
            })
            .collect();
        let [first, others @ ..] = loaded.as_slice() else {
            return Err(PassError::bug("a scan has no values"));
        };
        let state = |word: Var| binary(BinOp::And, Expr::Var(word), Expr::i64(STATE));
        if others.is_empty() {
            body.into_iter().for_each(|stmt| self.emit(stmt));
        } else {
            let differ = self.scalar(PrimType::Bool, "differ");
            self.emit(Stmt::Set(differ, Expr::Const(Scalar::Bool(true))));
            let body = self.collect(|g| {
                body.into_iter().for_each(|stmt| g.emit(stmt));
                let unlike =
                    others.iter().map(|other| binary(BinOp::Xor, Expr::Var(*first), Expr::Var(*other)));
                let unlike = unlike.reduce(|a, b| binary(BinOp::Or, a, b));
                let unlike = unlike.unwrap_or(Expr::i64(0));
                let unlike = binary(BinOp::And, unlike, Expr::i64(STATE));
                let unlike = compare(CmpOp::SLt, Expr::i64(0), unlike);
                g.emit(Stmt::Set(differ, unlike));
                Ok(())
            })?;
            self.emit(Stmt::While(differ, body));
        }
        let prefix = compare(CmpOp::Eq, state(*first), Expr::i64(i64::from(PREFIX)));
        self.emit(Stmt::Set(is_prefix, flag(prefix)));
        let mut loaded = loaded.iter();
        for (&ty, &value) in tiled.types.iter().zip(values) {
            let mut bits = Expr::i64(0);
            for part in 0..super::n_status_words(ty) {
                let word = loaded.next();
                let word = *word.ok_or_else(|| PassError::bug("a value has too few status words"))?;
                bits = match part {
                    0 => binary(BinOp::LShr, Expr::Var(word), Expr::i64(UP)),
                    _ => {
                        let upper = binary(BinOp::And, Expr::Var(word), Expr::i64(-1 << UP));
                        binary(BinOp::Or, bits, upper)
                    }
                };
            }
            self.emit(Stmt::Set(value, resized(ConvOp::ZExt, PrimType::I64, ty, bits)));
        }
        Ok(())
    }

    /// The exclusive prefix of the tile, from status words: all threads combine them.
    pub(super) fn prefix_from_words(
        &mut self,
        tiled: &Tiled<'_>,
        shared_buffers: &SharedBuffers,
        tile: &Tile,
        (words, thread): (&[Var], &Expr),
    ) -> Result<Vec<Var>, PassError> {
        let (operators, types) = (tiled.operators.as_slice(), tiled.types.as_slice());
        let carries = self.neutral(operators, types)?;
        self.look_back_windows(tile, thread, |g, other, looks| {
            let values = g.neutral(operators, types)?;
            let is_prefix = g.scalar(PrimType::I32, "is_prefix");
            g.emit(Stmt::Set(is_prefix, Expr::Const(Scalar::I32(0))));
            let body = g.collect(|g| g.await_values(tiled, words, &other, (&values, is_prefix)))?;
            g.emit(Stmt::If(looks, body, Vec::new()));
            g.store_values(shared_buffers, types, thread, (&values, is_prefix));
            g.subgroup_barrier();
            let steps = Expr::i64(i64::from(g.layout().subgroup.trailing_zeros()));
            g.pairwise_tree((Expr::i64(0), steps), true, thread, |g, right| {
                let (right_values, right_is_prefix) = g.load_values(shared_buffers, types, &right);
                g.append_right(operators, (&values, is_prefix), (&right_values, right_is_prefix))?;
                g.store_values(shared_buffers, types, thread, (&values, is_prefix));
                Ok(())
            })?;
            g.barrier();
            let found = g.fold_subgroup_values(shared_buffers, (operators, types), &carries)?;
            Ok(equals(found, 0))
        })?;
        Ok(carries)
    }

    /// Combines the subgroups' values on the left of `carries`, from the last subgroup back to one
    /// with an inclusive prefix. Returns a variable that is 1 if one has it.
    fn fold_subgroup_values(
        &mut self,
        shared_buffers: &SharedBuffers,
        (operators, types): OperatorTypes<'_, '_>,
        carries: &[Var],
    ) -> Result<Var, PassError> {
        let found = self.scalar(PrimType::I32, "found");
        self.emit(Stmt::Set(found, Expr::Const(Scalar::I32(0))));
        let (groups, size) = (self.n_subgroups(), Expr::i64(self.layout().subgroup));
        let (from, to) = (Expr::i64(1), Expr::i64(groups + 1));
        self.for_seq("back", from, to, false, |g, back| {
            let first = mul(sub(Expr::i64(groups), Expr::Var(back)), size);
            let (left_values, left_is_prefix) = g.load_values(shared_buffers, types, &first);
            let body = g.collect(|g| {
                g.combine(operators, &left_values, carries)?;
                g.set_all(carries, &left_values);
                Ok(())
            })?;
            g.emit(Stmt::If(equals(found, 0), body, Vec::new()));
            // Unconditional, so that the load has no control dependence.
            let any = Expr::binary(BinOp::Or, PrimType::I32, Expr::Var(found), Expr::Var(left_is_prefix));
            g.emit(Stmt::Set(found, any));
            Ok(())
        })?;
        Ok(found)
    }

    /// Combines the values of later tiles, on the right, with the values of earlier ones.
    fn append_right(
        &mut self,
        operators: &[&Operator<Mems>],
        (left_values, left_is_prefix): (&[Var], Var),
        (right_values, right_is_prefix): (&[Var], Var),
    ) -> Result<(), PassError> {
        let both = self.collect(|g| g.combine(operators, left_values, right_values))?;
        let right = self.collect(|g| {
            g.set_all(left_values, right_values);
            g.emit(Stmt::Set(left_is_prefix, Expr::Var(right_is_prefix)));
            Ok(())
        })?;
        self.emit(Stmt::If(equals(right_is_prefix, 0), both, right));
        Ok(())
    }

    fn store_values(
        &mut self,
        shared_buffers: &SharedBuffers,
        types: &[PrimType],
        thread: &Expr,
        (values, is_prefix): (&[Var], Var),
    ) {
        self.store_all(&shared_buffers.loaded, types, thread.clone(), values);
        let prefix_flags = element_of_buffer(shared_buffers.prefix_flags, PrimType::I32, thread.clone());
        self.emit(Stmt::Store(prefix_flags, Expr::Var(is_prefix)));
    }

    fn load_values(
        &mut self,
        shared_buffers: &SharedBuffers,
        types: &[PrimType],
        thread: &Expr,
    ) -> (Vec<Var>, Var) {
        let values = self.load_all(&shared_buffers.loaded, types, thread.clone(), "loaded");
        let is_prefix = self.scalar(PrimType::I32, "is_prefix");
        let prefix_flags = element_of_buffer(shared_buffers.prefix_flags, PrimType::I32, thread.clone());
        self.emit(Stmt::Load(is_prefix, prefix_flags));
        (values, is_prefix)
    }

    /// Initialises the tile counter and the status words.
    pub(super) fn init_status_words(&mut self, tiled: &Tiled<'_>, words: &[Var], number: &Expr) {
        let nothing = Expr::Const(Scalar::I32(0));
        let counter = element_of_buffer(tiled.state, PrimType::I32, Expr::i64(0));
        let counter = vec![Stmt::Store(counter, nothing)];
        let words = words.iter().map(|word| {
            let before = sub(number.clone(), Expr::i64(1));
            Stmt::Store(element_of_buffer(*word, RELAXED_TYPE, before), Expr::i64(0))
        });
        let first = compare(CmpOp::Eq, number.clone(), Expr::i64(0));
        self.emit(Stmt::If(first, counter, words.collect()));
    }
}

/// A truth value as an `i32`.
fn flag(holds: Expr) -> Expr {
    Expr::select(PrimType::I32, holds, Expr::Const(Scalar::I32(1)), Expr::Const(Scalar::I32(0)))
}

/// An integer conversion, if the types differ.
fn resized(how: ConvOp, from: PrimType, to: PrimType, value: Expr) -> Expr {
    if from == to {
        return value;
    }
    Expr::convert(how, from, to, value)
}

//! Memory locations: binding of names to arrays in memory blocks.
//!
//! A new array is written to the location that the name's annotation gives. A view, an update's
//! result, or a result of a branch, a loop or a call already has a location, which must be that of
//! the annotation: compiled code will look there.

use super::array::{Array, checked_count};
use super::block::{self, Stamp};
use super::machine::{Evaluator, Frame, Value};
use super::rows::Rows;
use super::view::View;
use super::{EvalError, EvalLevel};
use crate::mem::{Block, Lmad, MemAnn};
use crate::name::{FunId, Name};
use crate::poly::Poly;
use crate::syntax::Param;
use crate::types::Type;
use prim::{PrimType, Scalar};

type Result<T> = std::result::Result<T, EvalError>;

/// The memory location that an annotation gives.
pub trait MemLocation {
    /// The block and the index function, if any.
    fn location(&self) -> Option<(Block, &Lmad)>;
}

impl MemLocation for () {
    fn location(&self) -> Option<(Block, &Lmad)> {
        None
    }
}

impl MemLocation for MemAnn {
    fn location(&self) -> Option<(Block, &Lmad)> {
        match self {
            Self::None => None,
            Self::In { block, lmad } => Some((*block, lmad)),
        }
    }
}

impl Frame<'_> {
    /// The value of a polynomial, in wrapping arithmetic.
    fn poly(&self, poly: &Poly) -> Result<i64> {
        let mut sum = 0i64;
        for (names, coefficient) in poly.terms() {
            let mut product = *coefficient;
            for name in names {
                product = product.wrapping_mul(self.integer(*name)?);
            }
            sum = sum.wrapping_add(product);
        }
        Ok(sum)
    }

    fn integer(&self, name: Name) -> Result<i64> {
        let value = self.scalar(name.into())?;
        let known = Scalar::as_i64(value);
        known.ok_or_else(|| EvalError::bug("an operand of an index function is not an integer"))
    }

    /// The array at the location that an annotation gives.
    pub(super) fn array_at(&self, block: Block, lmad: &Lmad, elem: PrimType) -> Result<Array> {
        let Block::Var(block) = block else {
            return Err(EvalError::bug("an existential block has no value here"));
        };
        let Value::Block(block) = self.value(block)? else {
            return Err(EvalError::bug("a name in an index function is not bound to a block"));
        };
        let mut view = View {
            offset: self.poly(&lmad.offset)?,
            shape: smallvec::SmallVec::new(),
            strides: smallvec::SmallVec::new(),
        };
        for dim in &lmad.dims {
            view.shape.push(self.dim(dim.extent)?);
            view.strides.push(self.poly(&dim.stride)?);
        }
        Ok(Array::in_block_at(block, elem, view))
    }
}

impl<'p, L: EvalLevel> Evaluator<'p, L> {
    /// Binds a name of a pattern or a parameter to a value.
    pub(super) fn bind(&mut self, frame: &mut Frame<'p>, param: &Param<L>, value: Value) -> Result<()> {
        frame.check_type(param.name, &param.ty, &value)?;
        let Some((block, lmad)) = param.ann.location() else {
            frame.set(param.name, value);
            return Ok(());
        };
        let value = if let Value::Array(array) = value {
            let mut there = frame.array_at(block, lmad, array.elem())?;
            if array.block().is_none() {
                let stamp = self.stamp(frame, param.name)?;
                there.fill(&array, stamp)?;
                Value::Array(there)
            } else if array.same_location(&there) {
                Value::Array(array)
            } else {
                let name = frame.show(param.name);
                return Err(EvalError::bug(format!("{name} is not at the location in its annotation")));
            }
        } else {
            value
        };
        frame.set(param.name, value);
        Ok(())
    }

    /// Advances the logical time and returns it.
    pub(super) fn tick(&mut self) -> Result<u32> {
        if self.time + 1 >= block::MAX_TIME {
            return Err(EvalError::new(super::ErrorClass::Limit, "too many writes to memory"));
        }
        self.time += 1;
        Ok(self.time)
    }

    /// Advances the logical time; returns the stamp for writes by this name.
    pub(super) fn stamp(&mut self, frame: &Frame<'p>, name: Name) -> Result<Stamp> {
        let time = self.tick()?;
        let writer = frame.writer(name);
        Ok(Stamp { time, writer })
    }

    /// Advances the logical time; returns the stamp for writes by the first name of a pattern.
    pub(super) fn stamp_for(&mut self, frame: &Frame<'p>, pat: &[Param<L>]) -> Result<Stamp> {
        match pat.first() {
            Some(param) => self.stamp(frame, param.name),
            None => Err(EvalError::bug("an operation has no results")),
        }
    }

    /// Collectors of the rows of results, which will be bound to the first names of a pattern. If
    /// these are in blocks, rows are written there.
    pub(super) fn rows_of<'t>(
        &self,
        frame: &Frame<'p>,
        pat: &[Param<L>],
        types: impl Iterator<Item = &'t Type>,
        outer: &[i64],
    ) -> Result<Vec<Rows>> {
        let n = checked_count(outer, PrimType::Bool)?;
        let one = |(i, ty): (usize, &Type)| {
            let elem = ty.elem().unwrap_or(PrimType::Bool);
            let param = pat.get(i);
            let location = param.and_then(|param| Some((param.name, param.ann.location()?)));
            let Some((name, (block, lmad))) = location else {
                return Ok(Rows::new(elem, n));
            };
            let whole = frame.array_at(block, lmad, elem)?;
            if whole.shape().get(..outer.len()) != Some(outer) {
                let name = frame.show(name);
                let message = format!("{name} does not have the shape of its operation");
                return Err(EvalError::bug(message));
            }
            Ok(Rows::placed(whole, outer, frame.writer(name)))
        };
        types.enumerate().map(one).collect()
    }

    /// Moves a function's arguments to blocks where its parameters' annotations require it.
    /// Arguments that are not consumed become read-only.
    pub(super) fn arguments_in_blocks(&mut self, function: FunId, values: &mut [Value]) -> Result<()> {
        let (_, first) = self.live_of(function);
        let params = &self.program.function(function).params;
        let position = crate::typing::positions(params.iter().map(|p| p.param.name));
        for (i, param) in params.iter().enumerate() {
            let (Some((Block::Var(block), _)), Value::Array(array)) =
                (param.param.ann.location(), &values[i])
            else {
                continue;
            };
            let count = checked_count(array.shape(), array.elem())? as u64;
            let bytes = count * array.elem().size();
            let own = block::Block::new(bytes, first + block.0, &self.legend);
            let stamp = Stamp { time: self.tick()?, writer: first + param.param.name.0 };
            let placed = array.in_block(own, stamp)?;
            if !param.consumed {
                placed.make_read_only();
            }
            let (Some(at), Some(own)) = (position.get(&block), placed.block()) else {
                return Err(EvalError::bug("a parameter's block is not a parameter"));
            };
            values[*at as usize] = Value::Block(own.clone());
            values[i] = Value::Array(placed);
        }
        Ok(())
    }
}

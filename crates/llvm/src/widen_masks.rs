//! Widens masks that live across basic blocks, for processors without mask registers.
//!
//! LLVM selects instructions block by block, and where a vector of `i1` passes from one block to
//! another, it packs its lanes into narrow integers, only to unpack them for the next comparison or
//! select. A comparison produces lanes as wide as its operands, all bits set or none, and selects
//! use exactly these. So after optimisation (which would undo this) such masks become vectors of
//! integers between blocks:
//!
//! ```text
//! m = phi <8 x i1> [a, ..], [b, ..]      w = phi <8 x i32> [sext a, ..], [sext b, ..]
//!                                        m = w < 0
//! ```
//!
//! 1. Each phi of masks becomes a phi of wide masks and a comparison.
//! 2. So do the logical operators with a widened or block-crossing operand or result.
//! 3. Each mask that is used in another block is widened where it is defined and compared where it
//!    is used.

use crate::error::{Error, Res};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::{AnyTypeEnum, BasicMetadataTypeEnum, BasicTypeEnum, VectorType};
use inkwell::values::{
    BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue, Operand, PhiValue,
    VectorValue,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// The maximum number of instructions searched for the width of a mask.
const MAX_SEARCH: usize = 16;

/// The width of a mask if the search finds none.
const DEFAULT_WIDTH: u32 = 32;

/// Widens the masks of a module that live across blocks.
pub fn widen<'c>(context: &'c Context, module: &Module<'c>) -> Res<()> {
    module.get_functions().filter(|f| f.count_basic_blocks() > 1).try_for_each(|f| {
        Widen {
            context,
            builder: context.create_builder(),
            wide: FxHashMap::default(),
            narrow: FxHashMap::default(),
        }
        .function(f)
    })
}

struct Widen<'c> {
    context: &'c Context,
    builder: Builder<'c>,
    /// The wide form of masks.
    wide: FxHashMap<InstructionValue<'c>, VectorValue<'c>>,
    /// Masks recomputed in blocks other than their own.
    narrow: FxHashMap<(InstructionValue<'c>, BasicBlock<'c>), VectorValue<'c>>,
}

impl<'c> Widen<'c> {
    fn function(&mut self, f: FunctionValue<'c>) -> Res<()> {
        let crossing = live_across_blocks(f);
        let mut phis = Vec::new();
        for block in f.get_basic_block_iter() {
            let is_mask = |i: &InstructionValue<'c>| mask_lanes(*i).is_some();
            let found: Vec<_> = phis_of(block).filter(is_mask).collect();
            for phi in found {
                phis.push((phi, self.wide_phi(phi, block)?));
            }
        }
        for block in f.get_basic_block_iter() {
            let logic: Vec<_> = block.get_instructions().filter(is_logic).collect();
            for op in logic {
                self.logic(op, &crossing)?;
            }
        }
        for (phi, wide) in phis {
            self.fill(phi, wide)?;
            phi.erase_from_basic_block();
        }
        for block in f.get_basic_block_iter() {
            let users: Vec<_> = block.get_instructions().collect();
            for user in users {
                self.uses(user, block)?;
            }
        }
        Ok(())
    }

    /// Creates a phi of wide masks, and replaces the old phi by a comparison of it.
    fn wide_phi(&mut self, phi: InstructionValue<'c>, block: BasicBlock<'c>) -> Res<PhiValue<'c>> {
        let ty = self.wide_type(phi)?;
        self.builder.position_before(&phi);
        let wide = self.builder.build_phi(ty, "")?;
        let wide_mask = VectorValue::try_from(wide.as_basic_value()).map_err(|()| not_a_mask())?;
        let mask = self.compared(wide_mask, block)?;
        let made = mask.as_instruction().ok_or_else(not_a_mask)?;
        phi.replace_all_uses_with(&made);
        self.wide.insert(made, wide_mask);
        Ok(wide)
    }

    /// Replaces a logical operator on masks by one on wide masks, if its result or an operand
    /// crosses blocks.
    #[allow(clippy::wildcard_enum_match_arm, reason = "the enum is from LLVM and has many variants")]
    fn logic(&mut self, op: InstructionValue<'c>, crossing: &FxHashSet<InstructionValue<'c>>) -> Res<()> {
        let (Some(x), Some(y)) = (vector_operand(op, 0), vector_operand(op, 1)) else {
            return Ok(());
        };
        let crosses = |mask: VectorValue<'c>| {
            let made = mask.as_instruction();
            made.is_some_and(|made| crossing.contains(&made) || self.wide.contains_key(&made))
        };
        if !crossing.contains(&op) && !crosses(x) && !crosses(y) {
            return Ok(());
        }
        let ty = self.wide_type(op)?;
        let (x, y) = (self.widened(x, op, ty)?, self.widened(y, op, ty)?);
        let wide = match op.get_opcode() {
            InstructionOpcode::And => self.builder.build_and(x, y, "")?,
            InstructionOpcode::Or => self.builder.build_or(x, y, "")?,
            _ => self.builder.build_xor(x, y, "")?,
        };
        let zero = ty.const_zero();
        let mask = self.builder.build_int_compare(IntPredicate::SLT, wide, zero, "")?;
        // Operators on constants have been folded.
        let made = mask.as_instruction().ok_or_else(not_a_mask)?;
        op.replace_all_uses_with(&made);
        self.wide.remove(&op);
        op.erase_from_basic_block();
        self.wide.insert(made, wide);
        Ok(())
    }

    /// Gives a wide phi the wide forms of the original phi's incoming values.
    fn fill(&mut self, phi: InstructionValue<'c>, wide: PhiValue<'c>) -> Res<()> {
        let phi = PhiValue::try_from(phi).map_err(|()| not_a_mask())?;
        let BasicTypeEnum::VectorType(ty) = wide.as_basic_value().get_type() else {
            return Err(not_a_mask());
        };
        // A block that is a predecessor twice must have the same incoming value in both entries.
        let mut known: FxHashMap<BasicBlock<'c>, VectorValue<'c>> = FxHashMap::default();
        for (value, before) in phi.get_incomings() {
            let value = match known.get(&before) {
                Some(value) => *value,
                None => {
                    let value = VectorValue::try_from(value).map_err(|()| not_a_mask())?;
                    let end = before.get_terminator().ok_or_else(not_a_mask)?;
                    let value = self.widened(value, end, ty)?;
                    known.insert(before, value);
                    value
                }
            };
            wide.add_incoming(&[(&value, before)]);
        }
        Ok(())
    }

    /// A mask in a wide type; positions the builder before the user.
    fn widened(
        &mut self,
        mask: VectorValue<'c>,
        user: InstructionValue<'c>,
        ty: VectorType<'c>,
    ) -> Res<VectorValue<'c>> {
        let mask = match mask.as_instruction() {
            Some(made) => self.wide_form(mask, made)?,
            None => mask,
        };
        self.builder.position_before(&user);
        Ok(self.builder.build_int_cast_sign_flag(mask, ty, true, "")?)
    }

    /// The wide form of a mask, created right after its definition.
    fn wide_form(&mut self, mask: VectorValue<'c>, made: InstructionValue<'c>) -> Res<VectorValue<'c>> {
        if let Some(wide) = self.wide.get(&made) {
            return Ok(*wide);
        }
        let ty = self.wide_type(made)?;
        let next = made.get_next_instruction().ok_or_else(not_a_mask)?;
        self.builder.position_before(&next);
        let wide = self.builder.build_int_s_extend(mask, ty, "")?;
        self.wide.insert(made, wide);
        Ok(wide)
    }

    /// The mask of a wide form, compared at the start of a block.
    fn compared(&self, wide: VectorValue<'c>, block: BasicBlock<'c>) -> Res<VectorValue<'c>> {
        let phis = phis_of(block).count();
        let first = block.get_instructions().nth(phis);
        self.builder.position_before(&first.ok_or_else(not_a_mask)?);
        let zero = wide.get_type().const_zero();
        Ok(self.builder.build_int_compare(IntPredicate::SLT, wide, zero, "")?)
    }

    /// Replaces the operands of an instruction that are masks from other blocks by comparisons of
    /// their wide forms.
    fn uses(&mut self, user: InstructionValue<'c>, block: BasicBlock<'c>) -> Res<()> {
        for i in vector_operands(user) {
            let Some(operand) = vector_operand(user, i) else {
                continue;
            };
            let Some(made) = operand.as_instruction() else {
                continue;
            };
            if mask_lanes(made).is_none() || made.get_parent() == Some(block) {
                continue;
            }
            let mask = match self.narrow.get(&(made, block)) {
                Some(mask) => *mask,
                None => {
                    let wide = self.wide_form(operand, made)?;
                    let mask = self.compared(wide, block)?;
                    self.narrow.insert((made, block), mask);
                    mask
                }
            };
            user.set_operand(i, mask);
        }
        Ok(())
    }

    fn wide_type(&self, mask: InstructionValue<'c>) -> Res<VectorType<'c>> {
        let lanes = mask_lanes(mask).ok_or_else(not_a_mask)?;
        let mut looks = MAX_SEARCH;
        let elem = match self.width(mask, &mut looks).unwrap_or(DEFAULT_WIDTH) {
            ..=8 => self.context.i8_type(),
            9..=16 => self.context.i16_type(),
            17..=32 => self.context.i32_type(),
            _ => self.context.i64_type(),
        };
        Ok(elem.vec_type(lanes))
    }

    /// The width of the compared operands from which a mask derives.
    #[allow(clippy::wildcard_enum_match_arm, reason = "the enum is from LLVM and has many variants")]
    fn width(&self, mask: InstructionValue<'c>, looks: &mut usize) -> Option<u32> {
        *looks = looks.checked_sub(1)?;
        let operand = |i| vector_operand(mask, i);
        match mask.get_opcode() {
            InstructionOpcode::ICmp | InstructionOpcode::FCmp => {
                match operand(0)?.get_type().get_element_type() {
                    BasicTypeEnum::IntType(ty) => Some(ty.get_bit_width()).filter(|n| *n > 1),
                    BasicTypeEnum::FloatType(ty) if ty == self.context.f32_type() => Some(32),
                    BasicTypeEnum::FloatType(_) | BasicTypeEnum::PointerType(_) => Some(64),
                    _ => None,
                }
            }
            InstructionOpcode::And
            | InstructionOpcode::Or
            | InstructionOpcode::Xor
            | InstructionOpcode::Select
            | InstructionOpcode::Freeze
            | InstructionOpcode::Phi => (0..mask.get_num_operands())
                .filter_map(|i| operand(i)?.as_instruction())
                .find_map(|made| self.width(made, looks)),
            _ => None,
        }
    }
}

fn not_a_mask() -> Error {
    Error::bug("a mask between basic blocks does not have its shape")
}

fn phis_of(block: BasicBlock<'_>) -> impl Iterator<Item = InstructionValue<'_>> {
    block.get_instructions().take_while(|i| i.get_opcode() == InstructionOpcode::Phi)
}

/// The number of lanes of the mask that an instruction defines; `None` if it defines no mask.
#[allow(clippy::wildcard_enum_match_arm, reason = "the enum is from LLVM and has many variants")]
fn mask_lanes(made: InstructionValue<'_>) -> Option<u32> {
    match made.get_type() {
        AnyTypeEnum::VectorType(ty) => match ty.get_element_type() {
            BasicTypeEnum::IntType(elem) if elem.get_bit_width() == 1 => Some(ty.get_size()),
            _ => None,
        },
        _ => None,
    }
}

fn is_logic(i: &InstructionValue<'_>) -> bool {
    let opcode = i.get_opcode();
    let ops = [InstructionOpcode::And, InstructionOpcode::Or, InstructionOpcode::Xor];
    ops.contains(&opcode) && mask_lanes(*i).is_some()
}

/// The masks that are used by phis or outside of their own block.
fn live_across_blocks(f: FunctionValue<'_>) -> FxHashSet<InstructionValue<'_>> {
    let mut crossing = FxHashSet::default();
    for block in f.get_basic_block_iter() {
        for user in block.get_instructions() {
            let is_phi = user.get_opcode() == InstructionOpcode::Phi;
            let operands =
                if is_phi { (0..user.get_num_operands()).collect() } else { vector_operands(user) };
            let made = operands
                .into_iter()
                .filter_map(|i| vector_operand(user, i)?.as_instruction())
                .filter(|made| mask_lanes(*made).is_some())
                .filter(|made| is_phi || made.get_parent() != Some(block));
            crossing.extend(made);
        }
    }
    crossing
}

/// Operand `i`, if it is a vector.
fn vector_operand(user: InstructionValue<'_>, i: u32) -> Option<VectorValue<'_>> {
    match user.get_operand(i) {
        Some(Operand::Value(BasicValueEnum::VectorValue(operand))) => Some(operand),
        _ => None,
    }
}

/// The operands that can be masks. For calls the callee's type is consulted, as some operands are
/// not values.
fn vector_operands(user: InstructionValue<'_>) -> Vec<u32> {
    let count = user.get_num_operands();
    match CallSiteValue::try_from(user) {
        Ok(call) => {
            let types = call.get_called_fn_type().get_param_types();
            let is_vector = |ty: &BasicMetadataTypeEnum<'_>| ty.is_vector_type();
            (0..).zip(&types).filter(|(_, ty)| is_vector(ty)).map(|(i, _)| i).collect()
        }
        Err(()) if user.get_opcode() == InstructionOpcode::Phi => Vec::new(),
        Err(()) => (0..count).collect(),
    }
}

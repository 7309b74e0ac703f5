//! Functions over vectors as entry points of a program, and operands for them.

use super::{add_entry, array_of, entry_type};
use imp::{EntryType, Expr, FunId, Function, LaneAccess, LanePositions, MaskedOff, Program, Var};
use prim::{PrimType, Scalar};
use runtime::abi::EntryFn;

/// A generator of random bits (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn scalar(&mut self, ty: PrimType) -> Scalar {
        let bits = self.bits() >> 5;
        Scalar::from_bits(ty, bits & (u64::MAX >> (64 - ty.bits())))
    }
}

/// An access to contiguous lanes from a position on.
pub fn unit(buffer: Var, elem: PrimType, lanes: u32, position: Expr) -> LaneAccess {
    LaneAccess { buffer, elem, lanes, at: LanePositions::Unit(position), masked_off: MaskedOff::Skip }
}

/// The array type of an entry's parameter.
pub fn array(ty: PrimType) -> EntryType {
    match entry_type(ty) {
        EntryType::Value(ty) => array_of(ty.scalar),
        EntryType::Opaque(_) => panic!("{ty}"),
    }
}

/// Adds a function as an entry point under its own name.
pub fn export(program: &mut Program, function: Function, params: &[EntryType]) {
    let fun = FunId::new(program.functions.len());
    add_entry(program, &function.name, fun, params, &[]);
    program.functions.push(function);
}

/// Runs code that reads no more of its context than the flag of cancelled calls, and cannot fail.
///
/// # Safety
///
/// The words are the code's arguments: addresses of arrays as long as it expects, sizes, numbers.
pub unsafe fn run(code: EntryFn, words: &[u64]) {
    let flag = 0i32;
    let mut context = [0, 0, 0, 0, &raw const flag as u64];
    // SAFETY: the caller guarantees the words.
    let status = unsafe { code(context.as_mut_ptr().cast(), words.as_ptr(), std::ptr::null_mut()) };
    assert_eq!(status, 0);
}

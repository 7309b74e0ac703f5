//! How long operations take on any machine, in sixteenths of a nanosecond: what
//! decompositions and the decision between tasks and the caller alone rest on.
//! (`bench/run.py small`: whether calls of 10 µs gain from tasks.)

use prim::BinOp;

/// A sum, a comparison, a choice.
pub const PLAIN: i64 = 4;
/// A quotient or a power.
pub const DIVISION: i64 = 64;
/// A mathematical function.
pub const MATH: i64 = 320;
/// A load.
pub const LOAD: i64 = 8;
/// A store, or an update of an accumulator.
pub const STORE: i64 = 16;
/// An operation on a whole array.
pub const ARRAY: i64 = 400;
/// Storing what a point of a scan gives, and loading it again, where lanes compute the points: less
/// than a quotient and what is done with it (`bench/figures.py book --case regular_scan`: 0.33 ms, and
/// 2.0 where the scan divides twice). At half of it scans that only compare and add become slower
/// (`longest_streak` of the book's examples, 1.2 ms in place of 1.1).
pub const KEPT: i64 = 64;
/// A branch.
pub const BRANCH: i64 = 8;
/// What a loop costs beside its iterations.
pub const LOOP: i64 = 16;
/// A call of a function that is not known better.
pub const CALL: i64 = crate::TRIPS * 16;

/// An operator on two scalars.
pub const fn binary(op: BinOp) -> i64 {
    match op {
        BinOp::SDiv
        | BinOp::UDiv
        | BinOp::SMod
        | BinOp::UMod
        | BinOp::SQuot
        | BinOp::SRem
        | BinOp::FDiv
        | BinOp::FMod
        | BinOp::Pow => DIVISION,
        BinOp::Add
        | BinOp::Sub
        | BinOp::Mul
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor
        | BinOp::Shl
        | BinOp::LShr
        | BinOp::AShr
        | BinOp::SMin
        | BinOp::UMin
        | BinOp::SMax
        | BinOp::UMax
        | BinOp::FAdd
        | BinOp::FSub
        | BinOp::FMul
        | BinOp::FMin
        | BinOp::FMax => PLAIN,
    }
}

-- | The declarations that every program imports.

open import "soacs"
open import "array"
open import "math"
open import "functional"
open import "ad"

-- | `i32` to `f32`.
def r32 (x: i32): f32 = intrinsics.i32_to_f32 x

-- | `f32` to `i32`, towards zero.
def t32 (x: f32): i32 = intrinsics.f32_to_i32 x

-- | `i32` to `f64`.
def r64 (x: i32): f64 = intrinsics.i32_to_f64 x

-- | `f64` to `i32`, towards zero.
def t64 (x: f64): i32 = intrinsics.f64_to_i32 x

-- | Negation.
def not (x: bool): bool = !x

-- | The identity, opaque to the optimiser.
def opaque 't (x: t): t = intrinsics.opaque x

-- | The identity, which prints its argument.
def trace 't (x: t): t = intrinsics.trace x

-- | The identity, a breakpoint in the interpreter.
def break 't (x: t): t = intrinsics.break x

/* C requirements of generated code: headers, names of types, attributes.

   The printer writes i8 ... i64 for integers (unsigned types for wrapping arithmetic), f32 and
   f64 for floats, f16 for the 16 bits of a half, u8 * for buffers. Elements of blocks are
   accessed through types that may alias. */

#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__unix__) || defined(__APPLE__)
#define BR_UNIX 1
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#else
#define BR_UNIX 0
#endif

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "floats are evaluated with excess precision; for x86 use -msse2 -mfpmath=sse"
#endif
#ifdef __FAST_MATH__
#error "fast math changes results; compile without -ffast-math"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#ifdef __GNUC__
#define BR_ALIAS __attribute__((may_alias))
#define BR_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BR_COLD __attribute__((cold, noinline))
#else
#define BR_ALIAS
#define BR_UNLIKELY(x) (x)
#define BR_COLD
#endif
/* The iterations of the following loop access disjoint memory. */
#if defined(__clang__)
#define BR_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define BR_INDEPENDENT _Pragma("GCC ivdep")
#else
#define BR_INDEPENDENT
#endif
#define BR_FN static inline
#define BR_TABLE static const
#define BR_HAS_F64

typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint16_t f16;
typedef float f32;
typedef double f64;

/* Types of elements in memory; a bool is a byte, 0 or 1. */
typedef i8 BR_ALIAS i8_m;
typedef i16 BR_ALIAS i16_m;
typedef i32 BR_ALIAS i32_m;
typedef i64 BR_ALIAS i64_m;
typedef f16 BR_ALIAS f16_m;
typedef f32 BR_ALIAS f32_m;
typedef f64 BR_ALIAS f64_m;
typedef u8 BR_ALIAS bool_m;
typedef u8 *BR_ALIAS slot_m;

BR_FN f32 br_root_f32(f32 x) { return sqrtf(x); }
BR_FN f64 br_root_f64(f64 x) { return sqrt(x); }
BR_FN f32 br_fma_f32(f32 x, f32 y, f32 z) { return fmaf(x, y, z); }
BR_FN f64 br_fma_f64(f64 x, f64 y, f64 z) { return fma(x, y, z); }
BR_FN u32 br_bits_f32(f32 x) {
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
BR_FN u64 br_bits_f64(f64 x) {
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
BR_FN f32 br_f32_from(u32 bits) {
    f32 x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
BR_FN f64 br_f64_from(u64 bits) {
    f64 x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

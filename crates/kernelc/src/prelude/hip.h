/* HIP: the target-specific part of the prelude for kernels, by builtins of its compiler (clang),
   so that no headers are needed. The files for other targets define the same names.

   BR_HAS_F64, BR_ATOMICS_64 and BR_VALUES are defined before it, as the program needs them. The
   compiler options request neither contraction nor fast mathematics. */

#ifdef __FAST_MATH__
#error "fast math changes results; compile without -ffast-math"
#endif
#pragma clang fp contract(off)

#define BR_DEVICE __attribute__((device))
#define BR_KERNEL(threads)                                                                         \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads)))
#define BR_GLOBAL
#define BR_LOCAL
#define BR_SHARED __attribute__((shared))
#define BR_TABLE static BR_DEVICE const
#define BR_BLOCK ((i64)__builtin_amdgcn_workgroup_id_x())
#define BR_THREAD ((i64)__builtin_amdgcn_workitem_id_x())
#define BR_BARRIER                                                                                 \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                         \
    __builtin_amdgcn_s_barrier();                                                                  \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#define BR_END
/* For subgroups of at most 32 threads: they run in lock-step, and no access moves across. */
#define BR_GROUP_BARRIER                                                                           \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");                                         \
    __builtin_amdgcn_wave_barrier();                                                               \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
/* Orders a thread's earlier accesses before its later ones, for the whole device. */
#define BR_FENCE __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
#define BR_FN static BR_DEVICE inline __attribute__((always_inline))
#define BR_ALIAS __attribute__((may_alias))
#define BR_UNLIKELY(x) __builtin_expect(!!(x), 0)

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short f16;
typedef float f32;
#ifdef BR_HAS_F64
typedef double f64;
#endif

/* The start of an array in shared memory, of a size that the launch gives: parameter and
   address. */
#ifdef BR_HAS_DYNAMIC_SHARED
extern BR_DEVICE BR_SHARED u64 br_dynamic_shared[];
#endif
#define BR_DYNAMIC_SHARED(name) u64 name
#define BR_DYNAMIC_SHARED_AT(name) ((unsigned char *)br_dynamic_shared + name)

BR_FN u32 br_bits_f32(f32 x) { return __builtin_bit_cast(u32, x); }
BR_FN f32 br_f32_from(u32 bits) { return __builtin_bit_cast(f32, bits); }
BR_FN f32 br_fma_f32(f32 x, f32 y, f32 z) { return __builtin_fmaf(x, y, z); }
BR_FN f32 br_quotient_f32(f32 x, f32 y) { return x / y; }
BR_FN f32 br_root_f32(f32 x) { return __builtin_sqrtf(x); }
#ifdef BR_HAS_F64
BR_FN u64 br_bits_f64(f64 x) { return __builtin_bit_cast(u64, x); }
BR_FN f64 br_f64_from(u64 bits) { return __builtin_bit_cast(f64, bits); }
BR_FN f64 br_fma_f64(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }
BR_FN f64 br_quotient_f64(f64 x, f64 y) { return x / y; }
BR_FN f64 br_root_f64(f64 x) { return __builtin_sqrt(x); }
#endif

#define signbit(x) __builtin_signbit(x)
#define fabsf(x) __builtin_fabsf(x)
#define floorf(x) __builtin_floorf(x)
#define ceilf(x) __builtin_ceilf(x)
#define rintf(x) __builtin_rintf(x)
#define truncf(x) __builtin_truncf(x)
#define copysignf(x, y) __builtin_copysignf(x, y)
#define fabs(x) __builtin_fabs(x)
#define floor(x) __builtin_floor(x)
#define ceil(x) __builtin_ceil(x)
#define rint(x) __builtin_rint(x)
#define trunc(x) __builtin_trunc(x)
#define copysign(x, y) __builtin_copysign(x, y)

/* The exact remainder, and the next number, computed as integers, since the compiler has no
   builtins for them. A number is its significand times a power of two. */
#define BR_PARTS(F, U, S, SIGN, ONE, ENDS)                                                         \
    BR_FN F br_remainder_##F(F x, F y) {                                                           \
        U a = br_bits_##F(x) & ~SIGN, b = br_bits_##F(y) & ~SIGN, sign = br_bits_##F(x) & SIGN;    \
        if (b == 0 || a >= ENDS || b > ENDS) return x != x ? x : y != y ? y : br_##F##_from(ENDS | ONE >> 1); \
        if (a < b) return x;                                                                       \
        S i = (S)(a / ONE), j = (S)(b / ONE);                                                      \
        U p = i == 0 ? a : (a & (ONE - 1)) | ONE, q = j == 0 ? b : (b & (ONE - 1)) | ONE;          \
        i = i == 0 ? 1 : i;                                                                        \
        j = j == 0 ? 1 : j;                                                                        \
        for (; i > j; i--) p = (p >= q ? p - q : p) << 1;                                          \
        p = p >= q ? p % q : p;                                                                    \
        while (p != 0 && p < ONE && i > 1) {                                                       \
            p <<= 1;                                                                               \
            i--;                                                                                   \
        }                                                                                          \
        return br_##F##_from(sign | (p < ONE ? p : (p - ONE) + (U)i * ONE));                       \
    }                                                                                              \
    BR_FN F br_next_##F(F x, F y) {                                                                \
        U a = br_bits_##F(x);                                                                      \
        if (x != x || y != y) return x + y;                                                        \
        if (x == y) return y;                                                                      \
        if (x == 0) return br_##F##_from((br_bits_##F(y) & SIGN) | 1);                             \
        return br_##F##_from((x < y) == (x > 0) ? a + 1 : a - 1);                                  \
    }
BR_PARTS(f32, u32, i32, 0x80000000u, 0x800000u, 0x7f800000u)
#define fmodf(x, y) br_remainder_f32(x, y)
#define nextafterf(x, y) br_next_f32(x, y)
#ifdef BR_HAS_F64
BR_PARTS(f64, u64, i64, 0x8000000000000000u, 0x10000000000000u, 0x7ff0000000000000u)
#define fmod(x, y) br_remainder_f64(x, y)
#define nextafter(x, y) br_next_f64(x, y)
#endif

#define BR_COUNTS(T, U, W)                                                                         \
    BR_FN T br_clz_##T(T x) { return x == 0 ? W : (T)(__builtin_clzll((u64)(U)x) - (64 - W)); }    \
    BR_FN T br_popc_##T(T x) { return (T)__builtin_popcountll((u64)(U)x); }                        \
    BR_FN T br_ctz_##T(T x) { return x == 0 ? W : (T)__builtin_ctzll((u64)(U)x); }

/* Atomic at device scope, unordered. */
#define BR_ATOMIC(f, T, p, x)                                                                      \
    __hip_atomic_fetch_##f((T *)(p), x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define br_atomic_add_i32(p, x) BR_ATOMIC(add, i32, p, x)
#define br_atomic_and_u32(p, x) BR_ATOMIC(and, u32, p, x)
#define br_atomic_or_u32(p, x) BR_ATOMIC(or, u32, p, x)
#define br_atomic_xor_u32(p, x) BR_ATOMIC(xor, u32, p, x)
#define br_atomic_smin_i32(p, x) BR_ATOMIC(min, i32, p, x)
#define br_atomic_umin_u32(p, x) BR_ATOMIC(min, u32, p, x)
#define br_atomic_smax_i32(p, x) BR_ATOMIC(max, i32, p, x)
#define br_atomic_umax_u32(p, x) BR_ATOMIC(max, u32, p, x)
#define br_atomic_add_i64(p, x) BR_ATOMIC(add, i64, p, x)
#define br_atomic_and_u64(p, x) BR_ATOMIC(and, u64, p, x)
#define br_atomic_or_u64(p, x) BR_ATOMIC(or, u64, p, x)
#define br_atomic_xor_u64(p, x) BR_ATOMIC(xor, u64, p, x)
#define br_atomic_smin_i64(p, x) BR_ATOMIC(min, i64, p, x)
#define br_atomic_umin_u64(p, x) BR_ATOMIC(min, u64, p, x)
#define br_atomic_smax_i64(p, x) BR_ATOMIC(max, i64, p, x)
#define br_atomic_umax_u64(p, x) BR_ATOMIC(max, u64, p, x)
#define br_lowest_i32(p, x) BR_ATOMIC(min, i32, p, x)
#define br_set_signal(p, x)                                                                        \
    __hip_atomic_store(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define br_publish(p, x)                                                                           \
    __hip_atomic_store(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define br_seen(p) __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define BR_SWAP(T)                                                                                 \
    BR_FN T br_atomic_swap_##T(volatile T *p, T before, T after) {                                 \
        __hip_atomic_compare_exchange_strong(                                                      \
            p, &before, after, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);      \
        return before;                                                                             \
    }
BR_SWAP(u32)
BR_SWAP(u64)

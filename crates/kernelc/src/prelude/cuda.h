/* CUDA C++: the target-specific part of the prelude for kernels. The files for other targets
   define the same names.

   BR_HAS_F64, BR_ATOMICS_64 and BR_VALUES are defined before it, as the program needs them. The
   compiler options request neither contraction nor fast mathematics, and correctly rounded
   quotients and roots. */

#ifdef __FAST_MATH__
#error "fast math changes results; compile without --use_fast_math"
#endif

/* No program calls all of the prelude. */
#pragma nv_diag_suppress 177

#define BR_KERNEL(threads) extern "C" __global__ __launch_bounds__(threads)
#define BR_GLOBAL
#define BR_LOCAL
#define BR_SHARED __shared__
#define BR_TABLE static __device__ const
#define BR_BLOCK ((i64)blockIdx.x)
#define BR_THREAD ((i64)threadIdx.x)
#define BR_BARRIER __syncthreads();
#define BR_END
/* For subgroups of at most 32 threads: they lie within one warp, in lock-step or not. */
#define BR_GROUP_BARRIER __syncwarp();
/* Orders a thread's earlier writes before its later writes, and its earlier reads before its
   later reads, for the whole device. A weaker fence is used where it is available. */
#if __CUDA_ARCH__ >= 700
#define BR_FENCE asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
#define BR_FENCE __threadfence();
#endif
#define BR_FN static __device__ __forceinline__
/* The compiler does not assume that pointers to different types do not alias. */
#define BR_ALIAS
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
extern __shared__ u64 br_dynamic_shared[];
#endif
#define BR_DYNAMIC_SHARED(name) u64 name
#define BR_DYNAMIC_SHARED_AT(name) ((unsigned char *)br_dynamic_shared + name)

BR_FN u32 br_bits_f32(f32 x) { return __float_as_uint(x); }
BR_FN f32 br_f32_from(u32 bits) { return __uint_as_float(bits); }
BR_FN f32 br_fma_f32(f32 x, f32 y, f32 z) { return __fmaf_rn(x, y, z); }
BR_FN f32 br_quotient_f32(f32 x, f32 y) { return __fdiv_rn(x, y); }
BR_FN f32 br_root_f32(f32 x) { return __fsqrt_rn(x); }
/* With these instructions -0.0 lies below 0.0; constant folding of `fminf` may return either
   zero. */
#define BR_OWN_LEAST_AND_MOST
#define BR_LEAST_OR_MOST(T, op, R)                                                                 \
    BR_FN T br_f##op##_##T(T x, T y) {                                                             \
        T z;                                                                                       \
        asm(#op "." #T " %0, %1, %2;" : "=" R(z) : R(x), R(y));                                    \
        return z;                                                                                  \
    }
BR_LEAST_OR_MOST(f32, min, "f")
BR_LEAST_OR_MOST(f32, max, "f")
#ifdef BR_HAS_F64
BR_FN u64 br_bits_f64(f64 x) { return (u64)__double_as_longlong(x); }
BR_FN f64 br_f64_from(u64 bits) { return __longlong_as_double((i64)bits); }
BR_FN f64 br_fma_f64(f64 x, f64 y, f64 z) { return __fma_rn(x, y, z); }
BR_FN f64 br_quotient_f64(f64 x, f64 y) { return __ddiv_rn(x, y); }
BR_FN f64 br_root_f64(f64 x) { return __dsqrt_rn(x); }
BR_LEAST_OR_MOST(f64, min, "d")
BR_LEAST_OR_MOST(f64, max, "d")
#endif

#define BR_COUNTS(T, U, W)                                                                         \
    BR_FN T br_clz_##T(T x) { return (T)(__clzll((i64)(u64)(U)x) - (64 - W)); }                    \
    BR_FN T br_popc_##T(T x) { return (T)__popcll((u64)(U)x); }                                    \
    BR_FN T br_ctz_##T(T x) { return x == 0 ? W : (T)(__ffsll((i64)(u64)(U)x) - 1); }

#define br_atomic_add_i32(p, x) atomicAdd((i32 *)(p), x)
#define br_atomic_and_u32(p, x) atomicAnd((u32 *)(p), x)
#define br_atomic_or_u32(p, x) atomicOr((u32 *)(p), x)
#define br_atomic_xor_u32(p, x) atomicXor((u32 *)(p), x)
#define br_atomic_smin_i32(p, x) atomicMin((i32 *)(p), x)
#define br_atomic_umin_u32(p, x) atomicMin((u32 *)(p), x)
#define br_atomic_smax_i32(p, x) atomicMax((i32 *)(p), x)
#define br_atomic_umax_u32(p, x) atomicMax((u32 *)(p), x)
#define br_atomic_swap_u32(p, before, after) atomicCAS((u32 *)(p), before, after)
#define br_atomic_add_i64(p, x) ((i64)atomicAdd((u64 *)(p), (u64)(x)))
#define br_atomic_and_u64(p, x) atomicAnd((u64 *)(p), x)
#define br_atomic_or_u64(p, x) atomicOr((u64 *)(p), x)
#define br_atomic_xor_u64(p, x) atomicXor((u64 *)(p), x)
#define br_atomic_smin_i64(p, x) atomicMin((i64 *)(p), x)
#define br_atomic_umin_u64(p, x) atomicMin((u64 *)(p), x)
#define br_atomic_smax_i64(p, x) atomicMax((i64 *)(p), x)
#define br_atomic_umax_u64(p, x) atomicMax((u64 *)(p), x)
#define br_atomic_swap_u64(p, before, after) atomicCAS((u64 *)(p), before, after)
#define br_lowest_i32(p, x) atomicMin((i32 *)(p), x)
#define br_set_signal(p, x) atomicExch((i32 *)(p), x)
#define br_publish(p, x) (*(p) = (x))
#define br_seen(p) (*(p))

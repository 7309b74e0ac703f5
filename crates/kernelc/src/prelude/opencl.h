/* OpenCL C 1.2: the target-specific part of the prelude for kernels. The files for other targets
   define the same names.

   BR_HAS_F64, BR_ATOMICS_64 and BR_VALUES are defined before it, as the program needs them;
   BR_ROUNDED is defined if the compiler rounds quotients and roots of singles correctly. */

#pragma OPENCL FP_CONTRACT OFF
#ifdef BR_HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef BR_ATOMICS_64
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif
#ifdef __FAST_RELAXED_MATH__
#error "fast math changes results; compile without -cl-fast-relaxed-math"
#endif

#define BR_KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1)))
#define BR_GLOBAL __global
#define BR_LOCAL __local
#define BR_SHARED __local
#define BR_TABLE __constant
/* A parameter for an array in shared memory, of a size that the launch gives, and its address. */
#define BR_DYNAMIC_SHARED(name) __local ulong *name
#define BR_DYNAMIC_SHARED_AT(name) (name)
#define BR_BLOCK ((i64)get_group_id(0))
#define BR_THREAD ((i64)get_local_id(0))
/* PoCL's optimiser merges barriers with which two branches begin or end, and then uses the
   control flow of a block's first thread through neighbouring loops for all threads. It does not
   merge barriers that differ. */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define BR_APART __asm__ volatile("" ::"i"(__COUNTER__));
#else
#define BR_APART
#endif
#define BR_BARRIER BR_APART barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
/* Where a kernel with barriers may return before them, PoCL 3.1 uses the control flow of the
   first thread to the last exit for all threads, unless all reach a barrier there. */
#define BR_END BR_BARRIER
/* OpenCL C 1.2 has no barrier for part of a block. */
#define BR_GROUP_BARRIER BR_BARRIER
/* Orders a thread's earlier accesses before its later ones, for the whole device. The language's
   own fence is only guaranteed within a block. */
#if defined(__NV_CL_C_VERSION)
#define BR_FENCE asm volatile("membar.gl;" ::: "memory");
#elif defined(__clang__)
#define BR_FENCE __atomic_thread_fence(__ATOMIC_SEQ_CST);
#else
#define BR_FENCE mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#endif
#define BR_FN static inline
#ifdef __clang__
#define BR_ALIAS __attribute__((may_alias))
#define BR_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define BR_ALIAS
#define BR_UNLIKELY(x) (x)
#endif

typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef ushort f16;
typedef float f32;
#ifdef BR_HAS_F64
typedef double f64;
#endif

BR_FN u32 br_bits_f32(f32 x) { return as_uint(x); }
BR_FN f32 br_f32_from(u32 bits) { return as_float(bits); }
BR_FN f32 br_fma_f32(f32 x, f32 y, f32 z) { return fma(x, y, z); }
#if defined(BR_HAS_F64) && !defined(BR_ROUNDED)
/* A double has enough bits that rounding twice equals rounding once. */
BR_FN f32 br_quotient_f32(f32 x, f32 y) { return (f32)((double)x / (double)y); }
BR_FN f32 br_root_f32(f32 x) { return (f32)sqrt((double)x); }
#else
BR_FN f32 br_quotient_f32(f32 x, f32 y) { return x / y; }
BR_FN f32 br_root_f32(f32 x) { return sqrt(x); }
#endif
#ifdef BR_HAS_F64
BR_FN u64 br_bits_f64(f64 x) { return as_ulong(x); }
BR_FN f64 br_f64_from(u64 bits) { return as_double(bits); }
BR_FN f64 br_fma_f64(f64 x, f64 y, f64 z) { return fma(x, y, z); }
BR_FN f64 br_quotient_f64(f64 x, f64 y) { return x / y; }
BR_FN f64 br_root_f64(f64 x) { return sqrt(x); }
#endif

/* OpenCL's functions have the same name for all widths. */
#define fabsf fabs
#define floorf floor
#define ceilf ceil
#define rintf rint
#define truncf trunc
#define fmodf fmod
#define copysignf copysign
#define nextafterf nextafter

#define BR_COUNTS(T, U, W)                                                                         \
    BR_FN T br_clz_##T(T x) { return (T)clz((U)x); }                                               \
    BR_FN T br_popc_##T(T x) { return (T)popcount((U)x); }                                         \
    BR_FN T br_ctz_##T(T x) { return x == 0 ? W : (T)popcount((U)(((U)x & (0 - (u64)(U)x)) - 1)); }

#define br_atomic_add_i32 atomic_add
#define br_atomic_and_u32 atomic_and
#define br_atomic_or_u32 atomic_or
#define br_atomic_xor_u32 atomic_xor
#define br_atomic_smin_i32 atomic_min
#define br_atomic_umin_u32 atomic_min
#define br_atomic_smax_i32 atomic_max
#define br_atomic_umax_u32 atomic_max
#define br_atomic_swap_u32 atomic_cmpxchg
#define br_atomic_add_i64 atom_add
#define br_atomic_and_u64 atom_and
#define br_atomic_or_u64 atom_or
#define br_atomic_xor_u64 atom_xor
#define br_atomic_smin_i64 atom_min
#define br_atomic_umin_u64 atom_min
#define br_atomic_smax_i64 atom_max
#define br_atomic_umax_u64 atom_max
#define br_atomic_swap_u64 atom_cmpxchg
#define br_lowest_i32 atomic_min
#define br_set_signal(p, x) atomic_xchg(p, x)
/* Aligned 64-bit words are read and written atomically by devices with 64-bit addresses. */
#define br_publish(p, x) (*(p) = (x))
#define br_seen(p) (*(p))

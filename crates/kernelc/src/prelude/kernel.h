/* The part of the prelude that kernels of all targets share: elements of blocks, signals, and
   failures: how they are recorded, and how threads of a block stop that wait at barriers. */

/* Accesses to blocks may alias. */
typedef i8 BR_ALIAS i8_m;
typedef i16 BR_ALIAS i16_m;
typedef i32 BR_ALIAS i32_m;
typedef i64 BR_ALIAS i64_m;
typedef f16 BR_ALIAS f16_m;
typedef f32 BR_ALIAS f32_m;
typedef u8 BR_ALIAS bool_m;
#ifdef BR_HAS_F64
typedef f64 BR_ALIAS f64_m;
#endif

/* The number, from 1, of the first check that failed, and the words of its message. */
typedef struct {
    volatile i32 check;
    i32 unused;
    u64 values[BR_VALUES];
} br_ctx;

/* Records a failing check; true if it is the first, which records its message, too. */
BR_FN bool br_is_first(BR_GLOBAL br_ctx *ctx, i32 check) {
    return br_atomic_swap_u32((volatile BR_GLOBAL u32 *)&ctx->check, 0u, (u32)check) == 0u;
}

/* Release and acquire: a signal is written after all earlier accesses of its thread; BR_FENCE
   precedes the accesses of a thread that has seen it. */
BR_FN void br_signal(volatile BR_GLOBAL i32 *at, i32 value) {
    BR_FENCE
    br_set_signal(at, value);
}

/* A kernel returns at once if an earlier one has failed. */
#define BR_UNLESS_FAILED if (ctx->check != 0) return;

/* For a kernel with barriers whose threads may fail. br_stop is the number of barriers that the
   first failing thread of the block had passed. All threads see the same earlier failures.
   br_goes_on is read after the last barrier, if at all: it is read here, too, as compilers warn
   of unused variables. */
#define BR_STOPPING                                                                                \
    BR_SHARED volatile i32 br_stop;                                                                \
    i32 br_seen = 0;                                                                               \
    bool br_goes_on = true;                                                                        \
    if (BR_THREAD == 0) br_stop = ctx->check == 0 ? 0x7fffffff : -1;                               \
    BR_BARRIER                                                                                     \
    if (!br_goes_on || br_stop < 0) return;
#define BR_LEAVE                                                                                   \
    br_goes_on = false;                                                                            \
    br_lowest_i32(&br_stop, br_seen);
#define BR_BARRIER_OR_STOP                                                                         \
    BR_BARRIER                                                                                     \
    br_seen++;                                                                                     \
    if (br_stop < br_seen) br_goes_on = false;

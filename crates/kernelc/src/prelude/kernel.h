/* What kernels have whatever the target: elements of blocks, signals, and how kernels fail:
   where that is noted, and how threads of a block stop that wait for each other. */

/* Blocks hold elements of one type after another, so these may alias. */
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

/* The number of the check that failed first, from 1, and the words of its message. */
typedef struct {
    volatile i32 check;
    i32 unused;
    u64 values[BR_VALUES];
} br_ctx;

/* Notes that a check fails; whether it is the first, whose message is wanted. */
BR_FN bool br_is_first(BR_GLOBAL br_ctx *ctx, i32 check) {
    return br_atomic_swap_u32((volatile BR_GLOBAL u32 *)&ctx->check, 0u, (u32)check) == 0u;
}

/* A signal stands behind all that its thread has done; BR_FENCE before what one does that has
   seen it. */
BR_FN void br_signal(volatile BR_GLOBAL i32 *at, i32 value) {
    BR_FENCE
    br_set_signal(at, value);
}

/* A kernel does nothing where an earlier one has failed. */
#define BR_UNLESS_FAILED if (ctx->check != 0) return;

/* In a kernel whose threads wait for each other, and fail: how many barriers the first of
   its block that failed had seen. All see the same of what failed before. What stands behind
   the last barrier, if anything, asks whether the thread goes on: it is asked here, too, as
   compilers warn of what nobody reads. */
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

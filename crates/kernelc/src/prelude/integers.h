/* Operators on integers that C lacks, or does not define for all operands. Division by zero
   gives some number (checks precede it); shifts by the width or more shift out all bits. */

#define BR_INTEGERS(T, U, W)                                                                       \
    BR_FN T br_safe_##T(T x, T y) {                                                                \
        return y == 0 || (y == -1 && x == (T)((U)1 << (W - 1))) ? 1 : y;                           \
    }                                                                                              \
    BR_FN T br_squot_##T(T x, T y) { return (T)(x / br_safe_##T(x, y)); }                          \
    BR_FN T br_srem_##T(T x, T y) { return (T)(x % br_safe_##T(x, y)); }                           \
    BR_FN T br_sdiv_##T(T x, T y) {                                                                \
        y = br_safe_##T(x, y);                                                                     \
        T rest = (T)(x % y);                                                                       \
        return (T)(x / y - (rest != 0 && (rest < 0) != (y < 0)));                                  \
    }                                                                                              \
    BR_FN T br_smod_##T(T x, T y) {                                                                \
        y = br_safe_##T(x, y);                                                                     \
        T rest = (T)(x % y);                                                                       \
        return rest != 0 && (rest < 0) != (y < 0) ? (T)(rest + y) : rest;                          \
    }                                                                                              \
    BR_FN T br_udiv_##T(T x, T y) { return (T)((U)x / (U)(y == 0 ? 1 : y)); }                      \
    BR_FN T br_umod_##T(T x, T y) { return (T)((U)x % (U)(y == 0 ? 1 : y)); }                      \
    BR_FN T br_smin_##T(T x, T y) { return x < y ? x : y; }                                        \
    BR_FN T br_smax_##T(T x, T y) { return x > y ? x : y; }                                        \
    BR_FN T br_umin_##T(T x, T y) { return (U)x < (U)y ? x : y; }                                  \
    BR_FN T br_umax_##T(T x, T y) { return (U)x > (U)y ? x : y; }                                  \
    BR_FN T br_shl_##T(T x, T y) { return (U)y < W ? (T)((u64)(U)x << (U)y) : 0; }                 \
    BR_FN T br_lshr_##T(T x, T y) { return (U)y < W ? (T)((U)x >> (U)y) : 0; }                     \
    BR_FN T br_ashr_##T(T x, T y) { return (T)(x >> ((U)y < W ? (U)y : W - 1)); }                  \
    BR_FN T br_pow_##T(T x, T y) {                                                                 \
        u64 base = (U)x, power = 1;                                                                \
        for (U left = (U)y; left != 0; left = (U)(left >> 1)) {                                    \
            if (left & 1) power *= base;                                                           \
            base *= base;                                                                          \
        }                                                                                          \
        return (T)power;                                                                           \
    }                                                                                              \
    BR_FN T br_abs_##T(T x) { return x < 0 ? (T)(0 - (u64)x) : x; }                                \
    BR_FN T br_ssignum_##T(T x) { return (T)((x > 0) - (x < 0)); }                                 \
    BR_FN T br_usignum_##T(T x) { return x != 0; }

#if defined(BR_COUNTS)
#elif defined(__GNUC__)
#define BR_COUNTS(T, U, W)                                                                         \
    BR_FN T br_clz_##T(T x) { return x == 0 ? W : (T)(__builtin_clzll((u64)(U)x) - (64 - W)); }    \
    BR_FN T br_ctz_##T(T x) { return x == 0 ? W : (T)__builtin_ctzll((u64)(U)x); }                 \
    BR_FN T br_popc_##T(T x) { return (T)__builtin_popcountll((u64)(U)x); }
#else
#define BR_COUNTS(T, U, W)                                                                         \
    BR_FN T br_clz_##T(T x) {                                                                      \
        T count = W;                                                                               \
        for (U left = (U)x; left != 0; left = (U)(left >> 1)) count--;                             \
        return count;                                                                              \
    }                                                                                              \
    BR_FN T br_popc_##T(T x) {                                                                     \
        T count = 0;                                                                               \
        for (U left = (U)x; left != 0; left = (U)(left & (left - 1u))) count++;                    \
        return count;                                                                              \
    }                                                                                              \
    BR_FN T br_ctz_##T(T x) {                                                                      \
        T count = 0;                                                                               \
        for (U left = (U)x; left != 0 && (left & 1) == 0; left = (U)(left >> 1)) count++;          \
        return x == 0 ? W : count;                                                                 \
    }
#endif

BR_INTEGERS(i8, u8, 8)
BR_INTEGERS(i16, u16, 16)
BR_INTEGERS(i32, u32, 32)
BR_INTEGERS(i64, u64, 64)
BR_COUNTS(i8, u8, 8)
BR_COUNTS(i16, u16, 16)
BR_COUNTS(i32, u32, 32)
BR_COUNTS(i64, u64, 64)

/* Operators on floats that C lacks, or that differ in corner cases. Half precision is widened:
   sums and products of halves are rounded once to singles, which have enough bits that rounding
   twice equals rounding once. */

/* -0.0 lies below 0.0; if one operand is a NaN, the result is the other. Targets with operators
   of their own define BR_OWN_LEAST_AND_MOST. */
#define BR_LEAST_AND_MOST(T)                                                                       \
    BR_FN T br_fmin_##T(T x, T y) {                                                                \
        return y != y || x < y || (x == y && signbit(x)) ? x : y;                                  \
    }                                                                                              \
    BR_FN T br_fmax_##T(T x, T y) {                                                                \
        return y != y || x > y || (x == y && !signbit(x)) ? x : y;                                 \
    }
#ifndef BR_OWN_LEAST_AND_MOST
BR_LEAST_AND_MOST(f32)
#ifdef BR_HAS_F64
BR_LEAST_AND_MOST(f64)
#endif
#endif
BR_FN f32 br_fsignum_f32(f32 x) { return x != x ? x : x == 0 ? 0 : copysignf(1.0f, x); }
#ifdef BR_HAS_F64
BR_FN f64 br_fsignum_f64(f64 x) { return x != x ? x : x == 0 ? 0 : copysign(1.0, x); }
#endif

BR_FN f32 br_fneg_f32(f32 x) { return br_f32_from(br_bits_f32(x) ^ 0x80000000u); }
BR_FN f32 br_fabs_f32(f32 x) { return fabsf(x); }
BR_FN f32 br_ffloor_f32(f32 x) { return floorf(x); }
BR_FN f32 br_fceil_f32(f32 x) { return ceilf(x); }
BR_FN f32 br_fround_f32(f32 x) { return rintf(x); }
BR_FN f32 br_ftrunc_f32(f32 x) { return truncf(x); }
BR_FN f32 br_fsqrt_f32(f32 x) { return br_root_f32(x); }
BR_FN f32 br_fmod_f32(f32 x, f32 y) { return fmodf(x, y); }
#ifdef BR_HAS_F64
BR_FN f64 br_fneg_f64(f64 x) { return br_f64_from(br_bits_f64(x) ^ 0x8000000000000000u); }
BR_FN f64 br_fabs_f64(f64 x) { return fabs(x); }
BR_FN f64 br_ffloor_f64(f64 x) { return floor(x); }
BR_FN f64 br_fceil_f64(f64 x) { return ceil(x); }
BR_FN f64 br_fround_f64(f64 x) { return rint(x); }
BR_FN f64 br_ftrunc_f64(f64 x) { return trunc(x); }
BR_FN f64 br_fsqrt_f64(f64 x) { return br_root_f64(x); }
BR_FN f64 br_fmod_f64(f64 x, f64 y) { return fmod(x, y); }
#endif

/* Truncation towards zero; saturates to the range; 0 for infinities and NaNs. Negative numbers
   are converted to unsigned types by way of the signed type. Numbers are converted to the widest
   float type first. */
#ifdef BR_HAS_F64
typedef f64 br_widest;
#else
typedef f32 br_widest;
#endif
#define BR_FROM_FLOAT(T, U, BOUND)                                                                 \
    BR_FN T br_fptosi_##T(br_widest x) {                                                           \
        if (!(x - x == 0)) return 0;                                                               \
        if (x >= BOUND) return (T)((U)~(U)0 >> 1);                                                 \
        return x < -BOUND ? (T)((U)1 << (8 * sizeof(T) - 1)) : (T)x;                               \
    }                                                                                              \
    BR_FN T br_fptoui_##T(br_widest x) {                                                           \
        if (x < 0 || !(x - x == 0)) return br_fptosi_##T(x);                                       \
        return x >= 2 * BOUND ? (T)-1 : (T)(U)x;                                                   \
    }
BR_FROM_FLOAT(i8, u8, 0x1p7f)
BR_FROM_FLOAT(i16, u16, 0x1p15f)
BR_FROM_FLOAT(i32, u32, 0x1p31f)
BR_FROM_FLOAT(i64, u64, 0x1p63f)

BR_FN f32 br_wide(f16 h) {
    u32 sign = (u32)(h & 0x8000u) << 16, exponent = (u32)h >> 10 & 31u, fraction = h & 1023u;
    if (exponent == 31) {
        u32 quiet = fraction != 0 ? 0x400000u : 0;
        return br_f32_from(sign | 0x7f800000u | quiet | fraction << 13);
    }
    if (exponent == 0) {
        return br_f32_from(sign | br_bits_f32((f32)fraction * 0x1p-24f));
    }
    return br_f32_from(sign | (exponent + 112u) << 23 | fraction << 13);
}
BR_FN f16 br_half(f32 x) {
    u32 bits = br_bits_f32(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return (f16)(sign | 0x7e00u | (size >> 13 & 0x3ffu));
    if (size >= 0x477ff000u) return (f16)(sign | 0x7c00u);
    if (size >= 0x38800000u) {
        return (f16)(sign | (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13);
    }
    f32 units = br_f32_from(size) * 0x1p24f;
    return (f16)(sign | (u32)((units + 0x1p23f) - 0x1p23f));
}
#ifdef BR_HAS_F64
/* By way of a single that is rounded to odd, so that the result is rounded only once. */
BR_FN f16 br_half_of_f64(f64 x) {
    f32 near = (f32)x;
    f64 back = near;
    u32 bits = br_bits_f32(near);
    if (x == x && back != x) bits = (bits - (fabs(x) < fabs(back))) | 1u;
    return br_half(br_f32_from(bits));
}
BR_FN f16 br_fma_f16(f16 x, f16 y, f16 z) {
    f64 product = (f64)br_wide(x) * (f64)br_wide(y);
    return br_half_of_f64(product + (f64)br_wide(z));
}

/* 2 to the power of j / 8, where j is the last three bits. */
BR_TABLE f64 br_eighths[8] = {
EIGHTHS};
BR_FN f64 br_exp2_eighths(f64 x) { return br_eighths[br_bits_f64(x) & 7u]; }
#endif

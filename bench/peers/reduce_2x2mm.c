/* 42 rounds of products of 2x2 matrices of bytes.  The product of a thread's
 * elements is that of LANES parts, computed in parallel in vector registers. */
#include "peer.h"

#define LANES 16
#define MAX_THREADS 1024

static int32_t *a;
static int64_t n;
static int32_t result;

typedef struct {
    uint32_t p, q, r, s; /* only the lowest byte of each is used */
} matrix;

static void prepare(void) { a = read_i32s(&n); }

static matrix unpack(uint32_t x) { return (matrix){x >> 24, x >> 16, x >> 8, x}; }

static uint32_t pack(matrix m) {
    return m.p << 24 | (m.q & 255) << 16 | (m.r & 255) << 8 | (m.s & 255);
}

static matrix multiply(matrix x, matrix y) {
    return (matrix){x.p * y.p + x.q * y.r, x.p * y.q + x.q * y.s,
                    x.r * y.p + x.s * y.r, x.r * y.q + x.s * y.s};
}

static const matrix identity = {1, 0, 0, 1};

static matrix product(const int32_t *xs, int64_t count, uint32_t shift) {
    int64_t part = count / LANES;
    uint32_t p[LANES], q[LANES], r[LANES], s[LANES];
    for (int k = 0; k < LANES; k++) p[k] = s[k] = 1, q[k] = r[k] = 0;
    for (int64_t j = 0; j < part; j++) {
#pragma omp simd
        for (int k = 0; k < LANES; k++) {
            uint32_t x = (uint32_t)xs[k * part + j] + shift;
            uint32_t a11 = x >> 24, a12 = x >> 16 & 255, a21 = x >> 8 & 255, a22 = x & 255;
            uint32_t p2 = p[k] * a11 + q[k] * a21, q2 = p[k] * a12 + q[k] * a22;
            uint32_t r2 = r[k] * a11 + s[k] * a21, s2 = r[k] * a12 + s[k] * a22;
            p[k] = p2, q[k] = q2, r[k] = r2, s[k] = s2;
        }
    }
    matrix m = identity;
    for (int k = 0; k < LANES; k++) m = multiply(m, (matrix){p[k], q[k], r[k], s[k]});
    for (int64_t j = part * LANES; j < count; j++)
        m = multiply(m, unpack((uint32_t)xs[j] + shift));
    return m;
}

static void compute(void) {
    uint32_t shift = 1;
    matrix parts[MAX_THREADS];
    for (int round = 0; round < 42; round++) {
        int threads = 1;
#pragma omp parallel if (n >= PARALLEL_FROM)
        {
            int t = omp_get_thread_num(), all = omp_get_num_threads();
            int64_t from = n * t / all, to = n * (t + 1) / all;
            parts[t] = product(a + from, to - from, shift);
#pragma omp master
            threads = all;
        }
        matrix m = identity;
        for (int t = 0; t < threads; t++) m = multiply(m, parts[t]);
        shift = pack(m);
    }
    result = (int32_t)shift;
}

static void finish(void) { write_i32(result); }

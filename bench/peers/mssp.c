/* Maximum segment sum.  As in reduce_2x2mm.c, the elements of a thread are LANES
 * parts in parallel. */
#include "peer.h"

#define LANES 16
#define MAX_THREADS 1024

static int32_t *a;
static int64_t n;
static int32_t result;

/* Best segment, best prefix, best suffix, sum. */
typedef struct {
    int32_t best, left, right, sum;
} segment;

static void prepare(void) { a = read_i32s(&n); }

static int32_t larger(int32_t x, int32_t y) { return x > y ? x : y; }

static segment join(segment x, segment y) {
    return (segment){larger(larger(x.best, y.best), x.right + y.left),
                     larger(x.left, x.sum + y.left), larger(y.right, x.right + y.sum),
                     x.sum + y.sum};
}

static segment single(int32_t x) {
    int32_t top = larger(x, 0);
    return (segment){top, top, top, x};
}

static segment reduce_range(const int32_t *xs, int64_t count) {
    int64_t part = count / LANES;
    int32_t best[LANES] = {0}, left[LANES] = {0}, right[LANES] = {0}, sum[LANES] = {0};
    for (int64_t j = 0; j < part; j++) {
#pragma omp simd
        for (int k = 0; k < LANES; k++) {
            int32_t x = xs[k * part + j];
            right[k] = larger(right[k] + x, 0);
            best[k] = larger(best[k], right[k]);
            sum[k] += x;
            left[k] = larger(left[k], sum[k]);
        }
    }
    segment s = {0, 0, 0, 0};
    for (int k = 0; k < LANES; k++)
        s = join(s, (segment){best[k], left[k], right[k], sum[k]});
    for (int64_t j = part * LANES; j < count; j++) s = join(s, single(xs[j]));
    return s;
}

static void compute(void) {
    segment parts[MAX_THREADS];
    int threads = 1;
#pragma omp parallel if (n >= PARALLEL_FROM)
    {
        int t = omp_get_thread_num(), all = omp_get_num_threads();
        int64_t from = n * t / all, to = n * (t + 1) / all;
        parts[t] = reduce_range(a + from, to - from);
#pragma omp master
        threads = all;
    }
    segment s = {0, 0, 0, 0};
    for (int t = 0; t < threads; t++) s = join(s, parts[t]);
    result = s.best;
}

static void finish(void) { write_i32(result); }

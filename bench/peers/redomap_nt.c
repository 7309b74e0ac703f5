/* Three reductions and two mapped arrays in one pass.  The results use the same
 * memory in every run. */
#include "peer.h"

static float a, b, *v, *w;
static int64_t n;
static float total, least, most;

static void prepare(void) {
    a = read_f32();
    b = read_f32();
    n = read_i64();
    v = allocate(n * sizeof *v);
    w = allocate(n * sizeof *w);
}

static void compute(void) {
    float t0 = 0, t1 = INFINITY, t2 = -INFINITY;
#pragma omp parallel for simd reduction(+ : t0) reduction(min : t1) reduction(max : t2) \
    if (n >= PARALLEL_FROM)
    for (int64_t i = 0; i < n; i++) {
        float x = 1 / (1 + (float)i * a);
        float y = expf(-b * x);
        t0 += x + y;
        t1 = x < t1 ? x : t1;
        t2 = y > t2 ? y : t2;
        v[i] = expf(x * a);
        w[i] = y / (y + b);
    }
    total = t0, least = t1, most = t2;
}

static void finish(void) {
    write_f32(total);
    write_f32(least);
    write_f32(most);
    write_f32s(n, v);
    write_f32s(n, w);
}

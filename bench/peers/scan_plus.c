/* Prefix sums: the sum of each thread's elements, then their prefix sums.  The
 * result uses the same memory in every run. */
#include "peer.h"

#define MAX_THREADS 1024

static int32_t *a, *out;
static int64_t n;

static void prepare(void) {
    a = read_i32s(&n);
    out = allocate(n * sizeof *out);
}

static void scan(int64_t from, int64_t to, uint32_t before) {
    uint32_t sum = before;
#pragma omp simd reduction(inscan, + : sum)
    for (int64_t i = from; i < to; i++) {
        sum += (uint32_t)a[i];
#pragma omp scan inclusive(sum)
        out[i] = (int32_t)sum;
    }
}

static void compute(void) {
    if (n < PARALLEL_FROM || omp_get_max_threads() == 1) {
        scan(0, n, 0);
        return;
    }
    uint32_t sums[MAX_THREADS];
#pragma omp parallel
    {
        int t = omp_get_thread_num(), all = omp_get_num_threads();
        int64_t from = n * t / all, to = n * (t + 1) / all;
        uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = from; i < to; i++) sum += (uint32_t)a[i];
        sums[t] = sum;
#pragma omp barrier
        uint32_t before = 0;
        for (int k = 0; k < t; k++) before += sums[k];
        scan(from, to, before);
    }
}

static void finish(void) { write_i32s(n, out); }

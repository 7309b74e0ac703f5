/* Sum of integers. */
#include "peer.h"

static int32_t *a;
static int64_t n;
static uint32_t total;

static void prepare(void) { a = read_i32s(&n); }

static void compute(void) {
    uint32_t sum = 0;
#pragma omp parallel for simd reduction(+ : sum) if (n >= PARALLEL_FROM)
    for (int64_t i = 0; i < n; i++) sum += (uint32_t)a[i];
    total = sum;
}

static void finish(void) { write_i32((int32_t)total); }

/* Largest element. */
#include "peer.h"

static int32_t *a;
static int64_t n;
static int32_t largest;

static void prepare(void) { a = read_i32s(&n); }

static void compute(void) {
    int32_t most = INT32_MIN;
#pragma omp parallel for simd reduction(max : most) if (n >= PARALLEL_FROM)
    for (int64_t i = 0; i < n; i++) most = a[i] > most ? a[i] : most;
    largest = most;
}

static void finish(void) { write_i32(largest); }

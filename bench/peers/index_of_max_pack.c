/* Position of the largest element, by the maximum of integers with the value in
 * the upper half and the inverted index in the lower half. */
#include "peer.h"

static int32_t *a;
static int64_t n;
static int32_t position;

static void prepare(void) { a = read_i32s(&n); }

static void compute(void) {
    int64_t most = INT64_MIN | (uint32_t)~INT32_MAX;
#pragma omp parallel for simd reduction(max : most) if (n >= PARALLEL_FROM)
    for (int64_t i = 0; i < n; i++) {
        int64_t key = (int64_t)((uint64_t)a[i] << 32) | (uint32_t)~i;
        most = key > most ? key : most;
    }
    position = ~(int32_t)most;
}

static void finish(void) { write_i32(position); }

/* Position of the largest element: the largest element of each block (in vector
 * registers), then a search in the first block with the overall largest. */
#include "peer.h"

#define BLOCK 4096

static int32_t *a;
static int64_t n;
static int64_t position;

static void prepare(void) { a = read_i32s(&n); }

static int32_t block_max(const int32_t *xs, int64_t count) {
    int32_t most = INT32_MIN;
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < count; i++) most = xs[i] > most ? xs[i] : most;
    return most;
}

static void compute(void) {
    int64_t blocks = (n + BLOCK - 1) / BLOCK;
    int32_t most = INT32_MIN;
    int64_t where = -1;
#pragma omp parallel if (n >= PARALLEL_FROM)
    {
        int32_t own_most = INT32_MIN;
        int64_t own_where = -1;
#pragma omp for schedule(static) nowait
        for (int64_t b = 0; b < blocks; b++) {
            int64_t start = b * BLOCK, count = n - start < BLOCK ? n - start : BLOCK;
            int32_t m = block_max(a + start, count);
            if (m > own_most || own_where < 0) own_most = m, own_where = start;
        }
#pragma omp critical
        if (own_where >= 0 &&
            (where < 0 || own_most > most || (own_most == most && own_where < where)))
            most = own_most, where = own_where;
    }
    if (where < 0) {
        position = INT32_MAX;
        return;
    }
    while (a[where] != most) where++;
    position = where;
}

static void finish(void) { write_i32((int32_t)position); }

/* A mathematical function over many rounds of a block, with a sum of the results, by
 * the C library's vector functions.  Built once for each function with
 *   -DFUNCTION=expf -DREAL=float -DTYPE='" f32"' [-DARGUMENTS=2] -Ofast
 */
#include "peer.h"

#ifndef ARGUMENTS
#define ARGUMENTS 1
#endif

static int64_t rounds, n;
static REAL *xs, *ys, total;

static void prepare(void) {
    rounds = read_i64();
    xs = read_value(TYPE, 1, sizeof(REAL), &n);
    if (ARGUMENTS == 2) ys = read_value(TYPE, 1, sizeof(REAL), &n);
}

static void compute(void) {
    REAL all = 0;
    for (int64_t r = 0; r < rounds; r++) {
        REAL small = (REAL)1e-6 * r, sum = 0;
        for (int64_t i = 0; i < n; i++)
#if ARGUMENTS == 2
            sum += FUNCTION(xs[i] + small, ys[i]);
#else
            sum += FUNCTION(xs[i] + small);
#endif
        all += sum;
    }
    total = all;
}

static void finish(void) { write_value(TYPE, 0, sizeof(REAL), 1, &total); }

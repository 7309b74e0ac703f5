/* Prefix sums, by Thrust. */
#include "peer.cuh"

#include <thrust/execution_policy.h>
#include <thrust/scan.h>

static std::int32_t *a, *sums;
static std::int64_t n;

static void prepare() {
    a = read_to_device<std::int32_t>(&n);
    sums = on_device<std::int32_t>(n);
}

static void compute() { thrust::inclusive_scan(thrust::device, a, a + n, sums); }

static void finish() { write_from_device<std::int32_t>({n}, sums); }

/* Position of the largest integer, the first of several, by Thrust's own algorithm. */
#include "peer.cuh"

#include <climits>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>

static std::int32_t *a, result;
static std::int64_t n;

static void prepare() { a = read_to_device<std::int32_t>(&n); }

static void compute() {
    result = INT_MAX;
    if (n > 0) result = (std::int32_t)(thrust::max_element(thrust::device, a, a + n) - a);
}

static void finish() { write_scalar(result); }

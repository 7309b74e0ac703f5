/* Largest integer, by Thrust. */
#include "peer.cuh"

#include <climits>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>

static std::int32_t *a, result;
static std::int64_t n;

static void prepare() { a = read_to_device<std::int32_t>(&n); }

static void compute() {
    result = thrust::reduce(thrust::device, a, a + n, INT_MIN, thrust::maximum<std::int32_t>());
}

static void finish() { write_scalar(result); }

/* The same with value and index in one word, by a Thrust reduction. */
#include "peer.cuh"

#include <climits>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform_reduce.h>

typedef std::int64_t word;

static std::int32_t *a, result;
static std::int64_t n;

struct Pack {
    const std::int32_t *a;
    __device__ word operator()(std::int64_t i) const { return (word)a[i] * (1LL << 32) | i; }
};

struct Larger {
    __host__ __device__ word operator()(word x, word y) const {
        std::int32_t xv = (std::int32_t)(x >> 32), yv = (std::int32_t)(y >> 32);
        if (xv != yv) return xv < yv ? y : x;
        return (std::int32_t)x < (std::int32_t)y ? x : y;
    }
};

static void prepare() { a = read_to_device<std::int32_t>(&n); }

static void compute() {
    word none = (word)INT_MIN * (1LL << 32) | INT_MAX;
    thrust::counting_iterator<std::int64_t> from(0);
    result = (std::int32_t)thrust::transform_reduce(
        thrust::device, from, from + n, Pack{a}, none, Larger());
}

static void finish() { write_scalar(result); }

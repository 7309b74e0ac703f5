/* Maximum segment sum.  The operator does not commute, so this is the last element of
 * a Thrust scan (see reduce_2x2mm.cu). */
#include "peer.cuh"

#include <thrust/execution_policy.h>
#include <thrust/transform_scan.h>

/* Best segment, best prefix, best suffix, sum. */
struct Segment {
    std::int32_t best, left, right, sum;
};

struct Single {
    __device__ Segment operator()(std::int32_t x) const {
        std::int32_t top = x > 0 ? x : 0;
        return {top, top, top, x};
    }
};

struct Join {
    static __host__ __device__ std::int32_t larger(std::int32_t x, std::int32_t y) {
        return x > y ? x : y;
    }
    __host__ __device__ Segment operator()(const Segment &x, const Segment &y) const {
        return {larger(larger(x.best, y.best), x.right + y.left), larger(x.left, x.sum + y.left),
                larger(y.right, x.right + y.sum), x.sum + y.sum};
    }
};

static std::int32_t *a;
static Segment *joined, last;
static std::int64_t n;

static void prepare() {
    a = read_to_device<std::int32_t>(&n);
    joined = on_device<Segment>(n);
}

static void compute() {
    last = {0, 0, 0, 0};
    if (n == 0) return;
    thrust::transform_inclusive_scan(thrust::device, a, a + n, joined, Single(), Join());
    check(cudaMemcpy(&last, joined + n - 1, sizeof last, cudaMemcpyDeviceToHost));
}

static void finish() { write_scalar(last.best); }

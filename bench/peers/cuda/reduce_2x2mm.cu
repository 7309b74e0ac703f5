/* Rounds of products of 2x2 matrices of bytes.  Neither Thrust's reductions nor CUB's take
 * operators that do not commute, so this is the last element of a scan. */
#include "peer.cuh"

#include <thrust/execution_policy.h>
#include <thrust/transform_scan.h>

static std::int32_t *a, *products, result;
static std::int64_t n;

struct Shift {
    std::int32_t by;
    __device__ std::int32_t operator()(std::int32_t x) const {
        return (std::int32_t)((std::uint32_t)x + (std::uint32_t)by);
    }
};

struct Multiply {
    __host__ __device__ std::int32_t operator()(std::int32_t left, std::int32_t right) const {
        std::uint32_t x = (std::uint32_t)left, y = (std::uint32_t)right;
        std::uint32_t x11 = x >> 24, x12 = x >> 16 & 255, x21 = x >> 8 & 255, x22 = x & 255;
        std::uint32_t y11 = y >> 24, y12 = y >> 16 & 255, y21 = y >> 8 & 255, y22 = y & 255;
        std::uint32_t z11 = x11 * y11 + x12 * y21, z12 = x11 * y12 + x12 * y22;
        std::uint32_t z21 = x21 * y11 + x22 * y21, z22 = x21 * y12 + x22 * y22;
        return (std::int32_t)(z11 << 24 | (z12 & 255) << 16 | (z21 & 255) << 8 | (z22 & 255));
    }
};

static void prepare() {
    a = read_to_device<std::int32_t>(&n);
    products = on_device<std::int32_t>(n);
}

static void compute() {
    std::int32_t s = 1;
    for (int round = 0; round < 42; round++) {
        std::int32_t last = 0x01000001;
        if (n > 0) {
            thrust::transform_inclusive_scan(
                thrust::device, a, a + n, products, Shift{s}, Multiply());
            check(cudaMemcpy(&last, products + n - 1, sizeof last, cudaMemcpyDeviceToHost));
        }
        s = last;
    }
    result = s;
}

static void finish() { write_scalar(result); }

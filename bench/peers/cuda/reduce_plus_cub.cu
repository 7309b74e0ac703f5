/* Sum of integers by CUB: as Thrust's reduction, without its allocation. */
#include "peer.cuh"

#include <cub/device/device_reduce.cuh>

static std::int32_t *a, *sum, result;
static std::int64_t n;
static char *room;
static std::size_t bytes = 0;

static void prepare() {
    a = read_to_device<std::int32_t>(&n);
    sum = on_device<std::int32_t>(1);
    check(cub::DeviceReduce::Sum(nullptr, bytes, a, sum, n));
    room = on_device<char>(bytes);
}

static void compute() {
    check(cub::DeviceReduce::Sum(room, bytes, a, sum, n));
    check(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost));
}

static void finish() { write_scalar(result); }

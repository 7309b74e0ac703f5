/* A copy on the device: the reference for bandwidth. */
#include "peer.cuh"

static std::int32_t *a, *b;
static std::int64_t n;

static void prepare() {
    a = read_to_device<std::int32_t>(&n);
    b = on_device<std::int32_t>(n);
}

static void compute() {
    check(cudaMemcpyAsync(b, a, n * sizeof *a, cudaMemcpyDeviceToDevice));
}

static void finish() { write_from_device<std::int32_t>({n}, b); }

/* Jacobi's method on a plate: a thread per point; adjacent rows come from the cache. */
#include "peer.cuh"

static std::int32_t steps;
static double *first, *grids[2];
static std::vector<std::int64_t> shape(2);
static int now;

static __global__ void step(const double *from, double *to, std::int64_t n, std::int64_t m) {
    std::int64_t j = (std::int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    std::int64_t i = (std::int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    std::int64_t at = i * m + j;
    bool edge = i == 0 || i == n - 1 || j == 0 || j == m - 1;
    to[at] = edge ? from[at] : 0.25 * (from[at - m] + from[at + m] + from[at - 1] + from[at + 1]);
}

static void prepare() {
    steps = read_scalar<std::int32_t>();
    first = read_to_device<double>(shape);
    for (auto &grid : grids) grid = on_device<double>(shape[0] * shape[1]);
}

static void compute() {
    std::int64_t n = shape[0], m = shape[1];
    dim3 threads(32, 8), blocks(blocks_for(m, 32), blocks_for(n, 8));
    now = 0;
    check(cudaMemcpyAsync(grids[0], first, n * m * sizeof *first, cudaMemcpyDeviceToDevice));
    for (int i = 0; i < steps; i++, now = 1 - now)
        step<<<blocks, threads>>>(grids[now], grids[1 - now], n, m);
}

static void finish() { write_from_device<double>(shape, grids[now]); }

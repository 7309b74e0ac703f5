/* Histogram: each block counts in shared memory, then adds its counts to the result.
 * Bins that do not fit are counted in global memory. */
#include "peer.cuh"

static const int THREADS = 256, SHARED_BINS = 8192;

static std::int32_t *xs, *counts;
static std::int64_t n, k;

static __global__ void count(
    const std::int32_t *xs, std::int64_t n, std::int32_t *counts, std::int32_t k) {
    extern __shared__ std::int32_t own[];
    std::int32_t *bins = k <= SHARED_BINS ? own : counts;
    if (bins == own) {
        for (int bin = threadIdx.x; bin < k; bin += blockDim.x) own[bin] = 0;
        __syncthreads();
    }
    std::int64_t stride = (std::int64_t)gridDim.x * blockDim.x;
    for (std::int64_t i = (std::int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        std::int32_t x = xs[i];
        if (0 <= x && x < k) atomicAdd(&bins[x], 1);
    }
    if (bins != own) return;
    __syncthreads();
    for (int bin = threadIdx.x; bin < k; bin += blockDim.x)
        if (own[bin]) atomicAdd(&counts[bin], own[bin]);
}

static void prepare() {
    k = read_scalar<std::int64_t>();
    xs = read_to_device<std::int32_t>(&n);
    counts = on_device<std::int32_t>(k);
}

static void compute() {
    check(cudaMemsetAsync(counts, 0, k * sizeof *counts));
    int device = 0, units = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device));
    std::size_t shared = k <= SHARED_BINS ? k * sizeof *counts : 0;
    count<<<(unsigned)units * 8, THREADS, shared>>>(xs, n, counts, (std::int32_t)k);
}

static void finish() { write_from_device<std::int32_t>({k}, counts); }

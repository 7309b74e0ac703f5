/* N-body simulation: a thread per body; a block loads tiles of bodies into shared
 * memory. */
#include "peer.cuh"

static const int THREADS = 256;

struct Vec {
    double x, y, z;
};

static std::int32_t steps;
static double dt;
static Vec *first_positions, *first_velocities, *positions[2], *velocities;
static double *masses;
static std::int64_t n;
static int now;

static __global__ void advance(
    const Vec *from, Vec *to, Vec *velocities, const double *masses, std::int64_t n, double dt) {
    __shared__ Vec tile[THREADS];
    __shared__ double mass[THREADS];
    std::int64_t me = (std::int64_t)blockIdx.x * THREADS + threadIdx.x;
    Vec own = me < n ? from[me] : Vec{0, 0, 0}, force = {0, 0, 0};
    for (std::int64_t start = 0; start < n; start += THREADS) {
        std::int64_t other = start + threadIdx.x;
        tile[threadIdx.x] = other < n ? from[other] : Vec{0, 0, 0};
        mass[threadIdx.x] = other < n ? masses[other] : 0;
        __syncthreads();
        for (int j = 0; j < THREADS; j++) {
            double x = tile[j].x - own.x, y = tile[j].y - own.y, z = tile[j].z - own.z;
            double d2 = x * x + y * y + z * z + 0.01, s = mass[j] / (d2 * sqrt(d2));
            force.x += s * x, force.y += s * y, force.z += s * z;
        }
        __syncthreads();
    }
    if (me >= n) return;
    Vec v = velocities[me];
    v.x += dt * force.x, v.y += dt * force.y, v.z += dt * force.z;
    velocities[me] = v;
    to[me] = {own.x + dt * v.x, own.y + dt * v.y, own.z + dt * v.z};
}

static void prepare() {
    steps = read_scalar<std::int32_t>();
    dt = read_scalar<double>();
    std::vector<std::int64_t> shape(2);
    first_positions = (Vec *)read_to_device<double>(shape);
    first_velocities = (Vec *)read_to_device<double>(shape);
    masses = read_to_device<double>(&n);
    for (auto &block : positions) block = on_device<Vec>(n);
    velocities = on_device<Vec>(n);
}

static void compute() {
    now = 0;
    check(cudaMemcpyAsync(positions[0], first_positions, n * sizeof(Vec), cudaMemcpyDeviceToDevice));
    check(cudaMemcpyAsync(velocities, first_velocities, n * sizeof(Vec), cudaMemcpyDeviceToDevice));
    for (int i = 0; i < steps; i++, now = 1 - now)
        advance<<<blocks_for(n, THREADS), THREADS>>>(
            positions[now], positions[1 - now], velocities, masses, n, dt);
}

static void finish() {
    write_from_device<double>({n, 3}, (double *)positions[now]);
    write_from_device<double>({n, 3}, (double *)velocities);
}

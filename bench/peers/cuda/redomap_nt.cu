/* Three reductions and two mapped arrays in one pass: a Thrust reduction of a function
 * that also writes the arrays. */
#include "peer.cuh"

#include <cmath>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform_reduce.h>

static float a, b, *v, *w;
static std::int64_t n;

struct Three {
    float total, least, most;
};
static Three result;

struct Point {
    float a, b, *v, *w;
    __device__ Three operator()(std::int64_t i) const {
        float x = 1 / (1 + (float)i * a), y = expf(-b * x);
        v[i] = expf(x * a);
        w[i] = y / (y + b);
        return {x + y, x, y};
    }
};

struct Join {
    __host__ __device__ Three operator()(const Three &p, const Three &q) const {
        return {p.total + q.total, p.least < q.least ? p.least : q.least,
                p.most > q.most ? p.most : q.most};
    }
};

static void prepare() {
    a = read_scalar<float>();
    b = read_scalar<float>();
    n = read_scalar<std::int64_t>();
    v = on_device<float>(n);
    w = on_device<float>(n);
}

static void compute() {
    thrust::counting_iterator<std::int64_t> from(0);
    result = thrust::transform_reduce(
        thrust::device, from, from + n, Point{a, b, v, w}, Three{0, INFINITY, -INFINITY}, Join());
}

static void finish() {
    write_scalar(result.total);
    write_scalar(result.least);
    write_scalar(result.most);
    write_from_device<float>({n}, v);
    write_from_device<float>({n}, w);
}

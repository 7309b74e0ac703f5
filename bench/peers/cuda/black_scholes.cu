/* Total price of options with rising spot price and time to maturity, by a Thrust
 * reduction. */
#include "peer.cuh"

#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform_reduce.h>

static std::int64_t n;
static double result;

struct Price {
    double n;

    /* The normal distribution by the polynomial 26.2.17 of Abramowitz and Stegun. */
    static __device__ double normal(double d) {
        double k = 1 / (1 + 0.2316419 * fabs(d));
        double poly = 1.330274429;
        poly = -1.821255978 + k * poly;
        poly = 1.781477937 + k * poly;
        poly = -0.356563782 + k * poly;
        poly = k * (0.319381530 + k * poly);
        double tail = 0.3989422804014327 * exp(-0.5 * d * d) * poly;
        return d > 0 ? 1 - tail : tail;
    }

    __device__ double operator()(std::int64_t i) const {
        double x = (double)i / n, spot = 58 + 14 * x, strike = 65, years = (30 + 3620 * x) / 365;
        double rate = 0.08, volatility = 0.30, spread = volatility * sqrt(years);
        double d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread;
        return spot * normal(d1) - strike * exp(-rate * years) * normal(d1 - spread);
    }
};

static void prepare() { n = read_scalar<std::int64_t>(); }

static void compute() {
    thrust::counting_iterator<std::int64_t> from(0);
    result = thrust::transform_reduce(
        thrust::device, from, from + n, Price{(double)n}, 0.0, thrust::plus<double>());
}

static void finish() { write_scalar(result); }

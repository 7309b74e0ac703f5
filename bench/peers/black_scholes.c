/* Total price of n European call options. */
#include "peer.h"

static int64_t n;
static double total;

static void prepare(void) { n = read_i64(); }

/* Abramowitz and Stegun 26.2.17. */
static inline double normal_cdf(double d) {
    double k = 1 / (1 + 0.2316419 * fabs(d));
    double poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 +
                  k * (-1.821255978 + k * 1.330274429))));
    double tail = 0.3989422804014327 * exp(-0.5 * d * d) * poly;
    return d > 0 ? 1 - tail : tail;
}

static inline double call_price(double spot, double strike, double years) {
    const double rate = 0.08, volatility = 0.30;
    double spread = volatility * sqrt(years);
    double d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread;
    double d2 = d1 - spread;
    return spot * normal_cdf(d1) - strike * exp(-rate * years) * normal_cdf(d2);
}

static void compute(void) {
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum) if (n >= PARALLEL_FROM / 32)
    for (int64_t i = 0; i < n; i++) {
        double x = (double)i / (double)n;
        sum += call_price(58 + 14 * x, 65, (30 + 3620 * x) / 365);
    }
    total = sum;
}

static void finish(void) { write_f64(total); }

// Correctly rounded results from MPFR, and a quick comparison of single precision
// with values in double precision. Called by check.py and make_points.py.
#include <math.h>
#include <mpfr.h>
#include <stdint.h>
#include <string.h>

typedef int (*one)(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int (*two)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

static int log_gamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t rnd) {
  int sign;
  return mpfr_lgamma(r, &sign, x, rnd);
}

static const struct { const char *name; one f; } ONES[] = {
  {"exp", mpfr_exp}, {"exp2", mpfr_exp2}, {"exp10", mpfr_exp10}, {"expm1", mpfr_expm1},
  {"log", mpfr_log}, {"log2", mpfr_log2}, {"log10", mpfr_log10}, {"log1p", mpfr_log1p},
  {"sin", mpfr_sin}, {"cos", mpfr_cos}, {"tan", mpfr_tan},
  {"sinpi", mpfr_sinpi}, {"cospi", mpfr_cospi}, {"tanpi", mpfr_tanpi},
  {"asin", mpfr_asin}, {"acos", mpfr_acos}, {"atan", mpfr_atan},
  {"asinpi", mpfr_asinpi}, {"acospi", mpfr_acospi}, {"atanpi", mpfr_atanpi},
  {"sinh", mpfr_sinh}, {"cosh", mpfr_cosh}, {"tanh", mpfr_tanh},
  {"asinh", mpfr_asinh}, {"acosh", mpfr_acosh}, {"atanh", mpfr_atanh},
  {"cbrt", mpfr_cbrt}, {"erf", mpfr_erf}, {"erfc", mpfr_erfc},
  {"gamma", mpfr_gamma}, {"lgamma", log_gamma},
};
static const struct { const char *name; two f; } TWOS[] = {
  {"pow", mpfr_pow}, {"atan2", mpfr_atan2}, {"atan2pi", mpfr_atan2pi}, {"hypot", mpfr_hypot},
};

// The number of arguments of a function, 0 if there is none of that name.
int arity(const char *name) {
  for (unsigned i = 0; i < sizeof ONES / sizeof *ONES; i++)
    if (!strcmp(ONES[i].name, name)) return 1;
  for (unsigned i = 0; i < sizeof TWOS / sizeof *TWOS; i++)
    if (!strcmp(TWOS[i].name, name)) return 2;
  return 0;
}

static void apply(const char *name, mpfr_t r, const mpfr_t a, const mpfr_t b) {
  for (unsigned i = 0; i < sizeof ONES / sizeof *ONES; i++)
    if (!strcmp(ONES[i].name, name)) { ONES[i].f(r, a, MPFR_RNDN); return; }
  for (unsigned i = 0; i < sizeof TWOS / sizeof *TWOS; i++)
    if (!strcmp(TWOS[i].name, name)) { TWOS[i].f(r, a, b, MPFR_RNDN); return; }
}

// The result of `name` as `hi + lo`, `hi` the nearest double.
void reference(const char *name, int64_t n, const double *x, const double *y, double *hi, double *lo) {
  mpfr_t a, b, r;
  mpfr_inits2(160, a, b, r, (mpfr_ptr)0);
  for (int64_t k = 0; k < n; k++) {
    mpfr_set_d(a, x[k], MPFR_RNDN);
    mpfr_set_d(b, y[k], MPFR_RNDN);
    apply(name, r, a, b);
    hi[k] = mpfr_get_d(r, MPFR_RNDN);
    mpfr_sub_d(r, r, hi[k], MPFR_RNDN);
    lo[k] = isfinite(hi[k]) ? mpfr_get_d(r, MPFR_RNDN) : 0;
  }
  mpfr_clears(a, b, r, (mpfr_ptr)0);
  mpfr_free_cache();
}

// The result rounded to single precision (not by way of double).
void reference_single(const char *name, int64_t n, const float *x, const float *y, float *out) {
  mpfr_t a, b, r;
  mpfr_inits2(160, a, b, r, (mpfr_ptr)0);
  for (int64_t k = 0; k < n; k++) {
    mpfr_set_flt(a, x[k], MPFR_RNDN);
    mpfr_set_flt(b, y[k], MPFR_RNDN);
    apply(name, r, a, b);
    out[k] = mpfr_get_flt(r, MPFR_RNDN);
  }
  mpfr_clears(a, b, r, (mpfr_ptr)0);
  mpfr_free_cache();
}

// Compares with values of double precision. `bound` comes back as the largest
// error in ulp below 1.9, `found` of the others' places in `suspects` (at most
// `room`): larger errors, and values or signs of zeros that do not match.
int64_t compare(int64_t n, const float *got, const double *want, double *bound, int64_t *suspects, int64_t room) {
  int64_t found = 0;
  double worst = 0;
  for (int64_t start = 0; start < n; start += 1024) {
    int64_t stop = start + 1024 < n ? start + 1024 : n;
    double top = 0;
    int odd = 0;
    for (int64_t i = start; i < stop; i++) {
      double w = want[i], g = got[i];
      uint64_t bits;
      memcpy(&bits, &w, 8);
      uint64_t e = bits >> 52 & 2047;
      e = e < 897 ? 897 : e;
      uint64_t inverse = (2046 - e + 23) << 52;
      double scale;
      memcpy(&scale, &inverse, 8);
      double error = fabs(g - w) * scale;
      int bad = !(error < 1.9) | (g == 0 && w == 0 && signbit(got[i]) != bits >> 63);
      odd |= bad;
      top = !bad && error > top ? error : top;
    }
    worst = top > worst ? top : worst;
    if (!odd) continue;
    for (int64_t i = start; i < stop; i++) {
      double w = want[i], g = got[i];
      if (isnan(w) && isnan(g)) continue;
      if (w == g && signbit(w) == signbit(g)) continue;
      int exponent;
      frexp(w, &exponent);
      double error = fabs(g - w) * ldexp(1, 24 - (exponent < -125 ? -125 : exponent));
      if (error < 1.9 && !(g == 0 && w == 0)) continue;
      if (isinf(g) && w >= 0x1.fffffep127 && g > 0) continue;
      if (isinf(g) && w <= -0x1.fffffep127 && g < 0) continue;
      if (found < room) suspects[found] = i;
      found++;
    }
  }
  *bound = worst;
  return found;
}

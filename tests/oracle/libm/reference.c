// Correctly rounded results from MPFR, and quick ones from the C library in
// double precision for checks of single precision. Called by check.py and make_points.py.
#include <math.h>
#include <mpfr.h>
#include <stdint.h>
#include <string.h>

typedef int (*one)(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int (*two)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

// The functions, by MPFR and by the C library.
static const struct { const char *name; one f; double (*quick)(double); } ONES[] = {
  {"exp", mpfr_exp, exp}, {"log", mpfr_log, log}, {"log2", mpfr_log2, log2},
  {"log10", mpfr_log10, log10}, {"log1p", mpfr_log1p, log1p},
  {"sin", mpfr_sin, sin}, {"cos", mpfr_cos, cos}, {"tan", mpfr_tan, tan},
  {"asin", mpfr_asin, asin}, {"acos", mpfr_acos, acos}, {"atan", mpfr_atan, atan},
  {"sinh", mpfr_sinh, sinh}, {"cosh", mpfr_cosh, cosh}, {"tanh", mpfr_tanh, tanh},
};
static const struct { const char *name; two f; double (*quick)(double, double); } TWOS[] = {
  {"pow", mpfr_pow, pow}, {"atan2", mpfr_atan2, atan2},
};

#define FIND(table, name) \
  for (unsigned i = 0; i < sizeof table / sizeof *table; i++) \
    if (!strcmp(table[i].name, name))

// The result of `name` as `hi + lo`, `hi` the nearest double; `quick`: no `lo`,
// an error of about 1 ulp of double. Returns 0 if there is no such function.
int reference(const char *name, int quick, int64_t n, const double *x, const double *y, double *hi, double *lo) {
  mpfr_t a, b, r;
  mpfr_inits2(160, a, b, r, (mpfr_ptr)0);
  int found = 0;
  FIND(ONES, name) {
    found = 1;
    if (quick) {
      for (int64_t k = 0; k < n; k++) { hi[k] = ONES[i].quick(x[k]); lo[k] = 0; }
    } else {
      for (int64_t k = 0; k < n; k++) {
        mpfr_set_d(a, x[k], MPFR_RNDN);
        ONES[i].f(r, a, MPFR_RNDN);
        hi[k] = mpfr_get_d(r, MPFR_RNDN);
        mpfr_sub_d(r, r, hi[k], MPFR_RNDN);
        lo[k] = isfinite(hi[k]) ? mpfr_get_d(r, MPFR_RNDN) : 0;
      }
    }
  }
  FIND(TWOS, name) {
    found = 1;
    if (quick) {
      for (int64_t k = 0; k < n; k++) { hi[k] = TWOS[i].quick(x[k], y[k]); lo[k] = 0; }
    } else {
      for (int64_t k = 0; k < n; k++) {
        mpfr_set_d(a, x[k], MPFR_RNDN);
        mpfr_set_d(b, y[k], MPFR_RNDN);
        TWOS[i].f(r, a, b, MPFR_RNDN);
        hi[k] = mpfr_get_d(r, MPFR_RNDN);
        mpfr_sub_d(r, r, hi[k], MPFR_RNDN);
        lo[k] = isfinite(hi[k]) ? mpfr_get_d(r, MPFR_RNDN) : 0;
      }
    }
  }
  mpfr_clears(a, b, r, (mpfr_ptr)0);
  mpfr_free_cache();
  return found;
}

// The result rounded to single precision (not by way of double).
int reference_single(const char *name, int64_t n, const float *x, const float *y, float *out) {
  mpfr_t a, b, r;
  mpfr_inits2(160, a, b, r, (mpfr_ptr)0);
  int found = 0;
  FIND(ONES, name) {
    found = 1;
    for (int64_t k = 0; k < n; k++) {
      mpfr_set_flt(a, x[k], MPFR_RNDN);
      ONES[i].f(r, a, MPFR_RNDN);
      out[k] = mpfr_get_flt(r, MPFR_RNDN);
    }
  }
  FIND(TWOS, name) {
    found = 1;
    for (int64_t k = 0; k < n; k++) {
      mpfr_set_flt(a, x[k], MPFR_RNDN);
      mpfr_set_flt(b, y[k], MPFR_RNDN);
      TWOS[i].f(r, a, b, MPFR_RNDN);
      out[k] = mpfr_get_flt(r, MPFR_RNDN);
    }
  }
  mpfr_clears(a, b, r, (mpfr_ptr)0);
  return found;
}

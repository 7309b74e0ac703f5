// Mathematical functions in double precision from the C library, for checks of
// single precision. Compiled with -Ofast, for its vector forms; check.py puts
// what looks wrong before MPFR.
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <string.h>

// x less the nearest even integer, exact.
static double turns(double x) { return x - 2 * rint(x * 0.5); }
static double sinpi_(double x) {
  double r = turns(x), a = fabs(r), s = a > 0.5 ? 1 - a : a;
  return a == 0 || a == 1 ? copysign(0, x) : copysign(sin(M_PI * s), r);
}
static double cospi_(double x) { return sin(M_PI * (0.5 - fabs(turns(x)))); }

#define LOOP(F) for (int64_t i = 0; i < n; i++) out[i] = F(x[i])
#define ONE(F) if (!strcmp(name, #F)) { LOOP(F); return 1; }
#define NAMED(NAME, F) if (!strcmp(name, NAME)) { LOOP(F); return 1; }

// The values of a function of one argument; 0 if it is not among these.
int quick_single(const char *name, int64_t n, const double *restrict x, double *restrict out) {
  ONE(exp) ONE(exp2) ONE(exp10) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(log1p)
  ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh)
  ONE(asinh) ONE(acosh) ONE(atanh) ONE(cbrt) ONE(erf) ONE(erfc) ONE(lgamma)
  NAMED("gamma", tgamma)
  NAMED("sinpi", sinpi_) NAMED("cospi", cospi_)
  NAMED("asinpi", M_1_PI * asin) NAMED("acospi", M_1_PI * acos) NAMED("atanpi", M_1_PI * atan)
  return 0;
}

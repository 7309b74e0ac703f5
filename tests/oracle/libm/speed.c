// Nanoseconds per element of the C library's vector functions, over a block that
// stays in the first cache; see speed.sh. Compiled with -O3 -ffast-math.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N 4096
static float xf[N], yf[N];
static double xd[N], yd[N];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

// The best of many rounds of `y = F(x) + y * 1e-30`.
#define BEST(out, CALL, x, y)                                         \
  double out = 1e30;                                                  \
  for (int round = 0; round < 200; round++) {                         \
    double start = now();                                             \
    for (int k = 0; k < 20; k++) {                                    \
      for (int i = 0; i < N; i++) y[i] = CALL + y[i] * 1e-30f;        \
      __asm__ volatile("" ::"r"(y) : "memory");                       \
    }                                                                 \
    double taken = (now() - start) / 20 / N;                          \
    if (taken < out) out = taken;                                     \
  }
#define ONE(F) { BEST(f, F##f(xf[i]), xf, yf) BEST(d, F(xd[i]), xd, yd) printf("%s %s f32 %.3f f64 %.3f\n", kind, #F, f, d); }

int main(void) {
  for (int bad = 0; bad < 2; bad++) {
    const char *kind = bad ? "bad" : "good";
    for (int i = 0; i < N; i++) {
      double u = rand() / 2147483648.;
      xf[i] = xd[i] = bad ? exp2(u * 200 - 100) : 0.1 + 19.9 * u;
    }
    ONE(exp) ONE(log) ONE(sin) ONE(cos) ONE(tan) ONE(cbrt) ONE(erf)
    BEST(f, powf(xf[i], xf[i] - 5), xf, yf)
    BEST(d, pow(xd[i], xd[i] - 5), xd, yd)
    printf("%s pow f32 %.3f f64 %.3f\n", kind, f, d);
  }
}

/* Reciprocal throughput of vector operations: cycles of independent operations.  Prints
   a line per operation, `name cycles`, without operations that the processor lacks.

   A cycle is the time of an integer addition in a dependent chain, so neither the
   clock rate nor counters are needed.  Each time is the least of many runs.

       gcc -O2 -o machine machine.c && ./machine

   `machine.py` does this and compares with the compiler's table. */

#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define RUNS 40
#define ROUNDS 2000
#define SAME 8 /* independent operations in a round */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Nanoseconds of an integer addition in a dependent chain. */
static double cycle(void) {
  double least = 1e30;
  for (int run = 0; run < RUNS * 4; run++) {
    uint64_t x = 1;
    double start = now();
    for (int i = 0; i < ROUNDS; i++)
      __asm__ volatile(
          "add %0, %0\n add %0, %0\n add %0, %0\n add %0, %0\n"
          "add %0, %0\n add %0, %0\n add %0, %0\n add %0, %0\n"
          "add %0, %0\n add %0, %0\n add %0, %0\n add %0, %0\n"
          "add %0, %0\n add %0, %0\n add %0, %0\n add %0, %0\n"
          : "+r"(x));
    double took = (now() - start) / (ROUNDS * 16.0);
    if (took < least) least = took;
  }
  return least;
}

/* A loop of eight equal independent instructions. */
#define MEASURE(NAME, BODY)                                                  \
  static double NAME(void) {                                                 \
    double least = 1e30;                                                     \
    for (int run = 0; run < RUNS; run++) {                                   \
      double start = now();                                                  \
      for (int i = 0; i < ROUNDS; i++) __asm__ volatile(BODY ::"r"(indices), "r"(numbers) \
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
          "xmm9", "xmm10", "xmm11", "memory", "cc");                 \
      double took = (now() - start) / (ROUNDS * (double)SAME);               \
      if (took < least) least = took;                                        \
    }                                                                        \
    return least;                                                            \
  }

static int32_t indices[64] __attribute__((aligned(64)));
static double numbers[64] __attribute__((aligned(64)));

#define EIGHT(A, B) \
  A "0" B "\n" A "1" B "\n" A "2" B "\n" A "3" B "\n" A "4" B "\n" A "5" B "\n" A "6" B "\n" A "7" B "\n"
/* Loads operands near 1 into registers 8 and 9. */
#define LOAD(R) "vmovupd (%1), %%" R "8\n vmovupd 64(%1), %%" R "9\n"
#define TWO(NAME, OP, R) MEASURE(NAME, LOAD(R) EIGHT(OP " %%" R "8, %%" R "9, %%" R, ""))
#define ONE(NAME, OP, R) MEASURE(NAME, LOAD(R) EIGHT(OP " %%" R "8, %%" R, ""))

#define ALL(X)                                                          \
  TWO(mul_f64_##X, "vmulpd", #X "mm")                                   \
  TWO(add_f64_##X, "vaddpd", #X "mm")                                   \
  TWO(div_f64_##X, "vdivpd", #X "mm")                                   \
  TWO(div_f32_##X, "vdivps", #X "mm")                                   \
  ONE(sqrt_f64_##X, "vsqrtpd", #X "mm")                                 \
  ONE(sqrt_f32_##X, "vsqrtps", #X "mm")                                 \
  MEASURE(fma_f64_##X, LOAD(#X "mm") EIGHT("vfmadd231pd %%" #X "mm8, %%" #X "mm9, %%" #X "mm", ""))

ALL(x)
ALL(y)
ALL(z)
TWO(permute_f64_z, "vpermpd", "zmm")
ONE(compress_f64_z, "vpcompressq", "zmm")

/* The C compiler does not use mask registers, so they are not saved. */
#define GATHER_Z(NAME, OP, R, INDEX)                                         \
  MEASURE(NAME, "vmovdqu64 (%0), %%" INDEX "10\n"                            \
          "kxnorw %%k1, %%k1, %%k1\n " OP " (%1,%%" INDEX "10,8), %%" R "0 %{%%k1%}\n" \
          "kxnorw %%k1, %%k1, %%k1\n " OP " (%1,%%" INDEX "10,8), %%" R "1 %{%%k1%}\n" \
          "kxnorw %%k1, %%k1, %%k1\n " OP " (%1,%%" INDEX "10,8), %%" R "2 %{%%k1%}\n" \
          "kxnorw %%k1, %%k1, %%k1\n " OP " (%1,%%" INDEX "10,8), %%" R "3 %{%%k1%}\n" \
          "kxnorw %%k1, %%k1, %%k1\n " OP " (%1,%%" INDEX "10,8), %%" R "4 %{%%k1%}\n" \
          "kxnorw %%k1, %%k1, %%k1\n " OP " (%1,%%" INDEX "10,8), %%" R "5 %{%%k1%}\n" \
          "kxnorw %%k1, %%k1, %%k1\n " OP " (%1,%%" INDEX "10,8), %%" R "6 %{%%k1%}\n" \
          "kxnorw %%k1, %%k1, %%k1\n " OP " (%1,%%" INDEX "10,8), %%" R "7 %{%%k1%}\n")
GATHER_Z(gather_f64_z, "vgatherdpd", "zmm", "ymm")
GATHER_Z(gather_f32_z, "vgatherdps", "zmm", "zmm")
static unsigned char buffer[8192] __attribute__((aligned(64)));
static double pack_store_z(void) {
  double least = 1e30;
  for (int run = 0; run < RUNS; run++) {
    double start = now();
    for (int i = 0; i < ROUNDS; i++)
      __asm__ volatile(
          "kxnorw %%k1, %%k1, %%k1\n kshiftrw $10, %%k1, %%k1\n"
          "vpcompressq %%zmm8, (%0) %{%%k1%}\n vpcompressq %%zmm8, 64(%0) %{%%k1%}\n"
          "vpcompressq %%zmm8, 128(%0) %{%%k1%}\n vpcompressq %%zmm8, 192(%0) %{%%k1%}\n"
          "vpcompressq %%zmm8, 256(%0) %{%%k1%}\n vpcompressq %%zmm8, 320(%0) %{%%k1%}\n"
          "vpcompressq %%zmm8, 384(%0) %{%%k1%}\n vpcompressq %%zmm8, 448(%0) %{%%k1%}\n" ::"r"(buffer)
          : "memory", "xmm8");
    double took = (now() - start) / (ROUNDS * (double)SAME);
    if (took < least) least = took;
  }
  return least;
}

/* AVX2's gathers clear their masks, which are vector registers. */
#define STEP_Y(OP, R) "vpcmpeqd %%ymm11, %%ymm11, %%ymm11\n " OP " %%ymm11, (%1,%%" R "10,8), %%ymm"
#define GATHER_Y(NAME, OP, R) MEASURE(NAME, "vmovdqu (%0), %%ymm10\n" EIGHT(STEP_Y(OP, R), ""))
GATHER_Y(gather_f64_y, "vgatherdpd", "xmm")
GATHER_Y(gather_f32_y, "vgatherdps", "ymm")

static const struct {
  const char *name;
  int level; /* the x86-64 level that has it: 2, 3 or 4 */
  double (*measure)(void);
} all[] = {
#define ROW(LEVEL, NAME) {#NAME, LEVEL, NAME}
#define ROWS(LEVEL, X)                                                             \
  ROW(LEVEL, fma_f64_##X), ROW(LEVEL, mul_f64_##X), ROW(LEVEL, add_f64_##X),       \
      ROW(LEVEL, div_f64_##X), ROW(LEVEL, div_f32_##X), ROW(LEVEL, sqrt_f64_##X),  \
      ROW(LEVEL, sqrt_f32_##X)
    ROWS(3, x), ROWS(3, y), ROWS(4, z),
    ROW(3, gather_f64_y), ROW(3, gather_f32_y),
    ROW(4, gather_f64_z), ROW(4, gather_f32_z),
    ROW(4, permute_f64_z), ROW(4, compress_f64_z), ROW(4, pack_store_z),
};

int main(void) {
  for (int i = 0; i < 64; i++) {
    indices[i] = i % 16 * 3;
    numbers[i] = 1.0 + (i * 2654435761u % 1000003u) / 1000003.0;
  }
  int level = 2;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) level = 3;
  if (level == 3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) level = 4;
  double tick = cycle();
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].level <= level) printf("%s %.2f\n", all[i].name, all[i].measure() / tick);
  return 0;
}

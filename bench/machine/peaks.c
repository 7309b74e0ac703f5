/* The machine's peaks: arithmetic and bandwidth, on one core and on all.  Prints a line
   per measurement, `name cores value`: billions of operations a second (a fused
   multiply-add is two), or of bytes.  Bandwidths are those of arrays that fill half of a
   cache (of all cores' caches, with all cores) and of arrays in memory: `read` sums an
   array, `triad` is a[i] = b[i] + s * c[i], whose bytes are those of the three arrays.
   The arguments are the sizes of the caches in bytes: of a core's first and second level,
   and of the third, which cores share.

       gcc -O3 -march=native -pthread -o peaks peaks.c && ./peaks 49152 1048576 33554432

   Each value is the best of many runs.  `peaks.py` does this. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __AVX512F__
#define BYTES 64
#else
#define BYTES 32
#endif
#define CHAINS 12 /* independent chains of operations: more than latency times throughput */
#define MOST_CORES 1024
#define RUNS 15
#define ARITHMETIC_ROUNDS 400000L

typedef float floats __attribute__((vector_size(BYTES)));
typedef double doubles __attribute__((vector_size(BYTES)));
typedef int32_t ints __attribute__((vector_size(BYTES)));

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

/* The work of one thread. */
struct part {
  double *a, *b, *c;
  long count;  /* elements of each array */
  long rounds; /* repetitions */
};

typedef void kernel(const struct part *);

/* The compiler must neither know the value nor keep it in memory. */
#define HIDE(X) __asm__ volatile("" : "+v"(X))

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define HIDE_CHAIN(I) HIDE(x##I);

#define ARITHMETIC(NAME, TYPE, STEP)                                        \
  static void NAME(const struct part *part) {                               \
    TYPE x0 = {0}, x1 = x0, x2 = x0, x3 = x0, x4 = x0, x5 = x0;             \
    TYPE x6 = x0, x7 = x0, x8 = x0, x9 = x0, x10 = x0, x11 = x0;            \
    TYPE y = x0, z = x0;                                                    \
    HIDE(y);                                                                \
    HIDE(z);                                                                \
    EACH(HIDE_CHAIN)                                                        \
    for (long r = 0; r < part->rounds; r++) {                               \
      EACH(STEP) EACH(HIDE_CHAIN)                                           \
    }                                                                       \
  }
#define FMA(I) x##I = x##I * y + z;
#define ADD(I) x##I = x##I + y;
ARITHMETIC(fma_f32, floats, FMA)
ARITHMETIC(fma_f64, doubles, FMA)
ARITHMETIC(add_i32, ints, ADD)

static void read_all(const struct part *part) {
  const doubles *b = (const doubles *)part->b;
  long n = part->count * sizeof(double) / BYTES;
  for (long r = 0; r < part->rounds; r++) {
    doubles x[8] = {{0}};
    for (long i = 0; i + 8 <= n; i += 8)
      _Pragma("GCC unroll 8") for (int j = 0; j < 8; j++) x[j] += b[i + j];
    for (int j = 0; j < 8; j++) HIDE(x[j]);
  }
}

static void triad(const struct part *part) {
  doubles *a = (doubles *)part->a, s = {0};
  const doubles *b = (const doubles *)part->b, *c = (const doubles *)part->c;
  long n = part->count * sizeof(double) / BYTES;
  HIDE(s);
  for (long r = 0; r < part->rounds; r++) {
    for (long i = 0; i + 4 <= n; i += 4)
      _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) a[i + j] = b[i + j] + s * c[i + j];
    __asm__ volatile("" ::: "memory");
  }
}

static pthread_barrier_t barrier;
static int cpus[MOST_CORES];

struct thread {
  pthread_t id;
  int cpu;
  kernel *run;
  struct part part;
  double begin[RUNS + 1], end[RUNS + 1];
};

static void *work(void *argument) {
  struct thread *thread = argument;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(thread->cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  for (long i = 0; i < thread->part.count; i++)
    thread->part.a[i] = thread->part.b[i] = thread->part.c[i] = 0;
  for (int run = 0; run <= RUNS; run++) {
    pthread_barrier_wait(&barrier);
    thread->begin[run] = now();
    thread->run(&thread->part);
    thread->end[run] = now();
  }
  return NULL;
}

/* The least seconds of a run on this many cores, of `count` elements of each array per core: from the first
   thread's begin to the last one's end. */
static double seconds(kernel *run, int cores, long count, long rounds) {
  static struct thread threads[MOST_CORES];
  pthread_barrier_init(&barrier, NULL, cores);
  for (int t = 0; t < cores; t++) {
    struct part part = {NULL, NULL, NULL, count, rounds};
    double **arrays[] = {&part.a, &part.b, &part.c};
    for (int i = 0; count > 0 && i < 3; i++)
      if (posix_memalign((void **)arrays[i], 4096, count * sizeof(double))) exit(1);
    threads[t] = (struct thread){.cpu = cpus[t], .run = run, .part = part};
    if (pthread_create(&threads[t].id, NULL, work, &threads[t])) exit(1);
  }
  for (int t = 0; t < cores; t++) {
    pthread_join(threads[t].id, NULL);
    free(threads[t].part.a);
    free(threads[t].part.b);
    free(threads[t].part.c);
  }
  pthread_barrier_destroy(&barrier);
  double least = 1e30;
  for (int r = 1; r <= RUNS; r++) {
    double begin = threads[0].begin[r], end = threads[0].end[r];
    for (int t = 1; t < cores; t++) {
      if (threads[t].begin[r] < begin) begin = threads[t].begin[r];
      if (threads[t].end[r] > end) end = threads[t].end[r];
    }
    if (end - begin < least) least = end - begin;
  }
  return least;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "the arguments are the sizes of three caches in bytes\n");
    return 1;
  }
  cpu_set_t set;
  int cores = 0;
  if (sched_getaffinity(0, sizeof set, &set)) return 1;
  for (int cpu = 0; cpu < CPU_SETSIZE && cores < MOST_CORES; cpu++)
    if (CPU_ISSET(cpu, &set)) cpus[cores++] = cpu;

  const struct {
    const char *name;
    kernel *run;
    double operations; /* of a vector */
  } arithmetic[] = {
      {"fma_f32", fma_f32, 2.0 * BYTES / 4},
      {"fma_f64", fma_f64, 2.0 * BYTES / 8},
      {"add_i32", add_i32, 1.0 * BYTES / 4},
  };
  const struct {
    const char *name;
    long bytes;
    int is_shared; /* by all cores */
  } caches[] = {
      {"L1", atol(argv[1]), 0},
      {"L2", atol(argv[2]), 0},
      {"L3", atol(argv[3]), 1},
      {"memory", 16 * atol(argv[3]), 1},
  };
  for (int all = 0; all < 2; all++) {
    int used = all ? cores : 1;
    for (int i = 0; i < 3; i++) {
      double operations = arithmetic[i].operations * CHAINS * ARITHMETIC_ROUNDS * used;
      double took = seconds(arithmetic[i].run, used, 0, ARITHMETIC_ROUNDS);
      printf("%s %d %.2f\n", arithmetic[i].name, used, operations / took / 1e9);
    }
    for (int i = 0; i < 4; i++) {
      double bytes = caches[i].bytes / 2.0;
      if (bytes <= 0) continue;
      if (caches[i].is_shared) bytes /= used;
      for (int reads = 0; reads < 2; reads++) {
        long count = (long)(bytes / (reads ? 1 : 3) / sizeof(double)) / 64 * 64;
        double moved = (double)count * sizeof(double) * (reads ? 1 : 3);
        long rounds = moved < 5e7 ? (long)(5e7 / moved) : 1;
        double took = seconds(reads ? read_all : triad, used, count, rounds);
        printf("%s_%s %d %.2f\n", reads ? "read" : "triad", caches[i].name, used, moved * rounds * used / took / 1e9);
      }
    }
  }
  return 0;
}

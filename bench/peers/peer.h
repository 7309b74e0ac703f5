/* The shared part of the peers in C: input and output in Futhark's binary data
 * format, and the timing loop.
 *
 * A peer includes this file and defines prepare (reads the inputs, allocates the
 * results), compute (the timed part) and finish (writes the results).  Options:
 * -r N times N runs of compute after an untimed one, -t FILE writes their
 * microseconds, one per line; -b is accepted and implied.
 * implied.
 */
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* With fewer elements threads are slower. */
#define PARALLEL_FROM 32768

static void prepare(void);
static void compute(void);
static void finish(void);

static void fail(const char *message) {
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static void *allocate(size_t bytes) {
    void *block = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!block) fail("out of memory");
    return block;
}

static void read_bytes(void *to, size_t bytes) {
    if (fread(to, 1, bytes, stdin) != bytes) fail("unexpected end of input");
}

/* Reads a value of the given type (four characters) and rank 0 or 1; for rank 1
 * its size goes to *n. */
static void *read_value(const char *type, int rank, size_t element, int64_t *n) {
    unsigned char head[7];
    do read_bytes(head, 1);
    while (head[0] == ' ' || head[0] == '\n');
    read_bytes(head + 1, 6);
    if (head[0] != 'b' || head[1] != 2 || head[2] != rank || memcmp(head + 3, type, 4))
        fail("input is not of the expected type");
    int64_t size = 1;
    if (rank == 1) read_bytes(&size, 8);
    void *data = allocate(size * element);
    read_bytes(data, size * element);
    if (n) *n = size;
    return data;
}

static void write_value(const char *type, int rank, size_t element, int64_t n, const void *data) {
    putchar('b');
    putchar(2);
    putchar(rank);
    fwrite(type, 1, 4, stdout);
    if (rank == 1) fwrite(&n, 8, 1, stdout);
    fwrite(data, element, rank == 1 ? n : 1, stdout);
}

static int32_t *read_i32s(int64_t *n) { return read_value(" i32", 1, 4, n); }
static int64_t read_i64(void) { return *(int64_t *)read_value(" i64", 0, 8, NULL); }
static float read_f32(void) { return *(float *)read_value(" f32", 0, 4, NULL); }
static void write_i32(int32_t x) { write_value(" i32", 0, 4, 1, &x); }
static void write_f32(float x) { write_value(" f32", 0, 4, 1, &x); }
static void write_f64(double x) { write_value(" f64", 0, 8, 1, &x); }
static void write_i32s(int64_t n, const int32_t *xs) { write_value(" i32", 1, 4, n, xs); }
static void write_f32s(int64_t n, const float *xs) { write_value(" f32", 1, 4, n, xs); }

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    int runs = 1;
    FILE *times = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-r") && i + 1 < argc)
            runs = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-t") && i + 1 < argc)
            times = fopen(argv[++i], "w");
        else if (strcmp(argv[i], "-b"))
            fail("usage: peer [-r RUNS] [-t FILE] [-b] < INPUT");
    }
    prepare();
    if (runs > 1) compute();
    for (int i = 0; i < runs; i++) {
        double start = seconds();
        compute();
        double end = seconds();
        if (times) fprintf(times, "%.0f\n", (end - start) * 1e6);
    }
    if (times) fclose(times);
    finish();
    return 0;
}

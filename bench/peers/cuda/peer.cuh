/* The shared part of the peers in CUDA C++: input and output in Futhark's binary data
 * format, arrays on the device, and the timing loop.
 *
 * A peer includes this file and defines prepare (reads the inputs, copies them to the
 * device, allocates the results there), compute (the timed part, until its kernels have
 * ended) and finish (writes the results).  Options as those of
 * the peers in C: -r N, -t FILE, -b.
 */
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

static void prepare();
static void compute();
static void finish();

[[noreturn]] static void fail(const char *message) {
    std::fprintf(stderr, "%s\n", message);
    std::exit(1);
}

static void check(cudaError_t status) {
    if (status != cudaSuccess) fail(cudaGetErrorString(status));
}

template <class T> struct Type;
template <> struct Type<std::int32_t> { static constexpr const char *name = " i32"; };
template <> struct Type<std::int64_t> { static constexpr const char *name = " i64"; };
template <> struct Type<float> { static constexpr const char *name = " f32"; };
template <> struct Type<double> { static constexpr const char *name = " f64"; };

static void read_bytes(void *to, std::size_t bytes) {
    if (std::fread(to, 1, bytes, stdin) != bytes) fail("unexpected end of input");
}

/* An array of this type with as many dimensions as there is room for sizes. */
template <class T> static std::vector<T> read_array(std::vector<std::int64_t> &shape) {
    char head[7];
    do read_bytes(head, 1);
    while (head[0] == ' ' || head[0] == '\n');
    read_bytes(head + 1, 6);
    if (head[0] != 'b' || head[1] != 2 || head[2] != (char)shape.size() ||
        std::memcmp(head + 3, Type<T>::name, 4))
        fail("input is not of the expected type");
    std::size_t count = 1;
    for (auto &size : shape) {
        read_bytes(&size, sizeof size);
        count *= (std::size_t)size;
    }
    std::vector<T> data(count);
    read_bytes(data.data(), count * sizeof(T));
    return data;
}

template <class T> static T read_scalar() {
    std::vector<std::int64_t> shape;
    return read_array<T>(shape)[0];
}

template <class T> static T *on_device(std::size_t count) {
    void *block = nullptr;
    check(cudaMalloc(&block, (count ? count : 1) * sizeof(T)));
    return (T *)block;
}

/* An array, read and copied to the device. */
template <class T> static T *read_to_device(std::vector<std::int64_t> &shape) {
    std::vector<T> data = read_array<T>(shape);
    T *block = on_device<T>(data.size());
    check(cudaMemcpy(block, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice));
    return block;
}

/* The same with one dimension. */
template <class T> static T *read_to_device(std::int64_t *n) {
    std::vector<std::int64_t> shape(1);
    T *block = read_to_device<T>(shape);
    *n = shape[0];
    return block;
}

template <class T>
static void write_array(const std::vector<std::int64_t> &shape, const std::vector<T> &data) {
    std::putchar('b');
    std::putchar(2);
    std::putchar((int)shape.size());
    std::fwrite(Type<T>::name, 1, 4, stdout);
    std::fwrite(shape.data(), sizeof(std::int64_t), shape.size(), stdout);
    std::fwrite(data.data(), sizeof(T), data.size(), stdout);
}

template <class T> static void write_scalar(T value) { write_array<T>({}, {value}); }

template <class T>
static void write_from_device(const std::vector<std::int64_t> &shape, const T *block) {
    std::size_t count = 1;
    for (auto size : shape) count *= (std::size_t)size;
    std::vector<T> data(count);
    check(cudaMemcpy(data.data(), block, count * sizeof(T), cudaMemcpyDeviceToHost));
    write_array(shape, data);
}

/* The number of blocks of this many threads for n points, one per thread. */
[[maybe_unused]] static unsigned blocks_for(std::int64_t n, int threads) {
    return (unsigned)((n + threads - 1) / threads);
}

static double seconds() {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

static void compute_all() {
    compute();
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
}

int main(int argc, char **argv) {
    int runs = 1;
    std::FILE *times = nullptr;
    for (int i = 1; i < argc; i++) {
        if (!std::strcmp(argv[i], "-r") && i + 1 < argc)
            runs = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-t") && i + 1 < argc)
            times = std::fopen(argv[++i], "w");
        else if (std::strcmp(argv[i], "-b"))
            fail("usage: peer [-r RUNS] [-t FILE] [-b] < INPUT");
    }
    prepare();
    check(cudaDeviceSynchronize());
    if (runs > 1) compute_all();
    for (int i = 0; i < runs; i++) {
        double start = seconds();
        compute_all();
        double end = seconds();
        if (times) std::fprintf(times, "%.1f\n", (end - start) * 1e6);
    }
    if (times) std::fclose(times);
    finish();
    return 0;
}

/* A library loaded before OpenCL's own: functions named in FAKE fail, all other calls are
   forwarded. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PASSED_ON(name)                                                                          \
    void *own_##name;                                                                            \
    __asm__(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"    \
            "    movq own_" #name "@GOTPCREL(%rip), %rax\n    jmp *(%rax)\n.popsection\n");

#define FUNCTIONS(F)                                                                             \
    F(clGetPlatformIDs) F(clGetPlatformInfo) F(clGetDeviceIDs) F(clGetDeviceInfo)                \
    F(clCreateContext) F(clReleaseContext) F(clReleaseCommandQueue) F(clReleaseMemObject)        \
    F(clCreateProgramWithSource) F(clBuildProgram)                                               \
    F(clGetProgramBuildInfo) F(clGetProgramInfo) F(clReleaseProgram) F(clCreateKernel)           \
    F(clReleaseKernel) F(clSetKernelArg) F(clEnqueueWriteBuffer) F(clEnqueueCopyBuffer)          \
    F(clEnqueueFillBuffer) F(clFinish) F(clGetEventProfilingInfo) F(clReleaseEvent)

FUNCTIONS(PASSED_ON)

typedef void *(*create_queue)(void *, void *, unsigned long, int *);
typedef void *(*create_buffer)(void *, unsigned long, size_t, void *, int *);
typedef void *(*load_program)(
    void *, unsigned, void *const *, const size_t *, const unsigned char *const *, int *, int *);
typedef int (*kernel_info)(void *, void *, unsigned, size_t, void *, size_t *);
typedef int (*enqueue_kernel)(
    void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned,
    const void *, void *);
typedef int (*enqueue_read)(
    void *, void *, unsigned, size_t, size_t, void *, unsigned, const void *, void *);

static void *library;

static int fails(const char *what) {
    const char *asked = getenv("FAKE");
    return asked != NULL && strcmp(asked, what) == 0;
}

static void *of(const char *name) { return dlsym(library, name); }

__attribute__((constructor)) static void begin(void) {
    library = dlopen(getenv("OPENCL"), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) abort();
#define FIND(name) own_##name = of(#name);
    FUNCTIONS(FIND)
}

void *clCreateCommandQueue(void *context, void *device, unsigned long properties, int *status) {
    if (fails("queue")) {
        *status = -6;
        return NULL;
    }
    return ((create_queue)of("clCreateCommandQueue"))(context, device, properties, status);
}

void *clCreateBuffer(void *context, unsigned long flags, size_t size, void *host, int *status) {
    if (fails("memory")) {
        *status = -4;
        return NULL;
    }
    return ((create_buffer)of("clCreateBuffer"))(context, flags, size, host, status);
}

void *clCreateProgramWithBinary(
    void *context, unsigned count, void *const *devices, const size_t *sizes,
    const unsigned char *const *binaries, int *each, int *status) {
    if (fails("binary")) {
        *status = -42;
        return NULL;
    }
    return ((load_program)of("clCreateProgramWithBinary"))(
        context, count, devices, sizes, binaries, each, status);
}

int clGetKernelWorkGroupInfo(
    void *kernel, void *device, unsigned what, size_t size, void *into, size_t *needed) {
    int status =
        ((kernel_info)of("clGetKernelWorkGroupInfo"))(kernel, device, what, size, into, needed);
    if (into != NULL && what == 0x11b0 && fails("block")) *(size_t *)into = 64;
    if (into != NULL && what == 0x11b2 && fails("shared")) *(unsigned long *)into = 1UL << 40;
    return status;
}

int clEnqueueNDRangeKernel(
    void *queue, void *kernel, unsigned rank, const size_t *offset, const size_t *all,
    const size_t *block, unsigned waits, const void *events, void *event) {
    if (fails("launch")) return -5;
    return ((enqueue_kernel)of("clEnqueueNDRangeKernel"))(
        queue, kernel, rank, offset, all, block, waits, events, event);
}

int clEnqueueReadBuffer(
    void *queue, void *from, unsigned wait, size_t at, size_t size, void *to, unsigned waits,
    const void *events, void *event) {
    if (fails("lost")) return -36;
    return ((enqueue_read)of("clEnqueueReadBuffer"))(
        queue, from, wait, at, size, to, waits, events, event);
}

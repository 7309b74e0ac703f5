/* Libraries with the interfaces of the drivers and compilers of CUDA and HIP. Device memory is
   host memory, and kernels do nothing. Functions named in FAKE fail. Calls are recorded in the
   file named by LOG, if it is set. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HIP
#define DRIVER(cuda, hip) hip
#define COMPILER(name) hiprtc##name
#define CODE_SIZE hiprtcGetCodeSize
#define CODE hiprtcGetCode
#else
#define DRIVER(cuda, hip) cuda
#define COMPILER(name) nvrtc##name
#define CODE_SIZE nvrtcGetCUBINSize
#define CODE nvrtcGetCUBIN
#endif

typedef unsigned long long address;

static int fails(const char *what) {
    const char *asked = getenv("FAKE");
    return asked != NULL && strcmp(asked, what) == 0;
}

static void note(const char *format, ...) {
    const char *name = getenv("LOG");
    FILE *file = name == NULL ? NULL : fopen(name, "a");
    if (file == NULL) return;
    va_list values;
    va_start(values, format);
    vfprintf(file, format, values);
    va_end(values);
    fputc('\n', file);
    fclose(file);
}

static long blocks = 0;
static long events = 0;

int DRIVER(cuInit, hipInit)(unsigned flags) { return fails("init") ? 100 : (int)flags; }
int DRIVER(cuDeviceGetCount, hipGetDeviceCount)(int *count) {
    *count = fails("count") ? 0 : 2;
    return 0;
}
int DRIVER(cuDeviceGet, hipDeviceGet)(int *device, int number) {
    *device = number;
    return 0;
}
int DRIVER(cuDeviceGetName, hipDeviceGetName)(char *name, int size, int device) {
    snprintf(name, (size_t)size, "Fake %d00", device + 1);
    return 0;
}
int DRIVER(cuDeviceTotalMem_v2, hipDeviceTotalMem)(size_t *bytes, int device) {
    *bytes = (size_t)(device + 1) << 30;
    return 0;
}
int DRIVER(cuDeviceGetAttribute, hipDeviceGetAttribute)(int *value, int what, int device) {
    *value = what == 75 ? 9 : what == 97 ? 65536 : what == 16 ? 5 : what == 39 ? 300 : device - device;
    return 0;
}
int DRIVER(cuDriverGetVersion, hipDriverGetVersion)(int *version) {
    *version = 12080;
    return 0;
}
int DRIVER(cuDevicePrimaryCtxRetain, hipDevicePrimaryCtxRetain)(void **context, int device) {
    *context = &blocks;
    note("device %d", device);
    return fails("context") ? 2 : 0;
}
int DRIVER(cuDevicePrimaryCtxRelease_v2, hipDevicePrimaryCtxRelease)(int device) {
    note("%ld blocks are left on device %d", blocks, device);
    note("%ld events are left", events);
    return 0;
}
int DRIVER(cuCtxSetCurrent, hipCtxSetCurrent)(void *context) { return context != &blocks; }
int DRIVER(cuModuleLoadData, hipModuleLoadData)(void **module, const char *code) {
    if (fails("module")) return 222;
    if (strcmp(code, "code") != 0 && strcmp(code, "text") != 0) return 200;
    note("module of %s", code);
    *module = &blocks;
    return 0;
}
int DRIVER(cuModuleUnload, hipModuleUnload)(void *module) { return module != &blocks; }
int DRIVER(cuModuleGetFunction, hipModuleGetFunction)(
    void **function, void *module, const char *name) {
    *function = module;
    return name[0] == 'k' ? 0 : 500;
}
int DRIVER(cuFuncGetAttribute, hipFuncGetAttribute)(int *value, int what, void *kernel) {
    *value = what == 1 ? 2048 : fails("block") ? 128 : 1024;
    return what > 1 || kernel != &blocks;
}
#ifndef HIP
int cuFuncSetAttribute(void *kernel, int what, int value) {
    note("%d bytes may be shared", value);
    return what != 8 || kernel != &blocks;
}
#endif
int DRIVER(cuLaunchKernel, hipModuleLaunchKernel)(
    void *kernel, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
    unsigned shared, void *stream, void **args, void **extra) {
    note("launch %u by %u", x, threads);
    if (shared != 0) note("%u bytes are shared", shared);
    if (kernel != &blocks || y * z * ty * tz != 1) return 1;
    if (stream != NULL || args == NULL || extra != NULL) return 1;
    return fails("launch") ? 719 : 0;
}
int DRIVER(cuMemAlloc_v2, hipMalloc)(address *memory, size_t bytes) {
    if (fails("memory")) return 2;
    *memory = (address)(size_t)calloc(bytes, 1);
    blocks++;
    return 0;
}
int DRIVER(cuMemFree_v2, hipFree)(address memory) {
    free((void *)(size_t)memory);
    blocks--;
    return 0;
}
int DRIVER(cuMemcpyHtoD_v2, hipMemcpyHtoD)(address to, const void *from, size_t bytes) {
    memcpy((void *)(size_t)to, from, bytes);
    return 0;
}
int DRIVER(cuMemcpyDtoH_v2, hipMemcpyDtoH)(void *to, address from, size_t bytes) {
    if (fails("lost")) return 700;
    memcpy(to, (void *)(size_t)from, bytes);
    return 0;
}
int DRIVER(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(
    void *to, address from, size_t bytes, void *stream) {
    if (fails("lost")) return 700;
    memcpy(to, (void *)(size_t)from, bytes);
    return stream != NULL;
}
int DRIVER(cuMemHostAlloc, hipHostMalloc)(void **memory, size_t bytes, unsigned flags) {
    *memory = malloc(bytes);
    return flags != 0;
}
int DRIVER(cuMemFreeHost, hipHostFree)(void *memory) {
    free(memory);
    return 0;
}
int DRIVER(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync)(
    address to, address from, size_t bytes, void *stream) {
    memmove((void *)(size_t)to, (void *)(size_t)from, bytes);
    return stream != NULL;
}
int DRIVER(cuCtxSynchronize, hipDeviceSynchronize)(void) { return fails("end") ? 719 : 0; }
#ifndef OLD
int DRIVER(cuEventCreate, hipEventCreateWithFlags)(void **event, unsigned flags) {
    *event = calloc(1, sizeof(int));
    events++;
    note("event");
    return (int)flags;
}
int DRIVER(cuEventDestroy_v2, hipEventDestroy)(void *event) {
    free(event);
    events--;
    return 0;
}
int DRIVER(cuEventRecord, hipEventRecord)(int *event, void *stream) {
    static int recorded = 0;
    *event = ++recorded;
    return stream != NULL;
}
int DRIVER(cuEventElapsedTime, hipEventElapsedTime)(float *millis, int *start, int *end) {
    *millis = 0.5f;
    return *end == *start + 1 ? 0 : 1;
}
#endif
#ifdef HIP
const char *hipGetErrorName(int status) { return status == 700 ? "hipErrorIllegalAddress" : "other"; }
#else
int cuGetErrorName(int status, const char **name) {
    *name = status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : status == 100 ? "CUDA_ERROR_NO_DEVICE" : "other";
    return 0;
}
#endif

int COMPILER(CreateProgram)(
    void **program, const char *text, const char *name, int headers, const char **a,
    const char **b) {
    *program = &blocks;
    note("program of %s", name);
    return text[0] != '/' || headers != 0 || a != NULL || b != NULL;
}
int COMPILER(DestroyProgram)(void **program) { return *program != &blocks; }
int COMPILER(CompileProgram)(void *program, int count, const char **options) {
    for (int i = 0; i < count; i++) note("option %s", options[i]);
    return program != &blocks || fails("compile") ? 6 : 0;
}
int COMPILER(GetProgramLogSize)(void *program, size_t *size) {
    *size = program == &blocks ? sizeof "kernels(7): error: unlikely" : 0;
    return 0;
}
int COMPILER(GetProgramLog)(void *program, char *log) {
    strcpy(log, "kernels(7): error: unlikely");
    return program != &blocks;
}
int CODE_SIZE(void *program, size_t *size) {
    *size = sizeof "code";
    return program != &blocks;
}
int CODE(void *program, char *code) {
    strcpy(code, "code");
    return program != &blocks;
}
const char *COMPILER(GetErrorString)(int status) { return status == 6 ? "COMPILATION" : "other"; }
#ifndef HIP
int nvrtcGetPTXSize(void *program, size_t *size) {
    *size = sizeof "text";
    return program != &blocks;
}
int nvrtcGetPTX(void *program, char *text) {
    memcpy(text, "text", sizeof "text");
    return program != &blocks;
}
#endif

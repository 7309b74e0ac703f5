/* The product of two matrices of f32 by cuBLAS, in single precision without tensor
 * cores.  cuBLAS is column-major, so it computes the transposed product. */
#include "peer.cuh"

#include <cublas_v2.h>

static float *a, *b, *c;
static int n, m, k;
static cublasHandle_t handle;

static void blas(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) fail(cublasGetStatusString(status));
}

static void prepare() {
    std::vector<std::int64_t> left(2), right(2);
    a = read_to_device<float>(left);
    b = read_to_device<float>(right);
    if (left[1] != right[0]) fail("the matrices do not fit");
    n = (int)left[0], m = (int)left[1], k = (int)right[1];
    c = on_device<float>((std::size_t)n * k);
    blas(cublasCreate(&handle));
    blas(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
}

static void compute() {
    float one = 1, zero = 0;
    blas(cublasSgemm(
        handle, CUBLAS_OP_N, CUBLAS_OP_N, k, n, m, &one, b, k, a, m, &zero, c, k));
}

static void finish() { write_from_device<float>({n, k}, c); }

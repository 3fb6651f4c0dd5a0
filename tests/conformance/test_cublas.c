/* Conformance: cuBLAS against loops in double precision. One source for both devices. */
#include "tests/support/test.h"
#include <stddef.h>
#include <stdint.h>
#include <cublas_v2.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "step.h"

#define BLAS(call) assert_int_equal((call), CUBLAS_STATUS_SUCCESS)

enum { M = 7, N = 5, K = 9, LD = 11, BATCH = 3, CELLS = LD * LD };

static cublasHandle_t handle;
static cudaStream_t stream;

static void fill(float *values, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

static void *upload(const void *values, size_t bytes)
{
    void *memory = NULL;
    STEP(cudaMalloc(&memory, bytes));
    STEP(cudaMemcpy(memory, values, bytes, cudaMemcpyHostToDevice));
    return memory;
}

static void download(void *to, void *memory, size_t bytes)
{
    STEP(cudaStreamSynchronize(stream));
    STEP(cudaMemcpy(to, memory, bytes, cudaMemcpyDeviceToHost));
    STEP(cudaFree(memory));
}

static double cell(const float *x, bool transposed, int row, int column)
{
    return (double)(transposed ? x[row * LD + column] : x[column * LD + row]);
}

static void reference(float *c, const float *a, const float *b, bool ta, bool tb, double alpha, double beta)
{
    for (int row = 0; row < M; row++) {
        for (int column = 0; column < N; column++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += cell(a, ta, row, k) * cell(b, tb, k, column);
            float *out = &c[column * LD + row];
            *out = (float)(alpha * sum + (beta != 0 ? beta * (double)*out : 0));
        }
    }
}

static void compare(const float *got, const float *wanted, size_t count, float tolerance)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(got[i] - wanted[i]) <= tolerance))
            fail_msg("element %zu: %g, expected %g", i, (double)got[i], (double)wanted[i]);
}

TEST(test_sgemm)
{
    float a[CELLS], b[CELLS], start[CELLS], wanted[CELLS], got[CELLS];
    const float alpha = 1.5f, beta = -0.5f;
    fill(a, CELLS, 1);
    fill(b, CELLS, 2);
    fill(start, CELLS, 3);
    for (int which = 0; which < 4; which++) {
        float *da = upload(a, sizeof a), *db = upload(b, sizeof b), *dc = upload(start, sizeof start);
        memcpy(wanted, start, sizeof start);
        reference(wanted, a, b, which & 1, which & 2, 1.5, -0.5);
        BLAS(cublasSgemm(handle, which & 1 ? CUBLAS_OP_T : CUBLAS_OP_N, which & 2 ? CUBLAS_OP_T : CUBLAS_OP_N, M, N, K,
                         &alpha, da, LD, db, LD, &beta, dc, LD));
        download(got, dc, sizeof got);
        compare(got, wanted, CELLS, 1e-5f); /* what lies between the columns stays */
        STEP(cudaFree(da));
        STEP(cudaFree(db));
    }
}

TEST(test_beta_zero_ignores_nan)
{
    float a[CELLS], b[CELLS], c[CELLS], wanted[CELLS];
    const float one = 1, zero = 0;
    fill(a, CELLS, 4);
    fill(b, CELLS, 5);
    for (int i = 0; i < CELLS; i++)
        c[i] = NAN;
    reference(wanted, a, b, false, false, 1, 0);
    float *da = upload(a, sizeof a), *db = upload(b, sizeof b), *dc = upload(c, sizeof c);
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, da, LD, db, LD, &zero, dc, LD));
    download(c, dc, sizeof c);
    for (int column = 0; column < N; column++)
        compare(c + column * LD, wanted + column * LD, M, 1e-5f);
    STEP(cudaFree(da));
    STEP(cudaFree(db));
}

TEST(test_strided_batched)
{
    static float a[BATCH * CELLS], b[BATCH * CELLS], c[BATCH * CELLS], wanted[BATCH * CELLS];
    const float one = 1, zero = 0;
    fill(a, BATCH * CELLS, 6);
    fill(b, BATCH * CELLS, 7);
    for (int i = 0; i < BATCH; i++)
        reference(wanted + i * CELLS, a + i * CELLS, b, true, false, 1, 0); /* one B for all: stride 0 */
    float *da = upload(a, sizeof a), *db = upload(b, sizeof b), *dc = upload(c, sizeof c);
    BLAS(cublasSgemmStridedBatched(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &one, da, LD, CELLS, db, LD, 0, &zero, dc,
                                   LD, CELLS, BATCH));
    download(c, dc, sizeof c);
    compare(c, wanted, BATCH * CELLS, 1e-5f);
    STEP(cudaFree(da));
    STEP(cudaFree(db));
}

TEST(test_vector)
{
    float a[CELLS], x[CELLS], y[M] = {0}, wanted[M] = {0};
    const float one = 1, zero = 0;
    fill(a, CELLS, 8);
    fill(x, CELLS, 9);
    for (int row = 0; row < M; row++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += cell(a, true, row, k) * (double)x[2 * k];
        wanted[row] = (float)sum;
    }
    float *da = upload(a, sizeof a), *dx = upload(x, sizeof x), *dy = upload(y, sizeof y);
    BLAS(cublasSgemv(handle, CUBLAS_OP_T, K, M, &one, da, LD, dx, 2, &zero, dy, 1));
    download(y, dy, sizeof y);
    compare(y, wanted, M, 1e-5f);
    STEP(cudaFree(da));
    STEP(cudaFree(dx));
}

/* Small integers are exact in bf16. */
static uint16_t bf16_of(int value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

TEST(test_bf16)
{
    enum { SIDE = 8 };
    uint16_t a[SIDE * SIDE], b[SIDE * SIDE], half[SIDE * SIDE] = {0};
    float full[SIDE * SIDE] = {0};
    const float one = 1, zero = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = bf16_of(i % 5 - 2);
        b[i] = bf16_of(i % 3 - 1);
    }
    void *da = upload(a, sizeof a), *db = upload(b, sizeof b), *dh = upload(half, sizeof half),
         *df = upload(full, sizeof full);
    BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, da, CUDA_R_16BF, SIDE, db, CUDA_R_16BF,
                      SIDE, &zero, dh, CUDA_R_16BF, SIDE, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, da, CUDA_R_16BF, SIDE, db, CUDA_R_16BF,
                      SIDE, &zero, df, CUDA_R_32F, SIDE, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    download(half, dh, sizeof half);
    download(full, df, sizeof full);
    for (int i = 0; i < SIDE * SIDE; i++) {
        int sum = 0;
        for (int k = 0; k < SIDE; k++)
            sum += ((k * SIDE + i % SIDE) % 5 - 2) * ((i / SIDE * SIDE + k) % 3 - 1);
        assert_true(full[i] == (float)sum);
        assert_int_equal(half[i], bf16_of(sum));
    }
    STEP(cudaFree(da));
    STEP(cudaFree(db));
}

/* The host's scalars are read at the call, the device's when it runs. */
TEST(test_scalars)
{
    float one[1] = {1}, x[1] = {3}, alpha = 2, beta = 0, later = 5;
    float *da = upload(x, sizeof x), *db = upload(x, sizeof x), *dc = upload(x, sizeof x), *dalpha = upload(one, 4),
          *dbeta = upload(&beta, 4);
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, da, 1, db, 1, &beta, dc, 1));
    alpha = 100;
    STEP(cudaStreamSynchronize(stream));
    STEP(cudaMemcpy(x, dc, 4, cudaMemcpyDeviceToHost));
    assert_true(x[0] == 18);
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    STEP(cudaMemcpyAsync(dalpha, &later, 4, cudaMemcpyHostToDevice, stream));
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, dalpha, da, 1, db, 1, dbeta, dc, 1));
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    download(x, dc, 4);
    assert_true(x[0] == 45);
    void *memory[] = {da, db, dalpha, dbeta};
    for (size_t i = 0; i < 4; i++)
        STEP(cudaFree(memory[i]));
}

TEST(test_capture)
{
    enum { SIDE = 64, WORKSPACE = 4 << 20 };
    static float a[SIDE * SIDE], c[SIDE * SIDE], wanted[SIDE * SIDE];
    const float one = 1, zero = 0;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    void *workspace = NULL;
    fill(a, SIDE * SIDE, 10);
    for (int i = 0; i < SIDE * SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            wanted[i] += a[k * SIDE + i % SIDE] * a[i / SIDE * SIDE + k];
    float *da = upload(a, sizeof a), *dc = upload(c, sizeof c);
    STEP(cudaMalloc(&workspace, WORKSPACE));
    BLAS(cublasSetWorkspace(handle, workspace, WORKSPACE));
    STEP(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, da, SIDE, da, SIDE, &zero, dc, SIDE));
    STEP(cudaStreamEndCapture(stream, &graph));
    STEP(cudaGraphGetNodes(graph, nodes, &count));
    assert_true(count >= 1 && count < 8);
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
        STEP(cudaGraphNodeGetType(nodes[i], &type));
        assert_true(type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemset);
    }
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        STEP(cudaGraphLaunch(exec, stream));
    download(c, dc, sizeof c);
    compare(c, wanted, SIDE * SIDE, 1e-4f);
    STEP(cudaGraphExecDestroy(exec));
    STEP(cudaGraphDestroy(graph));
    BLAS(cublasSetStream(handle, stream));
    STEP(cudaFree(workspace));
    STEP(cudaFree(da));
}

TEST(test_bad_arguments)
{
    const float one = 1;
    float *x = upload(&one, 4);
    assert_int_equal(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, 1, 1, &one, x, 1, x, 1, &one, x, 1),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 1, 1, &one, x, 3, x, 1, &one, x, 4),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, NULL, x, 1, x, 1, &one, x, 1),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, 1, x, 1, &one, x, 1),
                     CUBLAS_STATUS_NOT_INITIALIZED);
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 1, 1, &one, x, 1, x, 1, &one, x, 1));
    assert_string_equal(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
    STEP(cudaFree(x));
}

TEST(test_modes)
{
    cublasMath_t math = CUBLAS_DEFAULT_MATH;
    cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_DEVICE;
    cudaStream_t got = NULL;
    int version = 0;
    BLAS(cublasGetVersion(handle, &version));
    assert_true(version >= CUDART_VERSION / 1000 * 10000);
    BLAS(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    BLAS(cublasGetMathMode(handle, &math));
    assert_int_equal(math, CUBLAS_PEDANTIC_MATH);
    BLAS(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
    BLAS(cublasGetPointerMode(handle, &pointers));
    assert_int_equal(pointers, CUBLAS_POINTER_MODE_HOST);
    BLAS(cublasGetStream(handle, &got));
    assert_ptr_equal(got, stream);
}

static int setup(void **state)
{
    (void)state;
    STEP(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    BLAS(cublasCreate(&handle));
    BLAS(cublasSetStream(handle, stream));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    BLAS(cublasDestroy(handle));
    STEP(cudaStreamDestroy(stream));
    return 0;
}

TEST_GROUP(setup, teardown);

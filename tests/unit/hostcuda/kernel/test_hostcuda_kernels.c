/* The kernel runtime: what CUDA promises of threads, warps, blocks and launches. */
#include "tests/support/cuda_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/kernels/hostcuda_kernels.h"

static cudaStream_t stream;

static void *device(size_t bytes)
{
    void *memory = NULL;
    OK(cudaMalloc(&memory, bytes));
    OK(cudaMemset(memory, 0, bytes));
    OK(cudaDeviceSynchronize());
    return memory;
}

static void fetch(void *to, void *from, size_t bytes)
{
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
    OK(cudaFree(from));
}

static void shuffles_of(unsigned threads)
{
    int got[7][32];
    int *out = device(sizeof got);
    OK(hk_shuffles(out, threads, stream));
    fetch(got, out, sizeof got);
    const int *row = &got[0][0];
    for (int lane = 0; lane < (int)threads; lane++) {
        int n = (int)threads;
        assert_int_equal(row[0 * n + lane], 103);
        assert_int_equal(row[1 * n + lane], 100 + (lane < 2 ? lane : lane - 2));
        if (lane + 5 >= 32 || lane + 5 < n) /* else: a lane that does not exist */
            assert_int_equal(row[2 * n + lane], 100 + (lane + 5 < 32 ? lane + 5 : lane));
        assert_int_equal(row[3 * n + lane], 100 + (lane ^ 1));
        assert_int_equal(row[4 * n + lane], 100 + lane / 8 * 8 + 1);
        assert_int_equal(row[5 * n + lane], 100 + (lane % 4 + 3 < 4 ? lane + 3 : lane));
        assert_int_equal(row[6 * n + lane], 2001);
    }
}

TEST(test_shuffles)
{
    shuffles_of(32);
    shuffles_of(16); /* lanes that never were count as exited */
}

TEST(test_partial_masks)
{
    int got[64];
    int *out = device(sizeof got);
    OK(hk_partial_masks(out, stream));
    fetch(got, out, sizeof got);
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], i % 2 ? 256 : 240);
}

TEST(test_exited_lanes)
{
    int got[64];
    int *out = device(sizeof got);
    OK(hk_exited_lanes(out, stream));
    fetch(got, out, sizeof got);
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], i % 32 < 16 ? 120 + 0xaaaa : -1);
}

TEST(test_votes)
{
    unsigned got[4][32];
    unsigned *out = device(sizeof got);
    OK(hk_votes(out, stream));
    fetch(got, out, sizeof got);
    for (int i = 0; i < 32; i++) {
        assert_int_equal(got[0][i], 0x1f);
        assert_int_equal(got[1][i], 1);
        assert_int_equal(got[2][i], 0);
        assert_int_equal(got[3][i], 1);
    }
}

TEST(test_warps_and_barriers)
{
    enum { THREADS = 256, BLOCKS = 5 };
    int got[THREADS * BLOCKS];
    int *out = device(sizeof got);
    OK(hk_warps_and_barriers(out, THREADS, BLOCKS, stream));
    fetch(got, out, sizeof got);
    for (int i = 0; i < THREADS * BLOCKS; i++)
        assert_int_equal(got[i], 3 * (THREADS * (THREADS - 1) / 2 + THREADS * (i / THREADS)) + 3 * THREADS);
}

TEST(test_barrier_after_exit)
{
    int got[96];
    int *out = device(sizeof got);
    OK(hk_barrier_after_exit(out, stream));
    fetch(got, out, sizeof got);
    for (int i = 0; i < 96; i++)
        assert_int_equal(got[i], i % 3 ? 64 : 7);
}

TEST(test_barrier_votes)
{
    int got[3][100];
    int *out = device(sizeof got);
    OK(hk_barrier_votes(out, stream));
    fetch(got, out, sizeof got);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(got[0][i], 34);
        assert_int_equal(got[1][i], 1);
        assert_int_equal(got[2][i], 0);
    }
}

TEST(test_static_shared)
{
    enum { THREADS = 128, BLOCKS = 7 };
    float values[THREADS * BLOCKS], got[BLOCKS];
    for (int i = 0; i < THREADS * BLOCKS; i++)
        values[i] = (float)(i % 10);
    float *in = device(sizeof values), *out = device(sizeof got);
    OK(cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice));
    OK(hk_shared(out, in, THREADS, BLOCKS, stream));
    fetch(got, out, sizeof got);
    for (int block = 0; block < BLOCKS; block++) {
        float sum = 0;
        for (int i = 0; i < THREADS; i++)
            sum += values[block * THREADS + i];
        assert_true(got[block] == sum);
    }
    OK(cudaFree(in));
}

static void reverse_of(unsigned count)
{
    int *got = malloc(count * sizeof *got);
    assert_non_null(got);
    int *out = device(count * sizeof *got);
    OK(hk_dynamic_shared(out, count, stream));
    fetch(got, out, count * sizeof *got);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(got[i], count - 1 - i);
    free(got);
}

TEST(test_dynamic_shared)
{
    const unsigned large = 200u << 10;
    int *out = device(large);
    reverse_of(1000);
    assert_int_equal(hk_dynamic_shared(out, large / 4, stream), cudaErrorInvalidValue);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
    OK(hk_allow_dynamic_shared(large));
    reverse_of(large / 4);
    OK(cudaFree(out));
}

TEST(test_atomics)
{
    enum { COUNT = 256 };
    int ints[4] = {0};
    unsigned words[5] = {0, 0, 0xffffffffu, 0, 5};
    unsigned long long longs[2] = {0};
    float floats[1] = {0};
    double doubles[1] = {0};
    int *i = device(sizeof ints);
    unsigned *w = device(sizeof words);
    unsigned long long *l = device(sizeof longs);
    float *f = device(sizeof floats);
    double *d = device(sizeof doubles);
    OK(cudaMemcpy(w, words, sizeof words, cudaMemcpyHostToDevice));
    OK(hk_atomics(i, w, l, f, d, stream));
    fetch(ints, i, sizeof ints);
    fetch(words, w, sizeof words);
    fetch(longs, l, sizeof longs);
    fetch(floats, f, sizeof floats);
    fetch(doubles, d, sizeof doubles);
    assert_int_equal(ints[0], COUNT);
    assert_int_equal(ints[1], COUNT - 1);
    assert_int_equal(ints[2], -(COUNT - 1));
    assert_int_equal(ints[3], -2 * COUNT);
    assert_int_equal(words[0], 3 * COUNT);
    assert_int_equal(words[1], 0xffffffffu);
    assert_int_equal(words[2], 0xffff0000u);
    assert_int_equal(words[3], 9);
    assert_int_equal(words[4], 6);
    assert_true(longs[0] == (unsigned long long)COUNT << 33);
    assert_true(longs[1] == (unsigned long long)(COUNT - 1) << 40);
    assert_true(floats[0] == COUNT * 0.5f);
    assert_true(doubles[0] == COUNT * 0.25);
}

TEST(test_lock)
{
    int got[2];
    int *out = device(sizeof got);
    OK(hk_lock(out, stream));
    fetch(got, out, sizeof got);
    assert_int_equal(got[0], 0);
    assert_int_equal(got[1], 8);
}

TEST(test_three_dimensions)
{
    const dim3 grid = {3, 2, 4}, block = {5, 3, 2};
    enum { BLOCKS = 24, THREADS = 30 };
    int got[BLOCKS * THREADS];
    int *out = device(sizeof got);
    OK(hk_indices(out, grid, block, stream));
    fetch(got, out, sizeof got);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        assert_int_equal(got[i], i / THREADS * 10000 + i % THREADS);
}

TEST(test_bf16)
{
    float got[8];
    float *out = device(sizeof got);
    OK(hk_bf16(out, 1.0f + 0x1p-9f, 3.0f, 0.5f, stream)); /* the first lies between two bf16, nearer to 1 */
    fetch(got, out, sizeof got);
    assert_true(got[0] == 1.0f);
    assert_true(got[1] == 3.0f);
    assert_true(got[2] == 4.0f);
    assert_true(got[3] == 3.5f);
    assert_true(got[4] == 2.5f);
    assert_true(fabsf(got[5] - 3.505859375f) < 1e-6f);
    assert_true(got[6] == 1.0f);
    assert_true(got[7] == 1.0f);
}

TEST(test_intrinsics)
{
    const float wanted[12] = {0.5f, 1.0f, 1.5f, 0.125f, 1.0f, 128.0f, 7.0f, 10.0f, 39.0f, 1.0f, 1.5f, 1.0f};
    float got[12];
    float *out = device(sizeof got);
    OK(hk_intrinsics(out, stream));
    fetch(got, out, sizeof got);
    for (int i = 0; i < 12; i++)
        if (fabsf(got[i] - wanted[i]) > 1e-6f)
            fail_msg("intrinsic %d gives %g, not %g", i, (double)got[i], (double)wanted[i]);
}

TEST(test_parameters)
{
    const size_t offsets[] = {0, 8, 16, 24, 32}, sizes[] = {8, 1, 8, 2, 16};
    double got[5];
    double *out = device(sizeof got);
    OK(hk_parameters(out, 'a', 2.5, -3, (struct hk_pair){'z', 1e100}, stream));
    fetch(got, out, sizeof got);
    assert_true(got[0] == 'a' && got[1] == 2.5 && got[2] == -3 && got[3] == 'z' && got[4] == 1e100);
    for (size_t i = 0; i < 5; i++) {
        size_t offset = 0, size = 0;
        OK(cudaFuncGetParamInfo(hk_parameters_function(), i, &offset, &size));
        assert_int_equal(offset, offsets[i]);
        assert_int_equal(size, sizes[i]);
    }
    const char *name = NULL;
    OK(cudaFuncGetName(&name, hk_parameters_function()));
    assert_non_null(strstr(name, "parameters"));
    size_t offset = 0;
    assert_int_equal(cudaFuncGetParamInfo(hk_parameters_function(), 5, &offset, NULL), cudaErrorInvalidValue);
    cudaGetLastError();
}

static cudaError_t empty(unsigned x, unsigned y, unsigned z, unsigned grid_y, unsigned shared)
{
    cudaError_t error = hk_empty((dim3){1, grid_y, 1}, (dim3){x, y, z}, shared, stream);
    assert_int_equal(cudaGetLastError(), error);
    return error;
}

TEST(test_limits)
{
    OK(empty(1024, 1, 1, 1, 0));
    OK(empty(32, 32, 1, 65535, 48 << 10));
    assert_int_equal(empty(1025, 1, 1, 1, 0), cudaErrorInvalidValue);
    assert_int_equal(empty(32, 33, 1, 1, 0), cudaErrorInvalidValue);
    assert_int_equal(empty(1, 1, 65, 1, 0), cudaErrorInvalidValue);
    assert_int_equal(empty(0, 1, 1, 1, 0), cudaErrorInvalidValue);
    assert_int_equal(empty(1, 1, 1, 65536, 0), cudaErrorInvalidValue);
    assert_int_equal(empty(1, 1, 1, 1, (48 << 10) + 4), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(stream));
}

TEST(test_unknown_function)
{
    static const char nothing[16];
    const dim3 one = {1, 1, 1};
    assert_int_equal(cudaLaunchKernel(nothing, one, one, NULL, 0, stream), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaLaunchKernel(NULL, one, one, NULL, 0, stream), cudaErrorInvalidDeviceFunction);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

/* ---- failures: in processes of their own, since the error sticks ----------------------------------------------------
 */

static cudaError_t launch_spin(cudaStream_t on)
{
    void *flag = NULL; /* the failure takes it along */
    cudaError_t error = cudaMalloc(&flag, sizeof(int));
    if (!error)
        error = cudaMemset(flag, 0, sizeof(int));
    return error ? error : hk_spin(flag, on);
}

static cudaError_t launch_bad(int which, cudaStream_t on)
{
    switch (which) {
    case 0: return hk_deadlock_barrier(64, on);
    case 1: return hk_deadlock_barrier(1024, on);
    case 2: return hk_deadlock_warp(on);
    case 3: return hk_trap(on);
    default: return launch_spin(on);
    }
}

/* 0: the launch succeeded, the wait failed, and so does everything after it. */
static int child(int which)
{
    cudaStream_t own = NULL;
    void *memory = NULL;
    if (cudaStreamCreate(&own) || launch_bad(which, own))
        return 1;
    if (cudaStreamSynchronize(own) != cudaErrorLaunchFailure)
        return 2;
    if (cudaGetLastError() != cudaErrorLaunchFailure || cudaGetLastError() != cudaErrorLaunchFailure)
        return 3;
    if (cudaMalloc(&memory, 16) != cudaErrorLaunchFailure || cudaDeviceSynchronize() != cudaErrorLaunchFailure)
        return 4;
    return cudaStreamDestroy(own) ? 5 : 0;
}

TEST(test_failures)
{
    skip_unless(on_host_device(), "on a GPU, threads that wait for each other for ever hang or do anything");
    for (int which = 0; which < 5; which++) {
        int status = 0;
        fflush(NULL);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(child(which));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static int setup(void **state)
{
    (void)state;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
}

static int teardown(void **state)
{
    (void)state;
    return cudaStreamDestroy(stream);
}

TEST_GROUP(setup, teardown);

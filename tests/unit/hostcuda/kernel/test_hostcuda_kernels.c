/* The kernel runtime: what CUDA promises of threads, warps, blocks and launches. */
#include "tests/support/cuda_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child.h"
#include "tests/support/kernels/hostcuda_kernels.h"

SHARED_STREAM(stream, cudaStreamNonBlocking);

static void shuffles_of(unsigned threads)
{
    int got[7][32];
    KERNEL_OUTPUT(got, hk_shuffles(out, threads, stream));
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
    KERNEL_OUTPUT(got, hk_partial_masks(out, stream));
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], i % 2 ? 256 : 240);
}

TEST(test_exited_lanes)
{
    int got[64];
    KERNEL_OUTPUT(got, hk_exited_lanes(out, stream));
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], i % 32 < 16 ? 120 + 0xaaaa : -1);
}

TEST(test_votes)
{
    unsigned got[4][32];
    KERNEL_OUTPUT(got, hk_votes(out, stream));
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
    KERNEL_OUTPUT(got, hk_warps_and_barriers(out, THREADS, BLOCKS, stream));
    for (int i = 0; i < THREADS * BLOCKS; i++)
        assert_int_equal(got[i], 3 * (THREADS * (THREADS - 1) / 2 + THREADS * (i / THREADS)) + 3 * THREADS);
}

TEST(test_barrier_after_exit)
{
    int got[96];
    KERNEL_OUTPUT(got, hk_barrier_after_exit(out, stream));
    for (int i = 0; i < 96; i++)
        assert_int_equal(got[i], i % 3 ? 64 : 7);
}

TEST(test_barrier_votes)
{
    int got[3][100];
    KERNEL_OUTPUT(got, hk_barrier_votes(out, stream));
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
    DEVICE_MEMORY(float, in, THREADS *BLOCKS);
    OK(cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice));
    KERNEL_OUTPUT(got, hk_shared(out, in, THREADS, BLOCKS, stream));
    for (int block = 0; block < BLOCKS; block++) {
        float sum = 0;
        for (int i = 0; i < THREADS; i++)
            sum += values[block * THREADS + i];
        assert_true(got[block] == sum);
    }
}

static void reverse_of(unsigned count)
{
    int *got = malloc(count * sizeof *got), *out = device_memory(count * sizeof *got);
    assert_non_null(got);
    OK(hk_dynamic_shared(out, count, stream));
    take_back(got, out, count * sizeof *got);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(got[i], count - 1 - i);
    free(got);
}

TEST(test_dynamic_shared)
{
    const unsigned large = 200u << 10;
    DEVICE_MEMORY(int, out, large / 4);
    reverse_of(1000);
    assert_int_equal(hk_dynamic_shared(out, large / 4, stream), cudaErrorInvalidValue);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
    OK(hk_allow_dynamic_shared(large));
    reverse_of(large / 4);
}

TEST(test_atomics)
{
    enum { COUNT = 256 };
    struct {
        int ints[4];
        unsigned words[5];
        unsigned long long longs[2];
        float floats[1];
        double doubles[1];
    } got, before = {.words = {0, 0, 0xffffffffu, 0, 5}}, *at = device_memory(sizeof before);
    OK(cudaMemcpy(at, &before, sizeof before, cudaMemcpyHostToDevice));
    OK(hk_atomics(at->ints, at->words, at->longs, at->floats, at->doubles, stream));
    take_back(&got, at, sizeof got);
    assert_int_equal(got.ints[0], COUNT);
    assert_int_equal(got.ints[1], COUNT - 1);
    assert_int_equal(got.ints[2], -(COUNT - 1));
    assert_int_equal(got.ints[3], -2 * COUNT);
    assert_int_equal(got.words[0], 3 * COUNT);
    assert_int_equal(got.words[1], 0xffffffffu);
    assert_int_equal(got.words[2], 0xffff0000u);
    assert_int_equal(got.words[3], 9);
    assert_int_equal(got.words[4], 6);
    assert_true(got.longs[0] == (unsigned long long)COUNT << 33);
    assert_true(got.longs[1] == (unsigned long long)(COUNT - 1) << 40);
    assert_true(got.floats[0] == COUNT * 0.5f);
    assert_true(got.doubles[0] == COUNT * 0.25);
}

TEST(test_lock)
{
    int got[2];
    KERNEL_OUTPUT(got, hk_lock(out, stream));
    assert_int_equal(got[0], 0);
    assert_int_equal(got[1], 8);
}

TEST(test_three_dimensions)
{
    const dim3 grid = {3, 2, 4}, block = {5, 3, 2};
    enum { BLOCKS = 24, THREADS = 30 };
    int got[BLOCKS * THREADS];
    KERNEL_OUTPUT(got, hk_indices(out, grid, block, stream));
    for (int i = 0; i < BLOCKS * THREADS; i++)
        assert_int_equal(got[i], i / THREADS * 10000 + i % THREADS);
}

TEST(test_bf16)
{
    const float wanted[8] = {1.0f, 3.0f, 4.0f, 3.5f, 2.5f, 3.505859375f, 1.0f, 1.0f};
    float got[8];
    KERNEL_OUTPUT(got,
                  hk_bf16(out, 1.0f + 0x1p-9f, 3.0f, 0.5f, stream)); /* the first lies between two bf16, nearer to 1 */
    for (int i = 0; i < 8; i++)
        if (!(fabsf(got[i] - wanted[i]) <= (i == 5 ? 1e-6f : 0)))
            fail_msg("value %d is %.9g, not %.9g", i, (double)got[i], (double)wanted[i]);
}

TEST(test_intrinsics)
{
    const float wanted[12] = {0.5f, 1.0f, 1.5f, 0.125f, 1.0f, 128.0f, 7.0f, 10.0f, 39.0f, 1.0f, 1.5f, 1.0f};
    float got[12];
    KERNEL_OUTPUT(got, hk_intrinsics(out, stream));
    for (int i = 0; i < 12; i++)
        if (fabsf(got[i] - wanted[i]) > 1e-6f)
            fail_msg("intrinsic %d gives %g, not %g", i, (double)got[i], (double)wanted[i]);
}

TEST(test_parameters)
{
    const size_t offsets[] = {0, 8, 16, 24, 32}, sizes[] = {8, 1, 8, 2, 16};
    double got[5];
    KERNEL_OUTPUT(got, hk_parameters(out, 'a', 2.5, -3, (struct hk_pair){'z', 1e100}, stream));
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

static cudaError_t barrier_of_two_warps(cudaStream_t on)
{
    return hk_deadlock_barrier(64, on);
}

static cudaError_t barrier_of_many_warps(cudaStream_t on)
{
    return hk_deadlock_barrier(1024, on);
}

static cudaError_t (*launch_bad)(cudaStream_t on);

/* The launch succeeds, the wait fails, and so does everything after it. */
static int break_device(void)
{
    cudaStream_t own = NULL;
    void *memory = NULL;
    EXPECT(!cudaStreamCreate(&own) && !launch_bad(own));
    EXPECT(cudaStreamSynchronize(own) == cudaErrorLaunchFailure);
    EXPECT(cudaGetLastError() == cudaErrorLaunchFailure && cudaGetLastError() == cudaErrorLaunchFailure);
    EXPECT(cudaMalloc(&memory, 16) == cudaErrorLaunchFailure && cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    EXPECT(!cudaStreamDestroy(own));
    return 0;
}

TEST(test_failures)
{
    static const struct {
        cudaError_t (*launch)(cudaStream_t on);
        const char *said;
    } cases[] = {
        {barrier_of_two_warps, "deadlock in block"},
        {barrier_of_many_warps, "deadlock in block"},
        {hk_deadlock_warp, "deadlock in block"},
        {hk_trap, "called __trap"},
        {launch_spin, "spins on memory"},
    };
    skip_unless(on_host_device(), "on a GPU, threads that wait for each other for ever hang or do anything");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        launch_bad = cases[i].launch;
        expect_child(NULL, &(const struct child){NULL, break_device, 0, cases[i].said});
    }
}

TEST_GROUP(make_shared, drop_shared);

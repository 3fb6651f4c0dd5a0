/* Atomic functions and fences with a scope. */
#include "tests/support/cuda_support.h"

#include "tests/support/kernels/atomic_kernels.h"

typedef cudaError_t (*atomics)(unsigned *words, unsigned long long *sum, float *fraction, cudaStream_t stream);

static void run(atomics launch)
{
    enum { THREADS = 128 };
    unsigned got[AT_WORDS], *words = device_memory(sizeof got);
    unsigned long long got_sum = 0, *sum = device_memory(sizeof *sum);
    float got_fraction = 0, *fraction = device_memory(sizeof *fraction);
    OK(launch(words, sum, fraction, NULL));
    OK(cudaMemcpy(got, words, sizeof got, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&got_sum, sum, sizeof got_sum, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&got_fraction, fraction, sizeof got_fraction, cudaMemcpyDeviceToHost));
    assert_int_equal(got[AT_ADD], 3 * THREADS);
    assert_int_equal((int)got[AT_SUB], -2 * THREADS);
    assert_int_equal(got[AT_MAX], THREADS - 1);
    assert_int_equal((int)got[AT_MIN], -100);
    assert_int_equal(got[AT_EXCH], 9);
    assert_int_equal(got[AT_AND], 0);
    assert_int_equal(got[AT_OR], 0xffffffffu);
    assert_int_equal(got[AT_XOR], 0);
    assert_int_equal(got[AT_INC], THREADS % 7);
    assert_int_equal(got[AT_DEC], (7 - THREADS % 7) % 7);
    assert_in_range(got[AT_CAS], 1, THREADS);
    assert_true(got_sum == (unsigned long long)THREADS << 33);
    assert_true(got_fraction == 0.5f * THREADS);
    OK(cudaFree(words));
    OK(cudaFree(sum));
    OK(cudaFree(fraction));
}

TEST(test_system)
{
    run(at_system);
}

TEST(test_block)
{
    run(at_block);
}

TEST(test_fences)
{
    int got[64], *out = device_memory(sizeof got);
    OK(at_fences(out, NULL));
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], (i + 1) % 64);
    OK(cudaFree(out));
}

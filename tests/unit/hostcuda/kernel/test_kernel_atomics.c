/* Atomic functions and fences with a scope. */
#include "tests/support/cuda_support.h"

#include "tests/support/kernels/atomic_kernels.h"

typedef cudaError_t (*atomics)(unsigned *words, unsigned long long *sum, float *fraction, cudaStream_t stream);

static void run(atomics launch)
{
    enum { THREADS = 128 };
    struct {
        unsigned long long sum;
        unsigned words[AT_WORDS];
        float fraction;
    } got, *at = device_memory(sizeof got);
    OK(launch(at->words, &at->sum, &at->fraction, NULL));
    take_back(&got, at, sizeof got);
    assert_int_equal(got.words[AT_ADD], 3 * THREADS);
    assert_int_equal((int)got.words[AT_SUB], -2 * THREADS);
    assert_int_equal(got.words[AT_MAX], THREADS - 1);
    assert_int_equal((int)got.words[AT_MIN], -100);
    assert_int_equal(got.words[AT_EXCH], 9);
    assert_int_equal(got.words[AT_AND], 0);
    assert_int_equal(got.words[AT_OR], 0xffffffffu);
    assert_int_equal(got.words[AT_XOR], 0);
    assert_int_equal(got.words[AT_INC], THREADS % 7);
    assert_int_equal(got.words[AT_DEC], (7 - THREADS % 7) % 7);
    assert_in_range(got.words[AT_CAS], 1, THREADS);
    assert_true(got.sum == (unsigned long long)THREADS << 33);
    assert_true(got.fraction == 0.5f * THREADS);
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
    int got[64];
    KERNEL_OUTPUT(got, at_fences(out, NULL));
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], (i + 1) % 64);
}

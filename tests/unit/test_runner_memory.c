/* The memory of a runner's static buffers: which of them grow, and who sees what goes beyond the end of the others. */
#include "tests/support/child.h"
#include "tests/support/runner_model.h"

#include "memory/ledger.h"

#include <stdbool.h>

/* ---- a batch larger than a buffer of fixed dimensions, in a process of its own: HOSTCUDA_MEMORY is read once ---- */

enum { FIXED_ROWS = TOKENS_MAX };

static bg_tensor between;

/* The pass fills as many rows of the buffer as the batch has. */
static bg_status fill_between(void *user, const bg_context *context, cudaStream_t stream)
{
    (void)user;
    return from_cuda(bgk_fill(between.data, 1, (size_t)context->padded_tokens * WIDTH, stream));
}

static int run_batch_of(int tokens, int64_t rows, cudaError_t expected)
{
    const int64_t dim[] = {rows, WIDTH};
    bg_batch batch = mixed_batch(tokens);
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_runner *runner;
    cudaStream_t stream;

    config.max_tokens = FIXED_ROWS;
    EXPECT(!cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    EXPECT(bg_runner_create(&runner, &config, fill_between, NULL, stream) == BG_OK);
    EXPECT(bg_runner_add_buffer(runner, "between", BG_F32, 2, dim, &between) == BG_OK);
    EXPECT(bg_runner_run(runner, &batch, NULL, NULL, NULL) == BG_OK);
    EXPECT(cudaStreamSynchronize(stream) == expected);
    bg_runner_destroy(runner);
    return 0;
}

static int write_beyond_fixed(void)
{
    return run_batch_of(FIXED_ROWS + 1, FIXED_ROWS, cudaErrorIllegalAddress);
}

static int write_all_of_fixed(void)
{
    return run_batch_of(FIXED_ROWS, FIXED_ROWS, cudaSuccess);
}

static int write_grown(void)
{
    return run_batch_of(200000, 0, cudaSuccess); /* more than a page of the device's memory */
}

static void test_fences_behind_buffers(void **state)
{
#define EXPECT_PROGRAM(...) expect_child("HOSTCUDA_MEMORY", &(const struct child){__VA_ARGS__})
    (void)state;
    EXPECT_PROGRAM("fence", write_beyond_fixed, 0, ", 0 bytes past the end of device block ");
    EXPECT_PROGRAM("fence", write_all_of_fixed, 0, NULL);
    EXPECT_PROGRAM("fence", write_grown, 0, NULL);
}

/* ---- what the ledger knows of them ---- */

static void expect_owner(const bg_tensor *tensor, const char *name)
{
    size_t bytes = bg_tensor_bytes(tensor);
    bg__owner owner;
    EXPECT_OK(bg__owner_find(BG__REGISTERED, tensor->data, &owner));
    assert_string_equal(owner.name, name);
    assert_int_equal(owner.bytes, bytes);
    assert_false(owner.freed);
    EXPECT_OK(bg__owner_find(BG__DRIVER, tensor->data, &owner));
    assert_int_equal(owner.base, (uintptr_t)tensor->data);
    assert_true(owner.bytes >= bytes);
}

static void test_owners_of_buffers(void **state)
{
    const int64_t by_tokens[] = {0, WIDTH}, fixed[] = {3, WIDTH};
    fixture *f = *state;
    bg_tensor grows, stays;
    bg__owner owner;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_add_buffer(m.runner, "grows", BG_F32, 2, by_tokens, &grows));
    EXPECT_OK(bg_runner_add_buffer(m.runner, "stays", BG_F32, 2, fixed, &stays));
    assert_int_equal(grows.dim[0], TOKENS_MAX);
    assert_int_equal(stays.dim[0], 3);
    expect_owner(&grows, "buffer grows");
    expect_owner(&stays, "buffer stays");
    EXPECT_OK(bg__owner_find(BG__DRIVER, stays.data, &owner));
    assert_int_equal(owner.bytes, bg_tensor_bytes(&stays)); /* the driver knows where it ends */
    EXPECT_OK(bg_runner_run(m.runner, &(bg_batch){.tokens = TOKENS_MAX + 1}, NULL, NULL, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    grows.dim[0] = TOKENS_MAX + 1;
    expect_owner(&grows, "buffer grows");
    expect_owner(&stays, "buffer stays");
    bg_runner_destroy(m.runner);
    EXPECT_OK(bg__owner_find(BG__REGISTERED, stays.data, &owner));
    assert_true(owner.freed || owner.kind == BG__OWNER_NONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fences_behind_buffers), /* before CUDA is used here */
        TEST(test_owners_of_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

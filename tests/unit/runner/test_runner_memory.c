/* The memory of a runner's static buffers: which of them grow, and who sees what goes beyond the end of the others. */
#include "tests/support/child.h"
#include "tests/support/runner/runner_model.h"

#include "memory/ledger.h"

/* ---- a batch larger than a buffer of fixed dimensions, in a process of its own: HOSTCUDA_MEMORY is read once ---- */

enum { FIXED_ROWS = TOKENS_MAX };

static bg_tensor between;

/* The pass fills as many rows of the buffer as the batch has. */
static bg_status fill_between(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    (void)user;
    return from_cuda(bgk_fill(between.data, 1, (size_t)context->padded_tokens * WIDTH, stream));
}

static int run_batch_of(int tokens, int64_t rows, cudaError_t expected)
{
    const int64_t dim[] = {rows, WIDTH};
    OWNED_RUNNER(runner);
    cudaStream_t stream;

    EXPECT(!cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    EXPECT(bg_runner_create(&runner, RUNNER_CONFIG(.max_tokens = FIXED_ROWS), fill_between, NULL, stream) == BG_OK);
    EXPECT(bg_runner_add_buffer(runner, "between", BG_F32, 2, dim, &between) == BG_OK);
    EXPECT(run_bare(runner, mixed_batch(tokens)) == BG_OK);
    EXPECT(cudaStreamSynchronize(stream) == expected);
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

TEST(test_fences_behind_buffers)
{
#define EXPECT_PROGRAM(...) expect_child("HOSTCUDA_MEMORY", &(const struct child){__VA_ARGS__})
    EXPECT_PROGRAM("fence", write_beyond_fixed, 0, ", 0 bytes past the end of device block ");
    EXPECT_PROGRAM("fence", write_all_of_fixed, 0, NULL);
    EXPECT_PROGRAM("fence", write_grown, 0, NULL);
}

/* ---- what the captures take, in a process of its own for what it says ---- */

static void *hoarded;

/* The first capture takes most of the device's memory, as a graph would. */
static bg_status hoard(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    size_t free_bytes, total;

    (void)user;
    if (context->phase == BG_PHASE_CAPTURE && hoarded == NULL) {
        TRY_BG(from_cuda(cudaThreadExchangeStreamCaptureMode(&mode)));
        TRY_BG(from_cuda(cudaMemGetInfo(&free_bytes, &total)));
        TRY_BG(from_cuda(cudaMalloc(&hoarded, free_bytes / 5 * 2)));
        TRY_BG(from_cuda(cudaThreadExchangeStreamCaptureMode(&mode)));
    }
    return from_cuda(bgk_fill(between.data, 1, 1, stream));
}

static int capture_much(void)
{
    const int64_t dim[] = {0, WIDTH};
    bg_runner_memory memory = BG_RUNNER_MEMORY_INIT;
    bg_runner *runner;
    cudaStream_t stream;

    EXPECT(!cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    EXPECT(bg_runner_create(&runner, RUNNER_CONFIG(.schedule = "1,2,4,8"), hoard, NULL, stream) == BG_OK);
    EXPECT(bg_runner_add_buffer(runner, "between", BG_F32, 2, dim, &between) == BG_OK);
    EXPECT(bg_runner_get_memory(runner, &memory) == BG_OK);
    EXPECT(memory.expected == 0 && memory.before == 0 && memory.after == 0 && memory.graphs == 0);
    EXPECT(memory.buffers == 512 * WIDTH * sizeof(float) && memory.available > 0);
    EXPECT(bg_runner_capture(runner) == BG_OK);
    EXPECT(bg_runner_get_memory(runner, &memory) == BG_OK);
    EXPECT(memory.graphs > 0 && memory.expected >= 4 * (memory.graphs / 2) && memory.expected >= memory.before);
    EXPECT(memory.before > memory.after && memory.before - memory.after >= memory.graphs && memory.available > 0);
    memory.struct_size = 1;
    EXPECT(bg_runner_get_memory(runner, &memory) == BG_ERROR_INVALID_ARGUMENT);
    EXPECT(bg_runner_get_memory(NULL, &memory) == BG_ERROR_INVALID_ARGUMENT);
    bg_runner_print(runner, stderr);
    bg_runner_destroy(runner);
    EXPECT(!cudaFree(hoarded));
    EXPECT(!cudaStreamDestroy(stream));
    return 0;
}

TEST(test_expected_memory)
{
    expect_child("BG_NVTX", &(const struct child){"0", capture_much, 0, "the graphs of the other 3 buckets may take "});
    assert_non_null(strstr(child_said, " MiB of the device's memory are free; capture fewer sizes"));
    EXPECT_TEXT(child_said, "\nmemory: 0.0 MiB static buffers, ");
    EXPECT_TEXT(child_said, " MiB after the first bucket)\nfree: ");
}

/* ---- a limit as a part of the device's memory ---- */

FIXTURE_TEST(test_memory_fraction)
{
    size_t free_bytes, total;
    void *block;

    EXPECT_CUDA(cudaMemGetInfo(&free_bytes, &total));
    for (int both = 0; both < 2; both++) {
        OPENED_RUNNER_MODEL(m, f,
                            CONFIG(.memory_fraction = (double)(64 << 20) / (double)total,
                                   .memory_limit = both ? 16 << 20 : 0)); /* the lower one holds */
        EXPECT_OK(bg_pool_alloc(bg_runner_pool(m.runner), 12 << 20, &block));
        EXPECT_FAILS(bg_pool_alloc(bg_runner_pool(m.runner), both ? 8 << 20 : 56 << 20, &block), BG_ERROR_OUT_OF_MEMORY,
                     "limit");
    }
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

FIXTURE_TEST(test_owners_of_buffers)
{
    const int64_t by_tokens[] = {0, WIDTH}, fixed[] = {3, WIDTH};
    bg_tensor grows, stays;
    bg__owner owner;
    OPENED_RUNNER_MODEL(m, f, CONFIG());

    EXPECT_OK(bg_runner_add_buffer(m.runner, "grows", BG_F32, 2, by_tokens, &grows));
    EXPECT_OK(bg_runner_add_buffer(m.runner, "stays", BG_F32, 2, fixed, &stays));
    assert_int_equal(grows.dim[0], TOKENS_MAX);
    assert_int_equal(stays.dim[0], 3);
    expect_owner(&grows, "buffer grows");
    expect_owner(&stays, "buffer stays");
    EXPECT_OK(bg__owner_find(BG__DRIVER, stays.data, &owner));
    assert_int_equal(owner.bytes, bg_tensor_bytes(&stays)); /* the driver knows where it ends */
    EXPECT_OK(run_bare(m.runner, (bg_batch){.tokens = TOKENS_MAX + 1}));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    grows.dim[0] = TOKENS_MAX + 1;
    expect_owner(&grows, "buffer grows");
    expect_owner(&stays, "buffer stays");
    close_runner_model(&m);
    EXPECT_OK(bg__owner_find(BG__REGISTERED, stays.data, &owner));
    assert_true(owner.freed || owner.kind == BG__OWNER_NONE);
}

/* ---- a device without virtual memory management ---- */

static const char no_addresses[] = "cuMemAddressReserve@1=CUDA_ERROR_NOT_SUPPORTED";

/* A runner of such a device, with a buffer of each kind; what is said on standard error meanwhile. */
static const char *open_without_pages(fixture *f, runner_model *m, const bg_runner_config *config)
{
    const int64_t by_tokens[] = {0, WIDTH}, fixed[] = {3, WIDTH};
    bg_tensor tensor;

    hold_errors();
    fail_calls(no_addresses);
    runner_model_open(f, m, config);
    EXPECT_OK(bg_runner_add_buffer(m->runner, "rows", BG_F32, 2, by_tokens, &tensor));
    EXPECT_OK(bg_runner_add_buffer(m->runner, "fixed", BG_F32, 2, fixed, &tensor));
    EXPECT_OK(bg_runner_capture(m->runner));
    assert_int_equal(hostcuda_faults(), 1);
    fail_calls(NULL);
    return held_errors();
}

static void expect_eager_run(fixture *f, runner_model *m, int tokens, bg_reason expected)
{
    EXPECT_REASON(m->runner, mixed_batch(tokens), expected);
    if (expected == BG_REASON_UNSUPPORTED)
        EXPECT_ERROR("device 0 does not support virtual memory management");
    EXPECT_RUN_IN(f, m, tokens, BG_MODE_NONE);
    assert_int_equal(m->last.padded_tokens, tokens);
}

TESTS_ON_HOST_DEVICE("that calls fail on request");

FAULT_TEST(test_without_virtual_memory)
{
    static const char warning[] =
        "a runner runs all batches eagerly: bg_pool_create: device 0 does not support virtual memory";
    struct hostcuda_live before = hostcuda_count_live();

    for (int mode = BG_MODE_PIECEWISE; mode <= BG_MODE_FULL_AND_PIECEWISE; mode++) {
        uint64_t unsupported = counters_now().eager_unsupported;
        const char *said;
        OWNED_RUNNER_MODEL(m);

        said = open_without_pages(f, &m, CONFIG(.mode = (bg_mode)mode, .lazy = mode == BG_MODE_FULL));
        EXPECT_TEXT(said, warning);
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* once */
        assert_null(bg_runner_pool(m.runner));
        assert_int_equal(bg_runner_mode(m.runner), BG_MODE_NONE);
        assert_int_equal(bg_runner_bucket_count(m.runner), 0);
        expect_eager_run(f, &m, 3, BG_REASON_UNSUPPORTED);
        EXPECT_FAILS(run_bare(m.runner, mixed_batch(TOKENS_MAX + 1)), BG_ERROR_OUT_OF_MEMORY,
                     "rows: the device does not support virtual memory management, so it cannot grow");
        EXPECT_ERROR("raise config.max_tokens");
        expect_eager_run(f, &m, TOKENS_MAX, BG_REASON_UNSUPPORTED);
        assert_int_equal(counters_now().eager_unsupported, unsupported + 2);
    }
    EXPECT_CUDA(cudaGetLastError());
    assert_int_equal(hostcuda_count_live().blocks, before.blocks);
}

/* A mode that wants no graphs is what the reason names. */
FAULT_TEST(test_mode_none_without_virtual_memory)
{
    OWNED_RUNNER_MODEL(m);

    open_without_pages(f, &m, CONFIG(.mode = BG_MODE_NONE));
    expect_eager_run(f, &m, 3, BG_REASON_MODE_NONE);
}

FAULT_TEST(test_binding_without_virtual_memory)
{
    const int64_t dim[] = {0, WIDTH};
    bg_tensor first, second;
    OWNED_MEMORY(float, own);
    OWNED_RUNNER_MODEL(m);

    EXPECT_CUDA(cudaMalloc((void **)&own, TOKENS_MAX * WIDTH * sizeof *own));
    fail_calls(no_addresses);
    runner_model_open(f, &m, CONFIG());
    EXPECT_OK(bg_runner_add_input(m.runner, "second", BG_F32, 2, dim, BG_PAD_ZERO, 0, &second));
    first = m.x;
    EXPECT_INVALID(bg_runner_bind_input(m.runner, "x", (float *)m.x.data + 1, &m.x));
    EXPECT_INVALID(bg_runner_bind_input(m.runner, "x", second.data, &m.x));
    assert_ptr_equal(m.x.data, first.data);
    EXPECT_OK(bg_runner_bind_input(m.runner, "x", own, &m.x));
    assert_ptr_equal(m.x.data, own);
    EXPECT_OK(run_bare(m.runner, (bg_batch){.tokens = 3}));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
}

/* What does not mean that the device cannot is a failure, as before. */
FAULT_TEST(test_other_failures_of_virtual_memory)
{
    static const struct {
        const char *fault;
        bg_status status;
    } rows[] = {
        {"cuMemGetAllocationGranularity@1=CUDA_ERROR_OUT_OF_MEMORY", BG_ERROR_OUT_OF_MEMORY},
        {"cuMemAddressReserve@1=CUDA_ERROR_NOT_PERMITTED", BG_ERROR_CUDA},
        {"cuMemAddressReserve@1=CUDA_ERROR_INVALID_VALUE", BG_ERROR_CUDA},
    };
    OWNED_RUNNER_MODEL(m);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fail_calls(rows[i].fault);
        EXPECT_STATUS(bg_runner_create(&m.runner, CONFIG(), runner_model_forward, &m, f->stream), rows[i].status);
        assert_null(m.runner);
        fail_calls(NULL);
    }
}

FAULT_TEST(test_figures_without_virtual_memory)
{
    bg_counters older = BG_COUNTERS_INIT;
    OWNED_RUNNER_MODEL(m);

    bg_counters_reset();
    open_without_pages(f, &m, CONFIG());
    expect_eager_run(f, &m, 3, BG_REASON_UNSUPPORTED);
    OWNED_TEXT(text, m.runner, print_figures);
    EXPECT_TEXT(text, "\nno pool: the device has no virtual memory management");
    EXPECT_TEXT(text, " 0 not_captured, 1 unsupported\n");
    EXPECT_TEXT(text, "\"unsupported\": 1}");
    older.struct_size = offsetof(bg_counters, eager_unsupported);
    older.eager_unsupported = 99;
    bg_counters_get(&older);
    assert_int_equal(older.eager_unsupported, 99);
    bg_counters_reset();
    assert_int_equal(counters_now().eager_unsupported, 0);
}

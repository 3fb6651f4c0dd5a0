/* Checks of addresses before each replay (BG_CHECK=replay), and of a runner's graphs. */
#include "tests/support/test.h"
#include "tests/support/tools/checked_graphs.h"

#include "memory/ledger.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_VARIABLE(HOSTCUDA_MEMORY, "reuse");

/* ---- before each replay ---- */

FIXTURE_TEST(test_replay)
{
    char *memory = allocate(BYTES), line[40];
    set_variable("BG_CHECK", "replay");
    OWN_GRAPH(graph, check_capture(f, memory));
    set_variable("BG_CHECK", NULL); /* it was read at begin */
    check_replay_times(f, graph, 3);
    EXPECT_CUDA(cudaFree(memory));
    put(&f->z, 42);
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("bg_replay: graph decode, call scale#0 at ");
    snprintf(line, sizeof line, ":%d: [freed] ", scale_line);
    EXPECT_ERROR(line);
    EXPECT_ERROR("x of scale");
    EXPECT_ERROR("replays since the capture: 3");
    assert_true(get(&f->z) == 42); /* nothing ran */
    assert_int_equal(info_of(graph).replays, 3);
}

FIXTURE_TEST(test_replay_of_blocks)
{
    OWN_MEMORY(char, arena, allocate((size_t)4 * BYTES));
    EXPECT_OK(bg_ledger_alloc(arena, BYTES, "kv"));
    bg_capture *capture = begin_capture(f->stream, OPTIONS(.check = BG_REPLAY_CHECK_ON));
    EXPECT_OK(BG_CALL(shift, f->stream, .x = check_vector(arena), .y = f->y));
    OWN_GRAPH(graph, end_capture(capture));
    check_replay_times(f, graph, 2);
    EXPECT_OK(bg_ledger_alloc(arena + BYTES, BYTES, "another"));
    check_replay_times(f, graph, 2);
    EXPECT_OK(bg_ledger_free(arena));
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("block \"kv\"");
    shift_args *stored = bg_graph_args(graph, "shift#0", sizeof *stored);
    assert_non_null(stored);
    stored->x = check_vector(arena + BYTES);
    check_replay_times(f, graph, 2); /* fixed */
    EXPECT_OK(bg_ledger_free(arena + BYTES));
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("block \"another\"");
    stored->x = f->x;
    check_replay_times(f, graph, 1);
}

FIXTURE_TEST(test_replay_options)
{
    char *memory = allocate(BYTES);
    bg_capture *capture;
    set_variable("BG_CHECK", "replay"); /* options come before the environment */
    EXPECT_OK(bg_capture_begin(&capture, f->stream, OPTIONS(.check = BG_REPLAY_CHECK_OFF)));
    EXPECT_OK(BG_CALL(touch, f->stream, .x = check_vector(memory), .w = f->y, .state = f->z));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_CUDA(cudaFree(memory));
    check_replay_times(f, graph, 1);
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, OPTIONS(.check = (bg_replay_check)7)),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("options.check is 7");
    set_variable("BG_CHECK", "sometimes");
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("BG_CHECK is \"sometimes\"; allowed are off, or some of graph, replay, recapture, poison");
}

/* ---- runners ---- */

static bg_tensor input;

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    fixture *f = user;
    bg_tensor x = input;
    x.dim[0] = context->padded_tokens;
    return from_cuda(cudaMemcpyAsync(f->z.data, x.data, bg_tensor_bytes(&x), cudaMemcpyDefault, stream));
}

static bg_runner *make_runner(fixture *f, void *bound)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    const int64_t dim[] = {0};
    bg_runner *runner;
    config.max_tokens = N;
    config.schedule = "64";
    config.mode = BG_MODE_FULL;
    EXPECT_OK(bg_runner_create(&runner, &config, forward, f, f->stream));
    EXPECT_OK(bg_runner_add_input(runner, "token", BG_F32, 1, dim, BG_PAD_ZERO, 0, &input));
    if (bound != NULL)
        EXPECT_OK(bg_runner_bind_input(runner, "token", bound, &input));
    EXPECT_OK(bg_runner_capture(runner));
    return runner;
}

FIXTURE_TEST(test_runner)
{
    bg_batch batch = {.tokens = N - 1, .requests = 1, .max_query_len = 1};
    char *memory = allocate(BYTES);
    bg__owner owner;
    set_variable("BG_CHECK", "replay");
    bg_runner *runner = make_runner(f, NULL);
    void *own = input.data;
    EXPECT_OK(bg__owner_find(BG__REGISTERED, own, &owner));
    assert_string_equal(owner.name, "input token");
    assert_int_equal(owner.bytes, BYTES);
    EXPECT_OK(bg_runner_run(runner, &batch, NULL, NULL, NULL));
    bg_runner_destroy(runner);
    EXPECT_OK(bg__owner_find(BG__REGISTERED, own, &owner));
    assert_int_equal(owner.kind, BG__OWNER_NONE);
    runner = make_runner(f, memory);
    EXPECT_OK(bg_runner_run(runner, &batch, NULL, NULL, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    EXPECT_CUDA(cudaFree(memory));
    EXPECT_STATUS(bg_runner_run(runner, &batch, NULL, NULL, NULL), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("[freed] buffer token of the runner");
    EXPECT_ERROR("device allocation of 256 bytes");
    bg_runner_destroy(runner);
}

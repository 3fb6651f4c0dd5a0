/* The runner where callers err: configurations, places where it cannot run, callbacks that call back. What fails says
 * why, and the runner goes on. y = 2 x. */
#include "tests/support/runner/runner_model.h"

/* ---- configurations ---- */

/* In the environment as in a program, 0 means 1. */
FIXTURE_TEST(test_no_variants_from_the_environment)
{
    OWNED_RUNNER_MODEL(m);

    set_variable("BG_RUNNER_VARIANTS", "0");
    runner_model_start(f, &m, CONFIG());
    set_variable("BG_RUNNER_VARIANTS", NULL);
    assert_int_equal(bg_runner_bucket_count(m.runner), 2);
    EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
}

FIXTURE_TEST(test_the_configuration_is_copied)
{
    bg_tensor tensors[] = {f->x};
    char schedule[] = "4,16";
    bg_runner_config config = *CONFIG(.schedule = schedule, .state = tensors, .state_count = 1);
    OWNED_RUNNER_MODEL(m);

    m.counted = &f->x;
    put(&f->x, 42);
    runner_model_open(f, &m, &config);
    memset(tensors, 0xff, sizeof tensors);
    memset(schedule, 'x', sizeof schedule - 1);
    memset(&config, 0xff, sizeof config);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_true(get(&f->x) == 42);
}

/* ---- contexts ---- */

FIXTURE_TEST(test_replays_are_counted_for_each_graph)
{
    OPENED_RUNNER_MODEL(m, f, CONFIG());

    for (int captures = 1; captures <= 2; captures++) {
        EXPECT_OK(bg_runner_capture(m.runner));
        for (uint64_t i = 0; i < 3; i++) {
            runner_model_run(f, &m, 3);
            assert_int_equal(m.last.replay, i);
        }
    }
    assert_int_equal(bucket_of(m.runner, 1).replays, 6);
}

/* ---- places ---- */

static void expect_all_refused(const runner_model *m, bg_runner *fresh, bg_status expected, const char *text)
{
    const int64_t dim[] = {0, WIDTH};
    bg_tensor t;
    EXPECT_FAILS(bg_runner_add_input(fresh, "x", BG_F32, 2, dim, BG_PAD_ZERO, 0, &t), expected, text);
    EXPECT_FAILS(run_bare(m->runner, mixed_batch(3)), expected, text);
    EXPECT_FAILS(run_bare(m->runner, mixed_batch(20)), expected, text);
    EXPECT_FAILS(bg_runner_capture(m->runner), expected, text);
}

static size_t nodes_of(cudaGraph_t graph)
{
    size_t count = 0;
    EXPECT_CUDA(cudaGraphGetNodes(graph, NULL, &count));
    return count;
}

/* Nothing of the runner's gets into somebody's graph, and its own graphs stay. */
FIXTURE_TEST(test_a_stream_that_others_capture)
{
    bg_capture *capture;
    OWNED_GRAPH(graph);
    OWNED_CUDA_GRAPH(foreign);
    OWNED_RUNNER(fresh);
    OWNED_RUNNER_MODEL(m);

    EXPECT_OK(bg_runner_create(&fresh, CONFIG(), runner_model_forward, &m, f->stream));
    runner_model_start(f, &m, CONFIG());
    runner_model_run(f, &m, 3);

    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    expect_all_refused(&m, fresh, BG_ERROR_FOREIGN_CAPTURE, "end that");
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &foreign));
    assert_int_equal(nodes_of(foreign), 0);
    EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);

    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    expect_all_refused(&m, fresh, BG_ERROR_ALREADY_CAPTURING, "end that");
    EXPECT_OK(bg_capture_end(capture, &graph));
    assert_int_equal(info_of(graph).nodes, 0);
    EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
    runner_model_run(f, &m, 20);
}

/* A capture of the same thread on another stream: runs are none of its business, captures would be. */
FIXTURE_TEST(test_beside_a_capture_of_the_thread)
{
    bg_capture *capture;
    OWNED_GRAPH(graph);
    OWNED_RUNNER_MODEL(second);
    STARTED_RUNNER_MODEL(m, f, CONFIG());

    EXPECT_OK(bg_capture_begin(&capture, f->other, NULL));
    runner_model_open(f, &second, CONFIG());
    close_runner_model(&second);
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(run_bare(m.runner, mixed_batch(3)));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    EXPECT_OK(bg_capture_end(capture, &graph));

    /* A lazy bucket waits for a run that can capture. */
    runner_model_open(f, &m, CONFIG(.lazy = true));
    EXPECT_OK(bg_capture_begin(&capture, f->other, NULL));
    EXPECT_OK(run_bare(m.runner, mixed_batch(3)));
    assert_int_equal(m.last.mode, BG_MODE_NONE);
    bg_capture_abort(capture);
    assert_string_equal(bucket_of(m.runner, 1).failure, "");
    EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
}

/* y of the model = 2 x, by the runner. */
BG_EAGER_OP(misuse_runs, BG_VALUE(runner_model *, m))
{
    (void)stream;
    EXPECT_STATUS(bg_runner_capture(args->m->runner), BG_ERROR_BUSY);
    return run_bare(args->m->runner, mixed_batch(3));
}

static bg_status run_in_a_body(void *user, cudaStream_t stream)
{
    return BG_CALL(misuse_runs, stream, .m = user);
}

/* Runs are allowed in an eager body, captures are not. */
FIXTURE_TEST(test_runs_in_a_body)
{
    OWNED_GRAPH(graph);
    OPENED_RUNNER_MODEL(m, f, CONFIG(.lazy = true));

    EXPECT_OK(bg_capture_forward(&graph, run_in_a_body, &m, f->stream, NULL));
    assert_int_equal(m.last.mode, BG_MODE_NONE);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(m.last.mode, BG_MODE_NONE);
    EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    runner_model_run(f, &m, 3);
}

/* ---- callbacks ---- */

static bg_status fail_with_words(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    void *none;
    (void)context;
    (void)stream;
    return *(bool *)user ? bg_pool_alloc(NULL, 1, &none) : BG_OK;
}

/* A callback that fails in a call of breakgraph's has a sentence of its own. */
FIXTURE_TEST(test_the_words_of_prepare)
{
    static const char words[] = "config.prepare: bg_pool_alloc: pool is NULL";
    bool fails = true;
    OPENED_RUNNER_MODEL(m, f, CONFIG(.prepare = fail_with_words, .callback_user = &fails));

    EXPECT_FAILS(run_bare(m.runner, mixed_batch(20)), BG_ERROR_INVALID_ARGUMENT, words);
    EXPECT_FAILS(bg_runner_capture(m.runner), BG_ERROR_INVALID_ARGUMENT, words);
    fails = false;
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 3);
}

static bool call_back(void *user, const bg_batch *batch, const char **why)
{
    runner_model *m = user;
    (void)why;
    EXPECT_FAILS(bg_runner_run(m->runner, batch, NULL, NULL, NULL), BG_ERROR_BUSY, "a callback of its own");
    EXPECT_STATUS(bg_runner_capture(m->runner), BG_ERROR_BUSY);
    bg_runner_destroy(m->runner); /* says that it stays */
    return false;
}

FIXTURE_TEST(test_callbacks_that_call_back)
{
    STARTED_RUNNER_MODEL(m, f, CONFIG(.veto = call_back));

    EXPECT_REASON(m.runner, mixed_batch(3), BG_REASON_NONE);
    runner_model_run(f, &m, 3);
}

static int to_hundred(void *user, int tokens)
{
    (void)user;
    return tokens + 100;
}

FIXTURE_TEST(test_what_can_run_says)
{
    bg_reason reason = BG_REASON_VETO;
    STARTED_RUNNER_MODEL(m, f, CONFIG(.pad_across_ranks = to_hundred));

    EXPECT_REASON(m.runner, mixed_batch(3), BG_REASON_TOO_LARGE);
    EXPECT_ERROR("103 tokens");
    assert_false(bg_runner_can_run(m.runner, &(bg_batch){.tokens = 0, .requests = 1, .max_query_len = 3}, &reason));
    assert_int_equal(reason, BG_REASON_NONE);
    EXPECT_ERROR("tokens must be at least 1");
}

static int to_five(void *user, int tokens)
{
    (void)user;
    return tokens < 5 ? 5 : tokens;
}

/* The ratio is that of the bucket's size to what pad_across_ranks returned, and so is the number in the message. */
FIXTURE_TEST(test_padding_across_ranks)
{
    STARTED_RUNNER_MODEL(m, f, CONFIG(.pad_across_ranks = to_five, .max_padding = 3));

    EXPECT_REASON(m.runner, mixed_batch(3), BG_REASON_PADDING);
    EXPECT_ERROR("the bucket for 5 tokens has more than 3 times as many; raise config.max_padding");
}

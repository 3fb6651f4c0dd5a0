/* Passes of the runner that leave something behind, or fail half-way: the runner says so, puts config.state back, and
 * goes on. y = 2 x. */
#include "tests/support/runner/pool_support.h"
#include "tests/support/runner/runner_model.h"

/* ---- passes that leave something behind ---- */

static bg_status leave_a_capture(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    if (context->phase != BG_PHASE_PLAIN && context->phase != BG_PHASE_WARMUP)
        return BG_OK;
    EXPECT_FAILS(bg_capture_begin(&m->left, stream, OPTIONS(.pool = bg_runner_pool(m->runner))), BG_ERROR_BUSY,
                 "the pool is in use"); /* the pass has it */
    return bg_capture_begin(&m->left, stream, NULL);
}

FIXTURE_TEST(test_a_pass_leaves_a_capture_open)
{
    OWNED_RUNNER_MODEL(m);

    m.also = leave_a_capture;
    runner_model_open(f, &m, CONFIG());
    EXPECT_FAILS(run_bare(m.runner, mixed_batch(20)), BG_ERROR_BUSY, "began a capture and did not end it");
    assert_null(bg_forward_context_get());
    assert_int_equal(bg_current_phase(), BG_PHASE_CAPTURE);
    bg_capture_abort(m.left);
    m.also = NULL;
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 20);
    EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
}

static bg_status leave_a_bare_capture(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    (void)m;
    (void)context;
    return from_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
}

FIXTURE_TEST(test_a_pass_leaves_its_stream_capturing)
{
    OWNED_CUDA_GRAPH(graph);
    OWNED_RUNNER_MODEL(m);

    m.also = leave_a_bare_capture;
    runner_model_open(f, &m, CONFIG());
    EXPECT_FAILS(run_bare(m.runner, mixed_batch(20)), BG_ERROR_BUSY, "began a capture and did not end it");
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &graph));
    m.also = NULL;
    runner_model_run(f, &m, 20);
}

static bg_status end_the_capture(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    OWNED_CUDA_GRAPH(graph);
    (void)m;
    if (context->phase == BG_PHASE_CAPTURE)
        EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
    return BG_OK;
}

FIXTURE_TEST(test_a_pass_ends_the_capture)
{
    OWNED_RUNNER_MODEL(m);

    m.also = end_the_capture;
    runner_model_open(f, &m, CONFIG());
    assert_int_not_equal(bg_runner_capture(m.runner), BG_OK);
    EXPECT_ERROR("no bucket could be captured");
    runner_model_run(f, &m, 3);
    m.also = NULL;
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
}

/* What a pass takes from the pool and keeps is the next one's. */
static bg_status keep_a_block(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    void *block;
    (void)context;
    (void)stream;
    return bg_pool_alloc(bg_runner_pool(m->runner), 1000, &block);
}

FIXTURE_TEST(test_a_pass_keeps_its_blocks)
{
    size_t in_use;
    OPENED_RUNNER_MODEL(m, f, CONFIG());

    in_use = pool_stats(bg_runner_pool(m.runner)).in_use;
    m.also = keep_a_block;
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 20);
    runner_model_run(f, &m, 3);
    assert_int_equal(pool_stats(bg_runner_pool(m.runner)).in_use, in_use);
}

/* ---- failures half-way ---- */

static bg_status fail_when_large(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    (void)m;
    (void)stream;
    return context->padded_tokens > 4 ? BG_ERROR_TIMEOUT : BG_OK;
}

/* config.state is put back after warm-ups that failed, too. */
FIXTURE_TEST(test_state_after_failures)
{
    OWNED_RUNNER_MODEL(m);

    m.counted = &f->x;
    m.also = fail_when_large;
    put(&f->x, 42);
    runner_model_start(f, &m, CONFIG(.state = &f->x, .state_count = 1));
    assert_true(get(&f->x) == 42);
    runner_model_open(f, &m, CONFIG(.state = &f->x, .state_count = 1, .lazy = true));
    EXPECT_STATUS(run_bare(m.runner, mixed_batch(9)), BG_ERROR_TIMEOUT);
    assert_true(first_of(f, f->x.data) == 84); /* the run's own pass alone */
    /* Asked for anew, the bucket is tried again. */
    m.also = NULL;
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_RUN_IN(f, &m, 9, BG_MODE_PIECEWISE);
}

/* Each launch fails once: of warm-ups, captures and paddings, which end the whole. */
TESTS_ON_HOST_DEVICE("that calls fail on request");
FIXTURE_TEST(test_state_after_failures_of_launches)
{
    int failed = 0;

    for (int nth = 1, faults = 1; faults > 0; nth++) {
        char request[64];
        OWNED_RUNNER_MODEL(m);

        m.counted = &f->x;
        put(&f->x, 42);
        runner_model_open(f, &m, CONFIG(.state = &f->x, .state_count = 1));
        snprintf(request, sizeof request, "cudaLaunchKernelExC@%d=cudaErrorNotPermitted", nth);
        fail_calls(request);
        failed += bg_runner_capture(m.runner) != BG_OK;
        faults = hostcuda_faults();
        fail_calls(NULL);
        (void)cudaGetLastError(); /* of the pass's own launches */
        assert_true(get(&f->x) == 42);
        runner_model_run(f, &m, 3);
        EXPECT_OK(bg_runner_capture(m.runner));
        EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
    }
    assert_int_equal(failed, 2); /* the paddings of both buckets */
}

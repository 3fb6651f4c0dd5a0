/* The runner where callers err: places where it cannot run, memory that overlaps, passes that leave something behind,
 * callbacks that call back. What fails says why, and the runner goes on. y = 2 x. */
#include "tests/support/runner_model.h"

#include <hostcuda/hostcuda.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma weak hostcuda_fail
#pragma weak hostcuda_faults

/* ---- configurations ---- */

/* In the environment as in a program, 0 means 1. */
static void test_no_variants_from_the_environment(void **state)
{
    fixture *f = *state;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    assert_int_equal(setenv("BG_RUNNER_VARIANTS", "0", 1), 0);
    runner_model_open(f, &m, &config);
    assert_int_equal(unsetenv("BG_RUNNER_VARIANTS"), 0);
    assert_int_equal(bg_runner_bucket_count(m.runner), 2);
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
}

static void test_the_configuration_is_copied(void **state)
{
    fixture *f = *state;
    runner_model m = {.counted = &f->x};
    bg_tensor tensors[] = {f->x};
    bg_runner_config config = runner_model_config(&m);
    char schedule[] = "4,16";

    put(&f->x, 42);
    config.schedule = schedule;
    config.state = tensors;
    config.state_count = 1;
    runner_model_open(f, &m, &config);
    memset(tensors, 0xff, sizeof tensors);
    memset(schedule, 'x', sizeof schedule - 1);
    memset(&config, 0xff, sizeof config);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_true(get(&f->x) == 42);
    bg_runner_destroy(m.runner);
}

/* ---- contexts ---- */

static void test_replays_are_counted_for_each_graph(void **state)
{
    fixture *f = *state;
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    for (int captures = 1; captures <= 2; captures++) {
        EXPECT_OK(bg_runner_capture(m.runner));
        for (uint64_t i = 0; i < 3; i++) {
            runner_model_run(f, &m, 3);
            assert_int_equal(m.last.replay, i);
        }
    }
    EXPECT_OK(bg_runner_get_bucket(m.runner, 1, &info));
    assert_int_equal(info.replays, 6);
    bg_runner_destroy(m.runner);
}

/* ---- places ---- */

static void expect_all_refused(const runner_model *m, bg_runner *fresh, bg_status expected, const char *text)
{
    const int64_t dim[] = {0, WIDTH};
    bg_batch small = mixed_batch(3), large = mixed_batch(20);
    bg_tensor t;
    EXPECT_STATUS(bg_runner_add_input(fresh, "x", BG_F32, 2, dim, BG_PAD_ZERO, 0, &t), expected);
    EXPECT_ERROR(text);
    EXPECT_STATUS(bg_runner_run(m->runner, &small, NULL, NULL, NULL), expected);
    EXPECT_ERROR(text);
    EXPECT_STATUS(bg_runner_run(m->runner, &large, NULL, NULL, NULL), expected);
    EXPECT_ERROR(text);
    EXPECT_STATUS(bg_runner_capture(m->runner), expected);
    EXPECT_ERROR(text);
}

static size_t nodes_of(cudaGraph_t graph)
{
    size_t count = 0;
    EXPECT_CUDA(cudaGraphGetNodes(graph, NULL, &count));
    return count;
}

/* Nothing of the runner's gets into somebody's graph, and its own graphs stay. */
static void test_a_stream_that_others_capture(void **state)
{
    fixture *f = *state;
    bg_capture *capture;
    bg_graph *graph;
    cudaGraph_t foreign = NULL;
    bg_runner *fresh;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    EXPECT_OK(bg_runner_create(&fresh, &config, runner_model_forward, &m, f->stream));
    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 3);

    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    expect_all_refused(&m, fresh, BG_ERROR_FOREIGN_CAPTURE, "end that");
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &foreign));
    assert_int_equal(nodes_of(foreign), 0);
    EXPECT_CUDA(cudaGraphDestroy(foreign));
    runner_model_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);

    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    expect_all_refused(&m, fresh, BG_ERROR_ALREADY_CAPTURING, "end that");
    EXPECT_OK(bg_capture_end(capture, &graph));
    assert_int_equal(info_of(graph).nodes, 0);
    bg_graph_destroy(graph);
    runner_model_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    runner_model_run(f, &m, 20);
    bg_runner_destroy(m.runner);
    bg_runner_destroy(fresh);
}

/* A capture of the same thread on another stream: runs are none of its business, captures would be. */
static void test_beside_a_capture_of_the_thread(void **state)
{
    fixture *f = *state;
    bg_capture *capture;
    bg_graph *graph;
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    bg_batch batch = mixed_batch(3);
    runner_model m = {NULL}, second = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_OK(bg_capture_begin(&capture, f->other, NULL));
    runner_model_open(f, &second, &config);
    bg_runner_destroy(second.runner);
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, NULL, NULL));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    EXPECT_OK(bg_capture_end(capture, &graph));
    bg_graph_destroy(graph);
    bg_runner_destroy(m.runner);

    /* A lazy bucket waits for a run that can capture. */
    config.lazy = true;
    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_capture_begin(&capture, f->other, NULL));
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, NULL, NULL));
    assert_int_equal(m.last.mode, BG_MODE_NONE);
    bg_capture_abort(capture);
    EXPECT_OK(bg_runner_get_bucket(m.runner, 1, &info));
    assert_string_equal(info.failure, "");
    runner_model_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
}

/* y of the model = 2 x, by the runner. */
BG_EAGER_OP(misuse_runs, BG_VALUE(runner_model *, m))
{
    bg_batch batch = mixed_batch(3);
    (void)stream;
    EXPECT_STATUS(bg_runner_capture(args->m->runner), BG_ERROR_BUSY);
    return bg_runner_run(args->m->runner, &batch, NULL, NULL, NULL);
}

static bg_status run_in_a_body(void *user, cudaStream_t stream)
{
    return BG_CALL(misuse_runs, stream, .m = user);
}

/* Runs are allowed in an eager body, captures are not. */
static void test_runs_in_a_body(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    config.lazy = true;
    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_capture_forward(&graph, run_in_a_body, &m, f->stream, NULL));
    assert_int_equal(m.last.mode, BG_MODE_NONE);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(m.last.mode, BG_MODE_NONE);
    runner_model_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    runner_model_run(f, &m, 3);
    bg_graph_destroy(graph);
    bg_runner_destroy(m.runner);
}

/* ---- memory ---- */

static void test_inputs_inside_static_buffers(void **state)
{
    fixture *f = *state;
    float *x, *y, first;
    bg_batch batch = mixed_batch(3);
    bg_tensor input, output;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    x = m.x.data;
    y = m.y.data;
    for (int row = 1; row <= 3; row++) { /* in the rows that are copied to, or padded */
        input = bg_tensor_2d(x + (ptrdiff_t)row * WIDTH, BG_F32, 3, WIDTH);
        EXPECT_STATUS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
        EXPECT_ERROR("input x overlaps");
    }
    output = bg_tensor_2d(y + WIDTH, BG_F32, 3, WIDTH);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, &output, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("output y overlaps");

    /* What does not touch the rows in use is fine: the last batch's output, and rows far away. */
    runner_model_run(f, &m, 3);
    input = bg_tensor_2d(y, BG_F32, 3, WIDTH);
    output = bg_tensor_2d(x + (ptrdiff_t)20 * WIDTH, BG_F32, 3, WIDTH);
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
    EXPECT_OK(bg_runner_run(m.runner, &batch, &output, NULL, NULL));
    EXPECT_CUDA(cudaMemcpyAsync(&first, y, sizeof first, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_true(first == 2 * 2 * 2 * 3);
    bg_runner_destroy(m.runner);
}

static void test_inputs_in_the_buffers_of_others(void **state)
{
    const int64_t dim[] = {0, WIDTH};
    fixture *f = *state;
    bg_batch batch = mixed_batch(3);
    bg_tensor second, inputs[2], outputs[2], copy;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_add_input(m.runner, "second", BG_F32, 2, dim, BG_PAD_ZERO, 0, &second));
    EXPECT_OK(bg_runner_add_output(m.runner, "copy", BG_F32, 2, dim, &copy));
    EXPECT_OK(bg_runner_capture(m.runner));
    inputs[0] = bg_tensor_2d(second.data, BG_F32, 3, WIDTH);
    inputs[1] = bg_tensor_2d(f->memory, BG_F32, 3, WIDTH);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, inputs, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("input x overlaps the rows of the static buffer of second");
    inputs[1].data = NULL; /* there already: only its padding is written */
    EXPECT_OK(bg_runner_run(m.runner, &batch, inputs, NULL, NULL));
    outputs[0] = bg_tensor_2d(copy.data, BG_F32, 3, WIDTH);
    outputs[1] = bg_tensor_2d(f->memory, BG_F32, 3, WIDTH);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, outputs, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("output y overlaps the rows of the static buffer of copy");
    bg_runner_destroy(m.runner);
}

static void test_bad_memory_to_bind(void **state)
{
    static float heap[TOKENS_MAX * WIDTH];
    fixture *f = *state;
    bg_tensor before;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    before = m.x;
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", heap, &m.x), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("the device cannot access");
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", (char *)f->memory + 2, &m.x), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("not aligned to 4 bytes");
    assert_memory_equal(&before, &m.x, sizeof before);
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 3);
    bg_runner_destroy(m.runner);
}

/* What binding would give back, or pad twice. */
static void test_static_buffers_of_inputs_to_bind(void **state)
{
    const int64_t dim[] = {0, WIDTH};
    fixture *f = *state;
    bg_tensor second, before;
    bg_batch batch = mixed_batch(3);
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);
    float found = 0;

    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_add_input(m.runner, "second", BG_F32, 2, dim, BG_PAD_ZERO, 0, &second));
    before = m.x;
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", m.x.data, &m.x), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("is in the static buffer of input x");
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", (float *)m.x.data + WIDTH, &m.x), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", second.data, &m.x), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("is in the static buffer of input second");
    assert_memory_equal(&before, &m.x, sizeof before);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_CUDA(bgk_fill(m.x.data, 4, (size_t)3 * WIDTH, f->stream)); /* it is still there */
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, NULL, NULL));
    EXPECT_CUDA(cudaMemcpyAsync(&found, m.y.data, sizeof found, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_true(found == 8);
    bg_runner_destroy(m.runner);
}

/* A pass that feeds itself: each run doubles what the last one left, and pads the rows beyond the batch. */
static void test_an_input_bound_to_an_output(void **state)
{
    enum { ROWS = 4 };
    fixture *f = *state;
    float ones[WIDTH], found[ROWS * WIDTH];
    bg_batch batch = mixed_batch(1);
    bg_tensor views[1] = {{.data = NULL}};
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    for (int i = 0; i < WIDTH; i++)
        ones[i] = 1;
    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_bind_input(m.runner, "x", m.y.data, &m.x));
    assert_ptr_equal(m.x.data, m.y.data);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_CUDA(cudaMemcpyAsync(m.x.data, ones, sizeof ones, cudaMemcpyHostToDevice, f->stream));
    for (int run = 0; run < 3; run++)
        EXPECT_OK(bg_runner_run(m.runner, &batch, run > 0 ? views : NULL, views, NULL));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    batch = mixed_batch(TOKENS_MAX + 1);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("bound to the caller's memory");
    EXPECT_CUDA(cudaMemcpyAsync(found, m.y.data, sizeof found, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (int i = 0; i < ROWS * WIDTH; i++) /* padding repeats the row before it is doubled */
        assert_true(found[i] == 8);
    bg_runner_destroy(m.runner);
}

/* Declared buffers hold zeros, and what the caller writes there next on a stream of its own. */
static void test_declared_buffers_are_ready(void **state)
{
    enum { ELEMENTS = 1 << 18 };
    static float ones[ELEMENTS], found[ELEMENTS];
    const int64_t dim[] = {ELEMENTS};
    fixture *f = *state;
    bg_tensor t;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    for (int i = 0; i < ELEMENTS; i++)
        ones[i] = 1;
    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_add_buffer(m.runner, "ones", BG_F32, 1, dim, &t));
    EXPECT_CUDA(cudaMemcpyAsync(t.data, ones, sizeof ones, cudaMemcpyHostToDevice, f->other));
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(found, t.data, sizeof found, cudaMemcpyDeviceToHost));
    assert_memory_equal(found, ones, sizeof ones);
    bg_runner_destroy(m.runner);
}

/* The first batch of a lazy bucket is the last one's output, which the warm-ups write. */
static void test_a_lazy_batch_from_an_output(void **state)
{
    fixture *f = *state;
    bg_batch batch = mixed_batch(20);
    bg_tensor views[1] = {{.data = NULL}};
    float first;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    config.lazy = true;
    runner_model_open(f, &m, &config);
    runner_model_run(f, &m, 20);
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, views, NULL));
    batch = mixed_batch(3);
    views[0].dim[0] = 3;
    EXPECT_OK(bg_runner_run(m.runner, &batch, views, NULL, NULL));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    EXPECT_CUDA(cudaMemcpyAsync(&first, m.y.data, sizeof first, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_true(first == 2 * 2 * 20);
    bg_runner_destroy(m.runner);
}

static bg_status spoil_the_input(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    return from_cuda(bgk_fill(m->x.data, 77, (size_t)context->padded_tokens * WIDTH, stream));
}

/* A pass that changes its inputs. */
static void test_a_lazy_batch_that_passes_change(void **state)
{
    fixture *f = *state;
    runner_model m = {.also = spoil_the_input};
    bg_runner_config config = runner_model_config(&m);

    config.lazy = true;
    runner_model_open(f, &m, &config);
    runner_model_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    runner_model_run(f, &m, 3);
    bg_runner_destroy(m.runner);
}

/* ---- passes that leave something behind ---- */

static bg_status leave_a_capture(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    if (context->phase != BG_PHASE_PLAIN && context->phase != BG_PHASE_WARMUP)
        return BG_OK;
    options.pool = bg_runner_pool(m->runner);
    EXPECT_STATUS(bg_capture_begin(&m->left, stream, &options), BG_ERROR_BUSY); /* the pass has it */
    EXPECT_ERROR("the pool is in use");
    return bg_capture_begin(&m->left, stream, NULL);
}

static void test_a_pass_leaves_a_capture_open(void **state)
{
    fixture *f = *state;
    bg_batch batch = mixed_batch(20);
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    m.also = leave_a_capture;
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_BUSY);
    EXPECT_ERROR("began a capture and did not end it");
    assert_null(bg_forward_context_get());
    assert_int_equal(bg_current_phase(), BG_PHASE_CAPTURE);
    bg_capture_abort(m.left);
    m.also = NULL;
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 20);
    runner_model_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
}

static bg_status leave_a_bare_capture(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    (void)m;
    (void)context;
    return from_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
}

static void test_a_pass_leaves_its_stream_capturing(void **state)
{
    fixture *f = *state;
    bg_batch batch = mixed_batch(20);
    cudaGraph_t graph = NULL;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    m.also = leave_a_bare_capture;
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_BUSY);
    EXPECT_ERROR("began a capture and did not end it");
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &graph));
    EXPECT_CUDA(cudaGraphDestroy(graph));
    m.also = NULL;
    runner_model_run(f, &m, 20);
    bg_runner_destroy(m.runner);
}

static bg_status end_the_capture(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    (void)m;
    if (context->phase != BG_PHASE_CAPTURE)
        return BG_OK;
    EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
    EXPECT_CUDA(cudaGraphDestroy(graph));
    return BG_OK;
}

static void test_a_pass_ends_the_capture(void **state)
{
    fixture *f = *state;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    m.also = end_the_capture;
    assert_int_not_equal(bg_runner_capture(m.runner), BG_OK);
    EXPECT_ERROR("no bucket could be captured");
    runner_model_run(f, &m, 3);
    m.also = NULL;
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
}

/* What a pass takes from the pool and keeps is the next one's. */
static bg_status keep_a_block(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    void *block;
    (void)context;
    (void)stream;
    return bg_pool_alloc(bg_runner_pool(m->runner), 1000, &block);
}

static void test_a_pass_keeps_its_blocks(void **state)
{
    fixture *f = *state;
    bg_pool_stats before = BG_POOL_STATS_INIT, after = BG_POOL_STATS_INIT;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_pool_get_stats(bg_runner_pool(m.runner), &before));
    m.also = keep_a_block;
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 20);
    runner_model_run(f, &m, 3);
    EXPECT_OK(bg_pool_get_stats(bg_runner_pool(m.runner), &after));
    assert_int_equal(after.in_use, before.in_use);
    bg_runner_destroy(m.runner);
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
static void test_the_words_of_prepare(void **state)
{
    fixture *f = *state;
    bool fails = true;
    bg_batch batch = mixed_batch(20);
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    config.prepare = fail_with_words;
    config.callback_user = &fails;
    runner_model_open(f, &m, &config);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("config.prepare: bg_pool_alloc: pool is NULL");
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("config.prepare: bg_pool_alloc: pool is NULL");
    fails = false;
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 3);
    bg_runner_destroy(m.runner);
}

static bool call_back(void *user, const bg_batch *batch, const char **why)
{
    runner_model *m = user;
    (void)why;
    EXPECT_STATUS(bg_runner_run(m->runner, batch, NULL, NULL, NULL), BG_ERROR_BUSY);
    EXPECT_ERROR("a callback of its own");
    EXPECT_STATUS(bg_runner_capture(m->runner), BG_ERROR_BUSY);
    bg_runner_destroy(m->runner); /* says that it stays */
    return false;
}

static void test_callbacks_that_call_back(void **state)
{
    fixture *f = *state;
    bg_batch batch = mixed_batch(3);
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    config.veto = call_back;
    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_true(bg_runner_can_run(m.runner, &batch, NULL));
    runner_model_run(f, &m, 3);
    bg_runner_destroy(m.runner);
}

static int to_hundred(void *user, int tokens)
{
    (void)user;
    return tokens + 100;
}

static void test_what_can_run_says(void **state)
{
    fixture *f = *state;
    bg_batch batch = mixed_batch(3);
    bg_reason reason = BG_REASON_VETO;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    config.pad_across_ranks = to_hundred;
    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_false(bg_runner_can_run(m.runner, &batch, &reason));
    assert_int_equal(reason, BG_REASON_TOO_LARGE);
    EXPECT_ERROR("103 tokens");
    reason = BG_REASON_VETO;
    batch.tokens = 0;
    assert_false(bg_runner_can_run(m.runner, &batch, &reason));
    assert_int_equal(reason, BG_REASON_NONE);
    EXPECT_ERROR("tokens must be at least 1");
    bg_runner_destroy(m.runner);
}

static int to_five(void *user, int tokens)
{
    (void)user;
    return tokens < 5 ? 5 : tokens;
}

/* The ratio is that of the bucket's size to what pad_across_ranks returned, and so is the number in the message. */
static void test_padding_across_ranks(void **state)
{
    fixture *f = *state;
    bg_batch batch = mixed_batch(3);
    bg_reason reason = BG_REASON_NONE;
    runner_model m = {NULL};
    bg_runner_config config = runner_model_config(&m);

    config.pad_across_ranks = to_five;
    config.max_padding = 3;
    runner_model_open(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_false(bg_runner_can_run(m.runner, &batch, &reason));
    assert_int_equal(reason, BG_REASON_PADDING);
    EXPECT_ERROR("the bucket for 5 tokens has more than 3 times as many; raise config.max_padding");
    bg_runner_destroy(m.runner);
}

/* ---- failures half-way ---- */

static bg_status fail_when_large(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    (void)m;
    (void)stream;
    return context->padded_tokens > 4 ? BG_ERROR_TIMEOUT : BG_OK;
}

/* config.state is put back after warm-ups that failed, too. */
static void test_state_after_failures(void **state)
{
    fixture *f = *state;
    bg_batch batch = mixed_batch(9);
    float first;
    runner_model m = {.counted = &f->x};
    bg_runner_config config = runner_model_config(&m);

    put(&f->x, 42);
    config.state = &f->x;
    config.state_count = 1;
    runner_model_open(f, &m, &config);
    m.also = fail_when_large;
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_true(get(&f->x) == 42);
    bg_runner_destroy(m.runner);
    config.lazy = true;
    runner_model_open(f, &m, &config);
    m.also = fail_when_large;
    m.counted = &f->x;
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_TIMEOUT);
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    EXPECT_CUDA(cudaMemcpy(&first, f->x.data, sizeof first, cudaMemcpyDeviceToHost));
    assert_true(first == 84); /* the run's own pass alone */
    /* Asked for anew, the bucket is tried again. */
    m.also = NULL;
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 9);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
}

/* Each launch fails once: of warm-ups, captures and paddings, which end the whole. */
static void test_state_after_failures_of_launches(void **state)
{
    fixture *f = *state;
    int failed = 0;

    if (!hostcuda_fail) {
        print_message("skipped: calls fail on request on the host device only\n");
        skip();
    }
    for (int nth = 1, faults = 1; faults > 0; nth++) {
        char request[64];
        runner_model m = {.counted = &f->x};
        bg_runner_config config = runner_model_config(&m);

        put(&f->x, 42);
        config.state = &f->x;
        config.state_count = 1;
        runner_model_open(f, &m, &config);
        snprintf(request, sizeof request, "cudaLaunchKernelExC@%d=cudaErrorNotPermitted", nth);
        assert_int_equal(hostcuda_fail(request), 0);
        failed += bg_runner_capture(m.runner) != BG_OK;
        faults = hostcuda_faults();
        hostcuda_fail(NULL);
        (void)cudaGetLastError(); /* of the pass's own launches */
        assert_true(get(&f->x) == 42);
        runner_model_run(f, &m, 3);
        EXPECT_OK(bg_runner_capture(m.runner));
        runner_model_run(f, &m, 3);
        assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
        bg_runner_destroy(m.runner);
    }
    assert_int_equal(failed, 2); /* the paddings of both buckets */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_no_variants_from_the_environment),
        TEST(test_the_configuration_is_copied),
        TEST(test_replays_are_counted_for_each_graph),
        TEST(test_a_stream_that_others_capture),
        TEST(test_beside_a_capture_of_the_thread),
        TEST(test_runs_in_a_body),
        TEST(test_inputs_inside_static_buffers),
        TEST(test_inputs_in_the_buffers_of_others),
        TEST(test_bad_memory_to_bind),
        TEST(test_static_buffers_of_inputs_to_bind),
        TEST(test_an_input_bound_to_an_output),
        TEST(test_declared_buffers_are_ready),
        TEST(test_a_lazy_batch_from_an_output),
        TEST(test_a_lazy_batch_that_passes_change),
        TEST(test_a_pass_leaves_a_capture_open),
        TEST(test_a_pass_leaves_its_stream_capturing),
        TEST(test_a_pass_ends_the_capture),
        TEST(test_a_pass_keeps_its_blocks),
        TEST(test_the_words_of_prepare),
        TEST(test_callbacks_that_call_back),
        TEST(test_what_can_run_says),
        TEST(test_padding_across_ranks),
        TEST(test_state_after_failures),
        TEST(test_state_after_failures_of_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The runner where callers err: places where it cannot run, memory that overlaps, passes that leave something behind,
 * callbacks that call back. What fails says why, and the runner goes on. y = 2 x. */
#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 4, TOKENS_MAX = 32 };

BG_OP(misuse_double, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows))
{
    return from_cuda(bgk_add(args->y.data, args->x.data, args->x.data, (size_t)args->rows * WIDTH, stream));
}

BG_EAGER_OP(misuse_seen)
{
    (void)args;
    (void)stream;
    return bg_context_get() != NULL ? BG_OK : BG_ERROR_OP;
}

typedef struct model {
    bg_runner *runner;
    bg_tensor x, y;
    bg_context last;
    const bg_tensor *counted; /* doubled in each pass; NULL: none */
    /* What the pass does beside its work; NULL: nothing. */
    bg_status (*also)(struct model *m, const bg_context *context, cudaStream_t stream);
    bg_capture *left;
} model;

static bg_status forward(void *user, const bg_context *context, cudaStream_t stream)
{
    model *m = user;
    bg_status status = BG_OK;
    if (m->counted != NULL)
        status = BG_CALL(misuse_double, stream, .x = *m->counted, .y = *m->counted, .rows = 1);
    if (status == BG_OK)
        status = BG_CALL(misuse_double, stream, .x = m->x, .y = m->y, .rows = context->padded_tokens);
    if (status == BG_OK)
        status = BG_CALL(misuse_seen, stream);
    return status == BG_OK && m->also != NULL ? m->also(m, context, stream) : status;
}

/* Where the context is noted in replays, too. */
static bg_status note(void *user, const bg_context *context, cudaStream_t stream)
{
    model *m = user;
    (void)stream;
    m->last = *context;
    return BG_OK;
}

static bg_runner_config small_config(model *m)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    config.schedule = "4,16";
    config.max_tokens = TOKENS_MAX;
    config.prepare = note;
    config.callback_user = m;
    return config;
}

static void open_with(fixture *f, model *m, const bg_runner_config *config)
{
    const int64_t dim[] = {0, WIDTH};
    EXPECT_OK(bg_runner_create(&m->runner, config, forward, m, f->stream));
    EXPECT_OK(bg_runner_add_input(m->runner, "x", BG_F32, 2, dim, BG_PAD_REPEAT_LAST, 0, &m->x));
    EXPECT_OK(bg_runner_add_output(m->runner, "y", BG_F32, 2, dim, &m->y));
}

static bg_batch batch_of(int tokens)
{
    return (bg_batch){.tokens = tokens, .requests = 1, .max_query_len = tokens};
}

/* Runs a batch and checks what comes of it. */
static void expect_run(fixture *f, const model *m, int tokens)
{
    float rows[TOKENS_MAX * WIDTH], found[TOKENS_MAX * WIDTH];
    bg_batch batch = batch_of(tokens);
    bg_tensor input = bg_tensor_2d(rows, BG_F32, tokens, WIDTH), output = bg_tensor_2d(found, BG_F32, tokens, WIDTH);

    for (int i = 0; i < tokens * WIDTH; i++)
        rows[i] = (float)(i + tokens);
    EXPECT_OK(bg_runner_run(m->runner, &batch, &input, &output, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (int i = 0; i < tokens * WIDTH; i++)
        if (found[i] != 2 * rows[i])
            fail_msg("%d tokens: element %d is %g, not %g", tokens, i, (double)found[i], (double)(2 * rows[i]));
    assert_null(bg_context_get());
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
}

/* ---- configurations ---- */

/* In the environment as in a program, 0 means 1. */
static void test_no_variants_from_the_environment(void **state)
{
    fixture *f = *state;
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    assert_int_equal(setenv("BG_RUNNER_VARIANTS", "0", 1), 0);
    open_with(f, &m, &config);
    assert_int_equal(unsetenv("BG_RUNNER_VARIANTS"), 0);
    assert_int_equal(bg_runner_bucket_count(m.runner), 2);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
}

static void test_the_configuration_is_copied(void **state)
{
    fixture *f = *state;
    model m = {.counted = &f->x};
    bg_tensor tensors[] = {f->x};
    bg_runner_config config = small_config(&m);
    char schedule[] = "4,16";

    put(&f->x, 42);
    config.schedule = schedule;
    config.state = tensors;
    config.state_count = 1;
    open_with(f, &m, &config);
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
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    open_with(f, &m, &config);
    for (int captures = 1; captures <= 2; captures++) {
        EXPECT_OK(bg_runner_capture(m.runner));
        for (uint64_t i = 0; i < 3; i++) {
            expect_run(f, &m, 3);
            assert_int_equal(m.last.replay, i);
        }
    }
    EXPECT_OK(bg_runner_get_bucket(m.runner, 1, &info));
    assert_int_equal(info.replays, 6);
    bg_runner_destroy(m.runner);
}

/* ---- places ---- */

static void expect_all_refused(const model *m, bg_runner *fresh, bg_status expected, const char *text)
{
    const int64_t dim[] = {0, WIDTH};
    bg_batch small = batch_of(3), large = batch_of(20);
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
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    EXPECT_OK(bg_runner_create(&fresh, &config, forward, &m, f->stream));
    open_with(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, 3);

    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    expect_all_refused(&m, fresh, BG_ERROR_FOREIGN_CAPTURE, "end that");
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &foreign));
    assert_int_equal(nodes_of(foreign), 0);
    EXPECT_CUDA(cudaGraphDestroy(foreign));
    expect_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);

    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    expect_all_refused(&m, fresh, BG_ERROR_ALREADY_CAPTURING, "end that");
    EXPECT_OK(bg_capture_end(capture, &graph));
    assert_int_equal(info_of(graph).nodes, 0);
    bg_graph_destroy(graph);
    expect_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    expect_run(f, &m, 20);
    bg_runner_destroy(m.runner);
    bg_runner_destroy(fresh);
}

/* A capture of the same thread on another stream: runs are none of its business, captures would be. */
static void test_beside_a_capture_of_the_thread(void **state)
{
    fixture *f = *state;
    bg_capture *capture;
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    bg_batch batch = batch_of(3);
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    open_with(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_OK(bg_capture_begin(&capture, f->other, NULL));
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, NULL, NULL));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_capture_abort(capture);
    bg_runner_destroy(m.runner);

    /* A lazy bucket waits for a run that can capture. */
    config.lazy = true;
    open_with(f, &m, &config);
    EXPECT_OK(bg_capture_begin(&capture, f->other, NULL));
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, NULL, NULL));
    assert_int_equal(m.last.mode, BG_MODE_NONE);
    bg_capture_abort(capture);
    EXPECT_OK(bg_runner_get_bucket(m.runner, 1, &info));
    assert_string_equal(info.failure, "");
    expect_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
}

/* ---- memory ---- */

static void test_inputs_inside_static_buffers(void **state)
{
    fixture *f = *state;
    float *x, *y, first;
    bg_batch batch = batch_of(3);
    bg_tensor input, output;
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    open_with(f, &m, &config);
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
    expect_run(f, &m, 3);
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
    bg_batch batch = batch_of(3);
    bg_tensor second, inputs[2], outputs[2], copy;
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    open_with(f, &m, &config);
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
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    open_with(f, &m, &config);
    before = m.x;
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", heap, &m.x), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("the device does not reach");
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", (char *)f->memory + 2, &m.x), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("multiple of 4");
    assert_memory_equal(&before, &m.x, sizeof before);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, 3);
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
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    for (int i = 0; i < ELEMENTS; i++)
        ones[i] = 1;
    open_with(f, &m, &config);
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
    bg_batch batch = batch_of(20);
    bg_tensor views[1] = {{.data = NULL}};
    float first;
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    config.lazy = true;
    open_with(f, &m, &config);
    expect_run(f, &m, 20);
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, views, NULL));
    batch = batch_of(3);
    views[0].dim[0] = 3;
    EXPECT_OK(bg_runner_run(m.runner, &batch, views, NULL, NULL));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    EXPECT_CUDA(cudaMemcpyAsync(&first, m.y.data, sizeof first, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_true(first == 2 * 2 * 20);
    bg_runner_destroy(m.runner);
}

static bg_status spoil_the_input(model *m, const bg_context *context, cudaStream_t stream)
{
    return BG_CALL(misuse_double, stream, .x = m->x, .y = m->x, .rows = context->padded_tokens);
}

/* A pass that changes its inputs. */
static void test_a_lazy_batch_that_passes_change(void **state)
{
    fixture *f = *state;
    model m = {.also = spoil_the_input};
    bg_runner_config config = small_config(&m);

    config.lazy = true;
    open_with(f, &m, &config);
    expect_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    expect_run(f, &m, 3);
    bg_runner_destroy(m.runner);
}

/* ---- passes that leave something behind ---- */

static bg_status leave_a_capture(model *m, const bg_context *context, cudaStream_t stream)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    if (context->phase != BG_PHASE_PLAIN && context->phase != BG_PHASE_WARMUP)
        return BG_OK;
    options.pool = bg_runner_pool(m->runner);
    return bg_capture_begin(&m->left, stream, &options);
}

static void test_a_pass_leaves_a_capture_open(void **state)
{
    fixture *f = *state;
    bg_batch batch = batch_of(20);
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    open_with(f, &m, &config);
    m.also = leave_a_capture;
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_BUSY);
    EXPECT_ERROR("left a capture open");
    assert_null(bg_context_get());
    assert_int_equal(bg_current_phase(), BG_PHASE_CAPTURE);
    bg_capture_abort(m.left);
    m.also = NULL;
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, 20);
    expect_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
}

static bg_status leave_a_bare_capture(model *m, const bg_context *context, cudaStream_t stream)
{
    (void)m;
    (void)context;
    return from_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
}

static void test_a_pass_leaves_its_stream_capturing(void **state)
{
    fixture *f = *state;
    bg_batch batch = batch_of(20);
    cudaGraph_t graph = NULL;
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    open_with(f, &m, &config);
    m.also = leave_a_bare_capture;
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_BUSY);
    EXPECT_ERROR("left a capture open");
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &graph));
    EXPECT_CUDA(cudaGraphDestroy(graph));
    m.also = NULL;
    expect_run(f, &m, 20);
    bg_runner_destroy(m.runner);
}

static bg_status end_the_capture(model *m, const bg_context *context, cudaStream_t stream)
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
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    open_with(f, &m, &config);
    m.also = end_the_capture;
    assert_int_not_equal(bg_runner_capture(m.runner), BG_OK);
    EXPECT_ERROR("no bucket could be captured");
    expect_run(f, &m, 3);
    m.also = NULL;
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, 3);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
}

/* What a pass takes from the pool and keeps is the next one's. */
static bg_status keep_a_block(model *m, const bg_context *context, cudaStream_t stream)
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
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    open_with(f, &m, &config);
    EXPECT_OK(bg_pool_get_stats(bg_runner_pool(m.runner), &before));
    m.also = keep_a_block;
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, 20);
    expect_run(f, &m, 3);
    EXPECT_OK(bg_pool_get_stats(bg_runner_pool(m.runner), &after));
    assert_int_equal(after.in_use, before.in_use);
    bg_runner_destroy(m.runner);
}

/* ---- callbacks ---- */

static bg_status fail_with_words(void *user, const bg_context *context, cudaStream_t stream)
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
    bg_batch batch = batch_of(20);
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    config.prepare = fail_with_words;
    config.callback_user = &fails;
    open_with(f, &m, &config);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("config.prepare: bg_pool_alloc: pool is NULL");
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("config.prepare: bg_pool_alloc: pool is NULL");
    fails = false;
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, 3);
    bg_runner_destroy(m.runner);
}

static bool call_back(void *user, const bg_batch *batch, const char **why)
{
    model *m = user;
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
    bg_batch batch = batch_of(3);
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    config.veto = call_back;
    open_with(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_true(bg_runner_can_run(m.runner, &batch, NULL));
    expect_run(f, &m, 3);
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
    bg_batch batch = batch_of(3);
    bg_reason reason = BG_REASON_VETO;
    model m = {NULL};
    bg_runner_config config = small_config(&m);

    config.pad_across_ranks = to_hundred;
    open_with(f, &m, &config);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_false(bg_runner_can_run(m.runner, &batch, &reason));
    assert_int_equal(reason, BG_REASON_TOO_LARGE);
    EXPECT_ERROR("103 tokens");
    reason = BG_REASON_VETO;
    batch.tokens = 0;
    assert_false(bg_runner_can_run(m.runner, &batch, &reason));
    assert_int_equal(reason, BG_REASON_NONE);
    EXPECT_ERROR("at least 1 token");
    bg_runner_destroy(m.runner);
}

/* ---- failures half-way ---- */

static bg_status fail_when_large(model *m, const bg_context *context, cudaStream_t stream)
{
    (void)m;
    (void)stream;
    return context->padded_tokens > 4 ? BG_ERROR_TIMEOUT : BG_OK;
}

/* config.state is put back after warm-ups that failed, too. */
static void test_state_after_failures(void **state)
{
    fixture *f = *state;
    bg_batch batch = batch_of(9);
    float first;
    model m = {.counted = &f->x};
    bg_runner_config config = small_config(&m);

    put(&f->x, 42);
    config.state = &f->x;
    config.state_count = 1;
    open_with(f, &m, &config);
    m.also = fail_when_large;
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_true(get(&f->x) == 42);
    bg_runner_destroy(m.runner);
    config.lazy = true;
    open_with(f, &m, &config);
    m.also = fail_when_large;
    m.counted = &f->x;
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_TIMEOUT);
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    EXPECT_CUDA(cudaMemcpy(&first, f->x.data, sizeof first, cudaMemcpyDeviceToHost));
    assert_true(first == 84); /* the run's own pass alone */
    /* Asked for anew, the bucket is tried again. */
    m.also = NULL;
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, 9);
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    bg_runner_destroy(m.runner);
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
        TEST(test_inputs_inside_static_buffers),
        TEST(test_inputs_in_the_buffers_of_others),
        TEST(test_bad_memory_to_bind),
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
        TEST(test_state_after_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

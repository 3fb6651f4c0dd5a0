/* The debugging tools on a runner's graphs: from C by bg_runner_get_graph, by BG_CHECK=recapture and poison, and
 * batches without padding under BG_DEBUG=forward. */
#include "tests/support/runner/pool_support.h"
#include "tests/support/runner/runner_support.h"
#include "tests/support/tools/finding_support.h"

#include <breakgraph/check.h>
#include <breakgraph/step.h>
#include <breakgraph/trace.h>
#include "debug/memory/results.h"

#include <float.h>
#include <math.h>
#include <unistd.h>

enum { BUCKET = 8 };

BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor), BG_VALUE(int, left_out), BG_VALUE(cudaStream_t, stray))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, (size_t)(args->x.dim[0] - args->left_out),
                               args->stray != NULL ? args->stray : stream));
}

/* Writes the batch's own rows: what the others hold is nobody's. */
BG_EAGER_OP(own_rows, BG_IN(x), BG_OUT(y), BG_VALUE(int *, rows))
{
    const bg_forward_context *context = bg_forward_context_get();
    *args->rows = context->batch.tokens;
    return from_cuda(bgk_scale(args->y.data, args->x.data, 1, (size_t)context->batch.tokens, stream));
}

/* y = x, but for its first row, which is the last one of x: of a padded batch, a row of padding. */
BG_OP(take_last, BG_IN(x), BG_OUT(y))
{
    const size_t bytes = (size_t)args->x.dim[0] * sizeof(float), last = bytes - sizeof(float);
    TRY_BG(from_cuda(cudaMemcpyAsync(args->y.data, args->x.data, bytes, cudaMemcpyDeviceToDevice, stream)));
    return from_cuda(
        cudaMemcpyAsync(args->y.data, (char *)args->x.data + last, sizeof(float), cudaMemcpyDeviceToDevice, stream));
}

/* Writes a number into the last slot of a cache, which has several times as many slots as a bucket rows. */
BG_OP(keep, BG_INOUT(cache), BG_VALUE(float, number))
{
    const size_t last = (size_t)args->cache.dim[0] - 1;
    return from_cuda(bgk_fill((float *)args->cache.data + last, args->number, 1, stream));
}

/* counts += 1 */
BG_OP(advance, BG_IN(one), BG_INOUT(counts))
{
    return from_cuda(bgk_add(args->counts.data, args->counts.data, args->one.data, N, stream));
}

/* y = 2 x, through blocks of the pool; what is planted is captured wrongly. */
typedef struct model {
    fixture *f;
    bg_runner *runner;
    bg_tensor x, y, cache;
    bool keeps; /* planted: another number is kept in each pass */
    bool drifts, strays,
        turns;    /* planted: another value, a stream that is not captured, another address in each pass */
    int left_out; /* planted: elements that scale does not write */
    bool spares;  /* outside captures, scale writes the batch's own rows alone */
    int passes, prepared, rows, line, padded, fail;
} model;

static bg_status prepare(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    (void)context, (void)stream;
    m->prepared++;
    return BG_OK;
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    const int rows = context->padded_tokens, pass = m->passes++;
    bg_tensor x = bg_tensor_1d(m->x.data, BG_F32, rows), y = bg_tensor_1d(m->y.data, BG_F32, rows);
    bg_tensor hidden = bg_tensor_1d(NULL, BG_F32, rows), own = hidden;
    cudaStream_t stray;
    float factor;
    const int spared = m->spares && context->phase != BG_PHASE_CAPTURE ? rows - context->batch.tokens : m->left_out;
    bg_status status;

    m->padded = rows;
    if (m->fail)
        return BG_ERROR_OP;
    EXPECT_OK(bg_pool_alloc(bg_runner_pool(m->runner), bg_tensor_bytes(&hidden), &hidden.data));
    if (m->turns)
        x.data = pass % 2 == 0 ? m->f->y.data : m->f->z.data;
    BG_CALL(advance, stream, .one = m->f->y, .counts = m->f->x);
    factor = m->drifts ? (float)pass : 2;
    stray = m->strays ? m->f->other : NULL;
    m->line = __LINE__ + 1; /* one line: of several, compilers disagree */
    BG_CALL(scale, stream, .x = x, .y = hidden, .factor = factor, .left_out = spared, .stray = stray);
    EXPECT_OK(bg_pool_alloc(bg_runner_pool(m->runner), bg_tensor_bytes(&own), &own.data));
    BG_CALL(own_rows, stream, .x = hidden, .y = own, .rows = &m->rows);
    status = BG_CALL(scale, stream, .x = own, .y = y, .factor = 1);
    if (m->keeps && status == BG_OK)
        status = BG_CALL(keep, stream, .cache = m->cache, .number = (float)pass);
    bg_pool_release(bg_runner_pool(m->runner), own.data);
    bg_pool_release(bg_runner_pool(m->runner), hidden.data);
    return status;
}

static void open_runner(model *m, bg_mode mode, bool lazy)
{
    bg_runner_destroy(m->runner);
    put(&m->f->y, 1);
    put(&m->f->x, 0);
    EXPECT_OK(
        bg_runner_create(&m->runner,
                         RUNNER_CONFIG(.mode = mode, .lazy = lazy, .schedule = "2,8", .max_tokens = BUCKET,
                                       .prepare = prepare, .callback_user = m, .state = &m->f->x, .state_count = 1),
                         forward, m, m->f->stream));
    EXPECT_OK(bg_runner_add_input(m->runner, "x", BG_F32, 1, (int64_t[]){0}, BG_PAD_SENTINEL, FLT_MAX, &m->x));
    EXPECT_OK(bg_runner_add_output(m->runner, "y", BG_F32, 1, (int64_t[]){0}, &m->y));
    EXPECT_OK(bg_runner_add_buffer(m->runner, "cache", BG_F32, 1, (int64_t[]){8 * BUCKET}, &m->cache));
}

static void start_runner(model *m, bg_mode mode, bool lazy)
{
    open_runner(m, mode, lazy);
    EXPECT_OK(bg_runner_capture(m->runner));
}

static void close_model(model *m)
{
    bg_runner_destroy(m->runner);
}
/* A model whose runner is destroyed at the end of the scope. */
#define OWNED_MODEL(name) __attribute__((cleanup(close_model))) model name = {.f = f}

static void run_batch(model *m, int tokens, float factor)
{
    const bg_batch batch = mixed_batch(tokens);
    float rows[BUCKET] = {1, 2, 3, 4, 5, 6, 7, 8}, found[BUCKET];
    bg_tensor input = bg_tensor_1d(rows, BG_F32, tokens), output = bg_tensor_1d(found, BG_F32, tokens);

    EXPECT_OK(bg_runner_run(m->runner, &batch, &input, &output, NULL));
    EXPECT_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < tokens && factor > 0; i++)
        if (found[i] != factor * rows[i])
            fail_msg("element %d of %d is %g, not %g", i, tokens, found[i], factor * rows[i]);
}

/* ---- bg_runner_get_graph ---- */

#define EXPECT_NO_GRAPH(m, index, text)                                                                                \
    EXPECT_FAILS(bg_runner_get_graph((m)->runner, index, &graph), BG_ERROR_NOT_FOUND, text)

FIXTURE_TEST(test_no_graph)
{
    bg_graph *graph;
    OWNED_MODEL(m);

    m.fail = 1;
    open_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_INVALID(bg_runner_get_graph(NULL, 0, &graph));
    EXPECT_INVALID(bg_runner_get_graph(m.runner, 0, NULL));
    EXPECT_STATUS(bg_runner_get_graph(m.runner, -1, &graph), BG_ERROR_NOT_FOUND);
    EXPECT_NO_GRAPH(&m, 2, "there is no bucket 2; the runner has 2");
    EXPECT_NO_GRAPH(&m, 0, "piecewise tokens 8 is not captured yet; call bg_runner_capture first");
    assert_null(graph);
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_OP);
    EXPECT_NO_GRAPH(&m, 0, "piecewise tokens 8 could not be captured: ");

    m.fail = 0;
    open_runner(&m, BG_MODE_PIECEWISE, true);
    EXPECT_NO_GRAPH(&m, 1, "piecewise tokens 2 is not captured yet; run a batch of that size first");
    run_batch(&m, 2, 2);
    EXPECT_OK(bg_runner_get_graph(m.runner, 1, &graph));
    assert_string_equal(info_of(graph).name, "piecewise tokens 2");
    EXPECT_STATUS(bg_runner_get_graph(m.runner, 0, &graph), BG_ERROR_NOT_FOUND);
}

static bool count_nodes(void *user, const bg_step_info *info)
{
    (void)info;
    ++*(int *)user;
    return true;
}

/* Poisons with the outputs of the graph's calls that nothing reads after them. */
static bg_report *check_poison(const model *m, bg_graph *graph)
{
    bg__results results = {0};
    bg_tensor outputs[4];
    bg_report *report;

    EXPECT_OK(bg__results_find(&results, graph));
    assert_in_range(results.count, 1, 4);
    for (size_t i = 0; i < results.count; i++)
        outputs[i] = *results.list[i].field.tensor;
    EXPECT_OK(bg_check_poison(graph, outputs, results.count, m->f->stream, &report));
    bg__results_free(&results);
    return report;
}

FIXTURE_TEST(test_tools_on_graph)
{
    char path[] = "/tmp/breakgraph-trace-XXXXXX";
    OWNED_MODEL(m);
    bg_graph *graph;
    bg_report *report;
    int nodes = 0, file = mkstemp(path);

    assert_true(file >= 0 && close(file) == 0);
    start_runner(&m, BG_MODE_PIECEWISE, false);
    run_batch(&m, BUCKET, 2);
    EXPECT_OK(bg_runner_get_graph(m.runner, 0, &graph));
    assert_string_equal(info_of(graph).name, "piecewise tokens 8");
    EXPECT_OK(bg_check(graph, BG_CHECK_ALL, &report));
    EXPECT_NO_FINDING(report);
    m.rows = 0;
    EXPECT_OK(bg_step(graph, m.f->stream, count_nodes, &nodes, &report));
    EXPECT_NO_FINDING(report);
    assert_true(nodes >= 4);
    assert_int_equal(m.rows, BUCKET); /* the eager op has got the context of a batch that fills the bucket */
    EXPECT_OK(bg_trace(graph, m.f->stream, path));
    assert_true(access(path, R_OK) == 0);
    EXPECT_NO_FINDING(check_poison(&m, graph));
    run_batch(&m, 5, 2);
    assert_int_equal(m.rows, 5);
    assert_int_equal(remove(path), 0);
    bg_runner_destroy(m.runner);
    m.runner = NULL;
    assert_null(bg_forward_context_get());

    m.left_out = 1;
    start_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_OK(bg_runner_get_graph(m.runner, 0, &graph));
    EXPECT_FINDING(check_poison(&m, graph), "unwritten-output", "scale#0", 0, "1 of its 8 elements");
}

/* ---- BG_CHECK=recapture ---- */

/* What the check prints of a runner with this model; the runner stays. */
static const char *recapture(model *m, bg_mode mode, bool lazy)
{
    set_variable("BG_CHECK", "recapture");
    open_runner(m, mode, lazy);
    hold_errors();
    EXPECT_OK(bg_runner_capture(m->runner));
    run_batch(m, BUCKET, m->drifts || m->turns || m->strays ? 0 : 2);
    set_variable("BG_CHECK", NULL);
    return held_errors();
}

/* The graph is what it is without the check, and so is memory. */
FIXTURE_TEST(test_recapture_of_twin)
{
    const bg_mode modes[] = {BG_MODE_PIECEWISE, BG_MODE_FULL};
    for (int i = 0; i < 4; i++) {
        bg_bucket_info checked, unchecked;
        size_t bytes;
        OWNED_MODEL(m);
        OWNED_MODEL(plain);

        assert_string_equal(recapture(&m, modes[i / 2], i % 2 == 1), "");
        checked = bucket_of(m.runner, 0);
        bytes = pool_stats(bg_runner_pool(m.runner)).mapped;
        assert_true(get(&m.f->x) == (float)checked.replays);
        run_batch(&m, 3, 2);

        start_runner(&plain, modes[i / 2], i % 2 == 1);
        run_batch(&plain, BUCKET, 2);
        unchecked = bucket_of(plain.runner, 0);
        assert_int_equal(checked.pool_bytes, unchecked.pool_bytes);
        assert_int_equal(checked.nodes, unchecked.nodes);
        assert_int_equal(checked.segments, unchecked.segments);
        assert_int_equal(checked.replays, unchecked.replays);
        assert_int_equal(bytes, pool_stats(bg_runner_pool(plain.runner)).mapped);
        /* For each bucket that is captured: a capture more that has to be thrown away, and two that are compared. */
        assert_int_equal(m.prepared - 1, plain.prepared + (i % 2 == 1 ? 3 : 6));
    }
}

static void planted(fixture *f, model m, const char *kind)
{
    char site[60];

    for (int lazy = 0; lazy < 2; lazy++) {
        const char *text;
        OWNED_MODEL(planted);
        planted = m;
        planted.f = f;
        text = recapture(&planted, BG_MODE_PIECEWISE, lazy);
        snprintf(site, sizeof site, "test_runner_tools.c:%d", planted.line);
        EXPECT_TEXT(text, kind);
        EXPECT_TEXT(text, "recapture of piecewise tokens 8: 1 finding");
        EXPECT_TEXT(text, "scale#0");
        EXPECT_TEXT(text, site);
    }
}

FIXTURE_TEST(test_recapture)
{
    planted(f, (model){.drifts = true}, "[frozen-value]");
    planted(f, (model){.turns = true}, "[unstable-pointer]");
    planted(f, (model){.strays = true}, "[leak]");
}

/* ---- BG_CHECK=poison ---- */

/* What the first batch of a runner with this model says, and nothing more the second one. */
static const char *poison(fixture *f, int left_out, int tokens, bool lazy)
{
    static char text[8192];
    float before, factor = left_out > 0 ? 0 : 2;
    OWNED_MODEL(m);

    m.left_out = left_out;
    set_variable("BG_CHECK", "poison");
    start_runner(&m, BG_MODE_PIECEWISE, lazy);
    before = get(&f->x);
    hold_errors();
    run_batch(&m, tokens, factor);
    snprintf(text, sizeof text, "%s", held_errors());
    assert_true(get(&f->x) == before + 1); /* config.state: as after one pass */
    hold_errors();
    run_batch(&m, tokens, factor); /* once is enough */
    assert_string_equal(held_errors(), "");
    set_variable("BG_CHECK", NULL);
    return text;
}

FIXTURE_TEST(test_poison)
{
    for (int lazy = 0; lazy < 2; lazy++) {
        const char *text;
        assert_string_equal(poison(f, 0, BUCKET, lazy), "");
        assert_string_equal(poison(f, 0, 5, lazy), ""); /* own_rows leaves padding rows unwritten */
        assert_string_equal(poison(f, 1, 5, lazy), ""); /* what is left out is a padding row */
        text = poison(f, 1, BUCKET, lazy);
        EXPECT_TEXT(text, "poison of piecewise tokens 8: 1 finding");
        EXPECT_TEXT(text, "[unwritten-output] scale#0");
    }
}

/* ---- BG_SHADOW ---- */

/* What batches of a runner with this model say, of which the second finds what the first one left in padding rows. */
static const char *shadow(fixture *f, model m, int tokens)
{
    static char text[8192];
    OWNED_MODEL(shadowed);

    shadowed = m;
    shadowed.f = f;
    set_variable("BG_SHADOW", "calls");
    start_runner(&shadowed, BG_MODE_PIECEWISE, false);
    hold_errors();
    run_batch(&shadowed, BUCKET, 0);
    run_batch(&shadowed, tokens, 0);
    snprintf(text, sizeof text, "%s", held_errors());
    set_variable("BG_SHADOW", NULL);
    return text;
}

/* What padding rows hold is nobody's: an op may leave them out in one run, and write them in another. */
FIXTURE_TEST(test_shadow)
{
    assert_string_equal(shadow(f, (model){.spares = true}, 5), "");
    EXPECT_TEXT(shadow(f, (model){.spares = true, .drifts = true}, 5), "[frozen-value] scale#0");
    EXPECT_TEXT(shadow(f, (model){.spares = true, .keeps = true}, 5), "[frozen-value] keep#0"); /* no row, but a slot */
}

/* ---- BG_DEBUG=step ---- */

static bg_status take_last_forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    bg_tensor x = bg_tensor_1d(m->x.data, BG_F32, context->padded_tokens);
    bg_tensor y = bg_tensor_1d(m->y.data, BG_F32, context->padded_tokens);
    return BG_CALL(take_last, stream, .x = x, .y = y);
}

/* What a batch says, stepped, where the padding rows hold that. */
static const char *step(fixture *f, double padding, int tokens)
{
    static char text[8192];
    OWNED_MODEL(m);

    set_variable("BG_DEBUG", "step");
    EXPECT_OK(bg_runner_create(&m.runner, RUNNER_CONFIG(.mode = BG_MODE_FULL, .schedule = "8", .max_tokens = BUCKET),
                               take_last_forward, &m, f->stream));
    EXPECT_OK(bg_runner_add_input(m.runner, "x", BG_F32, 1, (int64_t[]){0}, BG_PAD_SENTINEL, padding, &m.x));
    EXPECT_OK(bg_runner_add_output(m.runner, "y", BG_F32, 1, (int64_t[]){0}, &m.y));
    EXPECT_OK(bg_runner_capture(m.runner));
    hold_errors();
    run_batch(&m, tokens, 0);
    snprintf(text, sizeof text, "%s", held_errors());
    set_variable("BG_DEBUG", NULL);
    return text;
}

FIXTURE_TEST(test_step)
{
    const char *text = step(f, (double)NAN, 5);
    EXPECT_IN(text,
              "note [nan-input] take_last#0 at |y of take_last#0 holds 1 NaN (of 5 elements)|of its inputs only the "
              "padding rows");
    EXPECT_NOT_IN(text, "[nan-origin]");
    EXPECT_IN(step(f, (double)INFINITY, 5), "note [inf-origin] take_last#0|but in padding rows of");
    EXPECT_NOT_IN(step(f, (double)NAN, BUCKET), "take_last#0");
}

TESTS_ON_HOST_DEVICE("that calls fail on request");
/* The batch does not need what the check needs: a copy of config.state. */
FAULT_TEST(test_poison_is_left_out)
{
    const char *text;
    float before;
    OWNED_MODEL(m);

    m.left_out = 1;
    set_variable("BG_CHECK", "poison");
    start_runner(&m, BG_MODE_PIECEWISE, false);
    before = get(&f->x);
    hold_errors();
    fail_calls("cudaMalloc@1=cudaErrorMemoryAllocation");
    run_batch(&m, BUCKET, 0);
    assert_int_equal(hostcuda_faults(), 1);
    fail_calls(NULL);
    text = held_errors();
    EXPECT_TEXT(text, "BG_CHECK=poison: piecewise tokens 8 could not be checked: ");
    assert_null(strstr(text, "unwritten-output"));
    assert_true(get(&f->x) == before + 1);
}
TESTS_ON_ANY_DEVICE;

/* ---- BG_DEBUG=step ---- */

/* Of padding, scale makes infinities. */
FIXTURE_TEST(test_step_of_batch)
{
    OWNED_MODEL(m);
    bg_graph *graph;
    bg_report *report;

    set_variable("BG_DEBUG", "step");
    start_runner(&m, BG_MODE_PIECEWISE, false);
    hold_errors();
    run_batch(&m, 5, 2);
    assert_string_equal(held_errors(), "");
    set_variable("BG_DEBUG", NULL);
    EXPECT_OK(bg_runner_get_graph(m.runner, 0, &graph));
    EXPECT_OK(bg_step(graph, m.f->stream, NULL, NULL, &report));
    EXPECT_FINDING(report, "inf-origin", "scale#0", m.line, "holds 3 infinities (of 8 elements)");
}

/* ---- BG_DEBUG=forward ---- */

FIXTURE_TEST(test_forward_is_unpadded)
{
    OWNED_MODEL(m);
    float rows[BUCKET];

    set_variable("BG_DEBUG", "forward");
    start_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_CUDA(cudaMemcpy(m.x.data, (float[BUCKET]){9, 9, 9, 9, 9, 9, 9, 9}, sizeof rows, cudaMemcpyHostToDevice));
    bg_counters_reset();
    run_batch(&m, 5, 2);
    assert_int_equal(m.padded, 5);
    EXPECT_CUDA(cudaMemcpy(rows, m.x.data, sizeof rows, cudaMemcpyDeviceToHost));
    for (int i = 5; i < BUCKET; i++)
        assert_true(rows[i] == 9); /* nor are padding rows filled */
    assert_int_equal(counters_now().padded_tokens, 0);
    assert_int_equal(counters_now().replays[BG_MODE_PIECEWISE], 1);
    set_variable("BG_DEBUG", NULL);
    start_runner(&m, BG_MODE_PIECEWISE, false);
    run_batch(&m, 5, 2);
    assert_int_equal(counters_now().padded_tokens, BUCKET - 5);
}

/* The debugging tools on a runner's graphs: from C by bg_runner_get_graph, by BG_CHECK=recapture and poison, and
 * batches without padding under BG_DEBUG=forward. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"

#include <breakgraph/check.h>
#include <breakgraph/step.h>
#include <breakgraph/trace.h>
#include "debug/memory/results.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hostcuda/hostcuda.h>

#pragma weak hostcuda_fail
#pragma weak hostcuda_faults

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

/* counts += 1 */
BG_OP(advance, BG_IN(one), BG_INOUT(counts))
{
    return from_cuda(bgk_add(args->counts.data, args->counts.data, args->one.data, N, stream));
}

/* y = 2 x, through blocks of the pool; what is planted is captured wrongly. */
typedef struct model {
    fixture *f;
    bg_runner *runner;
    bg_tensor x, y;
    bool drifts, strays,
        turns;    /* planted: another value, a stream that is not captured, another address in each pass */
    int left_out; /* planted: elements that scale does not write */
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
    BG_CALL(scale, stream, .x = x, .y = hidden, .factor = factor, .left_out = m->left_out, .stray = stray);
    EXPECT_OK(bg_pool_alloc(bg_runner_pool(m->runner), bg_tensor_bytes(&own), &own.data));
    BG_CALL(own_rows, stream, .x = hidden, .y = own, .rows = &m->rows);
    status = BG_CALL(scale, stream, .x = own, .y = y, .factor = 1);
    bg_pool_release(bg_runner_pool(m->runner), own.data);
    bg_pool_release(bg_runner_pool(m->runner), hidden.data);
    return status;
}

static void open_runner(model *m, bg_mode mode, bool lazy)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;

    config.mode = mode;
    config.lazy = lazy;
    config.schedule = "2,8";
    config.max_tokens = BUCKET;
    config.prepare = prepare;
    config.callback_user = m;
    config.state = &m->f->x;
    config.state_count = 1;
    put(&m->f->y, 1);
    put(&m->f->x, 0);
    EXPECT_OK(bg_runner_create(&m->runner, &config, forward, m, m->f->stream));
    EXPECT_OK(bg_runner_add_input(m->runner, "x", BG_F32, 1, (int64_t[]){0}, BG_PAD_SENTINEL, FLT_MAX, &m->x));
    EXPECT_OK(bg_runner_add_output(m->runner, "y", BG_F32, 1, (int64_t[]){0}, &m->y));
}

static void run_batch(model *m, int tokens, float factor)
{
    const bg_batch batch = {.tokens = tokens, .requests = 1, .max_query_len = tokens};
    float rows[BUCKET] = {1, 2, 3, 4, 5, 6, 7, 8}, found[BUCKET];
    bg_tensor input = bg_tensor_1d(rows, BG_F32, tokens), output = bg_tensor_1d(found, BG_F32, tokens);

    EXPECT_OK(bg_runner_run(m->runner, &batch, &input, &output, NULL));
    EXPECT_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < tokens && factor > 0; i++)
        if (found[i] != factor * rows[i])
            fail_msg("element %d of %d is %g, not %g", i, tokens, found[i], factor * rows[i]);
}

/* ---- standard error ---- */

static FILE *taken;
static int kept;

static void take_errors(void)
{
    fflush(stderr);
    taken = tmpfile();
    kept = dup(STDERR_FILENO);
    assert_non_null(taken);
    assert_true(kept >= 0 && dup2(fileno(taken), STDERR_FILENO) >= 0);
}

static void give_errors(char *text, size_t bytes)
{
    size_t length;
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
    rewind(taken);
    length = fread(text, 1, bytes - 1, taken);
    text[length] = '\0';
    assert_int_equal(fclose(taken), 0);
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, text);
}

/* ---- bg_runner_get_graph ---- */

FIXTURE_TEST(test_no_graph)
{
    model m = {.f = f, .fail = 1};
    bg_graph *graph;

    open_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_INVALID(bg_runner_get_graph(NULL, 0, &graph));
    EXPECT_INVALID(bg_runner_get_graph(m.runner, 0, NULL));
    EXPECT_STATUS(bg_runner_get_graph(m.runner, -1, &graph), BG_ERROR_NOT_FOUND);
    EXPECT_FAILURE(bg_runner_get_graph(m.runner, 2, &graph), BG_ERROR_NOT_FOUND,
                   "there is no bucket 2; the runner has 2");
    EXPECT_FAILURE(bg_runner_get_graph(m.runner, 0, &graph), BG_ERROR_NOT_FOUND,
                   "piecewise tokens 8 is not captured yet; call bg_runner_capture first");
    assert_null(graph);
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_OP);
    EXPECT_FAILURE(bg_runner_get_graph(m.runner, 0, &graph), BG_ERROR_NOT_FOUND,
                   "piecewise tokens 8 could not be captured: ");
    bg_runner_destroy(m.runner);

    m.fail = 0;
    open_runner(&m, BG_MODE_PIECEWISE, true);
    EXPECT_FAILURE(bg_runner_get_graph(m.runner, 1, &graph), BG_ERROR_NOT_FOUND,
                   "piecewise tokens 2 is not captured yet; run a batch of that size first");
    run_batch(&m, 2, 2);
    EXPECT_OK(bg_runner_get_graph(m.runner, 1, &graph));
    assert_string_equal(info_of(graph).name, "piecewise tokens 2");
    EXPECT_STATUS(bg_runner_get_graph(m.runner, 0, &graph), BG_ERROR_NOT_FOUND);
    bg_runner_destroy(m.runner);
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

    EXPECT_OK(bg__results_take(&results, graph));
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
    model m = {.f = f};
    bg_graph *graph;
    bg_report *report;
    int nodes = 0, file = mkstemp(path);

    assert_true(file >= 0 && close(file) == 0);
    open_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_OK(bg_runner_capture(m.runner));
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
    assert_null(bg_forward_context_get());

    m.left_out = 1;
    open_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_OK(bg_runner_get_graph(m.runner, 0, &graph));
    EXPECT_FINDING(check_poison(&m, graph), "unwritten-output", "scale#0", 0, "1 of its 8 elements");
    bg_runner_destroy(m.runner);
}

/* ---- BG_CHECK=recapture ---- */

static bg_bucket_info bucket_of(const model *m)
{
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    EXPECT_OK(bg_runner_get_bucket(m->runner, 0, &info));
    return info;
}

static size_t mapped(const model *m)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    EXPECT_OK(bg_pool_get_stats(bg_runner_pool(m->runner), &stats));
    return stats.mapped;
}

/* What the check prints of a runner with this model; the runner stays. */
static void recapture(model *m, bg_mode mode, bool lazy, char *text, size_t bytes)
{
    assert_int_equal(setenv("BG_CHECK", "recapture", 1), 0);
    open_runner(m, mode, lazy);
    take_errors();
    EXPECT_OK(bg_runner_capture(m->runner));
    run_batch(m, BUCKET, m->drifts || m->turns || m->strays ? 0 : 2);
    give_errors(text, bytes);
    assert_int_equal(unsetenv("BG_CHECK"), 0);
}

/* The graph is what it is without the check, and so is memory. */
FIXTURE_TEST(test_recapture_of_twin)
{
    const bg_mode modes[] = {BG_MODE_PIECEWISE, BG_MODE_FULL};
    for (int i = 0; i < 4; i++) {
        model m = {.f = f}, plain = {.f = f};
        bg_bucket_info checked, unchecked;
        size_t bytes;
        char text[4096];

        recapture(&m, modes[i / 2], i % 2 == 1, text, sizeof text);
        assert_string_equal(text, "");
        checked = bucket_of(&m);
        bytes = mapped(&m);
        assert_true(get(&m.f->x) == (float)checked.replays);
        run_batch(&m, 3, 2);
        bg_runner_destroy(m.runner);

        open_runner(&plain, modes[i / 2], i % 2 == 1);
        EXPECT_OK(bg_runner_capture(plain.runner));
        run_batch(&plain, BUCKET, 2);
        unchecked = bucket_of(&plain);
        assert_int_equal(checked.pool_bytes, unchecked.pool_bytes);
        assert_int_equal(checked.nodes, unchecked.nodes);
        assert_int_equal(checked.segments, unchecked.segments);
        assert_int_equal(checked.replays, unchecked.replays);
        assert_int_equal(bytes, mapped(&plain));
        /* For each bucket that is captured: a capture more that has to be thrown away, and two that are compared. */
        assert_int_equal(m.prepared - 1, plain.prepared + (i % 2 == 1 ? 3 : 6));
        bg_runner_destroy(plain.runner);
    }
}

static void planted(fixture *f, model m, const char *kind)
{
    char text[8192], site[60];

    for (int lazy = 0; lazy < 2; lazy++) {
        model planted = m;
        planted.f = f;
        recapture(&planted, BG_MODE_PIECEWISE, lazy, text, sizeof text);
        snprintf(site, sizeof site, "test_runner_tools.c:%d", planted.line);
        expect_text(text, kind);
        expect_text(text, "recapture of piecewise tokens 8: 1 finding");
        expect_text(text, "scale#0");
        expect_text(text, site);
        bg_runner_destroy(planted.runner);
    }
}

FIXTURE_TEST(test_recapture)
{
    planted(f, (model){.drifts = true}, "[frozen-value]");
    planted(f, (model){.turns = true}, "[unstable-pointer]");
    planted(f, (model){.strays = true}, "[leak]");
}

/* ---- BG_CHECK=poison ---- */

static void poison(model *m, int tokens, bool lazy, char *text, size_t bytes)
{
    float before;

    assert_int_equal(setenv("BG_CHECK", "poison", 1), 0);
    open_runner(m, BG_MODE_PIECEWISE, lazy);
    EXPECT_OK(bg_runner_capture(m->runner));
    before = get(&m->f->x);
    take_errors();
    run_batch(m, tokens, m->left_out > 0 ? 0 : 2);
    give_errors(text, bytes);
    assert_true(get(&m->f->x) == before + 1); /* config.state: as after one pass */
    take_errors();
    run_batch(m, tokens, m->left_out > 0 ? 0 : 2); /* once is enough */
    give_errors(text + strlen(text), bytes - strlen(text));
    bg_runner_destroy(m->runner);
    assert_int_equal(unsetenv("BG_CHECK"), 0);
}

FIXTURE_TEST(test_poison)
{
    char text[8192];

    for (int lazy = 0; lazy < 2; lazy++) {
        model good = {.f = f}, padded = {.f = f}, bad = {.f = f, .left_out = 1}, tail = bad;
        poison(&good, BUCKET, lazy, text, sizeof text);
        assert_string_equal(text, "");
        poison(&padded, 5, lazy, text, sizeof text); /* own_rows leaves padding rows unwritten */
        assert_string_equal(text, "");
        poison(&bad, BUCKET, lazy, text, sizeof text);
        expect_text(text, "poison of piecewise tokens 8: 1 finding");
        expect_text(text, "[unwritten-output] scale#0");
        poison(&tail, 5, lazy, text, sizeof text); /* what is left out is a padding row */
        assert_string_equal(text, "");
    }
}

/* The batch does not need what the check needs: a copy of config.state. */
FIXTURE_TEST(test_poison_is_left_out)
{
    model m = {.f = f, .left_out = 1};
    char text[4096];
    float before;

    if (!hostcuda_fail) {
        print_message("skipped: calls fail on request on the host device only\n");
        skip();
    }
    assert_int_equal(setenv("BG_CHECK", "poison", 1), 0);
    open_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_OK(bg_runner_capture(m.runner));
    before = get(&m.f->x);
    take_errors();
    assert_int_equal(hostcuda_fail("cudaMalloc@1=cudaErrorMemoryAllocation"), 0);
    run_batch(&m, BUCKET, 0);
    assert_int_equal(hostcuda_faults(), 1);
    assert_int_equal(hostcuda_fail(NULL), 0);
    give_errors(text, sizeof text);
    expect_text(text, "BG_CHECK=poison: piecewise tokens 8 could not be checked: ");
    assert_null(strstr(text, "unwritten-output"));
    assert_true(get(&m.f->x) == before + 1);
    bg_runner_destroy(m.runner);
    assert_int_equal(unsetenv("BG_CHECK"), 0);
}

/* ---- BG_DEBUG=step ---- */

/* Of padding, scale makes infinities. */
FIXTURE_TEST(test_step_of_batch)
{
    model m = {.f = f};
    bg_graph *graph;
    bg_report *report;
    char text[4096];

    assert_int_equal(setenv("BG_DEBUG", "step", 1), 0);
    open_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_OK(bg_runner_capture(m.runner));
    take_errors();
    run_batch(&m, 5, 2);
    give_errors(text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(unsetenv("BG_DEBUG"), 0);
    EXPECT_OK(bg_runner_get_graph(m.runner, 0, &graph));
    EXPECT_OK(bg_step(graph, m.f->stream, NULL, NULL, &report));
    EXPECT_FINDING(report, "inf-origin", "scale#0", m.line, "holds 3 infinities (of 8 elements)");
    bg_runner_destroy(m.runner);
}

/* ---- BG_DEBUG=forward ---- */

FIXTURE_TEST(test_forward_is_unpadded)
{
    model m = {.f = f};
    bg_counters counters = BG_COUNTERS_INIT;
    float rows[BUCKET];

    assert_int_equal(setenv("BG_DEBUG", "forward", 1), 0);
    open_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_CUDA(cudaMemcpy(m.x.data, (float[BUCKET]){9, 9, 9, 9, 9, 9, 9, 9}, sizeof rows, cudaMemcpyHostToDevice));
    bg_counters_reset();
    run_batch(&m, 5, 2);
    assert_int_equal(m.padded, 5);
    EXPECT_CUDA(cudaMemcpy(rows, m.x.data, sizeof rows, cudaMemcpyDeviceToHost));
    for (int i = 5; i < BUCKET; i++)
        assert_true(rows[i] == 9); /* nor are padding rows filled */
    bg_counters_get(&counters);
    assert_int_equal(counters.padded_tokens, 0);
    assert_int_equal(counters.replays[BG_MODE_PIECEWISE], 1);
    bg_runner_destroy(m.runner);
    assert_int_equal(unsetenv("BG_DEBUG"), 0);
    open_runner(&m, BG_MODE_PIECEWISE, false);
    EXPECT_OK(bg_runner_capture(m.runner));
    run_batch(&m, 5, 2);
    bg_counters_get(&counters);
    assert_int_equal(counters.padded_tokens, BUCKET - 5);
    bg_runner_destroy(m.runner);
}

/* One pass, run in every way that there is: captured, replayed, by bg_forward_run, as a runner's warm-up and eager run,
 * in the debug modes, without breaks, beside a shadow. Each way has to give the same results and the same errors, and
 * to give back what it took. */
#include "tests/support/test.h"
#include "tests/support/runner/pool_support.h"

#include <stdlib.h>
#include <string.h>

/* Only the host device has it. */
void hostcuda_seed(unsigned long long seed);
#pragma weak hostcuda_seed

enum { SEEDS = 6, RUNS = 3, COUNT = 256, LONG = 24 };

/* y = factor x */
BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, (size_t)args->x.dim[0], stream));
}

BG_EAGER_OP(scale_eagerly, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, (size_t)args->x.dim[0], stream));
}

/* y = x, slowly. */
BG_OP(dawdle, BG_IN(x), BG_OUT(y))
{
    size_t count = (size_t)args->x.dim[0];
    for (int i = 0; i < LONG; i++)
        TRY_BG(from_cuda(bgk_fill(args->y.data, -1, count, stream)));
    return from_cuda(bgk_scale(args->y.data, args->x.data, 1, count, stream));
}

BG_OP(sum, BG_IN(a), BG_IN(b), BG_OUT(y))
{
    return from_cuda(bgk_add(args->y.data, args->a.data, args->b.data, (size_t)args->a.dim[0], stream));
}

static bool failing;

BG_EAGER_OP(may_fail, BG_INOUT(x))
{
    (void)args;
    return failing ? bg_report_failure(BG_ERROR_OP, "a call", "it was told to fail", "none") : BG_OK;
}

/* Handles what fails inside: y = 2 x. */
BG_EAGER_OP(handles, BG_INOUT(x), BG_IN(from), BG_OUT(y))
{
    (void)BG_CALL(may_fail, stream, .x = args->x);
    return BG_CALL(scale, stream, .x = args->from, .y = args->y, .factor = 2);
}

typedef struct subject {
    cudaStream_t other;
    bg_pool *pool; /* of the way */
    bg_tensor x, y, z;
    bg_status (*pass)(struct subject *s, cudaStream_t stream);
    bg_status ignored;
    bg_status nested; /* of what is refused inside a pass */
    bool copies;      /* z = y comes right behind the pass */
} subject;

PASS(forward, subject *s)
{
    return s->pass(s, stream);
}

static bg_status forward_of_runner(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    (void)context;
    return forward(user, stream);
}

/* ---- the ways ---- */

typedef struct way {
    const char *name;
    bg_status (*run)(const struct way *way, subject *s, cudaStream_t stream);
    const char *variable, *value, *eager_ops;
    bg_debug debug;
    int warmups;
    bool inline_eager, unlaunched;
} way;

static void follow(const subject *s, cudaStream_t stream)
{
    if (s->copies)
        EXPECT_CUDA(bgk_scale(s->z.data, s->y.data, 1, COUNT, stream));
}

static bg_capture_options options_of(const way *way, const subject *s)
{
    return *LAUNCH_OPTIONS(!way->unlaunched, .debug = way->debug, .inline_eager = way->inline_eager,
                           .eager_ops = way->eager_ops, .pool = s->pool, .join_at_end = true);
}

static bg_status capture(const way *way, subject *s, cudaStream_t stream)
{
    const bg_capture_options options = options_of(way, s);
    OWNED_GRAPH(graph);
    bg_status status = bg_capture_forward(&graph, forward, s, stream, &options);
    follow(s, stream);
    return status;
}

static bg_status replay(const way *way, subject *s, cudaStream_t stream)
{
    const bg_capture_options options = options_of(way, s);
    bool fails = failing;

    failing = false;
    CAPTURED_GRAPH(graph, forward, s, stream, &options);
    failing = fails;
    put(&s->y, -7);
    bg_status status = bg_replay(graph, stream);
    for (int i = 1; i < RUNS && status == BG_OK; i++)
        status = bg_replay(graph, stream);
    follow(s, stream);
    EXPECT_CUDA(cudaStreamSynchronize(stream));
    return status;
}

static bg_status run_eagerly(const way *way, subject *s, cudaStream_t stream)
{
    const bg_capture_options options = options_of(way, s);
    bg_status status = bg_forward_run(forward, s, stream, &options);
    follow(s, stream);
    return status;
}

/* Of a batch that is larger than the schedule, or in a mode without graphs. */
static bg_status run_by_runner(const way *way, subject *s, cudaStream_t stream)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_batch batch = {.tokens = 2, .requests = 1, .max_query_len = 2};
    bg_pool *before = s->pool;
    bg_runner *runner = NULL;
    bg_status status;

    config.schedule = way->warmups > 0 ? "2" : "1";
    config.max_tokens = 2;
    config.warmups = way->warmups;
    config.debug = way->debug;
    EXPECT_OK(bg_runner_create(&runner, &config, forward_of_runner, s, stream));
    s->pool = before != NULL ? bg_runner_pool(runner) : NULL;
    status = way->warmups > 0 ? bg_runner_capture(runner) : BG_OK;
    if (status == BG_OK)
        status = bg_runner_run(runner, &batch, NULL, NULL, NULL);
    follow(s, stream);
    EXPECT_CUDA(cudaDeviceSynchronize());
    bg_runner_destroy(runner);
    s->pool = before;
    return status;
}

static const way ways[] = {
    {.name = "captured", .run = capture, .debug = BG_DEBUG_OFF},
    {.name = "replayed", .run = replay, .debug = BG_DEBUG_OFF},
    {.name = "replayed, never launched before", .run = replay, .debug = BG_DEBUG_OFF, .unlaunched = true},
    {.name = "bg_forward_run", .run = run_eagerly},
    {.name = "bg_forward_run without breaks", .run = run_eagerly, .variable = "BG_BREAKABLE", .value = "0"},
    {.name = "a runner's eager run", .run = run_by_runner},
    {.name = "a runner's eager run after warm-ups", .run = run_by_runner, .warmups = 2},
    {.name = "a runner in the debug mode forward", .run = run_by_runner, .warmups = 1, .debug = BG_DEBUG_FORWARD},
    {.name = "captured in the debug mode forward", .run = capture, .debug = BG_DEBUG_FORWARD},
    {.name = "replayed in the debug mode forward", .run = replay, .debug = BG_DEBUG_FORWARD},
    {.name = "replayed in the debug mode ops", .run = replay, .debug = BG_DEBUG_OPS},
    {.name = "replayed in the debug mode sync", .run = replay, .debug = BG_DEBUG_SYNC},
    {.name = "replayed in the debug mode step", .run = replay, .debug = BG_DEBUG_STEP},
    {.name = "captured without breaks", .run = capture, .variable = "BG_BREAKABLE", .value = "0"},
    {.name = "replayed without breaks", .run = replay, .variable = "BG_BREAKABLE", .value = "0"},
    {.name = "replayed with eager ops inline", .run = replay, .inline_eager = true},
    {.name = "replayed with all ops captured by a pattern", .run = replay, .eager_ops = "!*"},
    {.name = "replayed with all ops eager by a pattern", .run = replay, .eager_ops = "*"},
    {.name = "replayed beside a shadow", .run = replay, .variable = "BG_SHADOW", .value = "1"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static bg_status run_way(const way *way, subject *s, cudaStream_t stream)
{
    bg_status status;
    EXPECT_CUDA(bgk_fill(s->z.data, -9, COUNT, stream));
    if (way->variable != NULL)
        assert_int_equal(setenv(way->variable, way->value, 1), 0);
    status = way->run(way, s, stream);
    if (way->variable != NULL)
        assert_int_equal(unsetenv(way->variable), 0);
    EXPECT_CUDA(cudaDeviceSynchronize());
    return status;
}

static void expect_all(const way *way, const char *what, const bg_tensor *tensor, float value)
{
    size_t count = (size_t)tensor->dim[0];
    float *found = malloc(count * sizeof *found);
    assert_non_null(found);
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(found, tensor->data, count * sizeof *found, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i++)
        if (found[i] != value)
            fail_msg("%s: %s[%zu] is %g, expected %g", way->name, what, i, (double)found[i], (double)value);
    free(found);
}

static subject open_subject(fixture *f, bg_status (*pass)(subject *, cudaStream_t))
{
    subject s = {.other = f->other, .pass = pass};
    for (bg_tensor **t = (bg_tensor *[]){&s.x, &s.y, &s.z, NULL}; *t != NULL; t++) {
        void *memory;
        EXPECT_CUDA(cudaMalloc(&memory, COUNT * sizeof(float)));
        **t = bg_tensor_1d(memory, BG_F32, COUNT);
        EXPECT_CUDA(bgk_fill(memory, 1, COUNT, f->stream));
    }
    EXPECT_CUDA(cudaDeviceSynchronize());
    return s;
}

static void close_subject(subject *s)
{
    bg_pool_destroy(s->pool);
    EXPECT_CUDA(cudaFree(s->x.data));
    EXPECT_CUDA(cudaFree(s->y.data));
    EXPECT_CUDA(cudaFree(s->z.data));
}

/* Declares one that goes with its scope. */
#define SUBJECT(name, pass) __attribute__((cleanup(close_subject))) subject name = open_subject(f, pass)

static void set_seed(int seed)
{
    if (hostcuda_seed != NULL)
        hostcuda_seed((unsigned)seed);
}

/* y of the pass, or z, in every schedule. */
static void expect_way(const way *way, subject *s, cudaStream_t stream, const char *what, float value)
{
    for (int seed = 1; seed <= (hostcuda_seed != NULL ? SEEDS : 1); seed++) {
        set_seed(seed);
        EXPECT_CUDA(bgk_fill(s->y.data, -7, COUNT, stream));
        EXPECT_STATUS(run_way(way, s, stream), BG_OK);
        expect_all(way, what, what[0] == 'y' ? &s->y : &s->z, value);
    }
    set_seed(0);
}

/* y of the pass, which is made from x = 1, in every way and schedule. */
static void expect_everywhere(fixture *f, bg_status (*pass)(subject *, cudaStream_t), float value)
{
    SUBJECT(s, pass);
    for (int w = 0; w < WAYS; w++)
        expect_way(&ways[w], &s, f->stream, "y", value);
}

/* A test that is a pass. */
#define PASS_TEST(name, value)                                                                                         \
    static bg_status pass_of_##name(subject *s, cudaStream_t stream);                                                  \
    FIXTURE_TEST(name)                                                                                                 \
    {                                                                                                                  \
        expect_everywhere(f, pass_of_##name, value);                                                                   \
    }                                                                                                                  \
    static bg_status pass_of_##name(subject *s, cudaStream_t stream)

/* ---- errors stick ---- */

static bg_status ignores_a_failure(subject *s, cudaStream_t stream)
{
    s->ignored = BG_CALL(may_fail, stream, .x = s->x);
    s->nested = BG_CALL(scale, stream, .x = s->x, .y = s->y, .factor = 3);
    return BG_OK;
}

FIXTURE_TEST(test_errors_stick)
{
    SUBJECT(s, ignores_a_failure);
    for (int w = 0; w < WAYS; w++) {
        failing = true;
        s.nested = BG_ERROR_OP;
        bg_status status = run_way(&ways[w], &s, f->stream);
        failing = false;
        if (strstr(ways[w].name, "captured by a pattern") || strstr(ways[w].name, "inline") ||
            (strstr(ways[w].name, "without breaks") && ways[w].run == replay)) {
            EXPECT_STATUS(status, BG_OK); /* the body is not run again */
            continue;
        }
        if (status != BG_ERROR_OP || (ways[w].run != replay && s.nested != BG_ERROR_OP))
            fail_msg("%s: %s (%s), the call after it %s", ways[w].name, bg_status_name(status), bg_last_error(),
                     bg_status_name(s.nested));
        EXPECT_ERROR("may_fail#0");
        EXPECT_ERROR("it was told to fail");
        EXPECT_STATUS(run_way(&ways[w], &s, f->stream), BG_OK);
    }
}

static bg_status handles_a_failure(subject *s, cudaStream_t stream)
{
    return BG_CALL(handles, stream, .x = s->z, .from = s->x, .y = s->y);
}

/* Where the op is captured, what fails in it fails its capture. */
FIXTURE_TEST(test_eager_bodies_handle_their_failures)
{
    SUBJECT(s, handles_a_failure);
    failing = true;
    EXPECT_OK(bg_forward_run(forward, &s, f->stream, NULL));
    expect_all(&ways[3], "y", &s.y, 2);
    assert_int_equal(setenv("BG_BREAKABLE", "0", 1), 0);
    EXPECT_STATUS(bg_forward_run(forward, &s, f->stream, NULL), BG_ERROR_OP);
    assert_int_equal(unsetenv("BG_BREAKABLE"), 0);
    failing = false;
}

/* ---- bridge buffers ---- */

static bg_status tripled(subject *s, cudaStream_t stream, const bg_tensor *x, bg_tensor *y)
{
    scale_args args = {.x = *x, .y = {.dtype = BG_F32, .rank = 1, .dim = {COUNT}}, .factor = 3};
    (void)s;
    TRY_BG(BG_CALL_ARGS(scale, stream, &args));
    *y = args.y;
    return BG_OK;
}

/* y = 3 x + 9 x, of two outputs of one source line. */
static bg_status calls_a_helper_twice(subject *s, cudaStream_t stream)
{
    bg_tensor once, twice;
    TRY_BG(tripled(s, stream, &s->x, &once));
    TRY_BG(tripled(s, stream, &once, &twice));
    return BG_CALL(sum, stream, .a = once, .b = twice, .y = s->y);
}

FIXTURE_TEST(test_bridge_buffers_of_one_line)
{
    expect_everywhere(f, calls_a_helper_twice, 12);
}

/* ---- joins ---- */

/* y = 2 z, z = x by another stream that nothing waits for but the break. */
PASS_TEST(test_joins_at_eager_ops, 2)
{
    TRY_BG(bg_stream_wait_stream(s->other, stream));
    TRY_BG(from_cuda(cudaMemsetAsync(s->z.data, 0, COUNT * sizeof(float), s->other)));
    TRY_BG(BG_CALL(dawdle, s->other, .x = s->x, .y = s->z));
    TRY_BG(BG_CALL(scale_eagerly, stream, .x = s->z, .y = s->y, .factor = 2));
    TRY_BG(from_cuda(bgk_fill(s->z.data, -3, COUNT, stream)));
    return BG_OK;
}

/* The same by a bare break; and what the other stream goes on with comes after it. */
PASS_TEST(test_joins_at_bare_breaks, 5)
{
    TRY_BG(bg_stream_wait_stream(s->other, stream));
    TRY_BG(BG_CALL(dawdle, s->other, .x = s->x, .y = s->z));
    TRY_BG(bg_break(stream));
    TRY_BG(BG_CALL(dawdle, stream, .x = s->z, .y = s->y));
    TRY_BG(bg_break(s->other));
    TRY_BG(BG_CALL(scale, s->other, .x = s->y, .y = s->z, .factor = 5));
    TRY_BG(bg_stream_wait_stream(stream, s->other));
    return BG_CALL(scale, stream, .x = s->z, .y = s->y, .factor = 1);
}

/* options.join_at_end; the runner's captures want their streams joined, its eager runs join them. */
static bg_status joined_at_the_end(subject *s, cudaStream_t stream)
{
    TRY_BG(bg_stream_wait_stream(s->other, stream));
    return BG_CALL(dawdle, s->other, .x = s->x, .y = s->y);
}

FIXTURE_TEST(test_joins_at_the_end)
{
    SUBJECT(s, joined_at_the_end);
    s.copies = true;
    for (int w = 0; w < WAYS; w++)
        if (ways[w].run != run_by_runner || ways[w].warmups == 0)
            expect_way(&ways[w], &s, f->stream, "z", 1);
}

/* An event from before a break, waited on by a stream that was idle so far: it forks from the break. */
PASS_TEST(test_streams_that_fork_from_a_break, 6)
{
    cudaEvent_t event;
    TRY_BG(from_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)));
    TRY_BG(bg_event_record(event, stream));
    TRY_BG(BG_CALL(dawdle, stream, .x = s->x, .y = s->z));
    TRY_BG(BG_CALL(scale_eagerly, stream, .x = s->z, .y = s->z, .factor = 2));
    TRY_BG(bg_stream_wait_event(s->other, event));
    TRY_BG(BG_CALL(scale, s->other, .x = s->z, .y = s->y, .factor = 3));
    TRY_BG(bg_stream_wait_stream(stream, s->other));
    return bg_event_destroy(event);
}

/* ---- the pool ---- */

/* The other stream still reads a block that is released. y = z + 2 x, z = x by way of the block. */
static bg_status releases_what_is_read(subject *s, cudaStream_t stream)
{
    bg_tensor a = s->x, b = s->x;
    TRY_BG(bg_pool_alloc(s->pool, bg_tensor_bytes(&s->x), &a.data));
    TRY_BG(BG_CALL(scale, stream, .x = s->x, .y = a, .factor = 1));
    TRY_BG(bg_stream_wait_stream(s->other, stream));
    TRY_BG(BG_CALL(dawdle, s->other, .x = a, .y = s->z));
    bg_pool_release(s->pool, a.data);
    TRY_BG(bg_pool_alloc(s->pool, bg_tensor_bytes(&s->x), &b.data));
    TRY_BG(BG_CALL(scale, stream, .x = s->x, .y = b, .factor = 2));
    TRY_BG(bg_stream_wait_stream(stream, s->other));
    return BG_CALL(sum, stream, .a = s->z, .b = b, .y = s->y);
}

FIXTURE_TEST(test_blocks_that_a_fork_uses)
{
    SUBJECT(s, releases_what_is_read);
    s.pool = pool_make(RESERVE, 0);
    for (int w = 0; w < WAYS; w++) {
        bg_pool_stats before = pool_stats(s.pool), after;
        expect_way(&ways[w], &s, f->stream, "y", 3);
        after = pool_stats(s.pool);
        if (after.in_use != before.in_use || (w > 0 && after.mapped != before.mapped))
            fail_msg("%s: %zu bytes of the pool are in use, %zu before; %zu are mapped, %zu before", ways[w].name,
                     after.in_use, before.in_use, after.mapped, before.mapped);
    }
}

/* What forward takes and never gives back goes with the pass. */
static bg_status keeps_what_it_takes(subject *s, cudaStream_t stream)
{
    bg_tensor a = s->x, bridge;
    TRY_BG(bg_pool_alloc(s->pool, bg_tensor_bytes(&s->x), &a.data));
    TRY_BG(BG_CALL(scale, stream, .x = s->x, .y = a, .factor = 2));
    TRY_BG(tripled(s, stream, &a, &bridge));
    return BG_CALL(scale_eagerly, stream, .x = bridge, .y = s->y, .factor = 1);
}

FIXTURE_TEST(test_replays_leak_nothing)
{
    static const char *const settings[][2] = {{"BG_DEBUG", "forward"}, {"BG_SHADOW", "1"}, {"BG_SHADOW", "calls"}};
    SUBJECT(s, keeps_what_it_takes);
    s.pool = pool_make(RESERVE, 0);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        assert_int_equal(setenv(settings[i][0], settings[i][1], 1), 0);
        bg_graph *graph = CAPTURED_BY(forward, &s, f->stream, OPTIONS(.pool = s.pool));
        assert_int_equal(unsetenv(settings[i][0]), 0);
        EXPECT_OK(bg_replay(graph, f->stream));
        bg_pool_stats stats = pool_stats(s.pool);
        for (int n = 0; n < 40; n++)
            EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_CUDA(cudaDeviceSynchronize());
        expect_all(&(way){.name = settings[i][1]}, "y", &s.y, 6);
        assert_int_equal(pool_stats(s.pool).in_use, stats.in_use);
        assert_int_equal(pool_stats(s.pool).mapped, stats.mapped);
        bg_graph_destroy(graph);
        assert_int_equal(pool_stats(s.pool).in_use, 0);
    }
}

/* ---- bg_forward_run ---- */

FIXTURE_TEST(test_memory_is_given_back)
{
    SUBJECT(s, calls_a_helper_twice);
    EXPECT_OK(bg_forward_run(forward, &s, f->stream, NULL));
    size_t before = free_device_memory();
    for (int i = 0; i < 20; i++)
        EXPECT_OK(bg_forward_run(forward, &s, f->stream, NULL));
    expect_given_back(before);
}

static bg_status spoils_the_state(subject *s, cudaStream_t stream)
{
    TRY_BG(BG_CALL(scale, stream, .x = s->x, .y = s->y, .factor = 9));
    return BG_CALL(may_fail, stream, .x = s->x);
}

FIXTURE_TEST(test_state_is_put_back_after_a_failure)
{
    SUBJECT(s, spoils_the_state);
    const bg_capture_options *options = OPTIONS(.state = &s.y, .state_count = 1);
    failing = true;
    EXPECT_FAILS(bg_forward_run(forward, &s, f->stream, options), BG_ERROR_OP, "may_fail#0");
    failing = false;
    expect_all(&ways[3], "y", &s.y, 1);
    EXPECT_OK(bg_forward_run(forward, &s, f->stream, options));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    expect_all(&ways[3], "y", &s.y, 9);
}

static bg_status runs_another(subject *s, cudaStream_t stream)
{
    s->nested = bg_forward_run(forward, s, stream, NULL);
    return BG_OK;
}

FIXTURE_TEST(test_wrong_arguments)
{
    OWNED_CUDA_GRAPH(graph);
    bg_capture *capture;
    SUBJECT(s, runs_another);
    EXPECT_STATUS(bg_forward_run(NULL, &s, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_forward_run(forward, &s, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_forward_run(forward, &s, f->stream, OPTIONS(.worker_threads = -1)), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_OK(bg_forward_run(forward, &s, f->stream, NULL));
    assert_int_equal(s.nested, BG_ERROR_BUSY);
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_STATUS(bg_forward_run(forward, &s, f->stream, NULL), BG_ERROR_ALREADY_CAPTURING);
    s.pass = calls_a_helper_twice;
    EXPECT_OK(bg_forward_run(forward, &s, f->other, NULL)); /* beside it */
    bg_capture_abort(capture);
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeRelaxed));
    EXPECT_STATUS(bg_forward_run(forward, &s, f->stream, NULL), BG_ERROR_FOREIGN_CAPTURE);
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &graph));
    EXPECT_CUDA(cudaDeviceSynchronize());
    expect_all(&ways[3], "y", &s.y, 12);
    expect_usable(f, f->stream);
}

/* What fails in a pass beside a capture of the thread is none of the capture's. */
FIXTURE_TEST(test_a_failure_beside_a_capture)
{
    bg_capture *capture;
    SUBJECT(s, ignores_a_failure);
    OWNED_GRAPH(graph);
    EXPECT_OK(bg_capture_begin(&capture, f->other, NULL));
    failing = true;
    EXPECT_STATUS(bg_forward_run(forward, &s, f->stream, NULL), BG_ERROR_OP);
    failing = false;
    assert_int_equal(bg_current_phase(), BG_PHASE_CAPTURE);
    EXPECT_OK(BG_CALL(scale, f->other, .x = s.x, .y = s.y, .factor = 4));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_OK(bg_replay(graph, f->other));
    EXPECT_CUDA(cudaDeviceSynchronize());
    expect_all(&ways[3], "y", &s.y, 4);
}

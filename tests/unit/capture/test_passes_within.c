/* Passes inside of captures, captures and passes inside of passes, and what crosses between them. */
#include "tests/support/test.h"
#include "tests/support/runner/pool_support.h"
#include "tests/support/ops.h"

#include <stdlib.h>

/* Only the host device has it. */
void hostcuda_seed(unsigned long long seed);
#pragma weak hostcuda_seed

enum { SEEDS = 12, SLOW = 24 };

typedef struct subject {
    fixture *f;
    bg_runner *runner; /* NULL: bg_forward_run */
    bg_graph *graph;
    bg_capture *capture;
    cudaEvent_t in, out;
    bg_status nested;
} subject;

static subject *current;
static const bg_batch one_token = {.tokens = 1, .requests = 1, .max_query_len = 1};

static void close_subject(subject *s)
{
    bg_graph_destroy(s->graph);
    bg_runner_destroy(s->runner);
    destroy_owned_event(&s->in);
    destroy_owned_event(&s->out);
}
#define SUBJECT(name) __attribute__((cleanup(close_subject))) subject name = {.f = f}

/* z = 5 x, after `in`; `out` tells of it. */
PASS(inner, subject *s)
{
    if (s->in != NULL)
        TRY_BG(bg_stream_wait_event(stream, s->in));
    for (int i = 0; i < SLOW; i++)
        TRY_BG(from_cuda(bgk_fill(s->f->z.data, -1, N, stream)));
    TRY_BG(BG_CALL(scale, stream, .x = s->f->x, .y = s->f->z, .factor = 5));
    return s->out != NULL ? bg_event_record(s->out, stream) : BG_OK;
}

static bg_status inner_of_runner(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    (void)context;
    return inner(user, stream);
}

BG_EAGER_OP(runs_a_pass, BG_INOUT(z))
{
    (void)args;
    return current->runner != NULL ? bg_runner_run(current->runner, &one_token, NULL, NULL, NULL)
                                   : bg_forward_run(inner, current, stream, NULL);
}

/* y = 15 x: 3 z, z by the pass in the body. */
PASS(around, subject *s)
{
    TRY_BG(BG_CALL(scale, stream, .x = s->f->x, .y = s->f->y, .factor = 2));
    if (s->in != NULL)
        TRY_BG(bg_event_record(s->in, stream));
    TRY_BG(BG_CALL(runs_a_pass, stream, .z = s->f->z));
    if (s->out != NULL)
        TRY_BG(bg_stream_wait_event(stream, s->out));
    return BG_CALL(scale, stream, .x = s->f->z, .y = s->f->y, .factor = 3);
}

static void make_runner(subject *s)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    config.mode = BG_MODE_NONE;
    EXPECT_OK(bg_runner_create(&s->runner, &config, inner_of_runner, s, s->f->stream));
}

static void expect_replays(subject *s, const char *shadow)
{
    put(&s->f->x, 1);
    put(&s->f->y, 0);
    if (shadow != NULL)
        assert_int_equal(setenv("BG_SHADOW", shadow, 1), 0);
    s->graph = CAPTURED_BY(around, s, s->f->stream, NULL);
    assert_int_equal(unsetenv("BG_SHADOW"), 0);
    for (int i = 0; i < 3; i++)
        EXPECT_REPLAY(s->graph, s->f->stream, &s->f->y, 0, &s->f->y, 15);
}

/* An event of a segment is waited for in the pass of a body, one of that pass in the next segment. */
FIXTURE_TEST(test_events_of_a_pass_in_a_body)
{
    for (int how = 0; how < 8; how++) {
        SUBJECT(s);
        current = &s;
        if (how & 1)
            EXPECT_CUDA(cudaEventCreateWithFlags(&s.in, cudaEventDisableTiming));
        if (how & 2)
            EXPECT_CUDA(cudaEventCreateWithFlags(&s.out, cudaEventDisableTiming));
        if (how & 4)
            make_runner(&s);
        expect_replays(&s, NULL);
    }
}

/* The shadow of the outer pass has nothing to do with the calls of the inner one, which are gone with it. */
FIXTURE_TEST(test_passes_in_a_shadowed_pass)
{
    for (int how = 0; how < 4; how++) {
        SUBJECT(s);
        OWNED_REPORT(report);
        current = &s;
        if (how & 1)
            make_runner(&s);
        expect_replays(&s, how & 2 ? "calls" : "1");
        EXPECT_OK(bg_shadow(around, &s, f->stream, NULL, &report));
        assert_int_equal(bg_report_count(report), 0);
    }
}

/* ---- captures in a pass ---- */

PASS(captures, subject *s)
{
    scale_args bridged = {.x = s->f->x, .y = {.dtype = BG_F32, .rank = 1, .dim = {N}}, .factor = 2};
    bg_capture *capture;
    TRY_BG(BG_CALL(scale, stream, .x = s->f->x, .y = s->f->z, .factor = 7));
    TRY_BG(bg_capture_begin(&capture, s->f->other, NULL));
    TRY_BG(BG_CALL_ARGS(scale, s->f->other, &bridged));
    TRY_BG(bg_break(s->f->other));
    TRY_BG(BG_CALL(scale, s->f->other, .x = bridged.y, .y = s->f->y, .factor = 3));
    TRY_BG(bg_capture_end(capture, &s->graph));
    return BG_CALL(scale, stream, .x = s->f->z, .y = s->f->z, .factor = 2);
}

FIXTURE_TEST(test_a_capture_in_a_pass)
{
    SUBJECT(s);
    put(&f->x, 1);
    EXPECT_OK(bg_forward_run(captures, &s, f->stream, NULL));
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
    EXPECT_VALUE(&f->z, 14);
    assert_int_equal(info_of(s.graph).calls, 2);
    assert_int_equal(info_of(s.graph).bridge_bytes, N * sizeof(float));
    EXPECT_REPLAY(s.graph, f->other, &f->y, 0, &f->y, 6);
}

/* A lazy runner that captures its bucket in the pass. */
PASS(runs_a_lazy_runner, subject *s)
{
    (void)stream;
    return bg_runner_run(s->runner, &one_token, NULL, NULL, NULL);
}

FIXTURE_TEST(test_a_lazy_runner_in_a_pass)
{
    SUBJECT(s);
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    config.lazy = true;
    config.schedule = "1";
    put(&f->x, 1);
    EXPECT_OK(bg_runner_create(&s.runner, &config, inner_of_runner, &s, f->other));
    for (int i = 0; i < 3; i++) {
        put(&f->z, 0);
        EXPECT_OK(i == 0 ? bg_forward_run(runs_a_lazy_runner, &s, f->stream, NULL) : runs_a_lazy_runner(&s, f->stream));
        EXPECT_VALUE(&f->z, 5);
    }
}

PASS(leaves_a_capture, subject *s)
{
    TRY_BG(bg_stream_wait_stream(s->f->other, stream));
    TRY_BG(from_cuda(cudaStreamBeginCapture(s->f->other, cudaStreamCaptureModeRelaxed)));
    return s->nested == BG_OK ? BG_OK : bg_break(stream);
}

/* It would take the stream of the pass in, where that joins the fork. */
FIXTURE_TEST(test_a_capture_left_on_a_fork)
{
    subject s = {.f = f};
    for (int breaks = 0; breaks < 2; breaks++) {
        enum cudaStreamCaptureStatus capturing;
        OWNED_CUDA_GRAPH(left);
        s.nested = breaks ? BG_ERROR_BUSY : BG_OK;
        EXPECT_STATUS(bg_forward_run(leaves_a_capture, &s, f->stream, NULL),
                      breaks ? BG_ERROR_FOREIGN_CAPTURE : BG_ERROR_BUSY);
        EXPECT_CUDA(cudaStreamIsCapturing(f->stream, &capturing));
        assert_int_equal(capturing, cudaStreamCaptureStatusNone);
        EXPECT_CUDA(cudaStreamEndCapture(f->other, &left));
        expect_usable(s.f, f->stream);
    }
}

/* ---- beside a capture ---- */

PASS(destroys_an_event, subject *s)
{
    (void)stream;
    return bg_event_destroy(s->in);
}

PASS(waits_for_the_capture, const subject *s)
{
    return bg_stream_wait_event(stream, s->in);
}

BG_EAGER_OP(waits, BG_INOUT(z))
{
    (void)args;
    return bg_stream_wait_event(stream, current->in);
}

FIXTURE_TEST(test_events_beside_a_capture)
{
    SUBJECT(s);
    current = &s;
    put(&f->x, 1);
    EXPECT_CUDA(cudaEventCreateWithFlags(&s.in, cudaEventDisableTiming));
    EXPECT_OK(bg_capture_begin(&s.capture, f->other, NULL));
    EXPECT_OK(BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 4));
    EXPECT_OK(bg_event_record(s.in, f->other));
    EXPECT_STATUS(bg_forward_run(waits_for_the_capture, &s, f->stream, NULL), BG_ERROR_ISOLATION);
    EXPECT_ERROR("another capture of this thread");
    EXPECT_OK(BG_CALL(waits, f->other, .z = f->z));
    EXPECT_OK(bg_forward_run(destroys_an_event, &s, f->stream, NULL));
    EXPECT_OK(bg_capture_end(s.capture, &s.graph));
    s.in = NULL;
    EXPECT_CUDA(cudaEventCreateWithFlags(&s.in, cudaEventDisableTiming)); /* of which the body now hears */
    EXPECT_REPLAY(s.graph, f->other, &f->y, 0, &f->y, 4);
}

/* ---- threads ---- */

static bg_status reads_a_bridge(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const subject *s = user;
    scale_args bridged = {.x = s->f->x, .y = {.dtype = BG_F32, .rank = 1, .dim = {N}}, .factor = 2};
    (void)context;
    TRY_BG(BG_CALL_ARGS(scale, stream, &bridged));
    for (int i = 0; i < SLOW; i++)
        TRY_BG(from_cuda(bgk_scale(bridged.y.data, bridged.y.data, 1, N, stream)));
    return BG_CALL(scale, stream, .x = bridged.y, .y = s->f->y, .factor = 3);
}

PASS(writes_a_bridge, const subject *s)
{
    scale_args bridged = {.x = s->f->x, .y = {.dtype = BG_F32, .rank = 1, .dim = {N}}, .factor = 99};
    return BG_CALL_ARGS(scale, stream, &bridged);
}

static void *run_in_thread(void *user)
{
    subject *s = user;
    s->nested = bg_forward_run(writes_a_bridge, s, cudaStreamPerThread, OPTIONS(.pool = bg_runner_pool(s->runner)));
    if (s->nested == BG_OK)
        s->nested = from_cuda(cudaStreamSynchronize(cudaStreamPerThread));
    return NULL;
}

/* cudaStreamPerThread is another stream there, under the same name. */
FIXTURE_TEST(test_a_pool_goes_to_another_thread)
{
    put(&f->x, 1);
    for (int seed = 1; seed <= (hostcuda_seed != NULL ? SEEDS : 1); seed++) {
        SUBJECT(s);
        bg_runner_config config = BG_RUNNER_CONFIG_INIT;
        if (hostcuda_seed != NULL)
            hostcuda_seed((unsigned)seed);
        config.mode = BG_MODE_NONE;
        put(&f->y, 0);
        EXPECT_OK(bg_runner_create(&s.runner, &config, reads_a_bridge, &s, cudaStreamPerThread));
        EXPECT_OK(bg_runner_run(s.runner, &one_token, NULL, NULL, NULL));
        in_new_thread(run_in_thread, &s);
        assert_int_equal(s.nested, BG_OK);
        EXPECT_VALUE(&f->y, 6);
    }
    if (hostcuda_seed != NULL)
        hostcuda_seed(0);
}

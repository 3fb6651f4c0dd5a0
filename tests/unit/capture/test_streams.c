/* Streams forked from a capture, within a segment and across breaks. */
#include "tests/support/ops.h"

#include <stdlib.h>
#include <string.h>

static cudaStream_t body_stream;
BG_EAGER_OP(recorded_scale, BG_INOUT(x), BG_VALUE(float, factor))
{
    body_stream = stream;
    return from_cuda(bgk_scale(args->x.data, args->x.data, args->factor, N, stream));
}

static void expect_pass(fixture *f, bg_forward forward, const bg_tensor *result, float factor, int segments)
{
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, forward, f, f->stream, NULL);
    EXPECT_VALUE(result, factor);
    for (int i = 2; i < 5; i++)
        EXPECT_REPLAY(graph, i % 2 ? f->stream : cudaStreamPerThread, &f->x, (float)i, result, factor * (float)i);
    assert_int_equal(info_of(graph).segments, segments);
}

/* A test that is a pass, which makes z. */
#define PASS_TEST(name, factor, segments)                                                                              \
    static bg_status pass_of_##name(void *user, cudaStream_t stream);                                                  \
    FIXTURE_TEST(name)                                                                                                 \
    {                                                                                                                  \
        expect_pass(f, pass_of_##name, &f->z, factor, segments);                                                       \
    }                                                                                                                  \
    FIXTURE_PASS(pass_of_##name)

FIXTURE_PASS(fork_and_join)
{
    bg_stream_wait_stream(f->other, stream);
    BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 2);
    BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 3);
    bg_stream_wait_stream(stream, f->other);
    return BG_CALL(plus, stream, .x = f->y, .y = f->z, .z = f->z);
}

FIXTURE_TEST(test_fork_and_join)
{
    expect_pass(f, fork_and_join, &f->z, 5, 1);
    put(&f->x, 1);
    EXPECT_OK(fork_and_join(f, f->stream)); /* and outside a capture */
    EXPECT_VALUE(&f->z, 5);
}

/* A stream that is used again after a break, without a new fork: the break forked it. */
PASS_TEST(test_used_after_a_break, 210, 3)
{
    bg_stream_wait_stream(f->other, stream);
    BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 2);
    BG_CALL(recorded_scale, stream, .x = f->y, .factor = 5); /* the break joins it */
    BG_CALL(scale, f->other, .x = f->y, .y = f->z, .factor = 3);
    bg_break(stream);
    bg_break(stream); /* idle in between */
    BG_CALL(scale, f->other, .x = f->z, .y = f->z, .factor = 7);
    return bg_stream_wait_stream(stream, f->other);
}

/* A fork of a fork, joined through the first. */
FIXTURE_PASS(fork_of_a_fork)
{
    cudaStream_t third = cudaStreamPerThread;
    bg_stream_wait_stream(f->other, stream);
    bg_stream_wait_stream(third, f->other);
    BG_CALL(scale, third, .x = f->x, .y = f->y, .factor = 2);
    bg_stream_wait_stream(f->other, third);
    BG_CALL(scale, f->other, .x = f->y, .y = f->z, .factor = 4);
    return bg_stream_wait_stream(stream, f->other);
}

FIXTURE_TEST(test_fork_of_a_fork)
{
    put(&f->x, 3);
    CAPTURED_GRAPH(graph, fork_of_a_fork, f, f->stream, NULL);
    EXPECT_VALUE(&f->z, 24);
    EXPECT_REPLAY(graph, f->other, &f->x, 5, &f->z, 40);
}

/* An eager op called on a forked stream: its body gets the capture's stream, since a break joins all. */
FIXTURE_PASS(eager_on_a_fork)
{
    bg_stream_wait_stream(f->other, stream);
    BG_CALL(scale, f->other, .x = f->x, .y = f->z, .factor = 2);
    BG_CALL(recorded_scale, f->other, .x = f->z, .factor = 3);
    return BG_CALL(scale, stream, .x = f->z, .y = f->z, .factor = 4);
}

FIXTURE_TEST(test_eager_on_a_fork)
{
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, eager_on_a_fork, f, f->stream, NULL);
    assert_ptr_equal(body_stream, f->stream);
    EXPECT_VALUE(&f->z, 24);
    EXPECT_OK(bg_replay(graph, f->other));
    assert_ptr_equal(body_stream, f->other);
    EXPECT_VALUE(&f->z, 24);
}

FIXTURE_PASS(unjoined)
{
    bg_stream_wait_stream(f->other, stream);
    return BG_CALL(scale, f->other, .x = f->x, .y = f->z, .factor = 2);
}

FIXTURE_TEST(test_unjoined_at_the_end)
{
    EXPECT_NO_CAPTURE(unjoined, f, f->stream, NULL, BG_ERROR_UNJOINED_STREAM, "bg_stream_wait_stream");
    expect_usable(f, f->stream);
    expect_usable(f, f->other);
    put(&f->x, 4);
    CAPTURED_GRAPH(graph, unjoined, f, f->stream, OPTIONS(.join_at_end = true));
    EXPECT_VALUE(&f->z, 8);
}

/* The edges of so many nodes are listed otherwise (src/graph/edges.c). */
enum { LONG = 6000 };
static enum { UNJOINED, JOINED, RACING } ending;

static int count_findings(bg_graph *graph)
{
    OWNED_REPORT(report);
    EXPECT_OK(bg_check(graph, BG_CHECK_ALL, &report));
    return bg_report_count(report);
}

FIXTURE_PASS(long_segment)
{
    bg_stream_wait_stream(f->other, stream);
    for (int i = 0; i < LONG; i += 2) {
        BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
        BG_CALL(scale, f->other, .x = f->x, .y = f->z, .factor = 3);
    }
    if (ending == JOINED)
        bg_stream_wait_stream(stream, f->other);
    BG_CALL(scale, stream, .x = f->z, .y = f->z, .factor = 5);
    return ending == RACING ? bg_stream_wait_stream(stream, f->other) : BG_OK;
}

FIXTURE_TEST(test_a_long_segment)
{
    ending = UNJOINED;
    EXPECT_NO_CAPTURE(long_segment, f, f->stream, NULL, BG_ERROR_UNJOINED_STREAM,
                      "scale#5999"); /* the last on the other stream */
    for (ending = JOINED; ending <= RACING; ending++) {
        put(&f->x, 1);
        CAPTURED_GRAPH(graph, long_segment, f, f->stream, NULL);
        assert_int_equal(count_findings(graph) > 0, ending == RACING);
        if (ending == JOINED)
            EXPECT_VALUE(&f->z, 15);
    }
}

PASS_TEST(test_an_idle_fork_need_not_be_joined, 2, 1)
{
    bg_stream_wait_stream(f->other, stream);
    return BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 2);
}

FIXTURE_PASS(wait_for_outside)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 2);
    return bg_stream_wait_stream(stream, f->other);
}

FIXTURE_TEST(test_wait_for_work_outside)
{
    EXPECT_NO_CAPTURE(wait_for_outside, f, f->stream, NULL, BG_ERROR_ISOLATION, "test_streams.c", "outside it");
    expect_usable(f, f->stream);
}

/* Forked by bare CUDA calls: an op on it makes it known; without one, the break finds it. */
static bg_status bare_fork(fixture *f, cudaStream_t stream, bool with_op)
{
    OWNED_EVENT(event);
    TRY_BG(from_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)));
    TRY_BG(from_cuda(cudaEventRecord(event, stream)));
    TRY_BG(from_cuda(cudaStreamWaitEvent(f->other, event, 0)));
    TRY_BG(with_op ? BG_CALL(scale, f->other, .x = f->x, .y = f->z, .factor = 2)
                   : from_cuda(bgk_scale(f->z.data, f->x.data, 2, N, f->other)));
    return bg_break(stream);
}

FIXTURE_PASS(bare_fork_with_op)
{
    return bare_fork(f, stream, true);
}

FIXTURE_PASS(bare_fork_without_op)
{
    return bare_fork(f, stream, false);
}

FIXTURE_TEST(test_bare_forks)
{
    expect_pass(f, bare_fork_with_op, &f->z, 2, 1);
    EXPECT_NO_CAPTURE(bare_fork_without_op, f, f->stream, NULL, BG_ERROR_UNTRACKED_STREAM, "test_streams.c");
    expect_usable(f, f->stream);
    expect_usable(f, f->other);
}

FIXTURE_PASS(op_outside)
{
    BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 2); /* not captured: a plain call */
    return BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 3);
}

FIXTURE_TEST(test_an_op_on_a_stream_outside)
{
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, op_outside, f, f->stream, NULL);
    assert_int_equal(info_of(graph).calls, 1);
    EXPECT_VALUE(&f->y, 2);
}

/* What a library does that cannot be seen: it forks a stream of its own and joins it before it returns. Doubles x. */
static cudaEvent_t library_event;
static bg_status library(cudaStream_t own, const bg_tensor *x, cudaStream_t stream)
{
    TRY_BG(from_cuda(cudaEventRecord(library_event, stream)));
    TRY_BG(from_cuda(cudaStreamWaitEvent(own, library_event, 0)));
    TRY_BG(from_cuda(bgk_scale(x->data, x->data, 2, N, own)));
    TRY_BG(from_cuda(cudaEventRecord(library_event, own)));
    return from_cuda(cudaStreamWaitEvent(stream, library_event, 0));
}

static cudaStream_t library_stream;
BG_OP(library_op, BG_INOUT(x))
{
    return library(library_stream, &args->x, stream);
}

BG_EAGER_OP(library_eager, BG_INOUT(x))
{
    return library(library_stream, &args->x, stream);
}

FIXTURE_PASS(libraries)
{
    TRY_BG(BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 1));
    for (int i = 0; i < 3; i++) {
        TRY_BG(BG_CALL(library_op, stream, .x = f->y));
        TRY_BG(BG_CALL(library_eager, stream, .x = f->y));
        TRY_BG(library(library_stream, &f->y, stream));
        TRY_BG(bg_break(stream));
    }
    return BG_OK;
}

FIXTURE_TEST(test_libraries_that_fork)
{
    library_stream = f->other;
    EXPECT_CUDA(cudaEventCreateWithFlags(&library_event, cudaEventDisableTiming));
    expect_pass(f, libraries, &f->y, 512, 6);
    EXPECT_CUDA(cudaEventDestroy(library_event));
}

/* ---- more streams than can take part ---- */

enum { MOST_STREAMS = 256 };

typedef struct crowd {
    fixture *f;
    cudaStream_t streams[MOST_STREAMS]; /* beside the origin: one too many */
    int forks;
} crowd;

/* Forks and joins that many streams, across a break. */
PASS(fork_many, const crowd *c)
{
    for (int i = 0; i < c->forks; i++) {
        bg_stream_wait_stream(c->streams[i], stream);
        BG_CALL(scale, c->streams[i], .x = c->f->x, .y = c->f->y, .factor = 2);
        bg_stream_wait_stream(stream, c->streams[i]);
    }
    bg_break(stream);
    return BG_CALL(scale, stream, .x = c->f->y, .y = c->f->z, .factor = 3);
}

FIXTURE_TEST(test_too_many_streams)
{
    crowd c = {.f = f};

    for (int i = 0; i < MOST_STREAMS; i++)
        EXPECT_CUDA(cudaStreamCreateWithFlags(&c.streams[i], cudaStreamNonBlocking));
    c.forks = MOST_STREAMS;
    EXPECT_NO_CAPTURE(fork_many, &c, f->stream, NULL, BG_ERROR_UNSUPPORTED,
                      "the captures of this process already have 256 streams", "fork fewer streams", "test_streams.c");
    expect_usable(f, f->stream);
    for (int i = 0; i < MOST_STREAMS; i++)
        expect_usable(f, c.streams[i]);
    c.forks = MOST_STREAMS - 1;
    bg_graph *graph = CAPTURED_BY(fork_many, &c, f->stream, NULL);
    EXPECT_REPLAY(graph, f->other, &f->x, 1, &f->z, 6);
    bg_graph_destroy(graph);
    for (int i = 0; i < MOST_STREAMS; i++)
        EXPECT_CUDA(cudaStreamDestroy(c.streams[i]));
}

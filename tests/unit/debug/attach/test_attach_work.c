/* What comes behind what among the work of streams, against a model; what kernels do with memory, by their names. */
#include "debug/attach/stream_order/vector_clocks.h"
#include "debug/attach/stream_order/signature.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static void expect_touch(const char *name, int parameters, int index, bg__access_kind wanted)
{
    bg__access_kind found = bg__signature_access(name, parameters, index);
    if (found != wanted)
        fail_msg("%s: parameter %d of %d: %d, and not %d", name != NULL ? name : "no name", index, parameters,
                 (int)found, (int)wanted);
}

TEST(test_signatures)
{
    expect_touch("scale(float*, float const*, int)", 3, 0, BG__ACCESS_WRITE);
    expect_touch("scale(float*, float const*, int)", 3, 1, BG__ACCESS_READ);
    expect_touch("scale(float*, float const*, int)", 3, 2, BG__ACCESS_UNKNOWN);
    expect_touch("(anonymous namespace)::fill(float*, float, int)", 3, 0, BG__ACCESS_WRITE);
    expect_touch("void add<float, (int)4>(float*, float const*, unsigned int)", 3, 0, BG__ACCESS_WRITE);
    expect_touch("void add<float, (int)4>(float*, float const*, std::pair<int, float*>)", 3, 0, BG__ACCESS_UNKNOWN);
    expect_touch("void run<void (*)(int)>(void (*)(int), float*)", 2, 1, BG__ACCESS_UNKNOWN);
    expect_touch("copy(float const volatile*, float*)", 2, 0, BG__ACCESS_READ);
    expect_touch("copy(float const volatile*, float*)", 2, 1, BG__ACCESS_WRITE);
    expect_touch("wait(int volatile*, int)", 2, 0, BG__ACCESS_UNKNOWN);
    expect_touch("increase(int*)", 1, 0, BG__ACCESS_UNKNOWN);               /* it may write a variable */
    expect_touch("store(float*, unsigned long)", 2, 0, BG__ACCESS_UNKNOWN); /* which may be an address */
    expect_touch("void run<void (*)(int)>(void (*)(int), float*)", 2, 0, BG__ACCESS_UNKNOWN);
    expect_touch("two(float*, float*, float const*)", 3, 0, BG__ACCESS_UNKNOWN);
    expect_touch("two(float*, float*, float const*)", 3, 2, BG__ACCESS_READ);
    expect_touch("table(float const* const*, float**)", 2, 0, BG__ACCESS_READ);
    expect_touch("table(float const* const*, float**)", 2, 1, BG__ACCESS_UNKNOWN); /* it writes where those point to */
    expect_touch("table(float**, float*)", 2, 1, BG__ACCESS_UNKNOWN);
    expect_touch("scale(float*, float const*, int)", 4, 0, BG__ACCESS_UNKNOWN);
    expect_touch("scale", 3, 0, BG__ACCESS_UNKNOWN);
    expect_touch("nothing()", 0, 0, BG__ACCESS_UNKNOWN);
    expect_touch("nothing()", 1, 0, BG__ACCESS_UNKNOWN);
    expect_touch(")", 1, 0, BG__ACCESS_UNKNOWN);
    expect_touch("(", 1, 0, BG__ACCESS_UNKNOWN);
    expect_touch("broken(float*", 1, 0, BG__ACCESS_UNKNOWN);
    expect_touch("", 1, 0, BG__ACCESS_UNKNOWN);
    expect_touch(NULL, 1, 0, BG__ACCESS_UNKNOWN);
}

enum { STREAMS = 5, BLOCKING = 2, EVENTS = 4, STEPS = 400, HOST = STREAMS, KNOWERS = STREAMS + 1, PROGRAMS = 60 };

/* Who knows of which work that it is over before what comes next: streams, and the host. */
typedef struct model {
    bool knows[KNOWERS][STEPS];
    bool at_event[EVENTS][STEPS];
    bg__epoch work[STEPS];
    int stream_of[STEPS], count;
    cudaStream_t streams[STREAMS]; /* the first is the legacy one, then come blocking ones */
    cudaEvent_t events[EVENTS];
} model;

static void learn(bool *one, const bool *other)
{
    for (int i = 0; i < STEPS; i++)
        one[i] = one[i] || other[i];
}

/* What a stream's next work waits for by itself. */
static void order(model *m, int stream)
{
    learn(m->knows[stream], m->knows[HOST]);
    for (int i = 0; i <= BLOCKING; i++)
        if (stream <= BLOCKING && (stream == 0 || i == 0))
            learn(m->knows[stream], m->knows[i]);
}

static void launch(model *m, int stream)
{
    order(m, stream);
    assert_true(bg__clocks_add_work(m->streams[stream], &m->work[m->count]));
    m->knows[stream][m->count] = true;
    m->stream_of[m->count] = stream;
    m->count++;
}

static void compare(const model *m, int program)
{
    const int now = m->count - 1, stream = m->stream_of[now];
    for (int i = 0; i < m->count; i++) {
        if (bg__clocks_is_ordered_after(m->work[now], m->work[i]) != m->knows[stream][i])
            fail_msg("program %d: work %d is%s behind %d", program, now, m->knows[stream][i] ? "" : " not", i);
        assert_int_equal(bg__clocks_host_knows(m->work[i]), m->knows[HOST][i]);
    }
}

static void step(model *m)
{
    const int stream = rand() % STREAMS, event = rand() % EVENTS;
    switch (rand() % 16) {
    case 0:
    case 1:
    case 2:
        order(m, stream);
        memcpy(m->at_event[event], m->knows[stream], sizeof m->at_event[event]);
        bg__clocks_record_event(m->events[event], m->streams[stream]);
        break;
    case 3:
    case 4:
    case 5: /* taken for work, which the legacy stream orders: less is told, and nothing wrong */
        order(m, stream);
        learn(m->knows[stream], m->at_event[event]);
        bg__clocks_stream_waits_event(m->streams[stream], m->events[event]);
        break;
    case 6:
        order(m, stream);
        learn(m->knows[HOST], m->knows[stream]);
        bg__clocks_host_waits_stream(m->streams[stream]);
        break;
    case 7:
        learn(m->knows[HOST], m->at_event[event]);
        bg__clocks_host_waits_event(m->events[event]);
        break;
    default: launch(m, stream);
    }
}

/* Events are recorded before anything, as else a wait for one counts as a wait for everything. */
static void run_program(model *m, int program)
{
    memset(m->knows, 0, sizeof m->knows);
    memset(m->at_event, 0, sizeof m->at_event);
    m->count = 0;
    bg__clocks_host_waits_all();
    for (int i = 0; i < EVENTS; i++)
        bg__clocks_record_event(m->events[i], m->streams[0]);
    while (m->count < STEPS) {
        int before = m->count;
        step(m);
        if (m->count > before)
            compare(m, program);
    }
}

TEST(test_waiting)
{
    static const char *const such[] = {
        "wait(int const volatile*, int)",
        "set(float*, unsigned int volatile*)",
        "set(cuda::__4::atomic<int, (cuda::std::__4::thread_scope)1>*)",
        "set(float*, cuda::std::__4::atomic_ref<int>)",
    };
    static const char *const others[] = {
        "wait(int const*, int)",
        "read(int volatile* const*)",
        "cuda::atomic<int>::get(int*)",
        "run<int volatile*>(int*)",
        "set(cuda::__4::atomic<int>)",
        "set",
        "(",
        "",
        NULL,
    };
    for (size_t i = 0; i < sizeof such / sizeof *such; i++)
        if (!bg__signature_may_wait(such[i]))
            fail_msg("%s may wait for other kernels", such[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (bg__signature_may_wait(others[i]))
            fail_msg("%s does not wait for other kernels", others[i] != NULL ? others[i] : "no name");
}

TEST(test_clocks)
{
    static model m;

    m.streams[0] = NULL;
    for (int i = 1; i < STREAMS; i++)
        EXPECT_CUDA(
            cudaStreamCreateWithFlags(&m.streams[i], i <= BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking));
    for (int i = 0; i < EVENTS; i++)
        EXPECT_CUDA(cudaEventCreateWithFlags(&m.events[i], cudaEventDisableTiming));
    print_message("seed 11\n");
    srand(11);
    for (int program = 0; program < PROGRAMS; program++)
        run_program(&m, program);
    for (int i = 1; i < STREAMS; i++)
        EXPECT_CUDA(cudaStreamDestroy(m.streams[i]));
    for (int i = 0; i < EVENTS; i++)
        EXPECT_CUDA(cudaEventDestroy(m.events[i]));
}

/* An event that nobody has seen, and a stream that waits for memory, are behind everything. */
TEST(test_unknown)
{
    bg__epoch one, other, later;
    cudaStream_t streams[3];
    int event;

    for (int i = 0; i < 3; i++)
        EXPECT_CUDA(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    assert_true(bg__clocks_add_work(streams[0], &one));
    assert_true(bg__clocks_add_work(streams[1], &other));
    assert_false(bg__clocks_is_ordered_after(other, one));
    bg__clocks_stream_waits_event(streams[1], (CUevent)(void *)&event);
    assert_true(bg__clocks_add_work(streams[1], &other));
    assert_true(bg__clocks_is_ordered_after(other, one));
    assert_true(bg__clocks_add_work(streams[0], &one));
    bg__clocks_stream_waits_all(streams[1]);
    assert_true(bg__clocks_add_work(streams[1], &other));
    assert_true(bg__clocks_is_ordered_after(other, one));
    assert_true(bg__clocks_add_work(streams[0], &one));
    bg__clocks_stream_waits_event(streams[2], (CUevent)(void *)&event); /* now the third knows of it */
    bg__vector_clock at = bg__clocks_of_stream(streams[2]);
    assert_true(bg__clocks_add_work(streams[0], &later));
    bg__clocks_stream_waits_clock(streams[1], &at);
    assert_true(bg__clocks_add_work(streams[1], &other));
    assert_true(bg__clocks_is_ordered_after(other, one));
    assert_false(bg__clocks_is_ordered_after(other, later));
    for (int i = 0; i < 3; i++)
        EXPECT_CUDA(cudaStreamDestroy(streams[i]));
}

/* Beyond some number of streams, nothing is said any more. Comes last. */
TEST(test_many_streams)
{
    bg__epoch work;
    cudaStream_t streams[80];
    bool all = true;

    for (int i = 0; i < 80; i++) {
        EXPECT_CUDA(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        all = bg__clocks_add_work(streams[i], &work) && all;
    }
    assert_false(all);
    assert_false(bg__clocks_add_work(streams[0], &work));
    for (int i = 0; i < 80; i++)
        EXPECT_CUDA(cudaStreamDestroy(streams[i]));
}

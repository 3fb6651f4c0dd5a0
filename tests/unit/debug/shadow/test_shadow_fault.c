/* Shadow: who is at fault, and who is not. Branches on side streams, calls without an order, ops with a state. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"
#include "tests/support/ops.h"

#include <breakgraph/shadow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hostcuda/hostcuda.h>

#pragma weak hostcuda_seed
#pragma weak hostcuda_fail

enum { SEEDS = 31 };

BG_EAGER_OP(shift, BG_IN(x), BG_OUT(y), BG_VALUE(float, step))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->step, N, stream));
}

typedef struct model {
    fixture *f;
    int passes, line;
    float then;  /* put into x between the capture and the replay; 0: nothing is */
    bool clears; /* y and z, on the default stream, which the others do not wait for */
} model;

static void set_seed(int seed)
{
    if (hostcuda_seed != NULL)
        hostcuda_seed((uint64_t)seed);
}

/* What that BG_SHADOW says of replays of a new graph of forward, whose user is m. */
static const char *shadow_in(model *m, const char *mode, bg_forward forward, int replays)
{
    OWN_GRAPH(graph, capture_under("BG_SHADOW", mode, forward, m, m->f->stream, NULL));
    if (m->then != 0)
        put(&m->f->x, m->then);
    if (m->clears)
        EXPECT_CUDA(cudaMemset(m->f->memory + N, 0, 2 * N * sizeof(float)));
    return replays_say(graph, m->f->stream, replays);
}

static const char *shadow(model *m, bg_forward forward)
{
    return shadow_in(m, "calls", forward, 1);
}

/* Each finding of text, but those of the kind mismatch, which says only which value is wrong, is of call. */
static void expect_only(const char *text, const char *call, int seed)
{
    char here[80];
    int found = 0;
    snprintf(here, sizeof here, "] %s at ", call);
    for (const char *at = strstr(text, "fault ["); at != NULL; at = strstr(at + 1, "fault [")) {
        const char *end = strchr(at, ']');
        assert_non_null(end);
        if (strncmp(at, "fault [mismatch] ", strlen("fault [mismatch] ")) == 0)
            continue;
        if (strncmp(end, here, strlen(here)) != 0)
            fail_msg("seed %d blames a call other than %s:\n%s", seed, call, text);
        found++;
    }
    if (found == 0)
        fail_msg("seed %d blames no call:\n%s", seed, text);
}

static void expect_no_blame(const char *text, int seed)
{
    if (strstr(text, "[mismatch-origin]") != NULL || strstr(text, "[nondeterministic]") != NULL)
        fail_msg("seed %d blames a call:\n%s", seed, text);
}

/* ---- branches ---- */

static bg_status fork_and_join(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;

    TRY_BG(bg_stream_wait_stream(f->other, stream));
    TRY_BG(BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 2));
    TRY_BG(BG_CALL(scale, f->other, .x = f->y, .y = f->y, .factor = 3));
    TRY_BG(CALL_AT(m->line, scale, stream, .x = f->x, .y = f->z, .factor = (float)++m->passes));
    TRY_BG(bg_stream_wait_stream(stream, f->other));
    return BG_CALL(sum, stream, .x = f->y, .y = f->z);
}

FIXTURE_TEST(test_branches)
{
    for (int seed = 0; seed < SEEDS; seed++) {
        model m = {.f = f};
        set_seed(seed);
        put_all(f, 3, 7, 11);
        expect_only(shadow(&m, fork_and_join), "scale#2", seed);
    }
    set_seed(0);
}

/* ---- calls without an order ---- */

static bg_status miss_a_join(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;

    TRY_BG(bg_stream_wait_stream(f->other, stream));
    TRY_BG(BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2));
    TRY_BG(BG_CALL(scale, f->other, .x = f->y, .y = f->z, .factor = 3));
    TRY_BG(bg_stream_wait_stream(stream, f->other));
    return BG_CALL(scale, stream, .x = f->z, .y = f->x, .factor = 0.5f);
}

/* Whether the replay happens to differ or not; a call behind the two is never named. */
FIXTURE_TEST(test_race)
{
    int faults = 0;

    for (int seed = 0; seed < SEEDS; seed++) {
        model m = {.f = f};
        set_seed(seed);
        put_all(f, 3, 7, 11);
        const char *text = shadow(&m, miss_a_join);
        if (strstr(text, "[race] scale#1 at ") == NULL)
            fail_msg("seed %d: no race is named:\n%s", seed, text);
        expect_no_blame(text, seed);
        faults += strstr(text, "fault [race] scale#1 at ") != NULL;
    }
    if (hostcuda_seed != NULL)
        assert_in_range(faults, 1, SEEDS);
    set_seed(0);
}

BG_EAGER_OP(prefetch, BG_IN(x), BG_OUT(y), BG_VALUE(cudaStream_t, side), BG_VALUE(cudaEvent_t, event),
            BG_VALUE(bool, joins))
{
    TRY_BG(from_cuda(cudaEventRecord(args->event, stream)));
    TRY_BG(from_cuda(cudaStreamWaitEvent(args->side, args->event, 0)));
    for (int i = 0; i < 4; i++) /* takes a while */
        TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, args->side)));
    if (args->joins) {
        TRY_BG(from_cuda(cudaEventRecord(args->event, args->side)));
        TRY_BG(from_cuda(cudaStreamWaitEvent(stream, args->event, 0)));
    }
    return BG_OK;
}

typedef struct prefetching {
    model m;
    cudaEvent_t event;
    bool joins;
} prefetching;

static bg_status prefetch_and_read(void *user, cudaStream_t stream)
{
    const prefetching *p = user;
    const fixture *f = p->m.f;
    TRY_BG(BG_CALL(prefetch, stream, .x = f->x, .y = f->y, .side = f->other, .event = p->event, .joins = p->joins));
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 3);
}

/* The reader of what is not there yet is not blamed; the op that did not join is, in most orders. */
FIXTURE_TEST(test_break_that_does_not_join)
{
    prefetching p = {.m.f = f};
    int named = 0;

    EXPECT_CUDA(cudaEventCreateWithFlags(&p.event, cudaEventDisableTiming));
    for (int k = 0; k < 2; k++)
        for (int seed = 0; seed < SEEDS; seed++) {
            p.joins = k == 1;
            p.m.then = 5;
            set_seed(seed);
            put_all(f, 3, 7, 11);
            const char *text = shadow(&p.m, prefetch_and_read);
            EXPECT_CUDA(cudaDeviceSynchronize());
            if (p.joins)
                assert_string_equal(text, "");
            expect_no_blame(text, seed);
            named += strstr(text, "fault [race] prefetch#0 at ") != NULL;
        }
    if (hostcuda_seed != NULL)
        assert_in_range(named, SEEDS / 4, SEEDS);
    EXPECT_CUDA(cudaEventDestroy(p.event));
    set_seed(0);
}

/* ---- ops with a state ---- */

static int runs; /* of the body of count, in host memory: no run of the pass begins as another */

BG_EAGER_OP(count, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, (float)++runs, N, stream));
}

static bg_status count_and_scale(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;

    TRY_BG(BG_CALL(count, stream, .x = f->x, .y = f->y));
    TRY_BG(BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 2));
    TRY_BG(CALL_AT(m->line, scale, stream, .x = f->x, .y = f->z, .factor = m->passes < 0 ? 1 : (float)++m->passes));
    return BG_CALL(sum, stream, .x = f->y, .y = f->z);
}

/* What differs in each run by itself is no fault of the graph, nor are its readers. */
FIXTURE_TEST(test_state_of_an_eager_op)
{
    static const char *const modes[] = {"1", "calls"};
    for (int k = 0; k < 2; k++) {
        model m = {.f = f, .passes = -1};
        bg_report *report = NULL;

        put(&f->x, 3);
        const char *text = shadow_in(&m, modes[k], count_and_scale, 3);
        EXPECT_IN(text, "note [not-repeatable] count#0 at ");
        EXPECT_NOT_IN(text, "fault [|warning [");
        EXPECT_NOT_IN(strstr(text, "[not-repeatable]") + 1, "note [");
        EXPECT_OK(bg_shadow(count_and_scale, &m, m.f->stream, NULL, &report));
        EXPECT_FINDING(report, "not-repeatable", "count#0", 0, "differs between two eager runs");
    }
}

FIXTURE_TEST(test_state_beside_a_fault)
{
    model m = {.f = f};
    put(&f->x, 3);
    const char *text = shadow(&m, count_and_scale);
    expect_only(text, "scale#1", 0);
    EXPECT_IN(text, "note [mismatch] sum#0 at |note [not-repeatable] count#0 at ");
    EXPECT_NOT_IN(text, "] scale#0 at ");
}

static bg_status count_by_value(void *user, cudaStream_t stream)
{
    model *m = user;
    return BG_CALL(shift, stream, .x = m->f->x, .y = m->f->y, .step = (float)++m->passes);
}

/* A break whose arguments the capture froze is at fault: they differ between the eager runs. */
FIXTURE_TEST(test_frozen_argument_of_an_eager_op)
{
    model m = {.f = f};
    put(&f->x, 3);
    expect_only(shadow(&m, count_by_value), "shift#0", 0);
}

/* As a generator whose state lies in device memory that no call names: adds x to the state, which is in z. */
BG_OP(draw, BG_IN(x), BG_OUT(y), BG_VALUE(float *, state))
{
    TRY_BG(from_cuda(bgk_add(args->state, args->state, args->x.data, N, stream)));
    return from_cuda(bgk_scale(args->y.data, args->state, 1, N, stream));
}

static bg_status draw_and_scale(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;
    TRY_BG(BG_CALL(draw, stream, .x = f->x, .y = f->y, .state = f->z.data));
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 2);
}

/* It differs from replay to replay as well: nothing is frozen. */
FIXTURE_TEST(test_state_of_a_captured_op)
{
    model m = {.f = f};
    put(&f->x, 3);
    const char *text = shadow(&m, draw_and_scale);
    EXPECT_IN(text, "note [nondeterministic] draw#0 at ");
    EXPECT_NOT_IN(text, "fault [|[mismatch-origin]");
}

/* ---- what has nothing to do with each other ---- */

/* scale#0 reads what work outside op calls changes; scale#1 has a frozen argument. */
static bg_status fill_and_scale(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;

    m->passes++;
    TRY_BG(from_cuda(cudaMemsetAsync(f->z.data, 0x40 + m->passes, N * sizeof(float), stream)));
    TRY_BG(BG_CALL(scale, stream, .x = f->z, .y = f->y, .factor = 1));
    return BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = (float)m->passes);
}

FIXTURE_TEST(test_two_faults)
{
    model m = {.f = f};
    put(&f->x, 3);
    const char *text = shadow(&m, fill_and_scale);
    EXPECT_IN(text, "fault [frozen-value] scale#1 at |fault [mismatch] scale#0 at ");
    EXPECT_NOT_IN(text, "because of|[nondeterministic]");
}

static bg_status count_apart(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;

    TRY_BG(BG_CALL(count, stream, .x = f->x, .y = f->y));
    TRY_BG(BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 2));
    return BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = (float)++m->passes);
}

/* An output that varies in each run is not put down to a fault that does not lead to it. */
FIXTURE_TEST(test_state_apart_from_a_fault)
{
    model m = {.f = f};
    put(&f->x, 3);
    const char *text = shadow(&m, count_apart);
    expect_only(text, "scale#1", 0);
    EXPECT_NOT_IN(text, "[mismatch]");
}

/* ---- host functions ---- */

static float *staged; /* N floats in host memory */

static void CUDART_CB add_one(void *user)
{
    float *list = user;
    for (int i = 0; i < N; i++)
        list[i] += 1;
}

BG_OP(advance, BG_IN(x))
{
    (void)args;
    return from_cuda(cudaLaunchHostFunc(stream, add_one, staged));
}

BG_OP(upload, BG_OUT(y))
{
    return from_cuda(cudaMemcpyAsync(args->y.data, staged, N * sizeof(float), cudaMemcpyHostToDevice, stream));
}

static bg_status advance_and_upload(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;

    TRY_BG(BG_CALL(advance, stream, .x = f->x));
    return BG_CALL(upload, stream, .y = f->y);
}

/* The reader of what a host function changes in each run is innocent, as that of what a break changes. */
FIXTURE_TEST(test_state_of_a_host_function)
{
    model m = {.f = f};

    EXPECT_CUDA(cudaMallocHost((void **)&staged, N * sizeof(float)));
    memset(staged, 0, N * sizeof(float));
    const char *text = shadow(&m, advance_and_upload);
    EXPECT_NOT_IN(text, "fault [");
    EXPECT_IN(text, "note [nondeterministic] upload#0 at |advance#0");
    EXPECT_CUDA(cudaFreeHost(staged));
}

/* ---- around the replay ---- */

static bg_status scale_twice(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;

    TRY_BG(BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2));
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 3);
}

/* Work of the program that no stream of the pass waits for is not put down to a call. */
FIXTURE_TEST(test_work_on_the_default_stream)
{
    for (int seed = 0; seed < SEEDS; seed++) {
        model m = {.f = f, .clears = true};
        set_seed(seed);
        put(&f->x, 3);
        const char *text = shadow(&m, scale_twice);
        if (text[0] != '\0')
            fail_msg("seed %d:\n%s", seed, text);
        EXPECT_CUDA(cudaDeviceSynchronize());
    }
    set_seed(0);
}

/* The program's own captures go on. */
FIXTURE_TEST(test_open_captures)
{
    static const unsigned flags[] = {cudaStreamNonBlocking, cudaStreamDefault};
    for (int k = 0; k < 2; k++) {
        model m = {.f = f};
        OWNED_STREAM(stream);
        OWNED_CUDA_GRAPH(captured);

        put(&f->x, 3);
        EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, flags[k]));
        OWN_GRAPH(graph, capture_under("BG_SHADOW", "calls", scale_twice, &m, f->stream, NULL));
        EXPECT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_CUDA(cudaStreamEndCapture(stream, &captured));
        assert_true(get(&f->z) == 18);
    }
}

/* That no times can be taken is no failure of the replay. */
FIXTURE_TEST(test_no_times)
{
    static const struct {
        const char *fault, *said; /* the walk makes two events and times two nodes, and then the replay is timed */
    } cases[] = {{"cudaEventCreate@1=cudaErrorUnknown", "there are no times of the nodes"},
                 {"cudaEventCreate@2=cudaErrorUnknown", "there are no times of the nodes"},
                 {"cudaEventCreate@3=cudaErrorUnknown", "could not be timed"},
                 {"cudaEventCreate@5=cudaErrorUnknown", "could not be timed"},
                 {"cudaEventElapsedTime@1=cudaErrorUnknown", "could not be compared"},
                 {"cudaEventElapsedTime@3=cudaErrorUnknown", "could not be timed"}};
    if (hostcuda_fail == NULL) {
        print_message("skipped: calls fail on request on the host device only\n");
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        model m = {.f = f};

        put_all(f, 3, 0, 0);
        OWN_GRAPH(graph, capture_under("BG_SHADOW", "calls", scale_twice, &m, f->stream, NULL));
        assert_int_equal(hostcuda_fail(cases[i].fault), 0);
        EXPECT_IN(replays_say(graph, f->stream, 1), cases[i].said);
        assert_int_equal(hostcuda_fail(NULL), 0);
        assert_true(get(&f->z) == 18);
    }
}

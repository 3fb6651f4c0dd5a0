/* BG_SHADOW: every replay beside the pass itself, and what the program sees of it. Ops beside their references. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"
#include "tests/support/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hostcuda/hostcuda.h>

#pragma weak hostcuda_seed
#pragma weak hostcuda_count_live

enum { SEEDS = 20 };

/* The result in memory of its own. */
BG_EAGER_OP(move, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    TRY_BG(bg_scratch(args, N * sizeof(float), &args->y.data));
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

static bg_status scale_reference(void *user, cudaStream_t stream)
{
    const scale_args *args = user;
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor * 2, N, stream));
}

static bg_status sum_reference(void *user, cudaStream_t stream)
{
    const sum_args *args = user;
    return from_cuda(bgk_add(args->y.data, args->y.data, args->x.data, N, stream));
}

typedef struct model {
    fixture *f;
    float factor; /* that forward gives by value */
    bool fails;   /* where it runs again */
    bool allocates;
    int passes, line;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;
    void *temporary = NULL;

    if (m->passes++ > 0 && m->fails)
        return BG_ERROR_OP;
    if (m->allocates)
        TRY_BG(from_cuda(cudaMallocAsync(&temporary, N * sizeof(float), stream)));
    TRY_BG(CALL_AT(m->line, scale, stream, .x = f->x, .y = f->y, .factor = m->factor));
    if (m->allocates) {
        TRY_BG(BG_CALL(scale, stream, .x = f->y, .y = bg_tensor_1d(temporary, BG_F32, N), .factor = 1));
        TRY_BG(from_cuda(cudaFreeAsync(temporary, stream)));
    }
    TRY_BG(BG_CALL(move, stream, .x = f->y, .y = f->y, .factor = 2));
    return BG_CALL(sum, stream, .x = f->y, .y = f->z);
}

/* ---- what a program sees ---- */

static bg_graph *capture(model *m, const char *shadow)
{
    m->passes = 0;
    bg_graph *graph = capture_under("BG_SHADOW", shadow, forward, m, m->f->stream, NULL);
    assert_int_equal(m->passes, 1);
    return graph;
}

static const char *const modes[] = {"0", "1", "calls"};
enum { MODES = sizeof modes / sizeof *modes, FIRST_SHADOW = 1 };

/* z += 2 * factor * x, at capture and in each replay: what the program finds is one replay's, not what the shadow did.
 */
FIXTURE_TEST(test_state_is_kept)
{
    for (int k = 0; k < MODES; k++) {
        model m = {.f = f, .factor = 2};
        put_all(f, 3, 0, 0);
        OWN_GRAPH(graph, capture(&m, modes[k]));
        for (int i = 1; i <= 4; i++) {
            assert_string_equal(replays_say(graph, f->stream, 1), "");
            assert_true(get(&f->z) == 12 * (float)(i + 1));
        }
        assert_int_equal(m.passes, k == 0 ? 1 : 5);
        assert_int_equal(info_of(graph).replays, 4);
    }
}

static bg_status count_in_no_op(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    TRY_BG(from_cuda(bgk_add(f->z.data, f->z.data, f->x.data, N, stream)));
    return BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
}

/* A tensor that no op call has, but options.state of the capture. */
FIXTURE_TEST(test_options_state)
{
    OWNED_GRAPH(graph);
    put(&f->x, 3);
    { /* the list is gone before the replays */
        const bg_tensor kept[] = {f->z};
        graph = capture_under("BG_SHADOW", "calls", count_in_no_op, f, f->stream,
                              UNLAUNCHED_OPTIONS(.state = kept, .state_count = 1));
    }
    for (int i = 1; i <= 3; i++) {
        EXPECT_OK(bg_replay(graph, f->stream));
        assert_true(get(&f->z) == 3 * (float)i);
    }
}

typedef struct releasing {
    fixture *f;
    bg_pool *pool;
} releasing;

/* The block is dead when the pass ends: scratch of the pass that runs eagerly lies in its place, none of the replay's.
 */
static bg_status release_a_block(void *user, cudaStream_t stream)
{
    const releasing *p = user;
    bg_tensor block = p->f->x;
    TRY_BG(bg_pool_alloc(p->pool, N * sizeof(float), &block.data));
    TRY_BG(BG_CALL(scale, stream, .x = p->f->x, .y = block, .factor = 5));
    bg_pool_release(p->pool, block.data);
    return BG_CALL(move, stream, .x = p->f->x, .y = p->f->y, .factor = 2);
}

FIXTURE_TEST(test_released_blocks_are_nobodys)
{
    releasing p = {.f = f};

    EXPECT_OK(bg_pool_create(&p.pool, NULL));
    put(&f->x, 3);
    for (int k = FIRST_SHADOW; k < MODES; k++) {
        OWN_GRAPH(graph, capture_under("BG_SHADOW", modes[k], release_a_block, &p, f->stream,
                                       UNLAUNCHED_OPTIONS(.pool = p.pool)));
        assert_string_equal(replays_say(graph, f->stream, 1), "");
        assert_true(get(&f->y) == 6);
    }
    bg_pool_destroy(p.pool);
}

BG_EAGER_OP(count, BG_IN(x), BG_INOUT(y))
{
    return from_cuda(bgk_add(args->y.data, args->y.data, args->x.data, N, stream));
}

static bg_status count_alone(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    return BG_CALL(count, stream, .x = f->x, .y = f->y);
}

/* What a replay is told to write elsewhere is written once, too; it differs from what the pass does, which is no fault.
 */
FIXTURE_TEST(test_changed_arguments)
{
    for (int k = FIRST_SHADOW; k < MODES; k++) {
        put_all(f, 3, 0, 0);
        OWN_GRAPH(graph, capture_under("BG_SHADOW", modes[k], count_alone, f, f->stream, NULL));
        EXPECT_OK(bg_replay(graph, f->stream));
        count_args *args = bg_graph_args(graph, "count#0", sizeof *args);
        assert_non_null(args);
        args->y = f->z;
        const char *text = replays_say(graph, f->stream, 2);
        EXPECT_IN(text, "note [unstable-pointer] count#0");
        EXPECT_NOT_IN(text, "fault ");
        assert_true(get(&f->y) == 6 && get(&f->z) == 6);
    }
}

/* What forward gives by value now, and gave at capture. */
FIXTURE_TEST(test_frozen)
{
    model m = {.f = f, .factor = 2};

    put(&f->x, 3);
    OWN_GRAPH(graph, capture(&m, "1"));
    m.factor = 5;
    put(&f->z, 0);
    const char *text = replays_say(graph, f->stream, 2);
    assert_true(get(&f->z) == 24); /* the replays' results */
    EXPECT_IN(text, "fault [frozen-value] scale#0|factor is 2 in the graph, 5 in the|note [mismatch] sum#0");
    EXPECT_NOT_IN(strstr(text, "fault") + 1, "fault");                                 /* the cause alone */
    EXPECT_NOT_IN(strstr(text, "note [mismatch] sum#0") + 1, "note [mismatch] sum#0"); /* once */
}

/* A tolerance of the environment's, for the op that is at fault. */
FIXTURE_TEST(test_tolerance)
{
    model m = {.f = f, .factor = 2};

    put(&f->x, 3);
    set_variable("BG_TOLERANCE", "f32:rel=0.01; move:ulp=0");
    OWN_GRAPH(graph, capture(&m, "1"));
    set_variable("BG_TOLERANCE", NULL);
    m.factor = 2.01f;
    assert_string_equal(replays_say(graph, f->stream, 1), "");
    m.factor = 2.1f;
    EXPECT_IN(replays_say(graph, f->stream, 1), "[frozen-value] scale#0");
}

/* A segment that cannot be taken apart is compared where it ends. */
FIXTURE_TEST(test_memory_nodes)
{
    model m = {.f = f, .factor = 2, .allocates = true};

    put_all(f, 3, 0, 0);
    OWN_GRAPH(graph, capture(&m, "calls"));
    assert_string_equal(replays_say(graph, f->stream, 1), "");
    assert_true(get(&f->z) == 24);
    m.factor = 4;
    EXPECT_IN(replays_say(graph, f->stream, 1), "[frozen-value] scale#0");
    assert_true(get(&f->z) == 36);
}

/* A pass that cannot run again is told of, and the replay is as good as any. */
FIXTURE_TEST(test_failing_pass)
{
    model m = {.f = f, .factor = 2, .fails = true};

    put_all(f, 3, 0, 0);
    OWN_GRAPH(graph, capture(&m, "1"));
    EXPECT_IN(replays_say(graph, f->stream, 1), "could not be compared with the pass");
    assert_true(get(&f->z) == 24);
    expect_usable(f, f->stream);
}

/* While someone captures in the mode that forbids what waits and allocates in any thread. */
FIXTURE_TEST(test_beside_a_capture)
{
    for (int k = FIRST_SHADOW; k < MODES; k++) {
        model m = {.f = f, .factor = 2};
        OWNED_CUDA_GRAPH(captured);

        put_all(f, 3, 0, 0);
        OWN_GRAPH(graph, capture(&m, modes[k]));
        EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeGlobal));
        assert_string_equal(replays_say(graph, f->stream, 1), "");
        EXPECT_CUDA(cudaStreamEndCapture(f->other, &captured));
        assert_true(get(&f->z) == 24);
        assert_int_equal(m.passes, 2);
    }
}

static bg_status fork_alone(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    TRY_BG(bg_stream_wait_stream(f->other, stream));
    TRY_BG(BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 2));
    TRY_BG(BG_CALL(scale, f->other, .x = f->y, .y = f->y, .factor = 2));
    return BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 3);
}

/* Nothing is wrong; it may be noted what cannot be seen. */
static void shadow_rightly(fixture *f, bg_forward pass, float y, float z, const char *note)
{
    bool noted = note[0] == '\0';
    put(&f->x, 3);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        hostcuda_seed(seed);
        OWN_GRAPH(graph, capture_under("BG_SHADOW", seed % 2 == 0 ? "1" : "calls", pass, f, f->stream,
                                       OPTIONS(.join_at_end = true)));
        const char *text = replays_say(graph, f->stream, 1);
        noted |= text[0] != '\0';
        EXPECT_NOT_IN(text, "fault [");
        EXPECT_NOT_IN(text, "warning [");
        if (text[0] != '\0')
            EXPECT_IN(text, note);
        assert_true(get(&f->y) == y && get(&f->z) == z);
    }
    assert_true(noted);
    hostcuda_seed(0);
}

static void shadow_silently(fixture *f, bg_forward pass, float y, float z)
{
    shadow_rightly(f, pass, y, z, "");
}

/* Plain work on a fork that nothing joins but the break. */
static bg_status join_by_a_break(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    TRY_BG(bg_stream_wait_stream(f->other, stream));
    for (int i = 1; i <= 20; i++)
        TRY_BG(from_cuda(bgk_fill(f->y.data, (float)i, N, f->other)));
    TRY_BG(bg_break(stream));
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 3);
}

/* What an eager call leaves on a stream of its own is there where a later segment waits for its event. */
static struct {
    cudaStream_t stream;
    cudaEvent_t event;
} beside;

BG_EAGER_OP(scale_beside, BG_IN(x), BG_OUT(y))
{
    TRY_BG(bg_stream_wait_stream(beside.stream, stream));
    for (int i = 1; i <= 20; i++)
        TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, (float)i, N, beside.stream)));
    return bg_event_record(beside.event, beside.stream);
}

static bg_status join_by_an_event(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    TRY_BG(BG_CALL(scale_beside, stream, .x = f->x, .y = f->y));
    TRY_BG(bg_stream_wait_event(stream, beside.event));
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 2);
}

/* The body of a later break waits for it: the tool cannot see that. */
BG_EAGER_OP(scale_behind, BG_IN(x), BG_OUT(y))
{
    EXPECT_CUDA(cudaStreamWaitEvent(stream, beside.event, 0));
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

static bg_status join_in_a_body(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    TRY_BG(BG_CALL(scale_beside, stream, .x = f->x, .y = f->y));
    return BG_CALL(scale_behind, stream, .x = f->y, .y = f->z);
}

/* What the end of the capture joins, or a break, the eager pass joins, too. */
FIXTURE_TEST(test_joins)
{
    if (hostcuda_seed == NULL) {
        print_message("skipped: only the host device has schedules by seed\n");
        skip();
    }
    shadow_silently(f, fork_alone, 12, 9);
    shadow_silently(f, join_by_a_break, 20, 60);
    EXPECT_CUDA(cudaStreamCreateWithFlags(&beside.stream, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaEventCreateWithFlags(&beside.event, cudaEventDisableTiming));
    shadow_silently(f, join_by_an_event, 60, 120);
    shadow_rightly(f, join_in_a_body, 60, 120, "note [race] scale_beside#0 at |this is wrong unless");
    EXPECT_CUDA(cudaEventDestroy(beside.event));
    EXPECT_CUDA(cudaStreamDestroy(beside.stream));
}

FIXTURE_TEST(test_bad_values)
{
    static const char *const tolerances[] = {"rel",
                                             "rel=",
                                             "rel=-1",
                                             "abs=x",
                                             "f32=1",
                                             ":abs=1",
                                             "!scale:abs=1",
                                             "sca le:ulp=1",
                                             "ulp=1.5",
                                             "rel=nan",
                                             "rel=1e-3;;f99:q=1",
                                             "rel=.nan",
                                             "abs=1e400",
                                             "abs=0x1",
                                             "rel=1e3e3",
                                             "abs=.",
                                             "ulp=99999999999999999999"};
    model m = {.f = f, .factor = 2};
    bg_report *report = NULL;

    for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++) {
        EXPECT_STATUS(bg_shadow(forward, &m, f->stream, COMPARE_WITH(.tolerances = tolerances[i]), &report),
                      BG_ERROR_INVALID_ARGUMENT);
        EXPECT_ERROR("options.tolerances");
        assert_null(report);
        EXPECT_STATUS(bg_tolerances_check(tolerances[i]), BG_ERROR_INVALID_ARGUMENT);
        EXPECT_ERROR("tolerances: ");
    }
    EXPECT_STATUS(bg_tolerances_check(NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_OK(bg_tolerances_check(""));
    EXPECT_OK(bg_tolerances_check(" ; f32 : rel=1e-3 , abs=.5 ;; scale#0:ulp=3;"));
    EXPECT_OK(bg_shadow(forward, &m, f->stream,
                        COMPARE_WITH(.tolerances = " ; f32 : rel=1e-3 , abs=.5 ;; scale#0:ulp=3;"), &report));
    bg_report_destroy(report);
    expect_usable(m.f, m.f->stream);
}

/* ---- references ---- */

FIXTURE_TEST(test_references)
{
    model m = {.f = f, .factor = 2};
    bg_report *report = NULL;

    put(&m.f->x, 3);
    put(&m.f->z, 1);
    EXPECT_OK(bg_op_set_attributes("sum", ATTRIBUTES(.reference = sum_reference)));
    EXPECT_OK(bg_shadow(forward, &m, m.f->stream, NULL, &report));
    EXPECT_NO_FINDING(report);
    EXPECT_OK(bg_op_set_attributes("scale", ATTRIBUTES(.reference = scale_reference)));
    EXPECT_OK(bg_shadow(forward, &m, m.f->stream, NULL, &report));
    EXPECT_OK(bg_op_set_attributes("scale", NULL));
    EXPECT_OK(bg_op_set_attributes("sum", NULL));
    EXPECT_FINDING(report, "differs-from-reference", "scale#0", m.line, "64 of 64 elements (f32) differ");
    assert_true(get(&m.f->x) == 3 && get(&m.f->z) == 1);
}

static bg_status failing_reference(void *user, cudaStream_t stream)
{
    (void)user;
    (void)stream;
    return BG_ERROR_UNSUPPORTED;
}

FIXTURE_TEST(test_failing_reference)
{
    model m = {.f = f, .factor = 2};
    bg_report *report = NULL;

    put(&m.f->z, 1);
    EXPECT_OK(bg_op_set_attributes("scale", ATTRIBUTES(.reference = failing_reference)));
    EXPECT_STATUS(bg_shadow(forward, &m, m.f->stream, NULL, &report), BG_ERROR_UNSUPPORTED);
    EXPECT_ERROR("the reference of scale, for call scale#0");
    EXPECT_OK(bg_op_set_attributes("scale", NULL));
    assert_null(report);
    assert_true(get(&m.f->z) == 1);
    expect_usable(m.f, m.f->stream);
}

BG_OP(around, BG_IN(x), BG_OUT(y))
{
    return BG_CALL(scale, stream, .x = args->x, .y = args->y, .factor = 2);
}

static bg_status around_reference(void *user, cudaStream_t stream)
{
    const around_args *args = user;
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

static bg_status around_alone(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    return BG_CALL(around, stream, .x = f->x, .y = f->y);
}

/* Inside a call that has one, too: nothing of it stays from replay to replay. */
FIXTURE_TEST(test_failing_inner_reference)
{
    size_t blocks = 0;

    if (hostcuda_count_live == NULL) {
        print_message("skipped: only the host device counts what a program holds\n");
        skip();
    }
    EXPECT_OK(bg_op_set_attributes("around", ATTRIBUTES(.reference = around_reference)));
    EXPECT_OK(bg_op_set_attributes("scale", ATTRIBUTES(.reference = failing_reference)));
    OWN_GRAPH(graph, capture_under("BG_SHADOW", "calls", around_alone, f, f->stream, NULL));
    FILE *errors = keep_errors();
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(bg_replay(graph, f->stream));
        blocks = i == 0 ? hostcuda_count_live().blocks : blocks;
    }
    EXPECT_IN(errors_said(errors), "the reference of scale");
    assert_int_equal(hostcuda_count_live().blocks, blocks);
    EXPECT_OK(bg_op_set_attributes("scale", NULL));
    EXPECT_OK(bg_op_set_attributes("around", NULL));
}

/* An op that says nothing of what it writes. */
BG_OP(silent, BG_IN(x), BG_VALUE(bg_tensor, y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

static bg_status silent_alone(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    return BG_CALL(silent, stream, .x = f->x, .y = f->y);
}

/* Why nothing is compared is said once a graph. */
FIXTURE_TEST(test_no_outputs)
{
    FILE *errors = keep_errors();
    OWN_GRAPH(graph, capture_under("BG_SHADOW", "calls", silent_alone, f, f->stream, NULL));
    for (int i = 0; i < 2; i++)
        EXPECT_OK(bg_replay(graph, f->stream));
    const char *said = errors_said(errors), *first = strstr(said, "no op call has an output (BG_OUT, BG_INOUT)");
    assert_non_null(first);
    assert_null(strstr(first + 1, "no op call has an output"));
}

/* A malformed variable fails the beginning of a capture, before the pass runs and anything is written. */
FIXTURE_TEST(test_bad_environment)
{
    static const struct {
        const char *shadow, *tolerance, *named;
    } cases[] = {{"2", "", "BG_SHADOW"}, {"1", "rel", "BG_TOLERANCE"}, {"calls", "f32=1", "BG_TOLERANCE"}};
    model m = {.f = f, .factor = 2};

    put(&m.f->z, 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bg_graph *graph = NULL;
        bg_capture *begun = NULL;
        set_variable("BG_SHADOW", cases[i].shadow);
        set_variable("BG_TOLERANCE", cases[i].tolerance);
        EXPECT_STATUS(bg_capture_forward(&graph, forward, &m, m.f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
        EXPECT_ERROR(cases[i].named);
        assert_null(graph);
        EXPECT_STATUS(bg_capture_begin(&begun, m.f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
        EXPECT_ERROR(cases[i].named);
        assert_null(begun);
        set_variable("BG_SHADOW", NULL);
        set_variable("BG_TOLERANCE", NULL);
    }
    assert_int_equal(m.passes, 0);
    assert_true(get(&m.f->z) == 7);
    expect_usable(m.f, m.f->stream);
}

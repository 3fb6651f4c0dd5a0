/* Shadow: passes whose replay computes something else than the pass itself, each beside a clean twin. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"
#include "tests/support/ops.h"

#include <breakgraph/shadow.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hostcuda/hostcuda.h>

#pragma weak hostcuda_seed
#pragma weak hostcuda_fail
#pragma weak hostcuda_faults

enum { SEEDS = 20 };

BG_EAGER_OP(shift, BG_IN(x), BG_OUT(y))
{
    if (args->y.data == NULL) {
        args->y = bg_tensor_1d(NULL, BG_F32, N);
        TRY_BG(bg_scratch(args, N * sizeof(float), &args->y.data));
    }
    return from_cuda(bgk_scale(args->y.data, args->x.data, 5, N, stream));
}

/* As many rows as that. */
BG_OP(fill, BG_OUT(y), BG_VALUE(int, rows))
{
    size_t bytes = (size_t)args->rows * sizeof(float);
    bg_status status = bg_scratch(args, bytes, &args->y.data);
    args->y = bg_tensor_1d(args->y.data, BG_F32, args->rows);
    return status != BG_OK ? status : from_cuda(cudaMemsetAsync(args->y.data, 0, bytes, stream));
}

enum { FROZEN, CANCELS, EAGER, STATE, VARIES };

typedef struct model {
    fixture *f;
    int kind;
    bool clean;
    int passes; /* so far */
    float step; /* by which a value changes from pass to pass */
    int line;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;
    float drift = m->clean ? 0 : m->step * (float)m->passes;
    shift_args shifted = {.x = f->y, .y = {.dtype = BG_F32}};

    m->passes++;
    TRY_BG(BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2));
    switch (m->kind) {
    case FROZEN:
    case VARIES: TRY_BG(CALL_AT(m->line, scale, stream, .x = f->y, .y = f->z, .factor = 1 + drift)); break;
    case CANCELS: /* (1 + d) and (1 - d) of the same, added up */
        TRY_BG(CALL_AT(m->line, scale, stream, .x = f->x, .y = f->y, .factor = 1 + drift));
        TRY_BG(BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 1 - drift));
        TRY_BG(BG_CALL(sum, stream, .x = f->y, .y = f->z));
        return BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 0);
    case EAGER:
        TRY_BG(BG_CALL_ARGS(shift, stream, &shifted));
        TRY_BG(BG_CALL(scale, stream, .x = shifted.y, .y = f->z, .factor = 2));
        break;
    case STATE: /* a count that is no op's */
        TRY_BG(from_cuda(bgk_add(f->z.data, f->z.data, f->x.data, N, stream)));
        TRY_BG(BG_CALL(scale, stream, .x = f->z, .y = f->y, .factor = 3));
        return BG_OK;
    default: break;
    }
    return BG_CALL(sum, stream, .x = f->y, .y = f->z);
}

static bg_report *shadow_of(bg_forward pass, model *m, const bg_compare_options *options)
{
    bg_report *report = NULL;
    m->passes = 0;
    put_all(m->f, 3, 7, 11);
    EXPECT_OK(bg_shadow(pass, m, m->f->stream, options, &report));
    EXPECT_ALL(m->f, 3, 7, 11);
    return report;
}

static bg_report *shadow(model *m, const bg_compare_options *options)
{
    return shadow_of(forward, m, options);
}

/* A value that is frozen, by that call, and what comes of it, with the words. */
#define EXPECT_FROZEN(m, report, call, text)                                                                           \
    EXPECT_FINDINGS(report, FINDING("frozen-value", call, (m).line), FINDING("mismatch", .words = text))

FIXTURE_TEST(test_clean)
{
    for (int kind = FROZEN; kind <= EAGER; kind++) {
        model m = {.f = f, .kind = kind, .clean = true, .step = 1};
        EXPECT_NO_FINDING(shadow(&m, NULL));
        assert_int_equal(m.passes, 2);
    }
}

FIXTURE_TEST(test_frozen)
{
    model m = {.f = f, .kind = FROZEN, .step = 1};
    bg_report *report = shadow(&m, NULL);
    EXPECT_FROZEN(m, report, "scale#1",
                  "y of sum#0 differs from the eager pass, because of scale#1: 64 of 64 elements (f32) differ");
}

/* Gone again in the output: both calls are named, since each gets the inputs that the eager pass gave it. */
FIXTURE_TEST(test_cancels)
{
    model m = {.f = f, .kind = CANCELS, .step = 0.25f};
    bg_report *report = shadow(&m, NULL);
    EXPECT_FINDINGS(report,
                    FINDING("frozen-value", "scale#1", m.line, "factor is 1.25 in the graph, 1 in the eager pass"),
                    FINDING("frozen-value", "scale#2", m.line + 1, "factor is 0.75 in the graph, 1 in the eager pass"));
}

/* One step of the format is let pass by a tolerance of one. */
FIXTURE_TEST(test_tolerance)
{
    model m = {.f = f, .kind = FROZEN, .step = 0x1p-23f};
    bg_report *report = shadow(&m, COMPARE_WITH(.outputs = NULL));
    EXPECT_FINDINGS(report, FINDING("frozen-value", "scale#1", m.line, "; largest error "), FINDING("mismatch"));
    EXPECT_NO_FINDING(shadow(&m, COMPARE_WITH(.tolerance = {.ulp = 4})));
    EXPECT_NO_FINDING(shadow(&m, COMPARE_WITH(.tolerance = {0, 1e-6, 0})));
    report = shadow(&m, COMPARE_WITH(.tolerance = {1e-30, 0, 0}));
    EXPECT_FINDINGS(report, FINDING("frozen-value", "scale#1", m.line), FINDING("mismatch"));
}

FIXTURE_TEST(test_nan)
{
    model m = {.f = f, .kind = FROZEN, .step = INFINITY};
    bg_report *report = shadow(&m, COMPARE_WITH(.tolerance = {1e30, 1e30, 1 << 20}));
    EXPECT_FROZEN(m, report, "scale#1", "elements only one of the two values is finite");
}

/* What no op call has is put back where it is told of. */
FIXTURE_TEST(test_state)
{
    model m = {.f = f, .kind = STATE, .clean = true};
    EXPECT_NO_FINDING(shadow(&m, COMPARE_WITH(.outputs = &f->y, .outputs_count = 1, .state = &f->z, .state_count = 1)));
}

/* A pass that is nondeterministic. */
FIXTURE_TEST(test_varies)
{
    model m = {.f = f, .kind = VARIES, .step = 1};
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;
    options.repeats = 2;
    bg_report *report = shadow(&m, &options);
    EXPECT_FINDINGS(report, FINDING("frozen-value", "scale#1", m.line), FINDING("mismatch"),
                    FINDING("not-repeatable", .words = "between two eager runs from the same"));
}

/* Half of what is asked for, perhaps elsewhere. */
BG_EAGER_OP(half, BG_IN(x), BG_OUT(y), BG_VALUE(bool, elsewhere))
{
    bg_status status = args->elsewhere ? bg_scratch(args, N / 2 * sizeof(float), &args->y.data) : BG_OK;
    args->y.dim[0] = N / 2;
    return status != BG_OK ? status : from_cuda(bgk_scale(args->y.data, args->x.data, 2, N / 2, stream));
}

static bg_status halve(void *user, cudaStream_t stream)
{
    model *m = user;
    TRY_BG(BG_CALL(scale, stream, .x = m->f->x, .y = m->f->y, .factor = 3));
    TRY_BG(BG_CALL(half, stream, .x = m->f->x, .y = m->f->y, .elsewhere = m->clean));
    return BG_CALL(scale, stream, .x = m->f->y, .y = m->f->z, .factor = 2);
}

/* The body may leave fewer rows than the caller asked for. */
FIXTURE_TEST(test_shorter)
{
    EXPECT_OK(bg_op_set_attributes("half", ATTRIBUTES(.allow_fewer_rows = true)));
    for (int k = 0; k < 2; k++) {
        model m = {.f = f, .clean = k == 0};
        EXPECT_NO_FINDING(shadow_of(halve, &m, NULL));
    }
    EXPECT_OK(bg_op_set_attributes("half", NULL));
}

/* The result in memory of its own. */
BG_EAGER_OP(move, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    TRY_BG(bg_scratch(args, N * sizeof(float), &args->y.data));
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

static bg_status freeze_and_move(void *user, cudaStream_t stream)
{
    model *m = user;
    TRY_BG(CALL_AT(m->line, move, stream, .x = m->f->x, .y = m->f->y, .factor = (float)++m->passes));
    return BG_CALL(scale, stream, .x = m->f->y, .y = m->f->z, .factor = 2);
}

/* What comes after a call that is at fault is not, wherever that one left its output. */
FIXTURE_TEST(test_left_elsewhere)
{
    model m = {.f = f};
    bg_report *report = shadow_of(freeze_and_move, &m, NULL);
    EXPECT_FINDINGS(report, FINDING("frozen-value", "move#0", m.line), FINDING("mismatch"));
}

static bg_status branch(void *user, cudaStream_t stream)
{
    model *m = user;
    TRY_BG(BG_CALL(scale, stream, .x = m->f->x, .y = m->f->y, .factor = 2));
    m->line = __LINE__ + 1;
    return m->passes++ == m->kind ? BG_CALL(scale, stream, .x = m->f->y, .y = m->f->z, .factor = 2) : BG_OK;
}

/* A call that the eager pass alone makes, or the capture: no other output tells of it. */
FIXTURE_TEST(test_lone_call)
{
    for (int kind = 0; kind < 2; kind++) {
        model m = {.f = f, .kind = kind};
        bg_report *report = shadow_of(branch, &m, NULL);
        EXPECT_FINDING(report, "frozen-control-flow", "scale#1", m.line,
                       kind == 0 ? "only in the eager pass" : "only in the capture");
    }
}

static bg_status grow(void *user, cudaStream_t stream)
{
    model *m = user;
    return CALL_AT(m->line, fill, stream, .y = {.dtype = BG_F32}, .rows = ++m->passes * N);
}

/* An output that is larger in the next eager run. */
FIXTURE_TEST(test_grows)
{
    model m = {.f = f};
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;

    options.repeats = 2;
    bg_report *report = shadow_of(grow, &m, &options);
    EXPECT_FINDINGS(report, FINDING("frozen-value", "fill#0", m.line),
                    FINDING("not-repeatable", .words = "another shape or dtype in the second of two eager runs"));
}

static bg_status refuse(void *user, cudaStream_t stream)
{
    (void)user;
    (void)stream;
    return BG_ERROR_OP;
}

static bg_status fail_eagerly(void *user, cudaStream_t stream)
{
    model *m = user;
    bg_status status = forward(m, stream);
    return m->passes == 1 ? BG_ERROR_OP : status;
}

FIXTURE_TEST(test_errors)
{
    model m = {.f = f, .kind = FROZEN, .clean = true};
    const bg_tensor bad = {.dtype = BG_F32, .rank = 1, .dim = {4}};
    bg_compare_options refused[] = {*COMPARE_WITH(.tolerance = {.absolute = -1}),
                                    *COMPARE_WITH(.tolerance = {.absolute = NAN}), *COMPARE_WITH(.outputs = NULL),
                                    *COMPARE_WITH(.outputs_count = 1),
                                    *COMPARE_WITH(.outputs = &bad, .outputs_count = 1)};
    bg_report *report;

    refused[2].repeats = -1;
    EXPECT_STATUS(bg_shadow(forward, &m, f->stream, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_shadow(NULL, &m, f->stream, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_shadow(forward, &m, NULL, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        EXPECT_STATUS(bg_shadow(forward, &m, f->stream, &refused[i], &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("options.outputs[0]");
    EXPECT_STATUS(bg_shadow(refuse, &m, f->stream, NULL, &report), BG_ERROR_OP);
    assert_null(report);
    m.passes = 0;
    put_all(f, 3, 7, 11);
    EXPECT_STATUS(bg_shadow(fail_eagerly, &m, f->stream, NULL, &report), BG_ERROR_OP);
    EXPECT_ERROR("bg_shadow, the pass run eagerly");
    assert_null(report);
    EXPECT_ALL(f, 3, 7, 11);
    expect_usable(f, f->stream);
}

static bg_status fail_after_a_fork(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    TRY_BG(bg_stream_wait_stream(f->other, stream));
    TRY_BG(BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 2));
    TRY_BG(BG_CALL(scale, f->other, .x = f->y, .y = f->y, .factor = 2));
    return BG_ERROR_OP;
}

/* What a pass that fails has left on another stream is done before its outputs are put back. */
FIXTURE_TEST(test_fails_after_a_fork)
{
    bg_report *report;

    if (hostcuda_seed == NULL) {
        print_message("skipped: only the host device has schedules by seed\n");
        skip();
    }
    put(&f->x, 3);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        put(&f->y, 7);
        hostcuda_seed(seed);
        EXPECT_STATUS(bg_shadow(fail_after_a_fork, f, f->stream, NULL, &report), BG_ERROR_OP);
        assert_true(get(&f->y) == 7);
    }
    hostcuda_seed(0);
}

/* Whichever exchange of capture modes fails: all is put back. */
FIXTURE_TEST(test_put_back_after_a_failure)
{
    model m = {.f = f, .kind = FROZEN, .clean = true};
    char fault[80];
    size_t failed = 0;

    if (hostcuda_fail == NULL) {
        print_message("skipped: calls fail on request on the host device only\n");
        skip();
    }
    put_all(f, 3, 7, 11);
    for (int nth = 1; nth == 1 || failed > 0; nth++) {
        bg_report *report = NULL;
        snprintf(fault, sizeof fault, "cudaThreadExchangeStreamCaptureMode@%d=cudaErrorUnknown", nth);
        assert_int_equal(hostcuda_fail(fault), 0);
        (void)bg_shadow(forward, &m, m.f->stream, NULL, &report);
        failed = hostcuda_faults();
        assert_int_equal(hostcuda_fail(NULL), 0);
        bg_report_destroy(report);
        (void)cudaGetLastError();
        EXPECT_ALL(f, 3, 7, 11);
    }
}

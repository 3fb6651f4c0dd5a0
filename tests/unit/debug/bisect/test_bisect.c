/* Bisect: passes whose captured calls compute something else than eager ones, in every way that the search tells apart.
 */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 37, FAULTS_MAX = 3 };

typedef struct model {
    fixture *f;
    int calls;              /* of turn */
    int faulty[FAULTS_MAX]; /* numbers of calls, from 0; -1: none */
    bool inner;             /* the fault is in the op inside */
    bool shy;               /* a fault hides while the next one is eager */
    int passes, bodies;
    int varies;   /* a call whose result changes from run to run; -1: none */
    bool always;  /* also in eager runs */
    bool frozen;  /* a value changes from pass to pass */
    bool outside; /* work outside op calls does */
    int first_line;
} model;

static model *current;

static bg_status captured(cudaStream_t stream, bool *is)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    bg_status result = from_cuda(cudaStreamIsCapturing(stream, &status));
    *is = status != cudaStreamCaptureStatusNone;
    return result;
}

static bool is_faulty(int number)
{
    for (int i = 0; i < FAULTS_MAX; i++)
        if (current->faulty[i] == number)
            return true;
    return false;
}

BG_OP(inner, BG_INOUT(x), BG_VALUE(float, factor), BG_VALUE(int, number))
{
    bool is;
    TRY_BG(captured(stream, &is));
    float factor = args->factor;
    if (is && current->inner && is_faulty(args->number))
        factor *= 1 + (float)(args->number + 1) / 64;
    return from_cuda(bgk_scale(args->x.data, args->x.data, factor, N, stream));
}

BG_OP(turn, BG_INOUT(x), BG_VALUE(float, factor), BG_VALUE(int, number))
{
    bool is;
    float factor = args->factor;
    current->bodies++;
    TRY_BG(captured(stream, &is));
    if (is && !current->inner && is_faulty(args->number))
        factor *= 1 + (float)(args->number + 1) / 64;
    if (current->varies == args->number && (current->always || !is))
        factor *= 1 + (float)current->bodies / 64;
    TRY_BG(from_cuda(bgk_scale(args->x.data, args->x.data, factor, N, stream)));
    return BG_CALL(inner, stream, .x = args->x, .factor = 1, .number = args->number);
}

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;

    current = m;
    m->passes++;
    for (int i = 0; i < m->calls; i++)
        TRY_BG(CALL_AT(m->first_line, turn, stream, .x = m->f->x, .factor = i % 2 ? 0.5f : 2, .number = i));
    if (m->frozen)
        TRY_BG(BG_CALL(inner, stream, .x = m->f->x, .factor = (float)m->passes, .number = m->calls));
    return m->outside ? from_cuda(bgk_scale(m->f->x.data, m->f->x.data, (float)m->passes, N, stream)) : BG_OK;
}

static bg_report *bisect_pass(bg_forward pass, model *m, const bg_compare_options *options)
{
    bg_report *report = NULL;
    put(&m->f->x, 3);
    m->passes = m->bodies = 0;
    EXPECT_OK(bg_bisect(pass, m, m->f->stream, options, &report));
    assert_true(get(&m->f->x) == 3);
    return report;
}

static bg_report *bisect(model *m, const bg_compare_options *options)
{
    return bisect_pass(forward, m, options);
}

static model no_fault(fixture *f)
{
    return (model){.f = f, .calls = CALLS, .faulty = {-1, -1, -1}, .varies = -1};
}

/* The calls of turn of these numbers are culprits, up to -1 or FAULTS_MAX of them, or those inside. */
static void expect_culprits(const model *m, bg_report *report)
{
    char names[FAULTS_MAX][32];
    expected list[FAULTS_MAX];
    size_t count = 0;

    for (; count < FAULTS_MAX && m->faulty[count] >= 0; count++) {
        snprintf(names[count], sizeof *names, m->inner ? "turn#%d/inner#0" : "turn#%d", m->faulty[count]);
        list[count] = (expected)FINDING("culprit", names[count], m->inner ? 0 : m->first_line,
                                        "; confirmed: it remains with all other calls eager");
    }
    expect_findings(report, list, count * sizeof *list, __FILE__, __LINE__);
}

static void set_faulty(model *m, const int faulty[FAULTS_MAX])
{
    memcpy(m->faulty, faulty, sizeof m->faulty);
}

/* log2(CALLS), rounded up. */
enum { LOG2_CALLS = 6 };

FIXTURE_TEST(test_single)
{
    for (int i = 0; i < CALLS; i++) {
        model m = no_fault(f);
        m.faulty[0] = i;
        expect_culprits(&m, bisect(&m, NULL));
        if (m.passes > LOG2_CALLS + 8)
            fail_msg("turn#%d took %d passes", i, m.passes);
    }
}

/* All passes count: the eager ones, those that are captured, and the confirmation. */
FIXTURE_TEST(test_many_calls)
{
    enum { MANY = 1000, LOG2_MANY = 11 }; /* each with one inside */
    static const int sets[][FAULTS_MAX] = {{0, -1, -1}, {MANY / 2, -1, -1}, {MANY - 1, -1, -1}, {3, MANY - 2, -1}};

    for (size_t k = 0; k < 2 * (sizeof sets / sizeof *sets); k++) {
        model m = no_fault(f);
        m.calls = MANY;
        m.inner = k % 2 == 1;
        set_faulty(&m, sets[k / 2]);
        expect_culprits(&m, bisect(&m, NULL));
        if (m.passes > 2 * LOG2_MANY + 10)
            fail_msg("set %zu took %d passes", k, m.passes);
    }
}

FIXTURE_TEST(test_sets)
{
    static const int sets[][FAULTS_MAX] = {{0, 1, -1}, {3, 36, -1}, {5, 6, 7}, {0, 18, 36}};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        model m = no_fault(f);
        set_faulty(&m, sets[k]);
        expect_culprits(&m, bisect(&m, NULL));
    }
}

/* The op inside is named, not the one around it. */
FIXTURE_TEST(test_inner)
{
    model m = no_fault(f);
    m.faulty[0] = 20;
    m.inner = true;
    expect_culprits(&m, bisect(&m, NULL));
}

FIXTURE_TEST(test_no_difference)
{
    model m = no_fault(f);
    EXPECT_NO_FINDING(bisect(&m, NULL));
    assert_int_equal(m.passes, 3);
}

/* What is let pass is no mismatch. */
FIXTURE_TEST(test_tolerance)
{
    model m = no_fault(f);
    m.faulty[0] = 0;
    EXPECT_NO_FINDING(bisect(&m, COMPARE_WITH(.tolerances = "f32:rel=0.02")));
    expect_culprits(&m, bisect(&m, COMPARE_WITH(.tolerances = "f32:rel=0.02; turn:rel=0.01")));
    EXPECT_STATUS(bg_bisect(forward, &m, f->stream, COMPARE_WITH(.tolerances = "rel=2%"), &(bg_report *){NULL}),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("rel=2%");
}

FIXTURE_TEST(test_nondeterministic)
{
    model m = no_fault(f);
    m.varies = 11;
    m.always = true;
    m.faulty[0] = 30;
    EXPECT_FINDING(bisect(&m, NULL), "nondeterministic", "turn#11", 0, "the eager pass is nondeterministic");
}

FIXTURE_TEST(test_outside)
{
    model m = no_fault(f);
    m.outside = true;
    m.frozen = false;
    EXPECT_FINDING(bisect(&m, NULL), "nondeterministic", "", 0, "but no op call differs");
}

static bg_status forward_branching(void *user, cudaStream_t stream)
{
    model *m = user;
    bool is;
    TRY_BG(captured(stream, &is));
    TRY_BG(forward(user, stream));
    return from_cuda(bgk_scale(m->f->x.data, m->f->x.data, is ? 3 : 2, N, stream));
}

/* A kernel that no op holds: it is in a segment also when all ops are eager. */
FIXTURE_TEST(test_between_ops)
{
    model m = no_fault(f);
    EXPECT_FINDING(bisect_pass(forward_branching, &m, COMPARE_WITH(.outputs = &f->x, .outputs_count = 1)),
                   "outside-of-ops", "", 0, "even with all 74 op calls eager");
}

/* BG_BREAKABLE=0 and patterns of the program's do not keep the search from making calls eager. */
FIXTURE_TEST(test_overrides)
{
    model m = no_fault(f);
    m.faulty[0] = 9;
    set_variable("BG_BREAKABLE", "0");
    expect_culprits(&m, bisect(&m, NULL));
    set_variable("BG_BREAKABLE", NULL);
    EXPECT_OK(bg_override_eager("!*"));
    expect_culprits(&m, bisect(&m, NULL));
    EXPECT_OK(bg_override_eager(NULL));
}

/* Three calls that a break may not come between: sets with some of them eager tell nothing, and the culprits before and
 * after them are found. */
static bg_status forward_fragile(void *user, cudaStream_t stream)
{
    model *m = user;
    cudaEvent_t event = NULL;

    current = m;
    m->passes++;
    bg_status status = from_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 0; i < 8 && status == BG_OK; i++) {
        if (i == 2)
            status = from_cuda(cudaEventRecord(event, stream));
        if (i == 5 && status == BG_OK)
            status = from_cuda(cudaStreamWaitEvent(stream, event, 0));
        if (status == BG_OK)
            status = BG_CALL(turn, stream, .x = m->f->x, .factor = i % 2 ? 0.5f : 2, .number = i);
    }
    if (event != NULL && cudaEventDestroy(event) != cudaSuccess && status == BG_OK)
        status = BG_ERROR_CUDA;
    if (status != BG_OK)
        (void)cudaGetLastError(); /* its own: the wait after a break */
    return status;
}

FIXTURE_TEST(test_fragile)
{
    static const int places[][FAULTS_MAX] = {{0, -1, -1}, {1, -1, -1}, {5, -1, -1}, {6, -1, -1},
                                             {7, -1, -1}, {5, 7, -1},  {0, 6, -1}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        model m = no_fault(f);
        char names[2][32];
        expected list[2];
        size_t count = 0;
        set_faulty(&m, places[i]);
        for (; places[i][count] >= 0; count++) {
            snprintf(names[count], sizeof *names, "turn#%d", places[i][count]);
            list[count] = (expected)FINDING("culprit", names[count], .words = "the mismatch disappears when");
        }
        expect_findings(bisect_pass(forward_fragile, &m, NULL), list, count * sizeof *list, __FILE__, __LINE__);
    }
    for (int i = 2; i < 5; i++) { /* every set that has it fails */
        model m = no_fault(f);
        m.faulty[0] = i;
        EXPECT_FINDING(bisect_pass(forward_fragile, &m, NULL), "not-searched", "", 0, "the pass fails");
    }
    expect_usable(f, f->stream);
}

static bg_status refuse_third(void *user, cudaStream_t stream)
{
    model *m = user;
    bg_status status = forward(user, stream);
    return m->passes == 3 ? BG_ERROR_OP : status;
}

FIXTURE_TEST(test_errors)
{
    model m = no_fault(f);
    bg_report *report;
    EXPECT_STATUS(bg_bisect(forward, &m, m.f->stream, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_bisect(NULL, &m, m.f->stream, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_bisect(forward, &m, NULL, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    put(&m.f->x, 3);
    m.faulty[0] = 2;
    EXPECT_STATUS(bg_bisect(refuse_third, &m, m.f->stream, NULL, &report), BG_ERROR_OP);
    assert_null(report);
    assert_true(get(&m.f->x) == 3);
    expect_usable(m.f, m.f->stream);
}

/* Shadow: what it tells of a call at fault. Its arguments, its nodes in a new capture, or what came before it. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"
#include "tests/support/ops.h"

#include <breakgraph/shadow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* y = x * rows * factor * bytes, and twice that if it is doubled; unused is read by nobody. */
BG_OP(typed, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows), BG_VALUE(double, factor), BG_VALUE(size_t, bytes),
      BG_VALUE(bool, doubled), BG_VALUE(int, unused))
{
    double factor = args->rows * args->factor * (double)args->bytes * (args->doubled ? 2 : 1);
    return from_cuda(bgk_scale(args->y.data, args->x.data, (float)factor, N, stream));
}

typedef struct setting {
    float factor;
} setting;

BG_OP(configured, BG_IN(x), BG_OUT(y), BG_VALUE(const setting *, config))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->config->factor, N, stream));
}

/* As many rows as x has. */
BG_OP(copy_rows, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 1, (size_t)args->x.dim[0], stream));
}

/* What forward sets, and the body reads: no argument has it. */
static struct {
    float factor;
    bool again;
} hidden;

BG_OP(secret, BG_IN(x), BG_OUT(y))
{
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, hidden.factor, N, stream)));
    return hidden.again ? from_cuda(bgk_add(args->y.data, args->y.data, args->x.data, N, stream)) : BG_OK;
}

/* Does something else where it is captured. */
BG_OP(two_faced, BG_IN(x), BG_OUT(y))
{
    enum cudaStreamCaptureStatus capturing;
    TRY_BG(from_cuda(cudaStreamIsCapturing(stream, &capturing)));
    return from_cuda(
        bgk_scale(args->y.data, args->x.data, capturing == cudaStreamCaptureStatusNone ? 2 : 3, N, stream));
}

BG_OP(outer, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return BG_CALL(scale, stream, .x = args->x, .y = args->y, .factor = args->factor);
}

/* Its padding holds something else in each pass. An assignment need not copy padding. */
typedef struct padded {
    char first;
    int middle;
} padded;

static void fill_padded(padded *p, int pass, int middle)
{
    char bytes[sizeof *p];
    memset(bytes, 17 * (pass + 1), sizeof bytes);
    bytes[offsetof(padded, first)] = 1;
    memcpy(bytes + offsetof(padded, middle), &middle, sizeof middle);
    memcpy(p, bytes, sizeof bytes);
}

BG_OP(around_secret, BG_IN(x), BG_OUT(y), BG_VALUE(padded, p))
{
    return BG_CALL(secret, stream, .x = args->x, .y = args->y);
}

BG_EAGER_OP(eager_padded, BG_IN(x), BG_OUT(y), BG_VALUE(padded, p))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, (float)args->p.middle, N, stream));
}

typedef struct three {
    int of[3];
} three;

BG_EAGER_OP(eager_three, BG_IN(x), BG_OUT(y), BG_VALUE(three, p))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, (float)args->p.of[2], N, stream));
}

BG_EAGER_OP(eager_scaled, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

enum {
    VALUES,
    UNUSED,
    POINTER,
    SAME_CONTENTS,
    SHAPE,
    HIDDEN_VALUE,
    HIDDEN_BRANCH,
    HOST_POINTER,
    CAPTURED_ONLY,
    HANDED_ON,
    OTHER_CALLS,
    OUTSIDE,
    MOVED_OUTPUT,
    WHOLE_SEGMENT,
    PADDING,
    EAGER_PADDED,
    EAGER_THREE,
    EAGER_SCALE
};

typedef struct model {
    fixture *f;
    int kind;
    int passes, line;
    bool clean;
    bg_tensor spare;
    setting settings[8]; /* of each pass */
} model;

/* The call in question; its output is y, and its line m->line. */
static bg_status call_in_question(model *m, cudaStream_t stream)
{
    const fixture *f = m->f;
    int pass = m->clean ? 0 : m->passes;
    bg_tensor x = f->x, y = f->y;
    typed_args typed;
    around_secret_args around = {.x = x, .y = y};
    eager_padded_args eager = {.x = x, .y = y};
    void *temporary = NULL;

    hidden.again = pass > 0;
    switch (m->kind) {
    case VALUES:
        typed = (typed_args){.x = x, .y = y, .rows = pass - 7, .factor = pass + 0.1, .bytes = (size_t)pass + 1};
        typed.doubled = pass > 0;
        return CALL_ARGS_AT(m->line, typed, stream, &typed);
    case UNUSED:
        return CALL_AT(m->line, typed, stream, .x = x, .y = y, .rows = 1, .factor = 1, .bytes = 1, .unused = pass);
    case POINTER:
    case SAME_CONTENTS: return CALL_AT(m->line, scale, stream, .x = pass > 0 ? m->spare : x, .y = y, .factor = 2);
    case SHAPE: x.dim[0] = pass > 0 ? N / 2 : N; return CALL_AT(m->line, copy_rows, stream, .x = x, .y = y);
    case HIDDEN_VALUE:
    case WHOLE_SEGMENT:
        if (m->kind == WHOLE_SEGMENT) {
            TRY_BG(from_cuda(cudaMallocAsync(&temporary, N * sizeof(float), stream)));
            TRY_BG(from_cuda(cudaFreeAsync(temporary, stream)));
        }
        hidden.factor = (float)pass + 0.5f;
        hidden.again = false;
        return CALL_AT(m->line, secret, stream, .x = x, .y = y);
    case HIDDEN_BRANCH: hidden.factor = 2; return CALL_AT(m->line, secret, stream, .x = x, .y = y);
    case HOST_POINTER: return CALL_AT(m->line, configured, stream, .x = x, .y = y, .config = &m->settings[pass]);
    case CAPTURED_ONLY:
        if (m->clean)
            return BG_CALL(scale, stream, .x = x, .y = y, .factor = 2);
        return CALL_AT(m->line, two_faced, stream, .x = x, .y = y);
    case HANDED_ON: /* to a call inside */
        return CALL_AT(m->line, outer, stream, .x = x, .y = y, .factor = (float)pass + 1);
    case OTHER_CALLS:
        m->line = __LINE__ + 1;
        return pass > 0 ? BG_CALL(scale, stream, .x = x, .y = y, .factor = 4)
                        : BG_CALL(copy_rows, stream, .x = x, .y = y);
    case OUTSIDE: return from_cuda(bgk_fill(y.data, (float)pass, N, stream));
    case MOVED_OUTPUT: return CALL_AT(m->line, scale, stream, .x = x, .y = pass > 0 ? m->spare : y, .factor = 2);
    case PADDING:
        fill_padded(&around.p, pass, 3);
        hidden.factor = (float)pass + 0.5f;
        hidden.again = false;
        return BG_CALL_ARGS(around_secret, stream, &around);
    case EAGER_PADDED:
        fill_padded(&eager.p, pass, pass + 1);
        return CALL_ARGS_AT(m->line, eager_padded, stream, &eager);
    case EAGER_THREE: m->line = __LINE__; return BG_CALL(eager_three, stream, .x = x, .y = y, .p = {{1, 2, pass}});
    case EAGER_SCALE: m->line = __LINE__; return BG_CALL(eager_scaled, stream, .x = x, .y = y, .factor = 2);
    default: return BG_ERROR_OP;
    }
}

/* Two innocent calls follow. */
static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    TRY_BG(call_in_question(m, stream));
    m->passes++;
    TRY_BG(BG_CALL(scale, stream, .x = m->f->y, .y = m->f->z, .factor = 3));
    return BG_CALL(sum, stream, .x = m->f->y, .y = m->f->z);
}

static bg_report *shadow(fixture *f, int kind, bool clean, model *m)
{
    bg_report *report = NULL;
    OWN_MEMORY(char, spare, allocate(N * sizeof(float)));

    *m = (model){.f = f, .kind = kind, .clean = clean, .spare = f->x, .settings = {{1}, {2}, {3}, {4}, {5}}};
    m->spare.data = spare;
    put_all(f, 3, 7, 11);
    put(&m->spare, kind == SAME_CONTENTS ? 3 : 5);
    hidden.factor = 2;
    EXPECT_OK(bg_shadow(forward, m, f->stream, NULL, &report));
    EXPECT_ALL(f, 3, kind == OUTSIDE ? get(&f->y) : 7, 11); /* which no op call writes */
    return report;
}

/* One fault with these words, at that call in that line, and a note that the output differs because of it. */
#define EXPECT_FAULT(f, kind, name, call, words, passes)                                                               \
    expect_fault(f, kind, name, call, words, passes, __FILE__, __LINE__)
static void expect_fault(fixture *f, int kind, const char *name, const char *call, const char *words, int passes,
                         const char *file, int line)
{
    char because[80];
    model m;
    bg_report *report = shadow(f, kind, false, &m);
    const int at = m.line;

    snprintf(because, sizeof because, "y of sum#0 differs from the eager pass, because of %s: ", call);
    expect_findings(report,
                    (const expected[]){FINDING(name, call, at, words, .severity = "fault"),
                                       FINDING("mismatch", .words = because, .severity = "note")},
                    2 * sizeof(expected), file, line);
    assert_int_equal(m.passes, passes);
}

/* The pass runs eagerly, is captured, and runs eagerly once more, to see whether it repeats; that explains it. */
FIXTURE_TEST(test_arguments)
{
    EXPECT_FAULT(f, VALUES, "frozen-value", "typed#0",
                 "rows is -6 in the graph, -7 in the eager pass; factor is 1.1 in the graph, 0.1 in the eager pass; "
                 "bytes is 2 in the graph, 1 in the eager pass; doubled is true in the graph, false in the eager "
                 "pass|"
                 ", and so y of typed#0 differs: 64 of 64 elements (f32)",
                 3);
    EXPECT_FAULT(f, POINTER, "unstable-pointer", "scale#0",
                 "x is at 0x|"
                 " in the eager pass, and so y of scale#0 differs: ",
                 3);
    EXPECT_FAULT(f, SHAPE, "frozen-value", "copy_rows#0",
                 "x is f32 [32] in the graph, f32 [64] in the eager pass, and so y of copy_rows#0 differs: 32 of", 3);
    EXPECT_FAULT(f, HANDED_ON, "frozen-value", "outer#0", "factor is 2 in the graph, 1 in the eager pass", 3);
}

/* The pass is captured once more. */
FIXTURE_TEST(test_nodes)
{
    EXPECT_FAULT(f, HIDDEN_VALUE, "frozen-value", "secret#0",
                 "kernel parameter 3 differs between the graph and a new capture: |"
                 "1.5 (as integer 1069547520) in the graph|"
                 " in the new capture; segment 0, node 0|"
                 ", and so y of secret#0 differs: 64 of",
                 4);
    EXPECT_FAULT(f, HOST_POINTER, "frozen-value", "configured#0",
                 "kernel parameter 3 differs between the graph and a new capture|"
                 ", and so y of configured#0",
                 4);
    EXPECT_FAULT(f, WHOLE_SEGMENT, "frozen-value", "secret#0",
                 "kernel parameter 3 differs|"
                 ", and so y of secret#0 differs: 64 of",
                 4);
}

/* Padding is no cause: what a new capture tells is. */
FIXTURE_TEST(test_padding)
{
    model m;
    EXPECT_FINDINGS(shadow(f, PADDING, false, &m),
                    FINDING("frozen-value", "around_secret#0/secret#0",
                            .words = "kernel parameter 3 differs between the graph and a new capture"),
                    FINDING(NULL));
}

FIXTURE_TEST(test_eager_struct)
{
    model m;
    OWN_REPORT(report, shadow(f, EAGER_PADDED, false, &m));
    assert_string_equal(finding_of(report, 0).kind, "mismatch-origin");
    EXPECT_IN(finding_of(report, 0).message,
              "p (8 bytes) at offset |; those bytes may be padding; y of eager_padded#0 differs from the eager "
              "pass on the same inputs: 64 of");
    EXPECT_FAULT(f, EAGER_THREE, "frozen-value", "eager_three#0",
                 "p (12 bytes) at offset 8 is 1 in the graph, 0 in the eager pass, and so y of eager_three#0", 3);
}

FIXTURE_TEST(test_unexplained)
{
    EXPECT_FAULT(f, CAPTURED_ONLY, "mismatch-origin", "two_faced#0",
                 "y of two_faced#0 differs from the eager pass on the same inputs, with the same arguments and "
                 "nodes: 64 of",
                 4);
}

/* In the eager pass the body launches one kernel, when captured two. The new capture makes two as well: so that it
 * tells of the branch, forward goes back to one in its third run. */
static bg_status branch(void *user, cudaStream_t stream)
{
    model *m = user;
    hidden.factor = 2;
    hidden.again = m->passes++ == 1;
    return CALL_AT(m->line, secret, stream, .x = m->f->x, .y = m->f->y);
}

FIXTURE_TEST(test_branch)
{
    model m = {.f = f};
    bg_report *report = NULL;

    put_all(f, 3, 7, 0);
    EXPECT_OK(bg_shadow(branch, &m, f->stream, NULL, &report));
    EXPECT_FINDING(
        report, "frozen-control-flow", "secret#0", m.line,
        "secret#0 makes different nodes in the graph and a new capture: 2 in the graph, 1 in the new capture");
}

/* A call that comes after others than in the eager pass gets its inputs, and is innocent. */
FIXTURE_TEST(test_after_other_calls)
{
    model m;
    OWN_REPORT(report, shadow(f, OTHER_CALLS, false, &m));
    bg_finding finding = BG_FINDING_INIT;

    for (int i = 0; i < bg_report_count(report); i++) {
        finding = finding_of(report, i);
        assert_string_equal(finding.kind, finding.severity == BG_FAULT ? "frozen-control-flow" : "mismatch");
        assert_true(strcmp(finding.call, "sum#0") != 0 || finding.severity == BG_NOTE);
    }
    EXPECT_IN(finding.message, "because of ");
}

/* No call is at fault where work between the calls is; what is known is said. */
FIXTURE_TEST(test_outside)
{
    model m;
    bg_report *report = shadow(f, OUTSIDE, false, &m);
    EXPECT_FINDING(report, "mismatch", "sum#0", 0,
                   "y of sum#0 differs from the eager pass; the first input that differs is x of scale#0, and no op "
                   "call has made the difference: 64 of 64");
}

/* The eager pass leaves it where the next call reads it, and the graph elsewhere. */
FIXTURE_TEST(test_moved_output)
{
    EXPECT_FAULT(f, MOVED_OUTPUT, "unstable-pointer", "scale#0",
                 "y is at 0x|"
                 " in the eager pass, where it is read as x of scale#1",
                 3);
}

FIXTURE_TEST(test_clean)
{
    model m;
    for (int kind = VALUES; kind <= EAGER_SCALE; kind++)
        EXPECT_NO_FINDING(shadow(f, kind, true, &m));
    EXPECT_NO_FINDING(shadow(f, UNUSED, false, &m));
    EXPECT_NO_FINDING(shadow(f, SAME_CONTENTS, false, &m));
}

/* A replay that is explained by one more capture leaves what it leaves without a tool; there is one such capture for
 * each graph. */
FIXTURE_TEST(test_replay)
{
    model m = {.f = f, .kind = HIDDEN_VALUE, .settings = {{1}, {2}, {3}, {4}, {5}}};

    put_all(f, 3, 0, 0);
    OWN_GRAPH(graph, capture_under("BG_SHADOW", "calls", forward, &m, f->stream, NULL));
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(bg_replay(graph, f->stream));
        assert_int_equal(m.passes, 4 + i);
        assert_true(get(&f->y) == 1.5f && get(&f->z) == 6);
    }
}

/* What the program changes by bg_graph_args is no fault, and told once. */
FIXTURE_TEST(test_changed_arguments)
{
    model m = {.f = f, .kind = EAGER_SCALE};

    put_all(f, 3, 0, 0);
    OWN_GRAPH(graph, capture_under("BG_SHADOW", "calls", forward, &m, f->stream, NULL));
    EXPECT_OK(bg_replay(graph, f->stream));
    eager_scaled_args *args = bg_graph_args(graph, "eager_scaled#0", sizeof *args);
    assert_non_null(args);
    args->factor = 5;
    const char *text = replays_say(graph, f->stream, 1);
    assert_true(get(&f->y) == 15);
    EXPECT_IN(text, "note [frozen-value] eager_scaled#0|factor is 5 in the graph|note [mismatch] sum#0");
    EXPECT_NOT_IN(text, "fault [|nondeterministic");
}

/* Sums whose parts come in any order, as by atomics: every tool tells that they vary, and blames nobody. On the host
 * device kernels run one after the other, so that a kernel that adds is as good as one of atomics. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"
#include "tests/support/ops.h"

#include <breakgraph/bisect.h>
#include <breakgraph/check.h>
#include <breakgraph/shadow.h>
#include <stdio.h>
#include <string.h>

#include <hostcuda/hostcuda.h>

#pragma weak hostcuda_seed

enum { MOST = 8 };

/* Streams on which the parts of a sum are added. */
typedef struct sides {
    cudaStream_t streams[MOST];
    cudaEvent_t begun, ended[MOST];
} sides;

static float frozen_factor; /* of sum_rows: what a capture freezes, and no field tells */

/* y = the sum of so many rows of x, in any order, times a factor */
BG_OP(sum_rows, BG_IN(x), BG_OUT(y), BG_VALUE(sides *, s), BG_VALUE(int, parts), BG_VALUE(bool, uncleared))
{
    const sides *s = args->s;
    if (!args->uncleared)
        TRY_BG(from_cuda(cudaMemsetAsync(args->y.data, 0, N * sizeof(float), stream)));
    TRY_BG(from_cuda(cudaEventRecord(s->begun, stream)));
    for (int i = 0; i < args->parts; i++) {
        TRY_BG(from_cuda(cudaStreamWaitEvent(s->streams[i], s->begun, 0)));
        TRY_BG(from_cuda(
            bgk_add(args->y.data, args->y.data, (const float *)args->x.data + (size_t)i * N, N, s->streams[i])));
        TRY_BG(from_cuda(cudaEventRecord(s->ended[i], s->streams[i])));
        TRY_BG(from_cuda(cudaStreamWaitEvent(stream, s->ended[i], 0)));
    }
    return from_cuda(bgk_scale(args->y.data, args->y.data, frozen_factor, N, stream));
}

typedef struct model {
    fixture *f;
    sides s;
    bg_tensor rows;
    int parts, passes;
    bool uncleared;          /* planted: the sum begins with what is there */
    bool frozen, frozen_sum; /* planted: the call behind the sum, or the sum, has another value in each pass */
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;

    frozen_factor = m->frozen_sum ? (float)++m->passes : 1;
    TRY_BG(
        BG_CALL(sum_rows, stream, .x = m->rows, .y = f->y, .s = &m->s, .parts = m->parts, .uncleared = m->uncleared));
    TRY_BG(BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = m->frozen ? (float)++m->passes : 3));
    return BG_CALL(scale, stream, .x = f->z, .y = f->x, .factor = 0.5f);
}

static void open_model(model *m, fixture *f)
{
    float rows[MOST * N];

    *m = (model){.f = f};
    for (int i = 0; i < MOST * N; i++) /* large ones among small ones: each order rounds otherwise */
        rows[i] = (float)(i * 7919 % 1000) * (i / N % 3 == 0 ? 10.0f : 1e-6f) + 0.1f;
    EXPECT_CUDA(cudaMalloc(&m->rows.data, sizeof rows));
    EXPECT_CUDA(cudaMemcpy(m->rows.data, rows, sizeof rows, cudaMemcpyDefault));
    m->rows = bg_tensor_1d(m->rows.data, BG_F32, MOST * N);
    EXPECT_CUDA(cudaEventCreateWithFlags(&m->s.begun, cudaEventDisableTiming));
    for (int i = 0; i < MOST; i++) {
        EXPECT_CUDA(cudaStreamCreateWithFlags(&m->s.streams[i], cudaStreamNonBlocking));
        EXPECT_CUDA(cudaEventCreateWithFlags(&m->s.ended[i], cudaEventDisableTiming));
    }
}

static void close_model(model *m)
{
    EXPECT_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < MOST; i++) {
        EXPECT_CUDA(cudaStreamDestroy(m->s.streams[i]));
        EXPECT_CUDA(cudaEventDestroy(m->s.ended[i]));
    }
    EXPECT_CUDA(cudaEventDestroy(m->s.begun));
    EXPECT_CUDA(cudaFree(m->rows.data));
}

static void set_seed(int seed)
{
    if (hostcuda_seed != NULL)
        hostcuda_seed((uint64_t)seed);
}

static const char *shadow(model *m, const char *mode)
{
    OWN_GRAPH(graph, capture_under("BG_SHADOW", mode, forward, m, m->f->stream, NULL));
    return replays_say(graph, m->f->stream, 3);
}

static bg_report *poison(model *m)
{
    bg_report *report = NULL;
    OWN_GRAPH(graph, capture_of(forward, m, m->f->stream, NULL));
    EXPECT_OK(bg_check_poison(graph, &m->f->x, 1, m->f->stream, &report));
    return report;
}

static bg_report *bisect(model *m)
{
    bg_report *report = NULL;
    EXPECT_OK(bg_bisect(forward, m, m->f->stream, NULL, &report));
    return report;
}

/* Returns how many notes it has: all that is allowed. */
static int expect_notes(bg_report *report, const char *tool, int seed)
{
    const int count = bg_report_count(report);
    for (int i = 0; i < count; i++) {
        const bg_finding f = finding_of(report, i);
        if (f.severity != BG_NOTE || (strcmp(f.kind, "nondeterministic") != 0 && strcmp(f.kind, "not-repeatable") != 0))
            fail_msg("%s, seed %d: [%s] %s: %s", tool, seed, f.kind, f.call, f.message);
    }
    bg_report_destroy(report);
    return count;
}

TESTS_ON_HOST_DEVICE("kernels run one after the other there, so that each may add without atomics");
/* With three parts, two orders are often equal by chance. */
FIXTURE_TEST(test_sums)
{
    int notes = 0;
    model m;

    open_model(&m, f);
    for (int seed = 0; seed < by_size(5, 20, 50); seed++)
        for (m.parts = 3; m.parts <= MOST; m.parts += MOST - 3) {
            set_seed(seed);
            for (int k = 0; k < 2; k++) {
                const char *text = shadow(&m, k == 0 ? "1" : "calls");
                if (strstr(text, "fault [") != NULL || strstr(text, "warning [") != NULL)
                    fail_msg("seed %d, %d parts: %s", seed, m.parts, text);
                notes += strstr(text, "note [nondeterministic] sum_rows#0") != NULL;
            }
            notes += expect_notes(poison(&m), "poison", seed);
            notes += expect_notes(bisect(&m), "bisect", seed);
        }
    assert_true(notes > 0 || hostcuda_seed == NULL);
    set_seed(0);
    close_model(&m);
}

/* What it adds to is no rounding. */
FIXTURE_TEST(test_sum_of_unwritten_memory)
{
    model m;

    open_model(&m, f);
    m.uncleared = true;
    for (int seed = 0; seed < by_size(3, 10, 50); seed++)
        for (m.parts = 3; m.parts <= MOST; m.parts += MOST - 3) {
            bg_report *report;
            set_seed(seed);
            report = poison(&m);
            (void)EXPECT_THE(report, "reads-unwritten", "sum_rows#0", .severity = "fault");
            bg_report_destroy(report);
        }
    set_seed(0);
    close_model(&m);
}

/* The sum rounds otherwise in each run, and is wrong by a factor in all of them. */
FIXTURE_TEST(test_frozen_in_a_sum)
{
    model m;

    open_model(&m, f);
    m.frozen_sum = true;
    for (int seed = 0; seed < by_size(5, 20, 50); seed++)
        for (m.parts = 3; m.parts <= MOST; m.parts += MOST - 3) {
            const char *text;
            set_seed(seed);
            text = shadow(&m, "calls");
            if (strstr(text, "fault [frozen-value] sum_rows#0") == NULL)
                fail_msg("seed %d, %d parts: the frozen value is not named: %s", seed, m.parts, text);
        }
    set_seed(0);
    close_model(&m);
}

FIXTURE_TEST(test_frozen_behind_a_sum)
{
    model m;

    open_model(&m, f);
    m.frozen = true;
    for (int seed = 0; seed < by_size(5, 20, 50); seed++)
        for (m.parts = 3; m.parts <= MOST; m.parts += MOST - 3) {
            const char *text;
            set_seed(seed);
            text = shadow(&m, "calls");
            if (strstr(text, "fault [frozen-value] scale#0") == NULL)
                fail_msg("seed %d, %d parts: the frozen value is not named: %s", seed, m.parts, text);
            EXPECT_NOT_IN(text, "fault [mismatch-origin] sum_rows|fault [race]");
        }
    set_seed(0);
    close_model(&m);
}

/* BG_CHECK=recapture and BG_CHECK=poison: captures look at what they have made, and tell standard error. */
#include "tests/support/tools/file_support.h"
#include "tests/support/tools/finding_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor), BG_VALUE(int, left_out))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, (size_t)(N - args->left_out), stream));
}

BG_EAGER_OP(note, BG_INOUT(y), BG_VALUE(int *, count))
{
    ++*args->count;
    return from_cuda(bgk_add(args->y.data, args->y.data, args->y.data, N, stream));
}

typedef struct model {
    fixture *f;
    bool drifts, leaves_out;
    int passes, eager, line;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    float factor = m->drifts ? (float)++m->passes : 2;
    TRY_BG(CALL_AT(m->line, scale, stream, .x = m->f->x, .y = m->f->y, .factor = factor, .left_out = m->leaves_out));
    return BG_CALL(note, stream, .y = m->f->y, .count = &m->eager);
}

static bool in_parts; /* between bg_capture_begin and bg_capture_end */

static bg_status capture_pass(bg_graph **graph, model *m, const bg_capture_options *options)
{
    bg_capture *capture;

    if (!in_parts)
        return bg_capture_forward(graph, forward, m, m->f->stream, options);
    TRY_BG(bg_capture_begin(&capture, m->f->stream, options));
    TRY_BG(forward(m, m->f->stream));
    return bg_capture_end(capture, graph);
}

/* What the capture writes to standard error; the graph is as good as any. */
static const char *capture(model *m, const bg_capture_options *options)
{
    OWNED_GRAPH(graph);
    put(&m->f->x, 3);
    FILE *errors = keep_errors();
    bg_status status = capture_pass(&graph, m, options);
    const char *text = errors_said(errors);
    EXPECT_OK(status);
    EXPECT_OK(bg_replay(graph, m->f->stream));
    if (!m->leaves_out && !m->drifts)
        assert_true(get(&m->f->y) == 12);
    EXPECT_CUDA(cudaDeviceSynchronize());
    return text;
}

static void with_twin(fixture *f, const char *check, model bad, const char *kind)
{
    model good = {.f = f};
    char words[100];

    set_variable("BG_CHECK", check);
    assert_string_equal(capture(&good, NULL), "");
    const char *text = capture(&bad, NULL);
    snprintf(words, sizeof words, "%s|test_check_env.c:%d|scale#0", kind, bad.line);
    EXPECT_IN(text, words);
}

FIXTURE_TEST(test_recapture)
{
    with_twin(f, "recapture", (model){.f = f, .drifts = true}, "[frozen-value]");
}

FIXTURE_TEST(test_poison)
{
    with_twin(f, "poison", (model){.f = f, .leaves_out = true}, "[unwritten-output]");
}

/* What needs no forward function is looked at without one. */
FIXTURE_TEST(test_in_parts)
{
    in_parts = true;
    with_twin(f, "graph,poison", (model){.f = f, .leaves_out = true}, "[unwritten-output]");
    in_parts = false;
}

/* Each finds its own. */
FIXTURE_TEST(test_all)
{
    with_twin(f, "graph,replay,recapture,poison", (model){.f = f, .drifts = true}, "[frozen-value]");
    with_twin(f, "graph,replay,recapture,poison", (model){.f = f, .leaves_out = true}, "[unwritten-output]");
}

/* Not without launches, nor where the program has said what to check. */
FIXTURE_TEST(test_nothing)
{
    model m = {.f = f, .leaves_out = true};

    set_variable("BG_CHECK", "poison");
    EXPECT_IN(capture(&m, UNLAUNCHED), "BG_CHECK=poison works only for captures with options.launch_segments");
    assert_int_equal(m.eager, 1);                     /* the replay */
    assert_string_equal(capture(&m, UNLAUNCHED), ""); /* once is enough */
    assert_string_equal(capture(&m, OPTIONS(.check = BG_REPLAY_CHECK_OFF)), "");
    assert_int_equal(m.eager, 4);
}

/* The captures of a check are its own: the one timeline is of the program's graph, and so are the drawings. */
FIXTURE_TEST(test_trace_is_left)
{
    char directory[] = "/tmp/breakgraph-check-XXXXXX", path[64];
    model m = {.f = f};

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/trace.json", directory);
    set_variable("BG_CHECK", "recapture");
    set_variable("BG_TRACE", path);
    set_variable("BG_DOT", directory);
    const char *text = capture(&m, NULL); /* and replays */
    set_variable("BG_DOT", NULL);
    set_variable("BG_TRACE", NULL);
    assert_string_equal(text, "");
    assert_int_equal(run_command("test `find %s -name '*.dot' | wc -l` = 1", directory), 0);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(run_command("rm -r %s", directory), 0);
}

/* The replays of a check are its own: they do not step, and their pattern is no finding. */
FIXTURE_TEST(test_poison_does_not_step)
{
    char directory[] = "/tmp/breakgraph-check-XXXXXX", path[64];
    model m = {.f = f, .leaves_out = true};

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/dump", directory);
    set_variable("BG_CHECK", "poison");
    set_variable("BG_DEBUG", "step");
    const char *text = capture(&m, NULL);
    EXPECT_IN(text, "[unwritten-output]");
    EXPECT_NOT_IN(text, "[nan");
    set_variable("BG_STEP_DUMP", path);
    m.leaves_out = false;
    OWN_GRAPH(graph, capture_of(forward, &m, m.f->stream, NULL));
    assert_int_equal(info_of(graph).replays, 0);
    assert_int_equal(access(path, F_OK), -1);
    EXPECT_OK(bg_replay(graph, m.f->stream));
    assert_int_equal(info_of(graph).replays, 1);
    assert_int_equal(access(path, F_OK), 0);
    set_variable("BG_STEP_DUMP", NULL);
    set_variable("BG_DEBUG", NULL);
    assert_int_equal(run_command("rm -r %s", directory), 0);
}

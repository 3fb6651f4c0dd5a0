/* BG_CHECK=recapture and BG_CHECK=poison: captures look at what they have made, and tell standard error. */
#include "tests/support/support.h"

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
    m->line = __LINE__ + 1;
    bg_status status = BG_CALL(scale, stream, .x = m->f->x, .y = m->f->y, .factor = factor, .left_out = m->leaves_out);
    return status != BG_OK ? status : BG_CALL(note, stream, .y = m->f->y, .count = &m->eager);
}

static bool in_parts; /* between bg_capture_begin and bg_capture_end */

static bg_status capture_pass(bg_graph **graph, model *m, const bg_capture_options *options)
{
    bg_capture *capture;

    if (!in_parts)
        return bg_capture_forward(graph, forward, m, m->f->stream, options);
    bg_status status = bg_capture_begin(&capture, m->f->stream, options);
    if (status == BG_OK)
        status = forward(m, m->f->stream);
    return status == BG_OK ? bg_capture_end(capture, graph) : status;
}

/* What the capture writes to standard error; the graph is as good as any. */
static void capture(model *m, const bg_capture_options *options, char *text, size_t bytes)
{
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    OWNED_GRAPH(graph);

    assert_non_null(file);
    assert_true(kept >= 0);
    put(&m->f->x, 3);
    fflush(stderr);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    bg_status status = capture_pass(&graph, m, options);
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
    rewind(file);
    size_t length = fread(text, 1, bytes - 1, file);
    text[length] = '\0';
    assert_int_equal(fclose(file), 0);
    EXPECT_OK(status);
    EXPECT_OK(bg_replay(graph, m->f->stream));
    if (!m->leaves_out && !m->drifts)
        assert_true(get(&m->f->y) == 12);
    EXPECT_CUDA(cudaDeviceSynchronize());
}

static void with_twin(fixture *f, const char *check, model bad, const char *kind)
{
    model good = {.f = f};
    char text[4096], site[60];

    assert_int_equal(setenv("BG_CHECK", check, 1), 0);
    capture(&good, NULL, text, sizeof text);
    assert_string_equal(text, "");
    capture(&bad, NULL, text, sizeof text);
    snprintf(site, sizeof site, "test_check_env.c:%d", bad.line);
    if (strstr(text, kind) == NULL || strstr(text, site) == NULL || strstr(text, "scale#0") == NULL)
        fail_msg("%s, %s: %s", kind, site, text);
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
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    char text[4096];

    assert_int_equal(setenv("BG_CHECK", "poison", 1), 0);
    options.launch_segments = false;
    capture(&m, &options, text, sizeof text);
    assert_non_null(strstr(text, "BG_CHECK=poison is only for captures with options.launch_segments"));
    assert_int_equal(m.eager, 1); /* the replay */
    capture(&m, &options, text, sizeof text);
    assert_string_equal(text, ""); /* once is enough */
    options.launch_segments = true;
    options.check = BG_REPLAY_CHECK_OFF;
    capture(&m, &options, text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(m.eager, 4);
}

static int count_files(const char *directory, const char *pattern)
{
    char command[200];
    int count = -1;

    snprintf(command, sizeof command, "find %s -name '%s' | wc -l", directory, pattern);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    assert_int_equal(pclose(pipe), 0);
    return count;
}

static void remove_directory(const char *directory)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

/* The captures of a check are its own: the one timeline is of the program's graph, and so are the drawings. */
FIXTURE_TEST(test_trace_is_left)
{
    char directory[] = "/tmp/breakgraph-check-XXXXXX", path[64], text[4096];
    model m = {.f = f};

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/trace.json", directory);
    assert_int_equal(setenv("BG_CHECK", "recapture", 1), 0);
    assert_int_equal(setenv("BG_TRACE", path, 1), 0);
    assert_int_equal(setenv("BG_DOT", directory, 1), 0);
    capture(&m, NULL, text, sizeof text); /* and replays */
    assert_int_equal(unsetenv("BG_DOT"), 0);
    assert_int_equal(unsetenv("BG_TRACE"), 0);
    assert_string_equal(text, "");
    assert_int_equal(count_files(directory, "*.dot"), 1);
    assert_int_equal(count_files(directory, "trace.json"), 1);
    remove_directory(directory);
}

/* The replays of a check are its own: they do not step, and their pattern is no finding. */
FIXTURE_TEST(test_poison_does_not_step)
{
    char directory[] = "/tmp/breakgraph-check-XXXXXX", path[64], text[4096];
    model m = {.f = f, .leaves_out = true};
    bg_graph *graph = NULL;

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/dump", directory);
    assert_int_equal(setenv("BG_CHECK", "poison", 1), 0);
    assert_int_equal(setenv("BG_DEBUG", "step", 1), 0);
    capture(&m, NULL, text, sizeof text);
    assert_non_null(strstr(text, "[unwritten-output]"));
    assert_null(strstr(text, "[nan"));
    assert_int_equal(setenv("BG_STEP_DUMP", path, 1), 0);
    m.leaves_out = false;
    EXPECT_OK(bg_capture_forward(&graph, forward, &m, m.f->stream, NULL));
    assert_int_equal(info_of(graph).replays, 0);
    assert_int_equal(access(path, F_OK), -1);
    EXPECT_OK(bg_replay(graph, m.f->stream));
    assert_int_equal(info_of(graph).replays, 1);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unsetenv("BG_STEP_DUMP"), 0);
    assert_int_equal(unsetenv("BG_DEBUG"), 0);
    bg_graph_destroy(graph);
    remove_directory(directory);
}

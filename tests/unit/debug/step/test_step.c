/* bg_step: the same results as a replay, bit for bit, and what it tells of each node. */
#include "tests/support/test.h"
#include "tests/support/tools/picture_support.h"
#include "tests/support/tools/step_support.h"
#include "tests/support/ops.h"

#include <breakgraph/cublas.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static cublasHandle_t cublas;
BG_OP(product, BG_IN(x), BG_OUT(y))
{
    return multiply(cublas, 1, &args->x, &args->y, stream);
}

/* ---- as a replay --------------------------------------------------------------------------------------------------
 */

PICTURE_TEST(test_breaks)
{
    static const char *const nodes[] = {"segment 0, node 0 (kernel ", "call move#0 at ", "segment 1, node 0 (kernel ",
                                        "segment 1, node 1 (kernel ", "segment 2, node 0 (kernel "};
    static const char *const calls[] = {"scale#0", "move#0", "outer#0/scale#0", "outer#0/scale#1", "plus#0"};
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    uint64_t replays = info_of(graph).replays;
    expect_as_replay(f, graph);
    assert_int_equal(info_of(graph).replays, replays + 3 + 5); /* one from each index */
    EXPECT_STEPS(calls, nodes);
    assert_int_equal(step_seen.total, 5);
    assert_int_equal(step_seen.kernels, 4);
    EXPECT_IN(step_seen.nodes[0], "product>(float4*"); /* the kernel that bgk_scale launches */
}

/* The write-back node moves, is switched off, and comes back; also a COPY step, where nothing follows. */
PICTURE_TEST(test_write_backs)
{
    OWN_MEMORY(char, a, allocate(N * sizeof(float)));
    OWN_MEMORY(char, b, allocate(N * sizeof(float)));
    void *const places[] = {a, b, NULL, NULL, b, a};
    picture_elsewhere = a;
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        picture_elsewhere = places[i];
        expect_as_replay(f, graph);
        assert_int_equal(step_seen.total, 6);
        assert_int_equal(step_seen.count, places[i] != NULL ? 6 : 5); /* what is not needed is passed over */
        if (places[i] != NULL) {
            EXPECT_IN(step_seen.nodes[2], "segment 1, node 0 (write-back)");
            assert_string_equal(step_seen.calls[2], "move#0");
        }
    }
    /* a step that is the first to see another place */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        float host[3 * N];
        picture_elsewhere = places[i];
        start_memory(f);
        bg_report_destroy(step_noting(f, graph));
        read_memory(f, host);
        picture_elsewhere = places[(i + 3) % 6];
        expect_as_replay(f, graph);
        float again[3 * N];
        read_memory(f, again);
        assert_memory_equal(host, again, sizeof host);
    }
}

PICTURE_TEST(test_copy_at_the_end)
{
    OWN_MEMORY(char, elsewhere, allocate(N * sizeof(float)));
    picture_elsewhere = elsewhere;
    OWN_GRAPH(graph, capture_picture(f, ending_pass));
    expect_as_replay(f, graph);
    assert_int_equal(step_seen.count, 3);
    EXPECT_IN(step_seen.nodes[2], "the write-back of call move#0");
}

BG_OP(broken_inside, BG_IN(x), BG_OUT(y))
{
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, 0.5f, N, stream)));
    TRY_BG(BG_CALL(move, stream, .x = args->y, .y = args->y));
    return from_cuda(bgk_scale(args->y.data, args->y.data, 0.6f, N, stream));
}

static bg_status break_inside(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(broken_inside, stream, .x = f->x, .y = f->y);
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 0.9f);
}

PICTURE_TEST(test_break_in_a_captured_call)
{
    static const char *const calls[] = {"broken_inside#0", "broken_inside#0/move#0", "broken_inside#0", "scale#0"};
    OWN_GRAPH(graph, capture_picture(f, break_inside));
    expect_as_replay(f, graph);
    EXPECT_STEPS(calls, NULL);
}

PICTURE_TEST(test_forks)
{
    static const char *const calls[] = {"scale#0", "scale#1", "scale#2", "plus#0",
                                        "scale#3", "scale#4", "scale#5", "plus#1"}; /* as they were made */
    OWN_GRAPH(graph, capture_picture(f, forked_pass));
    expect_as_replay(f, graph);
    EXPECT_STEPS(calls, NULL);
}

static bg_status all_kinds(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(mixed, stream, .x = f->x, .y = f->y);
    BG_CALL(product, stream, .x = f->y, .y = f->z);
    return BG_CALL(scale, stream, .x = f->z, .y = f->y, .factor = 0.5f);
}

PICTURE_TEST(test_kinds_of_nodes)
{
    static const char *const kinds[] = {"(memset)", "(memcpy)", "(host function)", "(event record)"};
    assert_int_equal(cublasCreate(&cublas), CUBLAS_STATUS_SUCCESS);
    bg_graph *graph = capture_picture(f, all_kinds);
    EXPECT_CUDA(cudaDeviceSynchronize());
    picture_host_calls = 0;
    expect_as_replay(f, graph);
    assert_int_equal(picture_host_calls, 3 + step_seen.total); /* one from each index */
    EXPECT_CUDA(cudaEventQuery(picture_event));
    for (int i = 0; i < 4; i++) {
        EXPECT_IN(step_seen.nodes[i], kinds[i]);
        assert_string_equal(step_seen.calls[i], "mixed#0");
    }
    assert_string_equal(step_seen.calls[4], "product#0"); /* one kernel or more */
    assert_string_equal(step_seen.calls[step_seen.count - 1], "scale#0");
    bg_graph_destroy(graph);
    bg_workspace_release(cublas);
    assert_int_equal(cublasDestroy(cublas), CUBLAS_STATUS_SUCCESS);
}

static bg_status with_child(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 0.9f);
    BG_CALL(nested, stream, .y = f->y);
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 0.5f);
}

PICTURE_TEST(test_child_graphs)
{
    static const char *const nodes[] = {"node 0 (", "node 1.0 (", "node 1.1 (", "node 2 ("};
    static const char *const calls[] = {"scale#0", "nested#0", "nested#0", "scale#1"};
    OWN_GRAPH(graph, capture_picture(f, with_child));
    expect_as_replay(f, graph);
    EXPECT_STEPS(calls, nodes);
}

/* Segments 0 and 2 have memory nodes, and run as they are; the one between them node by node. */
PICTURE_TEST(test_memory_nodes)
{
    OWN_GRAPH(graph, capture_picture(f, memory_pass));
    for (int i = 0; i < 3; i++)
        expect_as_replay(f, graph);
    bg_report *report = step_noting(f, graph);
    assert_int_equal(step_seen.count, 3);
    EXPECT_IN(step_seen.nodes[0], "segment 0 of graph");
    assert_string_equal(step_seen.calls[1], "use#0");
    EXPECT_FINDINGS(
        report,
        FINDING("not-stepped", .words = "segment 0 of graph ran as a whole: it has memory nodes", .severity = "note"),
        FINDING("not-stepped"));
}

PICTURE_TEST(test_forward)
{
    OWN_GRAPH(graph, capture_of(broken_pass, f, f->stream, OPTIONS(.debug = BG_DEBUG_FORWARD)));
    expect_as_replay(f, graph);
    assert_int_equal(step_seen.count, 1);
    EXPECT_IN(step_seen.nodes[0], "the forward pass of graph");
}

/* ---- stopping, errors ---------------------------------------------------------------------------------------------
 */

static bool stop_at_move(void *user, const bg_step_info *info)
{
    ++*(int *)user;
    return strcmp(info->call, "move#0") != 0;
}

PICTURE_TEST(test_stop)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    uint64_t replays = info_of(graph).replays;
    bg_report *report;
    int count = 0;
    put(&f->x, 1);
    put(&f->y, 7);
    EXPECT_OK(bg_step(graph, f->stream, stop_at_move, &count, &report));
    assert_int_equal(count, 2);
    assert_true(get(&f->y) == 0.9f); /* not as after the whole pass */
    EXPECT_FINDING(report, "stopped", "move#0", 0, "after index 1 of 0 to 4", .severity = "note");
    assert_int_equal(info_of(graph).replays, replays); /* it was none */
    expect_as_replay(f, graph);
}

/* What is left after the stop is stepped from the index that the note names. */
PICTURE_TEST(test_goes_on)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    bg_report *report;
    int count = 0;
    EXPECT_OK(bg_step(graph, f->stream, stop_at_move, &count, &report));
    EXPECT_IN(EXPECT_THE(report, "stopped").advice, "bg_step_from, from \"2\"");
    bg_report_destroy(report);
    forget_steps(1);
    EXPECT_OK(bg_step_from(graph, f->stream, "2", note_step, NULL, &report));
    assert_int_equal(step_seen.count, step_seen.total - 2);
    EXPECT_NO_FINDING(report);
    EXPECT_STATUS(bg_step_from(graph, f->stream, "5", note_step, NULL, &report), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_step_from, 5: graph runs no call of that name, and nothing of that index (0 to 4)");
    EXPECT_STATUS(bg_step_from(graph, f->stream, "sclae#0", note_step, NULL, &report), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_step_from, sclae#0: graph runs no call of that name (did you mean scale#0?), and nothing of that");
    EXPECT_STATUS(bg_step_from(graph, f->stream, "-1", note_step, NULL, &report), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_step_from(graph, f->stream, "", note_step, NULL, &report), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_step_from(graph, f->stream, NULL, note_step, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    assert_null(report);
}

static bool sends;

BG_EAGER_OP(send, BG_IN(x), BG_OUT(y))
{
    if (sends)
        (void)raise(SIGTERM);
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

static bg_status with_signal(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
    BG_CALL(send, stream, .x = f->y, .y = f->z);
    return BG_CALL(outer, stream, .x = f->z, .y = f->y);
}

static volatile sig_atomic_t handled;

static void handle(int signal)
{
    handled += signal == SIGTERM;
}

static void dump_into(fixture *f, bg_graph *graph, const char *directory, int stops)
{
    OWNED_REPORT(report);
    sends = stops;
    EXPECT_OK(bg_step_dump(graph, f->stream, directory, &report));
    sends = false;
    assert_int_equal(count_findings(report, "stopped"), stops);
    if (stops)
        EXPECT_IN(EXPECT_THE(report, "stopped").advice, "goes on with index 2");
}

/* A signal ends the dump after the eager call; the next one into its directory goes on. The program's handler is
 * called, and is the program's again. */
PICTURE_TEST(test_dump_goes_on)
{
    char directory[] = "/tmp/breakgraph-step-XXXXXX", whole[64], part[64];
    struct sigaction action = {.sa_handler = handle}, found;
    OWN_GRAPH(graph, capture_picture(f, with_signal));
    assert_non_null(mkdtemp(directory));
    snprintf(whole, sizeof whole, "%s/whole", directory);
    snprintf(part, sizeof part, "%s/part", directory);
    assert_int_equal(sigaction(SIGTERM, &action, NULL), 0);
    handled = 0;
    start_memory(f);
    dump_into(f, graph, whole, 0);
    start_memory(f);
    dump_into(f, graph, part, 1);
    assert_int_equal(handled, 1);
    assert_int_equal(run_command("grep -q '\"next\"' %s/index.json", part), 0);
    start_memory(f);
    dump_into(f, graph, part, 0);
    assert_int_equal(run_command("diff -r %s %s && rm -r %s", whole, part, directory), 0);
    assert_int_equal(sigaction(SIGTERM, NULL, &found), 0);
    assert_true(found.sa_handler == handle);
    (void)signal(SIGTERM, SIG_DFL);
}

BG_EAGER_OP(fragile, BG_VALUE(const bool *, fails))
{
    (void)stream;
    return *args->fails ? BG_ERROR_TIMEOUT : BG_OK;
}

static bool fragile_fails;

static bg_status with_fragile(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(fragile, stream, .fails = &fragile_fails);
    return BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
}

static bool count_all(void *user, const bg_step_info *info)
{
    (void)info;
    ++*(int *)user;
    return true;
}

PICTURE_TEST(test_body_fails)
{
    OWN_GRAPH(graph, capture_picture(f, with_fragile));
    bg_report *report;
    int count = 0;
    fragile_fails = true;
    EXPECT_OK(bg_step(graph, f->stream, count_all, &count, &report));
    assert_int_equal(count, 1);
    EXPECT_FINDING(report, "fault", "fragile#0", 0, "BG_ERROR_TIMEOUT: op fragile, call fragile#0 at ",
                   .severity = "fault");
    fragile_fails = false;
    expect_as_replay(f, graph);
}

static bool again(void *user, const bg_step_info *info)
{
    (void)info;
    EXPECT_STATUS(bg_replay(user, cudaStreamPerThread), BG_ERROR_BUSY);
    return true;
}

PICTURE_TEST(test_bad_arguments)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    bg_report *report = (bg_report *)(void *)f;
    EXPECT_STATUS(bg_step(NULL, f->stream, NULL, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("graph is NULL");
    assert_null(report);
    EXPECT_STATUS(bg_step(graph, f->stream, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_step(graph, NULL, NULL, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("stream is NULL");
    EXPECT_STATUS(bg_step_dump(graph, f->stream, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_step_dump(NULL, f->stream, "x", &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
    EXPECT_STATUS(bg_step(graph, f->other, NULL, NULL, &report), BG_ERROR_FOREIGN_CAPTURE);
    cudaGraph_t unharmed = NULL;
    EXPECT_CUDA(cudaStreamEndCapture(f->other, &unharmed));
    EXPECT_CUDA(cudaGraphDestroy(unharmed));
    EXPECT_OK(bg_step(graph, f->stream, again, graph, &report)); /* no replay inside */
    bg_report_destroy(report);
    expect_as_replay(f, graph);
}

/* While the same thread captures on another stream. */
PICTURE_TEST(test_beside_a_capture)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    OWNED_GRAPH(second);
    bg_capture *open;
    bg_report *report;
    EXPECT_OK(bg_step(graph, f->stream, NULL, NULL, &report));
    bg_report_destroy(report);
    EXPECT_OK(bg_capture_begin(&open, f->other, NULL));
    EXPECT_OK(bg_step(graph, f->stream, NULL, NULL, &report));
    bg_report_destroy(report);
    EXPECT_OK(BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 2));
    EXPECT_OK(bg_capture_end(open, &second));
    assert_int_equal(info_of(second).nodes, 1);
}

/* bg_step: the same results as a replay, bit for bit, and what it tells of each node. */
#include "tests/support/test.h"
#include "tests/support/tools/step_support.h"
#include "tests/support/ops.h"

#include <breakgraph/cublas.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static cublasHandle_t cublas;
static void *elsewhere; /* where the eager op leaves its result; NULL: in place */
static cudaEvent_t external;
static int host_calls;

BG_EAGER_OP(move, BG_IN(x), BG_OUT(y))
{
    if (elsewhere != NULL)
        args->y.data = elsewhere;
    return from_cuda(bgk_scale(args->y.data, args->x.data, 1.1f, N, stream));
}

BG_OP(outer, BG_IN(x), BG_OUT(y))
{
    BG_CALL(scale, stream, .x = args->x, .y = args->y, .factor = 0.3f);
    return BG_CALL(scale, stream, .x = args->y, .y = args->y, .factor = 0.7f);
}

BG_OP(product, BG_IN(x), BG_OUT(y))
{
    const float one = 1, zero = 0;
    bg_status status = bg_cublas_bind(cublas, stream, NULL);
    if (status != BG_OK)
        return status;
    return cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, args->x.data, 8, args->x.data, 8, &zero,
                       args->y.data, 8) == CUBLAS_STATUS_SUCCESS
               ? BG_OK
               : BG_ERROR_CUBLAS;
}

static void count_call(void *user)
{
    ++*(int *)user;
}

/* A copy, a fill, a host function and an event node. */
BG_OP(mixed, BG_IN(x), BG_OUT(y))
{
    float *y = args->y.data;
    bg_status status = from_cuda(cudaMemsetAsync(y, 0x3f, N / 2 * sizeof *y, stream));
    if (status == BG_OK)
        status =
            from_cuda(cudaMemcpyAsync(y + N / 2, args->x.data, N / 2 * sizeof *y, cudaMemcpyDeviceToDevice, stream));
    if (status == BG_OK)
        status = from_cuda(cudaLaunchHostFunc(stream, count_call, &host_calls));
    return status == BG_OK ? from_cuda(cudaEventRecordWithFlags(external, stream, cudaEventRecordExternal)) : status;
}

static cudaGraph_t child; /* scales y by 3, twice */

BG_OP(nested, BG_INOUT(y))
{
    enum cudaStreamCaptureStatus capturing;
    const cudaGraphNode_t *before;
    cudaGraphNode_t node;
    cudaGraph_t graph;
    size_t count;
    bg_status status = from_cuda(cudaStreamGetCaptureInfo(stream, &capturing, NULL, &graph, &before, NULL, &count));
    (void)args;
    if (status == BG_OK)
        status = from_cuda(cudaGraphAddChildGraphNode(&node, graph, before, count, child));
    if (status == BG_OK)
        status =
            from_cuda(cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, cudaStreamSetCaptureDependencies));
    return status;
}

static float *temporary;

BG_OP(allocate, BG_IN(x))
{
    bg_status status = from_cuda(cudaMallocAsync((void **)&temporary, N * sizeof(float), stream));
    return status != BG_OK ? status : from_cuda(bgk_scale(temporary, args->x.data, 3, N, stream));
}

BG_OP(use, BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, temporary, 2, N, stream));
}

BG_OP(release)
{
    (void)args;
    return from_cuda(cudaFreeAsync(temporary, stream));
}

/* ---- as a replay --------------------------------------------------------------------------------------------------
 */

static bg_status broken(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 0.9f);
    BG_CALL(move, stream, .x = f->y, .y = f->z);
    BG_CALL(outer, stream, .x = f->z, .y = f->y);
    bg_break(stream);
    return BG_CALL(plus, stream, .x = f->x, .y = f->y, .z = f->z);
}

FIXTURE_TEST(test_breaks)
{
    static const char *const nodes[] = {"segment 0, node 0 (kernel ", "call move#0 at ", "segment 1, node 0 (kernel ",
                                        "segment 1, node 1 (kernel ", "segment 2, node 0 (kernel "};
    static const char *const calls[] = {"scale#0", "move#0", "outer#0/scale#0", "outer#0/scale#1", "plus#0"};
    bg_graph *graph = capture_pass(f, broken);
    uint64_t replays = info_of(graph).replays;
    expect_as_replay(f, graph);
    assert_int_equal(info_of(graph).replays, replays + 3 + 5); /* one from each index */
    assert_int_equal(step_seen.count, 5);
    assert_int_equal(step_seen.total, 5);
    assert_int_equal(step_seen.kernels, 4);
    for (int i = 0; i < 5; i++) {
        expect_in(step_seen.nodes[i], nodes[i]);
        assert_string_equal(step_seen.calls[i], calls[i]);
    }
    expect_in(step_seen.nodes[0], "product>(float4*"); /* the kernel that bgk_scale launches */
    bg_graph_destroy(graph);
}

/* The write-back node moves, is switched off, and comes back; also a COPY step, where nothing follows. */
FIXTURE_TEST(test_write_backs)
{
    void *a, *b;
    EXPECT_CUDA(cudaMalloc(&a, N * sizeof(float)));
    EXPECT_CUDA(cudaMalloc(&b, N * sizeof(float)));
    void *const places[] = {a, b, NULL, NULL, b, a};
    elsewhere = a;
    bg_graph *graph = capture_pass(f, broken);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        elsewhere = places[i];
        expect_as_replay(f, graph);
        assert_int_equal(step_seen.total, 6);
        assert_int_equal(step_seen.count, places[i] != NULL ? 6 : 5); /* what is not needed is passed over */
        if (places[i] != NULL) {
            expect_in(step_seen.nodes[2], "segment 1, node 0 (write-back)");
            assert_string_equal(step_seen.calls[2], "move#0");
        }
    }
    /* a step that is the first to see another place */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        float host[3 * N];
        elsewhere = places[i];
        start_memory(f);
        bg_report_destroy(step_noting(f, graph));
        read_memory(f, host);
        elsewhere = places[(i + 3) % 6];
        expect_as_replay(f, graph);
        float again[3 * N];
        read_memory(f, again);
        assert_memory_equal(host, again, sizeof host);
    }
    bg_graph_destroy(graph);
    elsewhere = NULL;
    EXPECT_CUDA(cudaFree(a));
    EXPECT_CUDA(cudaFree(b));
}

static bg_status ends_eagerly(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 0.9f);
    return BG_CALL(move, stream, .x = f->y, .y = f->z);
}

FIXTURE_TEST(test_copy_at_the_end)
{
    EXPECT_CUDA(cudaMalloc(&elsewhere, N * sizeof(float)));
    bg_graph *graph = capture_pass(f, ends_eagerly);
    expect_as_replay(f, graph);
    assert_int_equal(step_seen.count, 3);
    expect_in(step_seen.nodes[2], "the write-back of call move#0");
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(elsewhere));
    elsewhere = NULL;
}

BG_OP(broken_inside, BG_IN(x), BG_OUT(y))
{
    bg_status status = from_cuda(bgk_scale(args->y.data, args->x.data, 0.5f, N, stream));
    if (status == BG_OK)
        status = BG_CALL(move, stream, .x = args->y, .y = args->y);
    return status != BG_OK ? status : from_cuda(bgk_scale(args->y.data, args->y.data, 0.6f, N, stream));
}

static bg_status break_inside(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(broken_inside, stream, .x = f->x, .y = f->y);
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 0.9f);
}

FIXTURE_TEST(test_break_in_a_captured_call)
{
    static const char *const calls[] = {"broken_inside#0", "broken_inside#0/move#0", "broken_inside#0", "scale#0"};
    bg_graph *graph = capture_pass(f, break_inside);
    expect_as_replay(f, graph);
    assert_int_equal(step_seen.count, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(step_seen.calls[i], calls[i]);
    bg_graph_destroy(graph);
}

static bg_status forked(void *user, cudaStream_t stream)
{
    fixture *f = user;
    bg_stream_wait_stream(f->other, stream);
    BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 0.9f);
    BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 0.8f);
    BG_CALL(scale, f->other, .x = f->y, .y = f->y, .factor = 1.3f);
    bg_stream_wait_stream(stream, f->other);
    return BG_CALL(plus, stream, .x = f->y, .y = f->z, .z = f->z);
}

FIXTURE_TEST(test_forks)
{
    static const char *const calls[] = {"scale#0", "scale#1", "scale#2", "plus#0"}; /* as they were made */
    bg_graph *graph = capture_pass(f, forked);
    expect_as_replay(f, graph);
    assert_int_equal(step_seen.count, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(step_seen.calls[i], calls[i]);
    bg_graph_destroy(graph);
}

static bg_status all_kinds(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(mixed, stream, .x = f->x, .y = f->y);
    BG_CALL(product, stream, .x = f->y, .y = f->z);
    return BG_CALL(scale, stream, .x = f->z, .y = f->y, .factor = 0.5f);
}

FIXTURE_TEST(test_kinds_of_nodes)
{
    static const char *const kinds[] = {"(memset)", "(memcpy)", "(host function)", "(event record)"};
    EXPECT_CUDA(cudaEventCreateWithFlags(&external, cudaEventDisableTiming));
    assert_int_equal(cublasCreate(&cublas), CUBLAS_STATUS_SUCCESS);
    bg_graph *graph = capture_pass(f, all_kinds);
    EXPECT_CUDA(cudaDeviceSynchronize());
    host_calls = 0;
    expect_as_replay(f, graph);
    assert_int_equal(host_calls, 3 + step_seen.total); /* one from each index */
    EXPECT_CUDA(cudaEventQuery(external));
    for (int i = 0; i < 4; i++) {
        expect_in(step_seen.nodes[i], kinds[i]);
        assert_string_equal(step_seen.calls[i], "mixed#0");
    }
    assert_string_equal(step_seen.calls[4], "product#0"); /* one kernel or more */
    assert_string_equal(step_seen.calls[step_seen.count - 1], "scale#0");
    bg_graph_destroy(graph);
    bg_workspace_release(cublas);
    assert_int_equal(cublasDestroy(cublas), CUBLAS_STATUS_SUCCESS);
    EXPECT_CUDA(cudaEventDestroy(external));
}

static bg_status with_child(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 0.9f);
    BG_CALL(nested, stream, .y = f->y);
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 0.5f);
}

FIXTURE_TEST(test_child_graphs)
{
    static const char *const nodes[] = {"node 0 (", "node 1.0 (", "node 1.1 (", "node 2 ("};
    static const char *const calls[] = {"scale#0", "nested#0", "nested#0", "scale#1"};
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(bgk_scale(f->y.data, f->y.data, 3, N, f->stream));
    EXPECT_CUDA(bgk_scale(f->y.data, f->y.data, 1.7f, N, f->stream));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &child));
    bg_graph *graph = capture_pass(f, with_child);
    expect_as_replay(f, graph);
    assert_int_equal(step_seen.count, 4);
    for (int i = 0; i < 4; i++) {
        expect_in(step_seen.nodes[i], nodes[i]);
        assert_string_equal(step_seen.calls[i], calls[i]);
    }
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaGraphDestroy(child));
}

static bg_status with_memory(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(allocate, stream, .x = f->x);
    bg_break(stream);
    BG_CALL(use, stream, .y = f->y);
    bg_break(stream);
    return BG_CALL(release, stream);
}

/* Segments 0 and 2 have memory nodes, and run as they are; the one between them node by node. */
FIXTURE_TEST(test_memory_nodes)
{
    bg_graph *graph = capture_pass(f, with_memory);
    bg_report *report;
    bg_finding finding = BG_FINDING_INIT;
    for (int i = 0; i < 3; i++)
        expect_as_replay(f, graph);
    report = step_noting(f, graph);
    assert_int_equal(step_seen.count, 3);
    expect_in(step_seen.nodes[0], "segment 0 of graph");
    assert_string_equal(step_seen.calls[1], "use#0");
    assert_int_equal(bg_report_count(report), 2);
    assert_int_equal(count_findings(report, "not-stepped"), 2);
    EXPECT_OK(bg_report_get(report, 0, &finding));
    assert_int_equal(finding.severity, BG_NOTE);
    expect_in(finding.message, "segment 0 of graph ran as a whole: it has memory nodes");
    bg_report_destroy(report);
    bg_graph_destroy(graph);
}

FIXTURE_TEST(test_forward)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    OWNED_GRAPH(graph);
    options.debug = BG_DEBUG_FORWARD;
    EXPECT_OK(bg_capture_forward(&graph, broken, f, f->stream, &options));
    expect_as_replay(f, graph);
    assert_int_equal(step_seen.count, 1);
    expect_in(step_seen.nodes[0], "the forward pass of graph");
}

/* ---- stopping, errors ---------------------------------------------------------------------------------------------
 */

static bool stop_at_move(void *user, const bg_step_info *info)
{
    ++*(int *)user;
    return strcmp(info->call, "move#0") != 0;
}

FIXTURE_TEST(test_stop)
{
    bg_graph *graph = capture_pass(f, broken);
    uint64_t replays = info_of(graph).replays;
    bg_finding finding;
    bg_report *report;
    int count = 0;
    put(&f->x, 1);
    put(&f->y, 7);
    EXPECT_OK(bg_step(graph, f->stream, stop_at_move, &count, &report));
    assert_int_equal(count, 2);
    assert_true(get(&f->y) == 0.9f); /* not as after the whole pass */
    finding = the_finding(report, "stopped");
    assert_int_equal(finding.severity, BG_NOTE);
    assert_string_equal(finding.call, "move#0");
    expect_in(finding.message, "after index 1 of 0 to 4");
    bg_report_destroy(report);
    assert_int_equal(info_of(graph).replays, replays); /* it was none */
    expect_as_replay(f, graph);
    bg_graph_destroy(graph);
}

/* What is left after the stop is stepped from the index that the note names. */
FIXTURE_TEST(test_goes_on)
{
    bg_graph *graph = capture_pass(f, broken);
    bg_report *report;
    int count = 0;
    EXPECT_OK(bg_step(graph, f->stream, stop_at_move, &count, &report));
    expect_in(the_finding(report, "stopped").advice, "bg_step_from, from \"2\"");
    bg_report_destroy(report);
    memset(&step_seen, 0, sizeof step_seen);
    step_seen.last_index = 1;
    step_seen.stop_after = -1;
    EXPECT_OK(bg_step_from(graph, f->stream, "2", note_step, NULL, &report));
    assert_int_equal(step_seen.count, step_seen.total - 2);
    expect_clean_step(report);
    bg_report_destroy(report);
    EXPECT_STATUS(bg_step_from(graph, f->stream, "5", note_step, NULL, &report), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_step_from, 5: graph runs no call of that name, and nothing of that index (0 to 4)");
    EXPECT_STATUS(bg_step_from(graph, f->stream, "sclae#0", note_step, NULL, &report), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_step_from, sclae#0: graph runs no call of that name (did you mean scale#0?), and nothing of that");
    EXPECT_STATUS(bg_step_from(graph, f->stream, "-1", note_step, NULL, &report), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_step_from(graph, f->stream, "", note_step, NULL, &report), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_step_from(graph, f->stream, NULL, note_step, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    assert_null(report);
    bg_graph_destroy(graph);
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
        expect_in(the_finding(report, "stopped").advice, "goes on with index 2");
}

/* A signal ends the dump after the eager call; the next one into its directory goes on. The program's handler is
 * called, and is the program's again. */
FIXTURE_TEST(test_dump_goes_on)
{
    char directory[] = "/tmp/breakgraph-step-XXXXXX", whole[64], part[64], command[256];
    struct sigaction action = {.sa_handler = handle}, found;
    bg_graph *graph = capture_pass(f, with_signal);
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
    snprintf(command, sizeof command, "grep -q '\"next\"' %s/index.json", part);
    assert_int_equal(system(command), 0);
    start_memory(f);
    dump_into(f, graph, part, 0);
    snprintf(command, sizeof command, "diff -r %s %s && rm -r %s", whole, part, directory);
    assert_int_equal(system(command), 0);
    assert_int_equal(sigaction(SIGTERM, NULL, &found), 0);
    assert_true(found.sa_handler == handle);
    (void)signal(SIGTERM, SIG_DFL);
    bg_graph_destroy(graph);
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

FIXTURE_TEST(test_body_fails)
{
    bg_graph *graph = capture_pass(f, with_fragile);
    bg_finding finding;
    bg_report *report;
    int count = 0;
    fragile_fails = true;
    EXPECT_OK(bg_step(graph, f->stream, count_all, &count, &report));
    assert_int_equal(count, 1);
    finding = the_finding(report, "fault");
    assert_int_equal(finding.severity, BG_FAULT);
    assert_string_equal(finding.call, "fragile#0");
    expect_in(finding.message, "BG_ERROR_TIMEOUT: op fragile, call fragile#0 at ");
    bg_report_destroy(report);
    fragile_fails = false;
    expect_as_replay(f, graph);
    bg_graph_destroy(graph);
}

static bool again(void *user, const bg_step_info *info)
{
    (void)info;
    EXPECT_STATUS(bg_replay(user, cudaStreamPerThread), BG_ERROR_BUSY);
    return true;
}

FIXTURE_TEST(test_bad_arguments)
{
    bg_graph *graph = capture_pass(f, broken);
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
    bg_graph_destroy(graph);
}

/* While the same thread captures on another stream. */
FIXTURE_TEST(test_beside_a_capture)
{
    bg_graph *graph = capture_pass(f, broken), *second;
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
    bg_graph_destroy(second);
    bg_graph_destroy(graph);
}

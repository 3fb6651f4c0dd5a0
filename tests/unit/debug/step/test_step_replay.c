/* BG_DEBUG=step: every replay steps; stops and dumps by the environment; and each CUDA call failing in turn. */
#include "tests/support/test.h"
#include "examples/llama/generate.h"
#include "tests/support/tools/file_support.h"
#include "tests/support/tools/step_support.h"
#include "tests/support/ops.h"

#include <hostcuda/hostcuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma weak hostcuda_fail
#pragma weak hostcuda_faults
#pragma weak hostcuda_record
#pragma weak hostcuda_calls
#pragma weak hostcuda_call
#pragma weak hostcuda_count_live

static float *elsewhere;

BG_EAGER_OP(move, BG_IN(x), BG_OUT(y))
{
    cudaError_t error = bgk_scale(elsewhere, args->x.data, 3, N, stream);
    args->y.data = elsewhere;
    if (error != cudaSuccess)
        (void)cudaGetLastError(); /* told of by the status */
    return from_cuda(error);
}

/* x is 1: y becomes 2, z 6, y 30, z 60. */
static bg_status pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
    BG_CALL(move, stream, .x = f->y, .y = f->z);
    BG_CALL(scale, stream, .x = f->z, .y = f->y, .factor = 5);
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 2);
}

static int set_up(void **state)
{
    int failed = fixture_setup(state);
    const fixture *f = *state;
    elsewhere = (float *)allocate(N * sizeof(float));
    put(&f->x, 1);
    return failed;
}

static int tear_down(void **state)
{
    unsetenv("BG_STEP_STOP");
    unsetenv("BG_STEP_DUMP");
    EXPECT_CUDA(cudaFree(elsewhere));
    return fixture_teardown(state);
}

static bg_graph *capture(fixture *f, bg_debug debug)
{
    bg_graph *graph = capture_of(pass, f, f->stream, OPTIONS(.debug = debug));
    assert_true(get(&f->z) == 60);
    return graph;
}

static void expect_replays(fixture *f, bg_graph *graph)
{
    for (int i = 0; i < 3; i++) {
        put(&f->x, (float)i);
        EXPECT_OK(bg_replay(graph, f->stream));
        assert_true(get(&f->z) == 60 * (float)i);
    }
    put(&f->x, 1);
}

#define STEP_REPLAY_TEST(name) TEST_F(name, set_up, tear_down, fixture *f)

STEP_REPLAY_TEST(test_every_replay)
{
    OWN_GRAPH(graph, capture(f, BG_DEBUG_STEP));
    assert_int_equal(info_of(graph).steps, 3); /* as without */
    expect_replays(f, graph);
    assert_int_equal(info_of(graph).replays, 3);
    setenv("BG_DEBUG", "step", 1);
    OWN_GRAPH(second, capture(f, BG_DEBUG_FROM_ENV));
    expect_replays(f, second);
    if (hostcuda_calls == NULL)
        return;
    OWN_GRAPH(third, capture(f, BG_DEBUG_FROM_ENV));
    hostcuda_record(1);
    EXPECT_OK(bg_replay(third, f->stream));
    assert_int_equal(hostcuda_calls("cudaGraphLaunch"), 3); /* three kernels; the write-back is a plain copy */
    hostcuda_record(0);
}

static void expect_stop(fixture *f, const char *stop, float y, float z)
{
    setenv("BG_STEP_STOP", stop, 1);
    OWN_GRAPH(graph, capture(f, BG_DEBUG_STEP));
    put(&f->y, 0);
    put(&f->z, 0);
    for (int i = 0; i < 2; i++) {
        EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_STOPPED);
        EXPECT_ERROR("BG_STEP_STOP=");
        EXPECT_ERROR("stopped after index");
        assert_true(get(&f->y) == y && get(&f->z) == z);
    }
    assert_int_equal(info_of(graph).replays, 0);
}

STEP_REPLAY_TEST(test_stop)
{
    expect_stop(f, "scale#0", 2, 0);
    expect_stop(f, "move#0", 2, 0); /* z has it from the next node, the write-back */
    expect_stop(f, "2", 2, 6);
    expect_stop(f, "scale#1", 30, 6);
    setenv("BG_STEP_STOP", "scale#7", 1);
    OWN_GRAPH(graph, capture(f, BG_DEBUG_STEP));
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("BG_STEP_STOP=scale#7: graph runs no call of that name (did you mean scale#");
}

STEP_REPLAY_TEST(test_dump)
{
    char directory[] = "/tmp/breakgraph-step-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/dump", directory);
    setenv("BG_STEP_DUMP", path, 1);
    OWN_GRAPH(graph, capture(f, BG_DEBUG_STEP));
    assert_int_equal(access(path, F_OK), -1); /* not at capture */
    expect_replays(f, graph);                 /* the first one dumps */
    OWN_GRAPH(second, capture(f, BG_DEBUG_STEP));
    expect_replays(f, second);
    assert_int_equal(run_command("test -s %s/index.json", path), 0);
    assert_int_equal(count_files(path), 9);
    assert_int_equal(run_command("rm -r %s", directory), 0);
}

/* What another process has dumped is in the way, of which the capture tells. */
STEP_REPLAY_TEST(test_dump_in_the_way)
{
    char directory[] = "/tmp/breakgraph-step-XXXXXX", path[64];
    bg_graph *graph;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/index.json", directory);
    write_file(path, "", 0);
    setenv("BG_STEP_DUMP", directory, 1);
    EXPECT_STATUS(bg_capture_forward(&graph, pass, f, f->stream, OPTIONS(.debug = BG_DEBUG_STEP)),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("BG_STEP_DUMP: ");
    EXPECT_ERROR("already has an index.json");
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

/* ---- each CUDA call fails once ------------------------------------------------------------------------------------
 */

enum { CALLS_MAX = 1000 };

static bool is_one_of(const char *call, const char *const *names)
{
    while (*names != NULL && strcmp(*names, call) != 0)
        names++;
    return *names != NULL;
}

/* What is lost where these fail: a line on standard error says so. */
static const char *const releases[] = {"cudaFree", "cudaGraphDestroy", "cudaGraphExecDestroy", NULL};
/* Their failure is an answer, or a line on standard error. */
static const char *const answers[] = {"cuFuncGetName",
                                      "cuKernelGetName",
                                      "cuFuncGetParamInfo",
                                      "cuKernelGetParamInfo",
                                      "cuMemGetAddressRange",
                                      "cudaThreadExchangeStreamCaptureMode",
                                      NULL};

static void fail_once(fixture *f, bg_graph *graph, int n, const char *call)
{
    struct hostcuda_live before = hostcuda_count_live(), after;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    bg_report *report = NULL;
    char fault[64];

    put(&f->x, 1);
    snprintf(fault, sizeof fault, "*@%d=cudaErrorInvalidValue", n);
    assert_int_equal(hostcuda_fail(fault), 0);
    bg_status status = bg_step(graph, f->stream, NULL, NULL, &report);
    assert_int_equal(hostcuda_faults(), 1);
    assert_int_equal(hostcuda_fail(NULL), 0);
    if (status == BG_OK && bg_report_count(report) == 0 && !is_one_of(call, answers))
        fail_msg("call %d, %s, failed, and nobody was told", n, call);
    if (status != BG_OK && bg_last_error()[0] == '\0')
        fail_msg("call %d, %s, failed with %s and no sentence", n, call, bg_status_name(status));
    assert_int_equal(report == NULL, status != BG_OK);
    bg_report_destroy(report);
    EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode)); /* may not have been put back */
    if (cudaGetLastError() != cudaSuccess)
        fail_msg("call %d, %s, failed and left CUDA's last error", n, call);
    after = hostcuda_count_live();
    if (after.blocks != before.blocks || after.graphs != before.graphs || after.execs != before.execs)
        fail_msg("call %d, %s, failed, and something leaked", n, call);
    expect_usable(f, f->stream);
    expect_replays(f, graph);
}

STEP_REPLAY_TEST(test_each_call_fails_once)
{
    static char calls[CALLS_MAX][64];
    bg_report *report;
    int count;
    if (hostcuda_fail == NULL) {
        print_message("skipped: failing calls belong to the host device\n");
        skip();
    }
    OWN_GRAPH(graph, capture(f, BG_DEBUG_OFF));
    expect_replays(f, graph); /* the first on a stream makes more calls */
    hostcuda_record(1);
    EXPECT_OK(bg_step(graph, f->stream, NULL, NULL, &report));
    bg_report_destroy(report);
    for (count = 0; hostcuda_call((size_t)count) != NULL; count++) {
        assert_true(count < CALLS_MAX);
        snprintf(calls[count], sizeof calls[count], "%s", hostcuda_call((size_t)count));
    }
    hostcuda_record(0);
    assert_true(count > 60); /* 5 nodes, each made, launched and waited for, and 8 tensors to look at */
    for (int n = 1; n <= count; n++)
        if (!is_one_of(calls[n - 1], releases))
            fail_once(f, graph, n, calls[n - 1]);
}

/* ---- a model ------------------------------------------------------------------------------------------------------
 */

static void generate(llama_model *model, llama_mode mode, bg_debug debug, llama_result *result)
{
    static const int prompt[] = {1, 2, 3};
    const llama_request request = {.mode = mode,
                                   .debug = debug,
                                   .prompt = prompt,
                                   .prompt_count = 3,
                                   .tokens = by_size(2, 8, 8),
                                   .stop = -1,
                                   .keep_logits = true};
    EXPECT_OK(llama_generate(model, &request, result));
}

/* Bit for bit, with cuBLAS nodes: in one graph, and in segments. */
STEP_REPLAY_TEST(test_llama)
{
    static const llama_mode modes[] = {LLAMA_FULL, LLAMA_BREAKABLE};
    llama_weights weights;
    llama_model *model;
    char error[GGUF_ERROR_SIZE];
    assert_int_equal(llama_weights_random(&weights, &llama_small, 1, error), 0);
    EXPECT_OK(llama_create(&model, &weights, 64, f->stream));
    llama_weights_free(&weights);
    for (int i = 0; i < 2; i++) {
        llama_result replayed, stepped;
        generate(model, modes[i], BG_DEBUG_OFF, &replayed);
        generate(model, modes[i], BG_DEBUG_STEP, &stepped);
        assert_int_equal(stepped.graph.segments, replayed.graph.segments);
        assert_int_equal(stepped.steps, replayed.steps);
        assert_memory_equal(stepped.tokens, replayed.tokens, (size_t)replayed.count * sizeof(int));
        assert_memory_equal(stepped.logits, replayed.logits,
                            (size_t)replayed.steps * (size_t)llama_small.vocabulary * sizeof(float));
        llama_result_free(&replayed);
        llama_result_free(&stepped);
    }
    llama_destroy(model);
}

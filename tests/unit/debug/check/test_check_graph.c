/* BG_CHECK=graph: what bg_check finds goes to standard error after a capture, and before replays. BG_CHECK=replay also
 * looks at the nodes. Both after the device has failed. */
#include "tests/support/tools/owned.h"
#include "tests/support/ops.h"
#include "tests/support/kernels/trap.h"

#include <breakgraph/check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = N * sizeof(float) };

/* Its kernel reads memory that no argument shows. */
static float *hidden;
BG_OP(sneak, BG_INOUT(x))
{
    return from_cuda(bgk_add(args->x.data, args->x.data, hidden, N, stream));
}

BG_OP(faulty, BG_IN(armed))
{
    return from_cuda(trap_if(args->armed.data, stream));
}

typedef struct model {
    fixture *f;
    bg_tensor x;
    bool ordered, hides;
    int line;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    fixture *f = m->f;
    bg_status status = bg_stream_wait_stream(f->other, stream);

    if (status == BG_OK)
        status = BG_CALL(scale, f->other, .x = m->x, .y = f->y, .factor = 2);
    if (status == BG_OK && m->ordered)
        status = bg_stream_wait_stream(stream, f->other);
    m->line = __LINE__ + 2;
    if (status == BG_OK)
        status = BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 3);
    if (status == BG_OK && m->hides)
        status = BG_CALL(sneak, stream, .x = f->z);
    return status != BG_OK ? status : bg_stream_wait_stream(stream, f->other);
}

/* ---- what standard error gets ---- */

static FILE *file;
static int kept;

static void begin_listening(void)
{
    file = tmpfile();
    kept = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_true(kept >= 0);
    fflush(stderr);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
}

static const char *end_listening(void)
{
    static char text[8192];

    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

static bg_graph *capture(model *m, const char *check)
{
    bg_graph *graph = NULL;
    assert_int_equal(setenv("BG_CHECK", check, 1), 0);
    EXPECT_OK(bg_capture_forward(&graph, forward, m, m->f->stream, NULL));
    assert_int_equal(unsetenv("BG_CHECK"), 0);
    return graph;
}

/* Returns what the replay writes. */
static const char *replay(model *m, bg_graph *graph, bg_status expected)
{

    begin_listening();
    bg_status status = bg_replay(graph, m->f->stream);
    const char *text = end_listening();
    EXPECT_STATUS(status, expected);
    return text;
}

static float *allocate(void)
{
    float *memory = NULL;
    EXPECT_CUDA(cudaMalloc((void **)&memory, BYTES));
    EXPECT_CUDA(cudaMemset(memory, 0, BYTES));
    EXPECT_CUDA(cudaDeviceSynchronize());
    return memory;
}

/* ---- at the end of a capture ---- */

FIXTURE_TEST(test_capture)
{
    model good = {.f = f, .x = ((fixture *)f)->x, .ordered = true}, bad = good;
    char site[60];

    begin_listening();
    bg_graph *graph = capture(&good, "graph,replay");
    const char *text = end_listening();
    assert_string_equal(text, "");
    for (int i = 0; i < 5; i++)
        assert_string_equal(replay(&good, graph, BG_OK), "");
    bg_graph_destroy(graph);

    bad.ordered = false;
    begin_listening();
    graph = capture(&bad, "replay,graph");
    text = end_listening();
    snprintf(site, sizeof site, "test_check_graph.c:%d", bad.line);
    if (strstr(text, "[race] scale#1") == NULL || strstr(text, site) == NULL)
        fail_msg("%s: %s", site, text);
    assert_string_equal(replay(&bad, graph, BG_OK), ""); /* that is known */
    bg_graph_destroy(graph);
}

/* ---- before replays ---- */

/* Told once, and the replay goes on: graph looks, replay guards. */
FIXTURE_TEST(test_freed)
{
    OWN_MEMORY(float, memory, allocate());
    model m = {.f = f, .x = bg_tensor_1d(memory, BG_F32, N), .ordered = true};
    bg_graph *graph = capture(&m, "graph");

    for (int i = 0; i < 5; i++)
        assert_string_equal(replay(&m, graph, BG_OK), "");
    EXPECT_CUDA(cudaDeviceSynchronize());
    bg_graph_destroy(graph);
    EXPECT_OK(bg_ledger_alloc(memory, BYTES, "weights"));
    graph = capture(&m, "graph");
    EXPECT_OK(bg_ledger_free(memory)); /* its allocator keeps it: a replay may still read it */
    assert_non_null(strstr(replay(&m, graph, BG_OK), "[freed] scale#0"));
    for (int i = 0; i < 5; i++)
        assert_string_equal(replay(&m, graph, BG_OK), "");
    EXPECT_CUDA(cudaDeviceSynchronize());
    bg_graph_destroy(graph);
}

/* Memory that only a node knows. */
FIXTURE_TEST(test_nodes)
{
    model m = {.f = f, .x = ((fixture *)f)->x, .ordered = true, .hides = true};
    float *other = allocate();

    hidden = allocate();
    OWN_GRAPH(graph, capture(&m, "replay"));
    assert_string_equal(replay(&m, graph, BG_OK), "");
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaFree(other)); /* none of the graph's */
    assert_string_equal(replay(&m, graph, BG_OK), "");
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaFree(hidden));
    for (int i = 0; i < 2; i++) { /* each time */
        (void)replay(&m, graph, BG_ERROR_STALE_ADDRESS);
        EXPECT_ERROR("call sneak#0 at ");
        EXPECT_ERROR("[dangling] kernel parameter 2 is ");
    }
}

/* ---- when the device has failed ---- */

static void check_after_fault(void)
{
    float one = 1;
    void *user = NULL;
    bg_report *report = NULL;
    bg_finding finding = BG_FINDING_INIT;

    fixture_setup(&user);
    float *memory = allocate();
    float *armed = allocate();
    model m = (model){.f = user, .x = bg_tensor_1d(memory, BG_F32, N), .ordered = true};
    EXPECT_OK(bg_ledger_alloc(memory, BYTES, "weights"));
    bg_graph *graph = capture(&m, "replay");
    EXPECT_OK(bg_replay(graph, m.f->stream));
    EXPECT_CUDA(cudaMemcpy(armed, &one, sizeof one, cudaMemcpyHostToDevice));
    EXPECT_OK(BG_CALL(faulty, m.f->stream, .armed = bg_tensor_1d(armed, BG_F32, 1)));
    assert_true(cudaDeviceSynchronize() != cudaSuccess);
    EXPECT_STATUS(bg_replay(graph, m.f->stream), BG_ERROR_CUDA); /* nothing is wrong with the graph */
    if (bg_check(graph, BG_CHECK_ALL, &report) == BG_OK) {       /* a driver may answer all the same */
        assert_int_equal(bg_report_count(report), 0);
        bg_report_destroy(report);
    }
    EXPECT_OK(bg_ledger_free(memory));
    EXPECT_OK(bg_check(graph, BG_CHECK_ALL, &report));
    assert_int_equal(bg_report_count(report), 1);
    EXPECT_OK(bg_report_get(report, 0, &finding));
    assert_string_equal(finding.kind, "freed");
    assert_string_equal(finding.call, "scale#0");
    bg_report_destroy(report);
    EXPECT_STATUS(bg_replay(graph, m.f->stream), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("[freed] x of scale#0");
}

/* In a process of its own, since the device is lost with it, and before this one uses the device. */
TEST(test_fault)
{
    int status = 0;

    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        check_after_fault();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("status %x", (unsigned)status);
}

/* BG_CHECK=graph: what bg_check finds goes to standard error after a capture, and before replays. BG_CHECK=replay also
 * looks at the nodes. Both after the device has failed. */
#include "tests/support/tools/checked_graphs.h"
#include "tests/support/kernels/trap.h"

#include <breakgraph/check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

    TRY_BG(bg_stream_wait_stream(f->other, stream));
    TRY_BG(BG_CALL(scale, f->other, .x = m->x, .y = f->y, .factor = 2));
    if (m->ordered)
        TRY_BG(bg_stream_wait_stream(stream, f->other));
    TRY_BG(CALL_AT(m->line, scale, stream, .x = f->y, .y = f->z, .factor = 3));
    if (m->hides)
        TRY_BG(BG_CALL(sneak, stream, .x = f->z));
    return bg_stream_wait_stream(stream, f->other);
}

static bg_graph *capture(model *m, const char *check)
{
    return capture_under("BG_CHECK", check, forward, m, m->f->stream, NULL);
}

static void expect_silent(const model *m, bg_graph *graph, int replays)
{
    assert_string_equal(replays_say(graph, m->f->stream, replays), "");
    EXPECT_CUDA(cudaDeviceSynchronize());
}

/* ---- when the device has failed: first, since its process forks before CUDA is used ---- */

static void check_after_fault(void)
{
    const float one = 1;
    void *user = NULL;
    bg_report *report = NULL;

    fixture_setup(&user);
    char *memory = allocate(BYTES), *armed = allocate(sizeof one);
    model m = {.f = user, .x = check_vector(memory), .ordered = true};
    EXPECT_OK(bg_ledger_alloc(memory, BYTES, "weights"));
    bg_graph *graph = capture(&m, "replay");
    EXPECT_OK(bg_replay(graph, m.f->stream));
    EXPECT_CUDA(cudaMemcpy(armed, &one, sizeof one, cudaMemcpyHostToDevice));
    EXPECT_OK(BG_CALL(faulty, m.f->stream, .armed = bg_tensor_1d(armed, BG_F32, 1)));
    assert_true(cudaDeviceSynchronize() != cudaSuccess);
    EXPECT_STATUS(bg_replay(graph, m.f->stream), BG_ERROR_CUDA); /* nothing is wrong with the graph */
    if (bg_check(graph, BG_CHECK_ALL, &report) == BG_OK)         /* a driver may answer all the same */
        EXPECT_NO_FINDING(report);
    EXPECT_OK(bg_ledger_free(memory));
    EXPECT_FOUND(graph, BG_CHECK_ALL, "freed", "scale#0");
    EXPECT_STATUS(bg_replay(graph, m.f->stream), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("[freed] x of scale#0");
}

/* In a process of its own, since the device is lost with it, and before this one uses the device. */
TEST(test_fault)
{
    EXPECT_CHILD(check_after_fault, 0);
}

/* ---- at the end of a capture ---- */

FIXTURE_TEST(test_capture)
{
    model good = {.f = f, .x = f->x, .ordered = true}, bad = {.f = f, .x = f->x};
    char words[100];

    FILE *errors = keep_errors();
    OWN_GRAPH(graph, capture(&good, "graph,replay"));
    assert_string_equal(errors_said(errors), "");
    expect_silent(&good, graph, 5);

    errors = keep_errors();
    OWN_GRAPH(racing, capture(&bad, "replay,graph"));
    const char *text = errors_said(errors);
    snprintf(words, sizeof words, "[race] scale#1|test_check_graph.c:%d", bad.line);
    EXPECT_IN(text, words);
    expect_silent(&bad, racing, 1); /* that is known */
}

/* ---- before replays ---- */

/* Told once, and the replay goes on: graph looks, replay guards. */
FIXTURE_TEST(test_freed)
{
    OWN_MEMORY(char, memory, allocate(BYTES));
    model m = {.f = f, .x = check_vector(memory), .ordered = true};
    OWN_GRAPH(graph, capture(&m, "graph"));

    expect_silent(&m, graph, 5);
    EXPECT_OK(bg_ledger_alloc(memory, BYTES, "weights"));
    OWN_GRAPH(second, capture(&m, "graph"));
    EXPECT_OK(bg_ledger_free(memory)); /* its allocator keeps it: a replay may still read it */
    EXPECT_IN(replays_say(second, f->stream, 1), "[freed] scale#0");
    expect_silent(&m, second, 5);
}

/* Memory that only a node knows. */
FIXTURE_TEST(test_nodes)
{
    model m = {.f = f, .x = f->x, .ordered = true, .hides = true};
    char *other = allocate(BYTES);

    hidden_memory = (float *)allocate(BYTES);
    OWN_GRAPH(graph, capture(&m, "replay"));
    expect_silent(&m, graph, 1);
    EXPECT_CUDA(cudaFree(other)); /* none of the graph's */
    expect_silent(&m, graph, 1);
    EXPECT_CUDA(cudaFree(hidden_memory));
    for (int i = 0; i < 2; i++) { /* each time */
        EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_STALE_ADDRESS);
        EXPECT_ERROR("call sneak#0 at ");
        EXPECT_ERROR("[dangling] kernel parameter 2 is ");
    }
}

/* Graphs that breakgraph did not capture. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"

#include <breakgraph/step.h>
#include <string.h>

#include "tests/support/kernels/graph_kernels.h"

/* *x += 5, captured by CUDA's own calls. */
static cudaGraph_t capture(cudaStream_t stream, int *x)
{
    cudaGraph_t graph = NULL;
    EXPECT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(gk_add(x, 5, stream));
    EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

#define CAPTURED_SOURCE(name, value) OWN(cudaGraph_t, name, destroy_owned_cuda_graph, value)

static int value_of(const int *x)
{
    int value = 0;
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

FIXTURE_TEST(test_own_exec)
{
    int *x = (int *)f->memory;
    CAPTURED_SOURCE(source, capture(f->stream, x));
    OWNED_EXEC(exec);
    bg_graph *graph;

    EXPECT_CUDA(cudaGraphInstantiate(&exec, source, 0));
    EXPECT_OK(bg_graph_wrap(&graph, source, exec, "theirs"));
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_OK(bg_replay(graph, f->other));
    assert_int_equal(value_of(x), 10);
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaGraphLaunch(exec, f->stream)); /* both are the program's still */
    assert_int_equal(value_of(x), 15);
}

FIXTURE_TEST(test_no_exec)
{
    int *x = (int *)f->memory;
    CAPTURED_SOURCE(source, capture(f->stream, x));
    OWNED_GRAPH(graph);

    EXPECT_OK(bg_graph_wrap(&graph, source, NULL, NULL));
    assert_true(info_of(graph).instantiate_ms == 0);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_OK(bg_replay(graph, f->other));
    assert_int_equal(value_of(x), 15);
    assert_true(info_of(graph).instantiate_ms > 0);
}

FIXTURE_TEST(test_figures)
{
    int *x = (int *)f->memory;
    CAPTURED_SOURCE(source, capture(f->stream, x));
    bg_call_info call = BG_CALL_INFO_INIT;
    OWNED_GRAPH(graph);
    cudaGraphNode_t node;

    EXPECT_OK(bg_graph_wrap(&graph, source, NULL, "theirs"));
    bg_graph_info info = info_of(graph);
    assert_string_equal(info.name, "theirs");
    EXPECT_COUNTS(graph, 1, 0, 1);
    assert_int_equal(info.calls, 0);
    assert_int_equal(info.nodes, 1);
    assert_int_equal(info.kernel_nodes, 1);
    assert_ptr_equal(bg_graph_segment(graph, 0), source);
    EXPECT_STATUS(bg_graph_get_call(graph, 0, &call), BG_ERROR_NOT_FOUND);
    assert_null(bg_graph_args(graph, "x#0", 4));
    EXPECT_CUDA(cudaGraphAddEmptyNode(&node, source, NULL, 0)); /* the program goes on with its graph */
    assert_int_equal(info_of(graph).nodes, 2);
}

__attribute__((noinline)) static cudaGraph_t capture_from_stack(cudaStream_t stream, int *x)
{
    cudaGraph_t graph = NULL;
    volatile int host[4] = {1, 2, 3, 4};
    EXPECT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(cudaMemcpyAsync(x, (const void *)(uintptr_t)host, sizeof host, cudaMemcpyHostToDevice, stream));
    EXPECT_CUDA(gk_add(x, 5, stream));
    EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

/* The report of a graph that is wrapped. */
static bg_report *check_source(cudaGraph_t source)
{
    OWNED_GRAPH(graph);
    bg_report *report = NULL;
    EXPECT_OK(bg_graph_wrap(&graph, source, NULL, "theirs"));
    EXPECT_OK(bg_check(graph, BG_CHECK_NODES | BG_CHECK_HOST_MEMORY, &report));
    return report;
}

FIXTURE_TEST(test_check)
{
    CAPTURED_SOURCE(source, capture_from_stack(f->stream, (int *)f->memory));
    CAPTURED_SOURCE(clean, capture(f->stream, (int *)f->memory));
    EXPECT_FINDING(check_source(source), "stack-copy", "", 0, "each replay reads 16 bytes");
    EXPECT_NO_FINDING(check_source(clean));
}

/* Step and replay do the same, whichever of three nodes the executable graph has disabled. */
FIXTURE_TEST(test_disabled_nodes)
{
    int *x = (int *)f->memory;
    OWNED_CUDA_GRAPH(source);
    OWNED_EXEC(exec);
    OWNED_GRAPH(graph);
    cudaGraphNode_t nodes[3];
    bg_report *report = NULL;
    size_t count = 3;

    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(cudaMemsetAsync(x, 0, sizeof *x, f->stream));
    EXPECT_CUDA(gk_add(x, 5, f->stream));
    EXPECT_CUDA(cudaMemcpyAsync(x + 1, x, sizeof *x, cudaMemcpyDeviceToDevice, f->stream));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &source));
    EXPECT_CUDA(cudaGraphGetNodes(source, nodes, &count));
    EXPECT_CUDA(cudaGraphInstantiate(&exec, source, 0));
    EXPECT_OK(bg_graph_wrap(&graph, source, exec, "theirs"));
    for (unsigned off = 0; off < 8; off++) {
        for (unsigned n = 0; n < 3; n++)
            EXPECT_CUDA(cudaGraphNodeSetEnabled(exec, nodes[n], (off >> n & 1) == 0));
        EXPECT_CUDA(cudaMemsetAsync(x, 1, 2 * sizeof *x, f->stream));
        EXPECT_OK(bg_replay(graph, f->stream));
        int replayed = value_of(x);
        assert_int_equal(replayed, (off & 1 ? 0x01010101 : 0) + (off & 2 ? 0 : 5));
        assert_int_equal(value_of(x + 1), off & 4 ? 0x01010101 : replayed);
        EXPECT_CUDA(cudaMemsetAsync(x, 1, 2 * sizeof *x, f->stream));
        EXPECT_OK(bg_step(graph, f->stream, NULL, NULL, &report));
        assert_int_equal(value_of(x), replayed);
        assert_int_equal(value_of(x + 1), off & 4 ? 0x01010101 : replayed);
        EXPECT_FINDING(report, "from-source", "", 0, "the nodes of theirs ran with the parameters of its source");
    }
}

/* Without an executable graph of the program's there is nothing to note. */
FIXTURE_TEST(test_step_of_own_exec)
{
    int *x = (int *)f->memory;
    CAPTURED_SOURCE(source, capture(f->stream, x));
    bg_report *report = NULL;
    OWNED_GRAPH(graph);

    EXPECT_OK(bg_graph_wrap(&graph, source, NULL, "ours"));
    for (int i = 1; i <= 2; i++) {
        EXPECT_OK(bg_step(graph, f->stream, NULL, NULL, &report));
        EXPECT_NO_FINDING(report);
        assert_int_equal(value_of(x), 5 * i);
    }
}

FIXTURE_TEST(test_arguments)
{
    CAPTURED_SOURCE(source, capture(f->stream, (int *)f->memory));
    OWNED_GRAPH(graph);

    EXPECT_STATUS(bg_graph_wrap(NULL, source, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_FAILS(bg_graph_wrap(&graph, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT, "bg_graph_wrap: source is NULL");
    assert_null(graph);
}

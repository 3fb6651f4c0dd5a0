/* Addresses in nodes whose memory has been freed since the capture. */
#include "tests/support/test.h"
#include "tests/support/tools/checked_graphs.h"

#include <breakgraph/cublas.h>

#include "debug/check/node_pointers.h"
#include "debug/report/report.h"
#include "tests/support/kernels/graph_kernels.h"

enum { NODES = BG_CHECK_NODES | BG_CHECK_HOST_MEMORY };

static int sneak_line;

static bg_graph *capture_sneaks(fixture *f, int calls)
{
    hidden_memory = (float *)allocate(BYTES);
    bg_capture *capture = begin_capture(f->stream, NULL);
    for (int i = 0; i < calls; i++)
        EXPECT_OK(CALL_AT(sneak_line, sneak, f->stream, .x = f->x));
    bg_graph *graph = end_capture(capture);
    EXPECT_OK(bg__recorded_allocations_update(graph));
    return graph;
}

FIXTURE_TEST(test_freed)
{
    OWN_GRAPH(graph, capture_sneaks(f, 1));
    EXPECT_CLEAN(graph, NODES);
    EXPECT_CUDA(cudaFree(hidden_memory));
    EXPECT_FOUND(graph, NODES, "dangling", "sneak#0", sneak_line, "kernel parameter 2 is ");
}

FIXTURE_TEST(test_kept)
{
    OWN_GRAPH(graph, capture_sneaks(f, 1));
    char *other = allocate(BYTES);
    EXPECT_CLEAN(graph, NODES);
    EXPECT_CUDA(cudaFree(other)); /* another's */
    EXPECT_CLEAN(graph, NODES);
    EXPECT_CUDA(cudaFree(hidden_memory));
}

/* Freed, and the next allocation got the same address. */
FIXTURE_TEST(test_reused)
{
    OWN_GRAPH(graph, capture_sneaks(f, 1));
    char *before = (char *)hidden_memory, *kept[16];
    int count = 0;
    EXPECT_CUDA(cudaFree(hidden_memory));
    do
        kept[count] = allocate(BYTES);
    while (kept[count++] != before && count < 16);
    if (kept[count - 1] == before)
        EXPECT_FOUND(graph, NODES, "reused", "sneak#0", sneak_line, "another allocation");
    else
        EXPECT_FOUND(graph, NODES, "dangling", "sneak#0", sneak_line, "was freed after the capture");
    while (count > 0)
        EXPECT_CUDA(cudaFree(kept[--count]));
}

/* Copies and fills hold addresses as well. */
FIXTURE_TEST(test_copies)
{
    char *source = allocate(BYTES), *filled = allocate(BYTES);
    bg_capture *capture = begin_capture(f->stream, NULL);

    EXPECT_CUDA(cudaMemcpyAsync(f->x.data, source, 16, cudaMemcpyDeviceToDevice, f->stream));
    EXPECT_CUDA(cudaMemsetAsync(filled, 0, 16, f->stream));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_CLEAN(graph, NODES); /* the first check remembers, too */
    EXPECT_CUDA(cudaFree(source));
    EXPECT_FOUND(graph, NODES, "dangling", "", 0, "the node's source is");
    EXPECT_CUDA(cudaFree(filled));
    OWN_REPORT(report, check_graph(graph, NODES));
    assert_int_equal(bg_report_count(report), 2);
}

/* Of a library's kernel, by whatever parameters; the workspace, too, is live. */
FIXTURE_TEST(test_cublas)
{
    cublasHandle_t handle;
    bg_tensor a = check_vector(allocate(BYTES));

    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    bg_capture *capture = begin_capture(f->stream, NULL);
    EXPECT_OK(multiply(handle, 1, &a, &f->y, f->stream));
    bg_graph *graph = end_capture(capture);
    EXPECT_OK(bg__recorded_allocations_update(graph));
    EXPECT_CLEAN(graph, NODES);
    EXPECT_CUDA(cudaFree(a.data));
    OWN_REPORT(report, check_graph(graph, NODES));
    EXPECT_EACH(report, "dangling", .address = a.data);
    bg_graph_destroy(graph);
    bg_workspace_release(handle);
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

/* Memory of the graph's own nodes is not the driver's to know before the graph runs. */
FIXTURE_TEST(test_memory_nodes)
{
    bg_capture *capture = begin_capture(f->stream, UNLAUNCHED);
    void *own = NULL;

    EXPECT_CUDA(cudaMallocAsync(&own, BYTES, f->stream));
    EXPECT_CUDA(bgk_scale(own, f->x.data, 2, N, f->stream));
    EXPECT_OK(bg_break(f->stream));
    EXPECT_CUDA(bgk_scale(f->y.data, own, 2, N, f->stream));
    EXPECT_CUDA(cudaFreeAsync(own, f->stream));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_OK(bg__recorded_allocations_update(graph));
    EXPECT_CLEAN(graph, NODES);
    check_replay_times(f, graph, 1);
    EXPECT_CLEAN(graph, NODES);
}

/* Memory of a pool is mapped into a range that is reserved for it all. */
FIXTURE_TEST(test_pool)
{
    bg_pool *pool = NULL, *other = NULL;
    void *block = NULL, *others = NULL;

    EXPECT_OK(bg_pool_create(&pool, NULL));
    EXPECT_OK(bg_pool_alloc(pool, BYTES, &block));
    EXPECT_OK(bg_pool_create(&other, NULL));
    EXPECT_OK(bg_pool_alloc(other, BYTES, &others));
    bg_capture *capture = begin_capture(f->stream, NULL);
    EXPECT_CUDA(bgk_scale(f->x.data, block, 2, N, f->stream));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_CLEAN(graph, NODES);
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    bg_pool_release(other, others);
    bg_pool_destroy(other);
    EXPECT_CLEAN(graph, NODES);
    bg_pool_release(pool, block);
    bg_pool_destroy(pool);
    EXPECT_FINDINGS(check_graph(graph, NODES), FINDING("dangling", .address = block),
                    FINDING(NULL)); /* scale's kernel has its input twice */
}

/* A kernel in a child graph. */
FIXTURE_TEST(test_child)
{
    int *x = (int *)allocate(BYTES), value = 1;
    void *values[] = {&x, &value};
    struct cudaKernelNodeParams params = {.func = (void *)(uintptr_t)gk_add_function(),
                                          .gridDim = {1, 1, 1},
                                          .blockDim = {1, 1, 1},
                                          .kernelParams = values};
    OWNED_CUDA_GRAPH(inner);
    OWNED_CUDA_GRAPH(source);
    OWNED_GRAPH(graph);
    cudaGraphNode_t node;

    EXPECT_CUDA(cudaGraphCreate(&inner, 0));
    EXPECT_CUDA(cudaGraphAddKernelNode(&node, inner, NULL, 0, &params));
    EXPECT_CUDA(cudaGraphCreate(&source, 0));
    EXPECT_CUDA(cudaGraphAddChildGraphNode(&node, source, NULL, 0, inner));
    EXPECT_OK(bg_graph_wrap(&graph, source, NULL, "nested"));
    EXPECT_CLEAN(graph, NODES);
    EXPECT_CUDA(cudaFree(x));
    EXPECT_FOUND(graph, NODES, "dangling", "", 0, "segment 0, node 0, child node 0, kernel ");
}

/* A graph of which the ledger, not a scan, knows what it uses. */
static bg_graph *capture_with(fixture *f, const bg__allocation *known)
{
    bg__allocations *notes = NULL;
    bg_capture *capture = begin_capture(f->stream, NULL);
    EXPECT_OK(BG_CALL(sneak, f->stream, .x = f->x));
    bg_graph *graph = end_capture(capture);
    EXPECT_OK(bg__recorded_allocations_get(graph, &notes));
    EXPECT_OK(bg__allocations_add(notes, known));
    return graph;
}

FIXTURE_TEST(test_expected)
{
    bg__allocation known = {0, BYTES, 1ull << 60}; /* no such id will ever be */

    hidden_memory = (float *)allocate(BYTES);
    known.base = (uintptr_t)hidden_memory;
    OWN_GRAPH(graph, capture_with(f, &known));
    EXPECT_FOUND(graph, NODES, "reused", "sneak#0", 0, "was freed after the capture and belongs to another allocation");
    EXPECT_CUDA(cudaFree(hidden_memory));
    EXPECT_FOUND(graph, NODES, "dangling", "sneak#0", 0, "in memory that was freed after the capture: ");
}

static void check_nodes(bg_graph *graph, bg_report *report)
{
    bg__nodes nodes = {0};
    EXPECT_OK(bg__nodes_read(graph, &nodes));
    EXPECT_OK(bg__check_nodes(graph, &nodes, report));
    bg__nodes_free(&nodes);
}

/* One block is one finding, on the first call that uses it, with the others. */
FIXTURE_TEST(test_several)
{
    OWN_GRAPH(graph, capture_sneaks(f, 6));
    OWNED_REPORT(report);

    EXPECT_CUDA(cudaFree(hidden_memory));
    EXPECT_OK(bg__report_create(&report, "check", "graph"));
    for (int i = 0; i < 2; i++) { /* the second time it is told */
        check_nodes(graph, report);
        assert_int_equal(bg_report_count(report), 1);
    }
    bg_finding finding = finding_of(report, 0);
    assert_string_equal(finding.call, "sneak#0");
    assert_string_equal(finding.others, "sneak#1, sneak#2, sneak#3, sneak#4, sneak#5");
    assert_true(bg__finding_has_call(&finding, "sneak#0"));
    assert_true(bg__finding_has_call(&finding, "sneak#5"));
    assert_false(bg__finding_has_call(&finding, "sneak#6"));
    assert_false(bg__finding_has_call(&finding, "sneak"));
    assert_false(bg__finding_has_call(&finding, ""));
}

/* What another check has said of the call's tensors is not said again, unless it is about another address. */
FIXTURE_TEST(test_told)
{
    OWN_GRAPH(graph, capture_sneaks(f, 1));
    const void *const addresses[] = {hidden_memory, &graph};

    EXPECT_CUDA(cudaFree(hidden_memory));
    for (int i = 0; i < 2; i++) {
        OWNED_REPORT(report);
        EXPECT_OK(bg__report_create(&report, "check", "graph"));
        bg__report_add(report, "freed", BG_FAULT, bg__call_next(bg__graph_root(graph)), addresses[i], "", "told");
        check_nodes(graph, report);
        assert_int_equal(bg_report_count(report), 1 + i);
    }
}

FIXTURE_TEST(test_arguments)
{
    bg_report *report = NULL;
    bg_graph *graph = NULL;
    EXPECT_STATUS(bg_check(NULL, BG_CHECK_NODES | BG_CHECK_HOST_MEMORY, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("graph is NULL");
    assert_null(report);
    EXPECT_STATUS(bg_check(graph, BG_CHECK_NODES | BG_CHECK_HOST_MEMORY, NULL), BG_ERROR_INVALID_ARGUMENT);
}

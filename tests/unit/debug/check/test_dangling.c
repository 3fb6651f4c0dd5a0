/* Addresses in nodes whose memory has been freed since the capture. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"

#include <breakgraph/cublas.h>

#include "debug/check/node_pointers.h"
#include "debug/report/report.h"
#include "tests/support/kernels/graph_kernels.h"

static bg_report *check(bg_graph *graph)
{
    bg_report *report = NULL;
    EXPECT_OK(bg_check(graph, BG_CHECK_NODES | BG_CHECK_HOST_MEMORY, &report));
    return report;
}

/* Its kernel reads memory that no argument shows. */
static float *hidden;
BG_OP(sneak, BG_INOUT(x))
{
    return from_cuda(bgk_add(args->x.data, args->x.data, hidden, N, stream));
}

static float *allocate(void)
{
    float *memory = NULL;
    EXPECT_CUDA(cudaMalloc((void **)&memory, N * sizeof(float)));
    EXPECT_CUDA(cudaMemset(memory, 0, N * sizeof(float)));
    EXPECT_CUDA(cudaDeviceSynchronize());
    return memory;
}

static int sneak_line;

static bg_graph *capture_sneak(fixture *f)
{
    bg_capture *capture = NULL;
    bg_graph *graph = NULL;
    hidden = allocate();
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(CALL_AT(sneak_line, sneak, f->stream, .x = f->x));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_OK(bg__nodes_note(graph));
    return graph;
}

FIXTURE_TEST(test_freed)
{
    OWN_GRAPH(graph, capture_sneak(f));
    EXPECT_NO_FINDING(check(graph));
    EXPECT_CUDA(cudaFree(hidden));
    EXPECT_FINDING(check(graph), "dangling", "sneak#0", sneak_line, "kernel parameter 2 is ");
}

FIXTURE_TEST(test_kept)
{
    OWN_GRAPH(graph, capture_sneak(f));
    float *other = allocate();
    EXPECT_NO_FINDING(check(graph));
    EXPECT_CUDA(cudaFree(other)); /* another's */
    EXPECT_NO_FINDING(check(graph));
    EXPECT_CUDA(cudaFree(hidden));
}

/* Freed, and the next allocation got the same address. */
FIXTURE_TEST(test_reused)
{
    OWN_GRAPH(graph, capture_sneak(f));
    float *before = hidden, *kept[16];
    int count = 0;
    EXPECT_CUDA(cudaFree(hidden));
    do
        kept[count] = allocate();
    while (kept[count++] != before && count < 16);
    if (kept[count - 1] == before)
        EXPECT_FINDING(check(graph), "reused", "sneak#0", sneak_line, "another allocation");
    else
        EXPECT_FINDING(check(graph), "dangling", "sneak#0", sneak_line, "was freed after the capture");
    while (count > 0)
        EXPECT_CUDA(cudaFree(kept[--count]));
}

/* Copies and fills hold addresses as well. */
FIXTURE_TEST(test_copies)
{
    bg_capture *capture = NULL;
    OWNED_GRAPH(graph);
    float *source = allocate(), *filled = allocate();

    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_CUDA(cudaMemcpyAsync(f->x.data, source, 16, cudaMemcpyDeviceToDevice, f->stream));
    EXPECT_CUDA(cudaMemsetAsync(filled, 0, 16, f->stream));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_NO_FINDING(check(graph)); /* the first check remembers, too */
    EXPECT_CUDA(cudaFree(source));
    OWN_REPORT(report, check(graph));
    EXPECT_FINDING(report, "dangling", "", 0, "the node's source is");
    EXPECT_CUDA(cudaFree(filled));
    assert_int_equal(bg_report_count(report = check(graph)), 2);
}

/* Of a library's kernel, by whatever parameters; the workspace, too, is live. */
FIXTURE_TEST(test_cublas)
{
    cublasHandle_t handle;
    const float one = 1, zero = 0;
    bg_capture *capture = NULL;
    bg_graph *graph = NULL;
    float *a = allocate();

    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_OK(bg_cublas_bind(handle, f->stream, NULL));
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    assert_int_equal(
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a, 8, f->x.data, 8, &zero, f->y.data, 8),
        CUBLAS_STATUS_SUCCESS);
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_OK(bg__nodes_note(graph));
    EXPECT_NO_FINDING(check(graph));
    EXPECT_CUDA(cudaFree(a));
    bg_report *report = check(graph);
    assert_true(bg_report_count(report) > 0);
    for (int i = 0; i < bg_report_count(report); i++) {
        bg_finding finding = BG_FINDING_INIT;
        EXPECT_OK(bg_report_get(report, i, &finding));
        assert_string_equal(finding.kind, "dangling");
        assert_ptr_equal(finding.address, a);
    }
    bg_report_destroy(report);
    bg_graph_destroy(graph);
    bg_workspace_release(handle);
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

/* Memory of the graph's own nodes is not the driver's to know before the graph runs. */
FIXTURE_TEST(test_memory_nodes)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture = NULL;
    OWNED_GRAPH(graph);
    void *own = NULL;

    options.launch_segments = false;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
    EXPECT_CUDA(cudaMallocAsync(&own, N * sizeof(float), f->stream));
    EXPECT_CUDA(bgk_scale(own, f->x.data, 2, N, f->stream));
    EXPECT_OK(bg_break(f->stream));
    EXPECT_CUDA(bgk_scale(f->y.data, own, 2, N, f->stream));
    EXPECT_CUDA(cudaFreeAsync(own, f->stream));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_OK(bg__nodes_note(graph));
    EXPECT_NO_FINDING(check(graph));
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    EXPECT_NO_FINDING(check(graph));
}

/* Memory of a pool is mapped into a range that is reserved for it all. */
FIXTURE_TEST(test_pool)
{
    bg_capture *capture = NULL;
    OWNED_GRAPH(graph);
    bg_pool *pool = NULL, *other = NULL;
    void *block = NULL, *others = NULL;
    bg_finding finding = BG_FINDING_INIT;

    EXPECT_OK(bg_pool_create(&pool, NULL));
    EXPECT_OK(bg_pool_alloc(pool, N * sizeof(float), &block));
    EXPECT_OK(bg_pool_create(&other, NULL));
    EXPECT_OK(bg_pool_alloc(other, N * sizeof(float), &others));
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_CUDA(bgk_scale(f->x.data, block, 2, N, f->stream));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_NO_FINDING(check(graph));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    bg_pool_release(other, others);
    bg_pool_destroy(other);
    EXPECT_NO_FINDING(check(graph));
    bg_pool_release(pool, block);
    bg_pool_destroy(pool);
    OWN_REPORT(report, check(graph)); /* scale's kernel has its input twice */
    assert_int_equal(bg_report_count(report), 2);
    EXPECT_OK(bg_report_get(report, 0, &finding));
    assert_string_equal(finding.kind, "dangling");
    assert_ptr_equal(finding.address, block);
}

/* A kernel in a child graph. */
FIXTURE_TEST(test_child)
{
    int *x = (int *)allocate(), value = 1;
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
    EXPECT_NO_FINDING(check(graph));
    EXPECT_CUDA(cudaFree(x));
    EXPECT_FINDING(check(graph), "dangling", "", 0, "segment 0, node 0, child node 0, kernel ");
}

/* A graph of which the ledger, not a scan, knows what it uses. */
static bg_graph *capture_with(fixture *f, const bg__allocation *known)
{
    bg_capture *capture = NULL;
    bg_graph *graph = NULL;
    bg__allocations *notes = NULL;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(sneak, f->stream, .x = f->x));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_OK(bg__nodes_notes(graph, &notes));
    EXPECT_OK(bg__allocations_add(notes, known));
    return graph;
}

FIXTURE_TEST(test_expected)
{
    bg__allocation known = {0, N * sizeof(float), 1ull << 60}; /* no such id will ever be */

    hidden = allocate();
    known.base = (uintptr_t)hidden;
    OWN_GRAPH(graph, capture_with(f, &known));
    EXPECT_FINDING(check(graph), "reused", "sneak#0", 0,
                   "was freed after the capture and belongs to another allocation");
    EXPECT_CUDA(cudaFree(hidden));
    EXPECT_FINDING(check(graph), "dangling", "sneak#0", 0, "in memory that was freed after the capture: ");
}

static void check_nodes(bg_graph *graph, bg_report *report)
{
    bg__nodes nodes = {0};
    EXPECT_OK(bg__nodes_take(graph, &nodes));
    EXPECT_OK(bg__check_nodes(graph, &nodes, report));
    bg__nodes_free(&nodes);
}

/* One block is one finding, on the first call that uses it, with the others. */
FIXTURE_TEST(test_several)
{
    bg_finding finding = BG_FINDING_INIT;
    bg_capture *capture = NULL;
    OWNED_GRAPH(graph);
    OWNED_REPORT(report);

    hidden = allocate();
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    for (int i = 0; i < 6; i++)
        EXPECT_OK(BG_CALL(sneak, f->stream, .x = f->x));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_OK(bg__nodes_note(graph));
    EXPECT_CUDA(cudaFree(hidden));
    EXPECT_OK(bg__report_create(&report, "check", "graph"));
    for (int i = 0; i < 2; i++) { /* the second time it is told */
        check_nodes(graph, report);
        assert_int_equal(bg_report_count(report), 1);
    }
    EXPECT_OK(bg_report_get(report, 0, &finding));
    assert_string_equal(finding.call, "sneak#0");
    assert_string_equal(finding.others, "sneak#1, sneak#2, sneak#3, sneak#4, sneak#5");
    assert_true(bg__finding_is_about(&finding, "sneak#0"));
    assert_true(bg__finding_is_about(&finding, "sneak#5"));
    assert_false(bg__finding_is_about(&finding, "sneak#6"));
    assert_false(bg__finding_is_about(&finding, "sneak"));
    assert_false(bg__finding_is_about(&finding, ""));
}

/* What another check has said of the call's tensors is not said again. */
FIXTURE_TEST(test_told)
{
    OWN_GRAPH(graph, capture_sneak(f));
    bg_finding finding = BG_FINDING_INIT;
    bg_report *report = NULL;

    EXPECT_CUDA(cudaFree(hidden));
    EXPECT_OK(bg__report_create(&report, "check", "graph"));
    bg__report_add(report, "freed", BG_FAULT, bg__call_next(bg__graph_root(graph)), hidden, "", "%s", "told");
    check_nodes(graph, report);
    assert_int_equal(bg_report_count(report), 1);
    bg_report_destroy(report);
    EXPECT_OK(bg__report_create(&report, "check", "graph"));
    bg__report_add(report, "freed", BG_FAULT, bg__call_next(bg__graph_root(graph)), &finding, "", "%s",
                   "another address");
    check_nodes(graph, report);
    assert_int_equal(bg_report_count(report), 2);
    bg_report_destroy(report);
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

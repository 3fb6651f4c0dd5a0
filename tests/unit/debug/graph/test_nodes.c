/* The walk over a graph's nodes: which call, which kernel, which parameters. */
#include "tests/support/tools/finding_support.h"

#include <breakgraph/cublas.h>
#include <string.h>

#include "graph/graph.h"
#include "debug/graph/nodes.h"
#include "tests/support/kernels/graph_kernels.h"

BG_OP(shift, BG_IN(x), BG_INOUT(y), BG_VALUE(float, factor))
{
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream)));
    return from_cuda(bgk_add(args->y.data, args->y.data, args->x.data, N, stream));
}

BG_EAGER_OP(look, BG_INOUT(x))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, 1, N, stream));
}

/* A captured body with inner calls, one of which is a break. */
BG_OP(outer, BG_INOUT(x), BG_INOUT(y), BG_VALUE(bool, broken))
{
    TRY_BG(from_cuda(bgk_fill(args->x.data, 1, N, stream)));
    TRY_BG(BG_CALL(shift, stream, .x = args->x, .y = args->y, .factor = 2));
    if (args->broken)
        TRY_BG(BG_CALL(look, stream, .x = args->y));
    return from_cuda(bgk_fill(args->x.data, 3, N, stream));
}

static const char *call_of(const bg__node *node)
{
    return node->call != NULL ? node->call->name : "";
}

static void expect_label(const bg__nodes *nodes, size_t index, const char *call, const char *begin, const char *in)
{
    char text[256];
    assert_true(index < nodes->count);
    bg__node_label(nodes, &nodes->node[index], text, sizeof text);
    assert_string_equal(call_of(&nodes->node[index]), call);
    if (strncmp(text, begin, strlen(begin)) != 0 || strstr(text, in) == NULL)
        fail_msg("node %zu is \"%s\", expected \"%s...%s\"", index, text, begin, in);
}

FIXTURE_TEST(test_calls)
{
    bg__nodes nodes;

    bg_capture *capture = begin_capture(f->stream, NULL);
    EXPECT_CUDA(bgk_fill(f->x.data, 1, N, f->stream));
    EXPECT_OK(BG_CALL(shift, f->stream, .x = f->x, .y = f->y, .factor = 2));
    EXPECT_OK(BG_CALL(outer, f->stream, .x = f->x, .y = f->y, .broken = true));
    EXPECT_CUDA(cudaMemsetAsync(f->y.data, 0, N, f->stream));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_OK(bg__nodes_read(graph, &nodes));
    assert_int_equal(nodes.count, 8);
    expect_label(&nodes, 0, "", "segment 0, node 0, kernel ", "fill");
    expect_label(&nodes, 1, "shift#0", "segment 0, node 1, kernel ", "product>(float4*");
    expect_label(&nodes, 2, "shift#0", "segment 0, node 2, kernel ", "sum");
    expect_label(&nodes, 3, "outer#0", "segment 0, node 3, kernel ", "fill");
    expect_label(&nodes, 4, "outer#0/shift#0", "segment 0, node 4, kernel ", "product");
    expect_label(&nodes, 5, "outer#0/shift#0", "segment 0, node 5, kernel ", "sum");
    expect_label(&nodes, 6, "outer#0", "segment 1, node 0, kernel ", "fill");
    expect_label(&nodes, 7, "", "segment 1, node 1, memset", "");
    bg__nodes_free(&nodes);
}

/* What bare kernels on other streams made between two calls is neither call's. */
FIXTURE_TEST(test_calls_on_streams)
{
    OWNED_STREAM(side);
    bg__nodes nodes;

    EXPECT_CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    bg_capture *capture = begin_capture(f->stream, NULL);
    EXPECT_OK(bg_stream_wait_stream(side, f->stream));
    EXPECT_OK(BG_CALL(shift, f->stream, .x = f->x, .y = f->y, .factor = 2));
    EXPECT_CUDA(bgk_fill(f->z.data, 1, N, side));
    EXPECT_OK(BG_CALL(shift, f->stream, .x = f->x, .y = f->y, .factor = 3));
    EXPECT_CUDA(bgk_fill(f->x.data, 1, N, f->stream));
    EXPECT_OK(BG_CALL(shift, side, .x = f->z, .y = f->z, .factor = 4));
    EXPECT_OK(bg_stream_wait_stream(f->stream, side));
    EXPECT_OK(BG_CALL(shift, f->stream, .x = f->z, .y = f->y, .factor = 5));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_OK(bg__nodes_read(graph, &nodes));
    assert_int_equal(nodes.count, 10);
    expect_label(&nodes, 0, "shift#0", "segment 0, node 0, kernel ", "product");
    expect_label(&nodes, 1, "shift#0", "segment 0, node 1, kernel ", "sum");
    expect_label(&nodes, 2, "", "segment 0, node 2, kernel ", "fill");
    expect_label(&nodes, 3, "shift#1", "segment 0, node 3, kernel ", "product");
    expect_label(&nodes, 4, "shift#1", "segment 0, node 4, kernel ", "sum");
    expect_label(&nodes, 5, "", "segment 0, node 5, kernel ", "fill");
    expect_label(&nodes, 6, "shift#2", "segment 0, node 6, kernel ", "product");
    expect_label(&nodes, 7, "shift#2", "segment 0, node 7, kernel ", "sum");
    expect_label(&nodes, 8, "shift#3", "segment 0, node 8, kernel ", "product");
    expect_label(&nodes, 9, "shift#3", "segment 0, node 9, kernel ", "sum");
    bg__nodes_free(&nodes);
}

/* Of both forms, the same places and values. */
FIXTURE_TEST(test_parameters)
{
    int *x = (int *)f->memory;
    struct gk_parameters packed = {x, 9};
    size_t bytes = offsetof(struct gk_parameters, value) + sizeof(int);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    struct cudaKernelNodeParams params = {
        .func = (void *)(uintptr_t)gk_add_function(), .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .extra = extra};
    int value = 9;
    void *one_by_one[] = {&x, &value};
    OWNED_CUDA_GRAPH(source);
    cudaGraphNode_t node;
    bg_graph graph = {.name = (char *)(uintptr_t) "two forms", .segment_count = 1};
    bg__segment segment = {.nodes = 2};
    bg__nodes nodes;

    EXPECT_CUDA(cudaGraphCreate(&source, 0));
    EXPECT_CUDA(cudaGraphAddKernelNode(&node, source, NULL, 0, &params));
    params.extra = NULL;
    params.kernelParams = one_by_one;
    EXPECT_CUDA(cudaGraphAddKernelNode(&node, source, NULL, 0, &params));
    segment.graph = source;
    graph.segments = &segment;
    EXPECT_OK(bg__nodes_read(&graph, &nodes));
    assert_int_equal(nodes.count, 2);
    for (int i = 0; i < 2; i++) {
        bg__parameter parameter;
        int found;
        assert_true((nodes.node[i].of.launch.kernelParams == NULL) == (i == 0));
        assert_true(bg__node_parameter(&nodes.node[i], 0, &parameter));
        assert_int_equal(parameter.offset, 0);
        assert_int_equal(parameter.bytes, sizeof x);
        assert_memory_equal(parameter.value, &x, sizeof x);
        assert_true(bg__node_parameter(&nodes.node[i], 1, &parameter));
        assert_int_equal(parameter.offset, offsetof(struct gk_parameters, value));
        assert_int_equal(parameter.bytes, sizeof value);
        memcpy(&found, parameter.value, sizeof found);
        assert_int_equal(found, 9);
        assert_false(bg__node_parameter(&nodes.node[i], 2, &parameter));
        assert_false(bg__node_parameter(&nodes.node[i], -1, &parameter));
    }
    bg__nodes_free(&nodes);
}

static void expect_end(bool is_there, const bg__node_range *end, const void *address, size_t bytes)
{
    assert_true(is_there);
    assert_ptr_equal(end->address, address);
    assert_int_equal(end->bytes, bytes);
}

FIXTURE_TEST(test_copies)
{
    static float host[4 * N];
    char *device = (char *)f->memory;
    struct cudaMemcpy3DParms box = {.srcPtr = {host, 16, 16, 4},
                                    .dstPtr = {device, 16, 16, 4},
                                    .extent = {8, 2, 3},
                                    .kind = cudaMemcpyHostToDevice};
    bg__nodes nodes;
    bg__node_range end;

    box.srcPos = (struct cudaPos){4, 1, 1};
    bg_capture *capture = begin_capture(f->stream, NULL);
    EXPECT_CUDA(cudaMemcpyAsync(device, host, 40, cudaMemcpyHostToDevice, f->stream));
    EXPECT_CUDA(cudaMemcpy2DAsync(host, 64, device, 32, 16, 3, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaMemcpy3DAsync(&box, f->stream));
    EXPECT_CUDA(cudaMemsetAsync(device, 5, 100, f->stream));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_OK(bg__nodes_read(graph, &nodes));
    assert_int_equal(nodes.count, 4);
    expect_end(bg__memcpy_node_range(&nodes.node[0], BG__SOURCE, &end), &end, host, 40);
    expect_end(bg__memcpy_node_range(&nodes.node[1], BG__DESTINATION, &end), &end, host, 2 * 64 + 16);
    expect_end(bg__memcpy_node_range(&nodes.node[1], BG__SOURCE, &end), &end, device, 2 * 32 + 16);
    expect_end(bg__memcpy_node_range(&nodes.node[2], BG__SOURCE, &end), &end, (char *)host + 4 + 16 + 64,
               2 * 64 + 16 + 8);
    assert_false(bg__memcpy_node_range(&nodes.node[3], BG__SOURCE, &end));
    expect_end(bg__memset_node_range(&nodes.node[3], &end), &end, device, 100);
    bg__nodes_free(&nodes);
}

/* A child graph in a child graph. */
FIXTURE_TEST(test_children)
{
    int *x = (int *)f->memory, value = 1;
    void *values[] = {&x, &value};
    struct cudaKernelNodeParams params = {.func = (void *)(uintptr_t)gk_add_function(),
                                          .gridDim = {1, 1, 1},
                                          .blockDim = {1, 1, 1},
                                          .kernelParams = values};
    OWNED_CUDA_GRAPH(inner);
    OWNED_CUDA_GRAPH(middle);
    OWNED_CUDA_GRAPH(source);
    cudaGraphNode_t node;
    bg__segment segment = {.nodes = 1};
    bg_graph graph = {.name = (char *)(uintptr_t) "nested", .segment_count = 1, .segments = &segment};
    bg__nodes nodes;

    EXPECT_CUDA(cudaGraphCreate(&inner, 0));
    EXPECT_CUDA(cudaGraphAddKernelNode(&node, inner, NULL, 0, &params));
    EXPECT_CUDA(cudaGraphCreate(&middle, 0));
    EXPECT_CUDA(cudaGraphAddKernelNode(&node, middle, NULL, 0, &params));
    EXPECT_CUDA(cudaGraphAddChildGraphNode(&node, middle, NULL, 0, inner));
    EXPECT_CUDA(cudaGraphCreate(&source, 0));
    EXPECT_CUDA(cudaGraphAddChildGraphNode(&node, source, NULL, 0, middle));
    segment.graph = source;
    EXPECT_OK(bg__nodes_read(&graph, &nodes));
    assert_int_equal(nodes.count, 4);
    expect_label(&nodes, 0, "", "segment 0, node 0, child graph", "");
    expect_label(&nodes, 1, "", "segment 0, node 0, child node 0, kernel ", "gk_add");
    expect_label(&nodes, 2, "", "segment 0, node 0, child node 1, child graph", "");
    expect_label(&nodes, 3, "", "segment 0, node 0, child node 1, child node 0, kernel ", "gk_add");
    bg__nodes_free(&nodes);
}

/* A library's kernel, whatever form its parameters have: the operands are among its words. */
FIXTURE_TEST(test_cublas)
{
    cublasHandle_t handle;
    bg__nodes nodes;
    bool seen = false;

    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    bg_capture *capture = begin_capture(f->stream, NULL);
    EXPECT_OK(multiply(handle, 1, &f->x, &f->y, f->stream));
    bg_graph *graph = end_capture(capture);
    EXPECT_OK(bg__nodes_read(graph, &nodes));
    assert_true(nodes.count > 0);
    for (size_t i = 0; i < nodes.count; i++) {
        bg__parameter parameter;
        assert_true(nodes.node[i].known);
        for (int p = 0; bg__node_parameter(&nodes.node[i], p, &parameter); p++)
            for (size_t at = 0; at + sizeof(void *) <= parameter.bytes; at += sizeof(void *))
                seen |= memcmp((const char *)parameter.value + at, &f->x.data, sizeof(void *)) == 0;
    }
    assert_true(seen);
    bg__nodes_free(&nodes);
    bg_graph_destroy(graph);
    bg_workspace_release(handle);
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

/* The copy of an eager op's output is the eager call's. */
BG_EAGER_OP(elsewhere, BG_IN(x), BG_OUT(y))
{
    TRY_BG(bg_scratch(args, N * sizeof(float), &args->y.data));
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

FIXTURE_TEST(test_writeback)
{
    bg__nodes nodes;

    bg_capture *capture = begin_capture(f->stream, NULL);
    EXPECT_OK(BG_CALL(elsewhere, f->stream, .x = f->x, .y = f->y));
    EXPECT_OK(BG_CALL(shift, f->stream, .x = f->x, .y = f->y, .factor = 2));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_OK(bg__nodes_read(graph, &nodes));
    assert_int_equal(nodes.count, 3);
    expect_label(&nodes, 0, "elsewhere#0", "segment 0, node 0, kernel", "move_rows");
    assert_true(nodes.node[0].writeback);
    expect_label(&nodes, 1, "shift#0", "segment 0, node 1, kernel", "product");
    assert_false(nodes.node[1].writeback);
    bg__nodes_free(&nodes);
}

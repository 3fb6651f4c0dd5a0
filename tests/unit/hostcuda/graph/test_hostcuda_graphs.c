/* Nodes of every kind: made by hand, asked for, set, and run. Public calls alone: runs on both devices. */
#include "tests/support/cuda_support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/kernels/graph_kernels.h"

SHARED_STREAM(stream, cudaStreamNonBlocking);
SHARED_MEMORY(int, x, 64);

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, int value)
{
    cudaGraphNode_t node = NULL;
    void *arguments[] = {&x, &value};
    const struct cudaKernelNodeParams params = {
        (void *)(uintptr_t)gk_add_function(), {1, 1, 1}, {1, 1, 1}, 0, arguments, NULL};
    OK(cudaGraphAddKernelNode(&node, graph, after, after ? 1 : 0, &params));
    return node;
}

static void set_x(int value)
{
    OK(cudaMemcpy(x, &value, sizeof value, cudaMemcpyHostToDevice));
}

static void clear_x(void)
{
    OK(cudaMemset(x, 0, 64 * sizeof *x));
    OK(cudaDeviceSynchronize()); /* the stream does not wait for the legacy stream */
}

static int launch(cudaGraphExec_t exec)
{
    OK(cudaGraphLaunch(exec, stream));
    return read_int(x, stream);
}

static void run_once(cudaGraph_t graph)
{
    EXEC_OF(exec, graph);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
}

/* ---- copies and fills ------------------------------------------------------------------------------------------- */

/* The middle 2 x 2 x 2 ints of a cube of 4. */
static struct cudaMemcpy3DParms inner_cube(int *to, int *from, enum cudaMemcpyKind kind)
{
    const struct cudaPos corner = {sizeof(int), 1, 1};
    const size_t row = 4 * sizeof(int);
    return (struct cudaMemcpy3DParms){.srcPtr = {from, row, row, 4},
                                      .dstPtr = {to, row, row, 4},
                                      .srcPos = corner,
                                      .dstPos = corner,
                                      .extent = {2 * sizeof(int), 2, 2},
                                      .kind = kind};
}

static void expect_cube(const int *got)
{
    for (int i = 0; i < 64; i++) {
        int place[] = {i % 4, i / 4 % 4, i / 16}, inside = 1;
        for (int k = 0; k < 3; k++)
            inside &= place[k] == 1 || place[k] == 2;
        assert_int_equal(got[i], inside ? i : 0);
    }
}

static const int *contents(void)
{
    static int got[64];
    OK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    return got;
}

static void count_from_0(int host[64])
{
    for (int i = 0; i < 64; i++)
        host[i] = i;
}

TEST(test_copy_of_a_box)
{
    int host[64];
    cudaGraphNode_t node = NULL;
    NEW_GRAPH(graph);
    count_from_0(host);
    clear_x();
    struct cudaMemcpy3DParms params = inner_cube(x, host, cudaMemcpyHostToDevice), asked;
    OK(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &params));
    assert_int_equal(type_of(node), cudaGraphNodeTypeMemcpy);
    OK(cudaGraphMemcpyNodeGetParams(node, &asked));
    assert_int_equal(asked.extent.width, 2 * sizeof(int));
    assert_int_equal(asked.extent.height, 2);
    assert_int_equal(asked.extent.depth, 2);
    assert_int_equal(asked.kind, cudaMemcpyHostToDevice);
    run_once(graph);
    expect_cube(contents());
    /* what was asked for makes the same node again */
    OK(cudaGraphMemcpyNodeSetParams(node, &asked));
    clear_x();
    run_once(graph);
    expect_cube(contents());
}

TEST(test_plain_box)
{
    int host[64], got[64] = {0};
    count_from_0(host);
    clear_x();
    struct cudaMemcpy3DParms there = inner_cube(x, host, cudaMemcpyHostToDevice);
    struct cudaMemcpy3DParms back = inner_cube(got, x, cudaMemcpyDeviceToHost);
    OK(cudaMemcpy3D(&there));
    OK(cudaMemcpy3DAsync(&back, stream));
    OK(cudaStreamSynchronize(stream));
    expect_cube(got);
    EXPECT_INVALID(cudaMemcpy3D(NULL));
}

TEST(test_fill_of_rows)
{
    cudaGraphNode_t node = NULL;
    NEW_GRAPH(graph);
    struct cudaMemsetParams params = {x + 1, 8 * sizeof *x, 7, 4, 2, 3}, asked;
    clear_x();
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphMemsetNodeGetParams(node, &asked));
    assert_int_equal(asked.pitch, 8 * sizeof *x);
    assert_int_equal(asked.elementSize, 4);
    assert_int_equal(asked.height, 3);
    run_once(graph);
    const int *got = contents();
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], i < 24 && (i % 8 == 1 || i % 8 == 2) ? 7 : 0);
    params.value = 9;
    params.height = 1;
    OK(cudaGraphMemsetNodeSetParams(node, &params));
    run_once(graph);
    assert_int_equal(contents()[1], 9);
    assert_int_equal(contents()[9], 7);
    params.elementSize = 3;
    EXPECT_INVALID(cudaGraphMemsetNodeSetParams(node, &params));
}

TEST(test_plain_fill_of_rows)
{
    unsigned char got[64];
    clear_x();
    OK(cudaMemset2D(x, 16, 5, 3, 4));
    OK(cudaDeviceSynchronize());
    OK(cudaMemset2DAsync((char *)x + 8, 16, 6, 2, 2, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) {
        int column = i % 16, row = i / 16;
        int six = row < 2 && (column == 8 || column == 9);
        assert_int_equal(got[i], column < 3 ? 5 : six ? 6 : 0);
    }
    EXPECT_INVALID(cudaMemset2D(x, 2, 5, 3, 4)); /* rows longer than the pitch */
}

/* ---- host, event, empty, child ---------------------------------------------------------------------------------- */

static void add_ten_to(void *user)
{
    *(int *)user += 10;
}

TEST(test_host_node)
{
    int count = 0;
    cudaGraphNode_t node = NULL;
    struct cudaHostNodeParams params = {count_up, &count}, asked;
    NEW_GRAPH(graph);
    OK(cudaGraphAddHostNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphHostNodeGetParams(node, &asked));
    assert_true(asked.fn == count_up);
    assert_ptr_equal(asked.userData, &count);
    EXEC_OF(exec, graph);
    launch(exec);
    assert_int_equal(count, 1);
    params.fn = add_ten_to;
    OK(cudaGraphExecHostNodeSetParams(exec, node, &params));
    launch(exec);
    assert_int_equal(count, 11);
    OK(cudaGraphHostNodeSetParams(node, &params));
    run_once(graph);
    assert_int_equal(count, 21);
}

TEST(test_event_nodes)
{
    OWNED_EVENT(event);
    OWNED_EVENT(other);
    cudaEvent_t asked = NULL;
    cudaGraphNode_t record = NULL, wait = NULL;
    NEW_GRAPH(graph);
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    cudaGraphNode_t kernel = add_kernel(graph, NULL, 1);
    OK(cudaGraphAddEventRecordNode(&record, graph, &kernel, 1, event));
    assert_int_equal(type_of(record), cudaGraphNodeTypeEventRecord);
    OK(cudaGraphEventRecordNodeGetEvent(record, &asked));
    assert_ptr_equal(asked, event);
    OK(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, other));
    assert_int_equal(type_of(wait), cudaGraphNodeTypeWaitEvent);
    OK(cudaGraphEventWaitNodeGetEvent(wait, &asked));
    assert_ptr_equal(asked, other);
    OK(cudaGraphEventWaitNodeSetEvent(wait, event));
    OK(cudaGraphEventWaitNodeGetEvent(wait, &asked));
    assert_ptr_equal(asked, event);
    EXPECT_INVALID(cudaGraphEventRecordNodeGetEvent(kernel, &asked));
    EXEC_OF(exec, graph);
    set_x(0);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaEventSynchronize(event)); /* the graph records it */
    assert_int_equal(read_int(x, stream), 1);
    OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, other));
    OK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, other));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaEventSynchronize(other));
    assert_int_equal(read_int(x, stream), 2);
    OK(cudaGraphEventRecordNodeSetEvent(record, other));
}

TEST(test_child_graph)
{
    NEW_GRAPH(graph);
    cudaGraph_t child = new_graph(), held = NULL;
    cudaGraphNode_t node = NULL, inner[2];
    size_t count = 2;
    add_kernel(child, NULL, 10);
    cudaGraphNode_t first = add_kernel(graph, NULL, 1);
    OK(cudaGraphAddChildGraphNode(&node, graph, &first, 1, child));
    add_kernel(graph, &node, 100);
    assert_int_equal(type_of(node), cudaGraphNodeTypeGraph);
    add_kernel(child, NULL, 1000); /* the node has its own copy */
    OK(cudaGraphChildGraphNodeGetGraph(node, &held));
    assert_ptr_not_equal(held, child);
    assert_int_equal(nodes_of(held), 1);
    OK(cudaGraphGetNodes(held, inner, &count));
    assert_int_equal(type_of(inner[0]), cudaGraphNodeTypeKernel);
    OK(cudaGraphDestroy(child));
    EXEC_OF(exec, graph);
    set_x(0);
    assert_int_equal(launch(exec), 111);
    NEW_GRAPH(other);
    add_kernel(other, NULL, 20);
    OK(cudaGraphExecChildGraphNodeSetParams(exec, node, other));
    assert_int_equal(launch(exec), 232);
    add_kernel(other, NULL, 20);
    EXPECT_CODE(cudaGraphExecChildGraphNodeSetParams(exec, node, other), cudaErrorGraphExecUpdateFailure);
    assert_int_equal(launch(exec), 353);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static struct cudaMemAllocNodeParams of_bytes(size_t bytes)
{
    return (struct cudaMemAllocNodeParams){
        .poolProps = {.allocType = cudaMemAllocationTypePinned, .location = {.type = cudaMemLocationTypeDevice}},
        .bytesize = bytes};
}

TEST(test_memory_nodes)
{
    NEW_GRAPH(graph);
    cudaGraph_t clone = NULL;
    cudaGraphNode_t allocate = NULL, fill = NULL, copy = NULL, release = NULL;
    cudaGraphExec_t second = NULL;
    struct cudaMemAllocNodeParams params = of_bytes(64), asked;
    const struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice},
                                             .flags = cudaMemAccessFlagsProtReadWrite};
    void *address = NULL;
    params.accessDescs = &access;
    params.accessDescCount = 1;
    OK(cudaGraphAddMemAllocNode(&allocate, graph, NULL, 0, &params));
    assert_non_null(params.dptr);
    OK(cudaGraphMemAllocNodeGetParams(allocate, &asked));
    assert_ptr_equal(asked.dptr, params.dptr);
    assert_true(asked.bytesize >= 64);
    assert_int_equal(asked.accessDescCount, 1);
    assert_ptr_not_equal(asked.accessDescs, &access);
    assert_int_equal(asked.accessDescs[0].location.type, access.location.type);
    assert_int_equal(asked.accessDescs[0].flags, access.flags);
    struct cudaMemsetParams bytes = {params.dptr, 64, 0x11, 1, 64, 1};
    OK(cudaGraphAddMemsetNode(&fill, graph, &allocate, 1, &bytes));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &fill, 1, x, params.dptr, 64, cudaMemcpyDeviceToDevice));
    OK(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, params.dptr));
    OK(cudaGraphMemFreeNodeGetParams(release, &address));
    assert_ptr_equal(address, params.dptr);
    assert_int_equal(type_of(allocate), cudaGraphNodeTypeMemAlloc);
    assert_int_equal(type_of(release), cudaGraphNodeTypeMemFree);
    EXPECT_CODE(cudaGraphClone(&clone, graph), cudaErrorNotSupported);
    EXPECT_CODE(cudaGraphDestroyNode(release), cudaErrorNotSupported);
    EXEC_OF(exec, graph);
    EXPECT_CODE(cudaGraphInstantiate(&second, graph, 0), cudaErrorNotSupported);
    assert_int_equal(launch(exec), 0x11111111);
    set_x(0);
    assert_int_equal(launch(exec), 0x11111111);
}

/* What a graph leaves allocated belongs to the program until it frees it, or the next launch does. */
TEST(test_memory_that_stays)
{
    NEW_GRAPH(graph);
    cudaGraphNode_t allocate = NULL, fill = NULL;
    cudaGraphExec_t exec = NULL;
    unsigned long long flags = 0;
    struct cudaMemAllocNodeParams params = of_bytes(64);
    OK(cudaGraphAddMemAllocNode(&allocate, graph, NULL, 0, &params));
    struct cudaMemsetParams bytes = {params.dptr, 64, 0x22, 1, 64, 1};
    OK(cudaGraphAddMemsetNode(&fill, graph, &allocate, 1, &bytes));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    assert_int_equal(read_int(params.dptr, stream), 0x22222222);
    EXPECT_INVALID(cudaGraphLaunch(exec, stream));
    OK(cudaFreeAsync(params.dptr, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaFreeAsync(params.dptr, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphExecGetFlags(exec, &flags));
    assert_int_equal(flags, cudaGraphInstantiateFlagAutoFreeOnLaunch);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    assert_int_equal(read_int(params.dptr, stream), 0x22222222);
    OK(cudaFreeAsync(params.dptr, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
}

/* A graph that frees is made anew each time, while the launch of the one before it may still wait. */
TEST(test_memory_freed_by_new_graphs)
{
    NEW_GRAPH(graph);
    cudaGraphNode_t allocate = NULL, release = NULL;
    struct cudaMemAllocNodeParams params = of_bytes(64);
    OK(cudaGraphAddMemAllocNode(&allocate, graph, NULL, 0, &params));
    EXEC_OF(exec, graph);
    for (int i = 0; i < 3; i++) {
        NEW_GRAPH(other);
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaGraphAddMemFreeNode(&release, other, NULL, 0, params.dptr));
        EXPECT_INVALID(cudaGraphAddMemFreeNode(&release, other, NULL, 0, params.dptr));
        EXEC_OF(freeing, other);
        OK(cudaGraphLaunch(freeing, stream));
    }
    OK(cudaStreamSynchronize(stream));
}

/* ---- any node ---------------------------------------------------------------------------------------------------- */

TEST(test_any_node)
{
    int value = 4;
    void *arguments[] = {&x, &value};
    cudaGraphNode_t fill = NULL, kernel = NULL, empty = NULL;
    struct cudaGraphNodeParams none = {.type = cudaGraphNodeTypeEmpty}, three = {.type = cudaGraphNodeTypeMemset},
                               params = {.type = cudaGraphNodeTypeKernel};
    three.memset = (struct cudaMemsetParamsV2){.dst = x, .value = 3, .elementSize = 4, .width = 1, .height = 1};
    params.kernel = (struct cudaKernelNodeParamsV2){.func = (void *)(uintptr_t)gk_multiply_function(),
                                                    .gridDim = {1, 1, 1},
                                                    .blockDim = {1, 1, 1},
                                                    .kernelParams = arguments};
    NEW_GRAPH(graph);
    OK(cudaGraphAddNode(&fill, graph, NULL, NULL, 0, &three));
    OK(cudaGraphAddNode(&kernel, graph, &fill, NULL, 1, &params));
    EXEC_OF(exec, graph);
    assert_int_equal(launch(exec), 12);
    value = 5;
    OK(cudaGraphExecNodeSetParams(exec, kernel, &params));
    assert_int_equal(launch(exec), 15);
    value = 6;
    OK(cudaGraphNodeSetParams(kernel, &params));
    run_once(graph);
    assert_int_equal(read_int(x, stream), 18);
    EXPECT_INVALID(cudaGraphNodeSetParams(fill, &params)); /* another kind */
    OK(cudaGraphAddNode(&empty, graph, &kernel, NULL, 1, &none));
    assert_int_equal(type_of(empty), cudaGraphNodeTypeEmpty);
}

/* Kinds of nodes that the host device lacks are told from kinds that do not exist. */
TEST(test_nodes_not_implemented)
{
    static const enum cudaGraphNodeType types[] = {cudaGraphNodeTypeExtSemaphoreSignal,
                                                   cudaGraphNodeTypeExtSemaphoreWait, cudaGraphNodeTypeConditional};
    cudaGraphNode_t node = NULL;
    struct cudaGraphNodeParams params = {0};
    skip_unless(on_host_device(), "a GPU has them");
    NEW_GRAPH(graph);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        params.type = types[i];
        EXPECT_CODE(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params), cudaErrorNotSupported);
    }
    params.type = (enum cudaGraphNodeType)99;
    EXPECT_INVALID(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
#if CUDART_VERSION >= 12090
    params.type = cudaGraphNodeTypeGraph; /* a child is cloned, not moved */
    params.graph.graph = new_graph();
    params.graph.ownership = cudaGraphChildGraphOwnershipMove;
    EXPECT_CODE(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params), cudaErrorNotSupported);
    OK(cudaGraphDestroy(params.graph.graph));
#else
    print_message("not tested: CUDA 12.8's headers know no owner of a child graph\n");
#endif
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

TEST(test_dot)
{
    char path[] = "/tmp/graph_XXXXXX", text[8192];
    NEW_GRAPH(graph);
    cudaGraphNode_t empty = NULL;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    cudaGraphNode_t kernel = add_kernel(graph, NULL, 1);
    OK(cudaGraphAddEmptyNode(&empty, graph, &kernel, 1));
    OK(cudaGraphDebugDotPrint(graph, path, 0));
    ssize_t length = read(descriptor, text, sizeof text - 1);
    assert_true(length > 0);
    text[length] = '\0';
    assert_memory_equal(text, "digraph", 7);
    assert_non_null(strstr(text, "gk_add_kernel"));
    assert_non_null(strstr(text, "->"));
    EXPECT_INVALID(cudaGraphDebugDotPrint(graph, NULL, 0));
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(unlink(path), 0);
}

TEST_GROUP(make_shared, drop_shared);

/* Nodes of every kind: made by hand, asked for, set, and run. Public calls alone: runs on both devices. */
#include "tests/support/cuda_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/kernels/graph_kernels.h"

static cudaStream_t stream;
static int *x; /* 64 ints */

static int setup(void **state)
{
    (void)state;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    x = device_memory(64 * sizeof *x);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(x));
    return 0;
}

static cudaGraph_t new_graph(void)
{
    cudaGraph_t graph = NULL;
    OK(cudaGraphCreate(&graph, 0));
    return graph;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, int value)
{
    cudaGraphNode_t node = NULL;
    void *arguments[] = {&x, &value};
    struct cudaKernelNodeParams params;
    memset(&params, 0, sizeof params);
    params.func = (void *)(uintptr_t)gk_add_function();
    params.gridDim = params.blockDim = (dim3){1, 1, 1};
    params.kernelParams = arguments;
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
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
}

static enum cudaGraphNodeType type_of(cudaGraphNode_t node)
{
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    OK(cudaGraphNodeGetType(node, &type));
    return type;
}

/* ---- copies and fills ------------------------------------------------------------------------------------------- */

/* The middle 2 x 2 x 2 ints of a cube of 4. */
static struct cudaMemcpy3DParms inner_cube(int *to, int *from, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params;
    memset(&params, 0, sizeof params);
    params.srcPtr = (struct cudaPitchedPtr){from, 4 * sizeof(int), 4 * sizeof(int), 4};
    params.dstPtr = (struct cudaPitchedPtr){to, 4 * sizeof(int), 4 * sizeof(int), 4};
    params.srcPos = params.dstPos = (struct cudaPos){sizeof(int), 1, 1};
    params.extent = (struct cudaExtent){2 * sizeof(int), 2, 2};
    params.kind = kind;
    return params;
}

static void expect_cube(const int *got)
{
    for (int i = 0; i < 64; i++) {
        int place[] = {i % 4, i / 4 % 4, i / 16};
        int inside = 1;
        for (int k = 0; k < 3; k++)
            inside &= place[k] == 1 || place[k] == 2;
        assert_int_equal(got[i], inside ? i : 0);
    }
}

TEST(test_copy_of_a_box)
{
    int host[64], got[64];
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node = NULL;
    for (int i = 0; i < 64; i++)
        host[i] = i;
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
    OK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    expect_cube(got);
    /* what was asked for makes the same node again */
    OK(cudaGraphMemcpyNodeSetParams(node, &asked));
    clear_x();
    run_once(graph);
    OK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    expect_cube(got);
    OK(cudaGraphDestroy(graph));
}

TEST(test_plain_box)
{
    int host[64], got[64];
    for (int i = 0; i < 64; i++)
        host[i] = i;
    memset(got, 0, sizeof got);
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
    int got[64];
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node = NULL;
    struct cudaMemsetParams params = {x + 1, 8 * sizeof *x, 7, 4, 2, 3}, asked;
    clear_x();
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphMemsetNodeGetParams(node, &asked));
    assert_int_equal(asked.pitch, 8 * sizeof *x);
    assert_int_equal(asked.elementSize, 4);
    assert_int_equal(asked.height, 3);
    run_once(graph);
    OK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        assert_int_equal(got[i], i < 24 && (i % 8 == 1 || i % 8 == 2) ? 7 : 0);
    params.value = 9;
    params.height = 1;
    OK(cudaGraphMemsetNodeSetParams(node, &params));
    run_once(graph);
    OK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    assert_int_equal(got[1], 9);
    assert_int_equal(got[9], 7);
    params.elementSize = 3;
    EXPECT_INVALID(cudaGraphMemsetNodeSetParams(node, &params));
    OK(cudaGraphDestroy(graph));
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

static void add_to(void *user)
{
    *(int *)user += 1;
}

static void add_ten_to(void *user)
{
    *(int *)user += 10;
}

TEST(test_host_node)
{
    int count = 0;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node = NULL;
    cudaGraphExec_t exec = NULL;
    struct cudaHostNodeParams params = {add_to, &count}, asked;
    OK(cudaGraphAddHostNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphHostNodeGetParams(node, &asked));
    assert_true(asked.fn == add_to);
    assert_ptr_equal(asked.userData, &count);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    launch(exec);
    assert_int_equal(count, 1);
    params.fn = add_ten_to;
    OK(cudaGraphExecHostNodeSetParams(exec, node, &params));
    launch(exec);
    assert_int_equal(count, 11);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphHostNodeSetParams(node, &params));
    run_once(graph);
    assert_int_equal(count, 21);
    OK(cudaGraphDestroy(graph));
}

TEST(test_event_nodes)
{
    cudaEvent_t event = NULL, other = NULL, asked = NULL;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t record = NULL, wait = NULL;
    cudaGraphExec_t exec = NULL;
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
    OK(cudaGraphInstantiate(&exec, graph, 0));
    set_x(0);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaEventSynchronize(event)); /* the graph records it */
    assert_int_equal(read_int(x, stream), 1);
    OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, other));
    OK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, other));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaEventSynchronize(other));
    assert_int_equal(read_int(x, stream), 2);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphEventRecordNodeSetEvent(record, other));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaEventDestroy(other));
}

TEST(test_child_graph)
{
    cudaGraph_t graph = new_graph(), child = new_graph(), held = NULL;
    cudaGraphNode_t node = NULL, inner[2];
    cudaGraphExec_t exec = NULL;
    size_t count = 0;
    add_kernel(child, NULL, 10);
    cudaGraphNode_t first = add_kernel(graph, NULL, 1);
    OK(cudaGraphAddChildGraphNode(&node, graph, &first, 1, child));
    add_kernel(graph, &node, 100);
    assert_int_equal(type_of(node), cudaGraphNodeTypeGraph);
    add_kernel(child, NULL, 1000); /* the node has its own copy */
    OK(cudaGraphChildGraphNodeGetGraph(node, &held));
    assert_ptr_not_equal(held, child);
    OK(cudaGraphGetNodes(held, NULL, &count));
    assert_int_equal(count, 1);
    count = 2;
    OK(cudaGraphGetNodes(held, inner, &count));
    assert_int_equal(type_of(inner[0]), cudaGraphNodeTypeKernel);
    OK(cudaGraphDestroy(child));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    set_x(0);
    assert_int_equal(launch(exec), 111);
    child = new_graph();
    add_kernel(child, NULL, 20);
    OK(cudaGraphExecChildGraphNodeSetParams(exec, node, child));
    assert_int_equal(launch(exec), 232);
    add_kernel(child, NULL, 20);
    EXPECT_CODE(cudaGraphExecChildGraphNodeSetParams(exec, node, child), cudaErrorGraphExecUpdateFailure);
    assert_int_equal(launch(exec), 353);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(graph));
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static struct cudaMemAllocNodeParams of_bytes(size_t bytes)
{
    struct cudaMemAllocNodeParams params;
    memset(&params, 0, sizeof params);
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = bytes;
    return params;
}

TEST(test_memory_nodes)
{
    cudaGraph_t graph = new_graph(), clone = NULL;
    cudaGraphNode_t allocate = NULL, fill = NULL, copy = NULL, release = NULL;
    cudaGraphExec_t exec = NULL, second = NULL;
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
    OK(cudaGraphInstantiate(&exec, graph, 0));
    EXPECT_CODE(cudaGraphInstantiate(&second, graph, 0), cudaErrorNotSupported);
    assert_int_equal(launch(exec), 0x11111111);
    set_x(0);
    assert_int_equal(launch(exec), 0x11111111);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* What a graph leaves allocated belongs to the program until it frees it, or the next launch does. */
TEST(test_memory_that_stays)
{
    cudaGraph_t graph = new_graph();
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
    OK(cudaGraphDestroy(graph));
}

/* A graph that frees is made anew each time, while the launch of the one before it may still wait. */
TEST(test_memory_freed_by_new_graphs)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t allocate = NULL, release = NULL;
    cudaGraphExec_t exec = NULL, freeing = NULL;
    struct cudaMemAllocNodeParams params = of_bytes(64);
    OK(cudaGraphAddMemAllocNode(&allocate, graph, NULL, 0, &params));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        cudaGraph_t other = new_graph();
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaGraphAddMemFreeNode(&release, other, NULL, 0, params.dptr));
        EXPECT_INVALID(cudaGraphAddMemFreeNode(&release, other, NULL, 0, params.dptr));
        OK(cudaGraphInstantiate(&freeing, other, 0));
        OK(cudaGraphLaunch(freeing, stream));
        OK(cudaGraphExecDestroy(freeing));
        OK(cudaGraphDestroy(other));
    }
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* ---- any node -----------------------------------------------------------------------------------------------------
 */

TEST(test_any_node)
{
    int value = 4;
    void *arguments[] = {&x, &value};
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t fill = NULL, kernel = NULL, empty = NULL;
    cudaGraphExec_t exec = NULL;
    struct cudaGraphNodeParams params;
    memset(&params, 0, sizeof params);
    params.type = cudaGraphNodeTypeMemset;
    params.memset.dst = x;
    params.memset.elementSize = 4;
    params.memset.value = 3;
    params.memset.width = params.memset.height = 1;
    OK(cudaGraphAddNode(&fill, graph, NULL, NULL, 0, &params));
    memset(&params, 0, sizeof params);
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = (void *)(uintptr_t)gk_multiply_function();
    params.kernel.gridDim = params.kernel.blockDim = (dim3){1, 1, 1};
    params.kernel.kernelParams = arguments;
    OK(cudaGraphAddNode(&kernel, graph, &fill, NULL, 1, &params));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    assert_int_equal(launch(exec), 12);
    value = 5;
    OK(cudaGraphExecNodeSetParams(exec, kernel, &params));
    assert_int_equal(launch(exec), 15);
    OK(cudaGraphExecDestroy(exec));
    value = 6;
    OK(cudaGraphNodeSetParams(kernel, &params));
    run_once(graph);
    assert_int_equal(read_int(x, stream), 18);
    EXPECT_INVALID(cudaGraphNodeSetParams(fill, &params)); /* another kind */
    memset(&params, 0, sizeof params);
    params.type = cudaGraphNodeTypeEmpty;
    OK(cudaGraphAddNode(&empty, graph, &kernel, NULL, 1, &params));
    assert_int_equal(type_of(empty), cudaGraphNodeTypeEmpty);
    OK(cudaGraphDestroy(graph));
}

/* Kinds of nodes that the host device lacks are told from kinds that do not exist. */
TEST(test_nodes_not_implemented)
{
    static const enum cudaGraphNodeType types[] = {cudaGraphNodeTypeExtSemaphoreSignal,
                                                   cudaGraphNodeTypeExtSemaphoreWait, cudaGraphNodeTypeConditional};
    cudaGraphNode_t node = NULL;
    struct cudaGraphNodeParams params;
    skip_unless(on_host_device(), "a GPU has them");
    cudaGraph_t graph = new_graph();
    memset(&params, 0, sizeof params);
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
    OK(cudaGraphDestroy(graph));
}

/* ---- the text
 * -------------------------------------------------------------------------------------------------------- */

TEST(test_dot)
{
    char path[] = "/tmp/graph_XXXXXX", text[8192];
    cudaGraph_t graph = new_graph();
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
    OK(cudaGraphDestroy(graph));
}

TEST_GROUP(setup, teardown);

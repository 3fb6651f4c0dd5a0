/* NCCL in graphs: what nodes its calls leave, and captured collectives replayed; ranks as threads and as processes. */
#include "tests/support/ranks/nccl_ranks.h"

#ifdef TEST_NCCL

/* ---- replayed --------------------------------------------------------------------------------------------------- */

/* An all-reduce, then a gather of its results on another stream that joins. */
static void capture(struct rank *r, cudaGraph_t *graph)
{
    int *device = r->x;
    cudaStream_t other = NULL;
    cudaEvent_t event = NULL;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    EXPECT_CUDA(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_NCCL(ncclAllReduce(device, device + 1, 1, ncclInt, ncclSum, r->comm, r->stream), ncclSuccess);
    EXPECT_CUDA(cudaEventRecord(event, r->stream));
    EXPECT_CUDA(cudaStreamWaitEvent(other, event, 0));
    EXPECT_NCCL(ncclAllGather(device, device + 2, 1, ncclInt, r->comm, other), ncclSuccess);
    EXPECT_CUDA(cudaEventRecord(event, other));
    EXPECT_CUDA(cudaStreamWaitEvent(r->stream, event, 0));
    EXPECT_CUDA(cudaStreamEndCapture(r->stream, graph));
    EXPECT_CUDA(cudaEventDestroy(event));
    EXPECT_CUDA(cudaStreamDestroy(other));
}

/* How many nodes of each type there are. */
static void count_types(cudaGraph_t graph, size_t counts[cudaGraphNodeTypeCount])
{
    cudaGraphNode_t nodes[64];
    size_t count = 64;
    enum cudaGraphNodeType type;
    EXPECT_CUDA(cudaGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        EXPECT_CUDA(cudaGraphNodeGetType(nodes[i], &type));
        counts[type]++;
    }
}

/* One rank copies. Several have a kernel a call, with a record behind it, and a wait before the first; a GPU may do
 * more, as its links ask for. */
static void check_nodes(const struct rank *r, cudaGraph_t graph)
{
    size_t counts[cudaGraphNodeTypeCount] = {0};
    count_types(graph, counts);
    if (r->ranks == 1) {
        EXPECT(counts[cudaGraphNodeTypeMemcpy] == 2 && counts[cudaGraphNodeTypeKernel] == 0);
    } else if (on_host()) {
        EXPECT(counts[cudaGraphNodeTypeMemcpy] == 0 && counts[cudaGraphNodeTypeKernel] == 2);
        EXPECT(counts[cudaGraphNodeTypeWaitEvent] == 1 && counts[cudaGraphNodeTypeEventRecord] == 2);
    }
}

static void replay(struct rank *r, cudaGraphExec_t exec, int round)
{
    int host[2 + RANKS_MAX] = {round * 10 + r->rank, -1, -1, -1, -1, -1}, sum = 0;
    EXPECT_CUDA(cudaMemcpyAsync(r->x, host, sizeof host, cudaMemcpyHostToDevice, r->stream));
    EXPECT_CUDA(cudaGraphLaunch(exec, r->stream));
    rank_get(r, host, sizeof host);
    for (int rank = 0; rank < r->ranks; rank++) {
        EXPECT(host[2 + rank] == round * 10 + rank);
        sum += round * 10 + rank;
    }
    EXPECT(host[1] == sum);
}

/* The graph itself, a clone of it, and one that has the clone as a child. */
static int captured(struct rank *r)
{
    cudaGraph_t graph = NULL, clone = NULL, parent = NULL;
    cudaGraphNode_t child = NULL;
    cudaGraphExec_t execs[3];
    /* Ranks find each other at the first call, which a capture beside those of other threads does not bear. */
    EXPECT_NCCL(ncclAllReduce(r->x, r->x + 1, 1, ncclInt, ncclSum, r->comm, r->stream), ncclSuccess);
    EXPECT_NCCL(ncclAllGather(r->x, r->x + 2, 1, ncclInt, r->comm, r->stream), ncclSuccess);
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    capture(r, &graph);
    check_nodes(r, graph);
    EXPECT_CUDA(cudaGraphClone(&clone, graph));
    EXPECT_CUDA(cudaGraphCreate(&parent, 0));
    EXPECT_CUDA(cudaGraphAddChildGraphNode(&child, parent, NULL, 0, clone));
    EXPECT_CUDA(cudaGraphInstantiate(&execs[0], graph, 0));
    EXPECT_CUDA(cudaGraphInstantiate(&execs[1], clone, 0));
    EXPECT_CUDA(cudaGraphInstantiate(&execs[2], parent, 0));
    EXPECT_CUDA(cudaGraphDestroy(graph));
    EXPECT_CUDA(cudaGraphDestroy(clone));
    EXPECT_CUDA(cudaGraphDestroy(parent));
    for (int round = 0; round < 100; round++)
        replay(r, execs[round % 3], round);
    for (int i = 0; i < 3; i++)
        EXPECT_CUDA(cudaGraphExecDestroy(execs[i]));
    return 0;
}

TEST(test_captured_of_threads)
{
    run_ranks_from(1, AS_THREADS, captured);
}

TEST(test_captured_of_processes)
{
    run_ranks_from(1, AS_PROCESSES, captured);
}

/* ---- one rank --------------------------------------------------------------------------------------------------- */

/* The type of the one node that the call left in the capture; -1: there is none. */
static int end_and_look(struct rank *r)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    size_t count = 0;
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    EXPECT_CUDA(cudaStreamEndCapture(r->stream, &graph));
    EXPECT_CUDA(cudaGraphGetNodes(graph, NULL, &count));
    EXPECT(count <= 1);
    if (count) {
        EXPECT_CUDA(cudaGraphGetNodes(graph, &node, &count));
        EXPECT_CUDA(cudaGraphNodeGetType(node, &type));
    }
    EXPECT_CUDA(cudaGraphDestroy(graph));
    return count ? (int)type : -1;
}

/* A send to itself is a kernel, as those between ranks are: the wait, the kernel, and the record that nothing joins. */
RANK_TEST(test_nodes_of_a_send, 1, NULL)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    size_t counts[cudaGraphNodeTypeCount] = {0}, edges = 0, count = 0;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t *frontier = NULL;
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    int host[2] = {7, 0};
    EXPECT_CUDA(cudaMemcpy(r->x, host, sizeof host, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_NCCL(ncclGroupStart(), ncclSuccess);
    EXPECT_NCCL(ncclSend(r->x, 1, ncclInt, 0, r->comm, r->stream), ncclSuccess);
    EXPECT_NCCL(ncclRecv(r->x + 1, 1, ncclInt, 0, r->comm, r->stream), ncclSuccess);
    EXPECT_NCCL(ncclGroupEnd(), ncclSuccess);
    EXPECT_CUDA(cudaStreamGetCaptureInfo(r->stream, &status, NULL, NULL, &frontier, NULL, &count));
    EXPECT(!on_host() || count == 1);
    EXPECT_CUDA(cudaGraphNodeGetType(frontier[0], &type));
    EXPECT(!on_host() || type == cudaGraphNodeTypeKernel);
    EXPECT_CUDA(cudaStreamEndCapture(r->stream, &graph));
    count_types(graph, counts);
    EXPECT(counts[cudaGraphNodeTypeWaitEvent] == 1 && counts[cudaGraphNodeTypeKernel] == 1);
    EXPECT(counts[cudaGraphNodeTypeEventRecord] == 1);
    EXPECT_CUDA(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    EXPECT(edges == 2);
    EXPECT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++)
        EXPECT_CUDA(cudaGraphLaunch(exec, r->stream));
    rank_get(r, host, sizeof host);
    EXPECT(host[1] == 7);
    EXPECT_CUDA(cudaGraphExecDestroy(exec));
    EXPECT_CUDA(cudaGraphDestroy(graph));
}

/* Copies, and nothing where there is nothing to copy, but for means of floats. */
RANK_TEST(test_nodes_of_one_rank, 1, NULL)
{
    enum { COUNT = 8, NONE = -1, COPY = cudaGraphNodeTypeMemcpy, KERNEL = cudaGraphNodeTypeKernel };
    int *from = r->x, *to = from + COUNT;
#define LEAVES(type, call)                                                                                             \
    do {                                                                                                               \
        EXPECT_CUDA(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));                              \
        EXPECT_NCCL(call, ncclSuccess);                                                                                \
        EXPECT(end_and_look(r) == (type));                                                                             \
    } while (0)
    LEAVES(COPY, ncclAllReduce(from, to, COUNT, ncclFloat, ncclSum, r->comm, r->stream));
    LEAVES(NONE, ncclAllReduce(from, from, COUNT, ncclFloat, ncclSum, r->comm, r->stream));
    LEAVES(KERNEL, ncclAllReduce(from, to, COUNT, ncclFloat, ncclAvg, r->comm, r->stream));
    LEAVES(KERNEL, ncclAllReduce(from, from, COUNT, ncclFloat, ncclAvg, r->comm, r->stream));
    LEAVES(COPY, ncclAllReduce(from, to, COUNT, ncclInt, ncclAvg, r->comm, r->stream));
    LEAVES(NONE, ncclAllReduce(from, to, 0, ncclInt, ncclSum, r->comm, r->stream));
    LEAVES(COPY, ncclAllGather(from, to, COUNT, ncclInt, r->comm, r->stream));
    LEAVES(COPY, ncclBroadcast(from, to, COUNT, ncclInt, 0, r->comm, r->stream));
#undef LEAVES
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif

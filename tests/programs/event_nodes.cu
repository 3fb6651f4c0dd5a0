/* Two graphs on two streams that wait for each other by nodes that record and wait for events: one writes a buffer, the
 * other reads it, and only then it is written again. */
#include "program.h"

enum { N = 128, THREADS = 32, ROUNDS = 5 };

__global__ void produce(int *buffer, int *round)
{
    buffer[thread_index()] = *round * 1000 + thread_index();
}

__global__ void next_round(int *round)
{
    ++*round;
}

__global__ void consume(long long *total, const int *buffer)
{
    long long sum = 0;
    for (int i = 0; i < N; i++)
        sum += buffer[i];
    total[0] = total[0] * 3 + sum;
}

/* wait for `emptied` -> produce -> record `filled`, next round */
static cudaGraphExec_t make_producer(int *buffer, int *round, cudaEvent_t emptied, cudaEvent_t filled)
{
    cudaGraph_t graph;
    cudaGraphNode_t wait, kernel, last;
    void *arguments[] = {&buffer, &round}, *next[] = {&round};
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEventWaitNode(&wait, graph, nullptr, 0, emptied));
    cudaKernelNodeParams params = kernel_params(produce, N / THREADS, THREADS, arguments);
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &wait, 1, &params));
    CHECK(cudaGraphAddEventRecordNode(&last, graph, &kernel, 1, filled));
    params = kernel_params(next_round, 1, 1, next);
    CHECK(cudaGraphAddKernelNode(&last, graph, &kernel, 1, &params));
    return instantiate(graph);
}

/* The same by a capture: wait for `filled`, consume, record `emptied`. */
static cudaGraphExec_t capture_consumer(long long *total, const int *buffer, cudaEvent_t filled, cudaEvent_t emptied,
                                        cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphNode_t nodes[3];
    cudaGraphNodeType type;
    std::size_t count = 3;
    int waits = 0, records = 0;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamWaitEvent(stream, filled, cudaEventWaitExternal));
    consume<<<1, 1, 0, stream>>>(total, buffer);
    CHECK(cudaEventRecordWithFlags(emptied, stream, cudaEventRecordExternal));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    EXPECT(count, 3);
    for (cudaGraphNode_t node : nodes) {
        CHECK(cudaGraphNodeGetType(node, &type));
        waits += type == cudaGraphNodeTypeWaitEvent;
        records += type == cudaGraphNodeTypeEventRecord;
    }
    std::printf("captured: %zu nodes, %d waits for an event, %d records one\n", count, waits, records);
    return instantiate(graph);
}

int main()
{
    cudaStream_t writer = make_stream(), reader = make_stream();
    cudaEvent_t filled = make_event(), emptied = make_event();
    int *buffer = allocate<int>(N), *round = allocate<int>(1);
    long long *total = allocate<long long>(1), wanted = 0;
    CHECK(cudaMemset(round, 0, sizeof *round));
    CHECK(cudaMemset(total, 0, sizeof *total));
    CHECK(cudaDeviceSynchronize());
    cudaGraphExec_t produces = make_producer(buffer, round, emptied, filled);
    cudaGraphExec_t consumes = capture_consumer(total, buffer, filled, emptied, reader);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(cudaGraphLaunch(produces, writer));
        CHECK(cudaGraphLaunch(consumes, reader));
        wanted = wanted * 3 + i * 1000 * N + N * (N - 1) / 2;
    }
    EXPECT(read_one(total, reader), wanted);
    EXPECT(read_one(round, writer), ROUNDS);
    std::printf("%d rounds: %lld\n", ROUNDS, wanted);
    CHECK(cudaGraphExecDestroy(produces));
    CHECK(cudaGraphExecDestroy(consumes));
    for (void *memory : {static_cast<void *>(buffer), static_cast<void *>(round), static_cast<void *>(total)})
        CHECK(cudaFree(memory));
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaEventDestroy(emptied));
    CHECK(cudaStreamDestroy(writer));
    CHECK(cudaStreamDestroy(reader));
    return 0;
}

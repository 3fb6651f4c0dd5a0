/* kept_memory CASE GRAPHS: graphs that allocate memory, and leave it to their next launch to free, one after the other.
 * CASE: who frees what the last launch has allocated. */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                                    \
    if ((call) != cudaSuccess)                                                                                         \
        exit(2);

static cudaStream_t stream;

/* A graph with one node, which frees it. */
static void launch_free(void *memory)
{
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemFreeNode(&node, graph, NULL, 0, memory));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char **argv)
{
    const char *way = argv[argc - 2];
    const int graphs = atoi(argv[argc - 1]);
    void *memory[8];

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < graphs; i++) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        CHECK(cudaMallocAsync(&memory[i], 1 << 20, stream));
        CHECK(cudaMemsetAsync(memory[i], 0, 64, stream));
        if (strcmp(way, "inside") == 0)
            CHECK(cudaFreeAsync(memory[i], stream));
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
        CHECK(cudaGraphDestroy(graph));
        for (int k = 0; k < 2 && strcmp(way, "unused") != 0; k++)
            CHECK(cudaGraphLaunch(exec, stream));
        if (strcmp(way, "before") == 0)
            CHECK(cudaFreeAsync(memory[i], stream));
        CHECK(cudaStreamSynchronize(stream));
        if (strcmp(way, "graph") == 0)
            launch_free(memory[i]);
        if (strcmp(way, "alive") != 0)
            CHECK(cudaGraphExecDestroy(exec));
        if (strcmp(way, "after") == 0)
            CHECK(cudaFree(memory[i]));
    }
    for (int i = 0; i < graphs && strcmp(way, "end") == 0; i++)
        CHECK(cudaFree(memory[i]));
    return 0;
}

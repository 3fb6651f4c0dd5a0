/* Graphs of a program that knows nothing of breakgraph. graphs FAULT: what it does wrong, or does as it should. */
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_));                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { BYTES = 1 << 16 };

static cudaStream_t stream;
static void *input, *output;

static cudaGraph_t capture_copy(void *to, const void *from, enum cudaMemcpyKind kind)
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMemcpyAsync(to, from, BYTES, kind, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraph_t make_copy(void *to, const void *from)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, to, from, BYTES, cudaMemcpyDeviceToDevice));
    return graph;
}

/* The frame of the buffer is gone when the graph runs. */
static __attribute__((noinline)) cudaGraph_t capture_frame(void)
{
    char frame[BYTES];
    memset(frame, 7, sizeof frame);
    return capture_copy(output, frame, cudaMemcpyHostToDevice);
}

static void free_and_allocate(void)
{
    void *now;
    CUDA(cudaFree(input));
    CUDA(cudaMalloc(&now, BYTES));
    printf("%s\n", now == input ? "the same address" : "another address");
    input = now;
}

/* Launches the graph, does what changes it or its memory, and launches it again. */
static void run(cudaGraph_t graph, const char *fault)
{
    cudaGraphExec_t exec;
    cudaGraph_t other;
    cudaGraphNode_t node;
    size_t one = 1;
    void *next;

    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphGetNodes(graph, &node, &one));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    if (strcmp(fault, "freed") == 0 || strcmp(fault, "built") == 0)
        CUDA(cudaFree(input));
    if (strcmp(fault, "reused") == 0)
        free_and_allocate();
    if (strcmp(fault, "disabled") == 0) { /* the node does not read what is freed */
        CUDA(cudaMemset(output, 8, BYTES));
        CUDA(cudaGraphNodeSetEnabled(exec, node, 0));
        CUDA(cudaFree(input));
    }
    if (strcmp(fault, "updated") == 0 || strcmp(fault, "set") == 0) {
        cudaGraphExecUpdateResultInfo result;
        CUDA(cudaMalloc(&next, BYTES));
        CUDA(cudaMemset(next, 9, BYTES));
        if (strcmp(fault, "updated") == 0) {
            other = capture_copy(output, next, cudaMemcpyDeviceToDevice);
            CUDA(cudaGraphExecUpdate(exec, other, &result));
            CUDA(cudaGraphDestroy(other));
        } else {
            CUDA(cudaGraphExecMemcpyNodeSetParams1D(exec, node, output, next, BYTES, cudaMemcpyDeviceToDevice));
        }
        CUDA(cudaFree(input));
        input = next;
    }
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphExecDestroy(exec));
}

int main(int argc, char **argv)
{
    const char *fault = argc > 1 ? argv[1] : "none";
    unsigned char byte = 0;
    void *host = malloc(BYTES);

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&input, BYTES));
    CUDA(cudaMalloc(&output, BYTES));
    CUDA(cudaMemset(input, 5, BYTES));
    CUDA(cudaDeviceSynchronize());
    if (strcmp(fault, "stack") == 0)
        run(capture_frame(), fault);
    else if (strcmp(fault, "pageable") == 0)
        run(capture_copy(output, memset(host, 6, BYTES), cudaMemcpyHostToDevice), fault);
    else if (strcmp(fault, "built") == 0 || strcmp(fault, "set") == 0)
        run(make_copy(output, input), fault);
    else
        run(capture_copy(output, input, cudaMemcpyDeviceToDevice), fault);
    CUDA(cudaMemcpy(&byte, output, 1, cudaMemcpyDeviceToHost));
    printf("output %d\n", byte);
    free(host);
    return 0;
}

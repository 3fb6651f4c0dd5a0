/* The capture of a graph is interrupted for that of a branch. Meanwhile an array of the outer graph is dropped: its
 * free node is added to the graph that captures now, behind a node of the other. The error is found in another place.
 *
 * expect: MemFreeNode other graph | MemFreeNode another graph | MemFreeNode capture
 * culprit: cudaGraphAddMemFreeNode | free#0
 * innocent: fill#0 | scale#0 | memcpy#0
 * source: NVIDIA/warp#1641
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct array {
    float *memory;
    cudaGraph_t graph;    /* that allocates it */
    cudaGraphNode_t last; /* of those that use it */
} array;

static void make(array *a, float *copy, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status;
    const cudaGraphNode_t *last;
    CHECK(cudaMallocAsync((void **)&a->memory, BYTES, stream));
    CHECK(zoo_fill(a->memory, 3, N, stream));
    CHECK(cudaMemcpyAsync(copy, a->memory, BYTES, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaStreamGetCaptureInfo(stream, &status, NULL, &a->graph, &last, NULL, NULL));
    a->last = last[0];
}

/* The last reference is gone. Whoever drops it does not ask for errors. */
static void drop(const array *a, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, NULL, NULL, NULL));
    /* CULPRIT */
    (void)cudaGraphAddMemFreeNode(&node, zoo.correct ? a->graph : graph, &a->last, 1, a->memory);
}

static void capture_branch(cudaGraph_t *branch, float *y, const array *garbage)
{
    CHECK(cudaStreamBeginCapture(zoo.stream, cudaStreamCaptureModeRelaxed));
    drop(garbage, zoo.stream);
    CHECK(zoo_scale(y, y, 2, N, zoo.stream));
    CHECK(cudaStreamEndCapture(zoo.stream, branch));
}

int main(int argc, char **argv)
{
    cudaGraph_t graph, branch;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    array a;
    float *y;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&y, BYTES));
    CHECK(cudaStreamBeginCapture(zoo.stream, cudaStreamCaptureModeRelaxed));
    make(&a, y, zoo.stream);
    CHECK(cudaStreamEndCapture(zoo.stream, &graph));
    capture_branch(&branch, y, &a);
    CHECK(cudaGraphAddChildGraphNode(&node, graph, &a.last, 1, branch));
    CHECK(cudaGetLastError());
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, zoo.stream));
    return zoo_end(y, N, 6);
}

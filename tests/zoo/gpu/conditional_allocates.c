/* The body of a conditional node is captured, and what runs there allocates its scratch on the stream. Bodies may hold
 * no allocation: that is found when the graph is instantiated, as an invalid argument, without a word on the node.
 *
 * expect: allocat conditional | allocat body
 * culprit: allocation#0 | cudaMallocAsync
 * innocent: fill#0 | add#0
 * source: NVIDIA/warp#866, NVIDIA/warp#1773
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

static void solve(float *y, float *reserved, cudaStream_t stream)
{
    float *scratch = reserved;
    if (!zoo.correct)
        /* CULPRIT */
        CHECK(cudaMallocAsync((void **)&scratch, BYTES, stream));
    CHECK(zoo_fill(scratch, 2, N, stream));
    CHECK(zoo_add(y, scratch, scratch, N, stream));
    if (!zoo.correct)
        CHECK(cudaFreeAsync(scratch, stream));
}

/* An if whose condition is true, and its body. */
static cudaGraph_t add_if(cudaGraph_t graph)
{
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    cudaGraphNode_t node;
    CHECK(cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, 1, cudaGraphCondAssignDefault));
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    return params.conditional.phGraph_out[0];
}

int main(int argc, char **argv)
{
    cudaGraph_t graph, body;
    cudaGraphExec_t exec;
    float *y, *reserved;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&y, BYTES));
    CHECK(cudaMalloc((void **)&reserved, BYTES));
    CHECK(cudaGraphCreate(&graph, 0));
    body = add_if(graph);
    CHECK(cudaStreamBeginCaptureToGraph(zoo.stream, body, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    solve(y, reserved, zoo.stream);
    CHECK(cudaStreamEndCapture(zoo.stream, &body));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, zoo.stream));
    return zoo_end(y, N, 4);
}

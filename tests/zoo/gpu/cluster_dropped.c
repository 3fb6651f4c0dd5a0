/* A library builds its graph of copies of captured nodes. It copies the parameters of a kernel node, of which the
 * cluster is none: clusters are an attribute of the node, and the copy launches without them.
 *
 * expect: [attribute-lost]
 * culprit: scale#0
 * innocent: add#0
 * source: NVIDIA/cuda-python#2421
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 1024, BYTES = N * sizeof(float), CLUSTER = 2 };

static void launch_clustered(float *y, float *x, cudaStream_t stream)
{
    float factor = 2;
    int n = N;
    void *arguments[] = {&y, &x, &factor, &n};
    cudaLaunchAttribute cluster = {.id = cudaLaunchAttributeClusterDimension};
    cudaLaunchConfig_t config = {
        .gridDim = {N / 128, 1, 1}, .blockDim = {128, 1, 1}, .stream = stream, .attrs = &cluster, .numAttrs = 1};
    cluster.val.clusterDim.x = CLUSTER;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    CHECK(cudaLaunchKernelExC(&config, zoo_kernel(ZOO_SCALE), arguments));
}

static void capture(cudaGraph_t *graph, cudaGraphNode_t *node, float *y, float *x)
{
    size_t count = 1;
    CHECK(cudaStreamBeginCapture(zoo.stream, cudaStreamCaptureModeGlobal));
    launch_clustered(y, x, zoo.stream);
    CHECK(cudaStreamEndCapture(zoo.stream, graph));
    CHECK(cudaGraphGetNodes(*graph, node, &count));
}

static void copy_node(cudaGraphNode_t *to, cudaGraph_t graph, cudaGraphNode_t from)
{
    struct cudaKernelNodeParams params;
    CHECK(cudaGraphKernelNodeGetParams(from, &params));
    /* CULPRIT */
    CHECK(cudaGraphAddKernelNode(to, graph, NULL, 0, &params));
    if (zoo.correct)
        CHECK(cudaGraphKernelNodeCopyAttributes(*to, from));
}

int main(int argc, char **argv)
{
    union cudaLaunchAttributeValue value;
    cudaGraph_t captured, graph;
    cudaGraphNode_t from, to;
    cudaGraphExec_t exec;
    float *x, *y;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&x, BYTES));
    CHECK(cudaMalloc((void **)&y, BYTES));
    CHECK(zoo_fill(x, 1, N, zoo.stream));
    capture(&captured, &from, y, x);
    CHECK(cudaGraphCreate(&graph, 0));
    copy_node(&to, graph, from);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, zoo.stream));
    result = zoo_end(y, N, 2);
    CHECK(cudaGraphKernelNodeGetAttribute(to, cudaLaunchAttributeClusterDimension, &value));
    printf("blocks in a cluster: %u\n", value.clusterDim.x);
    return value.clusterDim.x == CLUSTER ? result : ZOO_WRONG;
}

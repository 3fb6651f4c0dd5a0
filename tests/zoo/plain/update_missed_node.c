/* Before each replay the program sets where the nodes of a copy write: the row of this step. It looks for one kernel,
 * but the operation launches two, of which the other one is left with the row of the capture.
 *
 * expect: not updated | never updated
 * culprit: add#0
 * innocent: scale#0
 * source: ggml-org/llama.cpp#7565
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, ROWS = 4, BYTES = N * sizeof(float), NODES = 2 };

typedef struct model {
    float *x, *keys, *values;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->keys, m->x, 2, N, stream));
    /* CULPRIT */
    CHECK(zoo_add(m->values, m->x, m->x, N, stream));
}

static void capture(model *m)
{
    CHECK(cudaStreamBeginCapture(zoo.stream, cudaStreamCaptureModeGlobal));
    forward(m, zoo.stream);
    CHECK(cudaStreamEndCapture(zoo.stream, &m->graph));
    CHECK(cudaGraphInstantiate(&m->exec, m->graph, 0));
}

/* Sets the kernel's first parameter. */
static void update(const model *m, enum zoo_kernel kernel, float *row)
{
    cudaGraphNode_t nodes[NODES];
    size_t count = NODES;
    CHECK(cudaGraphGetNodes(m->graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        struct cudaKernelNodeParams params;
        CHECK(cudaGraphKernelNodeGetParams(nodes[i], &params));
        if (params.func == zoo_kernel(kernel)) {
            void *arguments[] = {&row, params.kernelParams[1], params.kernelParams[2], params.kernelParams[3]};
            params.kernelParams = arguments;
            CHECK(cudaGraphExecKernelNodeSetParams(m->exec, nodes[i], &params));
        }
    }
}

int main(int argc, char **argv)
{
    model m;
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.keys, ROWS * BYTES));
    CHECK(cudaMalloc((void **)&m.values, ROWS * BYTES));
    capture(&m);
    for (int row = 0; row < ROWS && result == ZOO_RIGHT; row++) {
        CHECK(zoo_fill(m.x, (float)row + 1, N, zoo.stream));
        update(&m, ZOO_SCALE, m.keys + row * N);
        if (zoo.correct)
            update(&m, ZOO_ADD, m.values + row * N);
        CHECK(cudaGraphLaunch(m.exec, zoo.stream));
        result = zoo_end(m.values, N, 2); /* row 0 is of the first step */
    }
    CHECK(cudaGraphExecDestroy(m.exec));
    CHECK(cudaGraphDestroy(m.graph));
    return result;
}

/* A layer above CUDA builds graphs itself, from a list of launches. It keeps the arguments with the kernel, and not
 * with the launch: all launches of one kernel get those of the last one.
 *
 * expect: none
 * culprit: fill#0
 * innocent: add#0
 * source: CHIP-SPV/chipStar#782
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), LAUNCHES = 3 };

typedef struct fill_arguments {
    float *y, value;
    int n;
} fill_arguments;

static fill_arguments of_kernel;           /* bound to the kernel fill */
static fill_arguments of_launch[LAUNCHES]; /* the twin's */
static int launches;

static void set_arguments(float *y, float value)
{
    of_kernel = of_launch[launches++] = (fill_arguments){y, value, N};
}

static void add_launch(cudaGraph_t graph, cudaGraphNode_t *last, fill_arguments *a)
{
    void *arguments[] = {&a->y, &a->value, &a->n};
    const struct cudaKernelNodeParams params = {
        .func = (void *)zoo_kernel(ZOO_FILL), .gridDim = {1, 1, 1}, .blockDim = {N, 1, 1}, .kernelParams = arguments};
    /* CULPRIT */
    CHECK(cudaGraphAddKernelNode(last, graph, *last != NULL ? last : NULL, *last != NULL ? 1 : 0, &params));
}

static cudaGraphExec_t build(void)
{
    cudaGraphNode_t last = NULL;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    for (int i = 0; i < launches; i++)
        add_launch(graph, &last, zoo.correct ? &of_launch[i] : &of_kernel);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

int main(int argc, char **argv)
{
    float *y[LAUNCHES];
    cudaGraphExec_t exec;
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK(cudaMalloc((void **)&y[i], BYTES));
        CHECK(zoo_fill(y[i], 0, N, zoo.stream));
        set_arguments(y[i], (float)(i + 1));
    }
    exec = build();
    CHECK(cudaGraphLaunch(exec, zoo.stream));
    for (int i = 0; i < LAUNCHES && result == ZOO_RIGHT; i++)
        result = zoo_end(y[i], N, (float)(i + 1));
    CHECK(cudaGraphExecDestroy(exec));
    return result;
}

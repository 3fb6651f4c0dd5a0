/* A graph allocates, and leaves it to its next launch to free that. The last launch has no next one: what it allocated
 * stays when the graph is destroyed, and device memory gets less with each graph.
 *
 * expect: never freed | not freed | no free
 * culprit: allocation#0
 * innocent: fill#0
 * source: NVIDIA/warp#1429
 * symptom: wrong
 * needs: alone */
#include "tests/zoo/zoo.h"

enum { N = 64, CYCLES = 8, LAUNCHES = 3 };

static const size_t BYTES = (size_t)4 << 20;

static float *capture(cudaGraphExec_t *exec)
{
    cudaGraph_t graph;
    float *memory;
    CHECK(cudaStreamBeginCapture(zoo.stream, cudaStreamCaptureModeGlobal));
    /* CULPRIT */
    CHECK(cudaMallocAsync((void **)&memory, BYTES, zoo.stream));
    CHECK(zoo_fill(memory, 1, N, zoo.stream));
    CHECK(cudaStreamEndCapture(zoo.stream, &graph));
    CHECK(cudaGraphInstantiate(exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CHECK(cudaGraphDestroy(graph));
    return memory;
}

static void simulate(void)
{
    cudaGraphExec_t exec;
    float *memory = capture(&exec);
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(cudaGraphLaunch(exec, zoo.stream));
    if (zoo.correct)
        CHECK(cudaFreeAsync(memory, zoo.stream));
    CHECK(cudaStreamSynchronize(zoo.stream));
    CHECK(cudaGraphExecDestroy(exec));
}

static size_t free_bytes(void)
{
    size_t free, total;
    CHECK(cudaMemGetInfo(&free, &total));
    return free;
}

int main(int argc, char **argv)
{
    size_t before, after;

    zoo_begin(argc, argv);
    simulate(); /* what CUDA keeps for all graphs is there now */
    before = free_bytes();
    for (int i = 0; i < CYCLES; i++)
        simulate();
    after = free_bytes();
    printf("%zu MiB less are free\n", before > after ? (before - after) >> 20 : 0);
    return before > after && before - after >= CYCLES / 2 * BYTES ? ZOO_WRONG : ZOO_RIGHT;
}

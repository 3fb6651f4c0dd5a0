/* Two parts of a program get the same executable graph of a cache: it is updated and launched on two streams, and CUDA
 * runs its launches one after the other. The report only lost time by that; here the first part waits for the second,
 * for ever.
 *
 * expect: same executable | one executable | serial
 * culprit: wait_flag#0 | set_flag#0
 * innocent: -
 * source: NVIDIA/cccl#11041
 * symptom: hang
 * needs: once */
#include "tests/zoo/zoo.h"

enum { PARTS = 2 };

static struct {
    cudaGraphExec_t exec;
    cudaStream_t stream; /* on which it is launched */
} cache[PARTS];

static int *flag;

static void wait_for_other(cudaStream_t stream)
{
    /* CULPRIT */
    CHECK(zoo_wait_flag(flag, 1, stream));
}

static void let_other_go(cudaStream_t stream)
{
    /* CULPRIT */
    CHECK(zoo_set_flag(flag, 1, stream));
}

/* Both graphs have one kernel node: an executable of either can be updated to the other. In the twin it must also be of
 * this stream. */
static cudaGraphExec_t executable(cudaGraph_t graph, cudaStream_t stream)
{
    for (int i = 0; i < PARTS; i++) {
        cudaGraphExecUpdateResultInfo info;
        if (cache[i].exec == NULL) {
            CHECK(cudaGraphInstantiate(&cache[i].exec, graph, 0));
            cache[i].stream = stream;
            return cache[i].exec;
        }
        if ((!zoo.correct || cache[i].stream == stream) &&
            cudaGraphExecUpdate(cache[i].exec, graph, &info) == cudaSuccess)
            return cache[i].exec;
    }
    exit(ZOO_ERROR);
}

static void run(void (*part)(cudaStream_t stream), cudaStream_t stream)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    part(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphLaunch(executable(graph, stream), stream));
    CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char **argv)
{
    int set = 0;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&flag, sizeof *flag));
    CHECK(
        zoo_set_flag(flag, 0, zoo.stream)); /* CUDA loads a kernel at its first launch, and may wait for running ones */
    CHECK(zoo_wait_flag(flag, 0, zoo.stream));
    CHECK(cudaDeviceSynchronize());
    run(wait_for_other, zoo.stream);
    run(let_other_go, zoo.side);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&set, flag, sizeof set, cudaMemcpyDeviceToHost));
    printf("%s\n", set == 1 ? "right" : "wrong");
    return set == 1 ? ZOO_RIGHT : ZOO_WRONG;
}

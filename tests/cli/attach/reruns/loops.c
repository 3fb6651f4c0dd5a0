/* A program that instantiates its graph anew for each launch, or once, and updates it. loops [correct] */
#include "tests/cli/attach/programs/program.h"

static cudaStream_t stream;
static float *x, *y;

cudaGraph_t capture_sum(void)
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(launch(&y, &x, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

void instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
    CUDA(cudaGraphInstantiate(exec, graph, 0));
}

int main(int argc, char **argv)
{
    bool correct = argc > 1;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info;

    (void)argv;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMalloc((void **)&y, BYTES));
    for (int i = 0; i < 20; i++) {
        cudaGraph_t graph = capture_sum();
        if (exec == NULL)
            instantiate(&exec, graph);
        else
            CUDA(cudaGraphExecUpdate(exec, graph, &info));
        CUDA(cudaGraphDestroy(graph));
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaStreamSynchronize(stream));
        if (!correct) {
            CUDA(cudaGraphExecDestroy(exec));
            exec = NULL;
        }
    }
    printf("done\n");
    return 0;
}

/* Plain CUDA graphs. The host decides in the middle of a step, so a step has two graphs, and code between them. */
#include "step.h"

static cudaError_t capture_part(cudaError_t (*part)(const model *m), const model *m, cudaGraphExec_t *exec)
{
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamBeginCapture(m->stream, cudaStreamCaptureModeThreadLocal), ended;
    if (error != cudaSuccess)
        return error;
    error = part(m);
    ended = cudaStreamEndCapture(m->stream, &graph);
    TRY(error != cudaSuccess ? error : ended);
    TRY(cudaGraphInstantiate(exec, graph, 0));
done:
    if (graph != NULL)
        cudaGraphDestroy(graph);
    return error;
}

int main(void)
{
    cudaGraphExec_t first = NULL, second = NULL;
    model m = {NULL, NULL, NULL};
    cudaError_t error;
    TRY(create_model(&m));
    TRY(capture_part(first_half, &m, &first));
    TRY(capture_part(second_half, &m, &second));
    for (int step = 0; step < STEPS; step++) {
        TRY(cudaGraphLaunch(first, m.stream));
        TRY(decide(&m));
        TRY(cudaGraphLaunch(second, m.stream));
        TRY(print_step(&m, step));
    }
done:
    if (first != NULL)
        cudaGraphExecDestroy(first);
    if (second != NULL)
        cudaGraphExecDestroy(second);
    destroy_model(&m);
    return error != cudaSuccess;
}

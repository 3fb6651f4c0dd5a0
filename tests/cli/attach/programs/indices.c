/* Ten kernels in a graph, of which one reads a table at an index that lies in device memory: the index is wrong, or
 * right. indices [correct] */
#include "program.h"

static cudaStream_t stream;
static float *x, *y, *table;
static int *entry;

void sum_up(void)
{
    CUDA(launch(&y, &x, stream));
}

void look_up(void)
{
    const dim3 one = {1, 1, 1};
    void *parameters[] = {&y, &table, &entry};
    CUDA(cudaLaunchKernel(gather_kernel(), one, one, parameters, 0, stream));
}

int main(int argc, char **argv)
{
    int index = argc > 1 ? FLOATS - 1 : FLOATS;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaError_t error;

    (void)argv;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMalloc((void **)&y, BYTES));
    CUDA(cudaMalloc((void **)&table, BYTES));
    CUDA(cudaMalloc((void **)&entry, sizeof *entry));
    CUDA(cudaMemset(x, 0, BYTES));
    CUDA(cudaMemset(y, 0, BYTES));
    CUDA(cudaMemset(table, 0, BYTES));
    CUDA(cudaMemcpy(entry, &index, sizeof index, cudaMemcpyHostToDevice));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 10; i++)
        if (i == 6)
            look_up();
        else
            sum_up();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    error = cudaGraphLaunch(exec, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    printf("%s\n", cudaGetErrorName(error));
    return 0;
}

#include "owned.h"

#include "support.h"

void destroy_owned_stream(cudaStream_t *stream)
{
    if (*stream != NULL)
        EXPECT_CUDA(cudaStreamDestroy(*stream));
}

void destroy_owned_event(cudaEvent_t *event)
{
    if (*event != NULL)
        EXPECT_CUDA(cudaEventDestroy(*event));
}

void destroy_owned_cuda_graph(cudaGraph_t *graph)
{
    if (*graph != NULL)
        EXPECT_CUDA(cudaGraphDestroy(*graph));
}

void destroy_owned_exec(cudaGraphExec_t *exec)
{
    if (*exec != NULL)
        EXPECT_CUDA(cudaGraphExecDestroy(*exec));
}

void free_owned_memory(void *memory)
{
    EXPECT_CUDA(cudaFree(*(void **)memory));
}

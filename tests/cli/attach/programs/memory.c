/* A graph whose kernel reads x, of each kind of memory, which is given back while the graph is still launched. The twin
 * gives it back afterwards. memory KIND [correct] */
#include "program.h"

#include <cuda.h>

static cudaStream_t stream;
static float *x, *y;
static CUmemGenericAllocationHandle handle;
static size_t mapped_bytes;

static void map(CUdeviceptr *address)
{
    CUmemAllocationProp kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.location = kind.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (cuMemGetAllocationGranularity(&mapped_bytes, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
        cuMemCreate(&handle, mapped_bytes, &kind, 0) != CUDA_SUCCESS ||
        cuMemAddressReserve(address, mapped_bytes, 0, 0, 0) != CUDA_SUCCESS ||
        cuMemMap(*address, mapped_bytes, 0, handle, 0) != CUDA_SUCCESS ||
        cuMemSetAccess(*address, mapped_bytes, &access, 1) != CUDA_SUCCESS)
        exit(3);
}

void take(const char *kind)
{
    if (is_case(kind, "async"))
        CUDA(cudaMallocAsync((void **)&x, BYTES, stream));
    else if (is_case(kind, "host"))
        CUDA(cudaMallocHost((void **)&x, BYTES));
    else if (is_case(kind, "mapped"))
        map((CUdeviceptr *)&x);
    else
        CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMemsetAsync(x, 0, BYTES, stream));
    CUDA(cudaStreamSynchronize(stream));
}

void give_back(const char *kind)
{
    void *other;
    if (is_case(kind, "async"))
        CUDA(cudaFreeAsync(x, stream));
    else if (is_case(kind, "host"))
        CUDA(cudaFreeHost(x));
    else if (is_case(kind, "mapped"))
        (void)(cuMemUnmap((CUdeviceptr)x, mapped_bytes) == CUDA_SUCCESS && cuMemRelease(handle) == CUDA_SUCCESS);
    else
        CUDA(cudaFree(x));
    if (is_case(kind, "reused"))
        CUDA(cudaMalloc(&other, BYTES));
}

cudaGraph_t capture_sum(void)
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMemsetAsync(y, 0, BYTES, stream));
    CUDA(launch(&y, &x, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "device";
    bool correct = argc > 2;
    cudaGraphExec_t exec;
    float first;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&y, BYTES));
    take(kind);
    CUDA(cudaGraphInstantiate(&exec, capture_sum(), 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    if (!correct)
        give_back(kind);
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(&first, y, sizeof first, cudaMemcpyDeviceToHost));
    if (correct)
        give_back(kind);
    printf("done\n");
    return 0;
}

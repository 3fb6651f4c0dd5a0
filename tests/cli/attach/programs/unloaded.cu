/* unloaded CASE: a graph launches the kernel `used`; a module is unloaded before that, or `other` leaks from the
 * capture. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

__global__ void used(int *x)
{
    *x += 1;
}

__global__ void other(int *x)
{
    *x += 2;
}

/* The driver's function that is in front of all. */
template <typename function>
static function driver(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<function>(library != nullptr ? dlsym(library, name) : nullptr);
}

/* With handles as in modules.c. */
extern "C" void unload(const char *way, const void *kernel)
{
    CUfunction function;
    CUkernel handle;
    cudaGetFuncBySymbol(&function, kernel);
    cudaGetKernel(&handle, kernel);
    if (strstr(way, "library") != nullptr)
        printf("unload %d\n", driver<CUresult (*)(CUlibrary)>("cuLibraryUnload")(reinterpret_cast<CUlibrary>(handle)));
    else
        printf("unload %d\n", driver<CUresult (*)(CUmodule)>("cuModuleUnload")(reinterpret_cast<CUmodule>(function)));
}

int main(int, char **argv)
{
    const char *way = argv[1];
    int *x, value = 0;
    void *arguments[] = {&x};
    cudaKernelNodeParams params = {};
    cudaLaunchConfig_t config = {}, plain = {};
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    size_t one = 1;

    cudaMalloc(&x, sizeof *x);
    cudaMemset(x, 0, sizeof *x);
    cudaStreamCreateWithFlags(&config.stream, cudaStreamNonBlocking);
    config.gridDim = config.blockDim = dim3(1);
    plain.gridDim = plain.blockDim = dim3(1);
    cudaLaunchKernelEx(&plain, other, x);
    cudaStreamBeginCapture(config.stream, cudaStreamCaptureModeGlobal);
    cudaLaunchKernelEx(&config, used, x);
    if (way[0] == 'l')
        cudaLaunchKernelEx(&plain, other, x);
    cudaStreamEndCapture(config.stream, &graph);
    if (way[0] == 't')
        unload(way, reinterpret_cast<void *>(used));
    cudaGraphInstantiate(&exec, graph, 0);
    if (way[0] == 's') {
        params.func = reinterpret_cast<void *>(other);
        params.gridDim = params.blockDim = dim3(1);
        params.kernelParams = arguments;
        cudaGraphGetNodes(graph, &node, &one);
        cudaGraphExecKernelNodeSetParams(exec, node, &params);
    }
    if (way[0] != 'n' && way[0] != 'l')
        unload(way, way[0] == 'o' ? reinterpret_cast<void *>(other) : reinterpret_cast<void *>(used));
    cudaGraphLaunch(exec, config.stream);
    cudaGraphLaunch(exec, config.stream);
    cudaStreamSynchronize(config.stream);
    cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost);
    return value < 4;
}

/* A graph whose kernel is in a module. unloaded [too-early]: the module is unloaded before the last launch, not after
 * it. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CU(call)                                                                                                       \
    do {                                                                                                               \
        CUresult result_ = (call);                                                                                     \
        if (result_ != CUDA_SUCCESS) {                                                                                 \
            fprintf(stderr, "%s: %d\n", #call, result_);                                                               \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static const char ptx[] = ".version 7.0\n"
                          ".target sm_75\n"
                          ".address_size 64\n"
                          ".visible .entry increase(.param .u64 x)\n"
                          "{\n"
                          "    .reg .u64 %address;\n"
                          "    .reg .u32 %value;\n"
                          "    ld.param.u64 %address, [x];\n"
                          "    ld.global.u32 %value, [%address];\n"
                          "    add.u32 %value, %value, 1;\n"
                          "    st.global.u32 [%address], %value;\n"
                          "    ret;\n"
                          "}\n";

int main(int argc, char **argv)
{
    unsigned value = 0;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction increase;
    CUstream stream;
    CUdeviceptr x;
    void *arguments[] = {&x};
    CUgraph graph;
    CUgraphExec exec;

    (void)argv;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetFunction(&increase, module, "increase"));
    CU(cuMemAlloc(&x, sizeof value));
    CU(cuMemsetD32(x, 0, 1));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(cuLaunchKernel(increase, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiate(&exec, graph, 0));
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
    if (argc > 1)
        CU(cuModuleUnload(module));
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
    if (argc == 1)
        CU(cuModuleUnload(module));
    CU(cuMemcpyDtoH(&value, x, sizeof value));
    printf("%u\n", value);
    return 0;
}

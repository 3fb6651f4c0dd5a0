/* HOSTCUDA_MEMORY, each case in a process of its own: the variable is read once. Host device only. */
#include "tests/support/test.h"
#include <cublas_v2.h>
#include "kernels/model/kernels.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/child.h"
#include "tests/support/kernels/hostcuda_kernels.h"

enum { PAGE = 4096, FLOATS = PAGE / sizeof(float), ODD = 60 };

/* A program of one call. */
#define PROGRAM(name, call)                                                                                            \
    static int name(void)                                                                                              \
    {                                                                                                                  \
        return call;                                                                                                   \
    }
#define EXPECT_PROGRAM(...) expect_child("HOSTCUDA_MEMORY", &(const struct child){__VA_ARGS__})

/* ---- fences around blocks ---------------------------------------------------------------------------------------- */

static float *x, *y;
static cudaStream_t a, b;

static bool start(size_t floats)
{
    return !cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking) &&
           !cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking) && !cudaMalloc((void **)&x, floats * sizeof *x) &&
           !cudaMalloc((void **)&y, floats * sizeof *y);
}

/* The fault is found and sticks, the process goes on. */
static int illegal(void)
{
    void *memory = NULL;
    EXPECT(cudaStreamSynchronize(a) == cudaErrorIllegalAddress);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    EXPECT(cudaMalloc(&memory, 16) == cudaErrorIllegalAddress);
    EXPECT(bgk_fill(x, 1, 1, a) == cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError() == cudaErrorIllegalAddress && cudaGetLastError() == cudaErrorIllegalAddress);
    return 0;
}

/* A program that starts with blocks of so many floats, and whose call is well until the device runs it. */
#define ILLEGAL(name, floats, call)                                                                                    \
    static int name(void)                                                                                              \
    {                                                                                                                  \
        EXPECT(start(floats));                                                                                         \
        EXPECT(!(call));                                                                                               \
        return illegal();                                                                                              \
    }
ILLEGAL(write_past_end, FLOATS, bgk_fill(x, 1, FLOATS + 1, a))
ILLEGAL(read_past_end, FLOATS, bgk_scale(y, x + 1, 2, FLOATS, a))
ILLEGAL(write_before_start, FLOATS, bgk_fill(x - 2, 1, 1, a))

/* No page ends with the block: found when the kernel has ended. */
ILLEGAL(write_past_odd_end, ODD, bgk_fill(x, 1, ODD + 2, a))
ILLEGAL(write_before_odd_start, ODD, bgk_fill(x - 1, 1, 2, a))
ILLEGAL(wild_pointer, FLOATS, bgk_fill((float *)(uintptr_t)64, 1, 1, a))

/* The other threads of the block wait at a barrier on stacks of their own; the next device runs blocks again. */
static int fault_in_a_block_with_barriers(void)
{
    float host[2] = {0, 0};
    EXPECT(!setenv("HOSTCUDA_DEVICES", "2", 1));
    EXPECT(start(FLOATS));
    EXPECT(!hk_shared(y, x + FLOATS - 127, 128, 1, a));
    int failed = illegal();
    if (failed)
        return failed;
    EXPECT(!cudaSetDevice(1));
    EXPECT(start(FLOATS));
    EXPECT(!bgk_fill(x, 0.5f, FLOATS, a) && !hk_shared(y, x, 128, 2, a));
    EXPECT(!cudaMemcpyAsync(host, y, sizeof host, cudaMemcpyDeviceToHost, a) && !cudaStreamSynchronize(a));
    EXPECT(host[0] == 64 && host[1] == 64);
    return 0;
}

TEST(test_fences_around_blocks)
{
    EXPECT_PROGRAM("fence", write_past_end, 0, "0 bytes past the end of device block 1, 4096 bytes at 0x");
    EXPECT_PROGRAM("poison,fence", read_past_end, 0, "0 bytes past the end of device block 1, 4096 bytes at 0x");
    EXPECT_PROGRAM("fence,reuse", write_before_start, 0, "8 bytes before the start of device block 1, 4096 bytes");
    EXPECT_PROGRAM("fence,never", write_past_odd_end, 0, "wrote to address 0x");
    EXPECT_PROGRAM("fence", write_past_odd_end, 0, ", 0 bytes past the end of device block 1, 240 bytes at 0x");
    EXPECT_PROGRAM("fence", write_before_odd_start, 0, ", 4 bytes before the start of device block 1, 240 bytes at");
    EXPECT_PROGRAM("fence", wild_pointer, 0, "touches address 0x40, ");
    EXPECT_PROGRAM("fence", fault_in_a_block_with_barriers, 0, "thread (127,0,0) of block (0,0,0) touches address 0x");
    assert_non_null(strstr(child_said, "hostcuda: kernel "));
    assert_non_null(strstr(child_said, "block_sums"));
}

/* ---- fences in place of freed blocks ----------------------------------------------------------------------------- */

ILLEGAL(kernel_after_free, FLOATS, cudaFree(x) || bgk_fill(x, 1, 1, a))

/* The free is ordered on one stream, the use on another. */
static int use_after_ordered_free(void)
{
    EXPECT(start(FLOATS));
    EXPECT(!cudaMallocAsync((void **)&x, PAGE, b) && !cudaStreamSynchronize(b));
    EXPECT(!cudaFreeAsync(x, b) && !bgk_scale(y, x, 1, 1, a));
    return illegal();
}

/* What the graph holds is freed before its launch: `what` is captured on stream a. */
static int launch_after_free(cudaError_t (*what)(void))
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    EXPECT(start(FLOATS));
    EXPECT(!cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal) && !what());
    EXPECT(!cudaStreamEndCapture(a, &graph) && !cudaGraphInstantiate(&exec, graph, 0));
    EXPECT(!cudaGraphLaunch(exec, a) && !cudaStreamSynchronize(a));
    EXPECT(!cudaFree(x) && !cudaGraphLaunch(exec, a));
    return illegal();
}

static cublasHandle_t handle;
static cudaError_t product(void)
{
    const float one = 1, zero = 0;
    bool failed = cublasSetStream(handle, a) ||
                  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 8, 8, 8, &one, x, 8, x, 8, &zero, y, 8);
    return failed ? cudaErrorUnknown : cudaSuccess;
}

#define LAUNCH_AFTER_FREE(name, call)                                                                                  \
    static cudaError_t capture_##name(void)                                                                            \
    {                                                                                                                  \
        return call;                                                                                                   \
    }                                                                                                                  \
    PROGRAM(launch_##name, launch_after_free(capture_##name))
LAUNCH_AFTER_FREE(copy, cudaMemcpyAsync(y, x, PAGE, cudaMemcpyDeviceToDevice, a))
LAUNCH_AFTER_FREE(fill, cudaMemsetAsync(x, 0, PAGE, a))
LAUNCH_AFTER_FREE(kernel, bgk_add(y, y, x, FLOATS, a))
static int launch_product(void)
{
    EXPECT(!cublasCreate(&handle));
    int failed = launch_after_free(product);
    EXPECT(!cublasDestroy(handle));
    return failed;
}

/* 8 x 8 of 60 floats: what lies behind them is in the same page, and only looking before the product finds it. */
static int product_past_odd_end(void)
{
    EXPECT(start(ODD) && !cudaMalloc((void **)&y, PAGE) && !cublasCreate(&handle) && !product());
    return illegal();
}

/* A workspace that the program sets may hold parts of a product, and nothing else; x is it, freed or not. */
static int workspace(bool freed)
{
    const float one = 1, zero = 0;
    float *in = NULL, *out = NULL, found = 0;
    EXPECT(start(FLOATS) && !cudaMalloc((void **)&in, PAGE) && !cudaMalloc((void **)&out, PAGE));
    EXPECT(!bgk_fill(x, 1, FLOATS, a) && !bgk_fill(in, 1, FLOATS, a) && !cudaStreamSynchronize(a));
    EXPECT(!cublasCreate(&handle) && !cublasSetStream(handle, a) && !cublasSetWorkspace(handle, x, PAGE));
    EXPECT(!freed || !cudaFree(x));
    EXPECT(!cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 8, 8, 8, &one, in, 8, in, 8, &zero, out, 8));
    if (freed)
        return illegal();
    EXPECT(!cudaMemcpyAsync(&found, x, sizeof found, cudaMemcpyDeviceToHost, a) && !cudaStreamSynchronize(a));
    EXPECT(found != 1);
    EXPECT(!cudaMemcpyAsync(&found, x + 64, sizeof found, cudaMemcpyDeviceToHost, a) && !cudaStreamSynchronize(a));
    return found != 1; /* behind as much as the result has */
}
PROGRAM(workspace_is_written, workspace(false))
PROGRAM(freed_workspace, workspace(true))

/* An allocation node's address, before the graph allocated it or after the graph freed it. */
static int graph_memory(bool launched)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    float *memory = NULL, value = 0;
    EXPECT(start(FLOATS));
    EXPECT(!cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    EXPECT(!cudaMallocAsync((void **)&memory, PAGE, a) && !bgk_fill(memory, 3, FLOATS, a));
    EXPECT(!bgk_scale(y, memory, 2, FLOATS, a) && !cudaFreeAsync(memory, a));
    EXPECT(!cudaStreamEndCapture(a, &graph) && !cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; launched && i < 3; i++) {
        EXPECT(!cudaGraphLaunch(exec, a));
        EXPECT(!cudaMemcpyAsync(&value, y + i, sizeof value, cudaMemcpyDeviceToHost, a));
        EXPECT(!cudaStreamSynchronize(a) && value == 6);
    }
    EXPECT(!bgk_scale(y, memory, 2, 1, a));
    return illegal();
}

PROGRAM(before_the_graph, graph_memory(false))
PROGRAM(after_the_graph, graph_memory(true))

/* The same of a node that no capture made. */
static int before_the_node(void)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    struct cudaMemAllocNodeParams params = {.bytesize = PAGE};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    EXPECT(start(FLOATS) && !cudaGraphCreate(&graph, 0));
    EXPECT(!cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params) && !bgk_fill(params.dptr, 1, 1, a));
    return illegal();
}

/* A copy of unknown direction from an address that is nobody's any more. */
ILLEGAL(default_copy_after_free, FLOATS, cudaFree(x) || cudaMemcpyAsync(y, x, PAGE, cudaMemcpyDefault, a))

TEST(test_fences_in_place_of_freed_blocks)
{
    EXPECT_PROGRAM("fence", kernel_after_free, 0, "thread (0,0,0) of block (0,0,0) touches address 0x");
    EXPECT_PROGRAM("fence,never,poison", kernel_after_free, 0, "0 bytes into freed device block 1, 4096 bytes at 0x");
    EXPECT_PROGRAM("fence,reuse", use_after_ordered_free, 0, "0 bytes into freed device block 3, 4096 bytes at 0x");
    EXPECT_PROGRAM("fence", launch_kernel, 0, "0 bytes into freed device block 1, ");
    EXPECT_PROGRAM("fence", launch_copy, 0, "hostcuda: a memcpy touches address 0x");
    EXPECT_PROGRAM("fence", launch_fill, 0, "hostcuda: a memset touches address 0x");
    EXPECT_PROGRAM("fence", launch_product, 0, "hostcuda: kernel hostcuda_gemm touches address 0x");
    EXPECT_PROGRAM("fence", product_past_odd_end, 0, "0 bytes past the end of device block 1, 240 bytes at 0x");
    EXPECT_PROGRAM("fence", freed_workspace, 0, "hostcuda: kernel hostcuda_gemm touches address 0x");
    EXPECT_PROGRAM("fence", workspace_is_written, 0, NULL);
    EXPECT_PROGRAM("fence", before_the_graph, 0, "0 bytes into unallocated device block 3, ");
    EXPECT_PROGRAM("fence", before_the_node, 0, "0 bytes into unallocated device block 3, ");
    EXPECT_PROGRAM("fence,poison", after_the_graph, 0, "0 bytes into unallocated device block 3, ");
    EXPECT_PROGRAM("fence", default_copy_after_free, 0, "hostcuda: a memcpy touches address 0x");
}

/* ---- host code --------------------------------------------------------------------------------------------------- */

static int host_reads(void)
{
    EXPECT(start(FLOATS));
    return ((volatile float *)x)[2] == 1 ? 1 : 0;
}

static void write_x(void *user)
{
    (void)user;
    *(volatile float *)x = 1;
}
static int host_function_writes(void)
{
    EXPECT(start(FLOATS));
    EXPECT(!bgk_fill(x, 1, FLOATS, a) && !cudaLaunchHostFunc(a, write_x, NULL));
    return cudaStreamSynchronize(a) != cudaSuccess;
}

static int host_uses_pinned(void)
{
    float *pinned = NULL, host = 0;
    EXPECT(start(FLOATS));
    EXPECT(!cudaMallocHost((void **)&pinned, PAGE));
    for (size_t i = 0; i < FLOATS; i++)
        pinned[i] = 3;
    EXPECT(!bgk_add(x, pinned, pinned, FLOATS, a));
    EXPECT(!cudaMemcpyAsync(pinned, x, PAGE, cudaMemcpyDeviceToHost, a) && !cudaStreamSynchronize(a));
    EXPECT(pinned[0] == 6 && pinned[FLOATS - 1] == 6);
    EXPECT(!cudaFreeHost(pinned));
    host = *(volatile float *)pinned;
    return host == 6 ? 1 : 0;
}

/* A program's own handler is asked, whether it came before the first call or after. */
static void leave(int number)
{
    _exit(number == SIGSEGV ? 77 : 78);
}
static int handler_before(void)
{
    EXPECT(signal(SIGSEGV, leave) != SIG_ERR);
    return host_reads();
}
static int handler_after(void)
{
    EXPECT(start(FLOATS));
    EXPECT(signal(SIGSEGV, leave) != SIG_ERR);
    EXPECT(!bgk_fill(x, 1, FLOATS, a) && !cudaStreamSynchronize(a));
    raise(SIGSEGV); /* by nobody's address */
    return 1;
}

/* A handler that hands a fault back to the one before it, which is the host device's. */
static struct sigaction before;
static void hand_back(int number, siginfo_t *info, void *context)
{
    before.sa_sigaction(number, info, context);
}
static int handler_hands_back(void)
{
    struct sigaction ours = {.sa_sigaction = hand_back, .sa_flags = SA_SIGINFO | SA_NODEFER};
    EXPECT(start(FLOATS));
    EXPECT(!sigaction(SIGSEGV, &ours, &before));
    EXPECT(!bgk_fill(x, 1, FLOATS, a) && !cudaStreamSynchronize(a));
    return ((volatile float *)x)[2] == 1 ? 1 : 0;
}

TEST(test_host_code)
{
    EXPECT_PROGRAM("fence", host_reads, CHILD_KILLED + SIGSEGV, "hostcuda: host code touches address 0x");
    assert_non_null(strstr(child_said, ", 8 bytes into device block 1, 4096 bytes at 0x"));
    EXPECT_PROGRAM("fence", host_function_writes, CHILD_KILLED + SIGSEGV, "hostcuda: host code touches address 0x");
    EXPECT_PROGRAM("poison,fence", host_uses_pinned, CHILD_KILLED + SIGSEGV, "0 bytes into freed pinned block 3, 4096");
    EXPECT_PROGRAM("fence", handler_before, 77, "hostcuda: host code touches address 0x");
    EXPECT_PROGRAM("fence", handler_after, 77, NULL);
    EXPECT_PROGRAM("fence", handler_hands_back, CHILD_KILLED + SIGSEGV, "hostcuda: host code touches address 0x");
    EXPECT_PROGRAM("poison", host_reads, 0, NULL);
}

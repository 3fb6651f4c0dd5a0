/* HOSTCUDA_MEMORY's other modes: poison, reuse and never; and a program that is right under all. Host device only. */
#include "tests/support/test.h"
#include <cublas_v2.h>
#include "kernels/model/kernels.h"

#include <stdbool.h>
#include <string.h>

#include "tests/support/child.h"

enum { N = 1000, ROUNDS = 300 };

#define EXPECT_PROGRAM(...) expect_child("HOSTCUDA_MEMORY", &(const struct child){__VA_ARGS__})

/* ---- poison ------------------------------------------------------------------------------------------------------ */

static bool all_bytes(const void *memory, size_t count, unsigned char value)
{
    const unsigned char *bytes = memory;
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static bool poisoned(const float *device, cudaStream_t stream)
{
    static float host[N];
    memset(host, 0, sizeof host);
    return !cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, stream) &&
           !cudaStreamSynchronize(stream) && host[0] != host[0] && all_bytes(host, sizeof host, 0xff);
}

static int fresh_memory(void)
{
    cudaStream_t stream = NULL;
    float *x = NULL, *pinned = NULL;
    EXPECT(!cudaStreamCreate(&stream));
    for (int i = 0; i < 3; i++) {
        EXPECT(!cudaMalloc((void **)&x, N * sizeof *x) && poisoned(x, stream));
        EXPECT(!bgk_fill(x, 1, N, stream) && !cudaFree(x));
        EXPECT(!cudaMallocAsync((void **)&x, N * sizeof *x, stream) && poisoned(x, stream));
        EXPECT(!bgk_fill(x, 1, N, stream) && !cudaFreeAsync(x, stream) && !cudaStreamSynchronize(stream));
        EXPECT(!cudaMallocHost((void **)&pinned, N * sizeof *pinned));
        EXPECT(all_bytes(pinned, N * sizeof *pinned, 0xff));
        memset(pinned, 0, N * sizeof *pinned);
        EXPECT(!cudaFreeHost(pinned));
    }
    EXPECT(!cudaStreamDestroy(stream));
    return 0;
}

/* Without fences, who still looks at freed memory finds the poison. */
static int freed_memory(void)
{
    float *x = NULL, *y = NULL;
    EXPECT(!cudaMalloc((void **)&x, N * sizeof *x) && !cudaMalloc((void **)&y, N * sizeof *y));
    EXPECT(!bgk_fill(x, 1, N, NULL) && !cudaDeviceSynchronize() && x[0] == 1);
    EXPECT(!cudaFree(x) && all_bytes(x, N * sizeof *x, 0xff));
    EXPECT(!bgk_scale(y, x, 2, N, NULL) && poisoned(y, NULL));
    EXPECT(!cudaMallocAsync((void **)&x, N * sizeof *x, NULL) && !bgk_fill(x, 1, N, NULL));
    EXPECT(!cudaFreeAsync(x, NULL) && !cudaDeviceSynchronize() && all_bytes(x, N * sizeof *x, 0xff));
    return 0;
}

/* An allocation node's memory is fresh at each launch. */
static int graph_memory(void)
{
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    float *x = NULL, *y = NULL;
    EXPECT(!cudaStreamCreate(&stream) && !cudaMalloc((void **)&y, N * sizeof *y));
    EXPECT(!cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT(!cudaMallocAsync((void **)&x, N * sizeof *x, stream) && !bgk_scale(y, x, 1, N, stream));
    EXPECT(!bgk_fill(x, 1, N, stream) && !cudaFreeAsync(x, stream));
    EXPECT(!cudaStreamEndCapture(stream, &graph) && !cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        EXPECT(!bgk_fill(y, 0, N, stream));
        EXPECT(!cudaGraphLaunch(exec, stream) && !cudaStreamSynchronize(stream) && poisoned(y, stream));
    }
    EXPECT(!cudaGraphExecDestroy(exec) && !cudaGraphDestroy(graph));
    return 0;
}

TEST(test_poison)
{
    static const char *const modes[] = {"poison", "poison,fence", "reuse,poison", "never,fence,poison"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        EXPECT_PROGRAM(modes[i], fresh_memory, 0, NULL);
        EXPECT_PROGRAM(modes[i], graph_memory, 0, NULL);
    }
    EXPECT_PROGRAM("poison", freed_memory, 0, NULL);
    EXPECT_PROGRAM("poison,never", freed_memory, 0, NULL);
    EXPECT_PROGRAM("poison,reuse", freed_memory, 0, NULL);
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static int addresses_come_back(void)
{
    void *first = NULL, *again = NULL, *other = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        EXPECT(!cudaMalloc(&first, 512) && !cudaFree(first));
        EXPECT(!cudaMalloc(&other, 1024) && other != first);
        EXPECT(!cudaMalloc(&again, 512) && again == first);
        EXPECT(!cudaFree(again) && !cudaFree(other));
    }
    /* of several, the one that was freed last; a size of the same multiple of 256 fits */
    EXPECT(!cudaMalloc(&first, 512) && !cudaMalloc(&other, 512));
    EXPECT(!cudaFree(first) && !cudaFree(other) && !cudaMalloc(&again, 500) && again == other);
    EXPECT(!cudaFree(again) && !cudaMalloc(&again, 500) && again == other);
    EXPECT(!cudaMalloc(&again, 512) && again == first && !cudaFree(other) && !cudaFree(first));
    EXPECT(!cudaMalloc(&again, 300) && again == first);
    EXPECT(!cudaMemset(again, 0, 300) && cudaMemset(again, 0, 301) == cudaErrorInvalidValue);
    return 0;
}

static int no_address_twice(void)
{
    static uintptr_t seen[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        void *memory = NULL;
        EXPECT(!cudaMalloc(&memory, i % 3 ? 4096 : (size_t)1 << 20) && !cudaMemset(memory, 0, 4096));
        for (int j = 0; j < i; j++)
            EXPECT(seen[j] != (uintptr_t)memory);
        seen[i] = (uintptr_t)memory;
        EXPECT(!cudaFree(memory));
    }
    return 0;
}

TEST(test_addresses)
{
    EXPECT_PROGRAM("reuse", addresses_come_back, 0, NULL);
    EXPECT_PROGRAM("poison,reuse,fence", addresses_come_back, 0, NULL);
    EXPECT_PROGRAM("never", no_address_twice, 0, NULL);
    EXPECT_PROGRAM("never,poison", no_address_twice, 0, NULL);
    EXPECT_PROGRAM("poison,never,fence", no_address_twice, 0, NULL);
}

/* ---- a program that is right ------------------------------------------------------------------------------------- */

struct work {
    cudaStream_t a, b;
    cudaEvent_t forked, joined;
    cublasHandle_t handle;
    float *x, *y, *z, *pinned;
};

static bool work_make(struct work *w)
{
    return !cudaStreamCreateWithFlags(&w->a, cudaStreamNonBlocking) &&
           !cudaStreamCreateWithFlags(&w->b, cudaStreamNonBlocking) && !cudaEventCreate(&w->forked) &&
           !cudaEventCreate(&w->joined) && !cublasCreate(&w->handle) && !cublasSetStream(w->handle, w->a) &&
           !cudaMalloc((void **)&w->x, N * sizeof *w->x) && !cudaMalloc((void **)&w->y, N * sizeof *w->y) &&
           !cudaMalloc((void **)&w->z, N * sizeof *w->z) && !cudaMallocHost((void **)&w->pinned, N * sizeof *w->z);
}

static bool work_free(const struct work *w)
{
    return !cublasDestroy(w->handle) && !cudaStreamDestroy(w->a) && !cudaStreamDestroy(w->b) &&
           !cudaEventDestroy(w->forked) && !cudaEventDestroy(w->joined) && !cudaFree(w->x) && !cudaFree(w->y) &&
           !cudaFree(w->z) && !cudaFreeHost(w->pinned);
}

static int pass(const struct work *w)
{
    float *scratch = NULL;
    const float one = 1, zero = 0;
    EXPECT(!cudaEventRecord(w->forked, w->a) && !cudaStreamWaitEvent(w->b, w->forked, 0));
    EXPECT(!bgk_scale(w->y, w->x, 2, N, w->b));
    EXPECT(!cudaMallocAsync((void **)&scratch, 1001, w->a) && !cudaMemsetAsync(scratch, 0, 1001, w->a));
    EXPECT(!bgk_add(w->z, w->x, scratch, 250, w->a) && !cudaFreeAsync(scratch, w->a));
    EXPECT(!cudaMemcpy2DAsync(w->z + 250, 400, w->x + 250, 400, 400, 7, cudaMemcpyDeviceToDevice, w->a));
    EXPECT(!cudaMemcpyAsync(w->z + 950, w->x + 950, 200, cudaMemcpyDeviceToDevice, w->a));
    EXPECT(!cudaEventRecord(w->joined, w->b) && !cudaStreamWaitEvent(w->a, w->joined, 0));
    EXPECT(!bgk_add(w->z, w->z, w->y, N, w->a));
    /* y = z x, z as columns of 25 */
    EXPECT(!cublasSgemv(w->handle, CUBLAS_OP_N, 25, 40, &one, w->z, 25, w->x, 1, &zero, w->y, 1));
    EXPECT(!cudaMemcpyAsync(w->pinned, w->z, N * sizeof *w->z, cudaMemcpyDeviceToHost, w->a));
    EXPECT(!cudaMemcpyAsync(w->pinned, w->y, 25 * sizeof *w->y, cudaMemcpyDeviceToHost, w->a));
    return 0;
}

static bool as_it_must_be(const struct work *w)
{
    for (int row = 0; row < 25; row++) {
        float sum = 0;
        for (int column = 0; column < 40; column++)
            sum += 3 * (float)((column * 25 + row) % 8) * (float)(column % 8);
        if (w->pinned[row] != sum)
            return false;
    }
    for (int i = 25; i < N; i++)
        if (w->pinned[i] != 3 * (float)(i % 8))
            return false;
    return true;
}

static int right(void)
{
    struct work w;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    float host[N];
    EXPECT(work_make(&w));
    for (int i = 0; i < N; i++)
        host[i] = (float)(i % 8);
    EXPECT(!cudaMemcpy(w.x, host, sizeof host, cudaMemcpyHostToDevice));
    EXPECT(!pass(&w) && !cudaStreamSynchronize(w.a) && as_it_must_be(&w));
    EXPECT(!cudaStreamBeginCapture(w.a, cudaStreamCaptureModeThreadLocal) && !pass(&w));
    EXPECT(!cudaStreamEndCapture(w.a, &graph) && !cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        memset(w.pinned, 0, N * sizeof *w.pinned);
        EXPECT(!cudaGraphLaunch(exec, w.a) && !cudaStreamSynchronize(w.a) && as_it_must_be(&w));
    }
    EXPECT(!cudaGraphExecDestroy(exec) && !cudaGraphDestroy(graph) && work_free(&w));
    return 0;
}

/* What no machine has is refused, and nothing is harmed. */
static int too_much(void)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 300, SIZE_MAX / 2, (size_t)1 << 45};
    void *memory = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        EXPECT(cudaMallocHost(&memory, sizes[i]) == cudaErrorMemoryAllocation && !memory);
        EXPECT(cudaMalloc(&memory, sizes[i]) == cudaErrorMemoryAllocation && !memory);
        EXPECT(cudaMallocAsync(&memory, sizes[i], NULL) == cudaErrorMemoryAllocation && !memory);
    }
    EXPECT(!cudaMallocHost(&memory, 1) && !cudaFreeHost(memory));
    return 0;
}

TEST(test_more_than_there_is)
{
    EXPECT_PROGRAM("", too_much, 0, NULL);
    EXPECT_PROGRAM("never", too_much, 0, NULL);
    EXPECT_PROGRAM("poison,fence", too_much, 0, NULL);
    EXPECT_PROGRAM("poison,reuse", too_much, 0, NULL);
}

/* Any combination but reuse with never. */
TEST(test_a_right_program)
{
    static const char *const words[] = {"poison", "fence", "reuse", "never"};
    for (unsigned bits = 0; bits < 12; bits++) {
        char modes[64] = "";
        for (unsigned i = 0; i < 4; i++)
            if (bits >> i & 1)
                strcat(strcat(modes, *modes ? "," : ""), words[i]);
        EXPECT_PROGRAM(modes, right, 0, NULL);
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int start(void)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    return error == cudaErrorInitializationError ? 7 : error || count != 1;
}

TEST(test_values)
{
    static const char *const unknown[] = {"poisn", "Fence", " poison", "poison fence", ",poison", "poison,,fence", "1"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        EXPECT_PROGRAM(unknown[i], start, 7, "; allowed are poison, fence, reuse, never\n");
    EXPECT_PROGRAM("poisn", start, 7, "hostcuda: HOSTCUDA_MEMORY has the word \"poisn\"; ");
    EXPECT_PROGRAM("never,fence,reuse", start, 7, "hostcuda: HOSTCUDA_MEMORY has reuse and never, which exclude");
    EXPECT_PROGRAM("", start, 0, NULL);
    EXPECT_PROGRAM("never,poison", start, 0, NULL);
}

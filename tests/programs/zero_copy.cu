/* Kernels that read and write host memory, without copies: memory that CUDA has allocated, and memory that the program
 * has allocated and registers. */
#include "program.h"

enum { N = 2048, THREADS = 256, BYTES = N * sizeof(int) };

__global__ void add(int *sum, const int *a, const int *b)
{
    sum[thread_index()] = a[thread_index()] + b[thread_index()];
}

/* The address at which kernels see the memory. */
static int *on_device(int *memory)
{
    void *address;
    CHECK(cudaHostGetDevicePointer(&address, memory, 0));
    return static_cast<int *>(address);
}

static void run(const char *name, cudaStream_t stream, int *a, int *b, int *sum)
{
    cudaGraph_t graph;
    long long total = 0;
    int *const sum_on_device = on_device(sum), *const a_on_device = on_device(a), *const b_on_device = on_device(b);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<N / THREADS, THREADS, 0, stream>>>(sum_on_device, a_on_device, b_on_device);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = instantiate(graph);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            a[i] = i + round;
            b[i] = 2 * i;
        }
        launch_and_wait(exec, stream);
        for (int i = 0; i < N; i++) {
            EXPECT(sum[i], 3 * i + round);
            total += sum[i];
        }
    }
    std::printf("%s: total %lld\n", name, total);
    CHECK(cudaGraphExecDestroy(exec));
}

int main()
{
    cudaStream_t stream = make_stream();
    void *memory[3];
    int can_map = 0;
    CHECK(cudaDeviceGetAttribute(&can_map, cudaDevAttrCanMapHostMemory, 0));
    EXPECT(can_map, 1);
    for (void *&each : memory)
        CHECK(cudaHostAlloc(&each, BYTES, cudaHostAllocMapped));
    run("allocated by CUDA", stream, static_cast<int *>(memory[0]), static_cast<int *>(memory[1]),
        static_cast<int *>(memory[2]));
    for (void *each : memory)
        CHECK(cudaFreeHost(each));

    for (void *&each : memory) {
        each = std::aligned_alloc(4096, BYTES);
        EXPECT(each != nullptr, true);
        CHECK(cudaHostRegister(each, BYTES, cudaHostRegisterMapped));
    }
    run("registered", stream, static_cast<int *>(memory[0]), static_cast<int *>(memory[1]),
        static_cast<int *>(memory[2]));
    for (void *each : memory) {
        CHECK(cudaHostUnregister(each));
        std::free(each);
    }
    CHECK(cudaStreamDestroy(stream));
    return 0;
}

/* A graph writes numbers and then a flag to pinned memory. The host polls the flag, without a call of CUDA, and takes
 * the numbers while the next launch writes to the other slot. */
#include "program.h"

#include <atomic>

enum { N = 96, SLOTS = 2, ROUNDS = 6 };

struct slot {
    int numbers[N];
    int round; /* 0: empty */
};

__global__ void write_numbers(slot *to, const int *table, int round)
{
    to->numbers[threadIdx.x] = table[threadIdx.x] * round;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        *static_cast<volatile int *>(&to->round) = round;
}

__global__ void fill_table(int *table)
{
    table[threadIdx.x] = static_cast<int>(threadIdx.x * threadIdx.x) + 1;
}

struct graph_of_writer {
    cudaGraph_t graph;
    cudaGraphNode_t write;
    cudaGraphExec_t exec;
};

static graph_of_writer make_writer(slot *to, int *table)
{
    graph_of_writer made;
    cudaGraphNode_t fill;
    int round = 1;
    void *filled[] = {&table}, *arguments[] = {&to, &table, &round};
    CHECK(cudaGraphCreate(&made.graph, 0));
    cudaKernelNodeParams params = kernel_params(fill_table, 1, N, filled);
    CHECK(cudaGraphAddKernelNode(&fill, made.graph, nullptr, 0, &params));
    params = kernel_params(write_numbers, 1, N, arguments);
    CHECK(cudaGraphAddKernelNode(&made.write, made.graph, &fill, 1, &params));
    CHECK(cudaGraphInstantiate(&made.exec, made.graph, 0));
    return made;
}

static void launch_writer(const graph_of_writer &writer, slot *to, int *table, int round, cudaStream_t stream)
{
    void *arguments[] = {&to, &table, &round};
    const cudaKernelNodeParams params = kernel_params(write_numbers, 1, N, arguments);
    CHECK(cudaGraphExecKernelNodeSetParams(writer.exec, writer.write, &params));
    CHECK(cudaGraphLaunch(writer.exec, stream));
}

static long long take_numbers(slot *from, int round)
{
    long long sum = 0;
    while (*static_cast<volatile int *>(&from->round) != round) {
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    for (int i = 0; i < N; i++) {
        EXPECT(from->numbers[i], (i * i + 1) * round);
        sum += from->numbers[i];
        from->numbers[i] = 0;
    }
    return sum;
}

int main()
{
    cudaStream_t stream = make_stream();
    void *memory, *seen_by_device;
    int *table = allocate<int>(N);
    CHECK(cudaHostAlloc(&memory, SLOTS * sizeof(slot), cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&seen_by_device, memory, 0));
    slot *slots = static_cast<slot *>(memory), *on_device = static_cast<slot *>(seen_by_device);
    for (int i = 0; i < SLOTS; i++)
        slots[i].round = 0;
    const graph_of_writer writer = make_writer(on_device, table);
    launch_writer(writer, on_device + 1, table, 1, stream);
    for (int round = 1; round <= ROUNDS; round++) {
        if (round < ROUNDS)
            launch_writer(writer, on_device + (round + 1) % SLOTS, table, round + 1, stream);
        std::printf("round %d: sum %lld\n", round, take_numbers(slots + round % SLOTS, round));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(writer.exec));
    CHECK(cudaGraphDestroy(writer.graph));
    CHECK(cudaFree(table));
    CHECK(cudaFreeHost(memory));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}

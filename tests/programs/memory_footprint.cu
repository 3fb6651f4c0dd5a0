/* How much memory graphs hold: what is not freed is used, the high marks stay until they are reset, and a trim gives
 * back what belongs to no graph any more. */
#include "program.h"

#include <cstdint>

enum { GRAPHS = 8, BYTES = 1 << 20 };

__global__ void write_ends(int *memory, int value)
{
    memory[0] = value;
    memory[BYTES / sizeof(int) - 1] = value;
}

__global__ void read_ends(int *sum, const int *memory)
{
    *sum += memory[0] + memory[BYTES / sizeof(int) - 1];
}

static std::uint64_t read(cudaGraphMemAttributeType attribute)
{
    std::uint64_t bytes = 0;
    CHECK(cudaDeviceGetGraphMemAttribute(0, attribute, &bytes));
    return bytes;
}

static void reset_high()
{
    std::uint64_t zero = 0;
    CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero));
}

static void expect_nothing(const char *when)
{
    CHECK(cudaDeviceGraphMemTrim(0));
    EXPECT(read(cudaGraphMemAttrUsedMemCurrent), 0);
    EXPECT(read(cudaGraphMemAttrReservedMemCurrent), 0);
    std::printf("%s: nothing is used, and nothing reserved\n", when);
}

static cudaGraphExec_t capture(cudaStream_t stream, int *sum, int value, bool frees, int **memory)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(reinterpret_cast<void **>(memory), BYTES, stream));
    write_ends<<<1, 1, 0, stream>>>(*memory, value);
    read_ends<<<1, 1, 0, stream>>>(sum, *memory);
    if (frees)
        CHECK(cudaFreeAsync(*memory, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return instantiate(graph);
}

/* Each graph frees what it allocates: whether graphs share their memory is the device's affair. */
static void run_in_turn(cudaStream_t stream, int *sum)
{
    cudaGraphExec_t execs[GRAPHS];
    int *memory;
    for (int i = 0; i < GRAPHS; i++)
        execs[i] = capture(stream, sum, i, true, &memory);
    reset_high();
    for (cudaGraphExec_t exec : execs)
        CHECK(cudaGraphLaunch(exec, stream));
    EXPECT(read_one(sum, stream), GRAPHS * (GRAPHS - 1));
    EXPECT(read(cudaGraphMemAttrReservedMemHigh) >= BYTES, true);
    std::printf("%d graphs that free their memory: sum %d\n", GRAPHS, read_one(sum, stream));
    for (cudaGraphExec_t exec : execs)
        CHECK(cudaGraphExecDestroy(exec));
}

/* None frees it, so that all of it is there at once. */
static void run_unfreed(cudaStream_t stream, int *sum)
{
    cudaGraphExec_t execs[GRAPHS];
    int *memory[GRAPHS];
    for (int i = 0; i < GRAPHS; i++)
        execs[i] = capture(stream, sum, i, false, &memory[i]);
    for (cudaGraphExec_t exec : execs)
        CHECK(cudaGraphLaunch(exec, stream));
    EXPECT(read_one(sum, stream), 2 * GRAPHS * (GRAPHS - 1));
    const std::uint64_t all = GRAPHS * static_cast<std::uint64_t>(BYTES);
    EXPECT(read(cudaGraphMemAttrUsedMemCurrent) >= all, true);
    EXPECT(read(cudaGraphMemAttrReservedMemCurrent) >= all, true);
    std::printf("%d graphs that free nothing: sum %d, each has its own memory\n", GRAPHS, read_one(sum, stream));
    for (int *each : memory)
        CHECK(cudaFreeAsync(each, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (cudaGraphExec_t exec : execs)
        CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaDeviceGraphMemTrim(0));
    EXPECT(read(cudaGraphMemAttrUsedMemHigh) >= all, true);
    reset_high();
    EXPECT(read(cudaGraphMemAttrUsedMemHigh), 0);
}

int main()
{
    cudaStream_t stream = make_stream();
    int *sum = allocate<int>(1);
    CHECK(cudaMemsetAsync(sum, 0, sizeof *sum, stream));
    expect_nothing("at the start");
    run_in_turn(stream, sum);
    expect_nothing("after them");
    run_unfreed(stream, sum);
    expect_nothing("at the end");
    CHECK(cudaFree(sum));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}

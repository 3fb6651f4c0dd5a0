/* The host asks an event whether the device has done its work, and does not wait for it. */
#include "program.h"

#include <thread>

enum { N = 1 << 14, THREADS = 256, ROUNDS = 3 };

__global__ void increment(int *values, int by)
{
    values[thread_index()] += by;
}

int main()
{
    cudaStream_t stream = make_stream();
    cudaEvent_t started, stopped;
    int *values = allocate_pinned<int>(N), *on_device = allocate<int>(N);
    float milliseconds = -1;
    CHECK(cudaEventCreate(&started));
    CHECK(cudaEventCreate(&stopped));
    EXPECT(cudaEventQuery(stopped), cudaSuccess); /* never recorded */
    for (int i = 0; i < N; i++)
        values[i] = i;
    for (int round = 1; round <= ROUNDS; round++) {
        cudaError_t state;
        CHECK(cudaEventRecord(started, stream));
        CHECK(cudaMemcpyAsync(on_device, values, N * sizeof(int), cudaMemcpyHostToDevice, stream));
        increment<<<N / THREADS, THREADS, 0, stream>>>(on_device, round * 10);
        CHECK(cudaMemcpyAsync(values, on_device, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaEventRecord(stopped, stream));
        while ((state = cudaEventQuery(stopped)) == cudaErrorNotReady)
            std::this_thread::yield(); /* or work that the host has to do */
        EXPECT(state, cudaSuccess);
        CHECK(cudaEventElapsedTime(&milliseconds, started, stopped));
        EXPECT(milliseconds >= 0, true);
        std::printf("round %d: first %d, last %d\n", round, values[0], values[N - 1]);
    }
    for (int i = 0; i < N; i++)
        EXPECT(values[i], i + 60);
    CHECK(cudaEventDestroy(started));
    CHECK(cudaEventDestroy(stopped));
    CHECK(cudaFree(on_device));
    CHECK(cudaFreeHost(values));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}

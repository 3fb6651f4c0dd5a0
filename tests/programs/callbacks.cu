/* Several threads queue work, each on its own stream, and callbacks that check it. The main thread waits for the
 * callbacks without a call of CUDA. */
#include "program.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

enum { WORKERS = 4, N = 256, THREADS = 64 };

static std::mutex lock;
static std::condition_variable changed;
static int done;

struct work {
    cudaStream_t stream;
    int *values, *on_device, index;
    bool is_right, is_called;
};

__global__ void add_index(int *values, int index)
{
    values[thread_index()] += index * thread_index();
}

static void count_one()
{
    const std::lock_guard<std::mutex> guard(lock);
    done++;
    changed.notify_all();
}

static void CUDART_CB check_values(cudaStream_t stream, cudaError_t error, void *data)
{
    work *w = static_cast<work *>(data);
    w->is_right = error == cudaSuccess && stream == w->stream;
    for (int i = 0; i < N; i++)
        w->is_right = w->is_right && w->values[i] == 100 + w->index * i;
    count_one();
}

static void CUDART_CB double_values(void *data)
{
    work *w = static_cast<work *>(data);
    w->is_called = true;
    for (int i = 0; i < N; i++)
        w->values[i] *= 2;
    count_one();
}

static void queue_work(work *w)
{
    for (int i = 0; i < N; i++)
        w->values[i] = 100;
    CHECK(cudaMemcpyAsync(w->on_device, w->values, N * sizeof(int), cudaMemcpyHostToDevice, w->stream));
    add_index<<<N / THREADS, THREADS, 0, w->stream>>>(w->on_device, w->index);
    CHECK(cudaMemcpyAsync(w->values, w->on_device, N * sizeof(int), cudaMemcpyDeviceToHost, w->stream));
    CHECK(cudaStreamAddCallback(w->stream, check_values, w, 0));
    CHECK(cudaLaunchHostFunc(w->stream, double_values, w));
}

int main()
{
    work works[WORKERS];
    std::vector<std::thread> threads;
    for (int i = 0; i < WORKERS; i++)
        works[i] = {make_stream(), allocate_pinned<int>(N), allocate<int>(N), i, false, false};
    for (work &each : works)
        threads.emplace_back(queue_work, &each);
    {
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [] { return done == 2 * WORKERS; });
    }
    for (std::thread &each : threads)
        each.join();
    for (work &each : works) {
        EXPECT(each.is_right, true);
        EXPECT(each.is_called, true);
        EXPECT(each.values[N - 1], 2 * (100 + each.index * (N - 1)));
        std::printf("worker %d: last value %d\n", each.index, each.values[N - 1]);
    }
    CHECK(cudaDeviceSynchronize());
    for (work &each : works) {
        CHECK(cudaFree(each.on_device));
        CHECK(cudaFreeHost(each.values));
        CHECK(cudaStreamDestroy(each.stream));
    }
    return 0;
}

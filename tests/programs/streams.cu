/* Copies in, kernels and copies out of parts of an array: all on one stream, then each part on a stream of its own,
 * then the same captured. */
#include "program.h"

enum { STREAMS = 4, PART = 512, N = STREAMS * PART, THREADS = 128 };

struct work {
    int *in, *out, *on_device;
    cudaStream_t streams[STREAMS];
};

__global__ void transform(int *values, int first)
{
    const int i = thread_index();
    values[i] = values[i] * 3 + first;
}

static void queue_part(const work &w, int part, cudaStream_t stream)
{
    const int first = part * PART;
    CHECK(cudaMemcpyAsync(w.on_device + first, w.in + first, PART * sizeof(int), cudaMemcpyHostToDevice, stream));
    transform<<<PART / THREADS, THREADS, 0, stream>>>(w.on_device + first, first);
    CHECK(cudaMemcpyAsync(w.out + first, w.on_device + first, PART * sizeof(int), cudaMemcpyDeviceToHost, stream));
}

static void expect_and_clear(const char *name, int *out)
{
    long long sum = 0;
    for (int i = 0; i < N; i++) {
        EXPECT(out[i], 3 * (N - i) + i / PART * PART);
        sum += out[i];
        out[i] = 0;
    }
    std::printf("%s: sum %lld\n", name, sum);
}

static cudaGraphExec_t capture(const work &w)
{
    cudaGraph_t graph;
    cudaEvent_t forked = make_event(), joined[STREAMS];
    CHECK(cudaStreamBeginCapture(w.streams[0], cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(forked, w.streams[0]));
    for (int i = 0; i < STREAMS; i++) {
        if (i > 0)
            CHECK(cudaStreamWaitEvent(w.streams[i], forked, 0));
        queue_part(w, i, w.streams[i]);
        joined[i] = make_event();
        CHECK(cudaEventRecord(joined[i], w.streams[i]));
    }
    for (int i = 1; i < STREAMS; i++)
        CHECK(cudaStreamWaitEvent(w.streams[0], joined[i], 0));
    CHECK(cudaStreamEndCapture(w.streams[0], &graph));
    CHECK(cudaEventDestroy(forked));
    for (cudaEvent_t event : joined)
        CHECK(cudaEventDestroy(event));
    return instantiate(graph);
}

int main()
{
    work w = {allocate_pinned<int>(N), allocate_pinned<int>(N), allocate<int>(N), {}};
    for (cudaStream_t &stream : w.streams)
        stream = make_stream();
    for (int i = 0; i < N; i++)
        w.in[i] = N - i;

    for (int i = 0; i < STREAMS; i++)
        queue_part(w, i, w.streams[0]);
    CHECK(cudaStreamSynchronize(w.streams[0]));
    expect_and_clear("one stream", w.out);

    for (int i = 0; i < STREAMS; i++)
        queue_part(w, i, w.streams[i]);
    CHECK(cudaDeviceSynchronize());
    expect_and_clear("four streams", w.out);

    cudaGraphExec_t exec = capture(w);
    launch_and_wait(exec, w.streams[0]);
    expect_and_clear("a graph of them", w.out);

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(w.on_device));
    CHECK(cudaFreeHost(w.in));
    CHECK(cudaFreeHost(w.out));
    for (cudaStream_t stream : w.streams)
        CHECK(cudaStreamDestroy(stream));
    return 0;
}

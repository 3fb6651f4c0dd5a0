// Chunks of an array go through two stages on two streams. Memory is allocated and freed in the order of the streams,
// copies are from and to pinned memory, and events order what the streams share: the running total.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status = (call);                                                                                   \
        if (status != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));                 \
            exit(EXIT_FAILURE);                                                                                        \
        }                                                                                                              \
    } while (0)

constexpr int CHUNKS = 6, CHUNK = 4096, BLOCK = 128;

__global__ void smooth(const float *in, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float left = in[max(i - 1, 0)], right = in[min(i + 1, n - 1)];
    out[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
}

__global__ void add_up(const float *in, float *total, int n)
{
    extern __shared__ float cell[];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += in[i];
    cell[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (static_cast<int>(threadIdx.x) < half)
            cell[threadIdx.x] += cell[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *total += cell[0]; // the streams take turns
}

static void CUDART_CB count_chunk(void *data)
{
    ++*static_cast<int *>(data);
}

// The order of the additions is that of add_up, so that the sum is the same to the last bit.
static float sum_of_chunk(const float *in)
{
    float cell[BLOCK] = {0};
    for (int i = 0; i < CHUNK; ++i)
        cell[i % BLOCK] += in[i];
    for (int half = BLOCK / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            cell[i] += cell[i + half];
    return cell[0];
}

static bool verify(const float *in, const float *out, float total)
{
    float wanted_total = 0.0f;
    int wrong = 0;
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        const float *from = in + chunk * CHUNK, *to = out + chunk * CHUNK;
        for (int i = 0; i < CHUNK; ++i) {
            const float left = from[i > 0 ? i - 1 : 0], right = from[i + 1 < CHUNK ? i + 1 : CHUNK - 1];
            wrong += to[i] != 0.25f * left + 0.5f * from[i] + 0.25f * right;
        }
        wanted_total += sum_of_chunk(to);
    }
    printf("%d chunks of %d: %d wrong, total %.2f, which is %s\n", CHUNKS, CHUNK, wrong, total,
           total == wanted_total ? "right" : "WRONG");
    return wrong == 0 && total == wanted_total;
}

int main()
{
    float *in, *out, *total, found;
    int chunks_done[2] = {0, 0};
    cudaStream_t stream[2];
    cudaEvent_t start, stop, turn;
    CHECK(cudaMallocHost(&in, CHUNKS * CHUNK * sizeof(float)));
    CHECK(cudaHostAlloc(&out, CHUNKS * CHUNK * sizeof(float), cudaHostAllocDefault));
    CHECK(cudaMalloc(&total, sizeof(float)));
    for (int i = 0; i < CHUNKS * CHUNK; ++i)
        in[i] = static_cast<float>(i % 64) - 20.0f;
    for (cudaStream_t &s : stream)
        CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventCreateWithFlags(&turn, cudaEventDisableTiming));

    CHECK(cudaEventRecord(start, stream[0]));
    CHECK(cudaMemsetAsync(total, 0, sizeof(float), stream[0]));
    CHECK(cudaEventRecord(turn, stream[0]));
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        cudaStream_t s = stream[chunk % 2];
        const size_t bytes = CHUNK * sizeof(float);
        float *raw, *smoothed;
        CHECK(cudaMallocAsync(&raw, bytes, s));
        CHECK(cudaMallocAsync(&smoothed, bytes, s));
        CHECK(cudaMemcpyAsync(raw, in + chunk * CHUNK, bytes, cudaMemcpyHostToDevice, s));
        smooth<<<(CHUNK + BLOCK - 1) / BLOCK, BLOCK, 0, s>>>(raw, smoothed, CHUNK);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(raw, s));
        CHECK(cudaStreamWaitEvent(s, turn, 0));
        add_up<<<1, BLOCK, BLOCK * sizeof(float), s>>>(smoothed, total, CHUNK);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(turn, s));
        CHECK(cudaMemcpyAsync(out + chunk * CHUNK, smoothed, bytes, cudaMemcpyDeviceToHost, s));
        CHECK(cudaFreeAsync(smoothed, s));
        CHECK(cudaLaunchHostFunc(s, count_chunk, &chunks_done[chunk % 2]));
    }
    CHECK(cudaStreamWaitEvent(stream[0], turn, 0));
    CHECK(cudaMemcpyAsync(&found, total, sizeof(float), cudaMemcpyDeviceToHost, stream[0]));
    CHECK(cudaEventRecord(stop, stream[0]));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaStreamSynchronize(stream[0]));
    CHECK(cudaStreamSynchronize(stream[1]));

    float milliseconds = -1.0f;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    bool right = verify(in, out, found) && milliseconds >= 0.0f && chunks_done[0] == 3 && chunks_done[1] == 3;
    for (cudaEvent_t event : {start, stop, turn})
        CHECK(cudaEventDestroy(event));
    for (cudaStream_t s : stream)
        CHECK(cudaStreamDestroy(s));
    CHECK(cudaFree(total));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    printf("%s\n", right ? "passed" : "FAILED");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

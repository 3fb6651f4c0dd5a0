/* A CUDA program with a bug that a GPU shows only sometimes. It sums the squares of 1 to N. A second stream computes
 * half of the squares, and the sum does not wait for that stream, except with --join. Exit status: 0 if the sum is
 * right, 1 if it is wrong, 2 if a call failed. docs/hostcuda.md shows how a seed finds the bug. */
#include "squares.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_));                 \
            return 2;                                                                                                  \
        }                                                                                                              \
    } while (0)

enum { N = 1024, HALF = N / 2 };

struct work {
    cudaStream_t stream, other;
    cudaEvent_t forked, joined;
    int *number;
    long long *square, *total;
};

static int create_work(struct work *w)
{
    CUDA(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&w->other, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&w->forked, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&w->joined, cudaEventDisableTiming));
    CUDA(cudaMalloc((void **)&w->number, N * sizeof *w->number));
    CUDA(cudaMalloc((void **)&w->square, N * sizeof *w->square));
    CUDA(cudaMalloc((void **)&w->total, sizeof *w->total));
    return 0;
}

static int sum_squares(const struct work *w, bool join, long long *sum)
{
    int number[N];
    for (int i = 0; i < N; i++)
        number[i] = i + 1;
    CUDA(cudaMemcpyAsync(w->number, number, sizeof number, cudaMemcpyHostToDevice, w->stream));
    CUDA(cudaMemsetAsync(w->square, 0, N * sizeof *w->square, w->stream));
    CUDA(cudaEventRecord(w->forked, w->stream));
    CUDA(cudaStreamWaitEvent(w->other, w->forked, 0));
    CUDA(launch_square(w->square, w->number, HALF, w->stream));
    CUDA(launch_square(w->square + HALF, w->number + HALF, HALF, w->other));
    if (join) {
        CUDA(cudaEventRecord(w->joined, w->other));
        CUDA(cudaStreamWaitEvent(w->stream, w->joined, 0));
    }
    CUDA(launch_sum(w->total, w->square, N, w->stream));
    CUDA(cudaMemcpyAsync(sum, w->total, sizeof *sum, cudaMemcpyDeviceToHost, w->stream));
    CUDA(cudaDeviceSynchronize());
    return 0;
}

static int destroy_work(const struct work *w)
{
    CUDA(cudaStreamDestroy(w->stream));
    CUDA(cudaStreamDestroy(w->other));
    CUDA(cudaEventDestroy(w->forked));
    CUDA(cudaEventDestroy(w->joined));
    CUDA(cudaFree(w->number));
    CUDA(cudaFree(w->square));
    CUDA(cudaFree(w->total));
    return 0;
}

int main(int argc, char **argv)
{
    const long long expected = (long long)N * (N + 1) * (2 * N + 1) / 6;
    bool join = argc == 2 && strcmp(argv[1], "--join") == 0;
    struct work w;
    long long sum = 0;
    if (argc > 1 && !join) {
        fprintf(stderr, "usage: missing_join [--join]\n");
        return 2;
    }
    if (create_work(&w) || sum_squares(&w, join, &sum) || destroy_work(&w))
        return 2;
    printf("sum of the squares of 1 to %d: %lld, %s\n", N, sum, sum == expected ? "right" : "wrong");
    return sum != expected;
}

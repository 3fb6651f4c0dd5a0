/* Conformance: several threads capture, launch and wait at once. One source for both devices. */
#include "tests/support/test.h"
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>

#include "conformance_kernels.h"

enum { THREADS = 4, ROUNDS = 25 };

/* Threads may not fail a cmocka test: they give the first error. */
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t check_error = (call);                                                                              \
        if (check_error)                                                                                               \
            return check_error;                                                                                        \
    } while (0)

struct worker {
    pthread_t thread;
    cudaStream_t stream;
    cudaEvent_t event;
    int *x;
    int sum;
    cudaError_t error;
};

/* x becomes x + 111: by a captured add and two plain ones, the last on another stream. */
static cudaError_t one_round(struct worker *w)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    CHECK(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal));
    CHECK(ck_add(w->x, 1, w->stream));
    CHECK(cudaStreamEndCapture(w->stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphLaunch(exec, w->stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(ck_add(w->x, 10, w->stream));
    CHECK(cudaEventRecord(w->event, w->stream));
    CHECK(cudaStreamWaitEvent(cudaStreamPerThread, w->event, 0));
    CHECK(ck_add(w->x, 100, cudaStreamPerThread));
    CHECK(cudaEventSynchronize(w->event));
    return cudaStreamSynchronize(cudaStreamPerThread);
}

static cudaError_t work(struct worker *w)
{
    CHECK(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&w->event));
    CHECK(cudaMalloc((void **)&w->x, sizeof *w->x));
    CHECK(cudaMemsetAsync(w->x, 0, sizeof *w->x, w->stream));
    CHECK(cudaStreamSynchronize(w->stream));
    for (int i = 0; i < ROUNDS; i++)
        CHECK(one_round(w));
    CHECK(cudaMemcpyAsync(&w->sum, w->x, sizeof w->sum, cudaMemcpyDeviceToHost, w->stream));
    CHECK(cudaStreamSynchronize(w->stream));
    CHECK(cudaFree(w->x));
    CHECK(cudaEventDestroy(w->event));
    return cudaStreamDestroy(w->stream);
}

static void *thread_main(void *data)
{
    struct worker *w = data;
    w->error = work(w);
    return NULL;
}

TEST(test_threads)
{
    struct worker workers[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, thread_main, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(workers[i].error, cudaSuccess);
        assert_int_equal(workers[i].sum, 111 * ROUNDS);
    }
}

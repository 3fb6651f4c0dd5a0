/* A communication library keeps what was captured, and polls the rest until it is done. Whether work is captured it
 * asks the thread's current stream, but it launches on another: captured work is polled, and breaks the capture.
 *
 * expect: [capture-broken] cudaEventQuery
 * culprit: cudaEventQuery | cudaStreamIsCapturing
 * innocent: scale#0 | add#0
 * source: kvcache-ai/Mooncake#3609
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *sum, *y;
    cudaEvent_t begun, done;
} model;

static const cudaStream_t current = cudaStreamLegacy; /* of this thread */

/* Whether the work is done, and can be forgotten. */
static bool is_retired(cudaEvent_t done)
{
    /* CULPRIT */
    return cudaEventQuery(done) == cudaSuccess;
}

static void all_reduce(model *m, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status;
    CHECK(zoo_scale(m->sum, m->x, 2, N, stream));
    CHECK(cudaEventRecord(m->done, stream));
    /* CULPRIT */
    CHECK(cudaStreamIsCapturing(zoo.correct ? stream : current, &status));
    if (status == cudaStreamCaptureStatusNone)
        (void)is_retired(m->done); /* the first of many times */
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(cudaEventRecord(m->begun, stream));
    CHECK(cudaStreamWaitEvent(zoo.side, m->begun, 0));
    all_reduce(m, zoo.side);
    CHECK(cudaStreamWaitEvent(stream, m->done, 0));
    CHECK(zoo_add(m->y, m->sum, m->x, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaEventCreateWithFlags(&m.begun, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&m.done, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.sum, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture(&graph, forward, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 3);
    zoo_destroy(&graph);
    return result;
}

/* A graph is captured in the global mode. Meanwhile a watchdog thread asks whether earlier work is done, which no
 * thread may ask during such a capture: the capture is invalidated whenever the watchdog happens to look.
 *
 * expect: [capture-broken] cudaEventQuery thread
 * culprit: cudaEventQuery
 * innocent: scale#0 | add#0
 * source: pytorch/pytorch#148594, pytorch/pytorch#104555
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

#include <pthread.h>

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *hidden, *y;
} model;

static cudaEvent_t work; /* was recorded before the capture */
static pthread_barrier_t look, looked;

/* In a thread of its own. The twin says that it does nothing that another thread's capture must know. */
static void *watch(void *is_done)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
    (void)pthread_barrier_wait(&look);
    if (zoo.correct)
        CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    /* CULPRIT */
    *(bool *)is_done = cudaEventQuery(work) == cudaSuccess;
    if (zoo.correct)
        CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    (void)pthread_barrier_wait(&looked);
    return NULL;
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->hidden, m->x, 2, N, stream));
    (void)pthread_barrier_wait(&look);
    (void)pthread_barrier_wait(&looked);
    CHECK(zoo_add(m->y, m->hidden, m->x, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    pthread_t watchdog;
    bool is_done = false;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaEventCreateWithFlags(&work, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.hidden, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    CHECK(cudaEventRecord(work, zoo.stream));
    if (pthread_barrier_init(&look, NULL, 2) != 0 || pthread_barrier_init(&looked, NULL, 2) != 0 ||
        pthread_create(&watchdog, NULL, watch, &is_done) != 0)
        return ZOO_ERROR;
    zoo_capture(&graph, forward, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 3);
    if (pthread_join(watchdog, NULL) != 0)
        return ZOO_ERROR;
    zoo_destroy(&graph);
    return result;
}

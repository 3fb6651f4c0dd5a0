/* A library keeps the captures that are open on a stack, so that what it calls meanwhile finds the innermost one. The
 * stack is the process's: of two threads that capture at a time, one takes the other's capture for its own.
 *
 * expect: none
 * culprit: cudaStreamEndCapture
 * innocent: scale
 * source: NVlabs/tiny-cuda-nn#225
 * symptom: crash
 * needs: - */
#include "tests/zoo/zoo.h"

#include <pthread.h>

enum { N = 64, BYTES = N * sizeof(float), THREADS = 2 };

typedef struct renderer {
    float *x, *y;
    cudaStream_t stream;
    cudaGraphExec_t exec;
} renderer;

static struct stack {
    renderer *open[THREADS];
    int count;
} of_process;
static _Thread_local struct stack of_thread; /* the twin's */
static pthread_barrier_t meeting;

static void begin(renderer *r)
{
    struct stack *s = zoo.correct ? &of_thread : &of_process;
    CHECK(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));
    s->open[s->count++] = r;
    CHECK(zoo_scale(r->y, r->x, 2, N, r->stream));
}

static void end(renderer *r)
{
    struct stack *s = zoo.correct ? &of_thread : &of_process;
    cudaGraph_t graph;
    if (s->open[--s->count] != r)
        abort(); /* captures must end in the reverse order */
    /* CULPRIT */
    CHECK(cudaStreamEndCapture(r->stream, &graph));
    CHECK(cudaGraphInstantiate(&r->exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
}

static void *render(void *user)
{
    begin(user);
    (void)pthread_barrier_wait(&meeting); /* two captures are open */
    (void)pthread_barrier_wait(&meeting); /* the first one has ended */
    end(user);
    return NULL;
}

int main(int argc, char **argv)
{
    renderer r[THREADS];
    pthread_t other;

    zoo_begin(argc, argv);
    for (int i = 0; i < THREADS; i++) {
        CHECK(cudaStreamCreateWithFlags(&r[i].stream, cudaStreamNonBlocking));
        CHECK(cudaMalloc((void **)&r[i].x, BYTES));
        CHECK(cudaMalloc((void **)&r[i].y, BYTES));
        CHECK(zoo_fill(r[i].x, 1, N, r[i].stream));
    }
    begin(&r[0]);
    if (pthread_barrier_init(&meeting, NULL, THREADS) != 0 || pthread_create(&other, NULL, render, &r[1]) != 0)
        return ZOO_ERROR;
    (void)pthread_barrier_wait(&meeting);
    end(&r[0]);
    (void)pthread_barrier_wait(&meeting);
    (void)pthread_join(other, NULL);
    CHECK(cudaGraphLaunch(r[0].exec, r[0].stream));
    return zoo_end(r[0].y, N, 2);
}

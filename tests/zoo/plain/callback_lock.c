/* A host function of a graph needs a lock, as that of an interpreter. The thread that launched the graph holds the lock
 * while it waits for the stream: each waits for the other.
 *
 * expect: host lock | host deadlock | host not finished | host not ended
 * culprit: host function#0
 * innocent: scale#0 | add#0
 * source: NVIDIA/TensorRT-LLM#19455, NVIDIA/TensorRT-LLM#15855
 * symptom: hang
 * needs: once */
#include "tests/zoo/zoo.h"

#include <pthread.h>

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *hidden, *y;
    int masks; /* that were built; the lock guards it */
} model;

static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER;

static void build_mask(void *user)
{
    model *m = user;
    if (pthread_mutex_lock(&interpreter) != 0)
        return;
    m->masks++;
    (void)pthread_mutex_unlock(&interpreter);
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->hidden, m->x, 2, N, stream));
    /* CULPRIT */
    CHECK(cudaLaunchHostFunc(stream, build_mask, m));
    CHECK(zoo_add(m->y, m->hidden, m->x, N, stream));
}

/* The twin lets go of the lock around all calls that may wait, as also a launch may. */
static void run(const zoo_graph *graph)
{
    if (zoo.correct)
        (void)pthread_mutex_unlock(&interpreter);
    zoo_replay(graph);
    CHECK(cudaStreamSynchronize(zoo.stream));
    if (zoo.correct)
        (void)pthread_mutex_lock(&interpreter);
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m = {.masks = 0};

    zoo_begin(argc, argv);
    (void)pthread_mutex_lock(&interpreter);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.hidden, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture(&graph, forward, &m);
    run(&graph);
    printf("masks: %d\n", m.masks);
    (void)pthread_mutex_unlock(&interpreter);
    zoo_destroy(&graph);
    return m.masks == 1 ? zoo_end(m.y, N, 3) : ZOO_WRONG;
}

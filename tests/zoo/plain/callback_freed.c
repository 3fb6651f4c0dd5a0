/* A wrapper makes a callback of a function and its argument, and frees it when it has been called: with one call for
 * each launch in mind. The callback is captured. The first replay frees it, and the next one calls what was freed.
 *
 * expect: userdata freed | host freed
 * culprit: host function#0
 * innocent: scale#0
 * source: cupy/cupy#9274, NVIDIA/cuda-python#790
 * symptom: crash
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), NAME = 1000, REPLAYS = 3 };

typedef struct callback {
    char name[NAME];
    void (*function)(int *argument);
    int *argument;
} callback;

typedef struct model {
    float *x, *y;
    int calls;
    callback *kept; /* the twin's, as long as the graph */
} model;

static void count(int *calls)
{
    ++*calls;
}

static void call(void *data)
{
    callback *c = data;
    c->function(c->argument);
    if (!zoo.correct)
        free(c);
}

static void launch_callback(model *m, cudaStream_t stream)
{
    callback *c = calloc(1, sizeof *c);
    if (c == NULL)
        exit(ZOO_ERROR);
    c->function = count;
    c->argument = &m->calls;
    m->kept = c;
    /* CULPRIT */
    CHECK(cudaLaunchHostFunc(stream, call, c));
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->y, m->x, 2, N, stream));
    launch_callback(m, stream);
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m = {.calls = 0};

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture(&graph, forward, &m);
    for (int i = 0; i < REPLAYS; i++) {
        zoo_replay(&graph);
        CHECK(cudaStreamSynchronize(zoo.stream));
    }
    zoo_destroy(&graph);
    if (zoo.correct)
        free(m.kept);
    printf("%s\n", m.calls == REPLAYS ? "right" : "wrong");
    return m.calls == REPLAYS ? ZOO_RIGHT : ZOO_WRONG;
}

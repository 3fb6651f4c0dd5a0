/* An optimizer computes its rate from the number of the step, on the host, and passes it to a kernel by value: each
 * replay of the captured step uses the rate of the first one.
 *
 * expect: [frozen-value]
 * culprit: fill#0
 * innocent: add#0
 * source: tracel-ai/burn#5779
 * symptom: wrong
 * needs: vary=0,1 */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), STEPS = 3 };

typedef struct model {
    float *weights, *update; /* the gradient is 1: an update is the rate itself */
    int step;
} model;

static float rate(const model *m)
{
    return 1.0F / (float)(1 << m->step);
}

static void set_update(model *m, cudaStream_t stream)
{
    /* CULPRIT */
    CHECK(zoo_fill(m->update, rate(m), N, stream));
}

static void train(void *user, cudaStream_t stream)
{
    model *m = user;
    if (!zoo.correct)
        set_update(m, stream);
    CHECK(zoo_add(m->weights, m->weights, m->update, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m = {.step = zoo_value(0)};
    float expected = 0;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.weights, BYTES));
    CHECK(cudaMalloc((void **)&m.update, BYTES));
    CHECK(zoo_fill(m.weights, 0, N, zoo.stream));
    zoo_capture(&graph, train, &m);
    for (; m.step < STEPS; m.step++) {
        expected += rate(&m);
        if (zoo.correct) /* the twin's rate is in device memory, and is set before each replay */
            set_update(&m, zoo.stream);
        zoo_replay(&graph);
    }
    result = zoo_end(m.weights, N, expected);
    zoo_destroy(&graph);
    return result;
}

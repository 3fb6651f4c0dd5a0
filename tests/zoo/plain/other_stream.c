/* A simulation works on one stream, and launches its graph on another one, with no event between them: the graph may
 * read positions that are not there yet, and its forces may be read before it has written them.
 *
 * expect: unordered | not ordered
 * culprit: scale#0 | fill#0 | add#0
 * innocent: -
 * source: openmm/openmm-torch#122
 * symptom: wrong HOSTCUDA_SEED=1
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, STEPS = 3, BYTES = N * sizeof(float) };

typedef struct model {
    float *positions, *forces, *velocities;
    cudaGraphExec_t exec;
} model;

static void capture_forces(model *m)
{
    cudaGraph_t captured;
    CHECK(cudaStreamBeginCapture(zoo.stream, cudaStreamCaptureModeGlobal));
    CHECK(zoo_delay(1000, zoo.stream)); /* the rest of the model */
    /* CULPRIT */
    CHECK(zoo_scale(m->forces, m->positions, -2, N, zoo.stream));
    CHECK(cudaStreamEndCapture(zoo.stream, &captured));
    CHECK(cudaGraphInstantiate(&m->exec, captured, 0));
    CHECK(cudaGraphDestroy(captured));
}

/* On zoo.side; the twin's graph runs there, too. */
static void simulate(model *m, int step)
{
    /* CULPRIT */
    CHECK(zoo_fill(m->positions, (float)step, N, zoo.side));
    CHECK(cudaGraphLaunch(m->exec, zoo.correct ? zoo.side : zoo.stream));
    /* CULPRIT */
    CHECK(zoo_add(m->velocities, m->velocities, m->forces, N, zoo.side));
}

int main(int argc, char **argv)
{
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.positions, BYTES));
    CHECK(cudaMalloc((void **)&m.forces, BYTES));
    CHECK(cudaMalloc((void **)&m.velocities, BYTES));
    CHECK(zoo_fill(m.velocities, 0, N, zoo.side));
    CHECK(zoo_fill(m.forces, 0, N, zoo.side));
    capture_forces(&m);
    for (int step = 1; step <= STEPS; step++)
        simulate(&m, step);
    result = zoo_end(m.velocities, N, -12);
    CHECK(cudaGraphExecDestroy(m.exec));
    return result;
}

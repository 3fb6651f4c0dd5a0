/* Two graphs that were captured on one stream use the workspace that is kept for this stream. Destroying one of them
 * frees the workspace, and the other one faults.
 *
 * expect: [dangling]
 * culprit: scale#0 | add#0
 * innocent: -
 * source: pytorch/pytorch#193402
 * symptom: error HOSTCUDA_MEMORY=poison,fence
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 1 << 20, BYTES = N * sizeof(float) };

static struct {
    float *memory;
    int users;
} workspace; /* of zoo.stream */

static void use_workspace(void)
{
    if (workspace.users++ == 0)
        CHECK(cudaMalloc((void **)&workspace.memory, BYTES));
}

/* The twin counts the graphs that use it. */
static void destroy(zoo_graph *graph)
{
    zoo_destroy(graph);
    if (--workspace.users == 0 || !zoo.correct)
        CHECK(cudaFree(workspace.memory));
}

static void train(void *user, cudaStream_t stream)
{
    float **x = user;
    /* CULPRIT */
    CHECK(zoo_scale(workspace.memory, x[0], 2, N, stream));
    /* CULPRIT */
    CHECK(zoo_add(x[1], workspace.memory, x[0], N, stream));
}

static void evaluate(void *user, cudaStream_t stream)
{
    float **x = user;
    CHECK(zoo_scale(workspace.memory, x[0], 5, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph trained, evaluated;
    float *x[2];
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&x[0], BYTES));
    CHECK(cudaMalloc((void **)&x[1], BYTES));
    CHECK(zoo_fill(x[0], 1, N, zoo.stream));
    use_workspace();
    zoo_capture(&trained, train, x);
    use_workspace();
    zoo_capture(&evaluated, evaluate, x);
    zoo_replay(&trained);
    zoo_replay(&evaluated);
    CHECK(cudaStreamSynchronize(zoo.stream));
    destroy(&evaluated);
    zoo_replay(&trained);
    result = zoo_end(x[1], N, 3);
    zoo_destroy(&trained);
    return result;
}

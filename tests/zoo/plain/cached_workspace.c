/* A workspace is allocated at its first use and kept. The first use is in a capture, after a temporary of the graph has
 * gone back to the pool: the workspace gets that block. Eager calls keep a result in the workspace, and each replay
 * writes the temporary over it.
 *
 * expect: [reused] | [freed] | [overlap] | shared
 * culprit: scale#0
 * innocent: add
 * source: ROCm/aiter#5393
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 256, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *y;
} model;

static float *get_workspace(void)
{
    static float *workspace;
    if (workspace == NULL)
        workspace = zoo_alloc(BYTES, "workspace");
    return workspace;
}

static void normalize(model *m, cudaStream_t stream)
{
    float *temporary = zoo_alloc(BYTES, "temporary");
    /* CULPRIT */
    CHECK(zoo_scale(temporary, m->x, 2, N, stream));
    CHECK(zoo_add(m->y, temporary, m->x, N, stream));
    if (!zoo.correct) /* the twin's pool is the graph's own, from which nobody else takes */
        zoo_free(temporary);
}

/* Puts the weights in another order, once, and multiplies. */
static void multiply(model *m, bool prepare, cudaStream_t stream)
{
    float *workspace = get_workspace();
    if (prepare)
        CHECK(zoo_fill(workspace, 5, N, stream));
    CHECK(zoo_add(m->y, m->x, workspace, N, stream));
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    normalize(m, stream);
    multiply(m, false, stream);
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    m.x = zoo_alloc(BYTES, "x");
    m.y = zoo_alloc(BYTES, "y");
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    if (zoo.correct)
        (void)get_workspace(); /* before the capture */
    zoo_capture(&graph, forward, &m);
    multiply(&m, true, zoo.stream);
    zoo_replay(&graph);
    multiply(&m, false, zoo.stream);
    result = zoo_end(m.y, N, 6);
    zoo_destroy(&graph);
    return result;
}

/* Matrix products share a workspace that grows: its old block goes back to the caching allocator, which gives it to
 * the next tensor. A graph that was captured before still writes its scratch there, over that tensor.
 *
 * expect: [freed] | [reused] | [dangling] | [moved]
 * culprit: scale#0 | add#0
 * innocent: -
 * source: flashinfer-ai/flashinfer#4553, flashinfer-ai/flashinfer#4399
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { SMALL = 256, LARGE = 1024 };

typedef struct model {
    float *x, *y;
} model;

static struct {
    float *memory;
    int floats;
} workspace;

static float *get_workspace(int floats)
{
    if (workspace.floats < floats) {
        if (workspace.memory != NULL && !zoo.correct) /* the twin keeps old blocks */
            zoo_free(workspace.memory);
        workspace.memory = zoo_alloc((size_t)floats * sizeof(float), "workspace");
        workspace.floats = floats;
    }
    return workspace.memory;
}

static void multiply(const model *m, int n, cudaStream_t stream)
{
    float *scratch = get_workspace(n);
    /* CULPRIT */
    CHECK(zoo_scale(scratch, m->x, 2, n, stream));
    /* CULPRIT */
    CHECK(zoo_add(m->y, scratch, m->x, n, stream));
}

static void decode(void *user, cudaStream_t stream)
{
    multiply(user, SMALL, stream);
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    float *cache;
    int result;

    zoo_begin(argc, argv);
    m.x = zoo_alloc(LARGE * sizeof(float), "x");
    m.y = zoo_alloc(LARGE * sizeof(float), "y");
    CHECK(zoo_fill(m.x, 1, LARGE, zoo.stream));
    zoo_capture(&graph, decode, &m);
    zoo_replay(&graph);
    multiply(&m, LARGE, zoo.stream); /* a long prompt, which runs eagerly */
    cache = zoo_alloc(SMALL * sizeof(float), "cache");
    CHECK(zoo_fill(cache, 7, SMALL, zoo.stream));
    zoo_replay(&graph);
    result = zoo_end(cache, SMALL, 7);
    zoo_destroy(&graph);
    return result;
}

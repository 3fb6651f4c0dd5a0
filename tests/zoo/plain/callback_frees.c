/* A host function of a graph gives a block back, and the allocator calls cudaFree for it. No function of CUDA may be
 * called there: cudaFree fails, or waits for the very work that the host function is in.
 *
 * expect: host function cudaFree | host function cuMemFree
 * culprit: host function#0 | cudaFree
 * innocent: scale#0 | add#0
 * source: AMReX-Codes/amrex#1863
 * symptom: wrong|hang
 * needs: once */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), HELD = 2 };

typedef struct model {
    float *x, *hidden, *y;
} model;

static struct {
    float *block;
    bool is_unused; /* nobody needs it any more */
} arena;

static void give_back(void *unused)
{
    (void)unused;
    arena.is_unused = true;
    /* CULPRIT */
    if (!zoo.correct && cudaFree(arena.block) == cudaSuccess)
        arena.block = NULL;
}

/* The twin frees unused memory when the next block is taken. */
static void take(void)
{
    if (zoo.correct && arena.is_unused && cudaFree(arena.block) == cudaSuccess)
        arena.block = NULL;
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(arena.block, m->x, 2, N, stream));
    CHECK(zoo_add(m->y, arena.block, m->x, N, stream));
    /* CULPRIT */
    CHECK(cudaLaunchHostFunc(stream, give_back, NULL));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(cudaMalloc((void **)&arena.block, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture(&graph, forward, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 3);
    zoo_destroy(&graph);
    take();
    printf("%s\n", arena.block == NULL ? "freed" : "not freed");
    return arena.block == NULL ? result : ZOO_WRONG;
}

/* Graphs are kept for each variant of a step, a few of each variant: the oldest of a variant makes room for a new one.
 * A long prompt has ever new variants, and nothing limits the number of all graphs.
 *
 * expect: graphs alive | graphs live | graphs grow | executable alive | executable live | executable grow
 * culprit: cudaGraphInstantiate
 * innocent: scale#0
 * source: xangel82/DS4-GB10-GX10-DSpark-CUDA#3
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), REQUESTS = 40, VARIANTS = 120, SLOTS = 2, STEPS = 13, LIMIT = 16 };

typedef struct entry {
    cudaGraphExec_t exec;
    int used; /* when last */
} entry;

static entry cache[VARIANTS][SLOTS];
static int alive, uses;

static void destroy(entry *e)
{
    CHECK(cudaGraphExecDestroy(e->exec));
    e->exec = NULL;
    alive--;
}

static entry *oldest(entry *entries, int count)
{
    entry *found = NULL;
    for (entry *e = entries; e < entries + count; e++)
        if (e->exec != NULL && (found == NULL || e->used < found->used))
            found = e;
    return found;
}

static void fill(entry *e, float *y, int variant)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(zoo.stream, cudaStreamCaptureModeGlobal));
    CHECK(zoo_fill(y, (float)variant, N, zoo.stream));
    CHECK(cudaStreamEndCapture(zoo.stream, &graph));
    /* CULPRIT */
    CHECK(cudaGraphInstantiate(&e->exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    alive++;
}

static void run(float *y, int variant, int position)
{
    entry *e = &cache[variant][position % SLOTS];
    if (e->exec == NULL && zoo.correct && alive == LIMIT)
        destroy(oldest(cache[0], VARIANTS * SLOTS));
    if (e->exec == NULL)
        fill(e, y, variant);
    e->used = ++uses;
    CHECK(cudaGraphLaunch(e->exec, zoo.stream));
}

int main(int argc, char **argv)
{
    float *y;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&y, BYTES));
    for (int request = 0; request < REQUESTS; request++)
        for (int i = 0; i < STEPS; i++)
            run(y, (request * STEPS + i) % VARIANTS, request);
    printf("graphs alive: %d\n", alive);
    return alive <= LIMIT ? zoo_end(y, N, (REQUESTS * STEPS - 1) % VARIANTS) : ZOO_WRONG;
}

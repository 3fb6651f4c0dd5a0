/* A graph is captured again when an address changes that its nodes hold. Copies into the cache are left out of that:
 * their destination is in a table, refreshed before each replay. So is their source, which is in no table, and moves.
 *
 * expect: [unstable-pointer] | stale source | stale parameter
 * culprit: scatter#0
 * innocent: scale#0
 * source: ikawrakow/ik_llama.cpp#2136, ggml-org/llama.cpp#9017
 * symptom: wrong
 * needs: vary=0,2 */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), WINDOW = 2, STEPS = 4 };

typedef struct model {
    float *x, *blocks[WINDOW], *cache;
    int *rows; /* the table: where in the cache each element goes */
    int step;
} model;

static float *source(const model *m)
{
    return m->blocks[m->step / WINDOW];
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->x, m->x, 1, N, stream));
    /* CULPRIT */
    CHECK(zoo_scatter(m->cache, source(m), m->rows, N, 0, stream));
}

static void refresh(const model *m)
{
    int rows[N];
    for (int i = 0; i < N; i++)
        rows[i] = m->step * N + i;
    CHECK(cudaMemcpyAsync(m->rows, rows, sizeof rows, cudaMemcpyHostToDevice, zoo.stream));
    CHECK(cudaStreamSynchronize(zoo.stream));
}

/* Whether the nodes hold other addresses now. */
static bool must_capture(const model *m, const float **captured)
{
    const bool moved = *captured != source(m);
    const bool first = *captured == NULL;
    *captured = source(m);
    return first || (zoo.correct && moved);
}

int main(int argc, char **argv)
{
    zoo_graph graph = {0};
    const float *captured = NULL;
    model m;
    int block, result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.rows, N * sizeof(int)));
    CHECK(cudaMalloc((void **)&m.cache, STEPS * BYTES));
    CHECK(zoo_fill(m.x, 0, N, zoo.stream));
    for (int i = 0; i < WINDOW; i++) {
        CHECK(cudaMalloc((void **)&m.blocks[i], BYTES));
        CHECK(zoo_fill(m.blocks[i], (float)(i + 1), N, zoo.stream));
    }
    for (m.step = zoo_value(0); m.step < STEPS && result == ZOO_RIGHT; m.step++) {
        if (must_capture(&m, &captured)) {
            zoo_destroy(&graph);
            zoo_capture(&graph, forward, &m);
        }
        refresh(&m);
        zoo_replay(&graph);
        block = m.step / WINDOW;
        result = zoo_end(m.cache + m.step * N, N, (float)(block + 1));
    }
    zoo_destroy(&graph);
    return result;
}

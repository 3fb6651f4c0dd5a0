/* An all-reduce finds its peer's memory through a table in device memory. A capture only reserves an entry, since peers
 * exchange what goes there after the capture. Here a second kind of graph is captured without that: its entry is empty.
 *
 * expect: never written | not written | unwritten
 * culprit: gather#0
 * innocent: add#0
 * source: sgl-project/sglang#14193
 * symptom: error|wrong HOSTCUDA_MEMORY=poison,fence
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 1024, BYTES = N * sizeof(float), GRAPHS = 2 };

typedef struct model {
    float *x, *theirs, *y;
    zoo_graph graph;
} model;

static struct {
    float *memory; /* that the peer lets us see */
    int *table;    /* N indices in it for each graph, in device memory */
    int entries, registered;
} peer;

static void all_reduce(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    CHECK(zoo_gather(m->theirs, peer.memory, peer.table + (size_t)peer.entries++ * N, N, stream));
    CHECK(zoo_add(m->y, m->x, m->theirs, N, stream));
}

/* Where the peer's buffers are, for all graphs that were captured. */
static void register_buffers(void)
{
    int index[N];
    for (; peer.registered < peer.entries; peer.registered++) {
        for (int i = 0; i < N; i++)
            index[i] = peer.registered * N + i;
        CHECK(cudaMemcpy(peer.table + (size_t)peer.registered * N, index, sizeof index, cudaMemcpyHostToDevice));
    }
}

static void capture(model *m, bool is_piecewise)
{
    CHECK(cudaMalloc((void **)&m->x, BYTES));
    CHECK(cudaMalloc((void **)&m->theirs, BYTES));
    CHECK(cudaMalloc((void **)&m->y, BYTES));
    CHECK(zoo_fill(m->x, 1, N, zoo.stream));
    zoo_capture(&m->graph, all_reduce, m);
    if (!is_piecewise || zoo.correct)
        register_buffers();
}

int main(int argc, char **argv)
{
    model m[GRAPHS];
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&peer.memory, GRAPHS * BYTES));
    CHECK(cudaMalloc((void **)&peer.table, GRAPHS * N * sizeof(int)));
    for (int i = 0; i < GRAPHS; i++)
        CHECK(zoo_fill(peer.memory + i * N, (float)(i + 2), N, zoo.stream));
    for (int i = 0; i < GRAPHS; i++)
        capture(&m[i], i == 1);
    for (int i = 0; i < GRAPHS && result == ZOO_RIGHT; i++) {
        CHECK(cudaGraphLaunch(m[i].graph.exec, zoo.stream));
        result = zoo_end(m[i].y, N, (float)(i + 3));
        zoo_destroy(&m[i].graph);
    }
    return result;
}

/* A graph begins with a copy of a table of rows from pinned memory. The table is freed when the call that captured the
 * copy returns, and the next table gets its memory: each replay reads that.
 *
 * expect: [freed] | [reused] | host-source-changed
 * culprit: memcpy#0
 * innocent: gather#0
 * source: meta-pytorch/torchcomms#877
 * symptom: wrong|error HOSTCUDA_MEMORY=reuse
 * needs: - */
#include "tests/zoo/zoo.h"

enum {
    N = 64,
    BYTES = N * sizeof(float),
    TABLE_BYTES = 4 << 20 /* of the longest; what is as large as that, CUDA gives back at once */
};

typedef struct model {
    float *x, *y;
    int *table, *rows;
} model;

static int *make_table(int first, int step)
{
    int *table;
    CHECK(cudaMallocHost((void **)&table, TABLE_BYTES));
    for (int i = 0; i < N; i++)
        table[i] = first + step * i;
    return table;
}

static void exchange(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    CHECK(cudaMemcpyAsync(m->rows, m->table, N * sizeof *m->rows, cudaMemcpyHostToDevice, stream));
    CHECK(zoo_gather(m->y, m->x, m->rows, N, stream));
}

int main(int argc, char **argv)
{
    float host[N], expected[N];
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(cudaMalloc((void **)&m.rows, N * sizeof *m.rows));
    for (int i = 0; i < N; i++) {
        host[i] = (float)i;
        expected[i] = (float)(N - 1 - i);
    }
    CHECK(cudaMemcpyAsync(m.x, host, BYTES, cudaMemcpyHostToDevice, zoo.stream));
    m.table = make_table(N - 1, -1);
    zoo_capture(&graph, exchange, &m);
    if (!zoo.correct && !zoo.eager) /* the twin's lives as long as the graph */
        CHECK(cudaFreeHost(m.table));
    (void)make_table(4, 0);
    zoo_replay(&graph);
    result = zoo_end_with(m.y, expected, N);
    zoo_destroy(&graph);
    return result;
}

/* The host chooses the attention algorithm by the length of the sequence: up to 4 chunks in one kernel, above that in
 * two. Graphs are kept by the number of rows alone: the graph of a short sequence is replayed for a long one.
 *
 * expect: [frozen-control-flow]
 * culprit: incremental#0 | split#0 | combine#0
 * innocent: project#0
 * source: paiml/aprender#2030
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { CHUNK = 8, FEW = 4, CHUNKS = 16, LENGTHS = 2 };

BG_OP(incremental, BG_IN(cache), BG_OUT(y))
{
    return checked(zoo_row_sum(args->y.data, args->cache.data, 1, FEW * CHUNK, stream));
}

BG_OP(split, BG_IN(cache), BG_OUT(sums))
{
    return checked(zoo_row_sum(args->sums.data, args->cache.data, CHUNKS, CHUNK, stream));
}

BG_OP(combine, BG_IN(sums), BG_OUT(y))
{
    return checked(zoo_row_sum(args->y.data, args->sums.data, 1, CHUNKS, stream));
}

BG_OP(project, BG_INOUT(y))
{
    return checked(zoo_scale(args->y.data, args->y.data, 2, 1, stream));
}

typedef struct model {
    float *cache, *sums, *y; /* the cache is 0 behind the sequence */
    int length;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    if (m->length <= FEW * CHUNK) {
        /* CULPRIT */
        BG_CALL(incremental, stream, .cache = floats(m->cache, CHUNKS * CHUNK), .y = floats(m->y, 1));
    } else {
        /* CULPRIT */
        BG_CALL(split, stream, .cache = floats(m->cache, CHUNKS * CHUNK), .sums = floats(m->sums, CHUNKS));
        /* CULPRIT */
        BG_CALL(combine, stream, .sums = floats(m->sums, CHUNKS), .y = floats(m->y, 1));
    }
    return BG_CALL(project, stream, .y = floats(m->y, 1));
}

int main(int argc, char **argv)
{
    static const int lengths[] = {20, 100};
    bg_graph *graphs[LENGTHS] = {NULL};
    model m;
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.cache, CHUNKS * CHUNK * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.sums, CHUNKS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.y, sizeof(float)));
    CHECK(zoo_fill(m.cache, 0, CHUNKS * CHUNK, zoo.stream));
    for (int i = 0; i < LENGTHS && result == ZOO_RIGHT; i++) {
        bg_graph **graph = &graphs[zoo.correct ? i : 0]; /* the twin's key has the algorithm, too */
        m.length = lengths[i];
        CHECK(zoo_fill(m.cache, 1, m.length, zoo.stream));
        if (*graph == NULL)
            zoo_capture_ops(graph, forward, &m);
        zoo_replay_ops(*graph);
        result = zoo_end(m.y, 1, 2 * (float)m.length);
    }
    bg_graph_destroy(graphs[0]);
    bg_graph_destroy(graphs[1]);
    return result;
}

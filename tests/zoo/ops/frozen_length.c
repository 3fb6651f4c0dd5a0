/* The longest sequence of a batch is a number on the host that bounds a loop of the attention kernel. Graphs are kept
 * by the number of tokens alone: a batch with longer sequences replays a graph that has the shorter length.
 *
 * expect: [frozen-value] length | [frozen-argument] length
 * culprit: attention#0
 * innocent: project#0
 * source: huggingface/transformers#45323
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { LONGEST = 64, LENGTHS = 2 };

BG_OP(attention, BG_IN(cache), BG_OUT(y), BG_VALUE(int, length))
{
    return checked(zoo_row_sum(args->y.data, args->cache.data, 1, args->length, stream));
}

BG_OP(project, BG_INOUT(y))
{
    return checked(zoo_scale(args->y.data, args->y.data, 2, 1, stream));
}

typedef struct model {
    float *cache, *y;
    int max_length; /* of this batch */
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    BG_CALL(attention, stream, .cache = floats(m->cache, LONGEST), .y = floats(m->y, 1), .length = m->max_length);
    return BG_CALL(project, stream, .y = floats(m->y, 1));
}

int main(int argc, char **argv)
{
    static const int lengths[] = {16, LONGEST};
    bg_graph *graphs[LENGTHS] = {NULL};
    model m;
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.cache, LONGEST * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.y, sizeof(float)));
    CHECK(zoo_fill(m.cache, 1, LONGEST, zoo.stream));
    for (int i = 0; i < LENGTHS && result == ZOO_RIGHT; i++) {
        bg_graph **graph = &graphs[zoo.correct ? i : 0]; /* the twin's key has the length, too */
        m.max_length = lengths[i];
        if (*graph == NULL)
            zoo_capture_ops(graph, forward, &m);
        zoo_replay_ops(*graph);
        result = zoo_end(m.y, 1, 2 * (float)lengths[i]);
    }
    bg_graph_destroy(graphs[0]);
    bg_graph_destroy(graphs[1]);
    return result;
}

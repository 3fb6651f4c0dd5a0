/* An all-reduce adds into one of three buffers, and clears the one of the next round. The host counts the rounds and
 * passes the buffers' addresses: replays always add into the same buffer, and clear another one.
 *
 * expect: [unstable-pointer] | [frozen-value]
 * culprit: add#0 | add#1 | scale#0 | fill#0
 * innocent: -
 * source: NVIDIA/TensorRT-LLM#4344
 * symptom: wrong
 * needs: vary=0,1 */
#include "tests/zoo/zoo.h"

enum { N = 64, BUFFERS = 3, ROUNDS = 4, BYTES = N * sizeof(float) };

typedef struct model {
    float *buffers[BUFFERS], *mine, *peers, *y;
    int round;
} model;

static void all_reduce(void *user, cudaStream_t stream)
{
    model *m = user;
    float *now = m->buffers[m->round % BUFFERS], *next = m->buffers[(m->round + 1) % BUFFERS];
    /* CULPRIT */
    CHECK(zoo_add(now, now, m->mine, N, stream));
    /* CULPRIT */
    CHECK(zoo_add(now, now, m->peers, N, stream));
    /* CULPRIT */
    CHECK(zoo_scale(m->y, now, 1, N, stream));
    /* CULPRIT */
    CHECK(zoo_fill(next, 0, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graphs[BUFFERS] = {0};
    model m;
    int result = ZOO_RIGHT, first;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.mine, BYTES));
    CHECK(cudaMalloc((void **)&m.peers, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    for (int i = 0; i < BUFFERS; i++) {
        CHECK(cudaMalloc((void **)&m.buffers[i], BYTES));
        CHECK(zoo_fill(m.buffers[i], 0, N, zoo.stream));
    }
    first = zoo_value(0);
    for (m.round = zoo.correct ? 0 : first; m.round < (zoo.correct ? BUFFERS : first + 1); m.round++)
        zoo_capture(&graphs[m.round % BUFFERS], all_reduce, &m); /* the twin has one for each buffer */
    for (m.round = first; m.round < first + ROUNDS && result == ZOO_RIGHT; m.round++) {
        zoo_graph *graph = &graphs[(zoo.correct ? m.round : first) % BUFFERS];
        CHECK(zoo_fill(m.mine, (float)m.round, N, zoo.stream));
        CHECK(zoo_fill(m.peers, 10, N, zoo.stream));
        zoo_replay(graph);
        result = zoo_end(m.y, N, (float)(10 + m.round));
    }
    for (int i = 0; i < BUFFERS; i++)
        zoo_destroy(&graphs[i]);
    return result;
}

/* Two ranks record the buffers of their all-reduces while they capture, and exchange the lists. A rank leaves out a
 * buffer that it knows already: its list is shorter, and the other rank takes entries of its own number from it.
 *
 * expect: none
 * culprit: gather
 * innocent: add
 * source: ROCm/aiter#2638, vllm-project/vllm#39791
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), RANKS = 2, BUFFERS = 2 };

typedef struct rank {
    float *theirs, *y[BUFFERS];
    int *table;                   /* in device memory: where the peer's buffers are, N indices an entry */
    int recorded[BUFFERS], count; /* buffers of this rank */
    bool knows_first;
    zoo_graph graph;
} rank;

static float *memory; /* of both ranks: buffer after buffer */

static void all_reduce(void *user, cudaStream_t stream)
{
    rank *r = user;
    for (int i = 0; i < BUFFERS; i++) {
        if (zoo.correct || i > 0 || !r->knows_first) /* the twin records whatever a capture uses */
            r->recorded[r->count++] = i;
        /* CULPRIT */
        CHECK(zoo_gather(r->theirs, memory, r->table + (size_t)i * N, N, stream));
        CHECK(zoo_add(r->y[i], r->theirs, r->theirs, N, stream));
    }
}

static void exchange(const rank *mine, const rank *peer, int peers_place)
{
    int index[N];
    for (int i = 0; i < mine->count; i++) {
        for (int k = 0; k < N; k++)
            index[k] = (peers_place + peer->recorded[i]) * N + k; /* the peer's list may be shorter */
        CHECK(cudaMemcpy(mine->table + (size_t)i * N, index, sizeof index, cudaMemcpyHostToDevice));
    }
}

int main(int argc, char **argv)
{
    rank ranks[RANKS] = {{.knows_first = false}, {.knows_first = true}};
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&memory, RANKS * BUFFERS * BYTES));
    for (int i = 0; i < RANKS * BUFFERS; i++)
        CHECK(zoo_fill(memory + i * N, (float)(i + 1), N, zoo.stream));
    for (rank *r = ranks; r < ranks + RANKS; r++) {
        CHECK(cudaMalloc((void **)&r->theirs, BYTES));
        CHECK(cudaMalloc((void **)&r->table, BUFFERS * N * sizeof(int)));
        CHECK(cudaMemset(r->table, 0, BUFFERS * N * sizeof(int)));
        for (int i = 0; i < BUFFERS; i++)
            CHECK(cudaMalloc((void **)&r->y[i], BYTES));
        zoo_capture(&r->graph, all_reduce, r);
    }
    exchange(&ranks[0], &ranks[1], BUFFERS);
    exchange(&ranks[1], &ranks[0], 0);
    CHECK(cudaGraphLaunch(ranks[0].graph.exec, zoo.stream));
    for (int i = 0; i < BUFFERS && result == ZOO_RIGHT; i++)
        result = zoo_end(ranks[0].y[i], N, (float)(2 * (BUFFERS + i + 1)));
    return result;
}

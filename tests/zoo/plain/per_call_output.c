/* The indexer allocates its output in each call, captured or not, and runs on a side stream. When the pass has queued
 * the indexer's consumer the output goes back to the pool, which gives the block to the sampler at once. The sampler
 * works on the main stream, which has not waited for the side stream.
 *
 * expect: [race] | [reused] | [overlap]
 * culprit: fill#0 | add#0 | scale#0
 * innocent: -
 * source: NVIDIA/TensorRT-LLM#16290
 * symptom: wrong HOSTCUDA_SEED=1
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 256, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *selected, *logits, *y;
    cudaEvent_t forked, joined;
} model;

static void attend(model *m, float *indices)
{
    CHECK(zoo_delay(1000, zoo.side));
    /* CULPRIT */
    CHECK(zoo_scale(indices, m->x, 2, N, zoo.side));
    /* CULPRIT */
    CHECK(zoo_add(m->selected, indices, indices, N, zoo.side));
}

static void sample(float *logits, cudaStream_t stream)
{
    /* CULPRIT */
    CHECK(zoo_fill(logits, 7, N, stream));
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    float *indices = zoo_alloc(BYTES, "indices");
    CHECK(cudaEventRecord(m->forked, stream));
    CHECK(cudaStreamWaitEvent(zoo.side, m->forked, 0));
    attend(m, indices);
    if (!zoo.correct) /* the twin's belongs to the indexer */
        zoo_free(indices);
    m->logits = zoo_alloc(BYTES, "logits");
    sample(m->logits, stream);
    CHECK(cudaEventRecord(m->joined, zoo.side));
    CHECK(cudaStreamWaitEvent(stream, m->joined, 0));
    CHECK(zoo_add(m->y, m->selected, m->logits, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaEventCreateWithFlags(&m.forked, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&m.joined, cudaEventDisableTiming));
    m.x = zoo_alloc(BYTES, "x");
    m.selected = zoo_alloc(BYTES, "selected");
    m.y = zoo_alloc(BYTES, "y");
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture(&graph, forward, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 4 + 7);
    zoo_destroy(&graph);
    return result;
}

/* A scheduler prepares the next batch on a stream of its own while the graph of the last one runs. The graph waits for
 * its batch, but the scheduler does not wait for the graph: it overwrites static inputs that are still to be read.
 *
 * expect: unordered | not ordered
 * culprit: memcpy | add#0
 * innocent: scale#0
 * source: sgl-project/sglang#26380
 * symptom: wrong HOSTCUDA_SEED=1
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BATCHES = 3, BYTES = N * sizeof(float) };

typedef struct model {
    float *batches, *input, *scaled, *sum; /* input is static */
    cudaEvent_t prepared, forwarded;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->scaled, m->sum, 10, N, stream));
    CHECK(zoo_delay(1000, stream)); /* other layers */
    /* CULPRIT */
    CHECK(zoo_add(m->sum, m->scaled, m->input, N, stream));
}

static void prepare(model *m, int batch)
{
    if (zoo.correct)
        CHECK(cudaStreamWaitEvent(zoo.side, m->forwarded, 0));
    /* CULPRIT */
    CHECK(cudaMemcpyAsync(m->input, m->batches + batch * N, BYTES, cudaMemcpyDeviceToDevice, zoo.side));
    CHECK(cudaEventRecord(m->prepared, zoo.side));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaEventCreateWithFlags(&m.prepared, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&m.forwarded, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&m.batches, BATCHES * BYTES));
    CHECK(cudaMalloc((void **)&m.input, BYTES));
    CHECK(cudaMalloc((void **)&m.scaled, BYTES));
    CHECK(cudaMalloc((void **)&m.sum, BYTES));
    CHECK(zoo_fill(m.sum, 0, N, zoo.stream));
    for (int i = 0; i < BATCHES; i++)
        CHECK(zoo_fill(m.batches + i * N, (float)(i + 1), N, zoo.side));
    zoo_capture(&graph, forward, &m);
    for (int i = 0; i < BATCHES; i++) {
        prepare(&m, i);
        CHECK(cudaStreamWaitEvent(zoo.stream, m.prepared, 0));
        zoo_replay(&graph);
        CHECK(cudaEventRecord(m.forwarded, zoo.stream));
    }
    result = zoo_end(m.sum, N, 123);
    zoo_destroy(&graph);
    return result;
}

/* A network library connects when it is used first, in a capture. It copies to the device with cudaMemcpy, which is
 * work of the legacy stream, and that waits for each blocking stream: also for the one that captures.
 *
 * expect: [capture-broken] cudaMemcpy legacy | [capture-broken] cudaMemcpy blocking
 * culprit: cudaMemcpy
 * innocent: add#0
 * source: aws/aws-ofi-nccl#1342
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *y;
} model;

static float *peer; /* NULL: not connected */

static void connect_peer(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; /* what follows is not for the graph */
    float data[N];

    for (int i = 0; i < N; i++)
        data[i] = 5;
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK(cudaMalloc((void **)&peer, BYTES));
    if (zoo.correct) {
        CHECK(cudaMemcpyAsync(peer, data, BYTES, cudaMemcpyHostToDevice, zoo.side));
        CHECK(cudaStreamSynchronize(zoo.side));
    } else {
        /* CULPRIT */
        CHECK(cudaMemcpy(peer, data, BYTES, cudaMemcpyHostToDevice));
    }
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
}

static void reduce(void *user, cudaStream_t stream)
{
    model *m = user;
    if (peer == NULL)
        connect_peer();
    CHECK(zoo_add(m->y, m->x, peer, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaStreamCreate(&zoo.stream)); /* a blocking one */
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture(&graph, reduce, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 6);
    zoo_destroy(&graph);
    return result;
}

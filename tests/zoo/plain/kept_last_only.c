/* Of graphs on two devices only the last keeps its memory, and the report can only guess why. Here it is kept alive by
 * device: a second capture on a device takes the first one's place, whose memory is freed.
 *
 * expect: [freed] | [dangling]
 * culprit: scale#0 | add#0
 * innocent: -
 * source: pytorch/pytorch#153025
 * symptom: error HOSTCUDA_MEMORY=poison,fence
 * needs: devices=2 */
#include "tests/zoo/zoo.h"

enum { N = 1 << 20, BYTES = N * sizeof(float), DEVICES = 2, LAYERS = 4 };

typedef struct layer {
    float *x, *hidden, *y;
    cudaStream_t stream;
    zoo_graph graph;
} layer;

static float *kept[LAYERS]; /* by device; in the twin, by layer */

static void forward(void *user, cudaStream_t stream)
{
    layer *l = user;
    /* CULPRIT */
    CHECK(zoo_scale(l->hidden, l->x, 2, N, stream));
    /* CULPRIT */
    CHECK(zoo_add(l->y, l->hidden, l->x, N, stream));
}

static void capture(layer *l, int index)
{
    const int device = index % DEVICES, keeper = zoo.correct ? index : device;
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&l->x, BYTES));
    CHECK(cudaMalloc((void **)&l->hidden, BYTES));
    CHECK(cudaMalloc((void **)&l->y, BYTES));
    CHECK(zoo_fill(l->x, 1, N, l->stream));
    zoo.stream = l->stream;
    zoo_capture(&l->graph, forward, l);
    if (kept[keeper] != NULL && !zoo.eager)
        CHECK(cudaFree(kept[keeper]));
    kept[keeper] = l->hidden;
}

int main(int argc, char **argv)
{
    layer layers[LAYERS];
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    for (int i = 0; i < LAYERS; i++)
        capture(&layers[i], i);
    for (int i = 0; i < LAYERS && result == ZOO_RIGHT; i++) {
        CHECK(cudaSetDevice(i % DEVICES));
        zoo.stream = layers[i].stream;
        zoo_replay(&layers[i].graph);
        result = zoo_end(layers[i].y, N, 3);
        zoo_destroy(&layers[i].graph);
    }
    return result;
}

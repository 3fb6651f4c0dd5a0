/* An allocator records an event when a block is given back, and gives it out again when the event is complete. The
 * stream that used the block captures: an event that was recorded there cannot be asked, and asking breaks the capture.
 *
 * expect: [capture-broken] cudaEventQuery
 * culprit: cudaEventQuery | cudaEventRecord
 * innocent: scale#0 | add#0
 * source: pytorch/pytorch#193982
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), BLOCKS = 3 };

static struct block {
    float *memory;
    cudaEvent_t used;
    enum { FREE, TAKEN, PENDING, DEFERRED } state;
} blocks[BLOCKS];

static void poll_pending(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; /* asking other streams' events is allowed */
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    for (struct block *b = blocks; b < blocks + BLOCKS; b++)
        /* CULPRIT */
        if (b->state == PENDING && cudaEventQuery(b->used) == cudaSuccess)
            b->state = FREE;
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
}

static struct block *take(void)
{
    struct block *b = blocks;
    poll_pending();
    while (b->state != FREE)
        b++;
    b->state = TAKEN;
    return b;
}

/* The twin keeps blocks that a capturing stream has used until the capture ends. */
static void give_back(struct block *b, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(stream, &status));
    if (zoo.correct && status != cudaStreamCaptureStatusNone) {
        b->state = DEFERRED;
    } else {
        /* CULPRIT */
        CHECK(cudaEventRecord(b->used, stream));
        b->state = PENDING;
    }
}

static void forward(void *user, cudaStream_t stream)
{
    struct block *x = take(), *y;
    CHECK(zoo_fill(x->memory, 2, N, stream));
    give_back(x, stream);
    y = take();
    CHECK(zoo_scale(y->memory, x->memory, 3, N, stream));
    *(float **)user = y->memory;
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    float *y;

    zoo_begin(argc, argv);
    for (struct block *b = blocks; b < blocks + BLOCKS; b++) {
        CHECK(cudaMalloc((void **)&b->memory, BYTES));
        CHECK(cudaEventCreateWithFlags(&b->used, cudaEventDisableTiming));
    }
    zoo_capture(&graph, forward, &y);
    zoo_replay(&graph);
    return zoo_end(y, N, 6);
}

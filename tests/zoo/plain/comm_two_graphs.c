/* Two graphs have a collective of one communicator each, and are replayed on two streams at a time. The communicator
 * has one step counter, which both graphs write: a rank waits for the step of one, and finds that of the other, for
 * ever.
 *
 * expect: unordered | not ordered | not finished | not ended
 * culprit: set_flag#0 | wait_flag#0
 * innocent: scale#0 | add#0
 * source: ROCm/rccl#2179
 * symptom: error|hang HOSTCUDA_SEED=1
 * needs: once */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), COLLECTIVES = 2 };

static int *step; /* of the communicator, in device memory */

typedef struct collective {
    int number;
    float *x, *slot, *y;
    zoo_graph send, receive; /* of two ranks */
    cudaStream_t ranks[2];
    cudaEvent_t sent, received;
} collective;

static void send(void *user, cudaStream_t stream)
{
    collective *c = user;
    CHECK(zoo_scale(c->slot, c->x, 1, N, stream));
    /* CULPRIT */
    CHECK(zoo_set_flag(step, c->number, stream));
}

static void receive(void *user, cudaStream_t stream)
{
    collective *c = user;
    CHECK(zoo_delay(1000, stream)); /* this rank is late */
    /* CULPRIT */
    CHECK(zoo_wait_flag(step, c->number, stream));
    CHECK(zoo_add(c->y, c->slot, c->x, N, stream));
}

static void launch(const collective *c)
{
    CHECK(cudaGraphLaunch(c->send.exec, c->ranks[0]));
    CHECK(cudaEventRecord(c->sent, c->ranks[0]));
    CHECK(cudaStreamWaitEvent(c->ranks[1], c->sent, 0));
    CHECK(cudaGraphLaunch(c->receive.exec, c->ranks[1]));
    CHECK(cudaEventRecord(c->received, c->ranks[1]));
}

static void make(collective *c, int number)
{
    c->number = number;
    CHECK(cudaMalloc((void **)&c->x, BYTES));
    CHECK(cudaMalloc((void **)&c->slot, BYTES));
    CHECK(cudaMalloc((void **)&c->y, BYTES));
    CHECK(zoo_fill(c->x, (float)number, N, zoo.stream));
    CHECK(cudaEventCreateWithFlags(&c->sent, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&c->received, cudaEventDisableTiming));
    for (int rank = 0; rank < 2; rank++)
        CHECK(cudaStreamCreateWithFlags(&c->ranks[rank], cudaStreamNonBlocking));
    zoo_capture(&c->send, send, c);
    zoo_capture(&c->receive, receive, c);
}

int main(int argc, char **argv)
{
    collective c[COLLECTIVES];
    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&step, sizeof *step));
    for (int i = 0; i < COLLECTIVES; i++)
        make(&c[i], i + 1);
    CHECK(cudaDeviceSynchronize());
    launch(&c[0]);
    if (zoo.correct) /* the other collective follows */
        CHECK(cudaStreamWaitEvent(c[1].ranks[0], c[0].received, 0));
    launch(&c[1]);
    return zoo_end(c[0].y, N, 2);
}

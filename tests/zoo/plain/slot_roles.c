/* A communicator's scratch has two slots, whose place depends on the message's size: where a small message's sum is, a
 * large one arrives. The peer sends as soon as what it sent before was read, while the sum is still copied out.
 *
 * expect: unordered | overwritten | overwrites | shared
 * culprit: fill#0 | scale#0
 * innocent: add
 * source: ROCm/mori#559
 * symptom: wrong HOSTCUDA_SEED=4
 * needs: - */
#include "tests/zoo/zoo.h"

enum { SMALL = 64, LARGE = 128, SEND = 0, REDUCE, COPY_OUT, GRAPHS };

typedef struct message {
    float *scratch, *y;
    int n;
    zoo_graph graphs[GRAPHS];
} message;

/* Slot 0 receives; slot 1 holds the sum. In the twin they are as far apart as the largest message needs. */
static float *slot(const message *m, int index)
{
    return m->scratch + index * (zoo.correct ? LARGE : m->n);
}

static void send(void *user, cudaStream_t stream)
{
    message *m = user;
    /* CULPRIT */
    CHECK(zoo_fill(slot(m, 0), 1, m->n, stream));
}

static void reduce(void *user, cudaStream_t stream)
{
    message *m = user;
    CHECK(zoo_add(slot(m, 1), slot(m, 0), slot(m, 0), m->n, stream));
}

static void copy_out(void *user, cudaStream_t stream)
{
    message *m = user;
    CHECK(zoo_delay(1000, stream));
    /* CULPRIT */
    CHECK(zoo_scale(m->y, slot(m, 1), 1, m->n, stream));
}

/* The peer is the side stream. */
static void exchange(message *m, cudaEvent_t sent, cudaEvent_t read)
{
    CHECK(cudaStreamWaitEvent(zoo.side, read, 0));
    CHECK(cudaGraphLaunch(m->graphs[SEND].exec, zoo.side));
    CHECK(cudaEventRecord(sent, zoo.side));
    CHECK(cudaStreamWaitEvent(zoo.stream, sent, 0));
    CHECK(cudaGraphLaunch(m->graphs[REDUCE].exec, zoo.stream));
    CHECK(cudaEventRecord(read, zoo.stream));
    CHECK(cudaGraphLaunch(m->graphs[COPY_OUT].exec, zoo.stream));
}

int main(int argc, char **argv)
{
    static zoo_pass *const passes[] = {send, reduce, copy_out};
    message messages[] = {{.n = SMALL}, {.n = LARGE}};
    cudaEvent_t sent, read;
    float *scratch;

    zoo_begin(argc, argv);
    CHECK(cudaEventCreateWithFlags(&sent, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&scratch, 2 * LARGE * sizeof(float)));
    for (message *m = messages; m < messages + 2; m++) {
        m->scratch = scratch;
        CHECK(cudaMalloc((void **)&m->y, LARGE * sizeof(float)));
        for (int i = 0; i < GRAPHS; i++)
            zoo_capture(&m->graphs[i], passes[i], m);
    }
    exchange(&messages[0], sent, read);
    exchange(&messages[1], sent, read);
    return zoo_end(messages[0].y, SMALL, 2);
}

/* A consumer's input is re-pointed to the producer's buffer, and its own buffer is freed. The consumer's graph was
 * captured with its own buffer, and reads that: here without an error, since small blocks stay mapped.
 *
 * expect: [freed] | [dangling] | [unstable-pointer]
 * culprit: add#0
 * innocent: scale
 * source: beehive-lab/TornadoVM#1006
 * symptom: wrong|error HOSTCUDA_MEMORY=poison
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct task {
    float *in, *out;
    zoo_graph graph;
} task;

static void produce(void *user, cudaStream_t stream)
{
    task *t = user;
    CHECK(zoo_scale(t->out, t->in, 5, N, stream));
}

static void consume(void *user, cudaStream_t stream)
{
    task *t = user;
    /* CULPRIT */
    CHECK(zoo_add(t->out, t->in, t->in, N, stream));
}

static void make(task *t)
{
    CHECK(cudaMalloc((void **)&t->in, BYTES));
    CHECK(cudaMalloc((void **)&t->out, BYTES));
    CHECK(zoo_fill(t->in, 1, N, zoo.stream));
}

/* No copy is needed from the producer to the consumer: they use one buffer from now on. */
static void connect(const task *producer, task *consumer)
{
    CHECK(cudaStreamSynchronize(zoo.stream));
    CHECK(cudaFree(consumer->in));
    consumer->in = producer->out;
}

int main(int argc, char **argv)
{
    task producer, consumer;
    int result;

    zoo_begin(argc, argv);
    make(&producer);
    make(&consumer);
    zoo_capture(&producer.graph, produce, &producer);
    if (zoo.correct)
        connect(&producer, &consumer); /* the buffers are final before the capture */
    zoo_capture(&consumer.graph, consume, &consumer);
    if (!zoo.correct)
        connect(&producer, &consumer);
    zoo_replay(&producer.graph);
    zoo_replay(&consumer.graph);
    result = zoo_end(consumer.out, N, 10);
    zoo_destroy(&producer.graph);
    zoo_destroy(&consumer.graph);
    return result;
}

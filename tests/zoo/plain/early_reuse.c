/* A forward graph keeps an activation for its backward graph. To save memory, the graphs of the next microbatch use the
 * same buffer. The schedule runs that microbatch's forward graph before this one's backward graph.
 *
 * expect: overwritten | overwrites | shared
 * culprit: scale#0 | add#0
 * innocent: -
 * source: NVIDIA/Megatron-LM#4433, NVIDIA/TransformerEngine#2018
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 256, BYTES = N * sizeof(float), MICROBATCHES = 2 };

typedef struct microbatch {
    float *x, *activation, *gradient;
    zoo_graph forward, backward;
} microbatch;

static void forward(void *user, cudaStream_t stream)
{
    microbatch *b = user;
    /* CULPRIT */
    CHECK(zoo_scale(b->activation, b->x, 2, N, stream));
}

static void backward(void *user, cudaStream_t stream)
{
    microbatch *b = user;
    /* CULPRIT */
    CHECK(zoo_add(b->gradient, b->gradient, b->activation, N, stream));
}

int main(int argc, char **argv)
{
    microbatch batches[MICROBATCHES];
    float *activation = NULL, *gradient;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&gradient, BYTES));
    CHECK(cudaMemsetAsync(gradient, 0, BYTES, zoo.stream));
    for (int i = 0; i < MICROBATCHES; i++) {
        microbatch *b = &batches[i];
        if (activation == NULL || zoo.correct || zoo.eager) /* the twin has one for each microbatch in flight */
            CHECK(cudaMalloc((void **)&activation, BYTES));
        CHECK(cudaMalloc((void **)&b->x, BYTES));
        CHECK(zoo_fill(b->x, (float)(i + 1), N, zoo.stream));
        b->activation = activation;
        b->gradient = gradient;
        zoo_capture(&b->forward, forward, b);
        zoo_capture(&b->backward, backward, b);
    }
    for (int i = 0; i < MICROBATCHES; i++)
        zoo_replay(&batches[i].forward);
    for (int i = 0; i < MICROBATCHES; i++)
        zoo_replay(&batches[i].backward);
    result = zoo_end(gradient, N, 2 + 4);
    for (int i = 0; i < MICROBATCHES; i++) {
        zoo_destroy(&batches[i].forward);
        zoo_destroy(&batches[i].backward);
    }
    return result;
}

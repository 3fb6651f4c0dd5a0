/* An eager op sorts the tokens into a new tensor in each step, and the captured op after it reads the tensor of the
 * capture. That goes well as long as the allocator returns the same block; a batch of another kind takes it.
 *
 * expect: [freed] | [reused] | [unstable-pointer]
 * culprit: experts#0
 * innocent: -
 * source: vllm-project/vllm#40038
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { N = 256, BYTES = N * sizeof(float) };

static float *sorted; /* what `align` returned */

BG_EAGER_OP(align, BG_IN(x))
{
    if (sorted == NULL)
        sorted = zoo_alloc(BYTES, "sorted");
    return checked(zoo_scale(sorted, args->x.data, 2, N, stream));
}

BG_OP(experts, BG_IN(sorted), BG_OUT(y))
{
    return checked(zoo_add(args->y.data, args->sorted.data, args->sorted.data, N, stream));
}

typedef struct model {
    float *x, *y;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    BG_CALL(align, stream, .x = floats(m->x, N));
    /* CULPRIT */
    return BG_CALL(experts, stream, .sorted = floats(sorted, N), .y = floats(m->y, N));
}

/* Nothing else holds the tensor. The twin keeps it for the next step. */
static void end_step(void)
{
    if (zoo.correct)
        return;
    zoo_free(sorted);
    sorted = NULL;
}

int main(int argc, char **argv)
{
    bg_graph *graph;
    float *other;
    model m;
    int result;

    zoo_begin(argc, argv);
    m.x = zoo_alloc(BYTES, "x");
    m.y = zoo_alloc(BYTES, "y");
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture_ops(&graph, forward, &m);
    end_step();
    zoo_replay_ops(graph);
    end_step();
    other = zoo_alloc(BYTES, "other");
    CHECK(zoo_fill(other, 7, N, zoo.stream));
    zoo_replay_ops(graph);
    result = zoo_end(m.y, N, 4);
    bg_graph_destroy(graph);
    return result;
}

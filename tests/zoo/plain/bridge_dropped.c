/* Between two captured segments an eager function returns a new tensor. The one that it returned at capture is the
 * second segment's input, but only its address is kept: the allocator gives the block to the cache, and each replay
 * copies the eager function's output over it.
 *
 * expect: [freed] | [reused]
 * culprit: add#0
 * innocent: scale
 * source: sgl-project/sglang#30584, NVIDIA/TensorRT-LLM#16609
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 256, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *q, *bridge, *y;
} model;

static void before(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->q, m->x, 2, N, stream));
}

static float *attend(const model *m)
{
    float *output = zoo_alloc(BYTES, "output");
    CHECK(zoo_scale(output, m->q, 3, N, zoo.stream));
    return output;
}

static void after(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    CHECK(zoo_add(m->y, m->bridge, m->x, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph first, second;
    model m;
    float *cache, *output;
    int result;

    zoo_begin(argc, argv);
    m.x = zoo_alloc(BYTES, "x");
    m.q = zoo_alloc(BYTES, "q");
    m.y = zoo_alloc(BYTES, "y");
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture(&first, before, &m);
    m.bridge = attend(&m);
    zoo_capture(&second, after, &m);
    if (!zoo.correct)
        zoo_free(m.bridge);
    cache = zoo_alloc(BYTES, "cache");
    CHECK(zoo_fill(cache, 7, N, zoo.stream));
    zoo_replay(&first);
    output = attend(&m);
    if (zoo.eager) /* no address is kept */
        m.bridge = output;
    else
        CHECK(cudaMemcpyAsync(m.bridge, output, BYTES, cudaMemcpyDeviceToDevice, zoo.stream));
    zoo_replay(&second);
    result = zoo_end(cache, N, 7);
    zoo_destroy(&first);
    zoo_destroy(&second);
    return result;
}

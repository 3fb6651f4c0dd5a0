/* Each bucket has a captured segment and an eager break that reads the segment's output q. Of q only the address is
 * kept: its block goes back to the pool that the buckets share, and is carved again for the next bucket. Where two
 * batches are interleaved, the second one's segment overwrites the first one's q before the break reads it.
 *
 * expect: [freed] | [reused] | shared
 * culprit: scale#0
 * innocent: -
 * source: sgl-project/sglang#37606
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 256, BYTES = N * sizeof(float) };

typedef struct bucket {
    float *x, *q, *y;
    zoo_graph segment;
} bucket;

static void project(void *user, cudaStream_t stream)
{
    bucket *b = user;
    b->q = zoo_alloc(BYTES, "q");
    /* CULPRIT */
    CHECK(zoo_scale(b->q, b->x, 2, N, stream));
}

static void attend(const bucket *b)
{
    CHECK(zoo_add(b->y, b->q, b->q, N, zoo.stream));
}

static void make_inputs(bucket *b, float value)
{
    b->x = zoo_alloc(BYTES, "x");
    b->y = zoo_alloc(BYTES, "y");
    b->q = NULL;
    CHECK(zoo_fill(b->x, value, N, zoo.stream));
}

static void capture(bucket *b)
{
    zoo_capture(&b->segment, project, b);
    if (!zoo.correct) /* the twin holds it as long as the graph */
        zoo_free(b->q);
}

int main(int argc, char **argv)
{
    bucket large, small;
    int result;

    zoo_begin(argc, argv);
    make_inputs(&large, 1);
    make_inputs(&small, 5);
    capture(&large);
    capture(&small);
    zoo_replay(&large.segment);
    zoo_replay(&small.segment);
    attend(&large);
    attend(&small);
    result = zoo_end(large.y, N, 4);
    zoo_destroy(&large.segment);
    zoo_destroy(&small.segment);
    return result;
}

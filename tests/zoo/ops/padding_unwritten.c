/* Graphs of two sizes share a pool. In the larger one attention writes the rows of the image alone, and leaves its
 * padding rows unwritten: they hold what the smaller graph left there, and the next op mixes all rows.
 *
 * expect: [unwritten-output] | [reads-unwritten]
 * culprit: attention#0
 * innocent: mask#0
 * source: vllm-project/vllm#57136
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

#include <math.h>

enum { ROWS = 64, BYTES = ROWS * sizeof(float) };

BG_OP(mask, BG_OUT(y))
{
    return checked(zoo_fill(args->y.data, -INFINITY, ROWS, stream));
}

BG_OP(attention, BG_IN(x), BG_IN(rows), BG_OUT(y))
{
    if (zoo.correct)
        CHECK(cudaMemsetAsync(args->y.data, 0, BYTES, stream));
    return checked(zoo_copy_below(args->y.data, args->x.data, args->rows.data, ROWS, stream));
}

BG_OP(mix, BG_IN(x), BG_OUT(y))
{
    return checked(zoo_row_sum(args->y.data, args->x.data, 1, ROWS, stream));
}

typedef struct model {
    float *x, *y;
    int *rows; /* of x: those of the image */
} model;

static bg_status encode_small(void *user, cudaStream_t stream)
{
    mask_args bias = {.y = floats(NULL, ROWS)};
    model *m = user;
    BG_CALL_ARGS(mask, stream, &bias);
    return BG_CALL(mix, stream, .x = bias.y, .y = floats(m->y, 1));
}

static bg_status encode_large(void *user, cudaStream_t stream)
{
    model *m = user;
    attention_args out = {.x = floats(m->x, ROWS), .rows = ints(m->rows, 1), .y = floats(NULL, ROWS)};
    /* CULPRIT */
    BG_CALL_ARGS(attention, stream, &out);
    return BG_CALL(mix, stream, .x = out.y, .y = floats(m->y, 1));
}

int main(int argc, char **argv)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *small, *large;
    const int rows = ROWS / 2;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, sizeof(float)));
    CHECK(cudaMalloc((void **)&m.rows, sizeof(int)));
    CHECK(zoo_fill(m.x, 1, ROWS, zoo.stream));
    CHECK(cudaMemcpyAsync(m.rows, &rows, sizeof rows, cudaMemcpyHostToDevice, zoo.stream));
    BG(bg_pool_create(&options.pool, NULL));
    BG(bg_capture_forward(&large, encode_large, &m, zoo.stream, &options));
    BG(bg_capture_forward(&small, encode_small, &m, zoo.stream, &options));
    zoo_replay_ops(small);
    zoo_replay_ops(large);
    result = zoo_end(m.y, 1, (float)rows);
    bg_graph_destroy(small);
    bg_graph_destroy(large);
    bg_pool_destroy(options.pool);
    return result;
}

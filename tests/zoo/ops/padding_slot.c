/* A runner pads the rows of a batch to its bucket. Padding rows have slot -1, and the op that writes the cache takes a
 * negative slot for one counted from the end: it overwrites the last slot, which belongs to a live request.
 *
 * expect: padding
 * culprit: write_cache#0
 * innocent: -
 * source: vllm-project/vllm#43810
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { BUCKET = 4, SLOTS = 8 };

BG_OP(write_cache, BG_IN(x), BG_IN(slot), BG_INOUT(cache))
{
    return checked(zoo_scatter(args->cache.data, args->x.data, args->slot.data, (int)args->x.dim[0],
                               zoo.correct ? 0 : SLOTS, stream));
}

typedef struct model {
    bg_tensor x, slot, cache; /* the runner's static buffers */
} model;

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    return BG_CALL(write_cache, stream, .x = floats(m->x.data, context->padded_tokens),
                   .slot = ints(m->slot.data, context->padded_tokens), .cache = m->cache);
}

static void run(bg_runner *runner, float *x, int *slot, int tokens)
{
    const bg_batch batch = {.tokens = tokens, .requests = tokens, .max_query_len = 1};
    const bg_tensor inputs[] = {floats(x, tokens), ints(slot, tokens)};
    BG(bg_runner_run(runner, &batch, inputs, NULL, NULL));
    CHECK(cudaStreamSynchronize(zoo.stream));
}

int main(int argc, char **argv)
{
    static const float expected[SLOTS] = {1, 2, 3, 0, 5, 6, 7, 8};
    float first[] = {5, 6, 7, 8}, second[] = {1, 2, 3};
    int high[] = {4, 5, 6, 7}, low[] = {0, 1, 2};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_runner *runner;
    model m;
    int result;

    zoo_begin(argc, argv);
    config.schedule = "4";
    config.max_tokens = BUCKET;
    BG(bg_runner_create(&runner, &config, forward, &m, zoo.stream));
    BG(bg_runner_add_input(runner, "x", BG_F32, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &m.x));
    BG(bg_runner_add_input(runner, "slot", BG_I32, 1, (int64_t[]){0}, BG_PAD_SENTINEL, -1, &m.slot));
    BG(bg_runner_add_buffer(runner, "cache", BG_F32, 1, (int64_t[]){SLOTS}, &m.cache));
    BG(bg_runner_capture(runner));
    CHECK(cudaMemsetAsync(m.cache.data, 0, SLOTS * sizeof(float), zoo.stream));
    run(runner, first, high, BUCKET);
    run(runner, second, low, BUCKET - 1);
    result = zoo_end_with(m.cache.data, expected, SLOTS);
    bg_runner_destroy(runner);
    return result;
}

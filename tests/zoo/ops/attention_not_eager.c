/* Attention takes the number and length of requests from the host, and must run eagerly. The list of eager ops is empty
 * by mistake: attention is captured with the lengths of the batch that the capture makes up, and each batch of as many
 * tokens replays these.
 *
 * expect: [frozen-value] | [frozen-argument] | [culprit]
 * culprit: attention#0
 * innocent: embed#0
 * source: vllm-project/vllm#53030
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { TOKENS = 8 };

BG_OP(embed, BG_IN(token), BG_OUT(x))
{
    return checked(zoo_scale(args->x.data, args->token.data, 2, (int)args->x.dim[0], stream));
}

/* y: a sum for each request. */
BG_OP(attention, BG_IN(x), BG_OUT(y))
{
    const bg_batch *batch = &bg_forward_context_get()->batch;
    return checked(zoo_row_sum(args->y.data, args->x.data, batch->requests, batch->max_query_len, stream));
}

typedef struct model {
    bg_tensor token, x, y; /* the runner's static buffers */
} model;

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    BG_CALL(embed, stream, .token = floats(m->token.data, context->padded_tokens),
            .x = floats(m->x.data, context->padded_tokens));
    /* CULPRIT */
    return BG_CALL(attention, stream, .x = floats(m->x.data, context->padded_tokens), .y = m->y);
}

int main(int argc, char **argv)
{
    const bg_batch batch = {.tokens = TOKENS, .requests = 2, .max_query_len = 4, .uniform_decode = true};
    float *token;
    bg_tensor input;
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_runner *runner;
    model m;
    int result;

    zoo_begin(argc, argv);
    config.schedule = "8";
    config.max_tokens = TOKENS;
    config.eager_ops = zoo.correct ? "attention" : NULL;
    BG(bg_runner_create(&runner, &config, forward, &m, zoo.stream));
    BG(bg_runner_add_input(runner, "token", BG_F32, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &m.token));
    BG(bg_runner_add_buffer(runner, "x", BG_F32, 1, (int64_t[]){TOKENS}, &m.x));
    BG(bg_runner_add_buffer(runner, "y", BG_F32, 1, (int64_t[]){TOKENS}, &m.y));
    BG(bg_runner_capture(runner));
    CHECK(cudaMalloc((void **)&token, TOKENS * sizeof(float)));
    CHECK(zoo_fill(token, 1, TOKENS, zoo.stream));
    input = floats(token, TOKENS);
    BG(bg_runner_run(runner, &batch, &input, NULL, NULL));
    result = zoo_end(m.y.data, batch.requests, 8);
    bg_runner_destroy(runner);
    return result;
}

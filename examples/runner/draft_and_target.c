/* Speculative decoding with two models on one pool: a small draft model proposes tokens one by one, and the target
 * model verifies all of them in one batch, whose requests have 1 + DRAFTED query tokens. What to copy: config.pool, the
 * target's query length, and the loop that accepts tokens. */
#include "examples/runner/try.h"
#include "kernels/model/kernels.h"

enum { VOCABULARY = 32, DRAFT_TOKENS = 3, LENGTH = 24 };

/* A model that looks up the logits of the next token. */
typedef struct model {
    float *table; /* VOCABULARY x VOCABULARY */
    bg_runner *runner;
    bg_tensor token, next; /* static buffers */
} model;

BG_OP(logits_of, BG_IN(token), BG_OUT(logits), BG_VALUE(const float *, table))
{
    return check_cuda(bgk_embedding(args->logits.data, args->table, args->token.data, (int)args->token.dim[0],
                                    VOCABULARY, VOCABULARY, stream));
}

BG_OP(choose_token, BG_IN(logits), BG_OUT(next))
{
    return check_cuda(bgk_argmax(args->next.data, args->logits.data, (int)args->next.dim[0], VOCABULARY, stream));
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const model *m = user;
    const int rows = context->padded_tokens;
    bg_tensor logits = bg_tensor_2d(NULL, BG_F32, rows, VOCABULARY);
    bg_status status;

    TRY(bg_pool_alloc(bg_runner_pool(m->runner), bg_tensor_bytes(&logits), &logits.data));
    TRY(BG_CALL(logits_of, stream, .token = bg_tensor_1d(m->token.data, BG_I32, rows), .logits = logits,
                .table = m->table));
    TRY(BG_CALL(choose_token, stream, .logits = logits, .next = bg_tensor_1d(m->next.data, BG_I32, rows)));
done:
    bg_pool_release(bg_runner_pool(m->runner), logits.data);
    return status;
}

/* Token 7 t + 3 follows token t, but the draft model is wrong for every fifth t. */
static bg_status open_model(model *m, bool draft, int query_len, bg_pool *pool, cudaStream_t stream)
{
    static float host[VOCABULARY][VOCABULARY];
    const int64_t rows[] = {0};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    for (int t = 0; t < VOCABULARY; t++)
        for (int next = 0; next < VOCABULARY; next++)
            host[t][next] = next == (draft && t % 5 == 0 ? 0 : (7 * t + 3) % VOCABULARY);
    CUDA(cudaMalloc((void **)&m->table, sizeof host));
    CUDA(cudaMemcpy(m->table, host, sizeof host, cudaMemcpyHostToDevice));
    config.mode = BG_MODE_FULL_DECODE_ONLY;
    config.schedule = "4";
    config.max_tokens = 4;
    config.max_query_len = query_len;
    config.pool = pool;
    TRY(bg_runner_create(&m->runner, &config, forward, m, stream));
    TRY(bg_runner_add_input(m->runner, "token", BG_I32, 1, rows, BG_PAD_ZERO, 0, &m->token));
    TRY(bg_runner_add_output(m->runner, "next", BG_I32, 1, rows, &m->next));
    TRY(bg_runner_capture(m->runner));
done:
    return status;
}

static void close_model(model *m)
{
    bg_runner_destroy(m->runner);
    (void)cudaFree(m->table);
}

/* Computes one request of `count` query tokens; next[i] becomes the token after tokens[i]. */
static bg_status run_request(model *m, const int *tokens, int *next, int count, cudaStream_t stream)
{
    const bg_batch batch = {.tokens = count, .requests = 1, .max_query_len = count, .uniform_decode = true};
    bg_tensor input = bg_tensor_1d((void *)tokens, BG_I32, count), output = bg_tensor_1d(next, BG_I32, count);
    bg_status status;

    TRY(bg_runner_run(m->runner, &batch, &input, &output, NULL));
    CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

/* Appends the target's tokens, 1 to 1 + DRAFTED of them, after text[*length - 1]. */
static bg_status append_verified_tokens(model *draft, model *target, int *text, int *length, cudaStream_t stream)
{
    int proposed[1 + DRAFT_TOKENS] = {text[*length - 1]}, judged[1 + DRAFT_TOKENS], taken = 0;
    bg_status status = BG_OK;

    for (int i = 0; i < DRAFT_TOKENS; i++)
        TRY(run_request(draft, &proposed[i], &proposed[i + 1], 1, stream));
    TRY(run_request(target, proposed, judged, 1 + DRAFT_TOKENS, stream));
    do
        text[(*length)++] = judged[taken++];
    while (taken <= DRAFT_TOKENS && judged[taken - 1] == proposed[taken] && *length < LENGTH);
done:
    return status;
}

int main(void)
{
    model draft = {.table = NULL}, target = {.table = NULL};
    int text[LENGTH] = {1}, length = 1, passes = 0;
    bg_pool *pool = NULL;
    cudaStream_t stream = NULL;
    bg_status status;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(bg_pool_create(&pool, NULL));
    TRY(open_model(&target, false, 1 + DRAFT_TOKENS, pool, stream));
    TRY(open_model(&draft, true, 1, pool, stream));
    for (; length < LENGTH; passes++)
        TRY(append_verified_tokens(&draft, &target, text, &length, stream));
    for (int i = 0; i < LENGTH; i++)
        printf("%d%s", text[i], i < LENGTH - 1 ? " " : "\n");
    printf("%d tokens in %d passes of the target\n", LENGTH - 1, passes);
    for (int i = 1; i < LENGTH; i++)
        if (text[i] != (7 * text[i - 1] + 3) % VOCABULARY)
            TRY(bg_report_failure(BG_ERROR_MISMATCH, "the text", "the text differs from the target's own",
                                  "check which tokens are accepted"));
done:
    close_model(&draft);
    close_model(&target);
    bg_pool_destroy(pool);
    if (stream != NULL)
        (void)cudaStreamDestroy(stream);
    return report_status(status);
}

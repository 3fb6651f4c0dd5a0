#include "engine.h"
#include "ops.h"
#include <string.h>

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    llama_engine *e = user;
    e->last = *context;
    return llama_batch_run(e->batch, context->padded_tokens, stream);
}

/* Called before each replay, which does not call forward. */
static bg_status record_context(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    llama_engine *e = user;
    (void)stream;
    e->last = *context;
    return BG_OK;
}

static bg_status add_static_buffers(llama_engine *e, int vocabulary)
{
    const int64_t rows[] = {0}, logits[] = {0, vocabulary};
    bg_runner *r = e->runner;
    TRY(bg_runner_add_input(r, "token", BG_I32, 1, rows, BG_PAD_SENTINEL, -1, &e->io.token));
    TRY(bg_runner_add_input(r, "position", BG_I32, 1, rows, BG_PAD_REPEAT_LAST, 0, &e->io.position));
    TRY(bg_runner_add_input(r, "slot", BG_I32, 1, rows, BG_PAD_SENTINEL, -1, &e->io.slot));
    TRY(bg_runner_add_output(r, "logits", BG_F32, 2, logits, &e->io.logits));
    return bg_runner_add_output(r, "next", BG_I32, 1, rows, &e->io.next);
}

bg_status llama_engine_create(llama_engine *e, const llama_device_weights *weights, int slots, int capacity,
                              const bg_runner_config *config, cudaStream_t stream)
{
    bg_runner_config own = *config;
    memset(e, 0, sizeof *e);
    e->stream = stream;
    own.prepare = record_context;
    own.callback_user = e;
    TRY(bg_runner_create(&e->runner, &own, forward, e, stream));
    TRY(add_static_buffers(e, weights->config.vocabulary));
    /* Use the rows of the buffers: the environment may have changed config.max_tokens. */
    TRY(llama_batch_create(&e->batch, weights, slots, capacity, (int)e->io.token.dim[0], bg_runner_pool(e->runner),
                           stream));
    return llama_batch_set_io(e->batch, &e->io);
}

void llama_engine_free(llama_engine *e)
{
    bg_runner_destroy(e->runner); /* its graphs use the batch's caches */
    llama_batch_destroy(e->batch);
    memset(e, 0, sizeof *e);
}

bg_status llama_engine_run(void *engine, const llama_serve_batch *batch, const int *token, const int *position,
                           const int *slot, int rows, float *logits, int *next)
{
    llama_engine *e = engine;
    const bg_batch size = {.tokens = rows,
                           .requests = batch->requests,
                           .max_query_len = batch->max_query_len,
                           .uniform_decode = batch->uniform_decode};
    const bg_tensor inputs[] = {bg_tensor_1d((void *)token, BG_I32, rows), bg_tensor_1d((void *)position, BG_I32, rows),
                                bg_tensor_1d((void *)slot, BG_I32, rows)};
    bg_tensor outputs[] = {bg_tensor_2d(logits, BG_F32, rows, llama_batch_config(e->batch)->vocabulary),
                           bg_tensor_1d(next, BG_I32, rows)};
    TRY(bg_runner_run(e->runner, &size, inputs, outputs, NULL));
    return llama_check_cuda(cudaStreamSynchronize(e->stream), "cudaStreamSynchronize");
}

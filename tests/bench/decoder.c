#include "decoder.h"

#include "examples/llama/ops.h"

#include "bench.h"
#include "runner/runner.h"

enum { CAPACITY = 256, POSITION = 64 };

void begin_model_section(const bench *b, const char *what, const char *more)
{
    char title[200];
    snprintf(title, sizeof title, "%s, %s, random weights (seed 1)%s", what,
             b->report.on_gpu ? "a model of SmolLM2-135M's shape" : "the small model", more);
    report_section(title);
}

bg_status open_model(llama_device_weights *device, const bench *b, bool bf16)
{
    enum { SEED = 1 };
    CLOSED_BY(llama_weights_free) llama_weights weights = {.layer = NULL};
    char error[GGUF_ERROR_SIZE];

    if (llama_weights_random(&weights, b->report.on_gpu ? &llama_smollm2 : &llama_small, SEED, error) != 0)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "%s", error);
    weights.bf16 = bf16;
    return llama_device_weights_create(device, &weights, b->stream);
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    decoder *d = user;
    return llama_batch_run(d->batch, context->padded_tokens, stream);
}

bg_status decoder_step(void *state)
{
    static const bg_batch batch = {.tokens = 1, .requests = 1, .max_query_len = 1, .uniform_decode = true};
    decoder *d = state;
    uint64_t before = llama_launch_count();
    bg_status status = bg_runner_run(d->runner, &batch, NULL, NULL, NULL);
    d->launches = llama_launch_count() - before;
    return status;
}

bg_status decoder_open(decoder *d, const llama_device_weights *weights, const decoder_options *options,
                       cudaStream_t stream)
{
    const int64_t rows[] = {0}, logits[] = {0, weights->config.vocabulary};
    const int place[] = {7, POSITION, 0}; /* token, position, slot */
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    llama_batch_io io;

    config.mode = options->mode;
    config.eager_ops = options->eager_ops;
    config.ranks = options->ranks;
    config.schedule = "1";
    config.max_tokens = 1;
    BENCH_TRY(llama_batch_create(&d->batch, weights, 1, CAPACITY, 1, NULL, stream));
    BENCH_TRY(bg_runner_create(&d->runner, &config, forward, d, stream));
    BENCH_TRY(bg_runner_add_input(d->runner, "token", BG_I32, 1, rows, BG_PAD_ZERO, 0, &io.token));
    BENCH_TRY(bg_runner_add_input(d->runner, "position", BG_I32, 1, rows, BG_PAD_ZERO, 0, &io.position));
    BENCH_TRY(bg_runner_add_input(d->runner, "slot", BG_I32, 1, rows, BG_PAD_SENTINEL, -1, &io.slot));
    BENCH_TRY(bg_runner_add_output(d->runner, "logits", BG_F32, 2, logits, &io.logits));
    BENCH_TRY(bg_runner_add_output(d->runner, "next", BG_I32, 1, rows, &io.next));
    BENCH_TRY(llama_batch_set_io(d->batch, &io));
    BENCH_TRY(bg_runner_capture(d->runner));
    BENCH_TRY_CUDA(cudaMemcpyAsync(io.token.data, &place[0], sizeof(int), cudaMemcpyHostToDevice, stream));
    BENCH_TRY_CUDA(cudaMemcpyAsync(io.position.data, &place[1], sizeof(int), cudaMemcpyHostToDevice, stream));
    BENCH_TRY_CUDA(cudaMemcpyAsync(io.slot.data, &place[2], sizeof(int), cudaMemcpyHostToDevice, stream));
    BENCH_TRY_CUDA(cudaStreamSynchronize(stream));
    d->logits = io.logits;
    return BG_OK;
}

void decoder_close(decoder *d)
{
    bg_runner_destroy(d->runner);
    llama_batch_destroy(d->batch);
}

const bg_graph *decoder_graph(const decoder *d)
{
    return d->runner->plan.order[0]->graph;
}

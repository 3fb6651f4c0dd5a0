/* llama: continues a text with a Llama-architecture model. See options.c, or --help. With -DLLAMA_FAULTS its first
 * arguments may be --plant-faults KIND:SEED (faults.h). */
#include "demo.h"
#include "generate.h"
#include "ops.h"
#include "options.h"
#include "ranks.h"
#include "examples/llama/server/serving.h"
#include "examples/llama/text/text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    llama_options options;
    llama_ranks ranks;
    gguf *file;
    tokenizer *tokenizer;
    llama_weights weights;
    cudaStream_t stream;
    llama_model *model;
    int *prompt;
    int prompt_count;
    char error[GGUF_ERROR_SIZE];
} program;

/* Copies the library's last error. */
static int failed(program *p)
{
    snprintf(p->error, sizeof p->error, "%s", bg_last_error());
    return -1;
}

static int require_device(program *p)
{
    int count = 0;
    cudaError_t result = cudaGetDeviceCount(&count);
    if (result == cudaSuccess && count > 0)
        return 0;
    snprintf(
        p->error, sizeof p->error,
        "no GPU: cudaGetDeviceCount says %s (%s). This program was built for CUDA and needs an NVIDIA GPU, its "
        "driver (libcuda.so.1), and a CUDA_VISIBLE_DEVICES that does not hide it. Without a GPU, build for the host "
        "device: make DEVICE=host",
        cudaGetErrorName(result), cudaGetErrorString(result));
    return -1;
}

/* Only the first rank prints what all ranks have in common. */
static bool is_first_rank(const program *p)
{
    return p->ranks.rank == 0;
}

/* Joins the job, in which each rank has its own device. */
static int join_ranks(program *p)
{
    if (llama_ranks_join(&p->ranks) != BG_OK ||
        llama_check_cuda(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"))
        return failed(p);
    if (is_first_rank(p) || freopen("/dev/null", "w", stdout))
        return 0;
    snprintf(p->error, sizeof p->error, "/dev/null cannot be opened: %s", strerror(errno));
    return -1;
}

static int load_weights(program *p)
{
    const llama_options *o = &p->options;
    if (!o->model) {
        if (is_first_rank(p))
            fprintf(stderr, "model: random, seed %llu\n", (unsigned long long)o->seed);
        return llama_weights_random(&p->weights, &llama_small, o->seed, p->error);
    }
    if (gguf_open(&p->file, o->model, p->error) || tokenizer_create(&p->tokenizer, p->file, p->error) ||
        llama_weights_read(&p->weights, p->file, p->error))
        return -1;
    if (tokenizer_size(p->tokenizer) > p->weights.config.vocabulary) {
        snprintf(p->error, sizeof p->error, "%s: the tokenizer has %d tokens, the model only %d", o->model,
                 tokenizer_size(p->tokenizer), p->weights.config.vocabulary);
        return -1;
    }
    if (is_first_rank(p))
        fprintf(stderr, "model: %s\n", o->model);
    return 0;
}

static int read_prompt(program *p)
{
    const char *text = p->options.prompt ? p->options.prompt
                       : p->tokenizer    ? "Once upon a time, there was a little girl named"
                                         : "1 2 3 4";
    int context = p->options.context, longest;
    if (context > p->weights.config.context)
        context = p->options.context = p->weights.config.context;
    if (llama_read_prompt(p->tokenizer, p->weights.config.vocabulary, text, &p->prompt, &p->prompt_count, p->error))
        return -1;
    longest = context - p->options.tokens + 1;
    if (p->prompt_count >= 1 && p->prompt_count <= longest)
        return 0;
    if (p->prompt_count < 1)
        snprintf(p->error, sizeof p->error, "the prompt is empty; give at least one token with --prompt");
    else
        snprintf(p->error, sizeof p->error,
                 "the prompt is too long: it has %d tokens, and %d more were asked for, but the context holds %d; "
                 "shorten the prompt, lower --tokens, or raise --context (the model allows %d)",
                 p->prompt_count, p->options.tokens, context, p->weights.config.context);
    return -1;
}

/* Returns NULL for tests that must notice it: each rank then uses only its own part of each sum. */
static const llama_ranks *get_reducing_ranks(const program *p)
{
    const char *text = getenv("LLAMA_ALL_REDUCE");
    return p->ranks.size == 1 || (text && strcmp(text, "0") == 0) ? NULL : &p->ranks;
}

static bg_status create_model_part(program *p)
{
    llama_part part;
    p->weights.bf16 = p->options.bf16;
    TRY(llama_split(&part, &p->weights.config, p->ranks.rank, p->ranks.size));
    TRY(llama_create_part(&p->model, &p->weights, &part, get_reducing_ranks(p), p->options.context, p->stream));
    llama_set_ranks(p->model, p->ranks.table);
    if (p->ranks.size > 1)
        fprintf(stderr, "rank %d of %d: %zu bytes of weights\n", p->ranks.rank, p->ranks.size,
                llama_get_weights(p->model)->memory.bytes);
    return BG_OK;
}

static int create_model(program *p)
{
    bg_status status = create_model_part(p);
    llama_weights_free(&p->weights);
    if (status != BG_OK)
        return failed(p);
    if (p->options.plant_frozen_scalar)
        llama_plant_frozen_scalar(p->model);
#ifdef LLAMA_FAULTS
    if (llama_faults_plant_option(llama_get_config(p->model)) != BG_OK)
        return failed(p);
#endif
    return 0;
}

static void print_figures(const llama_options *o, const llama_result *r)
{
    fprintf(stderr, "mode %s%s: %.1f tokens/s", llama_mode_name(o->mode), o->debug_cuda_graph ? ", debug" : "",
            llama_tokens_per_second(r));
    if (r->captured)
        fprintf(stderr, ", segments %d, breaks %d, steps %d", r->graph.segments, r->graph.breaks, r->graph.steps);
    fprintf(stderr, ", launches per token %.0f\n", r->launches_per_step);
}

static int continue_text(program *p)
{
    llama_printer printer = {.tokenizer = p->tokenizer, .out = stdout};
    llama_request request = {.mode = p->options.mode,
                             .debug = p->options.debug_cuda_graph ? BG_DEBUG_FORWARD : BG_DEBUG_FROM_ENV,
                             .prompt = p->prompt,
                             .prompt_count = p->prompt_count,
                             .tokens = p->options.tokens,
                             .stop = p->tokenizer ? tokenizer_end_token(p->tokenizer) : -1,
                             .each = llama_print_token,
                             .user = &printer};
    llama_result result;
    int outcome = 0;
    if (llama_generate(p->model, &request, &result) != BG_OK)
        outcome = failed(p);
    llama_print_end(&printer);
    if (outcome == 0 && is_first_rank(p))
        print_figures(&p->options, &result);
    llama_result_free(&result);
    return outcome;
}

static int serve(program *p)
{
    const llama_options *o = &p->options;
    const llama_serving_benchmark_options serving = {.all_modes = !o->mode_given,
                                                     .mode = o->mode,
                                                     .requests = o->serve,
                                                     .rate = o->rate,
                                                     .seed = o->seed,
                                                     .tokens = o->tokens,
                                                     .capacity = o->context};
    if (p->ranks.size == 1)
        return llama_serving_benchmark(llama_get_weights(p->model), &serving, p->stream, stdout) == BG_OK ? 0
                                                                                                          : failed(p);
    snprintf(p->error, sizeof p->error, "--serve runs on one rank, not on %d", p->ranks.size);
    return -1;
}

static int run_program(program *p)
{
    if (require_device(p) || join_ranks(p) || load_weights(p) || read_prompt(p) || create_model(p))
        return -1;
    if (p->options.serve)
        return serve(p);
    if (!p->options.demo)
        return continue_text(p);
    if (llama_demo(p->model, p->tokenizer, p->prompt, p->prompt_count, p->options.tokens))
        return 0;
    snprintf(p->error, sizeof p->error, "the demo failed: see above");
    return -1;
}

static void clean_up(program *p)
{
#ifdef LLAMA_FAULTS
    llama_faults_clear();
#endif
    llama_destroy(p->model);
    if (p->stream)
        cudaStreamDestroy(p->stream);
    llama_weights_free(&p->weights);
    tokenizer_destroy(p->tokenizer);
    gguf_close(p->file);
    free(p->prompt);
    llama_ranks_leave(&p->ranks);
}

int main(int argc, char **argv)
{
    static program p;
    int result;
#ifdef LLAMA_FAULTS
    if (llama_faults_parse_option(&argc, &argv, p.error)) {
        fprintf(stderr, "llama: %s\n", p.error);
        return 2;
    }
#endif
    if (llama_options_read(&p.options, argc, argv, p.error)) {
        fprintf(stderr, "llama: %s\n", p.error);
        return 2;
    }
    if (p.options.help) {
        fputs(llama_help, stdout);
        return 0;
    }
    result = run_program(&p);
    if (result) {
        fprintf(stderr, "llama: %s\n", p.error);
        llama_ranks_abort(&p.ranks, p.error);
    }
    clean_up(&p);
    return result ? 1 : 0;
}

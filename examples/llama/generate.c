#include "generate.h"
#include "ops.h"
#include <breakgraph/workspace.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct generation {
    llama_model *model;
    const llama_request *request;
    llama_result *result;
    bg_graph *graph; /* NULL: plain calls */
} generation;

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bg_status fail_invalid(const char *what, const char *advice)
{
    return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "llama_generate", what, advice);
}

static bg_status check_request(const llama_model *m, const llama_request *r)
{
    if (r->prompt_count < 1)
        return fail_invalid("the prompt has no token", "give at least one");
    if (r->tokens < 1)
        return fail_invalid("tokens is less than 1", "ask for at least one");
    if (r->prompt_count > llama_get_context(m) || r->tokens > llama_get_context(m) - r->prompt_count + 1)
        return fail_invalid("the prompt and the tokens asked for are longer than the context",
                            "shorten the prompt, ask for fewer tokens, or make the context larger");
    return BG_OK;
}

static bg_status allocate_result(const llama_model *m, const llama_request *r, llama_result *result)
{
    size_t steps = (size_t)r->prompt_count + (size_t)r->tokens - 1,
           vocabulary = (size_t)llama_get_config(m)->vocabulary;
    result->tokens = malloc((size_t)r->tokens * sizeof *result->tokens);
    if (r->keep_logits)
        result->logits = malloc(steps * vocabulary * sizeof *result->logits);
    if (!result->tokens || (r->keep_logits && !result->logits))
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_generate", "out of host memory",
                                 "ask for fewer tokens");
    return BG_OK;
}

/* Runs a pass before anything is captured: libraries load their kernels at first use, which fails in some captures. */
static bg_status warm_up(llama_model *m, int token)
{
    int sampled;
    TRY(llama_reset(m));
    TRY(llama_set_token(m, token));
    TRY(llama_forward(m, llama_get_stream(m)));
    TRY(llama_read_token(m, &sampled));
    return llama_reset(m);
}

static bool uses_graph(const llama_request *r)
{
    return r->mode != LLAMA_EAGER || r->debug == BG_DEBUG_FORWARD;
}

/* Captures and computes the first pass at once, so its results count. */
static bg_status capture_first_step(generation *g)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_status status;
    options.name = "llama";
    options.debug = g->request->debug;
    options.ranks = llama_get_ranks(g->model);
    TRY(bg_override_eager(g->request->mode == LLAMA_FULL ? "!*" : NULL));
    status = bg_capture_forward(&g->graph, llama_forward, g->model, llama_get_stream(g->model), &options);
    TRY(bg_override_eager(NULL));
    return status;
}

static bg_status run_step(generation *g, int index)
{
    cudaStream_t stream = llama_get_stream(g->model);
    if (!uses_graph(g->request))
        return llama_forward(g->model, stream);
    return index == 0 ? capture_first_step(g) : bg_replay(g->graph, stream);
}

static bg_status keep_logits(generation *g, int index)
{
    size_t vocabulary = (size_t)llama_get_config(g->model)->vocabulary;
    if (!g->request->keep_logits)
        return BG_OK;
    return llama_read_logits(g->model, g->result->logits + (size_t)index * vocabulary);
}

/* Times the work until its token is known. Sets *done at the end of the text. */
static bg_status run_timed_step(generation *g, int index, bool *done)
{
    const llama_request *r = g->request;
    llama_result *result = g->result;
    int token = -1;
    uint64_t before = llama_launch_count();
    double start = seconds_now();
    if (index < r->prompt_count)
        TRY(llama_set_token(g->model, r->prompt[index]));
    TRY(run_step(g, index));
    TRY(llama_read_token(g->model, &token));
    if (index > 0)
        result->seconds += seconds_now() - start;
    result->launches_per_step = (double)(llama_launch_count() - before);
    result->steps = index + 1;
    TRY(keep_logits(g, index));
    if (index < r->prompt_count - 1)
        return BG_OK;
    result->tokens[result->count++] = token;
    if (r->each)
        r->each(r->user, token);
    *done = token == r->stop || result->count == r->tokens;
    return BG_OK;
}

static bg_status steps(generation *g)
{
    bool done = false;
    TRY(warm_up(g->model, g->request->prompt[0]));
    for (int i = 0; !done; i++)
        TRY(run_timed_step(g, i, &done));
    if (!g->graph)
        return BG_OK;
    g->result->captured = true;
    TRY(bg_graph_get_info(g->graph, &g->result->graph));
    g->result->graph.name = NULL; /* the graph owns it */
    g->result->launches_per_step += g->result->graph.segments;
    return BG_OK;
}

bg_status llama_generate(llama_model *model, const llama_request *request, llama_result *result)
{
    generation g = {.model = model, .request = request, .result = result};
    bg_status status;
    memset(result, 0, sizeof *result);
    result->graph = (bg_graph_info)BG_GRAPH_INFO_INIT;
    TRY(check_request(model, request));
    TRY(allocate_result(model, request, result));
    status = steps(&g);
    bg_graph_destroy(g.graph);
    return status;
}

void llama_result_free(llama_result *result)
{
    free(result->tokens);
    free(result->logits);
    memset(result, 0, sizeof *result);
}

double llama_tokens_per_second(const llama_result *result)
{
    return result->seconds > 0 ? (result->steps - 1) / result->seconds : 0;
}

const char *llama_mode_name(llama_mode mode)
{
    static const char *const names[] = {"eager", "full", "breakable"};
    return names[mode];
}

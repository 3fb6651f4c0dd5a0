#include "demo.h"
#include "generate.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WAYS = 4, MIN_DISTINCT = 8, MIN_CHECKED_TOKENS = 32 };

typedef struct way {
    const char *name;
    llama_mode mode;
    bg_debug debug;
    llama_result result;
    int different_tokens;
    double difference; /* max |difference| / max |reference| of the logits of all steps */
} way;

static int count_distinct(const int *tokens, int count)
{
    int distinct = 0;
    for (int i = 0; i < count; i++) {
        int j = 0;
        while (tokens[j] != tokens[i])
            j++;
        distinct += j == i;
    }
    return distinct;
}

static bool run_way(llama_model *model, way *w, const int *prompt, int prompt_count, int tokens)
{
    llama_request request = {.mode = w->mode,
                             .debug = w->debug,
                             .prompt = prompt,
                             .prompt_count = prompt_count,
                             .tokens = tokens,
                             .stop = -1,
                             .keep_logits = true};
    if (llama_generate(model, &request, &w->result) == BG_OK)
        return true;
    fprintf(stderr, "%s: %s\n", w->name, bg_last_error());
    return false;
}

static void compare_results(way *w, const llama_result *reference, size_t vocabulary)
{
    double difference = 0, largest = 0;
    for (size_t i = 0; i < (size_t)reference->steps * vocabulary; i++) {
        double distance = fabs((double)w->result.logits[i] - reference->logits[i]);
        difference = isnan(distance) ? INFINITY : fmax(difference, distance);
        largest = fmax(largest, fabs((double)reference->logits[i]));
    }
    w->difference = difference == 0 ? 0 : difference / largest;
    w->different_tokens = 0;
    for (int i = 0; i < reference->count; i++)
        w->different_tokens += w->result.tokens[i] != reference->tokens[i];
}

static bool expect_count(const way *w, const char *what, int is, int must)
{
    if (is == must)
        return true;
    printf("WRONG: %s has %d %s; expected %d\n", w->name, is, what, must);
    return false;
}

/* Attention breaks each layer and sampling ends the step, so each break has one segment before it, and no segment
 * follows the last break. */
static bool check_graph_info(const way *w, int layers)
{
    const bg_graph_info *graph = &w->result.graph;
    bool debug = w->debug == BG_DEBUG_FORWARD, broken = w->mode == LLAMA_BREAKABLE;
    int segments = debug ? 0 : broken ? layers + 1 : 1, breaks = debug ? 1 : broken ? layers + 1 : 0;
    bool right = true;
    if (!w->result.captured)
        return true;
    right &= expect_count(w, "segments", graph->segments, segments);
    right &= expect_count(w, "breaks", graph->breaks, breaks);
    right &= expect_count(w, "steps", graph->steps, segments + breaks);
    return right;
}

static bool check_results(const way *w)
{
    if (w->different_tokens)
        printf("WRONG: %d tokens of %s differ from those of eager\n", w->different_tokens, w->name);
    if (isinf(w->difference))
        printf("WRONG: %s has logits that are NaN or infinite\n", w->name);
    else if (w->difference > 0)
        printf("WRONG: the logits of %s differ from eager: max |difference| / max |logit| = %.3g; expected 0\n",
               w->name, w->difference);
    return w->different_tokens == 0 && !(w->difference > 0);
}

/* A text that repeats itself would hide a mistake, such as a position that does not advance. */
static bool check_distinct(const llama_result *r)
{
    int distinct = count_distinct(r->tokens, r->count);
    if (r->count < MIN_CHECKED_TOKENS || distinct >= MIN_DISTINCT)
        return true;
    printf("WRONG: %d tokens, %d of them distinct; at least %d must be distinct, since a text that repeats itself "
           "hides mistakes; try another prompt or seed\n",
           r->count, distinct, MIN_DISTINCT);
    return false;
}

static void print_row(const way *w)
{
    const llama_result *r = &w->result;
    char graph[64] = "       -       -       -";
    if (r->captured)
        snprintf(graph, sizeof graph, "%8d%8d%8d", r->graph.segments, r->graph.breaks, r->graph.steps);
    printf("%-10s%s%15.0f%11.1f%10s%14.2g\n", w->name, graph, r->launches_per_step, llama_tokens_per_second(r),
           w->different_tokens ? "differ" : "same", w->difference);
}

static void print_table(const way ways[WAYS])
{
    printf("\n%-10s%8s%8s%8s%15s%11s%10s%14s\n", "way", "segments", "breaks", "steps", "launches/token", "tokens/s",
           "tokens", "logits differ");
    for (int i = 0; i < WAYS; i++)
        print_row(&ways[i]);
    printf("\nlaunches/token: kernels, cuBLAS calls and graphs that the host launches for one token. logits differ: "
           "from eager,\n"
           "max |difference| / max |logit| over all tokens.\n");
}

static void print_text(const tokenizer *t, const int *prompt, int prompt_count, const llama_result *r)
{
    llama_printer printer = {.tokenizer = t, .out = stdout};
    for (int i = 0; i < prompt_count; i++)
        llama_print_token(&printer, prompt[i]);
    fputs(t ? "" : " |", stdout);
    for (int i = 0; i < r->count; i++)
        llama_print_token(&printer, r->tokens[i]);
    llama_print_end(&printer);
}

static bool check_all_ways(way ways[WAYS], int layers)
{
    bool right = true;
    for (int i = 0; i < WAYS; i++) {
        right &= check_graph_info(&ways[i], layers);
        right &= check_results(&ways[i]);
    }
    right &= check_distinct(&ways[0].result);
    if (right)
        printf("All four ways give the same %d tokens and, bit for bit, the same logits.\n", ways[0].result.count);
    return right;
}

bool llama_demo(llama_model *model, const tokenizer *t, const int *prompt, int prompt_count, int tokens)
{
    way ways[WAYS] = {{.name = "eager", .mode = LLAMA_EAGER, .debug = BG_DEBUG_OFF},
                      {.name = "full", .mode = LLAMA_FULL, .debug = BG_DEBUG_OFF},
                      {.name = "breakable", .mode = LLAMA_BREAKABLE, .debug = BG_DEBUG_OFF},
                      {.name = "debug", .mode = LLAMA_BREAKABLE, .debug = BG_DEBUG_FORWARD}};
    const llama_config *config = llama_get_config(model);
    bool right = false;
    for (int i = 0; i < WAYS; i++) {
        if (!run_way(model, &ways[i], prompt, prompt_count, tokens))
            goto done;
        compare_results(&ways[i], &ways[0].result, (size_t)config->vocabulary);
    }
    print_text(t, prompt, prompt_count, &ways[0].result);
    print_table(ways);
    right = check_all_ways(ways, config->layers);
done:
    for (int i = 0; i < WAYS; i++)
        llama_result_free(&ways[i].result);
    return right;
}

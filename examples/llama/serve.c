#include "serve.h"
#include "ops.h"
#include <breakgraph/workspace.h>
#include <stdlib.h>
#include <string.h>

typedef struct serving {
    const llama_serve_request *requests;
    llama_serve_result *result;
    int count, vocabulary;
    int served[LLAMA_SERVE_MAX_TEXTS]; /* tokens of the text that were in a batch */
    int last[LLAMA_SERVE_MAX_TEXTS];   /* the row of the text's last token in the batch; -1: it has none */
    /* the batch */
    llama_serve_batch batch;
    int *token, *position, *slot, *next;
    float *logits;
} serving;

static bg_status fail_invalid(const char *what, const char *advice)
{
    return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "llama_serve", what, advice);
}

static bg_status check_request(const llama_serve_request *r, const llama_serve_limits *limits)
{
    if (r->prompt_count < 1)
        return fail_invalid("a prompt has no token", "give at least one");
    if (r->tokens < 1)
        return fail_invalid("tokens is less than 1", "ask for at least one");
    if (r->prompt_count > limits->capacity || r->tokens > limits->capacity - r->prompt_count + 1)
        return fail_invalid("a prompt and the tokens asked for are longer than the capacity",
                            "shorten the prompt, ask for fewer tokens, or make the capacity larger");
    for (int i = 0; i < r->prompt_count; i++)
        if (r->prompt[i] < 0 || r->prompt[i] >= limits->vocabulary)
            return fail_invalid("a prompt's token is outside the vocabulary",
                                "give tokens from 0 to the vocabulary's size - 1");
    return BG_OK;
}

static bg_status check_requests(const serving *s, const llama_serve_limits *limits)
{
    int left = limits->max_tokens;
    if (s->count < 1 || s->count > LLAMA_SERVE_MAX_TEXTS)
        return fail_invalid("the number of requests is out of range", "give 1 to 8");
    for (int i = 0; i < s->count; i++) {
        TRY(check_request(&s->requests[i], limits));
        if (s->requests[i].prompt_count > left)
            return fail_invalid("the prompts together have more tokens than a batch takes",
                                "shorten them, serve fewer at once, or make max_tokens larger");
        left -= s->requests[i].prompt_count;
    }
    return BG_OK;
}

/* Returns the rows of the first batch, which is the largest. */
static size_t first_batch_rows(const serving *s)
{
    size_t rows = (size_t)s->requests[0].prompt_count;
    for (int i = 1; i < s->count; i++)
        rows += (size_t)s->requests[i].prompt_count;
    return rows;
}

static bg_status allocate_arrays(serving *s)
{
    size_t rows = first_batch_rows(s), vocabulary = (size_t)s->vocabulary;
    bool all = true;
    s->token = malloc(rows * sizeof *s->token);
    s->position = malloc(rows * sizeof *s->position);
    s->slot = malloc(rows * sizeof *s->slot);
    s->next = malloc(rows * sizeof *s->next);
    s->logits = malloc(rows * vocabulary * sizeof *s->logits);
    for (int i = 0; i < s->count; i++) {
        llama_serve_text *text = &s->result->text[i];
        size_t tokens = (size_t)s->requests[i].tokens;
        text->tokens = malloc(tokens * sizeof *text->tokens);
        text->logits = malloc(tokens * vocabulary * sizeof *text->logits);
        all = all && text->tokens && text->logits;
    }
    if (s->token && s->position && s->slot && s->next && s->logits && all)
        return BG_OK;
    return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_serve", "out of host memory", "ask for fewer tokens");
}

static bool is_unfinished(const serving *s, int text)
{
    const llama_serve_text *t = &s->result->text[text];
    const llama_serve_request *r = &s->requests[text];
    return t->count < r->tokens && !(t->count > 0 && t->tokens[t->count - 1] == r->stop);
}

/* Adds the text's tokens that no batch has had: first the prompt, later the last generated token. */
static void add_text_rows(serving *s, int text)
{
    const llama_serve_request *r = &s->requests[text];
    const llama_serve_text *t = &s->result->text[text];
    int length = r->prompt_count + t->count, rows = length - s->served[text];
    for (int i = s->served[text]; i < length; i++) {
        int row = s->batch.tokens++;
        s->token[row] = i < r->prompt_count ? r->prompt[i] : t->tokens[i - r->prompt_count];
        s->position[row] = i;
        s->slot[row] = text;
        s->last[text] = row;
    }
    s->served[text] = length;
    s->batch.requests++;
    if (rows > s->batch.max_query_len)
        s->batch.max_query_len = rows;
    s->batch.uniform_decode = s->batch.max_query_len == 1;
}

static void build_batch(serving *s)
{
    memset(&s->batch, 0, sizeof s->batch);
    for (int i = 0; i < s->count; i++) {
        s->last[i] = -1;
        if (is_unfinished(s, i))
            add_text_rows(s, i);
    }
}

static void collect_tokens(serving *s)
{
    size_t vocabulary = (size_t)s->vocabulary;
    for (int i = 0; i < s->count; i++) {
        llama_serve_text *t = &s->result->text[i];
        if (s->last[i] < 0)
            continue;
        t->tokens[t->count] = s->next[s->last[i]];
        memcpy(t->logits + (size_t)t->count * vocabulary, s->logits + (size_t)s->last[i] * vocabulary,
               vocabulary * sizeof *t->logits);
        t->count++;
    }
}

static bg_status serve(serving *s, const llama_serve_limits *limits, llama_serve_run run, void *user)
{
    TRY(check_requests(s, limits));
    TRY(allocate_arrays(s));
    for (build_batch(s); s->batch.tokens > 0; build_batch(s)) {
        TRY(run(user, &s->batch, s->token, s->position, s->slot, s->batch.tokens, s->logits, s->next));
        s->result->batches++;
        collect_tokens(s);
    }
    return BG_OK;
}

bg_status llama_serve(const llama_serve_request *requests, int count, const llama_serve_limits *limits,
                      llama_serve_run run, void *user, llama_serve_result *result)
{
    serving s = {.requests = requests, .result = result, .count = count, .vocabulary = limits->vocabulary};
    bg_status status;
    memset(result, 0, sizeof *result);
    status = serve(&s, limits, run, user);
    free(s.token);
    free(s.position);
    free(s.slot);
    free(s.next);
    free(s.logits);
    return status;
}

void llama_serve_result_free(llama_serve_result *result)
{
    for (int i = 0; i < LLAMA_SERVE_MAX_TEXTS; i++) {
        free(result->text[i].tokens);
        free(result->text[i].logits);
    }
    memset(result, 0, sizeof *result);
}

#include "server.h"
#include "examples/llama/ops.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NO_REQUEST = -1 };

typedef struct text {
    int request; /* FREE: none */
    int served;  /* tokens that were in a batch */
    int token;   /* the last one generated */
    int rows;    /* in this batch; the last one is row `end` - 1 */
    int end;
} text;

typedef struct server {
    const llama_traffic *traffic;
    const llama_server_limits *limits;
    llama_server_result *result;
    text *texts;
    int arrived, done; /* requests that got a slot; that were served */
    double start_time;
    /* the batch */
    llama_serve_batch batch;
    int *token, *position, *slot, *next;
} server;

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void wait_until(double time)
{
    const double left = time - seconds_now();
    struct timespec gap = {.tv_sec = (time_t)left};
    gap.tv_nsec = (long)((left - (double)gap.tv_sec) * 1e9);
    if (left > 0)
        (void)nanosleep(&gap, NULL); /* a signal ends it early; the caller then waits again */
}

static bg_status allocate_arrays(server *s)
{
    const size_t rows = (size_t)s->limits->rows, requests = (size_t)s->traffic->count;
    llama_server_result *r = s->result;
    size_t tokens = 0;
    bool all;
    s->texts = calloc((size_t)s->limits->slots, sizeof *s->texts);
    s->token = calloc(rows, sizeof *s->token);
    s->position = calloc(rows, sizeof *s->position);
    s->slot = calloc(rows, sizeof *s->slot);
    s->next = calloc(rows, sizeof *s->next);
    r->list = calloc(requests, sizeof *r->list);
    all = s->texts && s->token && s->position && s->slot && s->next && r->list;
    for (size_t i = 0; i < requests && all; i++) {
        r->count++;
        r->list[i].tokens = calloc((size_t)s->traffic->list[i].tokens, sizeof *r->list[i].tokens);
        all = r->list[i].tokens;
        tokens += (size_t)s->traffic->list[i].tokens;
    }
    r->gaps = calloc(tokens + 1, sizeof *r->gaps);
    if (!all || !r->gaps)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_server_run", "out of host memory",
                                 "ask for fewer requests");
    return BG_OK;
}

/* Gives free slots to arrived requests, in the order of their arrival. */
static void admit_requests(server *s)
{
    const double now = seconds_now() - s->start_time;
    for (int i = 0; i < s->limits->slots; i++)
        if (s->texts[i].request == NO_REQUEST && s->arrived < s->traffic->count &&
            s->traffic->list[s->arrived].at <= now)
            s->texts[i] = (text){.request = s->arrived++};
}

/* Adds the text's next `count` tokens. */
static void add_rows(server *s, int slot, int count)
{
    text *t = &s->texts[slot];
    const llama_arrival *arrival = &s->traffic->list[t->request];
    for (int i = t->served; i < t->served + count; i++) {
        const int row = s->batch.tokens++;
        s->token[row] = i < arrival->prompt_count ? arrival->prompt[i] : t->token;
        s->position[row] = i;
        s->slot[row] = slot;
    }
    t->rows = count;
    t->end = s->batch.tokens;
    s->batch.requests++;
    s->batch.max_query_len = count > s->batch.max_query_len ? count : s->batch.max_query_len;
}

/* Each text that is being continued gets one row; prompts share the remaining rows. */
static void build_batch(server *s)
{
    s->batch = (llama_serve_batch){.uniform_decode = true};
    for (int i = 0; i < s->limits->slots; i++) {
        s->texts[i].rows = 0;
        if (s->texts[i].request != NO_REQUEST && s->result->list[s->texts[i].request].count > 0)
            add_rows(s, i, 1);
    }
    for (int i = 0; i < s->limits->slots; i++) {
        const text *t = &s->texts[i];
        int left, room = s->limits->rows - s->batch.tokens;
        if (t->request == NO_REQUEST || t->rows > 0 || room == 0)
            continue;
        left = s->traffic->list[t->request].prompt_count - t->served;
        add_rows(s, i, left < room ? left : room);
        s->batch.uniform_decode = false;
    }
}

static void add_token(server *s, text *t, int token, double now)
{
    llama_served *served = &s->result->list[t->request];
    if (served->count == 0)
        served->first = now;
    else
        s->result->gaps[s->result->gap_count++] = now - served->last;
    served->last = now;
    served->tokens[served->count++] = t->token = token;
    s->result->tokens++;
    if (served->count < s->traffic->list[t->request].tokens)
        return;
    t->request = NO_REQUEST;
    s->done++;
}

static void collect_tokens(server *s)
{
    const double now = seconds_now() - s->start_time;
    for (int i = 0; i < s->limits->slots; i++) {
        text *t = &s->texts[i];
        if (t->rows == 0)
            continue;
        t->served += t->rows;
        if (t->served >= s->traffic->list[t->request].prompt_count)
            add_token(s, t, s->next[t->end - 1], now);
    }
    s->result->batches++;
    s->result->rows += s->batch.tokens;
}

static bg_status serve(server *s, llama_serve_run run, void *user)
{
    TRY(allocate_arrays(s));
    for (int i = 0; i < s->limits->slots; i++)
        s->texts[i].request = NO_REQUEST;
    s->start_time = seconds_now();
    while (s->done < s->traffic->count) {
        admit_requests(s);
        build_batch(s);
        if (s->batch.tokens == 0) {
            wait_until(s->start_time + s->traffic->list[s->arrived].at);
            continue;
        }
        TRY(run(user, &s->batch, s->token, s->position, s->slot, s->batch.tokens, NULL, s->next));
        collect_tokens(s);
        if (s->limits->progress)
            s->limits->progress(s->done, s->traffic->count);
    }
    s->result->seconds = seconds_now() - s->start_time;
    return BG_OK;
}

bg_status llama_server_run(const llama_traffic *traffic, const llama_server_limits *limits, llama_serve_run run,
                           void *user, llama_server_result *result)
{
    server s = {.traffic = traffic, .limits = limits, .result = result};
    bg_status status;
    memset(result, 0, sizeof *result);
    if (limits->slots < 1 || limits->rows < limits->slots)
        return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "llama_server_run",
                                 "slots is less than 1, or rows is less than slots",
                                 "give at least one slot, and at least one row per slot");
    status = serve(&s, run, user);
    free(s.texts);
    free(s.token);
    free(s.position);
    free(s.slot);
    free(s.next);
    return status;
}

void llama_server_result_free(llama_server_result *result)
{
    for (int i = 0; i < result->count; i++)
        free(result->list[i].tokens);
    free(result->list);
    free(result->gaps);
    memset(result, 0, sizeof *result);
}

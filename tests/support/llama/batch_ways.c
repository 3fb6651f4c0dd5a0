#include "batch_ways.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *batch_way_name(batch_way way)
{
    static const char *const names[] = {"eager", "breakable", "full", "every op eager", "not launched at capture"};
    return names[way];
}

/* ---- texts -------------------------------------------------------------------------------------- */

void make_work(batch_work *w, int count, int vocabulary, int variant, bool small)
{
    static const int lengths[LLAMA_SERVE_MAX_TEXTS] = {5, 1, 3, BATCH_LONGEST_PROMPT, 2, 7, 1, 7};
    w->count = count;
    w->limits = (llama_serve_limits){vocabulary, BATCH_CAPACITY, BATCH_MAX_ROWS};
    for (int i = 0; i < count; i++) {
        int kind = (i + variant) % count, tokens = small ? 2 + kind % 3 : 12 + 7 * (kind % 3);
        for (int j = 0; j < BATCH_LONGEST_PROMPT; j++)
            w->prompt[i][j] = (37 * i + 11 * j * j + 59 * variant + 5) % vocabulary;
        w->request[i] = (llama_serve_request){w->prompt[i], lengths[kind], tokens, -1};
    }
}

llama_serve_result serve_work(const batch_work *w, llama_serve_run run, void *user)
{
    llama_serve_result result;
    EXPECT_OK(llama_serve(w->request, w->count, &w->limits, run, user, &result));
    for (int i = 0; i < w->count; i++)
        assert_int_equal(result.text[i].count, w->request[i].tokens);
    return result;
}

/* ---- a batch ------------------------------------------------------------------------------------ */

void batch_runner_open(batch_runner *r, llama_model *model, int slots, batch_way way, bool garbage)
{
    *r = (batch_runner){.way = way, .garbage = garbage, .stream = llama_get_stream(model)};
    EXPECT_OK(llama_batch_create(&r->batch, llama_get_weights(model), slots, BATCH_CAPACITY, BATCH_MAX_ROWS, NULL,
                                 r->stream));
    EXPECT_OK(llama_buffers_create(&r->buffers, r->batch, r->stream));
}

void batch_runner_close(batch_runner *r)
{
    for (int i = 0; i <= BATCH_MAX_ROWS; i++)
        bg_graph_destroy(r->graph[i]);
    llama_buffers_free(&r->buffers);
    llama_batch_destroy(r->batch);
}

/* A batch as it goes to the device. */
typedef struct padded {
    int rows, token[BATCH_MAX_ROWS], position[BATCH_MAX_ROWS], slot[BATCH_MAX_ROWS];
} padded;

static void pad(padded *p, const batch_runner *r, const int *token, const int *position, const int *slot, int rows)
{
    static const int bad_tokens[] = {2147483647, -1, 100000}, bad_positions[] = {-1, 2147483647, -2147483647 - 1};
    for (p->rows = 1; p->rows < rows; p->rows *= 2)
        ;
    assert_true(p->rows <= BATCH_MAX_ROWS);
    for (int i = 0; i < p->rows; i++) {
        p->token[i] = i < rows ? token[i] : r->garbage ? bad_tokens[i % 3] : 0;
        p->position[i] = i < rows ? position[i] : r->garbage ? bad_positions[i % 3] : 0;
        p->slot[i] = i < rows ? slot[i] : r->garbage ? -1 - 1000 * i : -1;
    }
}

typedef struct sized {
    llama_batch *batch;
    int rows;
} sized;

static bg_status forward(void *user, cudaStream_t stream)
{
    const sized *pass = user;
    return llama_batch_run(pass->batch, pass->rows, stream);
}

static void expect_counts(const batch_runner *r, const bg_graph *graph)
{
    const int layers = llama_batch_config(r->batch)->layers;
    /* a layer: 2 norms, 7 products, 2 turns, store, attention, gate, 2 sums; beside: embedding, norm, product, sample
     */
    const int calls = layers * 16 + 4;
    const int segments = r->way == WAY_FULL ? 1 : r->way == WAY_OPS ? 0 : layers + 1;
    const int breaks = r->way == WAY_FULL ? 0 : r->way == WAY_OPS ? calls : layers + 1;
    bg_graph_info info = info_of(graph);
    assert_int_equal(info.calls, calls);
    assert_int_equal(info.segments, segments);
    assert_int_equal(info.breaks, breaks);
}

/* Libraries load their kernels at first use, which a capture may refuse: a pass of nothing but padding comes first. */
static void warm_up(batch_runner *r, sized *pass)
{
    const int zero[BATCH_MAX_ROWS] = {0};
    int none[BATCH_MAX_ROWS];
    memset(none, -1, sizeof none);
    EXPECT_OK(llama_buffers_copy_in(&r->buffers, zero, zero, none, pass->rows));
    EXPECT_OK(forward(pass, r->stream));
}

static void capture(batch_runner *r, sized *pass)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    int caches;
    options.debug = r->way == WAY_OPS ? BG_DEBUG_OPS : BG_DEBUG_OFF;
    options.launch_segments = r->way != WAY_UNLAUNCHED;
    options.state = llama_batch_caches(r->batch, &caches);
    options.state_count = (size_t)caches;
    EXPECT_OK(bg_override_eager(r->way == WAY_FULL ? "!*" : NULL));
    EXPECT_OK(bg_capture_forward(&r->graph[pass->rows], forward, pass, r->stream, &options));
    EXPECT_OK(bg_override_eager(NULL));
    r->captures++;
    expect_counts(r, r->graph[pass->rows]);
}

/* Where a capture launches its segments, it is itself the pass. */
static void run_padded(batch_runner *r, const padded *p)
{
    sized pass = {r->batch, p->rows};
    bool fresh = r->way != WAY_EAGER && !r->graph[p->rows];
    if (fresh)
        warm_up(r, &pass);
    EXPECT_OK(llama_buffers_copy_in(&r->buffers, p->token, p->position, p->slot, p->rows));
    if (r->way == WAY_EAGER) {
        EXPECT_OK(forward(&pass, r->stream));
        return;
    }
    if (fresh)
        capture(r, &pass);
    if (fresh && r->way != WAY_UNLAUNCHED)
        return;
    EXPECT_OK(bg_replay(r->graph[p->rows], r->stream));
    r->replays++;
}

bg_status batch_runner_run(void *runner, const llama_serve_batch *batch, const int *token, const int *position,
                           const int *slot, int rows, float *logits, int *next)
{
    batch_runner *r = runner;
    size_t vocabulary = (size_t)llama_batch_config(r->batch)->vocabulary;
    FREED_BY(free_block) float *all = malloc(BATCH_MAX_ROWS * vocabulary * sizeof *all);
    int all_next[BATCH_MAX_ROWS];
    padded p;
    assert_non_null(all);
    assert_int_equal(batch->tokens, rows);
    pad(&p, r, token, position, slot, rows);
    run_padded(r, &p);
    EXPECT_OK(llama_buffers_copy_out(&r->buffers, p.rows, all, all_next));
    /* garbage is what it is meant to be, and not by chance harmless */
    for (int i = rows; r->garbage && i < p.rows; i++)
        assert_true(isnan(all[(size_t)i * vocabulary]));
    r->padding += p.rows - rows;
    memcpy(logits, all, (size_t)rows * vocabulary * sizeof *logits);
    memcpy(next, all_next, (size_t)rows * sizeof *next);
    return BG_OK;
}

static float *read_tensor(const bg_tensor *tensor, cudaStream_t stream)
{
    float *values = malloc(bg_tensor_bytes(tensor));
    assert_non_null(values);
    EXPECT_CUDA(cudaMemcpyAsync(values, tensor->data, bg_tensor_bytes(tensor), cudaMemcpyDeviceToHost, stream));
    EXPECT_CUDA(cudaStreamSynchronize(stream));
    return values;
}

void expect_same_caches(const batch_runner *a, const batch_runner *b)
{
    int count, other;
    const bg_tensor *of_a = llama_batch_caches(a->batch, &count), *of_b = llama_batch_caches(b->batch, &other);
    assert_int_equal(count, other);
    for (int i = 0; i < count; i++) {
        FREED_BY(free_block) float *x = read_tensor(&of_a[i], a->stream), *y = read_tensor(&of_b[i], b->stream);
        assert_int_equal(bg_tensor_bytes(&of_a[i]), bg_tensor_bytes(&of_b[i]));
        assert_memory_equal(x, y, bg_tensor_bytes(&of_a[i]));
    }
}

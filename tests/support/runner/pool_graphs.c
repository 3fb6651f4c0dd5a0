#include "pool_graphs.h"

static bg_status queue_scale(const bg_tensor *y, const bg_tensor *x, float factor, cudaStream_t stream)
{
    return from_cuda(bgk_scale(y->data, x->data, factor, (size_t)x->dim[0], stream));
}

BG_DEFINE_OP(pool_scale)
{
    return queue_scale(&args->y, &args->x, args->factor, stream);
}

BG_OP(pool_add, BG_IN(a), BG_IN(b), BG_OUT(y))
{
    return from_cuda(bgk_add(args->y.data, args->a.data, args->b.data, (size_t)args->a.dim[0], stream));
}

size_t pool_more_scratch;

/* Leaves its result in scratch. */
BG_EAGER_OP(pool_doubled, BG_IN(x), BG_OUT(y))
{
    void *memory;
    bg_status status = bg_scratch(args, bg_tensor_bytes(&args->x) + pool_more_scratch, &memory);
    if (status != BG_OK)
        return status;
    args->y = bg_tensor_1d(memory, BG_F32, args->x.dim[0]);
    return queue_scale(&args->y, &args->x, 2, stream);
}

static bg_status get_block(pool_sized *s, int number, bg_tensor *block)
{
    void *memory = s->spare + number * s->count;
    if (s->pool != NULL)
        TRY_BG(bg_pool_alloc(s->pool, (size_t)s->count * sizeof(float), &memory));
    *block = bg_tensor_1d(memory, BG_F32, s->count);
    return BG_OK;
}

static void put_block(const pool_sized *s, const bg_tensor *block)
{
    if (s->pool != NULL)
        bg_pool_release(s->pool, block->data);
}

bg_status pool_pass(void *user, cudaStream_t stream)
{
    pool_sized *s = user;
    bg_tensor a, b, c;
    pool_scale_args bridged = {.y = bg_tensor_1d(NULL, BG_F32, s->count), .factor = 5};
    pool_doubled_args at_break = {0};

    TRY_BG(get_block(s, 0, &a));
    s->first = a.data;
    TRY_BG(BG_CALL(pool_scale, stream, .x = s->x, .y = a, .factor = s->factor)); /* a = f x */
    bridged.x = a;
    TRY_BG(BG_CALL_ARGS(pool_scale, stream, &bridged)); /* 5 f x */
    at_break.x = bridged.y;
    TRY_BG(BG_CALL_ARGS(pool_doubled, stream, &at_break)); /* 10 f x */
    TRY_BG(get_block(s, 1, &b));
    TRY_BG(BG_CALL(pool_add, stream, .a = at_break.y, .b = a, .y = b)); /* 11 f x */
    put_block(s, &a);
    if (s->at_break != NULL)
        TRY_BG(s->at_break(&b, stream));
    TRY_BG(get_block(s, 2, &c));
    TRY_BG(BG_CALL(pool_scale, stream, .x = b, .y = c, .factor = 1));
    TRY_BG(BG_CALL(pool_add, stream, .a = b, .b = c, .y = s->out));
    put_block(s, &b);
    put_block(s, &c);
    return BG_OK;
}

bg_tensor pool_keep(bg_pool *pool, int64_t count)
{
    void *memory;
    EXPECT_OK(bg_pool_alloc(pool, (size_t)count * sizeof(float), &memory));
    return bg_tensor_1d(memory, BG_F32, count);
}

bg_graph *pool_capture(pool_sized *s, const char *name, cudaStream_t stream)
{
    bg_graph *graph;
    EXPECT_OK(bg_capture_forward(&graph, pool_pass, s, stream, OPTIONS(.name = name, .pool = s->pool)));
    if (s->pool != NULL)
        EXPECT_OK(bg__pool_check(s->pool));
    return graph;
}

void pool_expect(const bg_tensor *tensor, float value)
{
    float *host = malloc(bg_tensor_bytes(tensor));
    assert_non_null(host);
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(host, tensor->data, bg_tensor_bytes(tensor), cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < tensor->dim[0]; i++)
        if (host[i] != value)
            fail_msg("element %d is %g, expected %g", (int)i, (double)host[i], (double)value);
    free(host);
}

void pool_fill(const bg_tensor *tensor, float value)
{
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(bgk_fill(tensor->data, value, (size_t)tensor->dim[0], cudaStreamPerThread));
    EXPECT_CUDA(cudaDeviceSynchronize());
}

pool_graphs pool_graphs_make(void)
{
    pool_graphs h = {.pool = pool_make(POOL_RESERVE, 0)};
    h.x = pool_keep(h.pool, LARGEST);
    pool_fill(&h.x, 1);
    return h;
}

pool_sized *pool_graphs_next(pool_graphs *h, int64_t count, float factor)
{
    pool_sized *s = &h->passes[h->count];
    *s = (pool_sized){.pool = h->pool, .count = count, .factor = factor};
    s->x = bg_tensor_1d(h->x.data, BG_F32, count);
    s->out = pool_keep(h->pool, count);
    pool_fill(&s->out, -1);
    return s;
}

bg_graph *pool_graphs_capture(pool_graphs *h, cudaStream_t stream)
{
    bg_graph *graph = pool_capture(&h->passes[h->count], "shared", stream);
    return h->graphs[h->count++] = graph;
}

bg_graph *pool_graphs_add(pool_graphs *h, int64_t count, float factor, cudaStream_t stream)
{
    pool_graphs_next(h, count, factor);
    return pool_graphs_capture(h, stream);
}

void pool_graphs_expect(const pool_graphs *h, int index)
{
    pool_expect(&h->passes[index].out, 22 * h->passes[index].factor);
}

void pool_graphs_replay(const pool_graphs *h, int index, cudaStream_t stream)
{
    pool_fill(&h->passes[index].out, -1);
    EXPECT_OK(bg_replay(h->graphs[index], stream));
    pool_graphs_expect(h, index);
}

void pool_graphs_end(const pool_graphs *h)
{
    for (int i = 0; i < h->count; i++)
        bg_graph_destroy(h->graphs[i]);
    bg_pool_destroy(h->pool);
}

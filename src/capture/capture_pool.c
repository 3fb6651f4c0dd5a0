/* options.pool: bridge buffers and scratch in memory that several graphs share; these graphs run one after another. */
#include "capture/capture.h"

static bg_status pin(void *pool, size_t bytes, void **ptr)
{
    return bg__pool_pin(pool, bytes, ptr);
}

static size_t mapped(const bg_pool *pool)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    return bg_pool_get_stats(pool, &stats) == BG_OK ? stats.mapped : 0;
}

/* An event recorded on a stream that captures would become part of that capture. */
static bg_status check_last_stream(const bg__use *use)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    bg_status status = BG_OK;
    if (use->stream != NULL && use->stream != cudaStreamLegacy)
        BG__TRY_CUDA(cudaStreamIsCapturing(use->stream, &capturing));
    if (capturing != cudaStreamCaptureStatusNone)
        status = bg__fail(BG_ERROR_BUSY,
                          "a graph of the pool was last replayed on a stream that is now capturing; end that capture "
                          "first");
done:
    return status;
}

bg_status bg__capture_take_use(bg__use *use)
{
    bg_status status;
    if (!bg__use_take(use))
        return bg__fail(BG_ERROR_BUSY, "the pool is in use by a replay or another pass; a pool serves one at a time");
    status = check_last_stream(use);
    if (status != BG_OK)
        bg__use_give(use);
    return status;
}

bg_status bg__capture_open_bucket(bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    bg_status status = BG_OK;

    if (graph->pool == NULL)
        return BG_OK;
    BG__TRY(bg__pool_capture_begin(graph->pool, graph->name));
    capture->holds_pool = true;
    capture->source = (bg__source){pin, graph->pool};
    graph->root.source = &capture->source;
done:
    return status;
}

/* The calls of a captured graph keep their blocks for replays; the calls of an eager pass drop them. */
void bg__capture_close_bucket(bg_capture *capture)
{
    bg__bucket_figures figures;
    bg_graph *graph = capture->graph;

    if (!capture->holds_pool)
        return;
    capture->holds_pool = false;
    graph->root.source = NULL;
    bg__pool_capture_end(graph->pool, &figures);
    graph->pool_bytes = figures.bytes;
    for (bg__call *call = &graph->root; call != NULL && capture->eager; call = bg__call_next(call))
        bg__memory_forget_borrowed(&call->own);
}

bg_status bg__capture_take_pool(bg_capture *capture)
{
    bg_pool *pool = capture->graph->pool;
    bg__use *use = capture->graph->use;
    bg_status status = BG_OK;

    if (pool == NULL)
        return BG_OK;
    BG__TRY(bg__pool_check_device(pool, "bg_capture_begin"));
    BG__TRY(bg__capture_take_use(use));
    status = bg__capture_open_bucket(capture);
    if (status != BG_OK) {
        bg__use_give(use);
        goto done;
    }
    capture->pool_mapped = mapped(pool);
    BG__TRY(bg__use_order(use, capture->origin));
    capture->follows_pool = true;
done:
    return status;
}

cudaError_t bg__capture_leave_pool(bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    cudaError_t error = cudaSuccess;

    if (!capture->holds_pool)
        return cudaSuccess;
    bg__capture_close_bucket(capture);
    /* The next use may come on another stream, when this one is long gone. */
    if (capture->follows_pool)
        error = bg__use_note(graph->use, capture->origin);
    bg__use_give(graph->use);
    return error;
}

size_t bg__capture_pool_growth(const bg_capture *capture)
{
    return capture->graph->pool ? mapped(capture->graph->pool) - capture->pool_mapped : 0;
}

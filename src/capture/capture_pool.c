/* options.pool: bridge buffers and scratch in memory that several graphs share; these graphs run one after another. */
#include "capture/capture.h"

static bg_status alloc_pinned(void *pool, size_t bytes, void **ptr)
{
    return bg__pool_alloc_pinned(pool, bytes, ptr);
}

static size_t mapped_bytes(const bg_pool *pool)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    return bg_pool_get_stats(pool, &stats) == BG_OK ? stats.mapped : 0;
}

/* An event recorded on a stream that captures would become part of that capture. */
static bg_status check_last_stream(const bg__last_use *use)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    bg_status status = BG_OK;
    if (use->stream != NULL && use->stream != cudaStreamLegacy)
        BG__TRY_CUDA(cudaStreamIsCapturing(use->stream, &capturing));
    if (capturing != cudaStreamCaptureStatusNone)
        status = bg__fail(BG_ERROR_BUSY, "a graph of the pool was last replayed on a stream that is now capturing; end "
                                         "that capture first");
done:
    return status;
}

bg_status bg__capture_acquire_use(bg__last_use *use)
{
    bg_status status;
    if (!bg__last_use_try_acquire(use))
        return bg__fail(BG_ERROR_BUSY, "the pool is in use by a replay or another pass; a pool serves one at a time");
    status = check_last_stream(use);
    if (status != BG_OK)
        bg__last_use_release(use);
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
    capture->source = (bg__memory_source){alloc_pinned, graph->pool};
    graph->root.source = &capture->source;
done:
    return status;
}

/* The calls of a captured graph keep their blocks for replays; the calls of an eager pass drop them. */
void bg__capture_close_bucket(bg_capture *capture)
{
    bg__bucket_stats figures;
    bg_graph *graph = capture->graph;

    if (!capture->holds_pool)
        return;
    capture->holds_pool = false;
    graph->root.source = NULL;
    bg__pool_capture_end(graph->pool, &figures);
    graph->pool_bytes = figures.bytes;
    for (bg__call *call = &graph->root; call != NULL && capture->eager; call = bg__call_next(call))
        bg__block_list_forget_borrowed(&call->own);
}

bg_status bg__capture_acquire_pool(bg_capture *capture)
{
    bg_pool *pool = capture->graph->pool;
    bg__last_use *use = capture->graph->use;
    bg_status status = BG_OK;

    if (pool == NULL)
        return BG_OK;
    BG__TRY(bg__pool_check_device(pool, "bg_capture_begin"));
    BG__TRY(bg__capture_acquire_use(use));
    status = bg__capture_open_bucket(capture);
    if (status != BG_OK) {
        bg__last_use_release(use);
        goto done;
    }
    capture->pool_mapped = mapped_bytes(pool);
    BG__TRY(bg__last_use_order_stream(use, capture->origin));
    capture->ordered_after_pool = true;
done:
    return status;
}

cudaError_t bg__capture_release_pool(bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    cudaError_t error = cudaSuccess;

    if (!capture->holds_pool)
        return cudaSuccess;
    bg__capture_close_bucket(capture);
    /* The next use may be on another stream, after this stream was destroyed. */
    if (capture->ordered_after_pool)
        error = bg__last_use_record_event(graph->use, capture->origin);
    bg__last_use_release(graph->use);
    return error;
}

size_t bg__capture_pool_growth(const bg_capture *capture)
{
    return capture->graph->pool ? mapped_bytes(capture->graph->pool) - capture->pool_mapped : 0;
}

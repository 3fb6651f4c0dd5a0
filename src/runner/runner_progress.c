/* What a terminal shows while buckets are captured, and the table of the results. */
#include "runner/runner.h"

void bg__capture_progress_step(bg__progress *progress, const bg_runner *runner, const bg__bucket *bucket)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    char name[80], text[160];

    progress->done++;
    if (!progress->shown || bg_pool_get_stats(runner->pool, &stats) != BG_OK)
        return;
    bg__bucket_name(bucket, name, sizeof name);
    snprintf(text, sizeof text, "%s, %d segments, %.1f MiB", name, bucket->graph ? bucket->graph->segment_count : 0,
             (double)stats.mapped / (1 << 20));
    bg__progress_draw(progress, text);
}

void bg__capture_progress_end(bg__progress *progress, const bg_runner *runner)
{
    bg__progress_clear(progress);
    if (progress->shown)
        bg_runner_print(runner, stderr);
}

int bg_runner_bucket_count(const bg_runner *runner)
{
    return runner != NULL ? runner->plan.bucket_count : 0;
}

bg_status bg_runner_get_bucket(const bg_runner *runner, int index, bg_bucket_info *info)
{
    bg_bucket_info found = BG_BUCKET_INFO_INIT;
    bg_graph_info graph = BG_GRAPH_INFO_INIT;
    const bg__bucket *bucket;
    bg_status status = BG_OK;

    BG__NEED(runner);
    BG__NEED(info);
    if (index < 0 || index >= runner->plan.bucket_count)
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_runner_get_bucket: there is no bucket %d; the runner has %d", index,
                        runner->plan.bucket_count);
    bucket = runner->plan.order[index];
    if (bucket->graph != NULL)
        BG__TRY(bg_graph_get_info(bucket->graph, &graph));
    found = (bg_bucket_info){.struct_size = sizeof found,
                             .mode = bucket->mode,
                             .decode = bucket->query_len > 0,
                             .tokens = bucket->tokens,
                             .max_query_len = bucket->query_len > 0 ? bucket->query_len : bucket->tokens,
                             .variant = bucket->variant,
                             .captured = bucket->graph != NULL,
                             .failure = bucket->failure ? bucket->failure : "",
                             .segments = graph.segments,
                             .nodes = graph.nodes,
                             .pool_bytes = bucket->pool_bytes,
                             .graph_bytes = graph.graph_bytes,
                             .capture_ms = graph.capture_ms,
                             .instantiate_ms = graph.instantiate_ms,
                             .replays = bucket->replays};
    BG__TRY(bg__struct_copy_out(info, &found, sizeof found, "info", "BG_BUCKET_INFO_INIT"));
done:
    return status;
}

bg_status bg_runner_get_graph(bg_runner *runner, int index, bg_graph **graph)
{
    const bg__bucket *bucket;
    char name[80];

    BG__NEED(graph);
    *graph = NULL;
    BG__NEED(runner);
    if (index < 0 || index >= runner->plan.bucket_count)
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_runner_get_graph: there is no bucket %d; the runner has %d", index,
                        runner->plan.bucket_count);
    bucket = runner->plan.order[index];
    bg__bucket_name(bucket, name, sizeof name);
    if (bucket->failure != NULL)
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_runner_get_graph: %s could not be captured: %s", name, bucket->failure);
    if (bucket->graph == NULL)
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_runner_get_graph: %s is not captured yet; %s", name,
                        runner->config.lazy == BG_LAZY_ON_DEMAND    ? "run a batch of that size first (config.lazy)"
                        : runner->config.lazy == BG_LAZY_BACKGROUND ? "call bg_runner_idle first (config.lazy)"
                                                                    : "call bg_runner_capture first");
    *graph = bucket->graph;
    return BG_OK;
}

static void print_bucket_row(FILE *out, const bg_bucket_info *info)
{
    char query[12] = "-";
    if (info->decode)
        snprintf(query, sizeof query, "%d", info->max_query_len);
    fprintf(out, "%-9s %-6s %7d %9s %7d", bg__mode_name(info->mode), info->decode ? "decode" : "mixed", info->tokens,
            query, info->variant);
    if (info->captured)
        fprintf(out, " %8d %7zu %9.1f %10.1f %10.2f %12.2f %9llu\n", info->segments, info->nodes,
                (double)info->pool_bytes / (1 << 20), (double)info->graph_bytes / (1 << 20), info->capture_ms,
                info->instantiate_ms, (unsigned long long)info->replays);
    else
        fprintf(out, " %s\n", info->failure[0] != '\0' ? info->failure : "not captured yet");
}

void bg_runner_print(const bg_runner *runner, FILE *out)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    double ms = 0;
    int captured = 0;

    if (runner == NULL || out == NULL)
        return;
    fprintf(out, "%-9s %-6s %7s %9s %7s %8s %7s %9s %10s %10s %12s %9s\n", "mode", "for", "tokens", "query_len",
            "variant", "segments", "nodes", "pool MiB", "graphs MiB", "capture ms", "inst. ms", "replays");
    for (int i = 0; i < runner->plan.bucket_count; i++) {
        bg_bucket_info info = BG_BUCKET_INFO_INIT;
        if (bg_runner_get_bucket(runner, i, &info) != BG_OK)
            continue;
        print_bucket_row(out, &info);
        captured += info.captured;
        ms += info.capture_ms;
    }
    fprintf(out, "captured: %d of %d buckets, %.1f ms without warm-ups\n", captured, runner->plan.bucket_count, ms);
    bg__misses_print(runner, out);
    bg__runner_print_memory(runner, out);
    if (runner->pool == NULL)
        fputs("no pool: the device has no virtual memory management, all batches run eagerly\n", out);
    else if (bg_pool_get_stats(runner->pool, &stats) == BG_OK)
        fprintf(out, "pool: %.1f MiB mapped, %.1f MiB at the peak\n", (double)stats.mapped / (1 << 20),
                (double)stats.peak / (1 << 20));
}

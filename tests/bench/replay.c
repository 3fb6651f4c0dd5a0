/* Replays: without a break, with breaks, with outputs that are copied back. */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"

enum { BATCH_MAX = 32 };

static bg_status capture(work *w)
{
    BENCH_TRY(bg_capture_forward(&w->graph, work_forward, w, w->stream, NULL));
    if (w->graph->segment_count != w->what.breaks + 1)
        return bg__fail(BG_ERROR_MISMATCH, "%d segments, expected %d: is BG_DEBUG, BG_EAGER_OPS or BG_BREAKABLE set?",
                        w->graph->segment_count, w->what.breaks + 1);
    w->shared = calloc((size_t)w->graph->segment_count, sizeof(cudaGraphExec_t));
    if (w->shared == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d segments", w->graph->segment_count);
    for (int i = 0; i < w->graph->segment_count; i++)
        w->shared[i] = w->graph->segments[i].exec;
    return BG_OK;
}

static row describe(const char *section, const char *against, const scenario *what)
{
    row row = {.section = section, .against = against, .breaks = what->breaks};
    int used = snprintf(row.what, sizeof row.what, "%d break%s, %d node%s", what->breaks, what->breaks == 1 ? "" : "s",
                        what->nodes, what->nodes == 1 ? "" : "s");
    if (what->outputs > 0)
        snprintf(row.what + used, sizeof row.what - (size_t)used, ", %d output%s%s", what->outputs,
                 what->outputs == 1 ? "" : "s", what->alternate ? ", moving" : "");
    return row;
}

/* Few enough that all fits into the device's queue. */
static int batch_for(const scenario *what)
{
    return what->breaks == 0 ? BATCH_MAX : what->breaks < 16 ? 4 : 1;
}

static plan plan_for(const bench *b, const scenario *what)
{
    return (plan){
        .stream = b->stream, .samples = b->report.samples, .warm_up = b->report.warm_up, .batch = batch_for(what)};
}

static bg_status run_in_place(bench *b, const char *section, scenario what, double cpu_target, double total_target)
{
    plan plan = plan_for(b, &what);
    CLOSED_BY(work_close) work w;
    contender contenders[] = {{replay_ours, NULL, &w}, {loop_shared, NULL, &w}};
    row row = describe(section, "same graphs", &what);
    timing timings[2];

    BENCH_TRY(work_open(&w, what, b->stream));
    BENCH_TRY(capture(&w));
    BENCH_TRY(work_check(&w, contenders, 2));
    BENCH_TRY(bench_measure(contenders, 2, &plan, timings));
    return report_timings(&b->report, row, &timings[0], &timings[1], cpu_target, total_target);
}

bg_status bench_replay(bench *b)
{
    static const int nodes[] = {1, 16, 256};
    report_section("Replay without a break, against cudaGraphLaunch of the same executable graph");
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        BENCH_TRY(run_in_place(b, "replay", (scenario){.breaks = 0, .nodes = nodes[i]}, 1.05, 0));
    return BG_OK;
}

static const int break_counts[] = {1, 8, 64, 128};
static const size_t break_counts_count = sizeof break_counts / sizeof *break_counts;

bg_status bench_breaks(bench *b)
{
    report_section("Breaks without write-back, against a loop over the same executable graphs in a flat array with "
                   "the same kernel between them; nodes a segment");
    for (int nodes = 1; nodes <= 16; nodes += 15)
        for (size_t i = 0; i < break_counts_count; i++)
            BENCH_TRY(run_in_place(b, "breaks", (scenario){.breaks = break_counts[i], .nodes = nodes, .outputs = 0},
                                   1.05, 1.05));
    return BG_OK;
}

static bg_status run_write_back(bench *b, scenario what)
{
    static const char section[] = "write-back";
    plan plan = plan_for(b, &what);
    CLOSED_BY(work_close) work w;
    contender contenders[] = {{replay_ours, NULL, &w}, {loop_plain, NULL, &w}, {loop_folded, NULL, &w}};
    timing timings[3];
    double total_target = what.nodes > 1 ? 0 : 0.80;

    BENCH_TRY(work_open(&w, what, b->stream));
    BENCH_TRY(capture(&w));
    BENCH_TRY(by_hand_open(&w.plain, &w, false, false));
    BENCH_TRY(by_hand_open(&w.folded, &w, true, false));
    BENCH_TRY(work_check(&w, contenders, 3));
    BENCH_TRY(bench_measure(contenders, 3, &plan, timings));
    BENCH_TRY(report_timings(&b->report, describe(section, "cudaMemcpyAsync", &what), &timings[0], &timings[1], 0.65,
                             total_target));
    return report_timings(&b->report, describe(section, "folded by hand", &what), &timings[0], &timings[2], 1.10, 1.10);
}

bg_status bench_write_back(bench *b)
{
    report_section("Breaks with outputs that the eager kernel leaves elsewhere; nodes a segment. By hand: launch, "
                   "kernel, cudaMemcpyAsync;\nor launch, kernel, the copies folded into the next segment and updated "
                   "where they move (moving: in every replay)");
    for (int outputs = 1; outputs <= OUTPUTS_MAX; outputs += OUTPUTS_MAX - 1)
        for (int nodes = 1; nodes <= 16; nodes += 15)
            for (size_t i = 0; i < break_counts_count; i++)
                BENCH_TRY(run_write_back(b, (scenario){.breaks = break_counts[i], .nodes = nodes, .outputs = outputs}));
    return run_write_back(b, (scenario){.breaks = 64, .nodes = 1, .outputs = 1, .alternate = true});
}

/* Captures: 64 segments of 32 nodes, against capture, instantiation and launch by hand, one segment after the other. */
#include "work.h"

#include <stdio.h>

enum { BREAKS = 63, NODES = 32 };

typedef struct capturing {
    work *work;
    bg_capture_options options; /* of ours */
    by_hand hand;
    bool launch; /* by hand */
    int threads; /* by hand, that instantiate; 0: this one does */
} capturing;

static bg_status capture_ours(void *state)
{
    capturing *c = state;
    return bg_capture_forward(&c->work->graph, work_forward, c->work, c->work->stream, &c->options);
}

static bg_status undo_ours(void *state)
{
    capturing *c = state;
    bg_graph_destroy(c->work->graph);
    c->work->graph = NULL;
    return BG_OK;
}

static bg_status capture_by_hand(void *state)
{
    capturing *c = state;
    return c->threads > 0 ? by_hand_open_in_threads(&c->hand, c->work, c->threads)
                          : by_hand_open(&c->hand, c->work, false, c->launch);
}

static bg_status undo_by_hand(void *state)
{
    capturing *c = state;
    by_hand_close(&c->hand);
    return BG_OK;
}

/* Replays what the options capture, to see that it is what was meant. */
static bg_status check_capture(capturing *ours)
{
    contender replay = {replay_ours, NULL, ours->work};
    bg_status status = capture_ours(ours);

    if (status == BG_OK)
        status = work_check(ours->work, &replay, 1);
    undo_ours(ours);
    return status;
}

static bg_status compare(bench *b, work *w, bool launch, int workers, double target)
{
    CLOSED_BY(undo_by_hand) capturing threads = {.work = w, .threads = workers}, hand = {.work = w, .launch = launch};
    CLOSED_BY(undo_ours) capturing ours = {.work = w, .options = BG_CAPTURE_OPTIONS_INIT};
    contender contenders[] = {{capture_by_hand, undo_by_hand, &hand},
                              {capture_ours, undo_ours, &ours},
                              {capture_by_hand, undo_by_hand, &threads}};
    plan plan = {.stream = b->stream, .samples = b->report.captures, .warm_up = 1, .batch = 1};
    row row = {.section = "capture", .against = launch ? "serial, launched" : "serial"};
    timing timings[3];

    ours.options.launch_segments = launch;
    ours.options.worker_threads = workers;
    if (workers > 0)
        snprintf(row.what, sizeof row.what, "not launching, %d worker%s", workers, workers == 1 ? "" : "s");
    else
        snprintf(row.what, sizeof row.what, "%s%s", launch ? "launching" : "not launching",
                 w->what.ops ? ", each kernel an op call" : "");
    BENCH_TRY(check_capture(&ours));
    BENCH_TRY(bench_measure(contenders, workers > 0 ? 3 : 2, &plan, timings));
    BENCH_TRY(report_timings(&b->report, row, &timings[1], &timings[0], target, 0));
    row.against = "threads by hand";
    if (workers > 0)
        BENCH_TRY(report_timings(&b->report, row, &timings[1], &timings[2], target > 0 ? 1.10 : 0, 0));
    return BG_OK;
}

static bg_status compare_op_calls(bench *b)
{
    CLOSED_BY(work_close) work w;

    BENCH_TRY(work_open(&w, (scenario){.breaks = BREAKS, .nodes = NODES, .ops = true}, b->stream));
    BENCH_TRY(compare(b, &w, true, 0, 1.10));
    return compare(b, &w, false, 0, 0);
}

bg_status bench_capture(bench *b)
{
    static const int workers[] = {1, 2, 4};
    enum { JUDGED = 4 }; /* workers */
    CLOSED_BY(work_close) work w;

    report_section("Capture of 64 segments of 32 kernels with an eager kernel between them, from begin to end, "
                   "instantiation included");
    BENCH_TRY(work_open(&w, (scenario){.breaks = BREAKS, .nodes = NODES}, b->stream));
    BENCH_TRY(compare(b, &w, true, 0, 1.10));
    BENCH_TRY(compare(b, &w, false, 0, 0));
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++)
        BENCH_TRY(compare(b, &w, false, workers[i], workers[i] == JUDGED ? 0.65 : 0));
    return compare_op_calls(b);
}

/* The runner: what a run costs above the replay that it ends in, and captures of many buckets. */
#include "kernels/model/kernels.h"
#include <stdio.h>

#include "runner/runner.h"
#include "work.h"

/* ---- a run with three inputs ---- */

enum { INPUTS = 3, BUCKET = 32, TOKENS = 29 };

typedef struct small_model {
    bg_runner *runner;
    bg_tensor in[INPUTS], out;
    int *batches; /* device: two sets of INPUTS x TOKENS, which take turns */
    int turn;
    cudaStream_t stream;
    cudaGraphExec_t exec;
    int *own; /* device: the static buffers by hand */
} small_model;

static bg_status forward_of_small(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const small_model *m = user;
    size_t rows = (size_t)context->padded_tokens;
    return bench_cuda(bgk_add(m->out.data, m->out.data, m->out.data, rows, stream), "bgk_add");
}

static const int *next_batch(small_model *m)
{
    m->turn ^= 1;
    return m->batches + (ptrdiff_t)m->turn * INPUTS * TOKENS;
}

static bg_status run_by_runner(void *state)
{
    static const bg_batch batch = {.tokens = TOKENS, .requests = TOKENS, .max_query_len = 1, .uniform_decode = true};
    small_model *m = state;
    const int *rows = next_batch(m);
    bg_tensor inputs[INPUTS];
    for (int i = 0; i < INPUTS; i++)
        inputs[i] = bg_tensor_1d((void *)(rows + (ptrdiff_t)i * TOKENS), BG_I32, TOKENS);
    return bg_runner_run(m->runner, &batch, inputs, NULL, NULL);
}

static bg_status run_replay(void *state)
{
    small_model *m = state;
    return bg_replay(m->runner->plan.order[0]->graph, m->stream);
}

static bg_status run_by_hand(void *state)
{
    small_model *m = state;
    const int *rows = next_batch(m);

    for (int i = 0; i < INPUTS; i++) {
        int *target = m->own + (ptrdiff_t)i * BUCKET;
        BENCH_TRY_CUDA(
            cudaMemcpyAsync(target, rows + (ptrdiff_t)i * TOKENS, TOKENS * sizeof(int), cudaMemcpyDefault, m->stream));
        BENCH_TRY_CUDA(cudaMemsetAsync(target + TOKENS, 0xff, (BUCKET - TOKENS) * sizeof(int), m->stream));
    }
    BENCH_TRY_CUDA(cudaGraphLaunch(m->exec, m->stream));
    return BG_OK;
}

static bg_status open_small(small_model *m, cudaStream_t stream)
{
    static const char *const names[INPUTS] = {"token", "position", "slot"};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;

    m->stream = stream;
    config.mode = BG_MODE_FULL;
    config.schedule = "32";
    config.max_tokens = BUCKET;
    BENCH_TRY_CUDA(cudaMalloc((void **)&m->batches, 2 * INPUTS * TOKENS * sizeof(int)));
    BENCH_TRY_CUDA(cudaMemset(m->batches, 0, 2 * INPUTS * TOKENS * sizeof(int)));
    BENCH_TRY_CUDA(cudaMalloc((void **)&m->own, INPUTS * BUCKET * sizeof(int)));
    BENCH_TRY(bg_runner_create(&m->runner, &config, forward_of_small, m, stream));
    for (int i = 0; i < INPUTS; i++)
        BENCH_TRY(
            bg_runner_add_input(m->runner, names[i], BG_I32, 1, (const int64_t[]){0}, BG_PAD_SENTINEL, -1, &m->in[i]));
    BENCH_TRY(bg_runner_add_output(m->runner, "out", BG_F32, 1, (const int64_t[]){0}, &m->out));
    BENCH_TRY(bg_runner_capture(m->runner));
    m->exec = m->runner->plan.order[0]->graph->segments[0].exec;
    return BG_OK;
}

static void close_small(small_model *m)
{
    bg_runner_destroy(m->runner);
    bg__device_free(m->batches);
    bg__device_free(m->own);
}

static bg_status compare_runs(bench *b)
{
    CLOSED_BY(close_small) small_model m = {.runner = NULL};
    contender contenders[] = {{run_by_runner, NULL, &m}, {run_replay, NULL, &m}, {run_by_hand, NULL, &m}};
    plan plan = {.stream = b->stream, .samples = b->report.samples, .warm_up = b->report.warm_up, .batch = 8};
    row row = {.section = "runner", .what = "a run, three inputs, 29 tokens in 32", .against = "bg_replay alone"};
    timing timings[3];

    BENCH_TRY(open_small(&m, b->stream));
    BENCH_TRY(bench_measure(contenders, 3, &plan, timings));
    row.unit = MICROSECONDS;
    row.measure = "CPU";
    row.ours = timings[0].cpu;
    row.hand = timings[1].cpu;
    row.apart = 6;
    BENCH_TRY(report_add(&b->report, &row));
    row.apart = 0;
    row.against = "six calls";
    return report_timings(&b->report, row, &timings[0], &timings[2], 0, 0);
}

/* ---- captures of 58 buckets ---- */

enum { BUCKETS = 58, LARGEST = 8192, BREAKS = 30, NODES = 9 };

typedef struct many {
    work work;
    bg_runner *runner;
    int workers;
    by_hand hands[BUCKETS];
} many;

static bg_status forward_of_many(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    many *m = user;
    (void)context;
    return work_forward(&m->work, stream);
}

static bg_status make_runner(many *m)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    config.schedule = "sglang";
    config.max_tokens = LARGEST;
    config.warmups = 0;
    config.worker_threads = m->workers;
    return bg_runner_create(&m->runner, &config, forward_of_many, m, m->work.stream);
}

static bg_status capture_by_runner(void *state)
{
    many *m = state;
    return bg_runner_capture(m->runner);
}

static bg_status undo_runner(void *state)
{
    many *m = state;
    bg_runner_destroy(m->runner);
    m->runner = NULL;
    return make_runner(m);
}

static bg_status capture_by_hand(void *state)
{
    many *m = state;
    for (int i = 0; i < BUCKETS; i++)
        BENCH_TRY(by_hand_open(&m->hands[i], &m->work, false, false));
    return BG_OK;
}

static bg_status capture_by_hand_in_threads(void *state)
{
    many *m = state;
    for (int i = 0; i < BUCKETS; i++)
        BENCH_TRY(by_hand_open_in_threads(&m->hands[i], &m->work, m->workers));
    return BG_OK;
}

static bg_status undo_by_hand(void *state)
{
    many *m = state;
    for (int i = 0; i < BUCKETS; i++)
        by_hand_close(&m->hands[i]);
    return BG_OK;
}

static bg_status compare_captures(bench *b, many *m, int workers, double target)
{
    contender contenders[] = {{capture_by_runner, undo_runner, m},
                              {capture_by_hand, undo_by_hand, m},
                              {capture_by_hand_in_threads, undo_by_hand, m}};
    int samples = (b->report.captures + 4) / 5;
    plan plan = {.stream = b->stream, .samples = samples, .warm_up = 1, .batch = 1};
    row row = {.section = "runner", .against = "serial"};
    timing timings[3];

    m->workers = workers;
    bg_runner_destroy(m->runner);
    m->runner = NULL;
    BENCH_TRY(make_runner(m));
    if (bg_runner_bucket_count(m->runner) != BUCKETS)
        return bg__fail(BG_ERROR_MISMATCH, "the schedule has %d buckets, not %d", bg_runner_bucket_count(m->runner),
                        BUCKETS);
    BENCH_TRY(bench_measure(contenders, workers > 0 ? 3 : 2, &plan, timings));
    snprintf(row.what, sizeof row.what, "58 buckets captured, %d worker%s", workers, workers == 1 ? "" : "s");
    BENCH_TRY(report_timings(&b->report, row, &timings[0], &timings[1], target, 0));
    row.against = "threads by hand";
    if (workers > 0)
        BENCH_TRY(report_timings(&b->report, row, &timings[0], &timings[2], target > 0 ? 1.10 : 0, 0));
    return BG_OK;
}

static void close_many(many *m)
{
    bg_runner_destroy(m->runner);
    work_close(&m->work);
}

bg_status bench_runner(bench *b)
{
    CLOSED_BY(close_many) many m = {.runner = NULL};

    report_section("The runner. A run: dispatch, three inputs copied and padded, context, replay of a graph of one "
                   "kernel; by hand: three copies, three\nfills, launch. Captures: 58 buckets of 31 segments of 9 "
                   "kernels, not launched");
    BENCH_TRY(compare_runs(b));
    BENCH_TRY(work_open(&m.work, (scenario){.breaks = BREAKS, .nodes = NODES}, b->stream));
    BENCH_TRY(compare_captures(b, &m, 0, 0));
    BENCH_TRY(compare_captures(b, &m, 2, 0.6));
    return compare_captures(b, &m, 4, 0);
}

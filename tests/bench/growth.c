/* How the time of the tools grows with the pass: microseconds a call, in passes of 1,000 to 64,000 calls. */
#include "bench.h"
#include "watermark.h"

#include <breakgraph/bisect.h>
#include <breakgraph/check.h>
#include <breakgraph/step.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "debug/check/padding.h"

enum { SEGMENT = 64, BYTES = 256, STREAMS = 4, MOST_CALLS = 64000 };

/* ---- the pass ---- */

static bool is_captured(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

/* value -1: the planted fault, which fills something else where it is captured. */
BG_OP(growth_fill, BG_OUT(y), BG_VALUE(int, value))
{
    int value = args->value >= 0 ? args->value : is_captured(stream) ? 255 : 254;
    return bench_cuda(cudaMemsetAsync(args->y.data, value, bg_tensor_bytes(&args->y), stream), "cudaMemsetAsync");
}

static bg_status copy_tensor(const bg_tensor *x, const bg_tensor *y, cudaStream_t stream)
{
    return bench_cuda(cudaMemcpyAsync(y->data, x->data, bg_tensor_bytes(y), cudaMemcpyDeviceToDevice, stream),
                      "cudaMemcpyAsync");
}

BG_OP(growth_copy, BG_IN(x), BG_OUT(y))
{
    return copy_tensor(&args->x, &args->y, stream);
}

BG_EAGER_OP(growth_break, BG_IN(x), BG_OUT(y))
{
    return copy_tensor(&args->x, &args->y, stream);
}

typedef struct pass {
    int calls;
    bool breaks;  /* a break every SEGMENT calls, one stream; else one segment, on STREAMS streams */
    bool faulty;  /* it has a planted fault */
    int forwards; /* how often forward ran */
    float *rows;  /* device: two, of which one is padding */
    char *blocks; /* device: calls blocks of BYTES bytes. Call i writes the i-th and reads an earlier one */
    cudaStream_t stream;
    cudaStream_t side[STREAMS]; /* the first one is stream */
    cudaEvent_t forked, joined[STREAMS];
    bg_graph *graph;
    cudaGraphExec_t by_hand[MOST_CALLS / SEGMENT + 1]; /* the same by hand: a graph for each SEGMENT calls */
    int by_hand_count;
} pass;

static bg_tensor block_of(const pass *p, int call)
{
    return bg_tensor_1d(p->blocks + (size_t)call * BYTES, BG_U8, BYTES);
}

/* Late in the pass, and no neighbour of a break. */
static bool is_faulty(const pass *p, int call)
{
    return p->faulty && call == p->calls - SEGMENT / 2;
}

static bg_status make_call(const pass *p, int call, int lanes, cudaStream_t stream)
{
    bool first = call < lanes;
    bg_tensor y = block_of(p, call), x = first ? y : block_of(p, call - lanes);

    if (p->breaks && call % SEGMENT == SEGMENT - 1)
        return BG_CALL(growth_break, stream, .x = x, .y = y);
    if (first || (call / lanes) % 2 == 0)
        return BG_CALL(growth_fill, stream, .y = y, .value = is_faulty(p, call) ? -1 : call % 200);
    return BG_CALL(growth_copy, stream, .x = x, .y = y);
}

static bg_status fork_streams(const pass *p)
{
    BENCH_TRY(bg_event_record(p->forked, p->stream));
    for (int i = 1; i < STREAMS; i++)
        BENCH_TRY(bg_stream_wait_event(p->side[i], p->forked));
    return BG_OK;
}

static bg_status join_streams(const pass *p)
{
    for (int i = 1; i < STREAMS; i++) {
        BENCH_TRY(bg_event_record(p->joined[i], p->side[i]));
        BENCH_TRY(bg_stream_wait_event(p->stream, p->joined[i]));
    }
    return BG_OK;
}

static bg_status forward(void *user, cudaStream_t stream)
{
    pass *p = user;
    int lanes = p->breaks ? 1 : STREAMS;

    p->forwards++;
    p->side[0] = p->stream;
    if (!p->breaks)
        BENCH_TRY(fork_streams(p));
    for (int call = 0; call < p->calls; call++)
        BENCH_TRY(make_call(p, call, lanes, lanes == 1 ? stream : p->side[call % lanes]));
    if (!p->breaks)
        BENCH_TRY(join_streams(p));
    return BG_OK;
}

/* ---- the same by hand: the eager calls are launched between the graphs; or all is one graph ---------------------- */

static bg_status issue_by_hand(const pass *p, int call, int lanes)
{
    char *y = p->blocks + (size_t)call * BYTES;
    cudaStream_t stream = lanes == 1 ? p->stream : p->side[call % lanes];
    bool copies = call >= lanes && (call / lanes) % 2 == 1;

    if (copies || (lanes == 1 && call % SEGMENT == SEGMENT - 1))
        BENCH_TRY_CUDA(cudaMemcpyAsync(y, y - lanes * BYTES, BYTES, cudaMemcpyDeviceToDevice, stream));
    else
        BENCH_TRY_CUDA(cudaMemsetAsync(y, call % 200, BYTES, stream));
    return BG_OK;
}

/* Calls first to end - 1, as a graph. */
static bg_status capture_graph_by_hand(pass *p, int first, int end)
{
    cudaGraph_t graph = NULL;
    int lanes = p->breaks ? 1 : STREAMS;
    bg_status status = BG_OK;

    p->side[0] = p->stream;
    BG__TRY_CUDA(cudaStreamBeginCapture(p->stream, cudaStreamCaptureModeThreadLocal));
    if (lanes > 1)
        BG__TRY(fork_streams(p));
    for (int call = first; call < end; call++)
        BG__TRY(issue_by_hand(p, call, lanes));
    if (lanes > 1)
        BG__TRY(join_streams(p));
    BG__TRY_CUDA(cudaStreamEndCapture(p->stream, &graph));
    BG__TRY_CUDA(cudaGraphInstantiate(&p->by_hand[p->by_hand_count], graph, 0));
    BG__TRY_CUDA(cudaGraphLaunch(p->by_hand[p->by_hand_count++], p->stream));
done:
    if (graph != NULL)
        BG__RELEASE(cudaGraphDestroy(graph));
    return status;
}

static void drop_by_hand(pass *p)
{
    for (int i = 0; i < p->by_hand_count; i++)
        BG__RELEASE(cudaGraphExecDestroy(p->by_hand[i]));
    p->by_hand_count = 0;
}

static bg_status capture_by_hand(void *state)
{
    pass *p = state;

    drop_by_hand(p);
    if (!p->breaks)
        return capture_graph_by_hand(p, 0, p->calls);
    for (int first = 0, eager; first < p->calls; first = eager + 1) {
        eager = first + SEGMENT - 1;
        BENCH_TRY(capture_graph_by_hand(p, first, eager < p->calls ? eager : p->calls));
        if (eager < p->calls)
            BENCH_TRY(issue_by_hand(p, eager, 1));
    }
    return BG_OK;
}

static bg_status replay_by_hand(void *state)
{
    pass *p = state;

    for (int i = 0; i < p->by_hand_count; i++) {
        BENCH_TRY_CUDA(cudaGraphLaunch(p->by_hand[i], p->stream));
        if (p->breaks && (i + 1) * SEGMENT <= p->calls)
            BENCH_TRY(issue_by_hand(p, (i + 1) * SEGMENT - 1, 1));
    }
    return BG_OK;
}

static void pass_close(pass *p)
{
    drop_by_hand(p);
    bg_graph_destroy(p->graph);
    for (int i = 1; i < STREAMS; i++) {
        if (p->side[i] != NULL)
            BG__RELEASE(cudaStreamDestroy(p->side[i]));
        if (p->joined[i] != NULL)
            BG__RELEASE(cudaEventDestroy(p->joined[i]));
    }
    if (p->forked != NULL)
        BG__RELEASE(cudaEventDestroy(p->forked));
    if (p->blocks != NULL)
        BG__RELEASE(cudaFree(p->blocks));
    if (p->rows != NULL)
        BG__RELEASE(cudaFree(p->rows));
}

static bg_status pass_open(pass *p, int calls, bool breaks, cudaStream_t stream)
{
    *p = (pass){.calls = calls, .breaks = breaks, .stream = stream};
    BENCH_TRY_CUDA(cudaMalloc((void **)&p->blocks, (size_t)calls * BYTES));
    BENCH_TRY_CUDA(cudaMalloc((void **)&p->rows, 2 * sizeof *p->rows));
    BENCH_TRY_CUDA(cudaEventCreateWithFlags(&p->forked, cudaEventDisableTiming));
    for (int i = 1; i < STREAMS; i++) {
        BENCH_TRY_CUDA(cudaStreamCreateWithFlags(&p->side[i], cudaStreamNonBlocking));
        BENCH_TRY_CUDA(cudaEventCreateWithFlags(&p->joined[i], cudaEventDisableTiming));
    }
    BENCH_TRY(bg_capture_forward(&p->graph, forward, p, stream, NULL));
    return capture_by_hand(p);
}

/* ---- what is measured: each a run of a contender whose state is the pass ---- */

static void drop_graph(pass *p)
{
    bg_graph_destroy(p->graph);
    p->graph = NULL;
}

static bg_status capture(void *state)
{
    pass *p = state;
    drop_graph(p);
    return bg_capture_forward(&p->graph, forward, p, p->stream, NULL);
}

static bg_status replay(void *state)
{
    pass *p = state;
    return bg_replay(p->graph, p->stream);
}

/* Takes the report, which must be as the pass is. */
static bg_status judge(const pass *p, bg_report *report, const char *tool)
{
    int found = bg_report_count(report);
    bg_status status = BG_OK;

    if ((found > 0) != p->faulty) {
        bg_report_write(report, BG_TEXT, "-");
        status = bg__fail(BG_ERROR_MISMATCH, "%s has %d findings in a pass %s a fault", tool, found,
                          p->faulty ? "with" : "without");
    }
    bg_report_destroy(report);
    return status;
}

/* A run of the tool, whose arguments know the pass p and &report. */
#define TOOL(name, tool, ...)                                                                                          \
    static bg_status name(void *state)                                                                                 \
    {                                                                                                                  \
        pass *p = state;                                                                                               \
        bg_report *report = NULL;                                                                                      \
        bg_status status = tool(__VA_ARGS__);                                                                          \
        return status != BG_OK ? status : judge(p, report, #tool);                                                     \
    }

TOOL(check, bg_check, p->graph, BG_CHECK_ALL, &report)
TOOL(poison, bg_check_poison, p->graph, (bg_tensor[]){block_of(p, p->calls - 1)}, 1, p->stream, &report)
TOOL(recapture, bg_check_recapture, forward, p, NULL, p->stream, &report)
TOOL(step, bg_step, p->graph, p->stream, NULL, NULL, &report)
TOOL(shadow, bg_shadow, forward, p, p->stream, NULL, &report)
TOOL(bisect_faulty, bg_bisect, forward, p, p->stream, NULL, &report)

/* Of rows that no call reads: the replays that it takes. */
static bg__padded_buffer padded_rows(const pass *p)
{
    return (bg__padded_buffer){.tensor = bg_tensor_1d(p->rows, BG_F32, 2), .live = 1, .kind = BG__PADDED_VALUE};
}
TOOL(padding, bg__check_padding, p->graph, (bg__padded_buffer[]){padded_rows(p)}, 1, p->stream, &report)

static bg_status bisect(void *state)
{
    pass *p = state;
    bg_status status;

    p->forwards = 0;
    p->faulty = true;
    status = bisect_faulty(p);
    p->faulty = false;
    return status;
}

/* ---- the table ---- */

static const struct measured {
    const char *name;
    bg_status (*run)(void *state);
    bool breaks;
    double growth;    /* from the smallest pass to the largest, of the time per call; 0: no target */
    const char *cost; /* another of these, against which its time is told; NULL: none */
} measured[] = {
    {"capture by hand", capture_by_hand, true, 0, NULL},
    {"replay by hand", replay_by_hand, true, 0, NULL},
    {"capture", capture, true, 1.5, "capture by hand"},
    {"replay", replay, true, 1.5, "replay by hand"},
    {"bg_check", check, true, 2, "capture"},
    {"poison", poison, true, 2, "replay"},
    {"padding", padding, true, 2, "replay"},
    {"recapture", recapture, true, 2, "capture"},
    {"bg_step", step, true, 2, "replay"},
    {"shadow", shadow, true, 2, "replay"},
    {"bisect, a trial", bisect, true, 2, NULL},
    {"one segment: capture by hand", capture_by_hand, false, 0, NULL},
    {"one segment: capture", capture, false, 1.5, NULL},
    {"one segment: bg_check", check, false, 2, NULL},
};
enum { MEASURED = sizeof measured / sizeof *measured };
static const int sizes[] = {1000, 4000, 16000, MOST_CALLS};
enum { SIZES = sizeof sizes / sizeof *sizes, SAMPLES_MAX = 9 };

/* Milliseconds. The host device's work is all on CPUs: the process's own time there is the same on a busy machine. */
static double now(bool on_gpu)
{
    struct timespec time;
    if (on_gpu)
        return bg__now_ms();
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time); /* cannot fail for this clock */
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static bg_status take_sample(const bench *b, const struct measured *m, pass *p, double *us)
{
    double began;

    BENCH_TRY_CUDA(cudaStreamSynchronize(p->stream));
    began = now(b->report.on_gpu);
    BENCH_TRY(m->run(p));
    BENCH_TRY_CUDA(cudaStreamSynchronize(p->stream));
    *us = 1e3 * (now(b->report.on_gpu) - began) / p->calls;
    if (m->run == bisect)
        *us /= p->forwards;
    return BG_OK;
}

static bg_status report_memory(bench *b, const struct measured *m, pass *p)
{
    contender contender = {.run = m->run, .state = p};
    row row = {.section = "growth", .unit = KIBIBYTES, .against = "nothing"};
    watermark most;

    if (m->run == capture)
        drop_graph(p);
    BENCH_TRY(watermark_measure(&contender, &most));
    snprintf(row.what, sizeof row.what, "%s, %d calls", m->name, p->calls);
    row.measure = "host memory";
    row.ours = bench_exactly(most.host_kib);
    BENCH_TRY(report_add(&b->report, &row));
    row.measure = "device memory";
    row.ours = bench_exactly(most.device_kib);
    if (b->report.on_gpu)
        BENCH_TRY(report_add(&b->report, &row));
    return BG_OK;
}

static bg_status report_trials(bench *b, const pass *p)
{
    row row = {.section = "growth",
               .unit = TRIALS,
               .measure = "trials",
               .against = "2 log2(calls)+10",
               .target = 1,
               .everywhere = true,
               .ours = bench_exactly(p->forwards),
               .hand = bench_exactly(2 * bench_bits(p->calls) + 10)};

    snprintf(row.what, sizeof row.what, "bisect, %d calls", p->calls);
    return report_add(&b->report, &row);
}

/* The measured run, some times; a run that takes seconds needs neither a first one to warm up nor many. */
static bg_status take_samples(bench *b, const struct measured *m, pass *p, int most, spread *samples)
{
    const double enough = 4000, began = now(b->report.on_gpu); /* milliseconds */
    double us[SAMPLES_MAX];
    int count = 0;

    BENCH_TRY(take_sample(b, m, p, &us[0]));
    if (now(b->report.on_gpu) - began > enough)
        count = 1;
    for (; count < most && (count == 0 || now(b->report.on_gpu) - began < enough); count++)
        BENCH_TRY(take_sample(b, m, p, &us[count]));
    *samples = bench_spread(us, count);
    return BG_OK;
}

/* One measured run at one size; *smallest is that of the smallest pass. */
static bg_status report_size(bench *b, const struct measured *m, int size, spread *smallest)
{
    row row = {.section = "growth", .unit = MICROSECONDS, .measure = "a call", .everywhere = true};
    int samples = size == 0 ? SAMPLES_MAX : b->report.captures < 3 ? 1 : 3;
    CLOSED_BY(pass_close) pass p = {.calls = 0};

    BENCH_TRY(pass_open(&p, sizes[size], m->breaks, b->stream));
    BENCH_TRY(take_samples(b, m, &p, samples, &row.ours));
    if (size == 0)
        *smallest = row.ours;
    row.hand = *smallest;
    row.against = "1000 calls";
    row.target = size == SIZES - 1 ? m->growth : 0;
    snprintf(row.what, sizeof row.what, "%s, %d calls", m->name, p.calls);
    BENCH_TRY(report_add(&b->report, &row));
    if (m->run == bisect)
        BENCH_TRY(report_trials(b, &p));
    return report_memory(b, m, &p);
}

/* What a check costs, in replays or captures of the smallest pass. */
static bg_status report_costs(bench *b, const spread *smallest)
{
    row row = {.section = "growth", .unit = MICROSECONDS, .measure = "a call"};

    for (size_t i = 0; i < MEASURED; i++)
        for (size_t k = 0; k < MEASURED && measured[i].cost != NULL; k++)
            if (strcmp(measured[k].name, measured[i].cost) == 0) {
                snprintf(row.what, sizeof row.what, "cost of %s, %d calls", measured[i].name, sizes[0]);
                row.against = measured[k].name;
                row.ours = smallest[i];
                row.hand = smallest[k];
                BENCH_TRY(report_add(&b->report, &row));
            }
    return BG_OK;
}

bg_status bench_growth(bench *b)
{
    spread smallest[MEASURED] = {{0, 0, 0}};

    report_section(
        "Microseconds a call in passes of 1,000 to 64,000 calls: copies and fills of 256 bytes, a break every "
        "64; or one segment of four\nstreams. The second figure is that of 1,000 calls. On the host device "
        "it is CPU time. Memory: the most that one run "
        "takes, above what was taken before");
    for (size_t i = 0; i < MEASURED; i++)
        for (int size = 0; size < SIZES && (size == 0 || sizes[size] <= b->calls); size++)
            BENCH_TRY(report_size(b, &measured[i], size, &smallest[i]));
    return report_costs(b, smallest);
}

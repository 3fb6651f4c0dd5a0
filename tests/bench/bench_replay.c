/* Replay against the loop that one would write by hand: the same executable graphs from a flat array, the same kernels
 * between them. Both in one run, taking turns; medians of many samples. Figures of the host device mean nothing.
 *
 * usage: bench_replay [SAMPLES]
 * Prints a table: what, our CPU time a replay, the loop's, their ratio; the same for the time until all is done. CPU
 * time is the time until the calls return, with an idle device before. */
#include <breakgraph/breakgraph.h>
#include <kernels.h>

#include "capture/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, BATCH_MAX = 32 };

static bg_status checked(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : bg__fail_cuda(error, "a call of the benchmark");
}

BG_OP(captured, BG_INOUT(x))
{
    return checked(bgk_scale(args->x.data, args->x.data, 1, N, stream));
}

BG_EAGER_OP(eager, BG_INOUT(x))
{
    return checked(bgk_scale(args->x.data, args->x.data, 1, N, stream));
}

typedef struct scenario {
    int breaks, nodes; /* nodes a segment; segments = breaks + 1 */
} scenario;

typedef struct bench {
    scenario what;
    bg_tensor x;
    cudaStream_t stream;
    bg_graph *graph;
    cudaGraphExec_t *execs; /* the loop's flat array: the graph's own executables */
    int segments;
    int batch; /* replays a sample */
} bench;

static bg_status forward(void *user, cudaStream_t stream)
{
    bench *b = user;
    for (int segment = 0; segment <= b->what.breaks; segment++) {
        if (segment > 0)
            BG_CALL(eager, stream, .x = b->x);
        for (int node = 0; node < b->what.nodes; node++)
            BG_CALL(captured, stream, .x = b->x);
    }
    return BG_OK;
}

static cudaError_t by_hand(const bench *b)
{
    for (int i = 0; i < b->segments; i++) {
        cudaError_t error = i > 0 ? bgk_scale(b->x.data, b->x.data, 1, N, b->stream) : cudaSuccess;
        if (error == cudaSuccess)
            error = cudaGraphLaunch(b->execs[i], b->stream);
        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}

typedef struct sample {
    double cpu_us, total_us; /* a replay */
} sample;

static bg_status measure(const bench *b, bool ours, sample *s)
{
    bg_status status = checked(cudaStreamSynchronize(b->stream));
    double start = bg__now_ms(), issued;
    for (int i = 0; status == BG_OK && i < b->batch; i++)
        status = ours ? bg_replay(b->graph, b->stream) : checked(by_hand(b));
    issued = bg__now_ms();
    if (status == BG_OK)
        status = checked(cudaStreamSynchronize(b->stream));
    s->cpu_us = (issued - start) * 1e3 / b->batch;
    s->total_us = (bg__now_ms() - start) * 1e3 / b->batch;
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct spread {
    double p10, median, p90;
} spread;

static spread spread_of(const sample *samples, int count, bool total, double *scratch)
{
    for (int i = 0; i < count; i++)
        scratch[i] = total ? samples[i].total_us : samples[i].cpu_us;
    qsort(scratch, (size_t)count, sizeof *scratch, by_value);
    return (spread){scratch[count / 10], scratch[count / 2], scratch[count - 1 - count / 10]};
}

static void print_row(const bench *b, const char *kind, spread ours, spread hand)
{
    char what[64];
    snprintf(what, sizeof what, "%d breaks, %d node%s a segment", b->what.breaks, b->what.nodes,
             b->what.nodes == 1 ? "" : "s");
    printf("| %-33s | %-5s | %9.2f (%.2f to %.2f) | %9.2f (%.2f to %.2f) | %.3f |", what, kind, ours.median, ours.p10,
           ours.p90, hand.median, hand.p10, hand.p90, ours.median / hand.median);
    if (b->what.breaks > 0)
        printf(" %.2f / %.2f |", ours.median / b->what.breaks, hand.median / b->what.breaks);
    else
        printf(" |");
    printf("\n");
}

static bg_status setup(bench *b)
{
    bg_status status = bg_capture_forward(&b->graph, forward, b, b->stream, NULL);
    if (status != BG_OK)
        return status;
    b->segments = b->graph->segment_count;
    b->execs = calloc((size_t)b->segments, sizeof(cudaGraphExec_t));
    if (b->execs == NULL)
        return BG_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < b->segments; i++)
        b->execs[i] = b->graph->segments[i].exec;
    b->batch = b->what.breaks == 0 ? BATCH_MAX : b->what.breaks < 16 ? 4 : 1;
    return BG_OK;
}

static bg_status run(scenario what, cudaStream_t stream, float *memory, int count)
{
    bench b = {.what = what, .stream = stream, .x = bg_tensor_1d(memory, BG_F32, N)};
    sample *ours = calloc((size_t)count, sizeof *ours), *hand = calloc((size_t)count, sizeof *hand);
    double *scratch = calloc((size_t)count, sizeof *scratch);
    bg_status status = ours && hand && scratch ? setup(&b) : BG_ERROR_OUT_OF_MEMORY;

    for (int i = -count / 10; status == BG_OK && i < count; i++) {
        sample first, second;
        bool ours_first = i % 2 == 0; /* the one that comes second may find warmer caches */
        status = measure(&b, ours_first, &first);
        if (status == BG_OK)
            status = measure(&b, !ours_first, &second);
        if (status == BG_OK && i >= 0) {
            ours[i] = ours_first ? first : second;
            hand[i] = ours_first ? second : first;
        }
    }
    if (status == BG_OK) {
        print_row(&b, "CPU", spread_of(ours, count, false, scratch), spread_of(hand, count, false, scratch));
        print_row(&b, "total", spread_of(ours, count, true, scratch), spread_of(hand, count, true, scratch));
    }
    bg_graph_destroy(b.graph);
    free(b.execs);
    free(ours);
    free(hand);
    free(scratch);
    return status;
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {{0, 1}, {0, 16}, {1, 1}, {1, 16}, {8, 1}, {8, 16}, {64, 1}, {64, 16}};
    bool on_gpu = strcmp(bg_device_kind(), "cuda") == 0;
    int count = argc > 1 ? atoi(argv[1]) : on_gpu ? 2000 : 20;
    cudaStream_t stream = NULL;
    float *memory = NULL;
    bg_status status;

    if (count < 1 || argc > 2) {
        fprintf(stderr, "usage: bench_replay [SAMPLES], SAMPLES from 1 on\n");
        return 2;
    }
    status = checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (status == BG_OK)
        status = checked(cudaMalloc((void **)&memory, N * sizeof *memory));
    if (status == BG_OK)
        status = checked(cudaMemset(memory, 0, N * sizeof *memory));
    printf("Replay, us: median (10th to 90th percentile) of %d samples, ours and the hand-written loop in turn%s.\n\n",
           count, on_gpu ? "" : "; the host device's times mean nothing");
    printf(
        "| what | time | breakgraph | hand-written | ratio | a break, ours / by hand |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; status == BG_OK && i < sizeof scenarios / sizeof scenarios[0]; i++)
        status = run(scenarios[i], stream, memory, count);
    if (status != BG_OK)
        fprintf(stderr, "bench_replay: %s: %s\n", bg_status_name(status), bg_last_error());
    if (memory != NULL)
        cudaFree(memory);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return status != BG_OK;
}

/* Device memory of graphs, by the driver's count. The driver gives memory out in large pieces and keeps what is given
 * back, so that many graphs are made, in turn, and all are kept until the end. */
#include "work.h"

#include <stdio.h>

enum { ROUNDS = 5, GRAPHS = 8 }; /* graphs a round, of 64 segments of 32 nodes each */

static bg_status free_kib(double *kib)
{
    size_t left = 0, total;
    BENCH_TRY_CUDA(cudaDeviceSynchronize());
    BENCH_TRY_CUDA(cudaMemGetInfo(&left, &total));
    *kib = (double)left / 1024;
    return BG_OK;
}

typedef struct kept {
    bg_graph *graphs[ROUNDS * GRAPHS];
    by_hand hands[ROUNDS * GRAPHS];
} kept;

static void close_kept(kept *k)
{
    for (int i = 0; i < ROUNDS * GRAPHS; i++) {
        bg_graph_destroy(k->graphs[i]);
        by_hand_close(&k->hands[i]);
    }
}

/* What one graph takes, on average of a round. */
static bg_status measure_round(work *w, kept *kept, int round, bool ours, double *kib)
{
    double before = 0, after = 0;

    BENCH_TRY(free_kib(&before));
    for (int i = round * GRAPHS; i < (round + 1) * GRAPHS; i++) {
        if (ours)
            BENCH_TRY(bg_capture_forward(&kept->graphs[i], work_forward, w, w->stream, NULL));
        else
            BENCH_TRY(by_hand_open(&kept->hands[i], w, w->what.outputs > 0, true));
    }
    BENCH_TRY(free_kib(&after));
    *kib = (before - after) / GRAPHS;
    return BG_OK;
}

static bg_status compare(bench *b, int outputs)
{
    double ours[ROUNDS], hand[ROUNDS];
    row row = {.section = "memory", .measure = "device memory", .unit = KIBIBYTES, .against = "captured by hand"};
    CLOSED_BY(work_close) work w;
    CLOSED_BY(close_kept) kept kept = {{NULL}, {{.count = 0}}};

    BENCH_TRY(work_open(&w, (scenario){.breaks = 63, .nodes = 32, .outputs = outputs}, b->stream));
    for (int round = 0; round < ROUNDS; round++) {
        bool ours_first = round % 2 == 0;
        BENCH_TRY(measure_round(&w, &kept, round, ours_first, ours_first ? &ours[round] : &hand[round]));
        BENCH_TRY(measure_round(&w, &kept, round, !ours_first, ours_first ? &hand[round] : &ours[round]));
    }
    snprintf(row.what, sizeof row.what, "%s", outputs ? "with write-back, folded by hand" : "without write-back");
    row.ours = bench_spread(ours, ROUNDS);
    row.hand = bench_spread(hand, ROUNDS);
    return report_add(&b->report, &row);
}

bg_status bench_memory(bench *b)
{
    report_section("Device memory of a graph of 64 segments of 32 nodes, KiB by the driver's count: of 5 rounds of 8 "
                   "graphs each");
    BENCH_TRY(compare(b, 0));
    return compare(b, 1);
}

/* Samples of contenders that take turns. */
#include "bench.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

spread bench_spread(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return (spread){values[count / 10], values[count / 2], values[count - 1 - count / 10]};
}

spread bench_exactly(double value)
{
    return (spread){value, value, value};
}

int bench_bits(int number)
{
    int bits = 0;
    while (1 << bits < number)
        bits++;
    return bits;
}

void bench_free(void *block)
{
    free(*(void **)block);
}

static bg_status take_sample(const contender *contender, const plan *plan, double *cpu, double *total)
{
    double start, issued;

    BENCH_TRY_CUDA(cudaStreamSynchronize(plan->stream));
    start = bg__now_ms();
    for (int i = 0; i < plan->batch; i++)
        BENCH_TRY(contender->run(contender->state));
    issued = bg__now_ms();
    BENCH_TRY_CUDA(cudaStreamSynchronize(plan->stream));
    *total = (bg__now_ms() - start) * 1e3 / plan->batch;
    *cpu = (issued - start) * 1e3 / plan->batch;
    return contender->undo != NULL ? contender->undo(contender->state) : BG_OK;
}

bg_status bench_measure(const contender *contenders, int count, const plan *plan, timing *timings)
{
    size_t samples = (size_t)plan->samples;
    CLOSED_BY(bench_free) double *values = calloc(2 * (size_t)count * samples, sizeof *values);
    double ignored[2];

    if (values == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu samples", samples);
    for (int i = -plan->warm_up; i < plan->samples; i++) {
        for (int turn = 0; turn < count; turn++) {
            int which = (i + plan->warm_up + turn) % count;
            double *cpu = values + 2 * (size_t)which * samples + i, *total = cpu + samples;
            BENCH_TRY(take_sample(&contenders[which], plan, i < 0 ? &ignored[0] : cpu, i < 0 ? &ignored[1] : total));
        }
    }
    for (int i = 0; i < count; i++) {
        timings[i].cpu = bench_spread(values + 2 * (size_t)i * samples, plan->samples);
        timings[i].total = bench_spread(values + (2 * (size_t)i + 1) * samples, plan->samples);
    }
    return BG_OK;
}

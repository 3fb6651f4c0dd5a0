/* How long the calls of a run take, and how long its op. */
#include "compile/proof.h"

#include <string.h>

enum { REPEATS = 4, ROUNDS = 3 };

/* The time of a launch may vary by this ratio. */
static const double noise_ratio = 1.02;

static bg_status time_launches(const bg__proof *p, cudaGraphExec_t exec, cudaEvent_t begin, cudaEvent_t end, double *us)
{
    float milliseconds;
    double each;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaEventRecord(begin, p->stream));
    BG__TRY_CUDA(cudaGraphLaunch(exec, p->stream));
    BG__TRY_CUDA(cudaEventRecord(end, p->stream));
    BG__TRY_CUDA(cudaEventSynchronize(end));
    BG__TRY_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    each = milliseconds * 1000.0 / REPEATS;
    if (*us == 0 || each < *us)
        *us = each;
done:
    return status;
}

/* Other work on the GPU, such as that of other ranks, makes a round long: two rounds with a large gap show that an op
 * is faster, but only all rounds show that it is slower. */
enum { ROUNDS_ENOUGH = 2 };
static const double clear_speedup = 1.25;

static bool has_enough_rounds(const bg__proof_outcome *finding, int rounds)
{
    return rounds >= ROUNDS || (rounds >= ROUNDS_ENOUGH && finding->calls_us > finding->op_us * clear_speedup);
}

/* Takes the shortest of several rounds, of calls and op in turn. The first round of each is not counted, since it
 * uploads the graph. */
static bg_status measure_times(const bg__proof *p, cudaGraphExec_t calls, cudaGraphExec_t op)
{
    cudaEvent_t begin = NULL, end = NULL;
    double ignored = 0;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaEventCreate(&begin));
    BG__TRY_CUDA(cudaEventCreate(&end));
    BG__TRY(time_launches(p, calls, begin, end, &ignored));
    BG__TRY(time_launches(p, op, begin, end, &ignored));
    for (int i = 0; !has_enough_rounds(p->finding, i); i++) {
        BG__TRY(time_launches(p, calls, begin, end, &p->finding->calls_us));
        BG__TRY(time_launches(p, op, begin, end, &p->finding->op_us));
    }
done:
    if (begin != NULL)
        BG__RELEASE(cudaEventDestroy(begin));
    if (end != NULL)
        BG__RELEASE(cudaEventDestroy(end));
    return status;
}

bg_status bg__proof_compare_times(bg__proof *p)
{
    cudaGraphExec_t calls = NULL, op = NULL;
    bg_status status = BG_OK;

    if (!bg__proof_is_open(p) || strcmp(bg_device_kind(), "host") == 0)
        return BG_OK;
    p->contents = BG__CONTENTS_REAL;
    BG__TRY(bg__proof_capture_graph(p, true, REPEATS, &op));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(bg__proof_capture_graph(p, false, REPEATS, &calls));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(measure_times(p, calls, op));
    if (p->finding->op_us > p->finding->calls_us * noise_ratio)
        bg__proof_outcome_set(p->finding, BG_FUSION_SLOWER, "it takes %.2f us, and the calls take %.2f us",
                              p->finding->op_us, p->finding->calls_us);
    BG__TRY(bg__proof_tensors_restore(p));
    BG__TRY(bg__proof_agree_to_stop(p));
done:
    if (calls != NULL)
        BG__RELEASE(cudaGraphExecDestroy(calls));
    if (op != NULL)
        BG__RELEASE(cudaGraphExecDestroy(op));
    return status;
}

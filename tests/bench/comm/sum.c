/* One sum over the ranks, a call: in a graph of breakgraph's, in one that was captured by hand, and eagerly. */
#include "ranks.h"

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/model/kernels.h"

enum { OURS, BY_HAND, EAGER, WAYS, BATCH = 10 };

typedef struct sum {
    const team *team;
    size_t floats;
    float *memory; /* x, then y */
    bg_graph *graph;
    cudaGraph_t hand;
    cudaGraphExec_t exec;
} sum;

static bg_status queue(const sum *s, cudaStream_t stream)
{
    ncclComm_t comm = bg_comm_nccl(s->team->comm);
    return team_check(ncclAllReduce(s->memory, s->memory + s->floats, s->floats, ncclFloat, ncclSum, comm, stream),
                      "ncclAllReduce");
}

BG_OP(bench_sum, BG_VALUE(const sum *, s))
{
    return queue(args->s, stream);
}

static bg_status forward(void *user, cudaStream_t stream)
{
    return BG_CALL(bench_sum, stream, .s = user);
}

/* ---- the ways ------------------------------------------------------------------------------------------------- */

static bg_status run_ours(void *state)
{
    const sum *s = state;
    return bg_replay(s->graph, s->team->stream);
}

static bg_status run_by_hand(void *state)
{
    const sum *s = state;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaGraphLaunch(s->exec, s->team->stream));
done:
    return status;
}

static bg_status run_eagerly(void *state)
{
    const sum *s = state;
    return queue(s, s->team->stream);
}

static bg_status meet(void *state)
{
    const sum *s = state;
    return team_meet(s->team);
}

/* ---- one size ------------------------------------------------------------------------------------------------- */

static bg_status capture_by_hand(sum *s)
{
    cudaStream_t stream = s->team->stream;
    bg_status status = BG_OK, queued;

    BG__TRY_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    queued = queue(s, stream);
    BG__TRY_CUDA(cudaStreamEndCapture(stream, &s->hand));
    BG__TRY(queued);
    BG__TRY_CUDA(cudaGraphInstantiate(&s->exec, s->hand, 0));
done:
    return status;
}

static bg_status open_sum(sum *s, const team *team, size_t floats)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_status status = BG_OK;

    *s = (sum){.team = team, .floats = floats};
    options.name = "one sum";
    options.ranks = bg_comm_ranks(team->comm);
    BG__TRY_CUDA(cudaMalloc((void **)&s->memory, 2 * floats * sizeof(float)));
    BG__TRY_CUDA(bgk_fill(s->memory, 1, floats, team->stream));
    BG__TRY(queue(s, team->stream)); /* NCCL sets up at its first */
    BG__TRY_CUDA(cudaStreamSynchronize(team->stream));
    BG__TRY(bg_capture_forward(&s->graph, forward, s, team->stream, &options));
    BG__TRY(capture_by_hand(s));
done:
    return status;
}

static void close_sum(sum *s)
{
    bg_graph_destroy(s->graph);
    if (s->exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(s->exec));
    if (s->hand != NULL)
        BG__RELEASE(cudaGraphDestroy(s->hand));
    bg__device_free(s->memory);
}

/* Each way sums ones into zeros. */
static bg_status check(const sum *s, const contender *way, int which)
{
    cudaStream_t stream = s->team->stream;
    float *y = s->memory + s->floats, ends[2] = {0, 0};
    const float size = (float)bg_comm_size(s->team->comm);
    bg_status status = BG_OK;

    BG__TRY_CUDA(bgk_fill(y, 0, s->floats, stream));
    BG__TRY(way->run(way->state));
    BG__TRY_CUDA(cudaMemcpyAsync(&ends[0], y, sizeof(float), cudaMemcpyDeviceToHost, stream));
    BG__TRY_CUDA(cudaMemcpyAsync(&ends[1], y + s->floats - 1, sizeof(float), cudaMemcpyDeviceToHost, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
    if (ends[0] != size || ends[1] != size)
        status = bg__fail(BG_ERROR_MISMATCH, "way %d sums %g ones to %g and %g", which, size, ends[0], ends[1]);
done:
    return status;
}

static bg_status report_sum(team *team, const char *what, const timing *timings)
{
    row row = {.section = "ranks, sum", .against = "ncclAllReduce"};
    bg_status status;

    snprintf(row.what, sizeof row.what, "%s, a replay", what);
    BG__TRY(report_timings(&team->report, row, &timings[OURS], &timings[EAGER], 0, 0));
    row.against = "cudaGraphLaunch";
    status = report_timings(&team->report, row, &timings[OURS], &timings[BY_HAND], 0, 0);
done:
    return status;
}

static bg_status measure(team *team, size_t floats, const char *what)
{
    sum s;
    const contender ways[WAYS] = {{run_ours, meet, &s}, {run_by_hand, meet, &s}, {run_eagerly, meet, &s}};
    plan plan = {
        .stream = team->stream, .samples = team->report.samples, .warm_up = team->report.warm_up, .batch = BATCH};
    timing timings[WAYS];
    bg_status status;

    BG__TRY(open_sum(&s, team, floats));
    for (int i = 0; i < WAYS; i++)
        BG__TRY(check(&s, &ways[i], i));
    BG__TRY(team_meet(team));
    BG__TRY(bench_measure(ways, WAYS, &plan, timings));
    status = report_sum(team, what, timings);
done:
    close_sum(&s);
    return status;
}

bg_status bench_ranks_sum(team *team)
{
    char title[100];
    bg_status status;

    snprintf(title, sizeof title, "One sum over %d ranks, a call of %d in a row", bg_comm_size(team->comm), BATCH);
    report_section(title);
    BG__TRY(measure(team, 576, "576 floats"));
    status = measure(team, (1 << 20) / sizeof(float), "1 MiB");
done:
    return status;
}

/* bench_ranks: the benchmarks of ranks, in one run. Forks one process a GPU before it touches any; the first rank
 * prints. */
#include "tests/support/ranks/fork_ranks.h"
#include "ranks.h"

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS = 500 };

typedef struct options {
    int ranks, samples; /* 0: what there is; what the device deserves */
    const char *only;
} options;

static const struct {
    const char *name;
    bg_status (*run)(team *team);
} benchmarks[] = {{"model", bench_ranks_model}, {"sum", bench_ranks_sum}};
static const size_t benchmarks_count = sizeof benchmarks / sizeof *benchmarks;

bg_status team_check(int result, const char *call)
{
    if (result == ncclSuccess)
        return BG_OK;
    return bg__fail(BG_ERROR_NCCL, "%s failed: %s (%s)", call, ncclGetErrorString((ncclResult_t)result),
                    ncclGetLastError(NULL));
}

bg_status team_meet(const team *team)
{
    return team_check(
        ncclAllReduce(team->meeting, team->meeting, 1, ncclFloat, ncclMax, bg_comm_nccl(team->comm), team->stream),
        "ncclAllReduce");
}

/* ---- a rank --------------------------------------------------------------------------------------------------- */

static void begin(const team *team)
{
    printf("%d ranks, each a process with a device of its own, that begin each sample together; the figures are the "
           "first rank's.\n"
           "Figures: median (10th to 90th percentile) of %d samples after %d to warm up; the ways take turns.\n"
           "CPU: microseconds until the calls return, with an idle device before. total: until the device is done.\n"
           "hand-written: the way that `against` names.\n",
           bg_comm_size(team->comm), team->report.samples, team->report.warm_up);
    if (!team->report.on_gpu)
        printf("This is the host device: its times say nothing about GPUs.\n");
}

static bg_status run(team *team, const bg_comm_options *comm, const char *only)
{
    bg_status status;

    BG__TRY(bg_comm_create(&team->comm, comm));
    BG__TRY_CUDA(cudaStreamCreateWithFlags(&team->stream, cudaStreamNonBlocking));
    BG__TRY_CUDA(cudaMalloc((void **)&team->meeting, sizeof(float)));
    BG__TRY_CUDA(cudaMemsetAsync(team->meeting, 0, sizeof(float), team->stream));
    begin(team);
    for (size_t i = 0; i < benchmarks_count; i++)
        if (only == NULL || strcmp(only, benchmarks[i].name) == 0)
            BG__TRY(benchmarks[i].run(team));
    report_end(&team->report);
done:
    return status;
}

static int run_rank(const bg_comm_options *comm, void *user)
{
    const options *o = user;
    bool on_gpu = strcmp(bg_device_kind(), "cuda") == 0;
    team team = {.report = {.on_gpu = on_gpu, .samples = o->samples ? o->samples : on_gpu ? 300 : 5}};
    bg_status status;

    if (comm->rank > 0 && freopen("/dev/null", "w", stdout) == NULL)
        return 1;
    team.report.warm_up = 1 + team.report.samples / 10;
    status = run(&team, comm, o->only);
    if (status != BG_OK) {
        fprintf(stderr, "bench_ranks: rank %d: %s: %s\n", comm->rank, bg_status_name(status), bg_last_error());
        bg_comm_abort(team.comm, bg_last_error());
    }
    bg__device_free(team.meeting);
    if (team.stream != NULL)
        BG__RELEASE(cudaStreamDestroy(team.stream));
    bg_comm_destroy(team.comm);
    free(team.report.rows);
    return status == BG_OK ? 0 : 1;
}

/* ---- the command line ----------------------------------------------------------------------------------------- */

static bool parse_number(const char *text, long least, long most, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);
    *number = (int)value;
    return end != text && *end == '\0' && value >= least && value <= most;
}

static bool parse_name(const char *text, const char **name)
{
    for (size_t i = 0; i < benchmarks_count; i++)
        if (strcmp(benchmarks[i].name, text) == 0)
            *name = text;
    return *name != NULL;
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *flag = argv[i], *value = argv[i + 1];
        if (strcmp(flag, "--ranks") == 0 && parse_number(value, 2, FORK_RANKS_MAX, &o->ranks))
            continue;
        if (strcmp(flag, "--samples") == 0 && parse_number(value, 1, 1000000, &o->samples))
            continue;
        if (strcmp(flag, "--only") == 0 && parse_name(value, &o->only))
            continue;
        return false;
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv)
{
    bool on_gpu = strcmp(bg_device_kind(), "cuda") == 0;
    options o = {0};
    int possible, size;

    if (!parse(argc, argv, &o)) {
        fprintf(stderr,
                "usage: bench_ranks [--ranks 2..%d] [--samples N] [--only model|sum]\n"
                "  --ranks N     processes, one a GPU (as many as there are GPUs; 2 on the host device)\n"
                "  --samples N   of each way (300 on GPUs, 5 on the host device)\n",
                FORK_RANKS_MAX);
        return 2;
    }
    possible = fork_ranks_possible();
    size = o.ranks ? o.ranks : on_gpu && possible > 2 ? possible : 2;
    if (possible < size) {
        printf("bench_ranks: skipped: %d ranks need as many GPUs, and there are %d\n", size, possible);
        return 0;
    }
    return fork_ranks(size, SECONDS, run_rank, &o) ? 0 : 1;
}

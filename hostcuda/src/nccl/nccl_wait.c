/* Waits for other ranks: whether they can still come, and when a wait times out. */
#include "hostcuda/src/nccl/nccl_comm.h"

#ifdef HC_HAVE_NCCL
#include "hostcuda/src/stream/queue_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MILLISECOND ((uint64_t)1000000)
#define SECOND      (1000 * MILLISECOND)

static uint64_t nanoseconds(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now); /* if the clock fails, no time passes and nothing times out */
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Reads how many seconds a rank may wait while nothing moves. */
static uint64_t read_limit(void)
{
    enum { DEFAULT = 120, LONGEST = 1000000 };
    const char *text = getenv("HOSTCUDA_NCCL_TIMEOUT");
    char *end = NULL;
    if (!text || !*text)
        return DEFAULT;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (!errno && end != text && !*end && value >= 1 && value <= LONGEST)
        return (uint64_t)value;
    fprintf(stderr, "hostcuda: HOSTCUDA_NCCL_TIMEOUT is \"%s\"; allowed are 1 to %d (seconds); using %d\n", text,
            LONGEST, DEFAULT);
    return DEFAULT;
}

static uint64_t wait_limit(void)
{
    static uint64_t seconds;
    if (!seconds)
        seconds = read_limit();
    return seconds;
}

/* ---- other processes ------------------------------------------------------------------------------------------ */

static void find_ended_processes(struct ncclComm *comm)
{
    for (int rank = 0; rank < comm->ranks; rank++)
        if (hc_arena_state(comm->arena, rank) == HC_RANK_JOINED && !hc_arena_rank_is_alive(comm->arena, rank))
            comm->ended |= (uint64_t)1 << rank;
}

int hc_comm_find_gone_rank(const struct ncclComm *comm, uint64_t on, const char **why)
{
    for (int rank = 0; rank < comm->ranks; rank++) {
        enum hc_rank_state state = hc_arena_state(comm->arena, rank);
        *why = state == HC_RANK_LEFT      ? "has destroyed its communicator"
               : state == HC_RANK_ABORTED ? "has aborted its communicator"
               : comm->ended >> rank & 1  ? "has ended (its process no longer runs)"
                                          : NULL;
        if (*why && on >> rank & 1)
            return rank;
    }
    return -1;
}

/* ---- time ----------------------------------------------------------------------------------------------------- */

void hc_comm_reset_wait(struct ncclComm *comm)
{
    comm->waited = comm->polled = 0;
    comm->told = false;
}

static void list_ranks(const struct ncclComm *comm, uint64_t on, char *text, size_t room)
{
    int used = 0;
    text[0] = 0;
    for (int rank = 0; rank < comm->ranks && (size_t)used + 48 < room; rank++)
        if (on >> rank & 1)
            used += snprintf(text + used, room - (size_t)used, "%s%d (process %d)", used ? ", " : "", rank,
                             comm->arena->boards[rank].pid);
}

static void warn_of_wait(struct ncclComm *comm, uint64_t on, const char *in)
{
    enum { WARN_AFTER = 10 };
    char who[256];
    uint64_t seconds = comm->waited / SECOND;
    if (seconds < wait_limit() && (seconds < WARN_AFTER || comm->told))
        return;
    list_ranks(comm, on, who, sizeof who);
    if (seconds >= wait_limit()) {
        hc_comm_fail(comm, ncclRemoteError,
                     "rank %d timed out after %llu s in %s, waiting for rank %s. On the host device, a process runs "
                     "queued work only while it waits for or queries a stream or event; HOSTCUDA_NCCL_TIMEOUT sets "
                     "the timeout",
                     comm->rank, (unsigned long long)seconds, in, who);
    } else {
        fprintf(stderr, "hostcuda: rank %d waits in %s for rank %s; it will time out after %llu s\n", comm->rank, in,
                who, (unsigned long long)wait_limit());
        comm->told = true;
    }
}

bool hc_comm_poll_wait(struct ncclComm *comm, uint64_t on, const char *in)
{
    const uint64_t look_again = 20 * MILLISECOND, longest_poll = 100 * MILLISECOND;
    uint64_t now = nanoseconds(), passed = comm->polled ? now - comm->polled : 0;
    /* a program that does other things between two polls does not wait */
    comm->waited += passed < longest_poll ? passed : longest_poll;
    comm->polled = now;
    warn_of_wait(comm, on, in);
    if (now - comm->looked < look_again)
        return false;
    comm->looked = now;
    find_ended_processes(comm);
    return true;
}

/* ---- until all ranks are there -------------------------------------------------------------------------------- */

static uint64_t missing_ranks(const struct ncclComm *comm)
{
    uint64_t ranks = 0;
    for (int rank = 0; rank < comm->ranks; rank++)
        if (hc_arena_state(comm->arena, rank) < HC_RANK_JOINED)
            ranks |= (uint64_t)1 << rank;
    return ranks;
}

/* Queued work runs meanwhile: another rank may wait for it before it joins. */
ncclResult_t hc_comm_wait_for_ranks(struct ncclComm *comm)
{
    while (!hc_arena_has_all_ranks(comm->arena) && !hc_comm_failed(comm)) {
        const char *why = NULL;
        hc_comm_poll_wait(comm, missing_ranks(comm), "ncclCommInitRank");
        int rank = hc_comm_find_gone_rank(comm, UINT64_MAX, &why);
        if (rank >= 0 && !hc_arena_has_all_ranks(comm->arena))
            hc_comm_fail(comm, ncclRemoteError, "rank %d %s before all ranks had joined", rank, why);
        else
            hc_run_step_or_pause();
    }
    hc_comm_reset_wait(comm);
    /* later failures are reported by later calls */
    return hc_arena_has_all_ranks(comm->arena) ? hc_comm_check_devices(comm) : hc_comm_state(comm);
}
#endif

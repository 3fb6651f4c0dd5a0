#include "hostcuda/src/nccl/nccl_comm.h"

#ifdef HC_HAVE_NCCL
#include "hostcuda/src/stream/event.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct ncclComm *comms;

bool hc_comm_is_handle(ncclComm_t comm)
{
    return hc_handle_is(HC_COMM, comm);
}

struct ncclComm *hc_comm_make(struct hc_arena *arena, int rank, int device)
{
    struct ncclComm *comm = calloc(1, sizeof *comm);
    if (!comm || !hc_handle_add(HC_COMM, comm)) {
        free(comm);
        return NULL;
    }
    *comm = (struct ncclComm){.next = comms,
                              .references = 1,
                              .arena = arena,
                              .rank = rank,
                              .ranks = hc_arena_ranks(arena),
                              .device = device,
                              .blocking = true};
    comms = comm;
    return comm;
}

void hc_comm_release(struct ncclComm *comm)
{
    if (--comm->references)
        return;
    struct ncclComm **link = &comms;
    while (*link != comm)
        link = &(*link)->next;
    *link = comm->next;
    hc_arena_release(comm->arena);
    if (comm->event)
        hc_event_release(comm->event);
    free(comm);
}

void hc_comm_end(struct ncclComm *comm, enum hc_comm_life life)
{
    __atomic_store_n(&comm->life, (int)life, __ATOMIC_RELEASE);
    hc_arena_set_state(comm->arena, comm->rank, life == HC_COMM_ABORTED ? HC_RANK_ABORTED : HC_RANK_LEFT);
    hc_handle_remove(comm);
    hc_comm_release(comm);
}

/* ---- failures ------------------------------------------------------------------------------------------------- */

bool hc_comm_failed(const struct ncclComm *comm)
{
    return hc_arena_failure(comm->arena) != 0;
}

void hc_comm_fail(struct ncclComm *comm, ncclResult_t code, const char *format, ...)
{
    char sentence[HC_FAILURE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (hc_arena_fail(comm->arena, code, sentence))
        fprintf(stderr, "hostcuda: %s\n", sentence);
}

static ncclResult_t failure_of(const struct ncclComm *comm)
{
    int code = hc_arena_failure(comm->arena);
    return code ? hc_nccl_set_error((ncclResult_t)code, "%s", hc_arena_failure_text(comm->arena)) : ncclSuccess;
}

ncclResult_t hc_comm_check_devices(const struct ncclComm *comm)
{
    const struct hc_nccl_board *boards = comm->arena->boards;
    for (int a = 0; a < comm->ranks; a++)
        for (int b = a + 1; b < comm->ranks; b++)
            if (boards[a].pid == boards[b].pid && boards[a].device == boards[b].device)
                return hc_nccl_set_error(ncclInvalidUsage,
                                         "ranks %d and %d of one process both use device %d; each needs its own, "
                                         "and HOSTCUDA_DEVICES says how many there are",
                                         a, b, boards[a].device);
    return ncclSuccess;
}

ncclResult_t hc_comm_state(const struct ncclComm *comm)
{
    ncclResult_t failure = failure_of(comm);
    if (failure)
        return failure;
    return hc_arena_has_all_ranks(comm->arena) ? hc_comm_check_devices(comm) : ncclInProgress;
}

ncclResult_t hc_comm_check_ready(ncclComm_t comm)
{
    if (!hc_comm_is_handle(comm))
        return hc_nccl_set_error(ncclInvalidArgument, "%s", comm ? "comm is not a communicator" : "comm is NULL");
    ncclResult_t state = hc_comm_state(comm);
    if (state == ncclInProgress)
        return hc_nccl_set_error(ncclInvalidArgument, "the communicator is used before all of its ranks have "
                                                      "joined; wait until ncclCommGetAsyncError no longer reports "
                                                      "ncclInProgress");
    if (!state && comm->life != HC_COMM_OPEN)
        return hc_nccl_set_error(ncclInvalidUsage, "the communicator was finalized");
    return state;
}

#endif

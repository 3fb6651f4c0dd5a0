/* NCCL's calls that end or query communicators. */
#include "hostcuda/src/nccl/nccl_work.h"

#ifdef HC_HAVE_NCCL

#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/stream/queue_run.h"

#include <string.h>

/* ---- ending --------------------------------------------------------------------------------------------------- */

static bool is_drained(const void *data)
{
    return !hc_nccl_has_queued_op(data, UINT64_MAX);
}

/* Issued work runs first, together with the other ranks' work, unless it can no longer run. The communicator may be
 * aborted meanwhile. */
static ncclResult_t finalize_comm(struct ncclComm *comm)
{
    if (comm->life == HC_COMM_OPEN)
        comm->life = HC_COMM_FINALIZED;
    return hc_run_until(is_drained, comm) ? hc_nccl_set_error(ncclInternalError, "queued work cannot run")
                                          : ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t result = hc_nccl_begin("ncclCommFinalize");
    if (!result)
        result = hc_comm_check_ready(comm);
    if (!result) {
        comm->references++;
        result = finalize_comm(comm);
        hc_comm_release(comm);
    }
    hc_unlock();
    return result;
}

static ncclResult_t destroy_comm(struct ncclComm *comm)
{
    ncclResult_t result = finalize_comm(comm);
    if (comm->life == HC_COMM_FINALIZED)
        hc_comm_end(comm, HC_COMM_DESTROYED);
    return result;
}

static ncclResult_t abort_comm(struct ncclComm *comm)
{
    hc_comm_end(comm, HC_COMM_ABORTED);
    hc_run_wait_until_idle(); /* running work may still access the program's buffers */
    return ncclSuccess;
}

static ncclResult_t end_comm(const char *call, ncclComm_t comm, ncclResult_t (*how)(struct ncclComm *comm))
{
    ncclResult_t result = hc_nccl_begin(call);
    if (!result && comm && !hc_comm_is_handle(comm))
        result = hc_nccl_set_error(ncclInvalidArgument, "%s: comm is not a communicator", call);
    if (!result && comm) {
        comm->references++;
        result = how(comm);
        hc_comm_release(comm);
    }
    hc_unlock();
    return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    return end_comm("ncclCommDestroy", comm, destroy_comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    return end_comm("ncclCommAbort", comm, abort_comm);
}

/* ---- queries -------------------------------------------------------------------------------------------------- */

static ncclResult_t check_query(const char *call, ncclComm_t comm, const void *address)
{
    if (!address)
        return hc_nccl_set_error(ncclInvalidArgument, "%s: the address is NULL", call);
    return hc_comm_is_handle(comm) ? ncclSuccess
                                   : hc_nccl_set_error(ncclInvalidArgument, "%s: comm is not a communicator", call);
}

/* Polling runs queued work, as other queries do. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
    ncclResult_t result = hc_nccl_begin("ncclCommGetAsyncError");
    if (!result)
        result = check_query("ncclCommGetAsyncError", comm, asyncError);
    if (!result) {
        comm->references++;
        if (hc_nccl_has_queued_op(comm, UINT64_MAX))
            hc_run_at_query();
        *asyncError = hc_comm_state(comm);
        hc_comm_release(comm);
    }
    hc_unlock();
    return result;
}

static ncclResult_t get_comm_number(const char *call, ncclComm_t comm, int *address, size_t offset)
{
    ncclResult_t result = hc_nccl_begin(call);
    if (!result)
        result = check_query(call, comm, address);
    if (!result)
        memcpy(address, (const char *)comm + offset, sizeof *address);
    hc_unlock();
    return result;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    return get_comm_number("ncclCommCount", comm, count, offsetof(struct ncclComm, ranks));
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    return get_comm_number("ncclCommCuDevice", comm, device, offsetof(struct ncclComm, device));
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    return get_comm_number("ncclCommUserRank", comm, rank, offsetof(struct ncclComm, rank));
}

/* Returns the sentence of the communicator's failure, or else this thread's last one. */
const char *ncclGetLastError(ncclComm_t comm)
{
    hc_call_begin_uncounted();
    if (hc_comm_is_handle(comm) && hc_comm_failed(comm))
        hc_nccl_set_error(ncclSuccess, "%s", hc_arena_failure_text(comm->arena));
    hc_unlock();
    return hc_nccl_last_error();
}

#endif

/* Calls that end communicators, and queries. */
#include "hostcuda/src/nccl/nccl_work.h"

#ifdef HC_HAVE_NCCL

#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/stream/queue_run.h"

#include <string.h>

/* ---- ending --------------------------------------------------------------------------------------------------- */

static bool drained(const void *data)
{
    return !hc_nccl_queued(data, UINT64_MAX);
}

/* Issued work runs first, together with the other ranks, unless it no longer can. The communicator may be aborted
 * meanwhile. */
static ncclResult_t finalize(struct ncclComm *comm)
{
    if (comm->life == HC_COMM_OPEN)
        comm->life = HC_COMM_FINALIZED;
    return hc_run_until(drained, comm) ? hc_nccl_error(ncclInternalError, "queued work cannot run") : ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t result = hc_nccl_begin("ncclCommFinalize");
    if (!result)
        result = hc_comm_check(comm);
    if (!result) {
        comm->references++;
        result = finalize(comm);
        hc_comm_release(comm);
    }
    hc_unlock();
    return result;
}

static ncclResult_t destroy(struct ncclComm *comm)
{
    ncclResult_t result = finalize(comm);
    if (comm->life == HC_COMM_FINALIZED)
        hc_comm_retire(comm, HC_COMM_DESTROYED);
    return result;
}

static ncclResult_t abort_now(struct ncclComm *comm)
{
    hc_comm_retire(comm, HC_COMM_ABORTED);
    hc_run_settle(); /* running work may still access the program's buffers */
    return ncclSuccess;
}

static ncclResult_t end_comm(const char *call, ncclComm_t comm, ncclResult_t (*how)(struct ncclComm *comm))
{
    ncclResult_t result = hc_nccl_begin(call);
    if (!result && comm && !hc_comm_is(comm))
        result = hc_nccl_error(ncclInvalidArgument, "%s: comm is not a communicator", call);
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
    return end_comm("ncclCommDestroy", comm, destroy);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    return end_comm("ncclCommAbort", comm, abort_now);
}

/* ---- queries -------------------------------------------------------------------------------------------------- */

static ncclResult_t check_question(const char *call, ncclComm_t comm, const void *address)
{
    if (!address)
        return hc_nccl_error(ncclInvalidArgument, "%s: the address is NULL", call);
    return hc_comm_is(comm) ? ncclSuccess : hc_nccl_error(ncclInvalidArgument, "%s: comm is not a communicator", call);
}

/* Polling runs queued work, as other queries do. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
    ncclResult_t result = hc_nccl_begin("ncclCommGetAsyncError");
    if (!result)
        result = check_question("ncclCommGetAsyncError", comm, asyncError);
    if (!result) {
        comm->references++;
        if (hc_nccl_queued(comm, UINT64_MAX))
            hc_run_step();
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
        result = check_question(call, comm, address);
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
    hc_begin_unnamed();
    if (hc_comm_is(comm) && hc_comm_failed(comm))
        hc_nccl_error(ncclSuccess, "%s", hc_arena_failure_text(comm->arena));
    hc_unlock();
    return hc_nccl_last_error();
}

#endif

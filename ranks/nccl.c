/* NCCL's communicator: how it begins and ends. */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whoever takes it ends it. */
static ncclComm_t take_nccl(bg_comm *comm)
{
    ncclComm_t nccl;
    pthread_mutex_lock(&comm->nccl_lock);
    nccl = comm->nccl;
    comm->nccl = NULL;
    pthread_mutex_unlock(&comm->nccl_lock);
    return nccl;
}

static void end_nccl(bg_comm *comm, ncclResult_t (*how)(ncclComm_t nccl), const char *call)
{
    ncclComm_t nccl = take_nccl(comm);
    bg__relaxed relaxed;
    ncclResult_t result;
    if (nccl == NULL)
        return;
    relaxed = bg__relax_to_release();
    result = how(nccl);
    bg__relax_end(relaxed);
    if (result != ncclSuccess)
        bg__warn("%s failed on rank %d: %s; what was to be given back may be lost", call, comm->link.rank,
                 ncclGetErrorString(result));
}

void bg__nccl_abort(bg_comm *comm)
{
    end_nccl(comm, ncclCommAbort, "ncclCommAbort");
}

void bg__nccl_destroy(bg_comm *comm)
{
    end_nccl(comm, ncclCommDestroy, "ncclCommDestroy");
}

/* ncclInProgress and success are none. */
ncclResult_t bg__nccl_error(bg_comm *comm, char *text, size_t room)
{
    ncclResult_t error = ncclSuccess;
    pthread_mutex_lock(&comm->nccl_lock);
    if (comm->nccl != NULL) {
        ncclResult_t result = ncclCommGetAsyncError(comm->nccl, &error);
        error = result != ncclSuccess ? result : error == ncclInProgress ? ncclSuccess : error;
        if (error != ncclSuccess && text != NULL)
            snprintf(text, room, "%s (%s)", ncclGetErrorString(error), ncclGetLastError(comm->nccl));
    }
    pthread_mutex_unlock(&comm->nccl_lock);
    return error;
}

static bg_status fail_nccl(bg_comm *comm, ncclResult_t error, const char *call)
{
    return bg__fail(BG_ERROR_NCCL, "%s failed on rank %d of %d, device %d: %s (%s); NCCL_DEBUG=WARN tells more", call,
                    comm->link.rank, comm->link.size, comm->device, ncclGetErrorString(error), ncclGetLastError(NULL));
}

static bg_status share_id(bg_comm *comm, ncclUniqueId *id)
{
    ncclUniqueId *all = calloc((size_t)comm->link.size, sizeof *all);
    ncclResult_t result = ncclSuccess;
    bg_status status = BG_OK;
    if (all == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no memory for the ids of %d ranks", comm->link.size);
    memset(id, 0, sizeof *id);
    if (comm->link.rank == 0)
        result = ncclGetUniqueId(id);
    if (result != ncclSuccess)
        status = fail_nccl(comm, result, "ncclGetUniqueId");
    else
        status = bg__exchange(&comm->link, BG__GATHER, "NCCL's id", id, sizeof *id, all);
    if (status == BG_OK)
        *id = all[0];
    free(all);
    return status;
}

/* Blocking, so that no call of the program's returns ncclInProgress. */
bg_status bg__nccl_init(bg_comm *comm)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t nccl = NULL;
    ncclResult_t result;
    bg_status status;

    BG__TRY(share_id(comm, &id));
    config.blocking = 1;
    result = ncclCommInitRankConfig(&nccl, comm->link.size, id, comm->link.rank, &config);
    if (result != ncclSuccess) {
        status = fail_nccl(comm, result, "ncclCommInitRankConfig");
        goto done;
    }
    pthread_mutex_lock(&comm->nccl_lock);
    comm->nccl = nccl;
    pthread_mutex_unlock(&comm->nccl_lock);
    status = bg__exchange(&comm->link, BG__BARRIER, "NCCL's communicator is made", NULL, 0, NULL);
done:
    return status;
}

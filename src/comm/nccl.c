/* NCCL's communicator: init, destroy and abort. */
#include "comm/parts.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_MS = 1, GRACE_MS = 1000 };

/* Detaches NCCL's communicator; the caller destroys or aborts it. */
static ncclComm_t detach_nccl(bg_comm *comm)
{
    ncclComm_t nccl;
    pthread_mutex_lock(&comm->nccl_lock);
    nccl = comm->nccl;
    comm->nccl = NULL;
    pthread_mutex_unlock(&comm->nccl_lock);
    return nccl;
}

static void release_nccl(bg_comm *comm, ncclResult_t (*how)(ncclComm_t nccl), const char *call)
{
    ncclComm_t nccl = detach_nccl(comm);
    bg__relaxed_mode relaxed;
    ncclResult_t result;
    if (nccl == NULL)
        return;
    relaxed = bg__relaxed_mode_try_begin();
    result = how(nccl);
    bg__relaxed_mode_end(relaxed);
    if (result != ncclSuccess)
        bg__warn("%s failed on rank %d: %s; the resource may have leaked", call, comm->link.rank,
                 ncclGetErrorString(result));
}

void bg__nccl_abort(bg_comm *comm)
{
    release_nccl(comm, ncclCommAbort, "ncclCommAbort");
}

void bg__nccl_destroy(bg_comm *comm)
{
    release_nccl(comm, ncclCommDestroy, "ncclCommDestroy");
}

/* ncclInProgress and ncclSuccess are not failures. */
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
    return bg__fail(BG_ERROR_NCCL, "%s failed on rank %d of %d, device %d: %s (%s); set NCCL_DEBUG=WARN for details",
                    call, comm->link.rank, comm->link.size, comm->device, ncclGetErrorString(error),
                    ncclGetLastError(NULL));
}

static bg_status share_nccl_id(bg_comm *comm, ncclUniqueId *id)
{
    ncclUniqueId *all = calloc((size_t)comm->link.size, sizeof *all);
    ncclResult_t result = ncclSuccess;
    bg_status status = BG_OK;
    if (all == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the ids of %d ranks", comm->link.size);
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

/* ---- initialization -------------------------------------------------------------------------------------------- */

/* If a rank stops or dies after it got the id, ncclCommInitRank waits forever and cannot be interrupted. So a thread
 * calls it, and is then abandoned. The thread uses only this struct. */
typedef struct nccl_init_call {
    int rank, size, device;
    ncclUniqueId id;
    pthread_mutex_t lock; /* guards the members below */
    bool over, left;
    ncclComm_t nccl;
    ncclResult_t result;
    char why[256];
} nccl_init_call;

static void *run_nccl_init(void *data)
{
    nccl_init_call *b = data;
    enum cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t nccl = NULL;
    ncclResult_t result;
    bool left;

    /* Blocking, so that no call of the program's returns ncclInProgress. */
    config.blocking = 1;
    bg__clear_cuda_error(cudaSetDevice(b->device)); /* NCCL reports the failure, too */
    bg__clear_cuda_error(cudaThreadExchangeStreamCaptureMode(&relaxed));
    result = ncclCommInitRankConfig(&nccl, b->size, b->id, b->rank, &config);
    pthread_mutex_lock(&b->lock);
    b->nccl = nccl;
    b->result = result;
    if (result != ncclSuccess)
        snprintf(b->why, sizeof b->why, "%s", ncclGetLastError(NULL));
    b->over = true;
    left = b->left;
    pthread_mutex_unlock(&b->lock);
    if (left && result == ncclSuccess)
        (void)ncclCommAbort(nccl); /* no caller is left to report it to */
    if (left)
        free(b);
    return NULL;
}

static bool is_init_done(nccl_init_call *b)
{
    bool over;
    pthread_mutex_lock(&b->lock);
    over = b->over;
    pthread_mutex_unlock(&b->lock);
    return over;
}

/* false: the thread was abandoned, and the link has a failure. */
static bool wait_for_init(bg_comm *comm, nccl_init_call *b)
{
    double until = bg__now_ms() + comm->link.timeout_ms, grace = 0;
    bool over;
    while (!is_init_done(b) && (grace <= 0 || bg__now_ms() < grace)) {
        if (bg__now_ms() >= until)
            bg__link_fail_text(&comm->link, BG_ERROR_RANKS, "rank %d has waited %g s for ncclCommInitRankConfig",
                               comm->link.rank, comm->link.timeout_ms / 1e3);
        if (grace <= 0 && bg__link_failed(&comm->link))
            grace = bg__now_ms() + GRACE_MS;
        bg__sleep_until(bg__now_ms() + POLL_MS);
    }
    pthread_mutex_lock(&b->lock);
    over = b->over;
    b->left = !over;
    pthread_mutex_unlock(&b->lock);
    return over;
}

static bg_status init_nccl(bg_comm *comm, const ncclUniqueId *id)
{
    nccl_init_call *b = calloc(1, sizeof *b);
    sigset_t all, before;
    pthread_t thread;
    bg_status status = BG_OK;
    int error;

    if (b == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for NCCL's init thread");
    *b = (nccl_init_call){.rank = comm->link.rank, .size = comm->link.size, .device = comm->device, .id = *id};
    b->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    /* signals of the program must not be handled in this thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, NULL, run_nccl_init, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        free(b);
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "NCCL's init thread could not be started: %s", strerror(error));
    }
    if (!wait_for_init(comm, b)) {
        pthread_detach(thread);
        return bg__link_check(&comm->link);
    }
    pthread_join(thread, NULL);
    if (b->result != ncclSuccess)
        status = bg__fail(
            BG_ERROR_NCCL,
            "ncclCommInitRankConfig failed on rank %d of %d, device %d: %s (%s); set NCCL_DEBUG=WARN for details",
            b->rank, b->size, b->device, ncclGetErrorString(b->result), b->why);
    pthread_mutex_lock(&comm->nccl_lock);
    comm->nccl = b->result == ncclSuccess ? b->nccl : NULL;
    pthread_mutex_unlock(&comm->nccl_lock);
    free(b);
    return status;
}

bg_status bg__nccl_init(bg_comm *comm)
{
    ncclUniqueId id;
    bg_status status;

    BG__TRY(share_nccl_id(comm, &id));
    BG__TRY(init_nccl(comm, &id));
    status = bg__exchange(&comm->link, BG__BARRIER, "NCCL's communicator is made", NULL, 0, NULL);
done:
    return status;
}

/* The program's operations on a communicator. */
#include "comm/parts.h"

#include <stdlib.h>

/* ---- questions ------------------------------------------------------------------------------------------------ */

int bg_comm_rank(const bg_comm *comm)
{
    return comm != NULL ? comm->link.rank : 0;
}

int bg_comm_size(const bg_comm *comm)
{
    return comm != NULL ? comm->link.size : 1;
}

struct ncclComm *bg_comm_nccl(bg_comm *comm)
{
    ncclComm_t nccl;
    if (comm == NULL)
        return NULL;
    if (bg__comm_is_forked(comm)) {
        (void)bg__comm_fail_forked(comm, __func__); /* sets bg_last_error() */
        return NULL;
    }
    pthread_mutex_lock(&comm->nccl_lock);
    nccl = comm->nccl;
    pthread_mutex_unlock(&comm->nccl_lock);
    if (nccl == NULL)
        (void)bg__link_check(&comm->link); /* sets bg_last_error() for the op that fails */
    return nccl;
}

const bg_ranks *bg_comm_ranks(bg_comm *comm)
{
    return comm != NULL ? &comm->ranks : NULL;
}

bg_status bg_comm_check(bg_comm *comm)
{
    enum { NEWS_MS = 1000 };
    char text[512] = "";
    bg_status status;
    BG__NEED(comm);
    BG__NEED_NOT_FORKED(comm);
    BG__TRY(bg__link_check(&comm->link));
    if (bg__nccl_error(comm, text, sizeof text) == ncclSuccess)
        return BG_OK;
    /* if a rank has ended, NCCL's error is only a consequence */
    if (!bg__link_await_failure(&comm->link, bg__now_ms() + NEWS_MS))
        bg__link_fail_text(&comm->link, BG_ERROR_NCCL, "NCCL's communicator has failed on rank %d: %s", comm->link.rank,
                           text);
    status = bg__link_check(&comm->link);
done:
    return status;
}

/* ---- operations ----------------------------------------------------------------------------------------------- */

bg_status bg_comm_barrier(bg_comm *comm, const char *what)
{
    BG__NEED(comm);
    BG__NEED(what);
    BG__NEED_NOT_FORKED(comm);
    return bg__exchange(&comm->link, BG__BARRIER, what, NULL, 0, NULL);
}

bg_status bg_comm_agree(bg_comm *comm, const char *what, const char *text)
{
    BG__NEED(comm);
    BG__NEED(what);
    BG__NEED(text);
    BG__NEED_NOT_FORKED(comm);
    return bg__agree(&comm->link, what, text);
}

bg_status bg_comm_max(bg_comm *comm, const char *what, int64_t mine, int64_t *largest)
{
    int64_t *all;
    bg_status status;
    BG__NEED(comm);
    BG__NEED(what);
    BG__NEED(largest);
    BG__NEED_NOT_FORKED(comm);
    all = calloc((size_t)comm->link.size, sizeof *all);
    if (all == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "%s: out of host memory for %d numbers", what, comm->link.size);
    BG__TRY(bg__exchange(&comm->link, BG__LARGEST, what, &mine, sizeof mine, all));
    *largest = mine;
    for (int i = 0; i < comm->link.size; i++)
        *largest = all[i] > *largest ? all[i] : *largest;
done:
    free(all);
    return status;
}

bg_status bg_comm_gather(bg_comm *comm, const char *what, const void *mine, size_t bytes, void *all)
{
    BG__NEED(comm);
    BG__NEED(what);
    if (bytes > 0) {
        BG__NEED(mine);
        BG__NEED(all);
    }
    BG__NEED_NOT_FORKED(comm);
    return bg__exchange(&comm->link, BG__GATHER, what, mine, bytes, all);
}

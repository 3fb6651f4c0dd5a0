/* Communicators: how their ranks find each other. */
#include "hostcuda/src/nccl/nccl_comm.h"

#ifdef HC_HAVE_NCCL

static ncclResult_t report_arena_error(ncclResult_t code)
{
    return hc_nccl_set_error(code, "%s", hc_arena_error);
}

static ncclResult_t make_id(ncclUniqueId *id)
{
    if (!id)
        return hc_nccl_set_error(ncclInvalidArgument, "ncclGetUniqueId: the address is NULL");
    return hc_arena_create((unsigned char *)id->internal) ? ncclSuccess : report_arena_error(ncclSystemError);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
    ncclResult_t result = hc_nccl_begin("ncclGetUniqueId");
    if (!result)
        result = make_id(uniqueId);
    hc_unlock();
    return result;
}

static ncclResult_t join_comm(ncclComm_t *result, int ranks, const ncclUniqueId *id, int rank, int device)
{
    struct hc_arena *arena = hc_arena_open((const unsigned char *)id->internal, ranks);
    if (!arena)
        return report_arena_error(ncclInvalidArgument);
    struct ncclComm *comm = hc_comm_make(arena, rank, device);
    if (!comm) {
        hc_arena_release(arena);
        return hc_nccl_set_error(ncclSystemError, "no memory for a communicator");
    }
    if (!hc_arena_join(arena, rank, device)) {
        hc_handle_remove(comm);
        hc_comm_release(comm);
        return report_arena_error(ncclInvalidUsage);
    }
    *result = comm;
    return ncclSuccess;
}

static ncclResult_t check_config(const ncclConfig_t *config)
{
    static const ncclConfig_t wanted = NCCL_CONFIG_INITIALIZER;
    if (!config)
        return ncclSuccess;
    if (config->magic != wanted.magic || config->size > sizeof *config)
        return hc_nccl_set_error(ncclInvalidArgument, "the configuration does not come from NCCL_CONFIG_INITIALIZER");
    if (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 && config->blocking != 1)
        return hc_nccl_set_error(ncclInvalidArgument, "the configuration's blocking is %d; allowed are 0 and 1",
                                 config->blocking);
    return ncclSuccess;
}

static ncclResult_t check_ranks(ncclComm_t *comm, int ranks, int rank)
{
    if (!comm)
        return hc_nccl_set_error(ncclInvalidArgument, "ncclCommInitRank: the address is NULL");
    *comm = NULL;
    if (ranks < 1 || rank < 0 || rank >= ranks)
        return hc_nccl_set_error(ncclInvalidArgument, "ncclCommInitRank: rank %d of %d ranks", rank, ranks);
    return ncclSuccess;
}

static ncclResult_t init_comm(ncclComm_t *slot, int ranks, const ncclUniqueId *id, int rank, bool blocking)
{
    struct ncclComm *comm = NULL;
    ncclResult_t result = join_comm(&comm, ranks, id, rank, hc_thread()->device);
    if (!comm)
        return result;
    comm->blocking = blocking;
    if (hc_nccl_in_group())
        result = hc_nccl_group_add_comm(slot, comm);
    else
        result = blocking ? hc_comm_wait_for_ranks(comm) : hc_comm_state(comm);
    if (result && result != ncclInProgress)
        hc_comm_end(comm, HC_COMM_ABORTED);
    else
        *slot = comm;
    return result;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t *config)
{
    ncclResult_t result = hc_nccl_begin("ncclCommInitRank");
    if (!result)
        result = check_ranks(comm, nranks, rank);
    if (!result)
        result = check_config(config);
    if (!result)
        result = init_comm(comm, nranks, &commId, rank, !config || config->blocking != 0);
    hc_unlock();
    return hc_nccl_group_error(result);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank)
{
    return ncclCommInitRankConfig(comm, nranks, commId, rank, NULL);
}

static ncclResult_t check_device_list(const ncclComm_t *slots, int count, const int *list)
{
    if (!slots || count < 1)
        return hc_nccl_set_error(ncclInvalidArgument, "ncclCommInitAll: %d devices%s", count,
                                 slots ? "" : ", address NULL");
    if (!list && count > hc_device_count())
        return hc_nccl_set_error(ncclInvalidUsage, "ncclCommInitAll: %d devices, but there are only %d", count,
                                 hc_device_count());
    for (int i = 0; list && i < count; i++) {
        if (list[i] < 0 || list[i] >= hc_device_count())
            return hc_nccl_set_error(ncclInvalidUsage, "ncclCommInitAll: device %d, but there are only %d devices",
                                     list[i], hc_device_count());
        for (int other = 0; other < i; other++)
            if (list[other] == list[i])
                return hc_nccl_set_error(ncclInvalidUsage, "ncclCommInitAll: device %d twice", list[i]);
    }
    return ncclSuccess;
}

static ncclResult_t init_comms(ncclComm_t *slots, int count, const int *list)
{
    ncclUniqueId id;
    ncclResult_t result = check_device_list(slots, count, list);
    if (!result)
        result = make_id(&id);
    for (int i = 0; !result && i < count; i++) {
        result = join_comm(&slots[i], count, &id, i, list ? list[i] : i);
        while (result && i-- > 0) {
            hc_comm_end(slots[i], HC_COMM_ABORTED);
            slots[i] = NULL;
        }
    }
    return result;
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist)
{
    ncclResult_t result = hc_nccl_begin("ncclCommInitAll");
    if (!result)
        result = init_comms(comm, ndev, devlist);
    hc_unlock();
    return result;
}
#endif

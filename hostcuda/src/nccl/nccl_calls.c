/* NCCL's calls that move data: their arguments are checked here. */
#include "hostcuda/src/nccl/nccl_group.h"

#ifdef HC_HAVE_NCCL
#include "hostcuda/src/memory/memory_blocks.h"
#include "hostcuda/src/nccl/nccl_reduce.h"

/* Returns how many elements a call reads from its send buffer, or writes to its receive buffer. */
static size_t element_count(const struct ncclComm *comm, const struct hc_nccl_work *work, bool sends)
{
    bool root = comm->rank == work->root;
    size_t all = work->count * (size_t)comm->ranks;
    switch (work->kind) {
    case HC_NCCL_ALL_GATHER: return sends ? work->count : all;
    case HC_NCCL_REDUCE_SCATTER: return sends ? all : work->count;
    case HC_NCCL_BROADCAST: return sends && !root ? 0 : work->count;
    case HC_NCCL_REDUCE: return sends || root ? work->count : 0;
    case HC_NCCL_SEND: return sends ? work->count : 0;
    case HC_NCCL_RECV: return sends ? 0 : work->count;
    default: return work->count;
    }
}

static ncclResult_t check_buffer(const struct ncclComm *comm, const struct hc_nccl_work *work, bool sends)
{
    const void *buffer = sends ? work->send : work->receive;
    const char *issue_call = hc_nccl_kind_name(work->kind), *name = sends ? "sendbuff" : "recvbuff";
    size_t size = hc_nccl_type_bytes(work->type), bytes = element_count(comm, work, sends) * size;
    if (!bytes)
        return ncclSuccess;
    if (!buffer)
        return hc_nccl_set_error(ncclInvalidArgument, "%s: %s is NULL", issue_call, name);
    if ((uintptr_t)buffer % size)
        return hc_nccl_set_error(ncclInvalidArgument, "%s: %s %p is not aligned for %s", issue_call, name, buffer,
                                 hc_nccl_type_name(work->type));
    if (hc_block_range_overruns(buffer, bytes))
        return hc_nccl_set_error(ncclInvalidArgument, "%s: %s needs %zu bytes, but its allocation is smaller",
                                 issue_call, name, bytes);
    return ncclSuccess;
}

/* NCCL's one-rank kernel for means does not support 8-bit floats (its onerank.cu; measured with 2.28). */
static bool is_unsupported_mean(const struct ncclComm *comm, const struct hc_nccl_work *work)
{
#if NCCL_VERSION_CODE >= 22400
    bool small = work->type == ncclFloat8e4m3 || work->type == ncclFloat8e5m2;
    return small && comm->ranks == 1 && hc_nccl_is_reduction(work->kind) && work->op == ncclAvg && work->count;
#else
    (void)comm;
    (void)work;
    return false;
#endif
}

static ncclResult_t check_work(const struct ncclComm *comm, const struct hc_nccl_work *work)
{
    const char *issue_call = hc_nccl_kind_name(work->kind);
    size_t size = hc_nccl_type_bytes(work->type);
    if (!size)
        return hc_nccl_set_error(ncclInvalidArgument, "%s: %d is not a data type", issue_call, (int)work->type);
    if (hc_nccl_is_reduction(work->kind) && ((int)work->op < 0 || (int)work->op >= ncclNumOps))
        return hc_nccl_set_error(ncclInvalidArgument, "%s: %d is not a reduction", issue_call, (int)work->op);
    if (is_unsupported_mean(comm, work))
        return hc_nccl_set_error(ncclInvalidArgument,
                                 "%s: NCCL has no ncclAvg of %s on one rank; ncclSum gives the same", issue_call,
                                 hc_nccl_type_name(work->type));
    if (work->root < 0 || work->root >= comm->ranks)
        return hc_nccl_set_error(ncclInvalidArgument, "%s: rank %d, but there are only %d ranks", issue_call,
                                 work->root, comm->ranks);
    if (work->count > SIZE_MAX / size / (size_t)comm->ranks)
        return hc_nccl_set_error(ncclInvalidArgument, "%s: count %zu overflows the size in bytes", issue_call,
                                 work->count);
    ncclResult_t result = check_buffer(comm, work, true);
    return result ? result : check_buffer(comm, work, false);
}

static ncclResult_t issue_call(ncclComm_t comm, cudaStream_t stream, struct hc_nccl_work work)
{
    ncclResult_t result = hc_nccl_begin(hc_nccl_kind_name(work.kind));
    if (!result)
        result = hc_comm_check_ready(comm);
    if (!result)
        result = check_work(comm, &work);
    if (!result)
        result = hc_nccl_issue(comm, &work, stream);
    hc_unlock();
    return hc_nccl_group_error(result);
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    return issue_call(comm, stream,
                      (struct hc_nccl_work){HC_NCCL_ALL_REDUCE, sendbuff, recvbuff, count, datatype, .op = op});
}

ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
    return issue_call(
        comm, stream,
        (struct hc_nccl_work){HC_NCCL_REDUCE, sendbuff, recvbuff, count, datatype, .op = op, .root = root});
}

ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return issue_call(comm, stream,
                      (struct hc_nccl_work){HC_NCCL_REDUCE_SCATTER, sendbuff, recvbuff, recvcount, datatype, .op = op});
}

ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream)
{
    return issue_call(comm, stream,
                      (struct hc_nccl_work){HC_NCCL_ALL_GATHER, sendbuff, recvbuff, sendcount, datatype, .root = 0});
}

ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    return issue_call(comm, stream,
                      (struct hc_nccl_work){HC_NCCL_BROADCAST, sendbuff, recvbuff, count, datatype, .root = root});
}

ncclResult_t ncclBcast(void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return issue_call(comm, stream, (struct hc_nccl_work){HC_NCCL_SEND, sendbuff, NULL, count, datatype, .root = peer});
}

ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return issue_call(comm, stream, (struct hc_nccl_work){HC_NCCL_RECV, NULL, recvbuff, count, datatype, .root = peer});
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

static ncclResult_t report_memory_error(const char *name, cudaError_t error)
{
    return error ? hc_nccl_set_error(ncclUnhandledCudaError, "%s: %s", name, cudaGetErrorString(error)) : ncclSuccess;
}

ncclResult_t ncclMemAlloc(void **ptr, size_t size)
{
    if (!ptr || !size)
        return hc_nccl_set_error(ncclInvalidArgument, "ncclMemAlloc: %s", ptr ? "0 bytes" : "the address is NULL");
    return report_memory_error("ncclMemAlloc", cudaMalloc(ptr, size));
}

ncclResult_t ncclMemFree(void *ptr)
{
    return report_memory_error("ncclMemFree", cudaFree(ptr));
}
#endif

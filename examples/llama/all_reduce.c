#include "ops.h"
#include "ranks.h"
#include <breakgraph/workspace.h>
#include <stdio.h>

#ifdef BG_NCCL
#include <nccl.h>

static bg_status check_nccl(ncclResult_t result, ncclComm_t comm, const char *call)
{
    char what[512];
    if (result == ncclSuccess)
        return BG_OK;
    snprintf(what, sizeof what, "%s: %.400s", ncclGetErrorString(result), ncclGetLastError(comm));
    return bg_report_failure(BG_ERROR_NCCL, call, what, "look at the other ranks' output, or set NCCL_DEBUG=WARN");
}

/* Looks up the communicator for each call: after a failure of the job there is none. */
static bg_status get_communicator(const llama_ranks *ranks, ncclComm_t *nccl)
{
    *nccl = ranks->comm ? bg_comm_nccl(ranks->comm) : ranks->nccl;
    if (*nccl)
        return BG_OK;
    return ranks->comm ? bg_comm_check(ranks->comm)
                       : bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "all_reduce", "no communicator",
                                           "give ranks one in comm or nccl");
}

BG_DEFINE_OP(all_reduce)
{
    ncclComm_t nccl = NULL;
    bg_status status = get_communicator(args->ranks, &nccl);
    size_t count = bg_tensor_bytes(&args->x) / bg_dtype_bytes(args->x.dtype);
    if (status != BG_OK)
        return status;
    if (args->x.dtype != BG_F32)
        return bg_report_failure(BG_ERROR_DTYPE, "all_reduce", "x is not f32", "give a tensor of BG_F32");
    llama_count_launch();
    return check_nccl(ncclAllReduce(args->x.data, args->x.data, count, ncclFloat, ncclSum, nccl, stream), nccl,
                      "ncclAllReduce");
}
#else
BG_DEFINE_OP(all_reduce)
{
    (void)args;
    (void)stream;
    return bg_report_failure(BG_ERROR_UNSUPPORTED, "all_reduce", "this program was built without NCCL",
                             "install NCCL and build again");
}
#endif

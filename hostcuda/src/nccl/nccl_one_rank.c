/* Collectives of one rank. NCCL turns each collective into a plain copy, or into nothing if it is in place. A mean of
 * floats is a kernel even in place (measured with 2.28, and in NCCL's onerank.cu). */
#include "hostcuda/src/graph/graph_object.h"
#include "hostcuda/src/kernel/kernel_table.h"
#include "hostcuda/src/nccl/nccl_reduce.h"
#include "hostcuda/src/nccl/nccl_work.h"
#include "hostcuda/src/op/op_kinds.h"
#include "hostcuda/src/op/params.h"
#include "hostcuda/src/stream/submit.h"

#ifdef HC_HAVE_NCCL
#include <string.h>

/* The mean of one value is the value itself. */
static void run_mean(const void *function, void **arguments)
{
    (void)function;
    memmove(*(void **)arguments[0], *(const void **)arguments[1], *(const size_t *)arguments[2]);
}

static const size_t offsets[] = {0, sizeof(void *), 2 * sizeof(void *)};
static const size_t sizes[] = {sizeof(void *), sizeof(void *), sizeof(size_t)};
static const struct hostcuda_kernel_type mean_type = {run_mean, 3, offsets, sizes};

static cudaError_t make_mean_op(const struct hc_nccl_work *work, size_t bytes, struct hc_op **op)
{
    const dim3 one = {1, 1, 1};
    struct hc_nccl_work copy = *work;
    void *arguments[] = {&copy.receive, &copy.send, &bytes};
    struct hc_kernel *kernel =
        hc_kernel_register_native((const void *)(uintptr_t)&run_mean, &mean_type, "hostcuda_nccl_one_rank");
    *op = kernel ? hc_op_make_launch(kernel, one, one, 0, arguments) : NULL;
    return *op ? cudaSuccess : cudaErrorMemoryAllocation;
}

static bool is_float(ncclDataType_t type)
{
    return type > ncclUint64; /* integers come first */
}

cudaError_t hc_nccl_issue_one_rank(const struct hc_nccl_work *work, cudaStream_t stream)
{
    struct hc_op *op = NULL;
    size_t bytes = work->count * hc_nccl_type_bytes(work->type);
    bool is_mean = hc_nccl_is_reduction(work->kind) && work->op == ncclAvg && is_float(work->type);
    if (!bytes || (!is_mean && work->send == work->receive))
        return cudaSuccess;
    cudaError_t error = is_mean ? make_mean_op(work, bytes, &op)
                                : hc_op_from_copy_1d(work->receive, work->send, bytes, cudaMemcpyDefault, &op);
    return error ? error : hc_stream_submit(stream, op);
}
#endif

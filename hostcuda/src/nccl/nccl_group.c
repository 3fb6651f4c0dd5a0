#include "hostcuda/src/nccl/nccl_group.h"

#ifdef HC_HAVE_NCCL
#include "hostcuda/src/core/core_grow.h"
#include "hostcuda/src/stream/queue.h"
#include "hostcuda/src/stream/submit.h"

#include <stdlib.h>
#include <string.h>

struct issue {
    struct ncclComm *comm;
    cudaStream_t handle; /* the program's handle */
    cudaStream_t stream; /* set when the group ends */
    struct hc_nccl_work work;
};

struct new_comm {
    ncclComm_t *slot;
    struct ncclComm *comm;
};

/* The calling thread's open group. */
struct group {
    int depth;
    ncclResult_t error; /* the first error */
    struct issue *issues;
    size_t issue_count, issue_room;
    struct new_comm *new_comms;
    size_t new_comm_count, new_comm_room;
};
static _Thread_local struct group group;

bool hc_nccl_in_group(void)
{
    return group.depth > 0;
}

ncclResult_t hc_nccl_group_error(ncclResult_t code)
{
    if (group.depth && !group.error && code != ncclInProgress)
        group.error = code;
    return code;
}

static ncclResult_t report_no_memory(void)
{
    return hc_nccl_set_error(ncclSystemError, "no memory for a group of calls");
}

/* ---- streams -------------------------------------------------------------------------------------------------- */

static ncclResult_t report_cuda_error(cudaError_t error)
{
    return error ? hc_nccl_set_error(ncclUnhandledCudaError, "stream: %s", cudaGetErrorString(error)) : ncclSuccess;
}

/* A default stream handle means the default stream of the communicator's device. */
static cudaError_t find_stream(struct issue *issue)
{
    struct hc_thread *thread = hc_thread();
    int device = thread->device;
    if (hc_device(issue->comm->device)->sticky)
        return hc_device(issue->comm->device)->sticky;
    thread->device = issue->comm->device;
    cudaError_t error = hc_stream_for_work(issue->handle, &issue->stream);
    thread->device = device;
    if (!error && issue->stream->device != issue->comm->device)
        error = cudaErrorInvalidResourceHandle;
    return error;
}

static bool is_first_of_stream(const struct issue *issues, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (issues[i].stream == issues[index].stream)
            return false;
    return true;
}

static ncclResult_t find_streams(struct issue *issues, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cudaError_t error = find_stream(&issues[i]);
        if (error)
            return report_cuda_error(error);
        if (issues[i].stream->capture != issues[0].stream->capture)
            return hc_nccl_set_error(ncclInvalidUsage,
                                     "a communicator's calls in one group are on streams of different captures, or "
                                     "only some of them are captured");
    }
    return ncclSuccess;
}

/* Work issued to `then` from now on runs after all work issued to `first`. */
static cudaError_t order_streams(cudaStream_t first, cudaStream_t then)
{
    if (first->capture)
        return hc_nodes_add_all(&then->frontier, &first->frontier) ? cudaSuccess : cudaErrorMemoryAllocation;
    struct hc_token *token = hc_token_make();
    if (!token)
        return cudaErrorMemoryAllocation;
    hc_token_retain(token);
    cudaError_t error = hc_queue_token(first, HC_ITEM_RECORD, token);
    if (error)
        hc_token_release(token);
    else
        error = hc_queue_token(then, HC_ITEM_WAIT, token);
    return error;
}

/* ---- one communicator's calls --------------------------------------------------------------------------------- */

static struct hc_op *make_batch_op(const struct issue *issues, size_t count)
{
    struct hc_nccl_batch *batch = hc_nccl_batch_make(issues[0].comm, count);
    if (!batch)
        return NULL;
    for (size_t i = 0; i < count; i++)
        batch->works[i] = issues[i].work;
    struct hc_op *op = hc_nccl_make_op(batch);
    hc_nccl_batch_release(batch); /* the op has its own reference */
    return op;
}

static cudaError_t submit_op(struct ncclComm *comm, cudaStream_t stream, struct hc_op *op)
{
    return stream->capture ? hc_nccl_capture(comm, stream, op) : hc_stream_submit(stream, op);
}

/* Issues one op on the first call's stream; the streams of the other calls wait before and after it. */
static ncclResult_t issue_batch(struct issue *issues, size_t count)
{
    struct ncclComm *comm = issues[0].comm;
    ncclResult_t result = hc_comm_check_ready(comm);
    if (!result)
        result = find_streams(issues, count);
    if (result)
        return result;
    cudaStream_t stream = issues[0].stream;
    struct hc_op *op = make_batch_op(issues, count);
    cudaError_t error = op ? cudaSuccess : cudaErrorMemoryAllocation;
    for (size_t i = 1; !error && i < count; i++)
        if (is_first_of_stream(issues, i))
            error = order_streams(issues[i].stream, stream);
    if (error)
        hc_op_release(op);
    else
        error = submit_op(comm, stream, op);
    for (size_t i = 1; !error && i < count; i++)
        if (is_first_of_stream(issues, i))
            error = order_streams(stream, issues[i].stream);
    return report_cuda_error(error);
}

/* Moves all calls of the first call's communicator to the front, in order of issue. Returns their number. */
static size_t gather_calls(struct issue *issues, size_t count)
{
    size_t front = 1;
    for (size_t i = 1; i < count; i++) {
        if (issues[i].comm != issues[0].comm)
            continue;
        struct issue issue = issues[i];
        memmove(&issues[front + 1], &issues[front], (i - front) * sizeof issue);
        issues[front++] = issue;
    }
    return front;
}

static ncclResult_t issue_all(struct issue *issues, size_t count)
{
    ncclResult_t result = ncclSuccess;
    while (count && !result) {
        size_t taken = gather_calls(issues, count);
        result = issue_batch(issues, taken);
        issues += taken;
        count -= taken;
    }
    return result;
}

/* Issues a call of a communicator that has one rank. NCCL issues such a call at once, even in a group, and only the
 * stream orders it (measured, and in NCCL's enqueue.cc). */
static ncclResult_t issue_one_rank(struct issue *issue)
{
    cudaError_t error = find_stream(issue);
    return report_cuda_error(error ? error : hc_nccl_issue_one_rank(&issue->work, issue->stream));
}

ncclResult_t hc_nccl_issue(struct ncclComm *comm, const struct hc_nccl_work *work, cudaStream_t stream)
{
    struct issue issue = {.comm = comm, .handle = stream, .work = *work};
    if (comm->ranks == 1 && hc_nccl_is_collective(work->kind))
        return issue_one_rank(&issue);
    if (!group.depth)
        return issue_batch(&issue, 1);
    cudaError_t error = find_stream(&issue);
    if (error)
        return report_cuda_error(error);
    if (!hc_array_reserve(&group.issues, &group.issue_room, group.issue_count + 1, sizeof issue))
        return report_no_memory();
    group.issues[group.issue_count++] = issue;
    return ncclSuccess;
}

/* ---- communicators -------------------------------------------------------------------------------------------- */

ncclResult_t hc_nccl_group_add_comm(ncclComm_t *slot, struct ncclComm *comm)
{
    if (!hc_array_reserve(&group.new_comms, &group.new_comm_room, group.new_comm_count + 1, sizeof *group.new_comms))
        return report_no_memory();
    group.new_comms[group.new_comm_count++] = (struct new_comm){slot, comm};
    return ncclSuccess;
}

static ncclResult_t join_comms(const struct new_comm *new_comms, size_t count)
{
    ncclResult_t result = ncclSuccess;
    for (size_t i = 0; i < count && (!result || result == ncclInProgress); i++) {
        struct ncclComm *comm = new_comms[i].comm;
        ncclResult_t joined = comm->blocking ? hc_comm_wait_for_ranks(comm) : hc_comm_state(comm);
        if (joined)
            result = joined;
    }
    return result;
}

static void abort_comms(const struct new_comm *new_comms, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hc_comm_end(new_comms[i].comm, HC_COMM_ABORTED);
        *new_comms[i].slot = NULL;
    }
}

/* ---- API ------------------------------------------------------------------------------------------------------ */

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

static ncclResult_t end_group(const struct group *ended)
{
    ncclResult_t result = hc_nccl_begin("ncclGroupEnd");
    if (ended->error)
        result = ended->error;
    if (!result)
        result = join_comms(ended->new_comms, ended->new_comm_count);
    if (result && result != ncclInProgress)
        abort_comms(ended->new_comms, ended->new_comm_count);
    if (!result)
        result = issue_all(ended->issues, ended->issue_count);
    hc_unlock();
    free(ended->issues);
    free(ended->new_comms);
    return result;
}

ncclResult_t ncclGroupEnd(void)
{
    if (!group.depth)
        return hc_nccl_set_error(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
    if (--group.depth)
        return ncclSuccess;
    const struct group ended = group;
    memset(&group, 0, sizeof group);
    return end_group(&ended);
}
#endif

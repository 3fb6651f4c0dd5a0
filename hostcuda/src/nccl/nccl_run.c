/* Batches as kernels. A batch that cannot go on waits in its stream's queue, so that one thread can serve several
 * ranks. */
#include "hostcuda/src/nccl/nccl_work.h"
#include "hostcuda/src/op/op_kinds.h"
#include "hostcuda/src/stream/queue.h"
#include "hostcuda/src/stream/stream.h"

#ifdef HC_HAVE_NCCL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hc_nccl_batch *hc_nccl_batch_make(struct ncclComm *comm, size_t count)
{
    struct hc_nccl_batch *batch = calloc(1, sizeof *batch + count * sizeof batch->works[0]);
    if (!batch)
        return NULL;
    batch->references = 1;
    batch->comm = comm;
    batch->count = count;
    comm->references++;
    return batch;
}

void hc_nccl_batch_release(struct hc_nccl_batch *batch)
{
    if (--batch->references)
        return;
    hc_comm_release(batch->comm);
    free(batch);
}

static struct hc_nccl_batch *batch_of(void **arguments)
{
    return *(struct hc_nccl_batch **)arguments[0];
}

/* ---- running -------------------------------------------------------------------------------------------------- */

/* Works that must run one after the other: all collectives, sends to the same rank, receives from the same rank. */
static bool must_run_in_order(const struct hc_nccl_work *a, const struct hc_nccl_work *b)
{
    if (hc_nccl_is_collective(a->kind))
        return hc_nccl_is_collective(b->kind);
    return a->kind == b->kind && a->root == b->root;
}

static bool is_next(const struct hc_nccl_batch *batch, size_t index)
{
    const struct hc_nccl_work *work = &batch->works[index];
    if (hc_nccl_work_done(work))
        return false;
    for (size_t i = 0; i < index; i++)
        if (must_run_in_order(&batch->works[i], work) && !hc_nccl_work_done(&batch->works[i]))
            return false;
    return true;
}

static void start_batch(struct hc_nccl_batch *batch, void **arguments)
{
    for (size_t i = 0; i < batch->count; i++)
        hc_nccl_work_start(batch->comm, &batch->works[i]);
    /* an op made again from a node's parameters has its own addresses */
    memcpy(&batch->works[0].send, arguments[1], sizeof batch->works[0].send);
    memcpy(&batch->works[0].receive, arguments[2], sizeof batch->works[0].receive);
    batch->started = true;
    batch->comm->running = batch;
}

static void end_batch(struct hc_nccl_batch *batch)
{
    batch->started = false;
    if (batch->comm->running == batch)
        batch->comm->running = NULL;
}

/* Transfers everything that can be transferred now. Returns true if the batch is done. */
static bool run_transfers(struct hc_nccl_batch *batch)
{
    bool moved = true, all = false;
    while (moved && !all) {
        moved = false;
        all = true;
        for (size_t i = 0; i < batch->count; i++) {
            while (is_next(batch, i) && hc_nccl_work_step(batch->comm, &batch->works[i])) {
                hc_arena_record_progress(batch->comm->arena, batch->comm->rank);
                moved = true;
            }
            all = all && hc_nccl_work_done(&batch->works[i]);
        }
    }
    return all;
}

static int life_of(const struct ncclComm *comm)
{
    return __atomic_load_n(&comm->life, __ATOMIC_ACQUIRE);
}

static bool has_ended(const struct ncclComm *comm)
{
    return life_of(comm) == HC_COMM_ABORTED || hc_comm_failed(comm);
}

/* After a failure or an abort, the op ends as NCCL's kernels do, and does not write its outputs. */
static void run_batch(const void *function, void **arguments)
{
    (void)function;
    struct hc_nccl_batch *batch = batch_of(arguments);
    if (life_of(batch->comm) == HC_COMM_DESTROYED) {
        fprintf(stderr, "hostcuda: %s runs after its communicator was destroyed\n",
                hc_nccl_kind_name(batch->works[0].kind));
        hc_kernel_fail();
        return;
    }
    if (!batch->started)
        start_batch(batch, arguments);
    if (has_ended(batch->comm) || run_transfers(batch) || has_ended(batch->comm))
        end_batch(batch);
    else
        hc_kernel_not_done();
}

/* ---- waiting -------------------------------------------------------------------------------------------------- */

static bool has_op_of(const struct ncclComm *comm, const struct hc_op *op);

bool hc_nccl_has_queued_op(const struct ncclComm *comm, uint64_t before)
{
    for (const struct CUstream_st *stream = hc_streams; stream; stream = stream->next) {
        for (const struct hc_item *item = stream->head; item && item->sequence < before; item = item->next) {
            if (item->kind == HC_ITEM_OP && has_op_of(comm, item->op))
                return true;
            for (size_t i = 0; item->kind == HC_ITEM_GRAPH && i < item->program->count; i++)
                if (has_op_of(comm, item->program->ops[i]))
                    return true;
        }
    }
    return false;
}

static bool can_progress(const struct hc_nccl_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (is_next(batch, i) && hc_nccl_work_can_step(batch->comm, &batch->works[i]))
            return true;
    return false;
}

/* Returns the ranks that the batch waits for, one bit each, and one of the calls. */
static uint64_t awaited_ranks(const struct hc_nccl_batch *batch, int *in)
{
    uint64_t on = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (!is_next(batch, i))
            continue;
        if (!on)
            *in = batch->works[i].kind;
        on |= hc_nccl_work_awaited_ranks(batch->comm, &batch->works[i]);
    }
    return on;
}

static void fail_deadlock(struct ncclComm *comm, uint64_t stuck)
{
    char text[HC_FAILURE_BYTES - 64] = "";
    size_t used = 0;
    for (int rank = 0; rank < comm->ranks && used < sizeof text - 64; rank++)
        if (stuck >> rank & 1)
            used += (size_t)snprintf(text + used, sizeof text - used, "%srank %d in %s", used ? ", " : "", rank,
                                     hc_nccl_kind_name(comm->arena->boards[rank].blocked_in));
    hc_comm_fail(comm, ncclInvalidUsage, "deadlock: the ranks wait for each other: %s", text);
}

/* Called when nothing can be transferred. Fails the communicator if a rank has gone, or all ranks wait for each other.
 */
static void wait_for_others(struct hc_nccl_batch *batch, uint64_t moves, uint64_t on, int in)
{
    struct ncclComm *comm = batch->comm;
    const char *why = NULL;
    int again = 0;
    hc_arena_record_wait(comm->arena, comm->rank, moves, on, in);
    bool look = hc_comm_poll_wait(comm, on, hc_nccl_kind_name(in));
    int rank = hc_comm_find_gone_rank(comm, on, &why);
    /* its last chunk may have arrived since */
    if (rank >= 0 && !can_progress(batch) && awaited_ranks(batch, &again) >> rank & 1)
        hc_comm_fail(comm, ncclRemoteError, "rank %d %s, and rank %d waits for it in %s", rank, why, comm->rank,
                     hc_nccl_kind_name(in));
    uint64_t stuck = look ? hc_arena_find_deadlock(comm->arena, comm->rank) : 0;
    if (stuck)
        fail_deadlock(comm, stuck);
}

/* A communicator's ops run in order of issue on all ranks. */
static bool is_batch_ready(void **arguments, uint64_t sequence)
{
    struct hc_nccl_batch *batch = batch_of(arguments);
    struct ncclComm *comm = batch->comm;
    if (hc_nccl_has_queued_op(comm, sequence) || (comm->running && comm->running != batch))
        return false;
    if (!batch->started || comm->life >= HC_COMM_DESTROYED || hc_comm_failed(comm))
        return true;
    /* in this order: a later move can only make the batch look less stuck than it is */
    int in = 0;
    uint64_t moves = hc_arena_progress_count(comm->arena), on = awaited_ranks(batch, &in);
    if (can_progress(batch)) {
        hc_comm_reset_wait(comm);
        return true;
    }
    wait_for_others(batch, moves, on, in);
    return hc_comm_failed(comm);
}

static void skip_batch(void **arguments)
{
    struct hc_nccl_batch *batch = batch_of(arguments);
    if (batch->comm->life < HC_COMM_DESTROYED)
        hc_comm_fail(batch->comm, ncclUnhandledCudaError, "device %d of rank %d has failed", batch->comm->device,
                     batch->comm->rank);
    end_batch(batch);
}

/* ---- ops ------------------------------------------------------------------------------------------------------ */

static void retain_batch(void **arguments)
{
    batch_of(arguments)->references++;
}

static void release_batch(void **arguments)
{
    hc_nccl_batch_release(batch_of(arguments));
}

/* Graphs show a kernel of three parameters: the batch, and the first call's addresses. */
static const size_t offsets[] = {0, sizeof(void *), 2 * sizeof(void *)};
static const size_t sizes[] = {sizeof(void *), sizeof(void *), sizeof(void *)};
static const struct hostcuda_kernel_type batch_type = {run_batch, 3, offsets, sizes};
static const struct hc_kernel_hooks hooks = {retain_batch, release_batch, is_batch_ready, skip_batch};

static bool has_op_of(const struct ncclComm *comm, const struct hc_op *op)
{
    return op->kind == HC_OP_KERNEL && op->launch.kernel->hooks == &hooks &&
           batch_of(op->launch.arguments)->comm == comm;
}

struct hc_op *hc_nccl_make_op(struct hc_nccl_batch *batch)
{
    const dim3 one = {1, 1, 1};
    void *arguments[] = {&batch, &batch->works[0].send, &batch->works[0].receive};
    struct hc_kernel *kernel =
        hc_kernel_register_native((const void *)(uintptr_t)&run_batch, &batch_type, "hostcuda_nccl");
    if (!kernel)
        return NULL;
    kernel->hooks = &hooks;
    return hc_op_make_launch(kernel, one, one, 0, arguments);
}
#endif

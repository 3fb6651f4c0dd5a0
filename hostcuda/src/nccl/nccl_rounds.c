/* Moves data between ranks in rounds of one chunk. In a collective, each rank publishes its buffer on its board, and
 * reads the boards when all ranks have published the round. Sends and receives do the same between two ranks. Nothing
 * here blocks. */
#include "hostcuda/src/nccl/nccl_work.h"

#ifdef HC_HAVE_NCCL
#include "hostcuda/src/nccl/nccl_reduce.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    [HC_NCCL_ALL_REDUCE] = "ncclAllReduce",
    [HC_NCCL_REDUCE] = "ncclReduce",
    [HC_NCCL_ALL_GATHER] = "ncclAllGather",
    [HC_NCCL_REDUCE_SCATTER] = "ncclReduceScatter",
    [HC_NCCL_BROADCAST] = "ncclBroadcast",
    [HC_NCCL_SEND] = "ncclSend",
    [HC_NCCL_RECV] = "ncclRecv",
};

const char *hc_nccl_kind_name(int kind)
{
    return kind_names[kind];
}

bool hc_nccl_is_collective(int kind)
{
    return kind < HC_NCCL_SEND;
}

bool hc_nccl_is_reduction(int kind)
{
    return kind == HC_NCCL_ALL_REDUCE || kind == HC_NCCL_REDUCE || kind == HC_NCCL_REDUCE_SCATTER;
}

bool hc_nccl_has_root(int kind)
{
    return kind == HC_NCCL_REDUCE || kind == HC_NCCL_BROADCAST;
}

/* ---- comparing the ranks' calls ------------------------------------------------------------------------------- */

/* Returns the call in a form that is equal on ranks that agree. */
static struct hc_nccl_call call_of(const struct hc_nccl_work *work)
{
    struct hc_nccl_call call = {.kind = work->kind, .type = work->type, .op = -1, .root = -1, .count = work->count};
    if (hc_nccl_is_reduction(work->kind))
        call.op = work->op;
    if (hc_nccl_has_root(work->kind))
        call.root = work->root;
    if (work->kind == HC_NCCL_RECV)
        call.kind = HC_NCCL_SEND;
    return call;
}

static bool same_call(const struct hc_nccl_call *a, const struct hc_nccl_call *b)
{
    return a->kind == b->kind && a->type == b->type && a->op == b->op && a->root == b->root && a->count == b->count;
}

enum { DESCRIPTION = 160 };

static const char *describe_call(char text[DESCRIPTION], const struct hc_nccl_call *call)
{
    char op[24] = "", root[24] = "";
    if (call->op >= 0)
        snprintf(op, sizeof op, ", %s", hc_nccl_op_name(call->op));
    if (call->root >= 0)
        snprintf(root, sizeof root, ", root %d", call->root);
    snprintf(text, DESCRIPTION, "%s(count %llu, %s%s%s)", hc_nccl_kind_name(call->kind),
             (unsigned long long)call->count, hc_nccl_type_name(call->type), op, root);
    return text;
}

/* ---- rounds --------------------------------------------------------------------------------------------------- */

static uint64_t load_counter(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static void increment_counter(uint64_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELEASE);
}

static size_t bytes_of(const struct hc_nccl_work *work)
{
    return work->count * hc_nccl_type_bytes(work->type);
}

/* Returns how many bytes a rank publishes in total. */
static size_t published_bytes(const struct ncclComm *comm, const struct hc_nccl_work *work, int rank)
{
    switch (work->kind) {
    case HC_NCCL_REDUCE_SCATTER: return bytes_of(work) * (size_t)comm->ranks;
    case HC_NCCL_BROADCAST: return rank == work->root ? bytes_of(work) : 0;
    default: return bytes_of(work);
    }
}

void hc_nccl_work_start(const struct ncclComm *comm, struct hc_nccl_work *work)
{
    size_t bytes = bytes_of(work);
    if (work->kind == HC_NCCL_REDUCE_SCATTER)
        bytes *= (size_t)comm->ranks;
    /* without data, the ranks still compare their calls */
    work->rounds = bytes ? (bytes + HC_CHUNK_BYTES - 1) / HC_CHUNK_BYTES : 1;
    work->given = work->taken = 0;
}

bool hc_nccl_work_done(const struct hc_nccl_work *work)
{
    return work->taken == work->rounds;
}

/* One round carries a part of a buffer of `bytes` bytes. Returns the size of the part, and sets *from to its start. */
static size_t round_part(uint64_t round, size_t bytes, size_t *from)
{
    *from = round * HC_CHUNK_BYTES < bytes ? round * HC_CHUNK_BYTES : bytes;
    return bytes - *from < HC_CHUNK_BYTES ? bytes - *from : HC_CHUNK_BYTES;
}

/* ---- collectives ---------------------------------------------------------------------------------------------- */

static uint64_t rank_bit(int rank)
{
    return (uint64_t)1 << rank;
}

/* Returns the ranks that have not yet read the slot which the next round overwrites. */
static uint64_t ranks_awaited_to_publish(const struct ncclComm *comm)
{
    const struct hc_nccl_board *boards = comm->arena->boards;
    uint64_t round = boards[comm->rank].published, awaited = 0;
    for (int rank = 0; rank < comm->ranks; rank++)
        if (load_counter(&boards[rank].consumed) + HC_SLOTS <= round)
            awaited |= rank_bit(rank);
    return awaited;
}

/* Returns the ranks that have not yet published the round. */
static uint64_t ranks_awaited_to_read(const struct ncclComm *comm)
{
    const struct hc_nccl_board *boards = comm->arena->boards;
    uint64_t round = boards[comm->rank].consumed, awaited = 0;
    for (int rank = 0; rank < comm->ranks; rank++)
        if (load_counter(&boards[rank].published) <= round)
            awaited |= rank_bit(rank);
    return awaited;
}

static bool can_read_round(const struct ncclComm *comm, const struct hc_nccl_work *work)
{
    return work->taken < work->given && !ranks_awaited_to_read(comm);
}

static bool can_publish_round(const struct ncclComm *comm, const struct hc_nccl_work *work)
{
    return work->given < work->rounds && !ranks_awaited_to_publish(comm);
}

static void publish_round(const struct ncclComm *comm, struct hc_nccl_work *work)
{
    struct hc_nccl_board *board = &comm->arena->boards[comm->rank];
    struct hc_nccl_slot *slot = &board->slots[board->published % HC_SLOTS];
    size_t from = 0, size = round_part(work->given, published_bytes(comm, work, comm->rank), &from);
    slot->call = call_of(work);
    if (size)
        memcpy(slot->data, (const char *)work->send + from, size);
    increment_counter(&board->published);
    work->given++;
}

static const struct hc_nccl_slot *slot_of(const struct ncclComm *comm, int rank)
{
    const struct hc_nccl_board *boards = comm->arena->boards;
    return &boards[rank].slots[boards[comm->rank].consumed % HC_SLOTS];
}

static bool compare_calls(struct ncclComm *comm)
{
    char mine[DESCRIPTION], theirs[DESCRIPTION];
    const struct hc_nccl_call *first = &slot_of(comm, 0)->call;
    for (int rank = 1; rank < comm->ranks; rank++) {
        const struct hc_nccl_call *call = &slot_of(comm, rank)->call;
        if (same_call(first, call))
            continue;
        hc_comm_fail(comm, ncclInvalidUsage, "the ranks disagree: rank 0 calls %s, rank %d calls %s",
                     describe_call(mine, first), rank, describe_call(theirs, call));
        return false;
    }
    return true;
}

static void reduce_chunks(const struct ncclComm *comm, const struct hc_nccl_work *work, size_t offset, void *out,
                          size_t size)
{
    const void *inputs[HC_RANKS_MAX];
    for (int rank = 0; rank < comm->ranks; rank++)
        inputs[rank] = slot_of(comm, rank)->data + offset;
    hc_nccl_reduce(out, inputs, comm->ranks, size / hc_nccl_type_bytes(work->type), work->type, work->op);
}

/* Reduces the part of this rank's share that the round carries. The share is a range of the published buffer. */
static void reduce_own_share(const struct ncclComm *comm, const struct hc_nccl_work *work, size_t from, size_t size)
{
    size_t bytes = bytes_of(work), start = bytes * (size_t)comm->rank, end = start + bytes;
    size_t low = from > start ? from : start, high = from + size < end ? from + size : end;
    if (low < high)
        reduce_chunks(comm, work, low - from, (char *)work->receive + (low - start), high - low);
}

static void copy_chunk(const struct ncclComm *comm, const struct hc_nccl_work *work, int rank, size_t at, size_t size)
{
    memcpy((char *)work->receive + at, slot_of(comm, rank)->data, size);
}

static void read_chunks(const struct ncclComm *comm, const struct hc_nccl_work *work, size_t from, size_t size)
{
    switch (work->kind) {
    case HC_NCCL_REDUCE:
        if (comm->rank == work->root)
            reduce_chunks(comm, work, 0, (char *)work->receive + from, size);
        break;
    case HC_NCCL_ALL_GATHER:
        for (int rank = 0; rank < comm->ranks; rank++)
            copy_chunk(comm, work, rank, (size_t)rank * bytes_of(work) + from, size);
        break;
    case HC_NCCL_REDUCE_SCATTER: reduce_own_share(comm, work, from, size); break;
    case HC_NCCL_BROADCAST: copy_chunk(comm, work, work->root, from, size); break;
    default: reduce_chunks(comm, work, 0, (char *)work->receive + from, size); break;
    }
}

static void read_round(const struct ncclComm *comm, struct hc_nccl_work *work)
{
    int widest = work->kind == HC_NCCL_BROADCAST ? work->root : comm->rank;
    size_t from = 0, size = round_part(work->taken, published_bytes(comm, work, widest), &from);
    if (size)
        read_chunks(comm, work, from, size);
    increment_counter(&comm->arena->boards[comm->rank].consumed);
    work->taken++;
}

static bool step_collective(struct ncclComm *comm, struct hc_nccl_work *work)
{
    if (can_read_round(comm, work)) {
        if (!compare_calls(comm))
            return false;
        read_round(comm, work);
        return true;
    }
    if (!can_publish_round(comm, work))
        return false;
    publish_round(comm, work);
    return true;
}

/* ---- sends and receives --------------------------------------------------------------------------------------- */

static struct hc_nccl_channel *channel_of(const struct ncclComm *comm, const struct hc_nccl_work *work)
{
    bool sends = work->kind == HC_NCCL_SEND;
    return hc_arena_channel(comm->arena, sends ? comm->rank : work->root, sends ? work->root : comm->rank);
}

static bool channel_open(const struct ncclComm *comm, const struct hc_nccl_work *work)
{
    const struct hc_nccl_channel *channel = channel_of(comm, work);
    uint64_t written = load_counter(&channel->written), read = load_counter(&channel->read);
    return work->kind == HC_NCCL_SEND ? written - read < HC_SLOTS : written > read;
}

static void send_part(const struct ncclComm *comm, struct hc_nccl_work *work)
{
    struct hc_nccl_channel *channel = channel_of(comm, work);
    struct hc_nccl_slot *slot = &channel->slots[channel->written % HC_SLOTS];
    size_t from = 0, size = round_part(work->given, bytes_of(work), &from);
    slot->call = call_of(work);
    if (size)
        memcpy(slot->data, (const char *)work->send + from, size);
    increment_counter(&channel->written);
    work->taken = ++work->given;
}

static bool receive_part(struct ncclComm *comm, struct hc_nccl_work *work)
{
    struct hc_nccl_channel *channel = channel_of(comm, work);
    const struct hc_nccl_slot *slot = &channel->slots[channel->read % HC_SLOTS];
    const struct hc_nccl_call wanted = call_of(work);
    if (!same_call(&slot->call, &wanted)) {
        hc_comm_fail(comm, ncclInvalidUsage,
                     "the ranks disagree: rank %d receives count %zu, %s from rank %d, which sends count %llu, %s",
                     comm->rank, work->count, hc_nccl_type_name(work->type), work->root,
                     (unsigned long long)slot->call.count, hc_nccl_type_name(slot->call.type));
        return false;
    }
    size_t from = 0, size = round_part(work->taken, bytes_of(work), &from);
    if (size)
        memcpy((char *)work->receive + from, slot->data, size);
    increment_counter(&channel->read);
    work->given = ++work->taken;
    return true;
}

/* ---- one work ------------------------------------------------------------------------------------------------- */

bool hc_nccl_work_can_step(const struct ncclComm *comm, const struct hc_nccl_work *work)
{
    if (!hc_nccl_is_collective(work->kind))
        return channel_open(comm, work);
    return can_read_round(comm, work) || can_publish_round(comm, work);
}

bool hc_nccl_work_step(struct ncclComm *comm, struct hc_nccl_work *work)
{
    if (hc_nccl_is_collective(work->kind))
        return step_collective(comm, work);
    if (!channel_open(comm, work))
        return false;
    if (work->kind == HC_NCCL_RECV)
        return receive_part(comm, work);
    send_part(comm, work);
    return true;
}

uint64_t hc_nccl_work_awaited_ranks(const struct ncclComm *comm, const struct hc_nccl_work *work)
{
    uint64_t awaited = 0;
    if (!hc_nccl_is_collective(work->kind))
        return rank_bit(work->root);
    if (work->taken < work->given)
        awaited |= ranks_awaited_to_read(comm);
    if (work->given < work->rounds)
        awaited |= ranks_awaited_to_publish(comm);
    return awaited;
}
#endif

/* Memory that the ranks of a communicator share, whether they are threads or processes. The memory holds the state of
 * each rank, the data that a rank publishes to all others (its board), and the data that one rank sends to another
 * (channels). The memory has no file name: the unique id contains a process id and a file descriptor of that
 * process. */
#ifndef HOSTCUDA_NCCL_ARENA_H
#define HOSTCUDA_NCCL_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HC_RANKS_MAX = 64, HC_CHUNK_BYTES = 128 << 10, HC_SLOTS = 2, HC_ID_BYTES = 128, HC_FAILURE_BYTES = 512 };

enum hc_rank_state { HC_RANK_ABSENT, HC_RANK_CLAIMED, HC_RANK_JOINED, HC_RANK_LEFT, HC_RANK_ABORTED };

/* What a rank calls, so that the others can compare it with their calls. */
struct hc_nccl_call {
    int kind, type, op, root;
    uint64_t count;
};

struct hc_nccl_slot {
    struct hc_nccl_call call;
    _Alignas(64) unsigned char data[HC_CHUNK_BYTES];
};

/* Rounds are counted over the communicator's life. Round n uses slot n % HC_SLOTS. */
struct hc_nccl_board {
    _Alignas(64) int state; /* an enum hc_rank_state */
    int pid, device;
    uint64_t started; /* the start time of its process, since process ids are reused */
    _Alignas(64) uint64_t published;
    _Alignas(64) uint64_t consumed;
    /* The call in which the rank waits (blocked_in), and the ranks that it waits for (blocked_on, one bit each).
     * blocked_at is 1 more than the number of all ranks' moves before the wait; 0: the rank does not wait. */
    _Alignas(64) uint64_t blocked_at;
    uint64_t blocked_on;
    int blocked_in;
    struct hc_nccl_slot slots[HC_SLOTS];
};

struct hc_nccl_channel {
    _Alignas(64) uint64_t written;
    _Alignas(64) uint64_t read;
    struct hc_nccl_slot slots[HC_SLOTS];
};

/* This process's view of the shared memory. The lock guards it; shared fields are atomic, or belong to one rank at a
 * time. */
struct hc_arena {
    struct hc_arena *next; /* list of all arenas of this process */
    unsigned references;
    bool id_pending; /* one reference is the unique id's, until all ranks have joined */
    int descriptor;
    struct hc_arena_head *head;
    struct hc_nccl_board *boards; /* NULL until the number of ranks is known */
    struct hc_nccl_channel *channels;
    size_t bytes;
};

/* All functions below need the lock. Functions that fail return NULL or false, with a sentence in hc_arena_error. */
extern _Thread_local char hc_arena_error[256];
bool hc_arena_create(unsigned char id[HC_ID_BYTES]);
/* Returns the arena of the unique id, for a communicator of that many ranks, with one more reference. */
struct hc_arena *hc_arena_open(const unsigned char id[HC_ID_BYTES], int ranks);
/* Gives one reference back. The last one unmaps the arena and closes its file. */
void hc_arena_release(struct hc_arena *arena);
bool hc_arena_join(struct hc_arena *arena, int rank, int device);
bool hc_arena_has_all_ranks(const struct hc_arena *arena);
int hc_arena_ranks(const struct hc_arena *arena);

struct hc_nccl_channel *hc_arena_channel(const struct hc_arena *arena, int from, int to);
void hc_arena_set_state(const struct hc_arena *arena, int rank, enum hc_rank_state state);
enum hc_rank_state hc_arena_state(const struct hc_arena *arena, int rank);
/* Returns false if the rank's process has ended. Needs some system calls. */
bool hc_arena_rank_is_alive(const struct hc_arena *arena, int rank);

/* Every step of any rank is a move. Ranks that have all waited since the last move, and only for each other, are in a
 * deadlock. */
uint64_t hc_arena_progress_count(const struct hc_arena *arena);
void hc_arena_record_progress(const struct hc_arena *arena, int rank);
void hc_arena_record_wait(const struct hc_arena *arena, int rank, uint64_t moves, uint64_t on, int in);
/* Returns the ranks of a deadlock that this rank is part of, one bit each; 0: there is none. */
uint64_t hc_arena_find_deadlock(const struct hc_arena *arena, int rank);

/* The first failure is fatal on all ranks. Returns true if this failure is the first one. */
bool hc_arena_fail(const struct hc_arena *arena, int code, const char *sentence);
/* Returns 0 if there is none. */
int hc_arena_failure(const struct hc_arena *arena);
const char *hc_arena_failure_text(const struct hc_arena *arena);

#endif

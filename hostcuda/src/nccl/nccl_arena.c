#include "hostcuda/src/nccl/nccl_arena.h"

#include "hostcuda/src/core/core_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[16] = "hostcuda ranks 1";
enum { HEAD_BYTES = 4096 };

enum failure_state { NO_FAILURE, FAILURE_WRITING, FAILURE };

struct hc_arena_head {
    char magic[sizeof magic];
    uint64_t cookie[2];
    int ranks; /* 0: not known yet */
    int joined;
    uint64_t moves;
    int failure; /* an enum failure_state */
    int failure_code;
    char failure_text[HC_FAILURE_BYTES];
};

/* The contents of the unique id. */
struct name {
    char magic[sizeof magic];
    uint64_t cookie[2];
    int pid, descriptor;
    uint64_t started;
};

_Static_assert(sizeof(struct hc_arena_head) <= HEAD_BYTES, "the head fits its place");
_Static_assert(sizeof(struct name) <= HC_ID_BYTES, "the name fits the id");

_Thread_local char hc_arena_error[256];
static struct hc_arena *arenas;

__attribute__((format(printf, 1, 2))) static bool set_arena_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(hc_arena_error, sizeof hc_arena_error, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- mapping ------------------------------------------------------------------------------------------------- */

static void *map_arena(int descriptor, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Takes over the descriptor, also on failure. */
static struct hc_arena *make_arena(int descriptor)
{
    struct hc_arena *arena = calloc(1, sizeof *arena);
    if (arena)
        arena->head = map_arena(descriptor, HEAD_BYTES);
    if (!arena || !arena->head) {
        set_arena_error("no memory for a communicator");
        close(descriptor);
        free(arena);
        return NULL;
    }
    arena->references = 1;
    arena->descriptor = descriptor;
    arena->bytes = HEAD_BYTES;
    arena->next = arenas;
    arenas = arena;
    return arena;
}

static void unmap_arena(struct hc_arena *arena)
{
    munmap(arena->head, arena->bytes);
    close(arena->descriptor);
    free(arena);
}

void hc_arena_release(struct hc_arena *arena)
{
    if (--arena->references)
        return;
    struct hc_arena **link = &arenas;
    while (*link != arena)
        link = &(*link)->next;
    *link = arena->next;
    unmap_arena(arena);
}

/* Nobody looks up a unique id any more once all ranks have joined. */
static void release_finished_ids(void)
{
    struct hc_arena *next = NULL;
    for (struct hc_arena *arena = arenas; arena; arena = next) {
        next = arena->next;
        if (arena->id_pending && hc_arena_has_all_ranks(arena)) {
            arena->id_pending = false;
            hc_arena_release(arena);
        }
    }
}

/* ---- the unique id ------------------------------------------------------------------------------------------- */

bool hc_arena_create(unsigned char id[HC_ID_BYTES])
{
    struct name name = {.pid = (int)getpid()};
    release_finished_ids();
    memcpy(name.magic, magic, sizeof magic);
    if (getrandom(name.cookie, sizeof name.cookie, 0) != (ssize_t)sizeof name.cookie)
        return set_arena_error("no random number for a unique id: %s", strerror(errno));
    int descriptor = memfd_create("hostcuda-ranks", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, HEAD_BYTES) != 0) {
        set_arena_error("no shared memory for a unique id: %s", strerror(errno));
        if (descriptor >= 0)
            close(descriptor);
        return false;
    }
    struct hc_arena *arena = make_arena(descriptor);
    if (!arena)
        return false;
    arena->id_pending = true;
    memcpy(arena->head->magic, magic, sizeof magic);
    memcpy(arena->head->cookie, name.cookie, sizeof name.cookie);
    name.descriptor = descriptor;
    name.started = hc_process_start_time(name.pid);
    memset(id, 0, HC_ID_BYTES);
    memcpy(id, &name, sizeof name);
    return true;
}

static bool is_named(const struct hc_arena *arena, const struct name *name)
{
    const struct hc_arena_head *head = arena->head;
    return memcmp(head->magic, magic, sizeof magic) == 0 &&
           memcmp(head->cookie, name->cookie, sizeof head->cookie) == 0;
}

static struct hc_arena *open_other_process(const struct name *name)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", name->pid, name->descriptor);
    int descriptor = hc_process_start_time(name->pid) == name->started ? open(path, O_RDWR | O_CLOEXEC) : -1;
    /* the descriptor may belong to another file by now: check it before mapping */
    if (descriptor < 0 || fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < HEAD_BYTES) {
        if (descriptor >= 0)
            close(descriptor);
        set_arena_error(
            "the process %d that made the unique id has ended, has closed the id since all its ranks have joined, "
            "or runs on another machine or as another user",
            name->pid);
        return NULL;
    }
    struct hc_arena *arena = make_arena(descriptor);
    if (arena && !is_named(arena, name)) {
        set_arena_error(
            "process %d, which made the unique id, no longer has it; usually all its ranks have joined already",
            name->pid);
        hc_arena_release(arena);
        arena = NULL;
    }
    return arena;
}

static struct hc_arena *find_or_open(const struct name *name)
{
    for (struct hc_arena *arena = arenas; arena; arena = arena->next) {
        if (is_named(arena, name)) {
            arena->references++;
            return arena;
        }
    }
    return open_other_process(name);
}

/* ---- ranks --------------------------------------------------------------------------------------------------- */

int hc_arena_ranks(const struct hc_arena *arena)
{
    return __atomic_load_n(&arena->head->ranks, __ATOMIC_ACQUIRE);
}

static bool map_boards(struct hc_arena *arena, int ranks)
{
    int before = 0;
    size_t count = (size_t)ranks;
    size_t bytes = HEAD_BYTES + count * sizeof(struct hc_nccl_board) + count * count * sizeof(struct hc_nccl_channel);
    if (ranks > HC_RANKS_MAX)
        return set_arena_error("%d ranks are too many; the host device supports at most %d", ranks, HC_RANKS_MAX);
    if (!__atomic_compare_exchange_n(&arena->head->ranks, &before, ranks, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
        before != ranks)
        return set_arena_error("this rank passes %d ranks, but another rank of this unique id passed %d", ranks,
                               before);
    if (arena->boards)
        return true;
    if (ftruncate(arena->descriptor, (off_t)bytes) != 0)
        return set_arena_error("no shared memory for %d ranks: %s", ranks, strerror(errno));
    unsigned char *memory = map_arena(arena->descriptor, bytes);
    if (!memory)
        return set_arena_error("no shared memory for %d ranks: %s", ranks, strerror(errno));
    munmap(arena->head, arena->bytes);
    arena->head = (void *)memory;
    arena->bytes = bytes;
    arena->boards = (void *)(memory + HEAD_BYTES);
    arena->channels = (void *)(memory + HEAD_BYTES + count * sizeof(struct hc_nccl_board));
    return true;
}

struct hc_arena *hc_arena_open(const unsigned char id[HC_ID_BYTES], int ranks)
{
    struct name name;
    memcpy(&name, id, sizeof name);
    if (memcmp(name.magic, magic, sizeof magic) != 0) {
        set_arena_error("the unique id does not come from ncclGetUniqueId");
        return NULL;
    }
    struct hc_arena *arena = find_or_open(&name);
    if (arena && !map_boards(arena, ranks)) {
        hc_arena_release(arena);
        return NULL;
    }
    return arena;
}

bool hc_arena_join(struct hc_arena *arena, int rank, int device)
{
    struct hc_nccl_board *board = &arena->boards[rank];
    int absent = HC_RANK_ABSENT;
    if (!__atomic_compare_exchange_n(&board->state, &absent, HC_RANK_CLAIMED, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return set_arena_error("rank %d of this unique id is already used by process %d", rank, board->pid);
    board->pid = (int)getpid();
    board->started = hc_process_start_time(board->pid);
    board->device = device;
    hc_arena_set_state(arena, rank, HC_RANK_JOINED);
    __atomic_add_fetch(&arena->head->joined, 1, __ATOMIC_ACQ_REL);
    return true;
}

bool hc_arena_has_all_ranks(const struct hc_arena *arena)
{
    int ranks = hc_arena_ranks(arena);
    return ranks && __atomic_load_n(&arena->head->joined, __ATOMIC_ACQUIRE) == ranks;
}

struct hc_nccl_channel *hc_arena_channel(const struct hc_arena *arena, int from, int to)
{
    return &arena->channels[(size_t)from * (size_t)hc_arena_ranks(arena) + (size_t)to];
}

void hc_arena_set_state(const struct hc_arena *arena, int rank, enum hc_rank_state state)
{
    __atomic_store_n(&arena->boards[rank].state, (int)state, __ATOMIC_RELEASE);
}

enum hc_rank_state hc_arena_state(const struct hc_arena *arena, int rank)
{
    return (enum hc_rank_state)__atomic_load_n(&arena->boards[rank].state, __ATOMIC_ACQUIRE);
}

bool hc_arena_rank_is_alive(const struct hc_arena *arena, int rank)
{
    const struct hc_nccl_board *board = &arena->boards[rank];
    return board->pid == (int)getpid() || hc_process_alive(board->pid, board->started);
}

/* ---- deadlock ------------------------------------------------------------------------------------------------- */

uint64_t hc_arena_progress_count(const struct hc_arena *arena)
{
    return __atomic_load_n(&arena->head->moves, __ATOMIC_SEQ_CST);
}

void hc_arena_record_progress(const struct hc_arena *arena, int rank)
{
    __atomic_store_n(&arena->boards[rank].blocked_at, 0, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&arena->head->moves, 1, __ATOMIC_SEQ_CST);
}

void hc_arena_record_wait(const struct hc_arena *arena, int rank, uint64_t moves, uint64_t on, int in)
{
    struct hc_nccl_board *board = &arena->boards[rank];
    __atomic_store_n(&board->blocked_at, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&board->blocked_on, on, __ATOMIC_SEQ_CST);
    __atomic_store_n(&board->blocked_in, in, __ATOMIC_SEQ_CST);
    __atomic_store_n(&board->blocked_at, moves + 1, __ATOMIC_SEQ_CST);
}

/* The other ranks' entries are valid until the next move, which only a rank outside of the cycle can make. */
uint64_t hc_arena_find_deadlock(const struct hc_arena *arena, int rank)
{
    uint64_t on[HC_RANKS_MAX] = {0}, stuck = 0, before = 0, moves = hc_arena_progress_count(arena);
    int ranks = hc_arena_ranks(arena);
    for (int i = 0; i < ranks; i++) {
        if (__atomic_load_n(&arena->boards[i].blocked_at, __ATOMIC_SEQ_CST) == moves + 1)
            stuck |= (uint64_t)1 << i;
        on[i] = __atomic_load_n(&arena->boards[i].blocked_on, __ATOMIC_SEQ_CST);
    }
    while (stuck != before) {
        before = stuck;
        for (int i = 0; i < ranks; i++)
            if (on[i] & ~stuck)
                stuck &= ~((uint64_t)1 << i);
    }
    return hc_arena_progress_count(arena) == moves && stuck >> rank & 1 ? stuck : 0;
}

/* ---- failure ------------------------------------------------------------------------------------------------- */

bool hc_arena_fail(const struct hc_arena *arena, int code, const char *sentence)
{
    struct hc_arena_head *head = arena->head;
    int none = NO_FAILURE, no_code = 0;
    __atomic_compare_exchange_n(&head->failure_code, &no_code, code, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (!__atomic_compare_exchange_n(&head->failure, &none, FAILURE_WRITING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return false;
    snprintf(head->failure_text, sizeof head->failure_text, "%s", sentence);
    __atomic_store_n(&head->failure, FAILURE, __ATOMIC_RELEASE);
    return true;
}

int hc_arena_failure(const struct hc_arena *arena)
{
    enum { PATIENCE = 1000 };
    const struct hc_arena_head *head = arena->head;
    int state = __atomic_load_n(&head->failure, __ATOMIC_ACQUIRE);
    /* a rank that was killed while it wrote leaves an incomplete sentence */
    for (int i = 0; state == FAILURE_WRITING && i < PATIENCE; i++) {
        sched_yield();
        state = __atomic_load_n(&head->failure, __ATOMIC_ACQUIRE);
    }
    return state == NO_FAILURE ? 0 : head->failure_code;
}

const char *hc_arena_failure_text(const struct hc_arena *arena)
{
    return arena->head->failure_text;
}

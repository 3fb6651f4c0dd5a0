/* Vector clocks. For each stream, its clock has the last work of every stream that comes before the stream's next
 * work. */
#include "vector_clocks.h"

#include <stdlib.h>
#include "debug/memory/hash_table.h"

#include "base/base.h"

enum { STREAMS = BG__CLOCK_STREAMS_MAX };
typedef bg__vector_clock clock;

typedef struct event {
    CUevent handle;
    clock at;
    bool unknown; /* it may be after any work, and is taken to be after all */
    UT_hash_handle hh;
} event;

static struct {
    CUstream handle[STREAMS];
    bool blocks[STREAMS]; /* the stream is ordered with the legacy default stream */
    clock of[STREAMS];
    int streams;
    bool full;
    clock host, waited;           /* what the host may know is done; what it has waited for */
    uint64_t host_waits[STREAMS]; /* each stream's last work that may wait for the host; 0: none */
    event *events;
} clocks;

static void join_clock(clock *one, const clock *other)
{
    for (int i = 0; i < clocks.streams; i++)
        if (one->time[i] < other->time[i])
            one->time[i] = other->time[i];
}

static bool is_legacy(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY;
}

static bool is_blocking(CUstream stream)
{
    unsigned flags = 0;
    cudaError_t error = is_legacy(stream) ? cudaSuccess : cudaStreamGetFlags(stream, &flags);
    bg__clear_cuda_error(error);
    return error != cudaSuccess || (flags & cudaStreamNonBlocking) == 0;
}

/* Whether the host may know that all work in the stream's clock is done. Then a new stream can use the slot: the clock
 * gives it no order that it would not have anyway. */
static bool is_slot_reusable(int index)
{
    for (int i = 0; i < clocks.streams; i++)
        if (clocks.of[index].time[i] > clocks.host.time[i])
            return false;
    return true;
}

/* Returns -1 if there is none. */
static int find_free_slot(void)
{
    if (clocks.streams < STREAMS)
        return clocks.streams++;
    for (int i = 0; i < STREAMS; i++)
        if (is_slot_reusable(i))
            return i;
    return -1;
}

/* Returns -1 if there is no room. The per-thread default streams of all threads share one clock: that hides findings,
 * and adds no false ones. */
static int find_stream(CUstream stream)
{
    CUstream handle = is_legacy(stream) ? CU_STREAM_LEGACY : stream;
    int index;

    for (int i = 0; i < clocks.streams; i++)
        if (clocks.handle[i] == handle)
            return i;
    index = find_free_slot();
    if (index < 0) {
        clocks.full = true;
        return -1;
    }
    clocks.handle[index] = handle;
    clocks.blocks[index] = is_blocking(handle);
    return index;
}

void bg__clocks_remove_stream(CUstream stream)
{
    for (int i = 0; i < clocks.streams; i++)
        if (clocks.handle[i] == stream && !is_legacy(stream)) {
            clocks.handle[i] = NULL; /* a free slot: the stream NULL is stored as CU_STREAM_LEGACY */
            clocks.blocks[i] = false;
        }
}

/* Work in the legacy default stream comes after the earlier work of all blocking streams, and their later work comes
 * after it. */
static void join_legacy(int stream)
{
    const bool legacy = clocks.handle[stream] == CU_STREAM_LEGACY;
    for (int i = 0; i < clocks.streams && clocks.blocks[stream]; i++)
        if (clocks.blocks[i] && (legacy || clocks.handle[i] == CU_STREAM_LEGACY))
            join_clock(&clocks.of[stream], &clocks.of[i]);
}

/* The clock of the stream's next work. Returns NULL if there is no room. */
static clock *clock_of(CUstream stream)
{
    const int index = find_stream(stream);
    if (index < 0)
        return NULL;
    join_legacy(index);
    join_clock(&clocks.of[index], &clocks.host);
    return &clocks.of[index];
}

bool bg__clocks_add_work(CUstream stream, bg__epoch *work)
{
    clock *own = clock_of(stream);
    if (own == NULL || clocks.full)
        return false;
    work->stream = (int)(own - clocks.of);
    work->time = ++own->time[work->stream];
    return true;
}

bool bg__clocks_is_ordered_after(bg__epoch work, bg__epoch other)
{
    return clocks.of[work.stream].time[other.stream] >= other.time;
}

bg__vector_clock bg__clocks_of_stream(CUstream stream)
{
    const clock *own = clock_of(stream);
    return own != NULL ? *own : (clock){{0}};
}

void bg__clocks_stream_waits_clock(CUstream stream, const bg__vector_clock *at)
{
    clock *own = clock_of(stream);
    if (own != NULL)
        join_clock(own, at);
}

void bg__clocks_stream_may_wait_host(CUstream stream)
{
    clock *own = clock_of(stream);
    if (own != NULL)
        clocks.host_waits[own - clocks.of] = ++own->time[own - clocks.of];
}

bool bg__clocks_is_order_unknown(bg__epoch work)
{
    const clock *own = &clocks.of[work.stream];
    for (int i = 0; i < clocks.streams; i++)
        if (clocks.host_waits[i] > clocks.waited.time[i] && own->time[i] >= clocks.host_waits[i])
            return true;
    return false;
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static event *find_event(CUevent handle)
{
    event *e;
    HASH_FIND_PTR(clocks.events, &handle, e);
    return e;
}

static event *add_event(CUevent handle)
{
    event *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->handle = handle;
    HASH_ADD_PTR(clocks.events, handle, e);
    return e;
}

void bg__clocks_record_event(CUevent handle, CUstream stream)
{
    const clock *own = clock_of(stream);
    event *e = find_event(handle);

    if (e == NULL)
        e = add_event(handle);
    if (e == NULL || own == NULL)
        clocks.full = true; /* no more findings */
    else {
        e->at = *own;
        e->unknown = false;
    }
}

void bg__clocks_add_event(CUevent handle)
{
    event *e = find_event(handle);
    if (e == NULL)
        e = add_event(handle);
    if (e != NULL)
        e->at = (clock){{0}};
}

void bg__clocks_remove_event(CUevent handle)
{
    event *e = find_event(handle);
    if (e == NULL)
        return;
    HASH_DEL(clocks.events, e);
    free(e);
}

void bg__clocks_invalidate_events(void)
{
    for (event *e = clocks.events; e != NULL; e = e->hh.next)
        e->unknown = true;
}

/* The clock after all work launched. */
static clock clock_of_all_work(void)
{
    clock all = {{0}};
    for (int i = 0; i < clocks.streams; i++)
        all.time[i] = clocks.of[i].time[i];
    return all;
}

static clock clock_of_event(CUevent handle)
{
    const event *e = find_event(handle);
    return e != NULL && !e->unknown ? e->at : clock_of_all_work();
}

void bg__clocks_stream_waits_event(CUstream stream, CUevent handle)
{
    const clock at = clock_of_event(handle);
    clock *own = clock_of(stream);
    if (own != NULL)
        join_clock(own, &at);
}

void bg__clocks_stream_waits_all(CUstream stream)
{
    const clock all = clock_of_all_work();
    clock *own = clock_of(stream);
    if (own != NULL)
        join_clock(own, &all);
}

/* ---- the host --------------------------------------------------------------------------------------------------- */

static void host_waits_clock(const clock *at)
{
    join_clock(&clocks.host, at);
    join_clock(&clocks.waited, at);
}

void bg__clocks_host_waits_stream(CUstream stream)
{
    const clock *own = clock_of(stream);
    if (own != NULL)
        host_waits_clock(own);
}

void bg__clocks_host_may_know_stream(CUstream stream)
{
    const clock *own = clock_of(stream);
    if (own != NULL)
        join_clock(&clocks.host, own);
}

void bg__clocks_host_waits_event(CUevent handle)
{
    const clock at = clock_of_event(handle);
    host_waits_clock(&at);
}

void bg__clocks_host_waits_all(void)
{
    const clock all = clock_of_all_work();
    host_waits_clock(&all);
}

bool bg__clocks_host_knows(bg__epoch work)
{
    return clocks.host.time[work.stream] >= work.time;
}

/* Vector clocks: of each stream, the last piece of work of every stream that its next one comes behind. */
#include "clocks.h"

#include <stdlib.h>
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>

#include "base/base.h"

enum { STREAMS = 64 };

typedef struct clock {
    uint64_t time[STREAMS];
} clock;

typedef struct event {
    CUevent handle;
    clock at;
    bool lost;
    UT_hash_handle hh;
} event;

static struct {
    CUstream handle[STREAMS];
    bool blocks[STREAMS]; /* the stream is ordered with the legacy one */
    clock of[STREAMS];
    int streams;
    bool full;
    clock host;
    event *events;
} clocks;

static void join(clock *one, const clock *other)
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
    bg__ignore(error);
    return error != cudaSuccess || (flags & cudaStreamNonBlocking) == 0;
}

/* -1: there is no room for it. Of the per-thread streams, all are one: less is told, and nothing wrong. */
static int find_stream(CUstream stream)
{
    CUstream handle = is_legacy(stream) ? CU_STREAM_LEGACY : stream;
    for (int i = 0; i < clocks.streams; i++)
        if (clocks.handle[i] == handle)
            return i;
    if (clocks.streams == STREAMS) {
        clocks.full = true;
        return -1;
    }
    clocks.handle[clocks.streams] = handle;
    clocks.blocks[clocks.streams] = is_blocking(handle);
    return clocks.streams++;
}

/* The legacy stream's work comes behind that of all blocking streams, and theirs behind its. */
static void join_legacy(int stream)
{
    const bool legacy = clocks.handle[stream] == CU_STREAM_LEGACY;
    for (int i = 0; i < clocks.streams && clocks.blocks[stream]; i++)
        if (clocks.blocks[i] && (legacy || clocks.handle[i] == CU_STREAM_LEGACY))
            join(&clocks.of[stream], &clocks.of[i]);
}

/* What its next piece of work comes behind. NULL: it has no room. */
static clock *clock_of(CUstream stream)
{
    const int index = find_stream(stream);
    if (index < 0)
        return NULL;
    join_legacy(index);
    join(&clocks.of[index], &clocks.host);
    return &clocks.of[index];
}

bool bg__clocks_work(CUstream stream, bg__moment *work)
{
    clock *own = clock_of(stream);
    if (own == NULL || clocks.full)
        return false;
    work->stream = (int)(own - clocks.of);
    work->time = ++own->time[work->stream];
    return true;
}

bool bg__clocks_is_behind(bg__moment work, bg__moment other)
{
    return clocks.of[work.stream].time[other.stream] >= other.time;
}

void bg__clocks_wait_work(CUstream stream, bg__moment work)
{
    clock *own = clock_of(stream);
    if (own != NULL && own->time[work.stream] < work.time)
        own->time[work.stream] = work.time;
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
    if (!e->lost)
        return e;
    free(e);
    return NULL;
}

void bg__clocks_record(CUevent handle, CUstream stream)
{
    const clock *own = clock_of(stream);
    event *e = find_event(handle);

    if (e == NULL)
        e = add_event(handle);
    if (e == NULL || own == NULL)
        clocks.full = true; /* nothing can be said any more */
    else
        e->at = *own;
}

/* All that has been launched. */
static clock everything(void)
{
    clock all = {{0}};
    for (int i = 0; i < clocks.streams; i++)
        all.time[i] = clocks.of[i].time[i];
    return all;
}

static clock clock_of_event(CUevent handle)
{
    const event *e = find_event(handle);
    return e != NULL ? e->at : everything();
}

void bg__clocks_wait_event(CUstream stream, CUevent handle)
{
    const clock at = clock_of_event(handle);
    clock *own = clock_of(stream);
    if (own != NULL)
        join(own, &at);
}

void bg__clocks_wait_all(CUstream stream)
{
    const clock all = everything();
    clock *own = clock_of(stream);
    if (own != NULL)
        join(own, &all);
}

/* ---- the host --------------------------------------------------------------------------------------------------- */

void bg__clocks_host_waits(CUstream stream)
{
    const clock *own = clock_of(stream);
    if (own != NULL)
        join(&clocks.host, own);
}

void bg__clocks_host_waits_event(CUevent handle)
{
    const clock at = clock_of_event(handle);
    join(&clocks.host, &at);
}

void bg__clocks_host_waits_all(void)
{
    const clock all = everything();
    join(&clocks.host, &all);
}

bool bg__clocks_host_knows(bg__moment work)
{
    return clocks.host.time[work.stream] >= work.time;
}

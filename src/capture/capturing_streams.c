/* The live captures, by thread, and the streams that are capturing now. */
#include "capture/capture.h"
#include "capture/replay.h"

#include <pthread.h>
#include <stdatomic.h>

enum { STREAMS_MAX = 256 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bg_capture *first;
static _Atomic int live_count;
static _Atomic uint64_t changes; /* counts changes of the list; caches are valid for one value */

/* Written under the mutex, read without. */
static _Atomic uintptr_t capturing_streams[STREAMS_MAX];
static _Atomic int capturing_count;

void bg__live_add(bg_capture *capture)
{
    pthread_mutex_lock(&mutex);
    capture->next = first;
    first = capture;
    atomic_fetch_add(&live_count, 1);
    atomic_fetch_add(&changes, 1);
    pthread_mutex_unlock(&mutex);
}

void bg__live_remove(bg_capture *capture)
{
    pthread_mutex_lock(&mutex);
    for (bg_capture **link = &first; *link != NULL; link = &(*link)->next) {
        if (*link == capture) {
            *link = capture->next;
            atomic_fetch_sub(&live_count, 1);
            atomic_fetch_add(&changes, 1);
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
}

/* The calling thread's cache: the capture that it found in the list, and the value of `changes` then. */
static _Thread_local struct {
    uint64_t changes;
    bg_capture *capture;
} thread_cache;

static bg_capture *search_captures(void)
{
    uint64_t thread = bg__thread_id();
    pthread_mutex_lock(&mutex);
    thread_cache.changes = atomic_load(&changes);
    thread_cache.capture = first;
    while (thread_cache.capture != NULL && thread_cache.capture->thread != thread)
        thread_cache.capture = thread_cache.capture->next;
    pthread_mutex_unlock(&mutex);
    return thread_cache.capture;
}

static inline bg_capture *find_thread_capture(void)
{
    if (atomic_load_explicit(&live_count, memory_order_acquire) == 0)
        return NULL;
    return atomic_load_explicit(&changes, memory_order_acquire) == thread_cache.changes ? thread_cache.capture
                                                                                        : search_captures();
}

bg_capture *bg__thread_capture(void)
{
    return find_thread_capture();
}

bg_capture *bg__thread_pass_or_capture(void)
{
    const bg__thread *self = bg__thread_self();
    bg_capture *capture = self->pass != NULL ? self->pass : find_thread_capture();
    bool beside = capture != NULL && !capture->eager && !capture->in_body && self->phase != BG_PHASE_CAPTURE;
    return beside ? NULL : capture;
}

/* The per-thread default stream differs between threads, but its handle does not: use an odd key, since no handle is
 * odd. */
static uintptr_t stream_key(cudaStream_t stream, uint64_t thread)
{
    return stream == cudaStreamPerThread ? (uintptr_t)(2 * thread + 1) : (uintptr_t)stream;
}

bg_status bg__capturing_streams_add(cudaStream_t stream, uint64_t thread)
{
    bg_status status = BG_OK;
    int slot = 0;
    pthread_mutex_lock(&mutex);
    while (slot < STREAMS_MAX && atomic_load(&capturing_streams[slot]) != 0)
        slot++;
    if (slot < STREAMS_MAX) {
        atomic_store(&capturing_streams[slot], stream_key(stream, thread));
        atomic_fetch_add(&capturing_count, 1);
    } else {
        status = bg__fail(
            BG_ERROR_UNSUPPORTED,
            "the captures of this process already have %d streams, the maximum; end captures, or fork fewer streams",
            STREAMS_MAX);
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

void bg__capturing_streams_remove(cudaStream_t stream, uint64_t thread)
{
    uintptr_t key = stream_key(stream, thread);
    pthread_mutex_lock(&mutex);
    for (int slot = 0; slot < STREAMS_MAX; slot++) {
        if (atomic_load(&capturing_streams[slot]) == key) {
            atomic_store(&capturing_streams[slot], 0);
            atomic_fetch_sub(&capturing_count, 1);
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
}

void bg__capturing_streams_enter(void)
{
    atomic_fetch_add(&capturing_count, 1);
}

void bg__capturing_streams_leave(void)
{
    atomic_fetch_sub(&capturing_count, 1);
}

bool bg__capturing_streams_any(void)
{
    return atomic_load_explicit(&capturing_count, memory_order_acquire) != 0;
}

bool bg__capturing_streams_has(cudaStream_t stream)
{
    uintptr_t key;
    if (stream == NULL || !bg__capturing_streams_any()) /* 0 is an empty slot */
        return false;
    key = stream_key(stream, bg__thread_id());
    for (int slot = 0; slot < STREAMS_MAX; slot++)
        if (atomic_load_explicit(&capturing_streams[slot], memory_order_acquire) == key)
            return true;
    return false;
}

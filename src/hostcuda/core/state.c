#include "hostcuda/core/state.h"

#include "hostcuda/fault/fault.h"
#include "hostcuda/stream/queue.h"
#include "hostcuda/core/schedule.h"
#include "hostcuda/core/settings.h"
#include "hostcuda/stream/submit.h"
#include "hostcuda/graph/user_object.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static cudaError_t start_error;
static int device_count;
static struct hc_device devices[HC_DEVICES_MAX];
static _Thread_local struct hc_thread *current;
static uint64_t thread_ids;

static void end_thread(void *data)
{
    struct hc_thread *thread = data;
    hc_lock();
    for (int i = 0; i < HC_DEVICES_MAX; i++)
        if (thread->per_thread[i])
            hc_stream_destroy(thread->per_thread[i]);
    hc_unlock();
    current = NULL;
    free(thread);
}

static bool read_device_count(void)
{
    const char *text = getenv("HOSTCUDA_DEVICES");
    char *end = NULL;
    device_count = 1;
    if (!text || !*text)
        return true;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > HC_DEVICES_MAX) {
        fprintf(stderr, "hostcuda: HOSTCUDA_DEVICES is \"%s\"; allowed are 1 to %d\n", text, HC_DEVICES_MAX);
        return false;
    }
    device_count = (int)value;
    return true;
}

static void start(void)
{
    if (pthread_key_create(&thread_key, end_thread) != 0 || !read_device_count() || !hc_settings_read()) {
        start_error = cudaErrorInitializationError;
        device_count = 0;
        return;
    }
    for (int i = 0; i < device_count; i++) {
        devices[i].legacy = hc_stream_make(i, HC_STREAM_LEGACY, cudaStreamDefault, 0);
        if (!devices[i].legacy)
            start_error = cudaErrorMemoryAllocation;
    }
}

struct hc_thread *hc_thread(void)
{
    static struct hc_thread fallback; /* no memory: threads share one state, rather than none */
    if (current)
        return current;
    struct hc_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return &fallback;
    thread->id = __atomic_add_fetch(&thread_ids, 1, __ATOMIC_RELAXED);
    if (!start_error && pthread_setspecific(thread_key, thread) != 0) {
        free(thread);
        return &fallback;
    }
    current = thread;
    return current;
}

bool hc_thread_is_known(void)
{
    return current != NULL;
}

int hc_device_count(void)
{
    return device_count;
}

struct hc_device *hc_device(int index)
{
    return &devices[index];
}

void hc_lock(void)
{
    pthread_mutex_lock(&lock);
}

void hc_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void hc_sleep(void)
{
    pthread_cond_wait(&changed, &lock);
}

void hc_wake(void)
{
    pthread_cond_broadcast(&changed);
}

cudaError_t hc_device_outcome(int index)
{
    struct hc_device *device = &devices[index];
    if (!device->sticky)
        device->sticky = device->coming;
    return device->sticky;
}

cudaError_t hc_begin_unnamed(void)
{
    pthread_once(&once, start);
    struct hc_thread *thread = hc_thread();
    hc_lock();
    if (start_error)
        return start_error;
    return thread->in_host_function ? cudaErrorNotPermitted : cudaSuccess;
}

static cudaError_t begin(const char *name, bool quiet)
{
    cudaError_t error = hc_begin_unnamed();
    cudaError_t injected = !error && hc_fault_watching ? (cudaError_t)hc_fault_call(name) : cudaSuccess;
    if (!error && !quiet)
        error = devices[hc_thread()->device].sticky;
    return error ? error : injected;
}

cudaError_t hc_begin_as(const char *name)
{
    return begin(name, false);
}

cudaError_t hc_begin_quiet_as(const char *name)
{
    return begin(name, true);
}

cudaError_t hc_end(cudaError_t error)
{
    if (hc_schedule_seeded())
        hc_run_early();
    cudaUserObject_t due = hc_objects_take_due();
    hc_unlock();
    hc_objects_run_due(due);
    if (error)
        hc_thread()->last_error = error;
    return error;
}

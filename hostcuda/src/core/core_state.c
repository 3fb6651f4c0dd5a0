#include "hostcuda/src/core/core_state.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static pthread_key_t thread_key;
static bool thread_key_made;
static void (*thread_ended)(struct hc_thread *thread);
static int device_count;
static struct hc_device devices[HC_DEVICES_MAX];
static _Thread_local struct hc_thread *current;
static uint64_t thread_ids;

static void end_thread(void *data)
{
    struct hc_thread *thread = data;
    thread_ended(thread);
    current = NULL;
    free(thread);
}

bool hc_threads_start(void (*ended)(struct hc_thread *thread))
{
    thread_ended = ended;
    thread_key_made = pthread_key_create(&thread_key, end_thread) == 0;
    return thread_key_made;
}

struct hc_thread *hc_thread(void)
{
    static struct hc_thread fallback; /* threads share this state if there is no memory for their own */
    if (current)
        return current;
    struct hc_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return &fallback;
    thread->id = __atomic_add_fetch(&thread_ids, 1, __ATOMIC_RELAXED);
    if (thread_key_made && pthread_setspecific(thread_key, thread) != 0) {
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

void hc_devices_start(int count)
{
    device_count = count;
    for (int i = 0; i < count; i++)
        devices[i].flags = HC_DEVICE_FLAGS;
}

int hc_device_count(void)
{
    return device_count;
}

int hc_device_priority(int priority)
{
    if (priority > HC_PRIORITY_LEAST)
        return HC_PRIORITY_LEAST;
    return priority < HC_PRIORITY_GREATEST ? HC_PRIORITY_GREATEST : priority;
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

void hc_wait_for_change(void)
{
    pthread_cond_wait(&change, &lock);
}

void hc_notify_change(void)
{
    pthread_cond_broadcast(&change);
}

static struct timespec deadline_in(unsigned milliseconds)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time); /* cannot fail for this clock */
    time.tv_sec += milliseconds / 1000;
    time.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

bool hc_wait_on_condition(pthread_cond_t *condition, unsigned milliseconds)
{
    const struct timespec end = deadline_in(milliseconds);
    if (!milliseconds)
        return pthread_cond_wait(condition, &lock) == 0;
    return pthread_cond_clockwait(condition, &lock, CLOCK_MONOTONIC, &end) == 0;
}

cudaError_t hc_device_error_after_wait(int index)
{
    struct hc_device *device = &devices[index];
    if (!device->sticky)
        device->sticky = device->coming;
    return device->sticky;
}

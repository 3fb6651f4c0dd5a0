#include "hostcuda/src/call/call_entry.h"

#include "hostcuda/src/call/fault_injection.h"
#include "hostcuda/src/call/driver_library.h"
#include "hostcuda/src/call/record.h"
#include "hostcuda/src/call/environment_settings.h"
#include "hostcuda/src/core/core_schedule.h"
#include "hostcuda/src/graph/user_object.h"
#include "hostcuda/src/memory/memory_blocks.h"
#include "hostcuda/src/stream/stream_progress.h"
#include "hostcuda/src/stream/queue_run.h"
#include "hostcuda/src/stream/submit.h"

#include <hostcuda/hostcuda.h>
#include <pthread.h>

static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static cudaError_t start_error;

static void end_thread(struct hc_thread *thread)
{
    hc_lock();
    for (int i = 0; i < HC_DEVICES_MAX; i++)
        if (thread->per_thread[i])
            hc_stream_destroy(thread->per_thread[i]); /* work queued there still runs */
    hc_unlock();
}

static void start_host_device(void)
{
    if (!hc_threads_start(end_thread) || !hc_settings_read()) {
        start_error = cudaErrorInitializationError;
        return;
    }
    for (int i = 0; i < hc_device_count(); i++) {
        hc_device(i)->legacy = hc_stream_make(i, HC_STREAM_LEGACY, cudaStreamDefault, 0);
        if (!hc_device(i)->legacy)
            start_error = cudaErrorMemoryAllocation;
    }
}

static cudaError_t begin_call(void)
{
    pthread_once(&start_once, start_host_device);
    (void)hc_thread(); /* may allocate, so this call comes before the lock is taken */
    hc_lock();
    hc_call_count++;
    return start_error;
}

cudaError_t hc_call_begin_uncounted(void)
{
    cudaError_t error = begin_call();
    return !error && hc_thread()->inside.host_function ? cudaErrorNotPermitted : error;
}

/* name NULL: HOSTCUDA_FAIL does not count the call. */
static inline cudaError_t begin_named(cudaError_t error, const char *name, bool quiet)
{
    cudaError_t injected =
        !error && hc_fault_watching && name ? (cudaError_t)hc_fault_match_call(name).code : cudaSuccess;
    if (!error && !quiet)
        error = hc_device(hc_thread()->device)->sticky;
    return error ? error : injected;
}

cudaError_t hc_call_begin_driver_as(const char *name, bool quiet)
{
    cudaError_t error = hc_call_begin_uncounted();
    return begin_named(error, hc_forward_enter_driver(hc_thread(), name), quiet);
}

/* Releases the lock while libcuda.so.1 is opened, since that library calls back. */
static bool open_driver_library_unlocked(void)
{
    hc_unlock();
    bool good = hc_driver_library_open();
    hc_lock();
    return good;
}

__attribute__((cold, noinline)) static cudaError_t begin_call_with_driver(cudaError_t error, const char *name,
                                                                          bool quiet)
{
    const char *door = hc_thread()->inside.door;
    if (!door && !error && hc_through_driver && !open_driver_library_unlocked())
        error = cudaErrorInsufficientDriver;
    return begin_named(error, door ? hc_forward_enter_driver(hc_thread(), door) : name, quiet);
}

/* A call of the runtime makes the device's context current. */
static inline cudaError_t begin_api_call(cudaError_t error, const char *name, bool quiet)
{
    struct hc_thread *thread = hc_thread();
    thread->context |= !thread->inside.door;
    return HC_DRIVER_USED ? begin_call_with_driver(error, name, quiet) : begin_named(error, name, quiet);
}

cudaError_t hc_call_begin_as(const char *name)
{
    return begin_api_call(hc_call_begin_uncounted(), name, false);
}

cudaError_t hc_call_begin_despite_errors_as(const char *name)
{
    return begin_api_call(hc_call_begin_uncounted(), name, true);
}

cudaError_t hc_call_begin_in_host_function_as(const char *name, bool quiet)
{
    return begin_api_call(begin_call(), name, quiet);
}

/* Whether the call was a driver call, or a call that libcuda made for a call of the program. Such calls change neither
 * the program's order of work nor its last error. */
__attribute__((cold, noinline)) static bool end_driver_call(cudaError_t error)
{
    struct hc_thread *thread = hc_thread();
    bool inside = thread->inside.door || thread->inside.forward;
    thread->inside.door = NULL;
    hc_forward_leave_driver(thread, error);
    return inside;
}

cudaError_t hc_call_end(cudaError_t error)
{
    bool driver = HC_DRIVER_USED && end_driver_call(error);
    if (!driver && !hc_thread()->tools)
        hc_run_at_call_end(); /* tools do not change the program's order */
    hc_progress_start_if_queued();
    cudaUserObject_t due = hc_objects_pop_unreferenced();
    hc_unlock();
    hc_objects_destroy_unreferenced(due);
    if (error && error != cudaErrorNotReady && !driver) /* NotReady is an answer, not an error (measured) */
        hc_thread()->last_error = error;
    return error;
}

/* ---- for tests: here, since a weak declaration in a program does not link another file of the archive ---------- */

void hostcuda_seed(unsigned long long seed)
{
    (void)hc_call_begin_uncounted(); /* reads the environment's seed first, if this is the first call */
    hc_schedule_seed(seed);
    hc_unlock();
}

int hostcuda_fail(const char *faults)
{
    (void)hc_call_begin_uncounted(); /* reads HOSTCUDA_FAIL first, if this is the first call */
    bool ok = hc_fault_set(faults ? faults : "");
    hc_unlock();
    return ok ? 0 : -1;
}

/* Whether an injected fault will make the program's current call fail once it enters the driver. */
static int will_call_fail(const struct hc_forward *forward)
{
    if (!hc_fault_watching || !forward || forward->arrived || !forward->runtime)
        return 0;
    hc_lock();
    int doomed = hc_fault_matches_next_call(forward->runtime);
    hc_unlock();
    return doomed;
}

int hostcuda_tool(int on)
{
    struct hc_thread *thread = hc_thread();
    bool first = on && thread->tools++ == 0, last = !on && --thread->tools == 0;
    if (first) {
        thread->program = (struct hc_caller){thread->inside, thread->last_error};
        thread->inside = (struct hc_call_state){.host_function = thread->inside.host_function};
        thread->last_error = cudaSuccess;
    }
    if (last) {
        thread->inside = thread->program.inside;
        thread->last_error = thread->program.last_error;
    }
    return first ? will_call_fail(thread->program.inside.forward) : 0;
}

size_t hostcuda_faults(void)
{
    hc_lock();
    size_t count = hc_fault_count();
    hc_unlock();
    return count;
}

void hostcuda_record(int on)
{
    (void)hc_call_begin_uncounted();
    hc_fault_set_recording(on != 0);
    hc_unlock();
}

const char *hostcuda_call(size_t index)
{
    hc_lock();
    const char *name = hc_record_name(index);
    hc_unlock();
    return name;
}

size_t hostcuda_calls(const char *name)
{
    hc_lock();
    size_t count = hc_record_count(name);
    hc_unlock();
    return count;
}

struct hostcuda_live hostcuda_count_live(void)
{
    hc_lock();
    struct hostcuda_live live = {
        .blocks = hc_block_count(),
        .streams = hc_handle_count(HC_STREAM),
        .events = hc_handle_count(HC_EVENT),
        .graphs = hc_handle_count(HC_GRAPH),
        .execs = hc_handle_count(HC_EXEC),
    };
    hc_unlock();
    return live;
}

#include "hostcuda/src/call/driver_library.h"

#include "hostcuda/src/call/fault_injection.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

int hc_through_driver = -1;
bool hc_driver_used;
struct hc_driver_library hc_driver_library;

bool hc_through_driver_read(const char *text)
{
    bool empty = !text || !*text, on = !empty && !strcmp(text, "1");
    bool ok = empty || on || !strcmp(text, "0");
    if (!ok)
        fprintf(stderr, "hostcuda: HOSTCUDA_THROUGH_DRIVER is \"%s\"; allowed are 0 and 1\n", text);
    if (ok && on)
        __atomic_store_n(&hc_driver_used, true, __ATOMIC_RELAXED);
    __atomic_store_n(&hc_through_driver, ok && on, __ATOMIC_RELEASE);
    return ok;
}

/* ---- forwarded calls --------------------------------------------------------------------------------------------- */

void hc_forward_begin(struct hc_forward *forward, const char *runtime, const char *entry)
{
    struct hc_thread *thread = hc_thread();
    *forward = (struct hc_forward){.entry = entry, .runtime = runtime, .outer = thread->inside.forward};
    thread->inside.forward = forward;
}

cudaError_t hc_forward_end(struct hc_forward *forward, CUresult result)
{
    hc_thread()->inside.forward = forward->outer;
    if (!forward->arrived && forward->runtime && !result && hc_fault_watching) {
        /* the library did not call the driver's function, but the program's call still counts */
        hc_lock();
        result = (CUresult)hc_fault_match_call(forward->runtime).code;
        hc_unlock();
        return (cudaError_t)result;
    }
    return hc_driver_error_of(forward->error) == result ? forward->error : (cudaError_t)result;
}

/* A tool in between may make calls of its own before and after this one: only a call of the expected function matches.
 */
const char *hc_forward_enter_driver(struct hc_thread *thread, const char *entry)
{
    struct hc_forward *forward = thread->inside.forward;
    if (!forward || forward->arrived || strcmp(forward->entry, entry) != 0)
        return entry;
    forward->arrived = true;
    thread->inside.arrived = forward;
    return forward->runtime;
}

void hc_forward_leave_driver(struct hc_thread *thread, cudaError_t error)
{
    if (thread->inside.arrived)
        thread->inside.arrived->error = error;
    thread->inside.arrived = NULL;
}

CUresult hc_driver_error_of(cudaError_t error)
{
    switch (error) {
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidPitchValue: return CUDA_ERROR_INVALID_VALUE;
    default: return (CUresult)error;
    }
}

/* ---- libcuda.so.1 ------------------------------------------------------------------------------------------------ */

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(name)   TEXT_OF(name)
#define PLACE(name)                                                                                                    \
    {                                                                                                                  \
        TEXT(name), offsetof(struct hc_driver_library, name)                                                           \
    }

static const struct place {
    const char *name;
    size_t offset;
} functions[] = {
#define X(name, since) PLACE(name),
#include "hostcuda/src/core/driver_functions.def"
#undef X
};

static bool report_unusable_library(const char *what, const char *which)
{
    fprintf(stderr,
            "hostcuda: HOSTCUDA_THROUGH_DRIVER=1: libcuda.so.1 %s%s; link the program with libhostcuda.so, and "
            "preload a libcuda.so.1 that calls this file (for breakgraph --attach, use the one of the same "
            "installation)\n",
            what, which);
    return false;
}

static bool find_functions(void *library)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found)
            return report_unusable_library("lacks ", functions[i].name);
        memcpy((char *)&hc_driver_library + functions[i].offset, &found, sizeof found);
    }
    return true;
}

static const char *own_file(void)
{
    Dl_info about;
    return dladdr(&hc_driver_library, &about) != 0 && about.dli_fname ? about.dli_fname : "(unknown)";
}

/* Whether the library's calls arrive here. Another host device in the process would have streams and memory of its own.
 */
static bool leads_to_this_host_device(void)
{
    struct hc_forward forward;
    hc_forward_begin(&forward, NULL, TEXT(cuInit));
    cudaError_t error = hc_forward_end(&forward, hc_driver_library.cuInit(0));
    if (error)
        return report_unusable_library("fails in cuInit", "");
    return forward.arrived ||
           report_unusable_library("calls a host device other than the program's own, which is in ", own_file());
}

static bool open_library(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? find_functions(library) && leads_to_this_host_device()
                   : report_unusable_library("cannot be opened", "");
}

bool hc_driver_library_open(void)
{
    static enum { UNKNOWN, OPENING, GOOD, BAD } state;
    static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (now == GOOD || now == BAD)
        return now == GOOD;
    pthread_mutex_lock(&lock);
    /* cuInit of the library may already call the runtime on this thread */
    if (state == UNKNOWN) {
        __atomic_store_n(&state, OPENING, __ATOMIC_RELAXED);
        __atomic_store_n(&state, open_library() ? GOOD : BAD, __ATOMIC_RELEASE);
    }
    bool good = state != BAD;
    pthread_mutex_unlock(&lock);
    return good;
}

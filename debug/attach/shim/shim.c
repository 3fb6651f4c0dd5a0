/* libbreakgraph_attach.so: an interposer for the driver, in a program that was not written for breakgraph. It has the
 * driver's SONAME, so the loader gives it to every library that needs libcuda.so.1. It depends on libc alone, since it
 * is loaded into every process that the program starts; most of these use no GPU, and it does nothing there. */
#include "debug/attach/shim/shim.h"

#include <breakgraph/attach.h>
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define NAME(name) #name,
#include "debug/attach/shim/names.inc"
#undef NAME
};
enum { NAMES = sizeof names / sizeof names[0] };

/* The tables of jumps.S: the target of each name's jump, the addresses of the jumps, and the target for names with a
 * hook. */
struct bg__driver_jumps {
    _Atomic(void *) *slots;
    void *const *jumps;
    void *observe;
};
static _Atomic(const struct bg__driver_jumps *) table;

/* Called by jumps.S. */
void *bg__driver_bind(uint32_t name, const struct bg__driver_jumps *jumps);
void *bg__driver_begin(bg__driver_call *call);
void bg__driver_end(bg__driver_call *call);

static void *real_functions[NAMES];
static _Atomic(const bg__driver_hook *) hooks[NAMES];
static _Atomic(const bg__driver_hook *) hook_of_all, watcher; /* watcher: hook_of_all, or NULL while idle */
static _Thread_local int own_calls;                           /* above 0: this thread's calls are the tools' own */
static bool driver_opened;
/* hostcuda_tool of the host device. NULL on a GPU, where the tools have a CUDA runtime of their own. */
static int (*mark_tool_thread)(int on);
/* Set in a forked child: it cannot use CUDA, and locks of the tools may stay locked for ever there. */
static atomic_bool forked;

/* The function for names that the driver lacks: it returns the error of cuGetProcAddress. */
static CUresult answer_missing(void)
{
    return driver_opened ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_NO_DEVICE;
}

static uint32_t find_name_index(const char *name)
{
    uint32_t low = 0, high = NAMES;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = strcmp(names[middle], name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NAMES;
}

static void set_slot(uint32_t name, bool observed)
{
    CUresult (*const missing)(void) = answer_missing;
    void *target = real_functions[name];
    if (target == NULL)
        memcpy(&target, &missing, sizeof target);
    else if (observed)
        target = atomic_load(&table)->observe;
    atomic_store_explicit(&atomic_load(&table)->slots[name], target, memory_order_release);
}

/* Whether name is base, or another form of it: "_v2", or "_ptsz" or "_ptds" for the per-thread default stream. */
static bool is_form_of(const char *name, const char *base)
{
    const size_t bytes = strlen(base);
    const char *end = name + bytes;

    if (strncmp(name, base, bytes) != 0)
        return false;
    if (end[0] == '_' && end[1] == 'v' && end[2] >= '2' && end[2] <= '9')
        end += 3;
    return end[0] == '\0' || strcmp(end, "_ptsz") == 0 || strcmp(end, "_ptds") == 0;
}

static void add_hooks(const bg__driver_hook *added, int count)
{
    for (int i = 0; i < count; i++)
        for (uint32_t name = 0; name < NAMES; name++)
            if (is_form_of(names[name], added[i].name)) {
                atomic_store(&hooks[name], &added[i]);
                set_slot(name, !added[i].idle);
            }
}

static void hook_all(const bg__driver_hook *hook)
{
    atomic_store(&hook_of_all, hook);
}

static void watch(bool on)
{
    const bg__driver_hook *all = atomic_load(&hook_of_all);
    atomic_store(&watcher, on ? all : NULL);
    for (uint32_t name = 0; name < NAMES; name++) {
        const bg__driver_hook *hook = atomic_load(&hooks[name]);
        if (hook != NULL ? hook->idle : all != NULL)
            set_slot(name, on);
    }
}

static const char *name_of(uint32_t name)
{
    return names[name];
}

static void *real_function(const char *name)
{
    uint32_t found = find_name_index(name);
    return found < NAMES ? real_functions[found] : NULL;
}

/* Returns true if the program's current call is to fail: a test has injected this fault. */
static bool enter_call(void)
{
    own_calls++;
    return mark_tool_thread != NULL && mark_tool_thread(1) != 0;
}

static void enter(void)
{
    (void)enter_call();
}

static void leave(void)
{
    if (mark_tool_thread != NULL)
        (void)mark_tool_thread(0);
    own_calls--;
}

/* ---- the program's own calls (breakgraph/attach.h) --------------------------------------------------------------- */

BG_API bg_attach_interface_function bg_attach_interface;

static _Thread_local struct {
    char text[BG_ATTACH_NAME_BYTES - 12]; /* "": none; 12 bytes are left for "#" and a number */
    unsigned used_count;
} next_name;

static bool name_next(const char *name)
{
    if (name != NULL && (name[0] == '\0' || strlen(name) >= sizeof next_name.text))
        return false;
    snprintf(next_name.text, sizeof next_name.text, "%s", name != NULL ? name : "");
    next_name.used_count = 0;
    return true;
}

static bg_status name_next_early(const char *name)
{
    return name_next(name) ? BG_OK : BG_ERROR_INVALID_ARGUMENT;
}

static bool pop_next_name(char *name)
{
    if (next_name.text[0] == '\0')
        return false;
    if (next_name.used_count++ == 0)
        snprintf(name, BG_ATTACH_NAME_BYTES, "%s", next_name.text);
    else
        snprintf(name, BG_ATTACH_NAME_BYTES, "%s#%u", next_name.text, next_name.used_count - 1);
    return true;
}

static const char *last_error(void)
{
    return "the program has made no CUDA call yet: only the graphs to come can be named (1 to 51 bytes)";
}

static const bg_attach_functions without_tools = {
    .struct_size = sizeof without_tools, .name_next = name_next_early, .last_error = last_error};
static _Atomic(const bg_attach_functions *) offered = &without_tools;

static void offer(const bg_attach_functions *functions)
{
    atomic_store(&offered, functions);
}

const bg_attach_functions *bg_attach_interface(void)
{
    return atomic_load(&forked) ? NULL : atomic_load(&offered);
}

/* ---- the tools ------------------------------------------------------------------------------------------------ */

static const bg__attach_shim shim = {
    BG__ATTACH_VERSION, real_function, add_hooks, hook_all, watch, name_of, enter, leave, offer,
    name_next,          pop_next_name};

static void mark_forked(void)
{
    atomic_store(&forked, true);
}

static void load_tools(void)
{
    const char *path = getenv("BG_ATTACH_TOOLS");
    bg__attach_begin_function *begin = NULL;
    void *tools, *symbol;

    if (path == NULL || path[0] == '\0')
        return;
    tools = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    symbol = tools != NULL ? dlsym(tools, "bg__attach_begin") : NULL;
    if (symbol == NULL) {
        const char *reason = dlerror();
        fprintf(stderr, "breakgraph: --attach: the tools cannot be loaded, and the program runs without them: %s\n",
                reason != NULL ? reason : path);
        return;
    }
    memcpy(&begin, &symbol, sizeof begin);
    if (begin(&shim))
        (void)pthread_atfork(NULL, NULL, mark_forked); /* if it fails, a child may wait for ever at its end */
}

/* Loads the tools at the first cuInit that succeeds. */
static void after_init(bg__driver_call *call)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (call->result == CUDA_SUCCESS)
        pthread_once(&once, load_tools);
}

/* ---- the driver ----------------------------------------------------------------------------------------------- */

/* Replaces the driver function that cuGetProcAddress returns by the jump to it. Searches by address, since the version
 * and the flags of the call select the function. */
static void after_get_proc_address(bg__driver_call *call)
{
    void **function = (void **)(uintptr_t)call->arguments[1]; /* NOLINT(performance-no-int-to-ptr) */
    if (call->result != CUDA_SUCCESS || function == NULL || *function == NULL)
        return;
    for (uint32_t name = 0; name < NAMES; name++) {
        if (real_functions[name] == *function) {
            *function = atomic_load(&table)->jumps[name];
            return;
        }
    }
}

static const bg__driver_hook always[] = {
    {"cuInit", false, NULL, after_init},
    {"cuGetProcAddress", false, NULL, after_get_proc_address},
    {"cuGetProcAddress_v2", false, NULL, after_get_proc_address},
};

/* The driver is linked with -Bsymbolic, so it does not call its own functions through the shim. RTLD_DEEPBIND is wrong
 * here: it would bind the driver's malloc to libc although the program has preloaded an allocator, and one allocator
 * would free memory of the other. */
static void open_driver(void)
{
    const char *path = getenv("BG_ATTACH_DRIVER");
    void *driver = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *tool = driver != NULL ? dlsym(driver, "hostcuda_tool") : NULL;
    driver_opened = driver != NULL;
    memcpy(&mark_tool_thread, &tool, sizeof tool);
    if (!driver_opened) {
        const char *reason = path != NULL ? dlerror() : "BG_ATTACH_DRIVER, the path of libcuda.so.1, is not set";
        fprintf(stderr, "breakgraph: --attach: the CUDA driver cannot be opened: %s\n", reason);
    }
    for (uint32_t name = 0; name < NAMES; name++) {
        void *found = driver_opened ? dlsym(driver, names[name]) : NULL;
        /* NULL if the function that was found is in this library. */
        real_functions[name] = found != atomic_load(&table)->jumps[name] ? found : NULL;
        set_slot(name, false);
    }
    add_hooks(always, sizeof always / sizeof always[0]);
}

/* The first call of any name opens the driver and binds all names. Returns the function to call. */
void *bg__driver_bind(uint32_t name, const struct bg__driver_jumps *jumps)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    atomic_store(&table, jumps); /* always the same table */
    pthread_once(&once, open_driver);
    return atomic_load_explicit(&jumps->slots[name], memory_order_acquire);
}

/* Thread state that a hook must restore. */
typedef struct thread_state {
    int cancel; /* a thread that is cancelled inside a hook would keep the locks of the tools */
    int error;
} thread_state;

static bool begin_hook(thread_state *before)
{
    before->error = errno;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel);
    return enter_call();
}

static void end_hook(thread_state before)
{
    leave();
    (void)pthread_setcancelstate(before.cancel, NULL);
    errno = before.error;
}

static bool call_hook_before(const bg__driver_hook *hook, bg__driver_call *call)
{
    bool answered = false;
    thread_state before;
    if (hook != NULL && hook->before != NULL) {
        answered = !begin_hook(&before) && hook->before(call);
        end_hook(before);
    }
    return answered;
}

static void call_hook_after(const bg__driver_hook *hook, bg__driver_call *call)
{
    thread_state before;
    if (hook == NULL || hook->after == NULL)
        return;
    (void)begin_hook(&before);
    hook->after(call);
    end_hook(before);
}

/* Returns the function to call, or NULL if call->result is the result. */
void *bg__driver_begin(bg__driver_call *call)
{
    bool seen = own_calls == 0 && !atomic_load(&forked);
    call->hook = seen ? atomic_load(&hooks[call->name]) : NULL;
    call->watcher = seen ? atomic_load(&watcher) : NULL;
    return call_hook_before(call->hook, call) || call_hook_before(call->watcher, call) ? NULL
                                                                                       : real_functions[call->name];
}

void bg__driver_end(bg__driver_call *call)
{
    call_hook_after(call->watcher, call);
    call_hook_after(call->hook, call);
}

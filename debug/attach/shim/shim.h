/* The interface between the shim, which interposes the driver in an unmodified program, and the tools that it loads. */
#ifndef BG_SHIM_H
#define BG_SHIM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BG__CALL_ARGUMENTS = 16,
    BG__ATTACH_VERSION = 1, /* of these structs: both sides must be of one build */
};

/* A driver call of the program that has hooks. jumps.S depends on its layout. Arguments are in the order of the
 * function's parameters. If a parameter has less than 64 bits, the upper bits of the argument are undefined. */
typedef struct bg__driver_call {
    uint64_t arguments[BG__CALL_ARGUMENTS];
    uint32_t name;   /* index of the driver's name */
    uint32_t result; /* a CUresult; valid in `after` */
    const struct bg__driver_hook *hook;
    const struct bg__driver_hook *watcher; /* the hook of bg__attach_shim.hook_all; NULL: idle */
} bg__driver_call;

/* The index-th argument of a call, a pointer or a handle. */
static inline void *bg__call_argument(const bg__driver_call *call, int index)
{
    return (void *)(uintptr_t)call->arguments[index]; /* NOLINT(performance-no-int-to-ptr) */
}

/* A hook of one driver function in all its forms. The name "cuGraphLaunch" also hooks cuGraphLaunch_ptsz. The name
 * "cuMemcpyHtoD_v2" also hooks cuMemcpyHtoD_v2_ptds, but not the first form, cuMemcpyHtoD. A hook is not called for
 * calls that a hook makes on its own thread. */
typedef struct bg__driver_hook {
    const char *name;
    bool idle; /* called only between bg__attach_shim.watch(true) and watch(false) */
    /* Both may be NULL. If `before` returns true, the driver is not called, and the program gets call->result. */
    bool (*before)(bg__driver_call *call);
    void (*after)(bg__driver_call *call);
} bg__driver_hook;

struct bg_attach_functions; /* breakgraph/attach.h */

/* Functions of the shim for the tools. */
typedef struct bg__attach_shim {
    int version;
    /* Returns the driver's own function, or NULL if the driver, or the toolkit of the shim's build, lacks the name. */
    void *(*real)(const char *name);
    /* Adds hooks. The array stays the caller's, and must live on. Hooks of names that the driver lacks do nothing. */
    void (*hook)(const bg__driver_hook *hooks, int count);
    /* Adds a hook that is called for all names, besides the hooks of each name. The hook counts as idle, and its `name`
     * is unused. */
    void (*hook_all)(const bg__driver_hook *hook);
    /* Enables or disables the idle hooks. */
    void (*watch)(bool on);
    /* Returns the name for bg__driver_call.name. */
    const char *(*name)(uint32_t name);
    /* Disables hooks on this thread until `leave` is called: for threads of the tools, and for code that runs at
     * exit. */
    void (*enter)(void);
    void (*leave)(void);
    /* Sets what bg_attach_interface returns from now on. The functions stay the caller's, and must live on. */
    void (*offer)(const struct bg_attach_functions *functions);
    /* bg_attach_name_next: returns false for an invalid name. The shim keeps the name, since a program may call it
     * before the tools are loaded. pop_next_name writes it, at most BG_ATTACH_NAME_BYTES, or returns false if there is
     * none. */
    bool (*name_next)(const char *name);
    bool (*pop_next_name)(char *name);
} bg__attach_shim;

/* The only export of libbreakgraph_tools.so. Returns false if the program is to run without the tools. */
typedef bool bg__attach_begin_function(const bg__attach_shim *shim);

#endif

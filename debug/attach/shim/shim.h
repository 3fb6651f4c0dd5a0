/* Between the shim, which stands in front of the driver in an unmodified program, and the tools that it loads. */
#ifndef BG_SHIM_H
#define BG_SHIM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BG__CALL_ARGUMENTS = 16,
    BG__ATTACH_VERSION = 1, /* of these structs: both sides are built from one source */
};

/* A call of the program into the driver that is looked at; jumps.S has its layout. Arguments are in the order of the
 * function's parameters; of one that is smaller than 64 bits the upper bits are undefined. */
typedef struct bg__driver_call {
    uint64_t arguments[BG__CALL_ARGUMENTS];
    uint32_t name;   /* index of the driver's name */
    uint32_t result; /* a CUresult; valid in `after` */
    const struct bg__driver_hook *hook;
    const struct bg__driver_hook *watcher; /* the one of bg__attach_shim.hook_all, while calls are watched */
} bg__driver_call;

/* The index-th argument of a call, a pointer or a handle. */
static inline void *bg__call_argument(const bg__driver_call *call, int index)
{
    return (void *)(uintptr_t)call->arguments[index]; /* NOLINT(performance-no-int-to-ptr) */
}

/* What is done at calls of one function. Neither may be called for calls that a hook itself makes on its thread. */
typedef struct bg__driver_hook {
    const char *name; /* "cuGraphLaunch_ptsz" */
    bool idle;        /* not called before bg__attach_shim.watch */
    /* true: the driver is not called, and the program gets call->result. NULL: nothing is done. */
    bool (*before)(bg__driver_call *call);
    void (*after)(bg__driver_call *call);
} bg__driver_hook;

struct bg_attach_functions; /* breakgraph/attach.h */

/* What the shim gives to the tools. */
typedef struct bg__attach_shim {
    int version;
    /* The driver's own function; NULL where the driver, or the toolkit that the shim was built with, lacks the name. */
    void *(*real)(const char *name);
    /* Adds hooks; the array stays the caller's and must stay as it is. Those with a name that the driver lacks are not
     * called. */
    void (*hook)(const bg__driver_hook *hooks, int count);
    /* The same for a hook that stands for all names, besides those of their own; it is idle, and its name unused. */
    void (*hook_all)(const bg__driver_hook *hook);
    /* Calls of the idle hooks begin, or end. */
    void (*watch)(bool on);
    /* The name of bg__driver_call.name. */
    const char *(*name)(uint32_t name);
    /* Calls of this thread pass the hooks by until leave: for threads of the tools' own, and for what runs at exit. */
    void (*enter)(void);
    void (*leave)(void);
    /* What the program gets from bg_attach_interface from now on; stays the caller's, and as it is. */
    void (*offer)(const struct bg_attach_functions *functions);
    /* bg_attach_name_next, false: it is no name; and the name that it asks for, in room for BG_ATTACH_NAME_BYTES,
     * false: none. The shim keeps it, since a program may ask before the tools are loaded. */
    bool (*name_next)(const char *name);
    bool (*take_name)(char *name);
} bg__attach_shim;

/* The one function that libbreakgraph_tools.so exports. Returns false where the tools do not want to run. */
typedef bool bg__attach_begin_function(const bg__attach_shim *shim);

#endif

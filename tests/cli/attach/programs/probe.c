/* In place of libbreakgraph_tools.so: tells on stdout which calls it sees. */
#include "debug/attach/shim/shim.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) bg__attach_begin_function bg__attach_begin;
int cuGraphLaunch(void *exec, void *stream); /* the shim's */
static const bg__attach_shim *shim;

static bool saw_launch(bg__driver_call *call)
{
    printf("seen: %s(%llu, %llu)\n", call->hook->name, (unsigned long long)call->arguments[0],
           (unsigned long long)call->arguments[1]);
    return false;
}

/* An exec of 77 is answered here; one of 78 goes on as 79; of 80, a call is made that is the tools' own, and not seen.
 */
static bool answer(bg__driver_call *call)
{
    saw_launch(call);
    if (call->arguments[0] == 78)
        call->arguments[0] = 79;
    if (call->arguments[0] == 80)
        printf("own: %d\n", cuGraphLaunch(NULL, NULL));
    call->result = 7777;
    return call->arguments[0] == 77;
}

static void saw_kernel(bg__driver_call *call)
{
    printf("seen: %s: %u\n", call->hook->name, (unsigned)call->result);
}

static const bg__driver_hook hooks[] = {
    {"cuGraphLaunch", false, answer, NULL},
    {"cuGraphLaunch_ptsz", false, saw_launch, NULL},
    {"cuLaunchKernel", true, NULL, saw_kernel},
    {"cuNameOfTomorrow", false, saw_launch, NULL},
};

/* Floating-point registers hold what it prints, and not what the program passed. */
static bool saw_any(bg__driver_call *call)
{
    printf("watched: %s %.1f\n", shim->name(call->name), 0.5 * (double)call->arguments[0]);
    return false;
}

static void saw_end(bg__driver_call *call)
{
    printf("watched: %u\n", call->result);
}

static const bg__driver_hook any = {NULL, true, saw_any, saw_end};

bool bg__attach_begin(const bg__attach_shim *given)
{
    shim = given;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("tools: version %d\n", shim->version);
    shim->hook(hooks, sizeof hooks / sizeof hooks[0]);
    if (getenv("PROBE_ALL") != NULL)
        shim->hook_all(&any);
    if (getenv("PROBE_WATCH") != NULL)
        shim->watch(true);
    return true;
}

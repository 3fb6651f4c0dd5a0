/* Fenced memory. Device blocks are inaccessible; the first access by device work opens a block, and the end of the work
 * closes it again. Every other access to a closed, freed or guard page also raises the signal that is handled here,
 * with a message. */
#include "hostcuda/src/memory/fence.h"

#include "hostcuda/src/kernel/block.h"
#include "hostcuda/src/memory/modes.h"
#include "hostcuda/src/memory/regions.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static struct sigaction programs; /* the program's own handler */
static struct hc_region *opened;  /* opened by the running work */
static const char *running;       /* the name of the running work */
static _Thread_local bool working, faulted, passing;
static _Thread_local sigjmp_buf escape;

/* ---- messages, also from signal handlers ---------------------------------------------------------------------- */

static void describe(const struct hc_region *region, const void *address, char *place, size_t place_bytes)
{
    size_t beyond, bytes;
    if (hc_grid_shared(address, &beyond, &bytes))
        snprintf(place, place_bytes, "%zu bytes past the end of the block's dynamic shared memory, %zu bytes", beyond,
                 bytes);
    else
        hc_region_describe(region, address, place, place_bytes);
}

static void say(const char *who, const char *what, const struct hc_region *region, const void *address)
{
    char place[200], text[600];
    describe(region, address, place, sizeof place);
    int length = snprintf(text, sizeof text, "hostcuda: %s %s address %p, %s\n", who, what, address, place);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1) < 0)
        return; /* there is no way to report it */
}

/* For accesses by a kernel on this thread, or by a library's threads that work for it. */
static void say_work(const char *what, const struct hc_region *region, const void *address)
{
    char place[96], who[300];
    bool known = running && hc_grid_place(place, sizeof place);
    snprintf(who, sizeof who, "%s%s%s", running ? running : "device work", known ? ": " : "", known ? place : "");
    say(who, what, region, address);
}

/* ---- the handler ---------------------------------------------------------------------------------------------- */

/* Threads of a library, such as OpenBLAS's, work for the running op; the program's own threads do not. */
static bool works_for_device(void)
{
    return working || (__atomic_load_n(&running, __ATOMIC_ACQUIRE) && !hc_thread_is_known());
}

static void open_region(struct hc_region *region)
{
    hc_region_protect(region, true);
    if (__atomic_exchange_n(&region->open, true, __ATOMIC_ACQ_REL))
        return;
    region->next_open = __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&opened, &region->next_open, region, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

/* The instruction is executed again, and the default action follows. */
static void set_default(void)
{
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(SIGSEGV, &plain, NULL);
}

/* Calls the program's own handler, which may pass the signal back. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    bool again = passing, informed = programs.sa_flags & SA_SIGINFO;
    passing = true;
    if (again || (!informed && (programs.sa_handler == SIG_DFL || programs.sa_handler == SIG_IGN)))
        set_default();
    else if (informed)
        programs.sa_sigaction(number, info, context);
    else
        programs.sa_handler(number);
    passing = again;
}

static void abandon_work(void)
{
    faulted = true;
    hc_grid_abandon(); /* returns where no grid runs */
    siglongjmp(escape, 1);
}

static void handle(int number, siginfo_t *info, void *context)
{
    void *address = info->si_addr;
    struct hc_region *region = hc_region_at(address);
    bool device = works_for_device();
    if (device && region && region->state == HC_REGION_LIVE && hc_region_holds(region, address)) {
        open_region(region);
        return;
    }
    if (working) {
        say_work("touches", region ? region : hc_region_nearest(address), address);
        abandon_work();
    }
    if (region && device)
        say_work("touches", region, address);
    else if (region)
        say("host code", "touches", region, address);
    pass_on(number, info, context);
}

void hc_fence_install(void)
{
    struct sigaction now, ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSEGV, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle))
        return;
    programs = now;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGSEGV, &ours, NULL) != 0)
        perror("hostcuda: no handler for fenced memory");
}

/* ---- device work ---------------------------------------------------------------------------------------------- */

/* Closes the regions that the work opened. Returns false if it wrote to the slack beside a block. */
static bool close_regions(bool look)
{
    bool whole = true;
    while (opened) {
        struct hc_region *region = opened;
        const unsigned char *damage = look ? hc_region_damage(region) : NULL;
        if (damage) {
            say_work("wrote to", region, damage);
            whole = false;
        }
        opened = region->next_open;
        hc_region_protect(region, !region->device);
        region->open = false;
    }
    return whole;
}

cudaError_t hc_fence_run(cudaError_t (*work)(const void *data), const void *data, const char *name)
{
    volatile cudaError_t error = cudaSuccess;
    faulted = false;
    __atomic_store_n(&running, name, __ATOMIC_RELEASE);
    if (sigsetjmp(escape, 0) == 0) {
        working = true;
        error = work(data);
    }
    working = false;
    bool whole = close_regions(!faulted);
    __atomic_store_n(&running, NULL, __ATOMIC_RELEASE);
    return faulted || !whole ? cudaErrorIllegalAddress : error;
}

bool hc_fence_allows(const void *address, size_t bytes)
{
    const struct hc_region *region = hc_memory_modes & HC_FENCE ? hc_region_at(address) : NULL;
    if (!region)
        return true;
    size_t into = (size_t)((uintptr_t)address - (uintptr_t)region->base);
    if (region->state == HC_REGION_LIVE && into < region->bytes && bytes <= region->bytes - into)
        return true;
    bool overrun = region->state == HC_REGION_LIVE && into < region->bytes;
    say_work("touches", region, overrun ? region->base + region->bytes : address);
    faulted = true;
    return false;
}

/* Fenced memory. Device blocks are inaccessible; the first access by device work opens a block, and the end of the work
 * closes it again. Every other access to a closed, freed or guard page also raises the signal that is handled here,
 * with a message. */
#include "hostcuda/src/memory/fence.h"

#include "hostcuda/src/kernel/grid_state.h"
#include "hostcuda/src/memory/memory_modes.h"
#include "hostcuda/src/memory/memory_regions.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static struct sigaction program_handler; /* the program's own handler */
static struct hc_region *open_regions;   /* opened by the running work */
static const char *running_work;         /* the name of the running work */
static _Thread_local bool working, faulted, passing;
static _Thread_local sigjmp_buf escape;

/* ---- messages, also from signal handlers ---------------------------------------------------------------------- */

static void describe_access(const struct hc_region *region, const void *address, char *place, size_t place_bytes)
{
    size_t beyond, bytes;
    if (hc_grid_locate_shared(address, &beyond, &bytes))
        snprintf(place, place_bytes, "%zu bytes past the end of the block's dynamic shared memory, %zu bytes", beyond,
                 bytes);
    else
        hc_region_describe(region, address, place, place_bytes);
}

static void print_access(const char *who, const char *what, const struct hc_region *region, const void *address)
{
    char place[200], text[600];
    describe_access(region, address, place, sizeof place);
    int length = snprintf(text, sizeof text, "hostcuda: %s %s address %p, %s\n", who, what, address, place);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1) < 0)
        return; /* there is no way to report it */
}

/* For accesses by a kernel on this thread, or by a library's threads that work for this thread. */
static void print_work_access(const char *what, const struct hc_region *region, const void *address)
{
    char place[96], who[300];
    bool known = running_work && hc_grid_describe_thread(place, sizeof place);
    snprintf(who, sizeof who, "%s%s%s", running_work ? running_work : "device work", known ? ": " : "",
             known ? place : "");
    print_access(who, what, region, address);
}

/* ---- the handler ---------------------------------------------------------------------------------------------- */

/* Threads of a library, such as OpenBLAS's, work for the running op; the program's own threads do not. */
static bool works_for_device(void)
{
    return working || (__atomic_load_n(&running_work, __ATOMIC_ACQUIRE) && !hc_thread_is_known());
}

static void open_region(struct hc_region *region)
{
    hc_region_protect(region, true);
    if (__atomic_exchange_n(&region->open, true, __ATOMIC_ACQ_REL))
        return;
    region->next_open = __atomic_load_n(&open_regions, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&open_regions, &region->next_open, region, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        ;
}

/* The instruction is executed again, and the default action follows. */
static void set_default_action(void)
{
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(SIGSEGV, &plain, NULL);
}

/* Calls the program's own handler, which may pass the signal back. */
static void forward_signal(int number, siginfo_t *info, void *context)
{
    bool again = passing, informed = program_handler.sa_flags & SA_SIGINFO;
    passing = true;
    if (again || (!informed && (program_handler.sa_handler == SIG_DFL || program_handler.sa_handler == SIG_IGN)))
        set_default_action();
    else if (informed)
        program_handler.sa_sigaction(number, info, context);
    else
        program_handler.sa_handler(number);
    passing = again;
}

static void abandon_work(void)
{
    faulted = true;
    hc_grid_abandon(); /* returns where no grid runs */
    siglongjmp(escape, 1);
}

static void handle_fault(int number, siginfo_t *info, void *context)
{
    void *address = info->si_addr;
    struct hc_region *region = hc_region_at(address);
    bool device = works_for_device();
    if (device && region && region->state == HC_REGION_LIVE && hc_region_contains(region, address)) {
        open_region(region);
        return;
    }
    if (working) {
        print_work_access("touches", region ? region : hc_region_nearest(address), address);
        abandon_work();
    }
    if (region && device)
        print_work_access("touches", region, address);
    else if (region)
        print_access("host code", "touches", region, address);
    forward_signal(number, info, context);
}

void hc_fence_install_handler(void)
{
    struct sigaction now, ours = {.sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSEGV, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle_fault))
        return;
    program_handler = now;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGSEGV, &ours, NULL) != 0)
        perror("hostcuda: no handler for fenced memory");
}

/* ---- device work ---------------------------------------------------------------------------------------------- */

/* Closes the regions that the work opened. Returns false if it wrote to the slack beside a block. */
static bool close_regions(bool look)
{
    bool whole = true;
    while (open_regions) {
        struct hc_region *region = open_regions;
        const unsigned char *damage = look ? hc_region_find_damage(region) : NULL;
        if (damage) {
            print_work_access("wrote to", region, damage);
            whole = false;
        }
        open_regions = region->next_open;
        hc_region_protect(region, !region->device);
        region->open = false;
    }
    return whole;
}

cudaError_t hc_fence_run(cudaError_t (*work)(const void *data), const void *data, const char *name)
{
    volatile cudaError_t error = cudaSuccess;
    faulted = false;
    __atomic_store_n(&running_work, name, __ATOMIC_RELEASE);
    if (sigsetjmp(escape, 0) == 0) {
        working = true;
        error = work(data);
    }
    working = false;
    bool whole = close_regions(!faulted);
    __atomic_store_n(&running_work, NULL, __ATOMIC_RELEASE);
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
    print_work_access("touches", region, overrun ? region->base + region->bytes : address);
    faulted = true;
    return false;
}

#include "hostcuda/src/kernel/block_threads.h"

#include <hostcuda/kernel_abi.h>

#include <stdio.h>
#include <time.h>

enum {
    IDLE_YIELDS_SOME = 1 << 12,
    IDLE_YIELDS_MAX = 1 << 24, /* about a second: what all threads of a block still spin for then will not happen */
};

enum wait { WAIT_NONE, WAIT_BARRIER, WAIT_SHUFFLE, WAIT_BALLOT, WAIT_WARP, WAIT_COALESCED };

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;
_Thread_local struct hc_runner *hc_current_runner;

/* ---- choosing the next fiber -------------------------------------------------------------------------------- */

static void push_ready(struct hc_runner *runner, unsigned thread)
{
    runner->ready[(runner->ready_head + runner->ready_count++) % HC_BLOCK_THREADS_MAX] = (uint16_t)thread;
}

static unsigned pop_ready(struct hc_runner *runner)
{
    unsigned thread = runner->ready[runner->ready_head];
    runner->ready_head = (runner->ready_head + 1) % HC_BLOCK_THREADS_MAX;
    runner->ready_count--;
    return thread;
}

/* Functions that fiber_main calls and that use thread-local variables must not be inlined. In a later grid, a fiber may
 * be resumed on another OS thread, and an address computed before would belong to the wrong thread. */
static __attribute__((noinline)) void run_threads(struct hc_runner *runner);

static struct hc_fiber *next_fiber(struct hc_runner *runner);

static void fiber_main(void *argument)
{
    struct hc_runner *runner = argument;
    for (;;) {
        run_threads(runner);
        struct hc_fiber *here = runner->on;
        here->next = runner->idle;
        runner->idle = here;
        runner->on = next_fiber(runner);
        hc_fiber_switch(here, runner->on);
    }
}

struct hc_fiber *hc_runner_acquire_fiber(struct hc_runner *runner)
{
    struct hc_fiber *fiber = runner->idle;
    if (fiber) {
        runner->idle = fiber->next;
        return fiber;
    }
    fiber = hc_fiber_create(fiber_main, runner);
    if (fiber)
        runner->fibers[runner->fiber_count++] = fiber;
    return fiber;
}

/* not inlined: see run_threads */
static __attribute__((noinline)) void report_deadlock(const struct hc_runner *runner)
{
    unsigned barrier = 0, first = runner->thread_count;
    for (unsigned i = 0; i < runner->started; i++) {
        if (runner->threads[i].wait == WAIT_NONE)
            continue;
        barrier += runner->threads[i].wait == WAIT_BARRIER;
        if (first == runner->thread_count)
            first = i;
    }
    fprintf(stderr,
            "hostcuda: kernel %s: deadlock in block (%u,%u,%u): %u threads wait at __syncthreads, %u at a warp "
            "operation, %u have exited; the first waiting thread is %u\n",
            runner->grid->name, blockIdx.x, blockIdx.y, blockIdx.z, barrier, runner->waiting - barrier, runner->exited,
            first);
}

void hc_runner_report_no_memory(struct hc_runner *runner)
{
    fprintf(stderr, "hostcuda: kernel %s: no memory for the stacks of a block's threads\n", runner->grid->name);
    runner->failed = true;
}

static bool release_coalesced(struct hc_runner *runner);

/* Returns the fiber of a thread that can go on, or a fiber that starts further threads, or the root if the block has
 * ended. */
static struct hc_fiber *next_fiber(struct hc_runner *runner)
{
    if (runner->failed)
        return &runner->root;
    if (runner->ready_count)
        return runner->threads[pop_ready(runner)].fiber;
    if (runner->started < runner->thread_count) {
        struct hc_fiber *fiber = hc_runner_acquire_fiber(runner);
        if (fiber)
            return fiber;
        hc_runner_report_no_memory(runner);
    } else if (release_coalesced(runner)) {
        return runner->threads[pop_ready(runner)].fiber;
    } else if (runner->exited < runner->thread_count) {
        report_deadlock(runner);
        runner->failed = true;
    }
    return &runner->root;
}

static void suspend_thread(struct hc_runner *runner)
{
    unsigned self = runner->current;
    uint3 index = threadIdx;
    struct hc_fiber *here = runner->on;
    runner->threads[self].fiber = here;
    runner->on = next_fiber(runner);
    if (runner->on != here)
        hc_fiber_switch(here, runner->on);
    runner->current = self;
    threadIdx = index;
}

/* ---- barriers and warp operations --------------------------------------------------------------------------- */

static void release_thread(struct hc_runner *runner, unsigned thread, uint64_t value)
{
    runner->threads[thread].value = value;
    runner->threads[thread].wait = WAIT_NONE;
    runner->waiting--;
    runner->idle_yields = 0;
    if (thread != runner->current)
        push_ready(runner, thread);
}

/* Releases the lanes of the warp that wait at the same place, as one group. */
static void release_coalesced_lanes(struct hc_runner *runner, unsigned first)
{
    struct hc_runner_thread *lanes = &runner->threads[first / HC_LANES * HC_LANES];
    unsigned count = runner->started - first / HC_LANES * HC_LANES;
    uint64_t place = runner->threads[first].value;
    uint32_t together = 0;
    for (unsigned lane = 0; lane < HC_LANES && lane < count; lane++)
        if (lanes[lane].wait == WAIT_COALESCED && lanes[lane].value == place)
            together |= 1u << lane;
    for (unsigned lane = 0; lane < HC_LANES; lane++)
        if (together >> lane & 1)
            release_thread(runner, first / HC_LANES * HC_LANES + lane, together);
}

/* Releases a group of coalesced lanes when nothing else of the block can go on. Returns false if none waits. */
static bool release_coalesced(struct hc_runner *runner)
{
    unsigned self = runner->current;
    bool any = false;
    runner->current = HC_BLOCK_THREADS_MAX; /* no thread: the caller continues in its turn, as all others do */
    for (unsigned i = 0; runner->waiting && i < runner->started; i++) {
        if (runner->threads[i].wait != WAIT_COALESCED)
            continue;
        release_coalesced_lanes(runner, i);
        any = true;
    }
    runner->current = self;
    return any;
}

static void finish_meeting(struct hc_runner *runner, unsigned warp, struct hc_warp_meeting meeting)
{
    struct hc_runner_thread *lanes = &runner->threads[warp * HC_LANES];
    uint64_t brought[HC_LANES] = {0};
    uint64_t ballot = 0;
    for (unsigned lane = 0; lane < HC_LANES; lane++) {
        if (!(meeting.lanes >> lane & 1))
            continue;
        brought[lane] = lanes[lane].value;
        ballot |= (uint64_t)(lanes[lane].value != 0) << lane;
    }
    for (unsigned lane = 0; lane < HC_LANES; lane++) {
        if (!(meeting.lanes >> lane & 1))
            continue;
        /* a shuffle from a lane that does not take part is undefined on a GPU; here it returns the lane's own value */
        unsigned source = meeting.lanes >> lanes[lane].source & 1 ? lanes[lane].source : lane;
        release_thread(runner, warp * HC_LANES + lane, meeting.wait == WAIT_BALLOT ? ballot : brought[source]);
    }
}

static bool finish_if_complete(struct hc_runner *runner, unsigned warp, unsigned index)
{
    struct hc_warp *w = &runner->warps[warp];
    struct hc_warp_meeting meeting = w->meeting[index];
    if ((meeting.mask & ~w->gone) != meeting.lanes)
        return false;
    w->meeting[index] = w->meeting[--w->meetings];
    finish_meeting(runner, warp, meeting);
    return true;
}

void hc_runner_fail_grid(struct hc_runner *runner)
{
    runner->failed = true;
    suspend_thread(runner); /* switches to the root, which restarts this fiber */
}

/* Exchanges the caller's value when all lanes of the mask have arrived. */
static uint64_t wait_at_meeting(enum wait wait, uint32_t mask, uint64_t value, unsigned source)
{
    struct hc_runner *runner = hc_current_runner;
    unsigned self = runner->current, warp = self / HC_LANES, index = 0;
    uint32_t bit = 1u << self % HC_LANES;
    struct hc_warp *w = &runner->warps[warp];
    if (!(mask & bit)) {
        fprintf(stderr, "hostcuda: kernel %s: thread %u calls a warp operation whose mask 0x%08x leaves its lane out\n",
                runner->grid->name, self, mask);
        hc_runner_fail_grid(runner);
    }
    while (index < w->meetings && (w->meeting[index].mask != mask || w->meeting[index].wait != wait))
        index++;
    if (index == w->meetings)
        w->meeting[w->meetings++] = (struct hc_warp_meeting){mask, 0, (uint8_t)wait};
    w->meeting[index].lanes |= bit;
    struct hc_runner_thread *thread = &runner->threads[self];
    thread->value = value;
    thread->wait = (uint8_t)wait;
    thread->source = (uint8_t)source;
    runner->waiting++;
    if (!finish_if_complete(runner, warp, index))
        suspend_thread(runner);
    return thread->value;
}

static bool finish_barrier_if_complete(struct hc_runner *runner)
{
    if (!runner->barrier_arrived || runner->barrier_arrived != runner->thread_count - runner->exited)
        return false;
    unsigned sum = runner->barrier_sum;
    runner->barrier_arrived = runner->barrier_sum = 0;
    for (unsigned i = 0; i < runner->thread_count; i++)
        if (runner->threads[i].wait == WAIT_BARRIER)
            release_thread(runner, i, sum);
    return true;
}

static void exit_thread(struct hc_runner *runner)
{
    unsigned self = runner->current, warp = self / HC_LANES;
    runner->exited++;
    runner->idle_yields = 0;
    runner->warps[warp].gone |= 1u << self % HC_LANES;
    if (!runner->waiting)
        return;
    for (unsigned i = runner->warps[warp].meetings; i-- > 0;)
        finish_if_complete(runner, warp, i);
    finish_barrier_if_complete(runner);
}

void hc_index_advance(uint3 *index, uint3 extent)
{
    if (++index->x < extent.x)
        return;
    index->x = 0;
    if (++index->y < extent.y)
        return;
    index->y = 0;
    index->z++;
}

static void run_threads(struct hc_runner *runner)
{
    const struct hc_grid *grid = runner->grid;
    while (runner->started < runner->thread_count && !runner->failed) {
        runner->current = runner->started++;
        runner->threads[runner->current].wait = WAIT_NONE;
        threadIdx = runner->next_index;
        hc_index_advance(&runner->next_index, grid->block);
        grid->invoke(grid->function, grid->arguments);
        exit_thread(runner);
    }
}

/* ---- functions that kernels call ----------------------------------------------------------------------------- */

void *hostcuda_dynamic_shared(void)
{
    return hc_current_runner->shared;
}

int hostcuda_barrier(int predicate)
{
    struct hc_runner *runner = hc_current_runner;
    struct hc_runner_thread *thread = &runner->threads[runner->current];
    thread->wait = WAIT_BARRIER;
    runner->waiting++;
    runner->barrier_arrived++;
    runner->barrier_sum += predicate != 0;
    if (!finish_barrier_if_complete(runner))
        suspend_thread(runner);
    return (int)thread->value;
}

unsigned long long hostcuda_shuffle(unsigned mask, unsigned long long value, int source_lane)
{
    return wait_at_meeting(WAIT_SHUFFLE, mask, value, (unsigned)source_lane % HC_LANES);
}

unsigned hostcuda_ballot(unsigned mask, int predicate)
{
    return (unsigned)wait_at_meeting(WAIT_BALLOT, mask, predicate != 0, 0);
}

void hostcuda_syncwarp(unsigned mask)
{
    wait_at_meeting(WAIT_WARP, mask, 0, 0);
}

/* CUDA does not promise which lanes run together. Code that asks usually means the lanes that have not exited. */
unsigned hostcuda_active_mask(void)
{
    return ~hc_current_runner->warps[hc_current_runner->current / HC_LANES].gone;
}

int hostcuda_lane(void)
{
    return (int)(hc_current_runner->current % HC_LANES);
}

/* The return address is the place of the call: kernels call this directly, not through a wrapper. */
unsigned hostcuda_coalesced(void)
{
    struct hc_runner *runner = hc_current_runner;
    struct hc_runner_thread *thread = &runner->threads[runner->current];
    thread->value = (uint64_t)(uintptr_t)__builtin_return_address(0);
    thread->wait = WAIT_COALESCED;
    runner->waiting++;
    suspend_thread(runner);
    return (unsigned)thread->value;
}

/* Unstarted threads run first: the spinning thread may wait for them. */
void hostcuda_yield(void)
{
    struct hc_runner *runner = hc_current_runner;
    if (++runner->idle_yields > IDLE_YIELDS_MAX) {
        fprintf(stderr,
                "hostcuda: kernel %s: block (%u,%u,%u) spins on memory that no thread of the block changes; blocks "
                "run one after the other\n",
                runner->grid->name, blockIdx.x, blockIdx.y, blockIdx.z);
        hc_runner_fail_grid(runner);
    }
    if (runner->idle_yields % IDLE_YIELDS_SOME == 0)
        release_coalesced(runner);
    if (!runner->ready_count && runner->started == runner->thread_count)
        return;
    unsigned self = runner->current;
    uint3 index = threadIdx;
    struct hc_fiber *here = runner->on;
    struct hc_fiber *fresh = runner->started < runner->thread_count ? hc_runner_acquire_fiber(runner) : NULL;
    push_ready(runner, self);
    runner->threads[self].fiber = here;
    runner->on = fresh ? fresh : next_fiber(runner);
    if (runner->on != here)
        hc_fiber_switch(here, runner->on);
    runner->current = self;
    threadIdx = index;
}

void hostcuda_trap(void)
{
    fprintf(stderr, "hostcuda: kernel %s: thread (%u,%u,%u) of block (%u,%u,%u) called __trap\n",
            hc_current_runner->grid->name, threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z);
    hc_runner_fail_grid(hc_current_runner);
}

long long hostcuda_clock(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0;
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

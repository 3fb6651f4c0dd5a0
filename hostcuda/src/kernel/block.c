#include "hostcuda/src/kernel/block.h"

#include "hostcuda/src/kernel/division.h"
#include "hostcuda/src/kernel/fibers.h"
#include <hostcuda/kernel_abi.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum {
    LANES = 32,
    WARPS_MAX = HC_BLOCK_THREADS_MAX / LANES,
    IDLE_YIELDS_SOME = 1 << 12,
    IDLE_YIELDS_MAX = 1 << 24, /* a second or less: what a whole block spins for will not come */
    SHARED_ALIGN = 128,
    SHARED_MAPPED = (HC_SHARED_BYTES_MAX + 0xffff) / 0x10000 * 0x10000, /* whole pages, of any size */
    SHARED_GUARD = 1 << 20,
};

bool hc_shared_fenced;

enum wait { WAIT_NONE, WAIT_BARRIER, WAIT_SHUFFLE, WAIT_BALLOT, WAIT_WARP, WAIT_COALESCED };

struct thread {
    struct hc_fiber *fiber; /* while the thread is suspended */
    uint64_t value;         /* what it brought to a barrier or warp operation, then what it got */
    uint8_t wait;
    uint8_t source; /* lane, of a shuffle */
};

/* Lanes that met at one warp operation; it is over when every lane of the mask is here or gone. */
struct meeting {
    uint32_t mask, lanes;
    uint8_t wait;
};

struct warp {
    uint32_t gone; /* lanes that exited or never were */
    unsigned meetings;
    struct meeting meeting[LANES];
};

/* Everything that one grid needs while it runs; kept between grids, because stacks are costly to make. */
struct runner {
    struct runner *next;
    const struct hc_grid *grid;
    struct hc_fiber root;  /* the OS thread's own stack */
    struct hc_fiber *on;   /* the fiber that runs now */
    struct hc_fiber *idle; /* fibers with no thread on them */
    unsigned fiber_count;
    struct hc_fiber *fibers[HC_BLOCK_THREADS_MAX + 1];
    uint3 next_index;
    unsigned thread_count, started, exited, current;
    unsigned waiting; /* threads at a barrier or a warp operation */
    unsigned barrier_arrived, barrier_sum;
    bool failed;
    unsigned idle_yields; /* since any thread got anywhere */
    unsigned ready_head, ready_count;
    uint16_t ready[HC_BLOCK_THREADS_MAX];
    struct warp warps[WARPS_MAX];
    struct thread threads[HC_BLOCK_THREADS_MAX];
    unsigned char *shared;        /* dynamic shared memory of the launch that runs */
    unsigned char *shared_memory; /* where it may be */
};

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;
static _Thread_local struct runner *running;

static pthread_mutex_t runners_lock = PTHREAD_MUTEX_INITIALIZER;
static struct runner *runners;

/* ---- which fiber runs next ---------------------------------------------------------------------------------- */

static void push_ready(struct runner *runner, unsigned thread)
{
    runner->ready[(runner->ready_head + runner->ready_count++) % HC_BLOCK_THREADS_MAX] = (uint16_t)thread;
}

static unsigned pop_ready(struct runner *runner)
{
    unsigned thread = runner->ready[runner->ready_head];
    runner->ready_head = (runner->ready_head + 1) % HC_BLOCK_THREADS_MAX;
    runner->ready_count--;
    return thread;
}

/* Not inlined, as all that fiber_main calls and that uses thread-local variables: a fiber may be resumed on another OS
 * thread in a later grid, where an address kept from before would be the wrong thread's. */
static __attribute__((noinline)) void run_threads(struct runner *runner);

static struct hc_fiber *next_fiber(struct runner *runner);

static void fiber_main(void *argument)
{
    struct runner *runner = argument;
    for (;;) {
        run_threads(runner);
        struct hc_fiber *here = runner->on;
        here->next = runner->idle;
        runner->idle = here;
        runner->on = next_fiber(runner);
        hc_fiber_switch(here, runner->on);
    }
}

static struct hc_fiber *take_fiber(struct runner *runner)
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
static __attribute__((noinline)) void report_deadlock(const struct runner *runner)
{
    unsigned barrier = 0, first = runner->thread_count;
    for (unsigned i = 0; i < runner->started; i++) {
        if (runner->threads[i].wait == WAIT_NONE)
            continue;
        barrier += runner->threads[i].wait == WAIT_BARRIER;
        if (first == runner->thread_count)
            first = i;
    }
    fprintf(
        stderr,
        "hostcuda: kernel %s: block (%u,%u,%u) waits for ever: %u threads at __syncthreads, %u at a warp operation, "
        "%u exited; the first thread that waits is %u\n",
        runner->grid->name, blockIdx.x, blockIdx.y, blockIdx.z, barrier, runner->waiting - barrier, runner->exited,
        first);
}

static void report_memory(struct runner *runner)
{
    fprintf(stderr, "hostcuda: kernel %s: no memory for the stacks of a block's threads\n", runner->grid->name);
    runner->failed = true;
}

static bool release_coalesced(struct runner *runner);

/* The fiber of a thread that can go on, or one that starts further threads, or the root when the block has ended. */
static struct hc_fiber *next_fiber(struct runner *runner)
{
    if (runner->failed)
        return &runner->root;
    if (runner->ready_count)
        return runner->threads[pop_ready(runner)].fiber;
    if (runner->started < runner->thread_count) {
        struct hc_fiber *fiber = take_fiber(runner);
        if (fiber)
            return fiber;
        report_memory(runner);
    } else if (release_coalesced(runner)) {
        return runner->threads[pop_ready(runner)].fiber;
    } else if (runner->exited < runner->thread_count) {
        report_deadlock(runner);
        runner->failed = true;
    }
    return &runner->root;
}

static void suspend(struct runner *runner)
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

/* ---- meetings ----------------------------------------------------------------------------------------------- */

static void release_thread(struct runner *runner, unsigned thread, uint64_t value)
{
    runner->threads[thread].value = value;
    runner->threads[thread].wait = WAIT_NONE;
    runner->waiting--;
    runner->idle_yields = 0;
    if (thread != runner->current)
        push_ready(runner, thread);
}

/* Lanes of a warp that wait for others at the same place go on as one group. */
static void release_place(struct runner *runner, unsigned first)
{
    struct thread *lanes = &runner->threads[first / LANES * LANES];
    unsigned count = runner->started - first / LANES * LANES;
    uint64_t place = runner->threads[first].value;
    uint32_t together = 0;
    for (unsigned lane = 0; lane < LANES && lane < count; lane++)
        if (lanes[lane].wait == WAIT_COALESCED && lanes[lane].value == place)
            together |= 1u << lane;
    for (unsigned lane = 0; lane < LANES; lane++)
        if (together >> lane & 1)
            release_thread(runner, first / LANES * LANES + lane, together);
}

/* Nothing else of the block can go on. False: nobody waits for that. */
static bool release_coalesced(struct runner *runner)
{
    unsigned self = runner->current;
    bool any = false;
    runner->current = HC_BLOCK_THREADS_MAX; /* nobody: the caller goes on in turn, as all */
    for (unsigned i = 0; runner->waiting && i < runner->started; i++) {
        if (runner->threads[i].wait != WAIT_COALESCED)
            continue;
        release_place(runner, i);
        any = true;
    }
    runner->current = self;
    return any;
}

static void finish_meeting(struct runner *runner, unsigned warp, struct meeting meeting)
{
    struct thread *lanes = &runner->threads[warp * LANES];
    uint64_t brought[LANES] = {0};
    uint64_t ballot = 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (!(meeting.lanes >> lane & 1))
            continue;
        brought[lane] = lanes[lane].value;
        ballot |= (uint64_t)(lanes[lane].value != 0) << lane;
    }
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (!(meeting.lanes >> lane & 1))
            continue;
        /* a shuffle from a lane that does not take part gives no defined value on a GPU; here: the lane's own */
        unsigned source = meeting.lanes >> lanes[lane].source & 1 ? lanes[lane].source : lane;
        release_thread(runner, warp * LANES + lane, meeting.wait == WAIT_BALLOT ? ballot : brought[source]);
    }
}

static bool finish_if_complete(struct runner *runner, unsigned warp, unsigned index)
{
    struct warp *w = &runner->warps[warp];
    struct meeting meeting = w->meeting[index];
    if ((meeting.mask & ~w->gone) != meeting.lanes)
        return false;
    w->meeting[index] = w->meeting[--w->meetings];
    finish_meeting(runner, warp, meeting);
    return true;
}

static void trap(struct runner *runner)
{
    runner->failed = true;
    suspend(runner); /* to the root, which restarts this fiber */
}

/* The caller's value is exchanged at the meeting of the mask's lanes. */
static uint64_t meet_threads(enum wait wait, uint32_t mask, uint64_t value, unsigned source)
{
    struct runner *runner = running;
    unsigned self = runner->current, warp = self / LANES, index = 0;
    uint32_t bit = 1u << self % LANES;
    struct warp *w = &runner->warps[warp];
    if (!(mask & bit)) {
        fprintf(stderr, "hostcuda: kernel %s: thread %u calls a warp operation whose mask 0x%08x leaves its lane out\n",
                runner->grid->name, self, mask);
        trap(runner);
    }
    while (index < w->meetings && (w->meeting[index].mask != mask || w->meeting[index].wait != wait))
        index++;
    if (index == w->meetings)
        w->meeting[w->meetings++] = (struct meeting){mask, 0, (uint8_t)wait};
    w->meeting[index].lanes |= bit;
    struct thread *thread = &runner->threads[self];
    thread->value = value;
    thread->wait = (uint8_t)wait;
    thread->source = (uint8_t)source;
    runner->waiting++;
    if (!finish_if_complete(runner, warp, index))
        suspend(runner);
    return thread->value;
}

static bool finish_barrier_if_complete(struct runner *runner)
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

static void exit_thread(struct runner *runner)
{
    unsigned self = runner->current, warp = self / LANES;
    runner->exited++;
    runner->idle_yields = 0;
    runner->warps[warp].gone |= 1u << self % LANES;
    if (!runner->waiting)
        return;
    for (unsigned i = runner->warps[warp].meetings; i-- > 0;)
        finish_if_complete(runner, warp, i);
    finish_barrier_if_complete(runner);
}

/* ---- blocks and grids --------------------------------------------------------------------------------------- */

static void advance_index(uint3 *index, uint3 extent)
{
    if (++index->x < extent.x)
        return;
    index->x = 0;
    if (++index->y < extent.y)
        return;
    index->y = 0;
    index->z++;
}

static void run_threads(struct runner *runner)
{
    const struct hc_grid *grid = runner->grid;
    while (runner->started < runner->thread_count && !runner->failed) {
        runner->current = runner->started++;
        runner->threads[runner->current].wait = WAIT_NONE;
        threadIdx = runner->next_index;
        advance_index(&runner->next_index, grid->block);
        grid->invoke(grid->function, grid->arguments);
        exit_thread(runner);
    }
}

static void reset_block(struct runner *runner)
{
    unsigned warps = (runner->thread_count + LANES - 1) / LANES, tail = runner->thread_count % LANES;
    runner->started = runner->exited = runner->waiting = 0;
    runner->barrier_arrived = runner->barrier_sum = runner->idle_yields = 0;
    runner->ready_head = runner->ready_count = 0;
    runner->next_index = (uint3){0, 0, 0};
    for (unsigned i = 0; i < warps; i++)
        runner->warps[i].gone = runner->warps[i].meetings = 0;
    if (tail)
        runner->warps[warps - 1].gone = ~0u << tail;
}

/* After a failure, threads lie suspended on the fibers: throw them away. */
static void restart_fibers(struct runner *runner)
{
    runner->idle = NULL;
    for (unsigned i = 0; i < runner->fiber_count; i++) {
        hc_fiber_restart(runner->fibers[i]);
        runner->fibers[i]->next = runner->idle;
        runner->idle = runner->fibers[i];
    }
}

static bool run_block(struct runner *runner)
{
    reset_block(runner);
    runner->on = take_fiber(runner);
    if (!runner->on) {
        report_memory(runner);
        return false;
    }
    hc_fiber_switch(&runner->root, runner->on);
    if (runner->failed)
        restart_fibers(runner);
    return !runner->failed;
}

/* What lies behind it, nobody can touch. */
static unsigned char *map_shared(void)
{
    unsigned char *memory =
        mmap(NULL, SHARED_MAPPED + SHARED_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory, SHARED_MAPPED, PROT_READ | PROT_WRITE) == 0)
        return memory;
    munmap(memory, SHARED_MAPPED + SHARED_GUARD);
    return NULL;
}

/* Fenced, it ends where the mapped memory does, but for what keeps it aligned. */
static unsigned char *place_shared(const struct runner *runner)
{
    size_t unused = hc_shared_fenced ? SHARED_MAPPED - runner->grid->shared_bytes : 0;
    return runner->shared_memory + unused / SHARED_ALIGN * SHARED_ALIGN;
}

bool hc_grid_shared(const void *address, size_t *beyond, size_t *bytes)
{
    uintptr_t at = (uintptr_t)address;
    if (!running || at < (uintptr_t)running->shared_memory ||
        at >= (uintptr_t)running->shared_memory + SHARED_MAPPED + SHARED_GUARD)
        return false;
    *bytes = running->grid->shared_bytes;
    *beyond = at - (uintptr_t)running->shared - *bytes;
    return true;
}

static struct runner *runner_take(void)
{
    pthread_mutex_lock(&runners_lock);
    struct runner *runner = runners;
    if (runner)
        runners = runner->next;
    pthread_mutex_unlock(&runners_lock);
    if (runner)
        return runner;
    runner = calloc(1, sizeof *runner);
    if (runner && !(runner->shared_memory = map_shared())) {
        free(runner);
        runner = NULL;
    }
    return runner;
}

static void runner_give(struct runner *runner)
{
    pthread_mutex_lock(&runners_lock);
    runner->next = runners;
    runners = runner;
    pthread_mutex_unlock(&runners_lock);
}

/* Under ASan, what lies beyond the launch's dynamic shared memory is out of bounds. */
static void fence_shared(struct runner *runner, bool fenced)
{
#ifdef __SANITIZE_ADDRESS__
    size_t used = runner->grid->shared_bytes;
    __asan_unpoison_memory_region(runner->shared_memory, SHARED_MAPPED);
    if (fenced)
        __asan_poison_memory_region(runner->shared + used,
                                    (size_t)(runner->shared_memory + SHARED_MAPPED - runner->shared) - used);
#else
    (void)runner, (void)fenced;
#endif
}

bool hc_grid_run(const struct hc_grid *grid)
{
    struct runner *runner = runner_take();
    if (!runner) {
        fprintf(stderr, "hostcuda: kernel %s: no memory to run it\n", grid->name);
        return false;
    }
    runner->grid = grid;
    runner->failed = false;
    runner->thread_count = grid->block.x * grid->block.y * grid->block.z;
    hc_division_install(hc_grid_runs);
    running = runner;
    gridDim = grid->grid;
    blockDim = grid->block;
    runner->shared = place_shared(runner);
    fence_shared(runner, true);
    size_t blocks = (size_t)grid->grid.x * grid->grid.y * grid->grid.z;
    blockIdx = (uint3){0, 0, 0};
    bool ok = true;
    for (size_t i = 0; ok && i < blocks; i++) {
        ok = run_block(runner);
        advance_index(&blockIdx, grid->grid);
    }
    fence_shared(runner, false);
    running = NULL;
    gridDim = (uint3){0, 0, 0}; /* by which a kernel that hostcuda-cc has compiled knows that host code calls it */
    runner_give(runner);
    return ok;
}

bool hc_grid_runs(void)
{
    return running != NULL;
}

bool hc_grid_place(char *text, size_t bytes)
{
    if (!running)
        return false;
    snprintf(text, bytes, "thread (%u,%u,%u) of block (%u,%u,%u)", threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x,
             blockIdx.y, blockIdx.z);
    return true;
}

void hc_grid_abandon(void)
{
    if (running)
        trap(running);
}

/* ---- what kernels call --------------------------------------------------------------------------------------- */

void *hostcuda_dynamic_shared(void)
{
    return running->shared;
}

int hostcuda_barrier(int predicate)
{
    struct runner *runner = running;
    struct thread *thread = &runner->threads[runner->current];
    thread->wait = WAIT_BARRIER;
    runner->waiting++;
    runner->barrier_arrived++;
    runner->barrier_sum += predicate != 0;
    if (!finish_barrier_if_complete(runner))
        suspend(runner);
    return (int)thread->value;
}

unsigned long long hostcuda_shuffle(unsigned mask, unsigned long long value, int source_lane)
{
    return meet_threads(WAIT_SHUFFLE, mask, value, (unsigned)source_lane % LANES);
}

unsigned hostcuda_ballot(unsigned mask, int predicate)
{
    return (unsigned)meet_threads(WAIT_BALLOT, mask, predicate != 0, 0);
}

void hostcuda_syncwarp(unsigned mask)
{
    meet_threads(WAIT_WARP, mask, 0, 0);
}

/* Which lanes run together is nobody's promise; code that asks usually means those that have not returned. */
unsigned hostcuda_active_mask(void)
{
    return ~running->warps[running->current / LANES].gone;
}

int hostcuda_lane(void)
{
    return (int)(running->current % LANES);
}

/* The place of the call: kernels have the call itself, not a function around it. */
unsigned hostcuda_coalesced(void)
{
    struct runner *runner = running;
    struct thread *thread = &runner->threads[runner->current];
    thread->value = (uint64_t)(uintptr_t)__builtin_return_address(0);
    thread->wait = WAIT_COALESCED;
    runner->waiting++;
    suspend(runner);
    return (unsigned)thread->value;
}

/* Unstarted threads go first: they may be the ones that the spinning thread waits for. */
void hostcuda_yield(void)
{
    struct runner *runner = running;
    if (++runner->idle_yields > IDLE_YIELDS_MAX) {
        fprintf(
            stderr,
            "hostcuda: kernel %s: block (%u,%u,%u) spins for ever on memory that no thread of the block will change\n",
            runner->grid->name, blockIdx.x, blockIdx.y, blockIdx.z);
        trap(runner);
    }
    if (runner->idle_yields % IDLE_YIELDS_SOME == 0)
        release_coalesced(runner);
    if (!runner->ready_count && runner->started == runner->thread_count)
        return;
    unsigned self = runner->current;
    uint3 index = threadIdx;
    struct hc_fiber *here = runner->on;
    struct hc_fiber *fresh = runner->started < runner->thread_count ? take_fiber(runner) : NULL;
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
    fprintf(stderr, "hostcuda: kernel %s: thread (%u,%u,%u) of block (%u,%u,%u) called __trap\n", running->grid->name,
            threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z);
    trap(running);
}

long long hostcuda_clock(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0;
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#include "hostcuda/src/kernel/grid_state.h"

#include "hostcuda/src/kernel/block_threads.h"
#include "hostcuda/src/kernel/integer_division.h"
#include <hostcuda/kernel_abi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum {
    SHARED_ALIGN = 128,
    SHARED_MAPPED = (HC_SHARED_BYTES_MAX + 0xffff) / 0x10000 * 0x10000, /* a multiple of every page size */
    SHARED_GUARD = 1 << 20,
};

bool hc_shared_fenced;

static pthread_mutex_t runners_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hc_runner *runners;

static void reset_block(struct hc_runner *runner)
{
    unsigned warps = (runner->thread_count + HC_LANES - 1) / HC_LANES, tail = runner->thread_count % HC_LANES;
    runner->started = runner->exited = runner->waiting = 0;
    runner->barrier_arrived = runner->barrier_sum = runner->idle_yields = 0;
    runner->ready_head = runner->ready_count = 0;
    runner->next_index = (uint3){0, 0, 0};
    for (unsigned i = 0; i < warps; i++)
        runner->warps[i].gone = runner->warps[i].meetings = 0;
    if (tail)
        runner->warps[warps - 1].gone = ~0u << tail;
}

/* After a failure, discards the threads that are suspended on the fibers. */
static void restart_fibers(struct hc_runner *runner)
{
    runner->idle = NULL;
    for (unsigned i = 0; i < runner->fiber_count; i++) {
        hc_fiber_restart(runner->fibers[i]);
        runner->fibers[i]->next = runner->idle;
        runner->idle = runner->fibers[i];
    }
}

static bool run_block(struct hc_runner *runner)
{
    reset_block(runner);
    runner->on = hc_runner_acquire_fiber(runner);
    if (!runner->on) {
        hc_runner_report_no_memory(runner);
        return false;
    }
    hc_fiber_switch(&runner->root, runner->on);
    if (runner->failed)
        restart_fibers(runner);
    return !runner->failed;
}

/* Maps the dynamic shared memory. The pages behind it have no access. */
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

/* Returns where dynamic shared memory begins. In fence mode, the memory ends where the mapping ends, up to
 * alignment. */
static unsigned char *shared_start(const struct hc_runner *runner)
{
    size_t unused = hc_shared_fenced ? SHARED_MAPPED - runner->grid->shared_bytes : 0;
    return runner->shared_memory + unused / SHARED_ALIGN * SHARED_ALIGN;
}

bool hc_grid_locate_shared(const void *address, size_t *beyond, size_t *bytes)
{
    uintptr_t at = (uintptr_t)address;
    if (!hc_current_runner || at < (uintptr_t)hc_current_runner->shared_memory ||
        at >= (uintptr_t)hc_current_runner->shared_memory + SHARED_MAPPED + SHARED_GUARD)
        return false;
    *bytes = hc_current_runner->grid->shared_bytes;
    *beyond = at - (uintptr_t)hc_current_runner->shared - *bytes;
    return true;
}

static struct hc_runner *acquire_runner(void)
{
    pthread_mutex_lock(&runners_lock);
    struct hc_runner *runner = runners;
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

static void release_runner(struct hc_runner *runner)
{
    pthread_mutex_lock(&runners_lock);
    runner->next = runners;
    runners = runner;
    pthread_mutex_unlock(&runners_lock);
}

/* Under ASan, memory beyond the launch's dynamic shared memory is out of bounds. */
static void fence_shared(struct hc_runner *runner, bool fenced)
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
    struct hc_runner *runner = acquire_runner();
    if (!runner) {
        fprintf(stderr, "hostcuda: kernel %s: no memory to run it\n", grid->name);
        return false;
    }
    runner->grid = grid;
    runner->failed = false;
    runner->thread_count = grid->block.x * grid->block.y * grid->block.z;
    hc_division_install_handler(hc_grid_is_running);
    hc_current_runner = runner;
    gridDim = grid->grid;
    blockDim = grid->block;
    runner->shared = shared_start(runner);
    fence_shared(runner, true);
    size_t blocks = (size_t)grid->grid.x * grid->grid.y * grid->grid.z;
    blockIdx = (uint3){0, 0, 0};
    bool ok = true;
    for (size_t i = 0; ok && i < blocks; i++) {
        ok = run_block(runner);
        hc_index_advance(&blockIdx, grid->grid);
    }
    fence_shared(runner, false);
    hc_current_runner = NULL;
    gridDim = (uint3){0, 0, 0}; /* kernels that hostcuda-cc has compiled check this to detect calls by host code */
    release_runner(runner);
    return ok;
}

bool hc_grid_is_running(void)
{
    return hc_current_runner != NULL;
}

bool hc_grid_describe_thread(char *text, size_t bytes)
{
    if (!hc_current_runner)
        return false;
    snprintf(text, bytes, "thread (%u,%u,%u) of block (%u,%u,%u)", threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x,
             blockIdx.y, blockIdx.z);
    return true;
}

void hc_grid_abandon(void)
{
    if (hc_current_runner)
        hc_runner_fail_grid(hc_current_runner);
}

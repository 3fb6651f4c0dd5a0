/* The threads of a block. Each has a fiber, and all run on one OS thread; barriers and warp operations switch between
 * them. */
#ifndef HOSTCUDA_BLOCK_THREADS_H
#define HOSTCUDA_BLOCK_THREADS_H

#include "hostcuda/src/kernel/grid_state.h"
#include "hostcuda/src/kernel/fibers.h"

#include <stdint.h>

enum { HC_LANES = 32, HC_WARPS_MAX = HC_BLOCK_THREADS_MAX / HC_LANES };

struct hc_runner_thread {
    struct hc_fiber *fiber; /* valid while the thread is suspended */
    uint64_t value;         /* its input to a barrier or warp operation, then its result */
    uint8_t wait;
    uint8_t source; /* source lane of a shuffle */
};

/* Lanes that wait in one warp operation, which ends when every lane of the mask has arrived or exited. */
struct hc_warp_meeting {
    uint32_t mask, lanes;
    uint8_t wait;
};

struct hc_warp {
    uint32_t gone; /* lanes that have exited or never existed */
    unsigned meetings;
    struct hc_warp_meeting meeting[HC_LANES];
};

/* The state of a running grid. It is kept between grids, because stacks are expensive to make. */
struct hc_runner {
    struct hc_runner *next;
    const struct hc_grid *grid;
    struct hc_fiber root;  /* stands for the OS thread's own stack */
    struct hc_fiber *on;   /* the running fiber */
    struct hc_fiber *idle; /* fibers that run no thread */
    unsigned fiber_count;
    struct hc_fiber *fibers[HC_BLOCK_THREADS_MAX + 1];
    uint3 next_index;
    unsigned thread_count, started, exited, current;
    unsigned waiting; /* threads waiting at a barrier or a warp operation */
    unsigned barrier_arrived, barrier_sum;
    bool failed;
    unsigned idle_yields; /* yields since any thread made progress */
    unsigned ready_head, ready_count;
    uint16_t ready[HC_BLOCK_THREADS_MAX];
    struct hc_warp warps[HC_WARPS_MAX];
    struct hc_runner_thread threads[HC_BLOCK_THREADS_MAX];
    unsigned char *shared;        /* dynamic shared memory of the current launch */
    unsigned char *shared_memory; /* the mapping that contains it */
};

extern _Thread_local struct hc_runner *hc_current_runner; /* the grid that runs on the calling OS thread; NULL: none */

/* Returns a fiber that has not started any thread; NULL: no memory. */
struct hc_fiber *hc_runner_acquire_fiber(struct hc_runner *runner);
void hc_runner_report_no_memory(struct hc_runner *runner);
/* Ends the grid as failed. Does not return. */
void hc_runner_fail_grid(struct hc_runner *runner);
void hc_index_advance(uint3 *index, uint3 extent);

#endif

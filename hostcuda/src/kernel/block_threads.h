/* The threads of a block: each on a fiber, all on one OS thread; barriers and warp operations switch between them. */
#ifndef HOSTCUDA_BLOCK_THREADS_H
#define HOSTCUDA_BLOCK_THREADS_H

#include "hostcuda/src/kernel/block.h"
#include "hostcuda/src/kernel/fibers.h"

#include <stdint.h>

enum { HC_LANES = 32, HC_WARPS_MAX = HC_BLOCK_THREADS_MAX / HC_LANES };

struct hc_runner_thread {
    struct hc_fiber *fiber; /* while the thread is suspended */
    uint64_t value;         /* what it brought to a barrier or warp operation, then what it got */
    uint8_t wait;
    uint8_t source; /* lane, of a shuffle */
};

/* Lanes that met at one warp operation; it is over when every lane of the mask is here or gone. */
struct hc_meeting {
    uint32_t mask, lanes;
    uint8_t wait;
};

struct hc_warp {
    uint32_t gone; /* lanes that exited or never were */
    unsigned meetings;
    struct hc_meeting meeting[HC_LANES];
};

/* Everything that one grid needs while it runs; kept between grids, because stacks are costly to make. */
struct hc_runner {
    struct hc_runner *next;
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
    struct hc_warp warps[HC_WARPS_MAX];
    struct hc_runner_thread threads[HC_BLOCK_THREADS_MAX];
    unsigned char *shared;        /* dynamic shared memory of the launch that runs */
    unsigned char *shared_memory; /* where it may be */
};

extern _Thread_local struct hc_runner *hc_running; /* on the calling OS thread; NULL: no grid runs */

/* A fiber whose threads are not begun; NULL: no memory. */
struct hc_fiber *hc_runner_take_fiber(struct hc_runner *runner);
void hc_runner_report_memory(struct hc_runner *runner);
/* Ends the grid as failed; does not return. */
void hc_runner_trap(struct hc_runner *runner);
void hc_index_advance(uint3 *index, uint3 extent);

#endif

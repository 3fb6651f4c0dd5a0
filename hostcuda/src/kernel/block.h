/* Runs the thread blocks of one grid on the calling OS thread. */
#ifndef HOSTCUDA_BLOCK_H
#define HOSTCUDA_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <vector_types.h>

enum { HC_BLOCK_THREADS_MAX = 1024, HC_SHARED_BYTES_MAX = 227 << 10 };

/* A block's dynamic shared memory ends where a page begins that nobody can touch (HOSTCUDA_MEMORY=fence). */
extern bool hc_shared_fenced;
/* Whether the address lies where the dynamic shared memory of the grid that runs on this thread is, or behind it: how
 * many bytes behind its end, and how many it has. */
bool hc_grid_shared(const void *address, size_t *beyond, size_t *bytes);

struct hc_grid {
    const void *function;
    void (*invoke)(const void *function, void **arguments); /* one thread */
    void **arguments;
    const char *name; /* for messages */
    uint3 grid, block;
    size_t shared_bytes;
};

/* False when a block can never finish, or there was no memory for its threads; a sentence is on stderr then. */
bool hc_grid_run(const struct hc_grid *grid);

/* In a signal handler, too: the calling thread runs a grid. */
bool hc_grid_runs(void);
/* From a signal handler of the thread that runs a grid: which of its threads runs now. False: no grid runs here. */
bool hc_grid_place(char *text, size_t bytes);
/* Likewise: ends the grid as failed, and returns only where none runs. */
void hc_grid_abandon(void);

#endif

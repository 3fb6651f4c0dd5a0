/* Runs the thread blocks of one grid on the calling OS thread. */
#ifndef HOSTCUDA_GRID_STATE_H
#define HOSTCUDA_GRID_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <vector_types.h>

enum { HC_BLOCK_THREADS_MAX = 1024, HC_SHARED_BYTES_MAX = 227 << 10 };

/* A page without access follows a block's dynamic shared memory (HOSTCUDA_MEMORY=fence). */
extern bool hc_shared_fenced;
/* Whether the address is in or behind the dynamic shared memory of the grid that runs on this thread. *beyond: bytes
 * past its end; *bytes: its size. */
bool hc_grid_locate_shared(const void *address, size_t *beyond, size_t *bytes);

struct hc_grid {
    const void *function;
    void (*invoke)(const void *function, void **arguments); /* runs one thread */
    void **arguments;
    const char *name; /* for messages */
    uint3 grid, block;
    size_t shared_bytes;
};

/* Returns false, with a message on stderr, if a block can never finish, or if there is no memory for its threads. */
bool hc_grid_run(const struct hc_grid *grid);

/* Whether the calling thread runs a grid. Can be called in a signal handler. */
bool hc_grid_is_running(void);
/* Describes the grid's thread that runs now. For signal handlers. Returns false if the calling OS thread runs no grid.
 */
bool hc_grid_describe_thread(char *text, size_t bytes);
/* Ends the grid as failed; returns only if the calling thread runs none. For signal handlers. */
void hc_grid_abandon(void);

#endif

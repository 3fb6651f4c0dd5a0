/* The graphs that are watched, for the thread that looks at them. */
#ifndef BG_DEBUG_WATCHED_GRAPHS_H
#define BG_DEBUG_WATCHED_GRAPHS_H

#include <pthread.h>
#include <stdatomic.h>

#include "marked.h"

typedef struct bg__watched {
    struct bg__watched *next;
    cudaGraphExec_t key;
    char *name, *graph; /* of what is launched, and of its graph */
    bg__marked marked;
    bg__marked_node self; /* of what is no graph: its call; name NULL: none */
    char why[256];        /* it is followed as a whole; "": node by node */
    uint64_t earlier;     /* launches of the same, of another copy */
    _Atomic uint32_t launched;
    atomic_bool broken; /* marks cannot be written */
    bool gone;          /* the program launches it no more */
    /* Of the thread. */
    uint32_t begun, ended; /* as it saw them last */
    size_t nodes;          /* that had ended */
    double moved;          /* when one of those had changed, in ms */
    int place;             /* in running.h, from 1 on; 0: none */
} bg__watched;

/* Reads BG_HANG. INVALID_ARGUMENT. */
bg_status bg__hangs_read(void);

/* With the lock. */
extern pthread_mutex_t bg__watched_lock;
extern bg__watched *bg__watched_list;

/* How many of its nodes have ended. */
size_t bg__watched_count_ended(const bg__watched *watched);
/* The text of the finding: a row for bg__running_enter, NULL: out of host memory. began: its launch has. */
char *bg__hang_row(const bg__watched *watched, bool began, double since_ms);
/* The same of a node that runs alone. */
char *bg__hang_row_alone(const char *graph, const bg__marked_node *node, double since_ms);
/* Writes and drops rows of nodes that run alone; now in ms. writes: also those that are there. */
void bg__alone_look(double now, bool writes);
void bg__alone_forget(void);
enum { BG__HANG_LONG_MS = 1000 };
/* Puts a row in place of the one at *place, which counts from 1 on; 0: there is none. Frees row. */
void bg__hang_write_row(int *place, char *row, unsigned long count);
void bg__hang_forget_row(int *place);
/* "thread 12 (main) waits in cudaStreamSynchronize at model.py:3"; "" where none does. */
void bg__hang_waits(char *text, size_t bytes);

#endif

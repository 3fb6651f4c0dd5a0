/* The copies whose launches are followed, for the thread that reads their marks. */
#ifndef BG_DEBUG_WATCHED_GRAPHS_H
#define BG_DEBUG_WATCHED_GRAPHS_H

#include <pthread.h>
#include <stdatomic.h>

#include "marked.h"

typedef struct bg__watched {
    struct bg__watched *next;
    cudaGraphExec_t key;
    char *name, *graph; /* names of what is launched and of its graph */
    bg__marked marked;
    bg__marked_node self; /* if it is not a graph: its call; name NULL: none */
    char why[256];        /* why it is followed as a whole; "": node by node */
    uint64_t earlier;     /* launches before this copy */
    _Atomic uint32_t launched;
    atomic_bool broken; /* marks cannot be written */
    bool gone;          /* released: no more launches */
    /* The members below belong to the thread. */
    uint32_t begun, ended; /* marks as last read */
    size_t nodes;          /* nodes that had ended */
    double moved;          /* when one of these last changed, in ms */
    int place;             /* entry in running.h, from 1; 0: none */
} bg__watched;

/* Reads BG_HANG. INVALID_ARGUMENT. */
bg_status bg__hangs_read(void);

/* Guarded by the lock. */
extern pthread_mutex_t bg__watched_lock;
extern bg__watched *bg__watched_list;

/* Returns how many of its nodes have ended. */
size_t bg__watched_count_ended(const bg__watched *watched);
/* Returns the finding as a row for bg__running_enter; NULL: out of host memory. began: the launch has begun. */
char *bg__hang_row(const bg__watched *watched, bool began, double since_ms);
/* The same for a node that runs alone. */
char *bg__hang_row_alone(const char *graph, const bg__marked_node *node, double since_ms);
/* Writes rows of nodes that run alone for long. now: in ms. writes: also rewrites existing rows. */
void bg__alone_look(double now, bool writes);
void bg__alone_forget(void);
enum { BG__HANG_LONG_MS = 1000 };
/* Replaces the row at *place, which counts from 1; 0: there is none yet. Frees row. */
void bg__hang_write_row(int *place, char *row, unsigned long count);
void bg__hang_forget_row(int *place);
/* Writes "thread 12 (main) waits in cudaStreamSynchronize at model.py:3"; "" if no thread waits. */
void bg__hang_waits(char *text, size_t bytes);

#endif

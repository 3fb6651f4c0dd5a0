/* The list of the copies whose launches are followed, for the thread that reads the marks. */
#ifndef BG_DEBUG_HANG_COPIES_H
#define BG_DEBUG_HANG_COPIES_H

#include <pthread.h>
#include <stdatomic.h>

#include "marked_graph.h"

typedef struct bg__hang_copy {
    struct bg__hang_copy *next;
    cudaGraphExec_t key;
    char *name, *graph; /* names of what is launched and of its graph */
    bg__marked_graph marked;
    bg__marked_node self; /* the call of a target that is not a graph; name NULL: none */
    char why[256];        /* why launches are followed as a whole; "": they are followed node by node */
    uint64_t earlier;     /* launches before this copy */
    _Atomic uint32_t launched;
    atomic_bool broken; /* marks cannot be written */
    bool gone;          /* the copy was released, so no more launches follow */
    /* The members below belong to the thread that reads the marks. */
    uint32_t begun, ended; /* marks as last read */
    size_t nodes;          /* nodes that had ended */
    double moved;          /* when `begun`, `ended` or `nodes` last changed, in ms */
    int place;             /* entry in running_file.h, from 1; 0: none */
} bg__hang_copy;

/* Reads BG_HANG. INVALID_ARGUMENT. */
bg_status bg__hangs_read_environment(void);

/* Guarded by the lock. */
extern pthread_mutex_t bg__hang_copies_lock;
extern bg__hang_copy *bg__hang_copies;

/* Returns how many nodes of the copy have ended. */
size_t bg__hang_copy_count_ended(const bg__hang_copy *watched);
/* Returns the finding as a row for bg__running_add_row; NULL: out of host memory. began: the launch has begun. */
char *bg__hang_format_row(const bg__hang_copy *watched, bool began, double since_ms);
/* The same for a node that runs alone. */
char *bg__hang_format_node_row(const char *graph, const bg__marked_node *node, double since_ms);
/* Writes rows of nodes that have run alone for a long time. now: in ms. writes: also rewrites existing rows. */
void bg__hang_check_nodes(double now, bool writes);
void bg__hang_remove_node_rows(void);
enum { BG__HANG_LONG_MS = 1000 };
/* Replaces the row at *place, which counts from 1; 0: there is no row yet. Frees `row`. */
void bg__hang_replace_row(int *place, char *row, unsigned long count);
void bg__hang_remove_row(int *place);
/* Writes "thread 12 (main) waits in cudaStreamSynchronize at model.py:3"; "" if no thread waits. */
void bg__hang_format_waits(char *text, size_t bytes);

#endif

/* The record of each executable graph of the program. */
#ifndef BG_ATTACH_TRACKED_GRAPH_H
#define BG_ATTACH_TRACKED_GRAPH_H

#include <pthread.h>
#include <stdatomic.h>
#include "debug/memory/hash_table.h"

#include <breakgraph/attach.h>

#include "event.h"

struct bg__block_uses;
struct bg__report_list;

/* What a tool launches in place of the program's graphs. A process has at most one (bg__graph_table_set_launcher). */
typedef struct bg__launcher {
    const char *name; /* in reports */
    /* Called with the graph's lock. Returns true if it has launched the graph; then the program gets *result. Returns
     * false if the graph itself is to be launched. */
    bool (*launch)(bg__tracked_graph *a, cudaStream_t stream, CUresult *result);
    /* Frees a->kept, which is not NULL, when the graph changes or is destroyed. */
    void (*drop)(void *kept);
    /* Reports what is known, before drop and when the program ends. Makes no CUDA call. May be NULL. */
    void (*end)(bg__tracked_graph *a);
    /* Called before end and drop, but not when the program ends. May wait for launches. May be NULL. */
    void (*settle)(bg__tracked_graph *a);
    /* The launcher queues work that is not the program's executable graph. This work may still run when `launch`
     * returns. */
    bool queues;
} bg__launcher;

struct bg__tracked_graph {
    /* Protected by the lock of the graph table. */
    CUgraphExec exec;
    cudaGraph_t source;        /* a copy, or the program's own; NULL: there is none */
    bool own;                  /* source is the program's own */
    bool destroyed_by_program; /* the program has destroyed its own source */
    _Atomic bool edited;       /* the program has changed its own source since */
    _Atomic bool gone;         /* no longer in the table: freed by its last user */
    bool lost;                 /* out of memory: it is not in the table */
    int users;                 /* threads that have acquired it */
    cJSON *row;                /* in the listing; NULL: it could not be made */
    char name[BG_ATTACH_NAME_BYTES];
    _Atomic bool renamed; /* graph and report do not have the name yet */
    size_t nodes;
    const bg__stack *made;
    UT_hash_handle hh;
    /* Protected by its own lock. A thread may keep it while the graph runs, since stepping waits for each node. */
    pthread_mutex_t lock;
    bg_graph *graph; /* wraps source and exec; NULL: it could not be made */
    _Atomic uint64_t updates;
    bg_report *report;                  /* findings of the checks */
    int reported_count, returned_count; /* findings that were printed, and those that bg_attach_check has returned */
    uint64_t memory_checked_at;         /* bg__changes_count() at the last check */
    uint64_t blocks_checked_at;         /* bg__graph_table_block_moves() at the last check */
    struct bg__block_uses *blocks;      /* blocks of allocators that its nodes use; NULL: not recorded */
    bool blocks_recorded;
    bool checked;    /* at least once */
    bool stale;      /* exec differs from source; CUDA has no call that reads exec */
    bool unreadable; /* at this launch: nothing may ask CUDA about its nodes */
    bool nodes_read; /* the allocations behind its nodes' addresses are recorded, and BG__EXEC_NODES_READ was sent */
    void *states;    /* of the subscribers */
    /* Nodes that a launcher launches outside of the graph. */
    _Atomic size_t cut;              /* their number */
    _Atomic uint64_t split, outside; /* launches of the graph without them, and launches of these nodes */
    void *kept;                      /* the launcher's state for this graph; NULL: none */
    int looks;                       /* launches that the launcher has inspected; an update does not reset it */
    bool counted;                    /* the report counts it as inspected */
    bool learned;                    /* a launch has shown which blocks are written */
    /* Launches in its place (in_place.h). */
    cudaEvent_t ended; /* recorded after the last launch; NULL: there was none */
    bool launched;     /* ended has been recorded */
    bool left;         /* a launch was left to the program, and this is reported */
};

/* Sets the launcher. Call it before the first graph. */
void bg__graph_table_set_launcher(const bg__launcher *launcher);
const bg__launcher *bg__graph_table_launcher(void);

/* Returns the graph of exec, locked, or NULL if it is unknown or only listed. bg__tracked_graph_release releases it. */
bg__tracked_graph *bg__tracked_graph_acquire(CUgraphExec exec);
void bg__tracked_graph_release(bg__tracked_graph *a);
/* Marks the content of the executable graph as unknown: no tool checks or replaces its launches from now on. */
void bg__tracked_graph_set_stale(bg__tracked_graph *a);
/* Warns that the graph is listed or checked only in part. bg_last_error() has the reason. */
void bg__tracked_graph_warn_partial(const bg__tracked_graph *a);

/* Lists the executable graphs that can be checked; the caller frees the list. Adds the number of the others to
 * found->not_checked. Errors: OUT_OF_MEMORY. */
bg_status bg__graph_table_list_execs(CUgraphExec **list, size_t *count, struct bg__report_list *found);
/* Writes the list if it is due. The list is written while the process runs, since a process may be killed or end by
 * _exit; this takes at most 5 % of its time. */
void bg__graph_table_write_list_if_due(void);
/* Whether launches are stepped. */
bool bg__graph_table_is_stepping(void);
/* Returns how often an allocator of the program has freed, or given out again, a block that a graph uses. */
uint64_t bg__graph_table_block_moves(void);

#endif

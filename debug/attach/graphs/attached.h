/* What the book has of each of the program's graphs, for what looks at them. */
#ifndef BG_ATTACH_ATTACHED_H
#define BG_ATTACH_ATTACHED_H

#include <pthread.h>
#include <stdatomic.h>
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>

#include <breakgraph/attach.h>

#include "debug/attach/around/around.h"
#include "debug/attach/checks/block_uses.h"
#include "debug/attach/checks/graph_values.h"
#include "debug/attach/checks/growth.h"
#include "debug/attach/checks/unloaded.h"
#include "debug/attach/stacks/stacks.h"

struct bg__found;
typedef struct bg__attached bg__attached;

/* What is done in place of the launches of the program's graphs: at most one thing in a process (bg__book_use). */
typedef struct bg__launcher {
    const char *name; /* of what is done, as reports have it */
    /* With the graph's lock. true: the graph has been launched, and the program gets *result; false: it is launched as
     * it is. */
    bool (*launch)(bg__attached *a, cudaStream_t stream, CUresult *result);
    /* The graph has changed, or is gone: frees a->kept, which is not NULL. */
    void (*drop)(void *kept);
    /* Before drop, and when the program ends: reports what is known by then. Makes no call of CUDA. NULL: nothing. */
    void (*end)(bg__attached *a);
    /* Before end and drop, but not when the program ends: may wait for launches. a->kept is not NULL. NULL: nothing. */
    void (*settle)(bg__attached *a);
    /* What it launches is not the program's executable graph, and may still run when launch returns. */
    bool queues;
} bg__launcher;

struct bg__attached {
    /* With the book's lock. */
    CUgraphExec exec;
    cudaGraph_t source;  /* a copy, or the program's own; NULL: there is none */
    bool own;            /* it is the program's own */
    bool doomed;         /* which the program has destroyed */
    _Atomic bool edited; /* and has changed since */
    _Atomic bool gone;   /* no longer in the table: freed by its last user */
    bool lost;           /* the table has no memory for it */
    int users;           /* threads between take and give */
    cJSON *row;          /* of the listing; NULL: it could not be made */
    char name[BG_ATTACH_NAME_BYTES];
    _Atomic bool renamed; /* graph and report do not have it yet */
    size_t nodes;
    const bg__stack *made;
    UT_hash_handle hh;
    /* With its own lock, which a thread may keep for as long as the graph runs: stepping waits for the program. */
    pthread_mutex_t lock;
    bg_graph *graph; /* wraps source and exec; NULL: it could not be made */
    _Atomic uint64_t updates;
    bg_report *report;      /* what checks have found so far */
    int told, asked;        /* of its findings: to the user, to the program */
    uint64_t looked;        /* changes of memory before it was last checked */
    uint64_t blocks_looked; /* and of blocks */
    bg__block_uses *blocks; /* of an allocator of the program's; NULL: not noted */
    bool blocks_noted;
    bg__kernel_uses *kernels; /* NULL: not noted */
    bool checked;             /* at least once */
    bool stale;               /* the executable graph is another one than source: CUDA has no call that tells */
    bg__values *values;       /* what is written of its nodes; NULL: nothing */
    bool noted;               /* where its addresses point is known */
    bg__grown *grown;         /* it is counted; NULL: it is not */
    bg__around_uses *around;  /* what other work may use, too */
    bool around_noted;
    /* Of nodes that a launcher launched outside of the graph. */
    _Atomic size_t cut;              /* so many */
    _Atomic uint64_t split, outside; /* launches of the graph, and of them in these */
    void *kept;                      /* what the process's launcher has of it; NULL: nothing */
    int looks;                       /* so many launches has it looked at; these stay when the graph is updated */
    bool counted;                    /* as looked at */
    bool learned;                    /* a launch has told which blocks are written */
    /* In place of its launches (in_place.h). */
    cudaEvent_t ended; /* recorded behind the last one; NULL: there was none */
    bool launched;     /* it has been recorded */
    bool left;         /* a launch was the program's own, which has been told */
};

/* From now on, before the first graph. */
void bg__book_use(const bg__launcher *launcher);
const bg__launcher *bg__book_launcher(void);

/* The graph of exec, locked; NULL: nobody knows it, or only its place in the list. */
bg__attached *bg__attached_take(CUgraphExec exec);
void bg__attached_give(bg__attached *a);
/* What is in it then, nobody knows: it is launched as it is. */
void bg__attached_set_stale(bg__attached *a);
/* Notes what other work may use, too, unless it is noted; only where launches are the program's own. */
bg_status bg__attached_note_around(bg__attached *a);
/* bg_last_error() tells why. */
void bg__attached_warn(const bg__attached *a);

/* The graphs that can be checked now, by what they are launched by; the caller frees the list. found counts those that
 * cannot. Errors: OUT_OF_MEMORY. */
bg_status bg__book_graphs(CUgraphExec **list, size_t *count, struct bg__found *found);
/* A process may be killed, or end by _exit: so the list is written while it runs, but never for more than a small part
 * of its time. */
void bg__book_list_if_due(void);
/* Whether launches are stepped. */
bool bg__book_steps(void);
/* So often has the program's own allocator freed a block, or given one out again, that a graph uses. */
uint64_t bg__book_moves(void);

#endif

/* Two captures of one pass, side by side. */
#ifndef BG_DEBUG_RECAPTURE_H
#define BG_DEBUG_RECAPTURE_H

#include "node_pointers.h"
#include "debug/report/report.h"

/* What is captured, and how; launch_segments and debug are set by the check. */
typedef struct bg__recapture_pass {
    bg_forward forward;
    void *user;
    cudaStream_t stream;
    bg_capture_options options;
} bg__recapture_pass;
bg_status bg__check_recapture(const bg__recapture_pass *pass, void (*change)(void *user), bg_report **report);

/* An op call, and its nodes: those of no inner call, and no write-backs. */
typedef struct bg__side_call {
    const bg__call *call; /* NULL: what lies in no call */
    const void *args;     /* what it was called with; NULL: none */
    size_t parent;        /* the call in whose body it is; 0: in none */
    long pair;            /* the other capture's call that it is compared with; -1: there is none */
    size_t *nodes;        /* indices, in the side's room */
    size_t count;
} bg__side_call;

/* Memory that the capture gave to a call. */
typedef struct bg__side_block {
    bg__allocation where;
    size_t call;
    bg__block_kind kind;
    int slot;
} bg__side_block;

typedef struct bg__side {
    bg_graph *graph;
    bg__nodes nodes;
    bg__allocations own;    /* that the graph's nodes allocate; by id, its ordinal */
    bg__allocations *notes; /* what was live when it was captured */
    bg__side_call *calls;   /* in order of the pass; the first one is NULL's */
    size_t call_count;
    bg__side_block *blocks;
    size_t block_count;
    size_t *room;
} bg__side;

typedef struct bg__recapture {
    bg__side side[2];
    bg_report *report;
    bool flow_differs;
} bg__recapture;

/* What a word meant: a number, memory of the program's, or the capture's own, of a call or a node. */
typedef struct bg__meaning {
    enum { BG__NUMBER, BG__MEMORY, BG__CALL_MEMORY, BG__NODE_MEMORY } kind;
    const bg__side_block *block; /* of a call */
    unsigned long long node;     /* the ordinal among those that allocate */
    uint64_t value;              /* the word, or the offset in what is the capture's own */
} bg__meaning;
bg__meaning bg__mean(const bg__side *side, uint64_t word);
/* The capture's own memory is the same where its place in the pass is. */
bool bg__is_same_meaning(const bg__recapture *recapture, const bg__meaning *a, const bg__meaning *b);

/* Compares the nodes and arguments of two calls that are a pair (recapture_values.c). */
void bg__recapture_compare(bg__recapture *recapture, size_t first, size_t second);

#endif

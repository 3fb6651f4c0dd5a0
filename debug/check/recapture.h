/* Two captures of one pass, and how they differ. */
#ifndef BG_DEBUG_RECAPTURE_H
#define BG_DEBUG_RECAPTURE_H

#include "graph/debug_table.h"
#include "debug/memory/spans.h"
#include "node_pointers.h"
#include "debug/report/report.h"

#define BG__FLOW_ADVICE "decide on the device, or in an eager op, or capture one graph for each case"
extern const char *const bg__value_advice, *const bg__pointer_advice; /* for findings (recapture_values.c) */

/* The pass and its capture options. The check itself sets the options launch_segments, debug and check. */
typedef struct bg__recapture_pass {
    bg_forward forward;
    void *user;
    cudaStream_t stream;
    bg_capture_options options;
    const bg__bucket_hooks *around; /* functions that are called before and after each capture; NULL: none */
} bg__recapture_pass;
bg_status bg__check_recapture(const bg__recapture_pass *pass, void (*change)(void *user), bg_report **report);

/* An op call and its nodes. Nodes of inner calls and write-backs do not belong to it. */
typedef struct bg__recapture_call {
    const bg__call *call; /* NULL: the entry stands for code outside op calls */
    const void *args;     /* its arguments; NULL: not known */
    size_t parent;        /* index of the call around it; 0: it is an outermost call */
    long pair;            /* index of the same call in the other capture; -1: none */
    size_t *nodes;        /* indices of its nodes, in the side's room */
    size_t count;
} bg__recapture_call;

/* Memory that the library gave to a call in the capture. */
typedef struct bg__recapture_block {
    bg__allocation where;
    size_t call;
    bg__block_kind kind;
    int slot;
} bg__recapture_block;

typedef struct bg__recapture_side {
    bg_graph *graph;
    bg__nodes nodes;
    bg__allocations own;       /* memory that allocation nodes allocate; the id is the ordinal of the node */
    bg__allocations *notes;    /* allocations that were live at the capture */
    bg__recapture_call *calls; /* in the order of the pass; the first one stands for code outside op calls */
    size_t call_count;
    struct bg__call_place {
        const bg__call *call;
        size_t at; /* index in `calls` */
    } * by_call;
    bg__recapture_block *blocks;
    size_t block_count;
    struct bg__block_place { /* ranges of blocks, sorted by address; if blocks share memory, the memory belongs to the
                              * range of the first block */
        bg__span where;
        size_t block;
    } * places;
    size_t place_count;
    size_t *room;
} bg__recapture_side;

/* Names of the two captures in messages. */
typedef struct bg__recapture_labels {
    const char *both;       /* "two captures" */
    const char *side[2];    /* "the first" */
    const char *capture[2]; /* "the first capture" */
} bg__recapture_labels;

typedef struct bg__recapture {
    bg__recapture_side side[2];
    bg_report *report;
    const bg__recapture_labels *words;
    const char *effect; /* ends the message of the next fault, and of no later fault: ", and so y differs"; NULL:
                         * none */
    bool flow_differs;
    int faults; /* findings of severity BG_FAULT */
    int doubts; /* findings of lower severity, on values that may be padding */
} bg__recapture;

/* The meaning of a word. It is a number, an address in memory of the program, an address in memory that the capture
 * gave to a call, or an address in memory that a node allocates. */
typedef struct bg__meaning {
    enum { BG__NUMBER, BG__MEMORY, BG__CALL_MEMORY, BG__NODE_MEMORY } kind;
    const bg__recapture_block *block; /* the block of the call */
    unsigned long long node;          /* the ordinal of the node among the nodes that allocate */
    uint64_t value;                   /* the word; for memory of a call or a node, the offset in it */
} bg__meaning;
/* Fills the member `places` from the member `blocks`. */
bg_status bg__recapture_index_blocks(bg__recapture_side *side);
bg__meaning bg__word_meaning(const bg__recapture_side *side, uint64_t word);
/* Memory of calls and nodes has another address in each capture. Two such addresses have the same meaning if they
 * belong to the same call or node. */
bool bg__is_same_meaning(const bg__recapture *recapture, const bg__meaning *a, const bg__meaning *b);

/* Pairs the calls of the two sides, in order, if they have the same op and the same place in the program
 * (recapture_pairs.c). Reads only the members `calls` and `call_count` of the sides. Errors: OUT_OF_MEMORY. */
bg_status bg__recapture_pair_calls(bg__recapture *recapture);

/* Lists the nodes and calls of two graphs of one pass, and pairs the calls. The graphs must outlive `recapture`. Set
 * the report and the words of `recapture` before. Call bg__recapture_free also after a failure. */
bg_status bg__recapture_read_graphs(bg__recapture *recapture, bg_graph *first, bg_graph *second);
void bg__recapture_free(bg__recapture *recapture);
/* Adds findings on differences in a call of the first graph and in the calls inside it. Errors: CUDA. */
bg_status bg__recapture_report_call(bg__recapture *recapture, const bg__call *call);

/* Counts a fault, and returns the end of its message. */
const char *bg__recapture_count_fault(bg__recapture *recapture);

/* Compares the nodes and arguments of two paired calls (recapture_values.c). Errors: CUDA. */
bg_status bg__recapture_compare_pair(bg__recapture *recapture, size_t first, size_t second);

#endif

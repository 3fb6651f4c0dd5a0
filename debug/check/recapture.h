/* Two captures of one pass, and how they differ. */
#ifndef BG_DEBUG_RECAPTURE_H
#define BG_DEBUG_RECAPTURE_H

#include "graph/tools.h"
#include "debug/memory/spans.h"
#include "node_pointers.h"
#include "debug/report/report.h"

#define BG__FLOW_ADVICE "decide on the device, or in an eager op, or capture one graph for each case"
extern const char *const bg__value_advice, *const bg__pointer_advice; /* of what is frozen (recapture_values.c) */

/* What is captured, and how; the check sets launch_segments, debug and check itself. */
typedef struct bg__recapture_pass {
    bg_forward forward;
    void *user;
    cudaStream_t stream;
    bg_capture_options options;
    const bg__around *around; /* comes around each capture; NULL: nothing does */
} bg__recapture_pass;
bg_status bg__check_recapture(const bg__recapture_pass *pass, void (*change)(void *user), bg_report **report);

/* An op call and its own nodes, without those of inner calls and without write-backs. */
typedef struct bg__side_call {
    const bg__call *call; /* NULL: code outside op calls */
    const void *args;     /* what it was called with; NULL: none */
    size_t parent;        /* index of the call around it; 0: none */
    long pair;            /* index of the same call in the other capture; -1: none */
    size_t *nodes;        /* indices, in the side's room */
    size_t count;
} bg__side_call;

/* Memory that the library gave to a call in the capture. */
typedef struct bg__side_block {
    bg__allocation where;
    size_t call;
    bg__block_kind kind;
    int slot;
} bg__side_block;

typedef struct bg__side {
    bg_graph *graph;
    bg__nodes nodes;
    bg__allocations own;    /* memory that the graph's nodes allocate; the id is the node's ordinal */
    bg__allocations *notes; /* what was live when it was captured */
    bg__side_call *calls;   /* in order of the pass; the first one stands for code outside op calls */
    size_t call_count;
    struct bg__call_place {
        const bg__call *call;
        size_t at; /* in calls */
    } * by_call;
    bg__side_block *blocks;
    size_t block_count;
    struct bg__block_place { /* memory of blocks, by address; where several have it, of the first one */
        bg__span where;
        size_t block;
    } * places;
    size_t place_count;
    size_t *room;
} bg__side;

/* What messages call the two sides. */
typedef struct bg__recapture_words {
    const char *both;       /* "two captures" */
    const char *side[2];    /* "the first" */
    const char *capture[2]; /* "the first capture" */
} bg__recapture_words;

typedef struct bg__recapture {
    bg__side side[2];
    bg_report *report;
    const bg__recapture_words *words;
    const char *effect; /* ends the next message of a fault, once: ", and so y differs"; NULL: nothing */
    bool flow_differs;
    int faults; /* findings of that severity so far */
    int doubts; /* and of less, on values that may be padding */
} bg__recapture;

/* What a word is: a number, an address in memory of the program, or one in memory that the capture gave to a call or
 * that a node allocates. */
typedef struct bg__meaning {
    enum { BG__NUMBER, BG__MEMORY, BG__CALL_MEMORY, BG__NODE_MEMORY } kind;
    const bg__side_block *block; /* of a call */
    unsigned long long node;     /* the ordinal among those that allocate */
    uint64_t value;              /* the word; in memory of a call or a node, the offset */
} bg__meaning;
/* Makes places from blocks. */
bg_status bg__side_place_blocks(bg__side *side);
bg__meaning bg__mean(const bg__side *side, uint64_t word);
/* Memory of calls and nodes has another address in each capture: it is the same if its call or node is. */
bool bg__is_same_meaning(const bg__recapture *recapture, const bg__meaning *a, const bg__meaning *b);

/* Pairs the calls of the two sides, of which only calls and call_count are used: those of the same op at the same place
 * in the program, in the same order (recapture_pairs.c). Errors: OUT_OF_MEMORY. */
bg_status bg__recapture_pair(bg__recapture *recapture);

/* Lists the nodes and calls of two graphs of one pass, and pairs the calls. The graphs must outlive the recapture,
 * which starts with report and words. Call bg__recapture_free also after a failure. */
bg_status bg__recapture_take(bg__recapture *recapture, bg_graph *first, bg_graph *second);
void bg__recapture_free(bg__recapture *recapture);
/* Adds findings on what differs in a call of the first graph and in the calls inside it. */
void bg__recapture_explain(bg__recapture *recapture, const bg__call *call);

/* Counts a fault, and gives what ends its message. */
const char *bg__recapture_fault(bg__recapture *recapture);

/* Compares the nodes and arguments of two calls that are a pair (recapture_values.c). */
void bg__recapture_compare(bg__recapture *recapture, size_t first, size_t second);

#endif

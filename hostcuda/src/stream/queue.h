/* Queues of streams. */
#ifndef HOSTCUDA_QUEUE_H
#define HOSTCUDA_QUEUE_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/graph_program.h"
#include "hostcuda/src/stream/stream.h"
#include "hostcuda/src/stream/token.h"

enum hc_item_kind { HC_ITEM_OP, HC_ITEM_RECORD, HC_ITEM_WAIT, HC_ITEM_GRAPH };

struct hc_item {
    struct hc_item *next;
    uint64_t sequence; /* number in order of issue */
    enum hc_item_kind kind;
    struct hc_op *op;
    struct hc_token *token; /* the token that RECORD and GRAPH reach, and WAIT waits for */
    struct hc_token *after; /* GRAPH: the end of the executable graph's previous launch */
    struct hc_program *program;
    struct hc_token **event_tokens; /* GRAPH: one for each op; NULL: the graph has no event nodes */
    size_t cursor;                  /* GRAPH: number of ops that have run */
    bool *ran;                      /* GRAPH, in a seeded order: which ops have run */
};

/* Each takes over the references in its arguments, also on failure. */
cudaError_t hc_queue_op(cudaStream_t stream, struct hc_op *op);
cudaError_t hc_queue_token(cudaStream_t stream, enum hc_item_kind kind, struct hc_token *token);
cudaError_t hc_queue_graph(cudaStream_t stream, struct hc_program *program, struct hc_token *after,
                           struct hc_token *token, struct hc_token **event_tokens);

/* Removes the stream's first item from the queue and frees it. */
void hc_queue_remove_first(cudaStream_t stream);
size_t hc_queue_item_count(void); /* over all streams */
/* Returns the sequence number of the item that was queued last. */
uint64_t hc_queue_last_sequence(void);

#endif

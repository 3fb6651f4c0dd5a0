/* Queued work. */
#ifndef HOSTCUDA_QUEUE_H
#define HOSTCUDA_QUEUE_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/graph_program.h"
#include "hostcuda/src/stream/stream.h"
#include "hostcuda/src/stream/token.h"

enum hc_item_kind { HC_ITEM_OP, HC_ITEM_RECORD, HC_ITEM_WAIT, HC_ITEM_GRAPH };

struct hc_item {
    struct hc_item *next;
    uint64_t sequence; /* order of issue */
    enum hc_item_kind kind;
    struct hc_op *op;
    struct hc_token *token; /* reached by RECORD and GRAPH, waited for by WAIT */
    struct hc_token *after; /* GRAPH: the executable graph's launch before this one */
    struct hc_program *program;
    struct hc_token **event_tokens; /* GRAPH: one per op, or NULL when no op is an event's */
    size_t cursor;                  /* GRAPH: ops that ran */
    bool *ran;                      /* GRAPH, in a seeded order: which of them */
};

/* Each takes over the references in its arguments, whatever it returns. */
cudaError_t hc_queue_op(cudaStream_t stream, struct hc_op *op);
cudaError_t hc_queue_token(cudaStream_t stream, enum hc_item_kind kind, struct hc_token *token);
cudaError_t hc_queue_graph(cudaStream_t stream, struct hc_program *program, struct hc_token *after,
                           struct hc_token *token, struct hc_token **event_tokens);

/* Takes the stream's first item out of the queue, and frees it. */
void hc_queue_remove_first(cudaStream_t stream);
size_t hc_queue_count(void); /* of all streams */
/* The order of issue of the item that was queued last. */
uint64_t hc_queue_last(void);

#endif

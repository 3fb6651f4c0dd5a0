/* Queued work, and the one place that runs it. */
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
void hc_item_free(struct hc_item *item);

/* Nothing is queued that a wait for the stream would wait for. */
bool hc_run_is_done(const struct CUstream_st *stream);
/* Run queued work until everything issued before this call is done, on a stream (the legacy one: on all
 * blocking streams of its device), before a token, on a device. They return the device's sticky error. The lock is
 * released while work runs. */
cudaError_t hc_run_stream(cudaStream_t stream);
cudaError_t hc_run_token(struct hc_token *token, int device);
cudaError_t hc_run_device(int device);
/* The same until the question is answered with yes. */
cudaError_t hc_run_until(bool (*reached)(const void *data), const void *data);
/* One step of any work, or a pause where nothing can run: for waits that other threads or processes end. */
void hc_run_meanwhile(void);
/* Until no item is running; queued ones stay. */
void hc_run_settle(void);
/* One step of any work, or as many as the seed says, for programs that poll. */
void hc_run_step(void);
/* One step of any work, unless a call runs work. False: there is none. */
bool hc_run_uncalled(void);
bool hc_run_queued(void); /* is anything? */
/* In a child of fork: whoever ran something is not there. */
void hc_run_forked(void);
/* What runs before anyone waits for it: in a seeded order, and where very much is queued; the program's own functions
 * do not, since they may wait for the thread that makes this call. */
void hc_run_early(void);

#endif

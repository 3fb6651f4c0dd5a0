/* Events. */
#ifndef HOSTCUDA_EVENT_H
#define HOSTCUDA_EVENT_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/graph_nodes.h"
#include "hostcuda/src/op/op_kinds.h"

struct hc_token;

/* Last recorded: never (no token, no capture), on a stream (token), or in a capture (a set of its nodes). */
struct CUevent_st {
    unsigned references; /* the program's, and those of graph nodes */
    unsigned flags;
    int device;
    struct hc_token *token;
    uint64_t capture_id; /* 0: not recorded in a capture */
    struct hc_nodes nodes;
};

/* One reference, and no handle of the program's. NULL: no memory. */
cudaEvent_t hc_event_make(unsigned flags, int device);
void hc_event_retain(cudaEvent_t event);
void hc_event_release(cudaEvent_t event);
/* From now on the event stands for this token. Takes over the reference. */
void hc_event_set_token(cudaEvent_t event, struct hc_token *token);

/* A record or a wait that holds the event. NULL: no memory. */
struct hc_op *hc_op_event(enum hc_op_kind kind, cudaEvent_t event);
/* The same of a handle, checked. */
cudaError_t hc_op_from_event(enum hc_op_kind kind, cudaEvent_t event, struct hc_op **op);

#endif

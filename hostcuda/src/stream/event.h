/* Events: what an event refers to, and the ops that record an event or wait for it. */
#ifndef HOSTCUDA_EVENT_H
#define HOSTCUDA_EVENT_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/graph_nodes.h"
#include "hostcuda/src/op/op_kinds.h"

struct hc_token;

/* An event was never recorded (no token, no capture), or last recorded on a stream (token) or in a capture (nodes). */
struct CUevent_st {
    unsigned references; /* the program's reference, and those of graph nodes */
    unsigned flags;
    int device;
    struct hc_token *token;
    uint64_t capture_id; /* 0: not recorded in a capture */
    struct hc_nodes nodes;
};

/* Returns an event with one reference and no handle. NULL: no memory. */
cudaEvent_t hc_event_make(unsigned flags, int device);
void hc_event_retain(cudaEvent_t event);
void hc_event_release(cudaEvent_t event);
/* From now on, the event refers to this token. Takes over the reference. */
void hc_event_set_token(cudaEvent_t event, struct hc_token *token);

/* Makes an op that records or waits for the event, and retains it. Returns NULL if there is no memory. */
struct hc_op *hc_op_make_event(enum hc_op_kind kind, cudaEvent_t event);
/* The same for a handle, which is checked. */
cudaError_t hc_op_from_event(enum hc_op_kind kind, cudaEvent_t event, struct hc_op **op);

#endif

#include "hostcuda/src/stream/event.h"

#include "hostcuda/src/stream/token.h"

#include <stdlib.h>

cudaEvent_t hc_event_make(unsigned flags, int device)
{
    struct CUevent_st *made = calloc(1, sizeof *made);
    if (made)
        *made = (struct CUevent_st){.references = 1, .flags = flags, .device = device};
    return made;
}

void hc_event_retain(cudaEvent_t event)
{
    event->references++;
}

void hc_event_release(cudaEvent_t event)
{
    if (--event->references)
        return;
    hc_token_release(event->token);
    hc_nodes_free(&event->nodes);
    free(event);
}

void hc_event_set_token(cudaEvent_t event, struct hc_token *token)
{
    hc_token_release(event->token);
    event->token = token;
    event->capture_id = 0;
    hc_nodes_clear(&event->nodes);
}

static void release_event(const struct hc_op *op)
{
    hc_event_release(op->event);
}

struct hc_op *hc_op_make_event(enum hc_op_kind kind, cudaEvent_t event)
{
    struct hc_op *op = hc_op_make(kind, 0);
    if (op) {
        op->event = event;
        op->release_references = release_event;
        hc_event_retain(event);
    }
    return op;
}

cudaError_t hc_op_from_event(enum hc_op_kind kind, cudaEvent_t event, struct hc_op **op)
{
    if (!hc_handle_is(HC_EVENT, event))
        return event ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    *op = hc_op_make_event(kind, event);
    return *op ? cudaSuccess : cudaErrorMemoryAllocation;
}

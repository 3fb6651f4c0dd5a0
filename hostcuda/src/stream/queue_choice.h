/* Chooses which queued work runs next. All functions need the lock. */
#ifndef HOSTCUDA_QUEUE_CHOICE_H
#define HOSTCUDA_QUEUE_CHOICE_H

#include "hostcuda/src/stream/queue.h"

/* A stream's first item or, if that is a graph, its op at this place. */
struct hc_queue_choice {
    cudaStream_t stream; /* NULL: nothing can run */
    size_t place;
};

struct hc_queue_choice hc_queue_choose(void);
/* The same without host functions of the program, which may wait for the thread that makes this call. `any_order`:
 * chooses in a seeded order; otherwise chooses without a search. */
struct hc_queue_choice hc_queue_choose_at_call_end(bool any_order);

/* Returns the item's op; for a graph, the op at this place. NULL: none. */
const struct hc_op *hc_item_op_at(const struct hc_item *item, size_t place);

#endif

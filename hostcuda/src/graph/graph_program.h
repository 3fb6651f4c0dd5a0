/* What a launch of an executable graph runs. */
#ifndef HOSTCUDA_PROGRAM_H
#define HOSTCUDA_PROGRAM_H

#include "hostcuda/src/graph/graph_order.h"
#include "hostcuda/src/graph/user_object.h"
#include "hostcuda/src/op/op_kinds.h"

/* Ops in the order in which they run; shared, copied before it changes. */
struct hc_program {
    unsigned references;
    size_t count;
    struct hc_order *order;    /* NULL: they run in their sequence */
    struct hc_objects objects; /* kept until the last launch is over */
    struct hc_op *ops[];
};

/* One reference, and no ops yet. NULL: no memory. */
struct hc_program *hc_program_make(size_t count);
/* One reference. NULL: no memory. */
struct hc_program *hc_program_copy(const struct hc_program *program);
void hc_program_release(struct hc_program *program);

#endif

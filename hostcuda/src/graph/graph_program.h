/* The ops that a launch of an executable graph runs. */
#ifndef HOSTCUDA_PROGRAM_H
#define HOSTCUDA_PROGRAM_H

#include "hostcuda/src/graph/graph_order.h"
#include "hostcuda/src/graph/user_object.h"
#include "hostcuda/src/op/op_kinds.h"

/* Ops in the order in which they run. Programs are shared, and copied before a change. */
struct hc_program {
    unsigned references;
    size_t count;
    struct hc_order *order;    /* NULL: they run in sequence */
    struct hc_objects objects; /* retained until the last launch has finished */
    struct hc_op *ops[];
};

/* Returns a program without ops and with one reference. NULL: no memory. */
struct hc_program *hc_program_make(size_t count);
/* Returns a copy with one reference. NULL: no memory. */
struct hc_program *hc_program_copy(const struct hc_program *program);
void hc_program_release(struct hc_program *program);

#endif

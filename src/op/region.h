/* Ops without a macro (breakgraph/eager.h). All have one body, which calls the program's. */
#ifndef BG_OP_REGION_H
#define BG_OP_REGION_H

#include <breakgraph/eager.h>

#include "op/op.h"

/* The arguments of these ops; an op with fewer operands has fewer tensors (bg_op.args_size). */
typedef struct bg__region_args {
    bg_status (*body)(void *user, bg_tensor *tensors, cudaStream_t stream);
    void *user;
    size_t user_bytes;
    bg_status (*keep)(void *user, void **kept); /* NULL: `user` is kept as it is */
    void (*destroy)(void *kept);
    bg_tensor tensors[BG_OPERANDS_MAX];
} bg__region_args;

/* The body of these ops. */
bg_status bg__region_run(void *args, cudaStream_t stream);

/* Returns args if op is one of these ops, else NULL. */
static inline bg__region_args *bg__region_get_args(const bg_op *op, const void *args)
{
    return op->body == bg__region_run ? (bg__region_args *)args : NULL;
}

#endif

/* NCCL's data types and reductions on the CPU. */
#ifndef HOSTCUDA_NCCL_REDUCE_H
#define HOSTCUDA_NCCL_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns 0 if there is no such type. */
size_t hc_nccl_type_bytes(int type);
const char *hc_nccl_type_name(int type);
const char *hc_nccl_op_name(int op);

/* Sets out[i] to the inputs' elements i, combined in the order of the inputs, so that the result is bit-identical on
 * all ranks. Sums of 8-bit and 16-bit floats are computed in float and rounded once. All pointers must be aligned for
 * the type. */
void hc_nccl_reduce(void *out, const void *const *inputs, int input_count, size_t count, int type, int op);

#endif

/* NCCL's data types and reductions on the CPU. */
#ifndef HOSTCUDA_NCCL_REDUCE_H
#define HOSTCUDA_NCCL_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

/* 0: no such type. */
size_t hc_nccl_size(int type);
const char *hc_nccl_type_name(int type);
const char *hc_nccl_op_name(int op);

/* out[i] = the inputs' element i, combined in the order of the inputs: the same everywhere, bit for bit. Sums of floats
 * of 8 and 16 bits are kept in float and rounded once. All must be aligned for the type. */
void hc_nccl_reduce(void *out, const void *const *inputs, int input_count, size_t count, int type, int op);

#endif

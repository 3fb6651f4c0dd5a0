/* __device__ and __constant__ variables, which are plain variables of the program here. */
#ifndef HOSTCUDA_VARIABLES_H
#define HOSTCUDA_VARIABLES_H

#include "hostcuda/src/memory/memory_blocks.h"

/* Returns the variable that begins at this address; it is device memory from then on. NULL: there is none. */
const struct hc_block *hc_variable_find(const void *symbol);

#endif

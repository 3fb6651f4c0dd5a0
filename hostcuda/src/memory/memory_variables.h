/* Variables that programs declare as __device__ or __constant__: here, plain variables of the program. */
#ifndef HOSTCUDA_VARIABLES_H
#define HOSTCUDA_VARIABLES_H

#include "hostcuda/src/memory/memory_blocks.h"

/* The variable that begins there, which is device memory from now on. NULL: there is none. */
const struct hc_block *hc_variable_find(const void *symbol);

#endif

/* Virtual memory management: address ranges, memory without an address, and the mappings of the one into the other. */
#ifndef HOSTCUDA_VIRTUAL_H
#define HOSTCUDA_VIRTUAL_H

#include "hostcuda/src/core/core_state.h"

/* The reserved range that the address lies in. False: none. */
bool hc_virtual_range(const void *address, void **base, size_t *bytes);

#endif

/* Virtual memory management: reserved address ranges, memory without an address, and mappings of the memory to the
 * ranges. */
#ifndef HOSTCUDA_VIRTUAL_H
#define HOSTCUDA_VIRTUAL_H

#include "hostcuda/src/core/core_state.h"

/* Finds the reserved range that contains the address. Returns false if there is none. */
bool hc_virtual_find_range(const void *address, void **base, size_t *bytes);

#endif

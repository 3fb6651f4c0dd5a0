/* The memory behind blocks, in the mode that HOSTCUDA_MEMORY sets. */
#ifndef HOSTCUDA_BACKING_H
#define HOSTCUDA_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the memory for a block; NULL: no memory. */
void *hc_backing_allocate(size_t bytes, size_t alignment, bool device, uint64_t id);
void hc_backing_free(void *base);
/* Makes the address of a block usable or unusable. Called when work runs that allocates or frees the block. */
void hc_backing_set_live(const void *base, bool live);
/* Whether the address is in or next to a block, live or freed, so that it is not the program's own memory. */
bool hc_backing_owns(const void *address);

#endif

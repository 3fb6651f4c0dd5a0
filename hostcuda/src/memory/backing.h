/* The memory behind blocks. */
#ifndef HOSTCUDA_BACKING_H
#define HOSTCUDA_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of a block; NULL: no memory. */
void *hc_backing_take(size_t bytes, size_t alignment, bool device, uint64_t id);
void hc_backing_give(void *base);
/* Of a block that work allocates or frees when it runs: the address may be used from now on, or no longer. */
void hc_backing_set_live(const void *base, bool live);
/* The address lies in or beside a block, live or freed: it is no memory of the program's own. */
bool hc_backing_owns(const void *address);

#endif

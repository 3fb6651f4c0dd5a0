/* Which addresses of the process are memory at all. */
#ifndef HOSTCUDA_MAPPED_H
#define HOSTCUDA_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

/* All of these bytes can be read, and written. True, too, where the system does not say. */
bool hc_mapped_for_use(const void *address, size_t bytes, bool written);

#endif

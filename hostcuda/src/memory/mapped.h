/* Which addresses of the process are mapped. */
#ifndef HOSTCUDA_MAPPED_H
#define HOSTCUDA_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all of these bytes can be read, or written. Also true if the system does not tell. */
bool hc_memory_is_mapped(const void *address, size_t bytes, bool written);

#endif

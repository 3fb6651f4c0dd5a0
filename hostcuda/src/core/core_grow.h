/* Arrays that grow by doubling. */
#ifndef HOSTCUDA_GROW_H
#define HOSTCUDA_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Reserves `need` elements of `element` bytes; list is the address of the pointer to the array. Returns false, and
 * changes nothing, if there is no memory. */
bool hc_array_reserve(void *list, size_t *capacity, size_t need, size_t element);

#endif

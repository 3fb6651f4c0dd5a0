/* Growing arrays. */
#ifndef BG_GROW_H
#define BG_GROW_H

#include <breakgraph/status.h>

/* Makes room for `need` elements in an array. list points to the pointer to the elements, *capacity is the number that
 * it has room for; both start as 0. The capacity at least doubles. `what` names the elements in messages ("nodes").
 * Errors: OUT_OF_MEMORY; the array is then unchanged. */
BG_API bg_status bg__array_grow(void *list, size_t *capacity, size_t need, size_t element_bytes, const char *what);
/* Makes room for one element after count. Calls no function if there is room. */
#define BG__ARRAY_GROW(list, count, capacity, what)                                                                    \
    ((size_t)(count) < (capacity) ? BG_OK                                                                              \
                                  : bg__array_grow(&(list), &(capacity), (size_t)(count) + 1, sizeof *(list), what))

#endif

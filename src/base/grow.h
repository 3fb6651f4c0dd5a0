/* Growing arrays. */
#ifndef BG_GROW_H
#define BG_GROW_H

#include <breakgraph/status.h>

/* Makes room for `need` elements in a list: list points to the pointer to its elements, capacity counts those that it
 * has room for; both start as 0. The capacity at least doubles. OUT_OF_MEMORY, with what the elements are ("nodes"),
 * leaves the list as it was. */
BG_API bg_status bg__grow(void *list, size_t *capacity, size_t need, size_t element_bytes, const char *what);
/* The same for one more element than count; no call where there is room. */
#define BG__GROW(list, count, capacity, what)                                                                          \
    ((size_t)(count) < (capacity) ? BG_OK : bg__grow(&(list), &(capacity), (size_t)(count) + 1, sizeof *(list), what))

#endif
